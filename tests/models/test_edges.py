"""Models and their sums at the edge: parts that do not fit, groups without rows, old states."""

import re

import numpy as np
import pytest
from scipy import sparse

import quadfeat as qf
from quadfeat.models import solver
from quadfeat.models.iterative_sums import ImageSums, TargetSums, _groups
from quadfeat.models.ridge import Posterior
from quadfeat.models.ridge_sums import NormalSums
from quadfeat.models.score_bands import CurvatureSums
from quadfeat.models.spline_parts import Splines
from quadfeat.models.stream import Rows, gathered
from quadfeat.models.toeplitz import Diagonal

KERNEL = qf.Gaussian(0.4)


@pytest.fixture
def data(rng):
    X = rng.normal(size=(80, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


def features(n=16):
    return qf.RandomFourier(KERNEL, n_components=n, random_state=0)


# --- what is loaded or given must fit -------------------------------------------------------------
def test_a_posterior_whose_parts_do_not_fit_is_refused():
    Posterior(np.eye(2), np.zeros(2), 0.0).check()
    for root, mean, leverage, words in (
        (np.eye(3), np.zeros(2), 0.0, "does not fit its mean"),
        (np.diag([1.0, 0.0]), np.zeros(2), 0.0, "is singular"),
        (np.diag([1.0, np.nan]), np.zeros(2), 0.0, "is singular"),
        (np.eye(2), np.zeros(2), -1.0, "a leverage is negative"),
        (np.eye(2), np.zeros(2), np.nan, "a leverage is negative"),
    ):
        with pytest.raises(ValueError, match=words):
            Posterior(root, mean, leverage).check()


def test_sums_of_other_shapes_are_refused_and_those_of_the_first_version_are_read(rng):
    sums = NormalSums(3, 2)
    Z, Y = rng.normal(size=(9, 3)), rng.normal(size=(9, 2))
    sums.add(Z, Y, np.full(9, 2.0))
    state = sums.state()
    with pytest.raises(ValueError, match=r"feature_sum of the sums is not of shape \(3,\)"):
        NormalSums.from_state(state | {"feature_sum": np.zeros(4)}).check()
    old = {name: value for name, value in state.items() if name != "weight_square"}
    assert NormalSums.from_state(old | {"n_rows": np.array(9)}).weight_square == pytest.approx(36.0)
    assert sums.weight_square == pytest.approx(36.0)


@pytest.mark.parametrize("y", [[1.0, np.nan], [np.inf, 0.0]])
def test_a_target_that_is_missing_in_a_later_block_is_refused(y, data):
    X, target = data
    blocks = [(X, target), (X[:2], np.array(y))]
    with pytest.raises(ValueError, match="missing or"):
        qf.KernelRegressor(features(), alpha=1.0).fit(lambda: iter(blocks))


def test_a_batch_with_other_targets_than_the_first_is_refused(data):
    X, y = data
    model = qf.KernelRegressor(features(), alpha=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="targets"):
        model.partial_fit(X, np.column_stack([y, y]))


def test_an_encoder_needs_rows_that_can_be_read_again(data):
    X, y = data
    model = qf.KernelRegressor(features(), alpha=1.0, encoder=qf.TableEncoder())
    with pytest.raises((TypeError, ValueError), match="an encoder takes a table, an array, a CSV"):
        model.fit(sparse.csr_array(X), y)


def test_batches_go_on_without_the_sample_of_the_first(data):
    """As after a load of a file that kept the sums alone."""
    X, y = data
    model, whole = (qf.KernelRegressor(features(), alpha=1.0) for _ in range(2))
    model.partial_fit(X[:40], y[:40])
    del model._seen
    model.partial_fit(X[40:], y[40:])
    whole.partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


# --- sums of parts are the sums of all ------------------------------------------------------------
def sums_of(make, Z, Y, weight, parts):
    total = None
    for rows in np.array_split(np.arange(len(Z)), parts):
        sums = make() if total is None else total.blank()()
        sums.add(Z[rows], Y[rows], weight[rows])
        if total is None:
            total = sums
        else:
            total.merge(sums)
    return total


def test_sums_of_parts_are_the_sums_of_all_rows(rng):
    Z, weight = rng.normal(size=(30, 4)), rng.uniform(1, 2, 30)
    marks = np.column_stack([rng.normal(size=(30, 2)), rng.random(30) < 0.3]).astype(float)
    coefficients, vectors = rng.normal(size=4), rng.normal(size=(4, 3))
    for make in (
        lambda: CurvatureSums(coefficients, 0.3),
        lambda: TargetSums(4, 2),
        lambda: ImageSums(vectors, np.ones((2, 4))),
    ):
        one, three = (sums_of(make, Z, marks, weight, parts) for parts in (1, 3))
        assert one.state().keys() == three.state().keys() and one.state()
        for name, value in one.state().items():
            np.testing.assert_allclose(three.state()[name], value, rtol=1e-10, atol=1e-12)
    assert three.centred.shape == (2, 4, 3)
    bands = [sums_of(lambda: CurvatureSums(coefficients, 0.3), Z, marks, weight, n) for n in (1, 3)]
    assert bands[0].total == pytest.approx(bands[1].total)
    assert (
        bands[0].squares == pytest.approx(float(weight @ weight)) == pytest.approx(bands[1].squares)
    )


@pytest.mark.parametrize(("marks", "groups"), [([0, 0], [0]), ([1, 1], [1]), ([0, 1], [0, 1])])
def test_a_block_has_only_the_groups_of_its_rows(marks, groups):
    found = list(_groups(np.array(marks, dtype=float)[:, None], None))
    assert [number for number, _, _ in found] == groups
    assert sum(mass.sum() for _, _, mass in found) == 2


def test_pieces_are_joined_up_to_the_rows_that_are_asked_for():
    def pieces(sizes):
        for i, n in enumerate(sizes):
            yield Rows(np.full((n, 1), float(i)), np.full((n, 1), float(i)), None), i

    joined = [(len(rows.Z), done) for rows, done in gathered(pieces([3, 3, 3, 1]), 5)]
    assert joined == [(6, 1), (4, 3)]
    joined = [(len(rows.Z), done) for rows, done in gathered(pieces([3, 3]), 5)]
    assert joined == [(6, 1)]
    rows = next(pieces([4]))[0]
    assert len(rows.checksums(0)) == 0
    rows.expect(None)


def test_splines_of_a_column_of_one_value_are_constant(rng):
    rows = np.column_stack([np.full(60, 2.0), rng.normal(size=60)])
    (constant,) = Splines.of(rows, [0])(rows).T
    np.testing.assert_array_equal(constant, 1.0)
    both, alone = Splines.of(rows, [0, 1])(rows), Splines.of(rows, [1])(rows)
    assert len(both) == len(alone) == 60
    np.testing.assert_allclose(both.sum(axis=1), 1.0)  # B-splines add up to one


# --- what a notebook shows ------------------------------------------------------------------------
def test_a_penalty_that_was_given_was_not_chosen(data):
    X, y = data
    for alpha, chosen in ((0.5, False), ("auto", True)):
        model = qf.KernelRegressor(features(), alpha=alpha).fit(X, y)
        text = re.sub(r"<[^>]*>", " ", model._facts())
        assert "alpha" in text and (" by " in text.partition("alpha")[2][:60]) == chosen


# --- FFTs -----------------------------------------------------------------------------------------
def lattice_model(X, y, **options):
    grid = qf.DenseGrid(qf.Gaussian(0.5), rule="equispaced", n_points=12)
    return qf.KernelRegressor(grid, alpha=0.1, solver="toeplitz", **options).fit(X, y)


def test_bounds_of_several_targets_are_those_of_each(data):
    pytest.importorskip("finufft")
    X, y = data
    both = lattice_model(X, np.column_stack([y, -2 * y])).prediction_bound(X[:5])
    one = lattice_model(X, y).prediction_bound(X[:5])
    assert np.shape(one.proven) == () and np.shape(both.proven) == (2,)
    np.testing.assert_allclose(both.proven, [one.proven, 2 * one.proven], rtol=1e-6)


def test_predictions_of_many_blocks_are_those_of_all_rows(data, monkeypatch):
    pytest.importorskip("finufft")
    X, y = data
    model = lattice_model(X, y)
    expected = model.predict(X)
    lattice = type(model._lattice_of_fit())
    monkeypatch.setattr(lattice, "rows_at_once", 20)
    for sizes in ([20, 20, 20, 20], [30, 30, 20], [7] * 11 + [3]):
        ends = np.cumsum(sizes)
        blocks = [X[end - n : end] for n, end in zip(sizes, ends, strict=True)]
        np.testing.assert_allclose(model.predict(lambda b=blocks: iter(b)), expected, atol=1e-9)


def test_a_long_lattice_is_preconditioned_by_its_diagonal(data, monkeypatch):
    pytest.importorskip("finufft")
    from quadfeat.models import toeplitz

    X, y = data
    used, plain = [], Diagonal.__init__

    def noted(self, *given):
        used.append(given)
        plain(self, *given)

    expected = lattice_model(X, y).coef_
    monkeypatch.setattr(Diagonal, "__init__", noted)
    monkeypatch.setattr(solver, "DENSE_COLUMNS", 1)
    monkeypatch.setattr(toeplitz, "_LONGEST_AXIS", 3)
    np.testing.assert_allclose(lattice_model(X, y).coef_, expected, rtol=1e-6, atol=1e-8)
    assert used


def test_ffts_are_cheaper_for_many_rows_and_many_columns():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    for n_points, rows, cheaper in ((4, 100, False), (40, 10**6, True), (140, 10**5, True)):
        grid = qf.DenseGrid(KERNEL, rule="equispaced", n_points=n_points).fit(X)
        assert solver._is_cheaper(grid.lattice(), rows) == cheaper
