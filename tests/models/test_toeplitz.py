"""Fits by FFTs equal those by products, and are close to those of the exact kernel."""

import sys

import dask.array as da
import numpy as np
import pytest
from scipy import linalg
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

import quadfeat as qf
from quadfeat.models import solver, toeplitz
from quadfeat.models.toeplitz_sums import ToeplitzSums
from quadfeat.numerics import nufft

from .maps import equispaced

KERNELS = {
    "gaussian": lambda d: qf.Gaussian(np.linspace(3.0, 6.0, d)),
    "laplacian": lambda d: qf.Laplacian(1.0),
    "cauchy": lambda d: qf.Cauchy(2.0),
    "matern product": lambda d: 2.0 * qf.Matern(1.5, np.linspace(3.0, 6.0, d), product=True),
    "matern": lambda d: qf.Matern(1.5, np.linspace(3.0, 6.0, d)),
}
COUNTS = {1: [21], 2: [9, 8], 3: [5, 4, 5]}


@pytest.fixture(params=["factored", "iterated"])
def iterated(request, monkeypatch):
    """Whether conjugate gradients solve a small system too."""
    if request.param == "iterated":
        monkeypatch.setattr(solver, "DENSE_COLUMNS", 0)
    return request.param == "iterated"


def _data(d, n=400, t=1):
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, d))
    y = np.sin(6 * X[:, 0]) + 3 + X.sum(axis=1) + 0.1 * rng.normal(size=n)
    Y = np.stack([y, 100 * np.cos(4 * X[:, -1])], axis=1)
    return X, y if t == 1 else Y, rng.uniform(0.2, 2.0, n)


def _grid(d, name="matern product", **options):
    return qf.DenseGrid(
        KERNELS[name](d), **(options or {"n_points": COUNTS[d], "rule": "equispaced"})
    )


def _equispaced_fit(X, y):
    return qf.KernelRegressor(equispaced(), alpha=0.1, solver="toeplitz").fit(X, y)


def _tolerance(model, weight):
    """How far coefficients may be: sums right to 1e-11 of the weights, solutions to 1e-8.

    (G + alpha I) dv = dc - dG v bounds the first; the second is in the norm of G + alpha I, whose
    square is c'v <= y'y, and |dv| <= that / sqrt(alpha). The steps' estimate is a lower one: x 3.
    """
    size = np.linalg.norm(model.coef_) + 100.0
    sums = 1e-11 * weight.sum() * np.sqrt(model.features_.n_columns_) * size / model.alpha_
    energy = np.sqrt(weight.sum()) * 100.0
    return sums + 3 * toeplitz.TOLERANCE * energy / np.sqrt(model.alpha_)


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("name", KERNELS)
def test_every_coefficient_is_that_of_products(name, d, iterated):
    grid = _grid(d, name)
    for t, weighted, intercept in ((1, False, True), (2, True, True), (2, False, False)):
        X, y, weight = _data(d, t=t)
        given = weight if weighted else None
        options = {"alpha": 0.3, "fit_intercept": intercept}
        products = qf.KernelRegressor(grid, solver="products", **options).fit(X, y, given)
        model = qf.KernelRegressor(grid, solver="toeplitz", **options).fit(X, y, given)
        assert (products.solver_, model.solver_) == ("products", "toeplitz")
        tolerance = _tolerance(products, weight)
        assert np.abs(model.coef_ - products.coef_).max() <= tolerance
        size = np.sqrt(grid.kernel.at_zero(d))
        for rows in (X, X[:5]):
            gap = np.abs(model.predict(rows) - products.predict(rows)).max()
            assert gap <= 2 * size * tolerance * np.sqrt(len(products.features_.signs_))
        spread, exact = (m.predict(X[:20], return_std=True)[1] for m in (model, products))
        # Degrees of freedom of the noise are estimated from random vectors.
        np.testing.assert_allclose(spread, exact, rtol=0.02 if iterated else 1e-6)


def test_a_factored_system_chooses_the_penalty_of_products():
    X, y, weight = _data(2)
    products = qf.KernelRegressor(_grid(2), solver="products").fit(X, y, weight)
    model = qf.KernelRegressor(_grid(2), solver="toeplitz").fit(X, y, weight)
    assert model.alpha_ == pytest.approx(products.alpha_, rel=1e-9)
    assert model.noise_ == pytest.approx(products.noise_, rel=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_scale_of_penalties_is_that_of_products(intercept):
    """The trace of the gram, of a kernel whose modes have unequal roots."""
    X, y, weight = _data(2)
    features = _grid(2).fit(X)
    lattice = features.lattice()
    sums = ToeplitzSums(lattice.steps.tolist(), lattice.shape, 1)
    rows = np.empty((len(X), lattice.n_columns_))
    lattice.write(X, rows)
    sums.add(rows, y[:, None], weight)
    system = toeplitz.ToeplitzSystem(sums, lattice, intercept=intercept, distinct_share=1.0)
    Z = features.transform(X)
    centred = Z - np.average(Z, axis=0, weights=weight) if intercept else Z
    assert system.scale == pytest.approx(weight @ (centred**2).sum(axis=1), rel=1e-9)


def test_the_estimated_likelihood_is_that_of_products(monkeypatch):
    """Products take the likelihood for an iterator that is not read twice; here from its path."""
    from quadfeat.models.ridge_path import RidgePath

    X, y, weight = _data(2)
    model = qf.KernelRegressor(_grid(2), solver="toeplitz").fit(X, y, weight)
    lattice, sums = model.features_.lattice(), model._toeplitz.sums
    normal = sums.normal(lattice).system(
        intercept=True, signs=model.features_.signs_, copy=True, distinct_share=1.0
    )
    system = toeplitz.ToeplitzSystem(sums, lattice, intercept=True, distinct_share=1.0)
    monkeypatch.setattr(toeplitz, "_PROBES", 200)
    for alpha in (0.01, 1.0, 30.0):
        exact = RidgePath(normal).evidence(np.array([alpha]))[0]
        solution = system.solve(alpha, system.cross).solution
        assert system.evidence(alpha, solution) == pytest.approx(exact, rel=0.01)
        freedom = RidgePath(normal).freedom(alpha)
        assert system.freedom(alpha) == pytest.approx(freedom, rel=0.02)
        squares = RidgePath(normal).squares(alpha)
        np.testing.assert_allclose(system.squares(alpha, solution), squares, rtol=1e-6)


def test_an_iterated_fit_chooses_a_penalty_about_as_good(monkeypatch):
    monkeypatch.setattr(solver, "DENSE_COLUMNS", 0)
    X, y, _ = _data(2, n=1000)
    model = qf.KernelRegressor(_grid(2), solver="toeplitz").fit(X[:500], y[:500])
    products = qf.KernelRegressor(_grid(2), solver="products").fit(X[:500], y[:500])
    errors = [np.square(m.predict(X[500:]) - y[500:]).mean() for m in (model, products)]
    assert errors[0] <= 1.05 * errors[1]
    assert next(iter(model.tuning_)).judge == "estimated likelihood"


def test_batches_blocks_and_dask_give_the_model_of_all_rows(iterated, monkeypatch):
    monkeypatch.setattr(nufft, "_CHUNK", 64)
    X, y, weight = _data(2)
    model = qf.KernelRegressor(_grid(2), alpha=0.3, solver="toeplitz")
    whole = clone(model).fit(X, y, weight)
    tolerance = 2 * _tolerance(whole, weight)

    def blocks():
        for s in range(0, len(X), 100):
            yield X[s : s + 100], y[s : s + 100], weight[s : s + 100]

    streamed = clone(model).fit(blocks)
    np.testing.assert_allclose(streamed.coef_, whole.coef_, atol=tolerance)
    parts = [da.from_array(a, chunks=(100, *a.shape[1:])) for a in (X, y, weight)]
    spread = clone(model).fit(*parts)
    np.testing.assert_allclose(spread.coef_, whole.coef_, atol=tolerance)
    batches, direct = clone(model), clone(model).set_params(solver="products")
    for each in (batches, direct):
        for some in (slice(100), slice(100, None)):
            each.partial_fit(X[some], y[some], weight[some])
    assert batches.solver_ == "toeplitz"
    np.testing.assert_allclose(batches.coef_, direct.coef_, atol=tolerance)


def test_an_interrupted_fit_is_resumed_to_the_same_bits(tmp_path, monkeypatch):
    monkeypatch.setattr(nufft, "_CHUNK", 512)
    X, y, weight = _data(2, n=60_000)
    model = qf.KernelRegressor(
        _grid(2), alpha=0.3, solver="toeplitz", checkpoint=tmp_path / "c", checkpoint_interval=0.0
    )
    whole = clone(model).set_params(checkpoint=None).fit(X, y, weight)
    add, calls = toeplitz.ToeplitzSums.add, []

    def stopping(self, *args):
        calls.append(len(args[0]))
        if len(calls) == 4:
            raise KeyboardInterrupt
        add(self, *args)

    monkeypatch.setattr(toeplitz.ToeplitzSums, "add", stopping)
    with pytest.raises(KeyboardInterrupt, match="resumes from there"):
        clone(model).fit(X, y, weight)
    before = len(calls)
    resumed = clone(model).fit(X, y, weight)
    np.testing.assert_array_equal(resumed.coef_, whole.coef_)
    assert sum(calls[before:]) == 60_000 - sum(calls[:3])


def test_a_saved_model_answers_with_the_same_bits(tmp_path, iterated):
    X, y, _ = _data(2)
    model = qf.KernelRegressor(_grid(2, "matern"), alpha=0.3, solver="toeplitz")
    model.partial_fit(X[:200], y[:200])
    qf.save(model, tmp_path / "model.qf")
    again = qf.load(tmp_path / "model.qf")
    assert vars(again).keys() == vars(model).keys()
    for one, other in zip(
        again.predict(X, return_std=True), model.predict(X, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    assert repr(again.prediction_bound(X)) == repr(model.prediction_bound(X))
    for each in (again, model):
        each.partial_fit(X[200:], y[200:])
    np.testing.assert_array_equal(again.coef_, model.coef_)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("name", ["gaussian", "matern product", "matern"])
def test_predictions_are_within_the_bound_of_those_of_the_exact_kernel(name, intercept, iterated):
    X, y, weight = _data(2)
    kernel, rows, alpha = KERNELS[name](2), np.random.default_rng(1).uniform(size=(100, 2)), 0.5
    model = qf.KernelRegressor(
        _grid(2, name, tol=5e-2), alpha=alpha, solver="toeplitz", fit_intercept=intercept
    ).fit(X, y, weight)
    ones = np.ones((len(X), 1)) * intercept
    system = np.block(
        [[kernel(X) + alpha * np.diag(1 / weight), ones], [ones.T, np.eye(1) * (not intercept)]]
    )
    dual = linalg.solve(system, np.append(y, 0.0))
    exact = kernel(rows, X) @ dual[:-1] + dual[-1]
    gap = np.abs(model.predict(rows) - exact).max()
    bound = model.prediction_bound(rows)
    assert bound.kernel_error <= 5e-2
    assert gap <= bound.proven
    assert gap <= bound.estimated < bound.proven


def test_the_bound_of_a_part_with_no_error_is_that_of_the_solver():
    from quadfeat.models.prediction_bound import FitSize

    size = FitSize(100.0, np.array([0.1]), np.array([4.0]), np.array([1e-3]), 0.5, False)
    assert size.bound(0.0, 4.0).proven == pytest.approx(2 * 1e-3 / 0.5)
    exact = FitSize(100.0, np.array([0.1]), np.array([4.0]), np.zeros(1), 0.5, False).bound(
        0.1, 4.0
    )
    dual = np.sqrt(100 * 4.0) / 0.5
    assert exact.proven == pytest.approx(0.4 * dual * (1 + 0.5 * np.sqrt(100 * 4.0 / 0.5)))
    assert exact.estimated == pytest.approx(3 * np.sqrt(0.1 * 0.4 / 0.5))


def test_auto_takes_transforms_where_they_are_cheaper():
    small, large = _data(2), _data(2, n=100_000)
    grid = _grid(2, n_points=31, rule="equispaced")
    assert qf.KernelRegressor(grid, alpha=1.0).fit(*small).solver_ == "products"
    assert qf.KernelRegressor(grid, alpha=1.0).fit(*large).solver_ == "toeplitz"
    gauss = qf.KernelRegressor(qf.DenseGrid(n_points=5, rule="gauss"), alpha=1.0)
    assert gauss.fit(*large).solver_ == "products"


def test_without_finufft_a_sentence_names_the_extra(monkeypatch):
    X, y, _ = _data(2)
    monkeypatch.setattr(solver, "has_nufft", lambda: False)
    with pytest.raises(ImportError, match=r"pip install 'quadfeat\[nufft\]'"):
        qf.KernelRegressor(_grid(2), alpha=1.0, solver="toeplitz").fit(X, y)
    assert qf.KernelRegressor(_grid(2), alpha=1.0).fit(X, y).solver_ == "products"
    assert "finufft" not in vars(sys.modules["quadfeat.numerics.nufft"])


def test_a_loaded_model_predicts_without_finufft_and_refuses_what_needs_it(tmp_path, monkeypatch):
    X, y, _ = _data(2)
    model = qf.KernelRegressor(_grid(2), alpha=1.0, solver="toeplitz").partial_fit(X, y)
    qf.save(model, tmp_path / "model.qf")
    monkeypatch.setattr(solver, "has_nufft", lambda: False)
    again = qf.load(tmp_path / "model.qf")
    np.testing.assert_allclose(again.predict(X), model.predict(X), atol=1e-9)
    for call in (again.prediction_bound, lambda rows: again.partial_fit(rows, y)):
        with pytest.raises(ImportError, match="finufft"):
            call(X)


def test_maps_that_are_no_lattice_are_refused_with_the_reason():
    X, y, _ = _data(2)
    with pytest.raises(ValueError, match=r"rule='equispaced'.*RandomFourier is not"):
        qf.KernelRegressor(qf.RandomFourier(n_components=8), solver="toeplitz").fit(X, y)
    with pytest.raises(ValueError, match="solver"):
        qf.KernelRegressor(_grid(2), solver="fft").fit(X, y)
    products = qf.KernelRegressor(_grid(2), alpha=1.0, solver="products").fit(X, y)
    with pytest.raises(ValueError, match="solver='toeplitz'"):
        products.prediction_bound(X)


def test_standard_deviations_of_too_many_rows_are_refused(monkeypatch):
    monkeypatch.setattr(solver, "DENSE_COLUMNS", 0)
    X, y, _ = _data(2, n=1001)
    model = qf.KernelRegressor(_grid(2), alpha=1.0, solver="toeplitz").fit(X, y)
    with pytest.raises(ValueError, match="at most 1,000 rows"):
        model.predict(X, return_std=True)


def test_a_solution_that_did_not_converge_says_how_far_it_is(monkeypatch):
    monkeypatch.setattr(solver, "DENSE_COLUMNS", 0)
    monkeypatch.setattr(toeplitz, "_MOST_STEPS", 3)
    X, y, _ = _data(2)
    with pytest.warns(ConvergenceWarning, match="stopped after 3 steps with an error of"):
        qf.KernelRegressor(_grid(2), alpha=1e-6, solver="toeplitz").fit(X, y)


def test_rows_in_single_precision_lose_single_precision_only():
    X, y, _ = _data(2)
    model = qf.KernelRegressor(_grid(2), alpha=0.3, solver="toeplitz").fit(X, y)
    single = qf.KernelRegressor(_grid(2), alpha=0.3, solver="toeplitz", dtype="float32").fit(X, y)
    np.testing.assert_allclose(single.predict(X), model.predict(X), atol=1e-3)


def test_bounds_of_several_targets_are_those_of_each(plane):
    pytest.importorskip("finufft")
    X, y = plane
    both = _equispaced_fit(X, np.column_stack([y, -2 * y])).prediction_bound(X[:5])
    one = _equispaced_fit(X, y).prediction_bound(X[:5])
    assert np.shape(one.proven) == () and np.shape(both.proven) == (2,)
    np.testing.assert_allclose(both.proven, [one.proven, 2 * one.proven], rtol=1e-6)


def test_a_long_lattice_is_preconditioned_by_its_diagonal(plane, monkeypatch):
    pytest.importorskip("finufft")
    X, y = plane
    used, plain = [], toeplitz.Diagonal.__init__

    def noted(self, *given):
        used.append(given)
        plain(self, *given)

    expected = _equispaced_fit(X, y).coef_
    monkeypatch.setattr(toeplitz.Diagonal, "__init__", noted)
    monkeypatch.setattr(solver, "DENSE_COLUMNS", 1)
    monkeypatch.setattr(toeplitz, "_LONGEST_AXIS", 3)
    np.testing.assert_allclose(_equispaced_fit(X, y).coef_, expected, rtol=1e-6, atol=1e-8)
    assert used
