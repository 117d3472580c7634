"""Laws of the frame of the data, and of Hermite-Mercer expansions in it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_breast_cancer

from quadfeat._engine.plans import MercerBasis
from quadfeat.constructions import compression, expander, landmarks, mercer
from quadfeat.constructions.expander import Expander
from quadfeat.constructions.mercer import SPREADS, fit_frames, hermite_mercer
from quadfeat.kernels.convolution import Convolution
from quadfeat.kernels.matern import Matern
from quadfeat.kernels.stationary import Gaussian
from quadfeat.kernels.subsets import Anova
from quadfeat.numerics import principal_frame
from quadfeat.numerics.principal_frame import Frame, Moments

from .expansion_laws import (
    DATA,
    EPS,
    features,
    landmark_features,
    landmark_rounding,
    violations,
)


def normal_expansion(variance, p, gamma=1.0):
    """The expansion under N(0, diag(variance)) itself, by the frame of that covariance."""
    d = len(variance)
    groups = Gaussian(gamma).groups(d)
    scale = np.full(d, np.sqrt(gamma))
    own = principal_frame.frame(Moments(1, np.zeros(d), np.diag(variance)), scale)
    return Expander(groups, [scale], [own], 1.0).by_eigenvalue(p)


# --- moments and frames --------------------------------------------------------------------------
def test_directions_made_of_chance_are_no_better_than_the_axes():
    X = np.random.default_rng(0).normal(size=(1000, 100))
    scale = np.full(100, 0.07)
    kept = principal_frame.frame(principal_frame.moments(X[:500]), scale)
    variance, directions = np.linalg.eigh(np.cov(X[:500].T) * 0.07**2)
    chance = Frame(kept.mean, directions[:, ::-1], variance[::-1])
    groups = Gaussian(0.07**2).groups(100)
    ours, theirs = (
        mercer.residual(
            X[500:], Expander(groups, [scale], [own], 1.0).by_eigenvalue(300), 1.0
        ).mean()
        for own in (kept, chance)
    )
    assert ours < theirs


# --- the expansion -------------------------------------------------------------------------------
def turned(n, d, decay=0.5):
    """Rows of d directions, all of which matter, and none of which is an axis."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)) / np.arange(1, d + 1) ** decay
    return X @ np.linalg.qr(rng.normal(size=(d, d)))[0] + 2.0


@pytest.mark.parametrize("gamma", [0.02, np.linspace(0.01, 0.04, 60)], ids=["one", "per axis"])
def test_reflections_make_the_first_directions_principal_and_keep_the_others_orthogonal(gamma):
    X, kernel = turned(3000, 60), Gaussian(gamma)
    (own,) = hermite_mercer(kernel, X, 75).expansions
    assert own.mixing is not None
    r = len(own.mixing)
    dense = np.diag(own.scale / np.sqrt(own.length)) + own.rotation @ own.mixing
    Q = dense * np.sqrt(own.length) / own.scale[:, None]
    np.testing.assert_allclose(Q.T @ Q, np.eye(60), atol=1e-13)
    (principal,) = fit_frames(kernel, X).frames
    np.testing.assert_allclose(
        np.abs(Q[:, :r].T @ principal.directions[:, :r]), np.eye(r), atol=1e-12
    )
    straight = MercerBasis((replace(own, rotation=dense, mixing=None),))
    np.testing.assert_allclose(
        features(X[:50], MercerBasis((own,))), features(X[:50], straight), atol=1e-12
    )


@pytest.mark.parametrize("d, p", [(60, 75), (200, 260)])
def test_reflections_cost_no_accuracy(d, p):
    X, test = np.split(turned(5000, d), [4000])
    kernel = Gaussian(0.02)
    basis = hermite_mercer(kernel, X, p)
    assert basis.expansions[0].mixing is not None
    groups, fitted = kernel.groups(d), fit_frames(kernel, X)
    scales = [mercer._scale(group) for group in groups]
    principal = min(
        np.mean(
            mercer.residual(test, Expander(groups, scales, fitted.frames, f).by_eigenvalue(p), 1.0)
        )
        for f in SPREADS
    )
    assert np.mean(mercer.residual(test, basis, 1.0)) < 1.01 * principal


def test_rows_are_reflected_only_where_that_saves_work():
    X = turned(3000, 60)
    cases = [
        (X, 50, "a direction is left out"),
        (X, 400, "most directions are in products"),
        (np.random.default_rng(0).normal(size=X.shape), 75, "axes are directions themselves"),
    ]
    for rows, p, why in cases:
        (own,) = hermite_mercer(Gaussian(0.02), rows, p).expansions
        assert own.mixing is None, why


def test_reflections_of_directions_that_are_axes_change_nothing():
    Y, T = expander._compact_reflections(np.eye(7)[:, :3])
    np.testing.assert_array_equal(np.abs(np.eye(7) - Y @ T @ Y.T), np.eye(7))


@pytest.mark.parametrize("scale", [0.3, 3.0, 60.0])
def test_features_are_orthogonal_with_the_eigenvalues_as_lengths_to_degree_200(scale):
    basis = normal_expansion(np.array([scale**2]), 201)
    x = np.linspace(-12 * scale, 12 * scale, 40_001)  # trapezoid: exact for such smooth tails
    Z = features(x[:, None], basis)
    density = stats.norm.pdf(x, scale=scale) * (24 * scale / 40_000)
    B = np.sqrt(1 + 8 * scale**2)
    eigenvalues = 2 / (B + 1) * ((B - 1) / (B + 1)) ** np.arange(201)
    # Each entry sums 40,001 products of functions that 200 steps of a recurrence have rounded.
    error = np.abs((Z.T * density) @ Z - np.diag(eigenvalues))
    assert error.max() < 4 * 200 * EPS * eigenvalues[0]


@pytest.mark.parametrize("variance", [[1.0], [2.0, 0.3], [1.0, 0.5, 0.2, 0.1, 0.05]])
def test_the_mean_residual_is_the_sum_of_the_missing_eigenvalues(variance):
    variance = np.array(variance)
    basis = normal_expansion(variance, 40)
    (expansion,) = basis.expansions
    if expansion.rotation.shape[1] < len(variance) or (expansion.sizes == 1).any():
        pytest.fail("every direction must occur for this law")
    X = np.random.default_rng(0).normal(size=(40_000, len(variance))) * np.sqrt(variance)
    residual = mercer.residual(X, basis, 1.0)
    B = np.sqrt(1 + 8 * variance)
    degrees = np.zeros((40, len(variance)), dtype=int)
    for j in range(40):
        if expansion.parent[j] >= 0:
            degrees[j] = degrees[expansion.parent[j]]
        degrees[j, expansion.direction[j]] = expansion.degree[j]
    kept = np.prod(2 / (B + 1) * ((B - 1) / (B + 1)) ** degrees, axis=1).sum()
    assert abs(residual.mean() - (1 - kept)) < 5 * residual.std() / 200 + 1e-14


@pytest.mark.parametrize(("d", "p", "target"), [(1, 60, 1e-14), (2, 900, 1e-9), (5, 4000, 3e-3)])
def test_the_expansion_tends_to_the_kernel(d, p, target):
    X = np.random.default_rng(d).normal(size=(300, d))
    kernel = Gaussian(0.5 / d)
    errors = [
        np.sqrt(np.mean((kernel(X) - Z @ Z.T) ** 2))
        for q in (p // 16, p // 4, p)
        for Z in [features(X, hermite_mercer(kernel, X, q))]
    ]
    assert errors[0] > errors[1] > errors[2]
    assert errors[2] < target + 4 * p * EPS


@pytest.mark.parametrize("name", DATA)
@pytest.mark.parametrize("p", [1, 16, 200])
def test_residuals_bound_the_error_of_every_pair(name, p):
    X = DATA[name]
    train, test = X[::2], X[1::2]
    kernel = Gaussian("median").resolve(train)
    basis = hermite_mercer(kernel, train, p)
    shifted = np.concatenate([test, test[:50] + 1.0, test[:20] * 3.0, test[:20] * 1e3])
    Z = features(shifted, basis)
    assert Z.shape[1] == p
    assert violations(kernel, shifted, Z) == 0
    np.testing.assert_allclose(
        mercer.residual(shifted, basis, 1.0), 1 - (Z**2).sum(axis=1), atol=1e-13
    )


def test_one_gamma_per_axis_is_a_scale_of_the_axes():
    X, gamma = DATA["wine"][:, :4], np.array([0.1, 0.4, 0.9, 1.6])
    one = features(X, hermite_mercer(Gaussian(gamma), X, 50))
    other = features(X * np.sqrt(gamma), hermite_mercer(Gaussian(1.0), X * np.sqrt(gamma), 50))
    np.testing.assert_allclose(one @ one.T, other @ other.T, atol=1e-12)


def test_two_fits_agree_to_the_last_bit():
    X = DATA["cancer"]
    first, second = (features(X, hermite_mercer(Gaussian(0.02), X, 99)) for _ in range(2))
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize("name", DATA)
def test_single_precision_agrees_with_double(name):
    X = DATA[name].astype(np.float32)
    kernel = Gaussian("median").resolve(X.astype(float))
    basis = hermite_mercer(kernel, X, 150)
    single, double = features(X, basis), features(X.astype(float), basis)
    assert single.dtype == np.float32
    # t is off by eps |t| sqrt(axes); a function of degree k turns sqrt(2 k) radians per unit of t,
    # over |t| <= sqrt(2 k) or so, and exponents below 100 lose as many eps.
    degree = max(int(each.degree.max()) for each in basis.expansions)
    bound = np.finfo(np.float32).eps * (100 + 4 * degree * np.sqrt(X.shape[1]))
    assert np.abs(single - double).max() < bound


def test_degree_200_is_stable_in_single_precision():
    basis = normal_expansion(np.array([40.0**2]), 201)
    x = np.linspace(-150, 150, 2001)[:, None]
    double, single = features(x, basis), features(x.astype(np.float32), basis)
    assert basis.expansions[0].degree.max() == 200
    # The first function has underflowed where the last is still large.
    far = np.flatnonzero(single[:, 0] == 0)
    assert np.abs(double[far]).max() > 1e-3
    assert np.abs(single - double).max() < np.finfo(np.float32).eps * (100 + 4 * 200)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_wild_rows_give_no_nan(dtype):
    X = DATA["wine"].astype(dtype)
    wild = X.copy()
    wild[::3] *= np.finfo(dtype).max / 1e4 / np.abs(X).max()
    for p in (5, 300):
        Z = features(wild, hermite_mercer(Gaussian(0.05), X, p))
        assert np.isfinite(Z).all()
        assert np.abs(Z).max() <= 1 + 1e-5


@pytest.mark.parametrize(
    "X",
    [
        pytest.param(np.random.default_rng(0).normal(size=(10, 3)), id="fewer rows than columns"),
        pytest.param(np.tile([1.0, 2.0, 3.0], (20, 1)), id="constant"),
        pytest.param(np.array([[1.0, 2.0]]), id="one row"),
        pytest.param(np.repeat(np.eye(4), 9, axis=0), id="duplicated rows"),
        pytest.param(np.random.default_rng(0).normal(size=(50, 1)), id="one axis"),
        pytest.param(np.random.default_rng(0).normal(size=(60, 1000)), id="1000 axes"),
        pytest.param(np.random.default_rng(0).normal(size=(40, 3000)), id="3000 axes"),
        pytest.param(
            np.random.default_rng(0).normal(size=(90, 5)) * [1, 0, 1, 0, 1] + 7, id="flat axes"
        ),
    ],
)
def test_degenerate_data_keeps_the_law(X):
    kernel = Gaussian("median").resolve(X)
    for p in (1, 64):
        for pool in (
            hermite_mercer(kernel, X, p),
            hermite_mercer(kernel, X, 4 * p),
        ):
            for basis in (pool, compression.compress(pool, X, p)):
                Z = features(X, basis)
                assert np.isfinite(Z).all()
                assert violations(kernel, X + 0.1, features(X + 0.1, basis)) == 0
        basis = landmarks.landmarks(kernel, X, p, np.random.default_rng(0))
        Z = landmark_features(X + 0.1, kernel, basis)
        assert violations(kernel, X + 0.1, Z, landmark_rounding(basis)) == 0


# --- columns by their mean squares on the data ---------------------------------------------------
UNEVEN = {
    "one group": (Gaussian(0.3), 3, 60),
    "groups that share axes": (Anova(Gaussian(0.3), [[0, 1], [1, 2], [0, 2, 3]]), 4, 60),
    "hardly a column each": (Anova(Gaussian(0.3), [[0, 1], [1, 2], [0, 2, 3]]), 4, 4),
}


def uneven(n, d):
    """Rows in two clumps and a tail: far from a Gaussian."""
    rng = np.random.default_rng(0)
    sides = rng.choice([-2.0, 2.0], size=(n, 1)) * np.eye(d)[0]
    return sides + rng.exponential(size=(n, d)) * rng.choice([0.3, 1.0], size=(n, 1))


def squares_on(fitted):
    return partial(mercer.mean_squares, rows=fitted.training_rows, weights=fitted.row_weights)


def parts_of(kernel, X):
    groups = kernel.groups(X.shape[1])
    return (
        groups,
        [mercer._scale(group) for group in groups],
        fit_frames(kernel, X),
    )


@pytest.mark.parametrize("name", ["one group", "groups that share axes"])
def test_the_fullest_columns_are_those_of_the_largest_mean_squares_whose_parents_are(name):
    kernel, d, p = UNEVEN[name]
    X = uneven(3000, d)
    groups, scales, fitted = parts_of(kernel, X)
    chosen = Expander(groups, scales, fitted.training_frames, 1.0).by_mean_square(
        p, squares_on(fitted)
    )
    pool = Expander(groups, scales, fitted.training_frames, 1.0).by_eigenvalue(2 * p)
    assert chosen.n_columns == p and len(chosen.expansions) == len(groups)
    Z, wide = features(X, chosen), features(X, pool)
    # Each is a column of the pool, to rounding, and no two are the same one.
    gaps = np.abs(Z[:, :, None] - wide[:, None, :]).max(axis=0)
    found = gaps.argmin(axis=1)
    assert gaps.min(axis=1).max() < 1e-12 and len(set(found)) == p
    squares = np.mean(features(fitted.training_rows, pool) ** 2, axis=0)
    parent, start = [], 0
    for each in pool.expansions:
        parent += [start + j if j >= 0 else -1 for j in each.parent]
        start += each.n_columns
    for j in set(range(2 * p)) - set(found):
        line = [j]
        while parent[line[-1]] >= 0:
            line.append(parent[line[-1]])
        # Left out: smaller than all that were taken, or made from one that is.
        assert min(squares[line]) <= squares[found].min() * (1 + 1e-9)


def test_mean_squares_count_a_row_for_as_many_as_it_stands_for():
    X = uneven(500, 3)
    groups, scales, fitted = parts_of(Gaussian(0.3), X)
    basis = Expander(groups, scales, fitted.frames, 1.0).by_eigenvalue(40)
    counts = np.random.default_rng(1).integers(0, 4, size=len(fitted.training_rows))
    repeated = features(np.repeat(fitted.training_rows, counts, axis=0), basis)
    np.testing.assert_allclose(
        mercer.mean_squares(basis, fitted.training_rows, counts.astype(float)),
        np.mean(repeated**2, axis=0),
        rtol=1e-12,
    )


@pytest.mark.parametrize("name", UNEVEN)
def test_columns_chosen_on_the_data_leave_less_of_rows_held_out_and_are_of_use_on_others(name):
    kernel, d, p = UNEVEN[name]
    X, unseen = np.split(uneven(24_000, d), [22_000])  # so many that all share one frame
    groups, scales, fitted = parts_of(kernel, X)
    chosen = hermite_mercer(kernel, X, p)
    by_spread = [
        Expander(groups, scales, fitted.frames, spread).by_eigenvalue(p) for spread in SPREADS
    ]
    judge, exact = mercer._validation_error(kernel, fitted, p), kernel(unseen)

    def error(basis):
        Z = features(unseen, basis)
        return np.mean((Z @ Z.T - exact) ** 2)

    plain = min(by_spread, key=judge)
    assert judge(chosen) <= judge(plain)
    assert error(chosen) <= error(plain)
    assert chosen.n_columns == p and len(chosen.expansions) == len(groups)


def test_a_basis_is_judged_by_residuals_of_rows_held_out_and_by_pairs_with_others():
    X = np.random.default_rng(3).normal(size=(60, 2))
    kernel = Gaussian(0.3)
    groups, scales, fitted = parts_of(kernel, X)
    held_out, others = fitted.validation_rows, fitted.training_rows
    assert len(np.unique(np.concatenate([held_out, others]), axis=0)) == len(X), "none is both"
    judge = mercer._validation_error(kernel, fitted, 10)
    for spread in SPREADS:
        basis = Expander(groups, scales, fitted.training_frames, spread).by_eigenvalue(10)
        left, right = features(held_out, basis), features(others, basis)
        residuals = np.sum((1 - np.sum(left**2, axis=1)) ** 2)
        pairs = np.sum((left @ right.T - kernel(held_out, others)) ** 2)
        assert judge(basis) == pytest.approx(residuals * pairs, rel=1e-9)


def test_spreads_chosen_by_pairs_too_err_less_than_those_of_the_least_residual():
    rng, p = np.random.default_rng(0), 128
    X, unseen, kernel = rng.normal(size=(500, 3)), rng.normal(size=(400, 3)), Gaussian(0.2)
    exact, chosen, by_residual = kernel(unseen), [], []

    def error(basis):
        Z = features(unseen, basis)
        return np.sqrt(np.mean((Z @ Z.T - exact) ** 2))

    for _ in range(12):  # other rows are held out in each order
        rows = rng.permutation(X)
        groups, scales, fitted = parts_of(kernel, rows)
        bases = [
            Expander(groups, scales, fitted.training_frames, spread).by_eigenvalue(p)
            for spread in SPREADS
        ]
        judge = mercer._validation_error(kernel, fitted, p)
        chosen.append(error(min(bases, key=judge)))
        residuals = [mercer.residual(fitted.validation_rows, basis, 1.0) for basis in bases]
        by_residual.append(error(bases[np.argmin(np.mean(np.square(residuals), axis=1))]))
    assert np.mean(chosen) < 0.9 * np.mean(by_residual)


def test_columns_chosen_on_even_rows_have_a_tenth_less_error_than_at_any_spread():
    X, unseen = np.split(np.random.default_rng(0).uniform(-1.7, 1.7, size=(6000, 6)), [5000])
    kernel = Gaussian(0.05)
    groups, scales, fitted = parts_of(kernel, X)
    exact = kernel(unseen)

    def error(basis):
        Z = features(unseen, basis)
        return np.sqrt(np.mean((Z @ Z.T - exact) ** 2))

    by_spread = [
        Expander(groups, scales, fitted.frames, spread).by_eigenvalue(256) for spread in SPREADS
    ]
    chosen = hermite_mercer(kernel, X, 256)
    assert error(chosen) < 0.9 * min(map(error, by_spread))
    # Made in the frame of all rows, not of those that judged.
    np.testing.assert_allclose(chosen.expansions[0].mean, X.mean(axis=0), atol=1e-12)


def test_few_rows_of_heavy_tails_do_not_choose_columns():
    X = load_breast_cancer().data[np.random.default_rng(0).permutation(569)[189:], :5]
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    kernel = Gaussian("median").resolve(X)
    groups, scales, fitted = parts_of(kernel, X)
    (own,) = hermite_mercer(kernel, X, 256, fitted).expansions
    plans = [Expander(groups, scales, fitted.frames, spread).columns(256)[0] for spread in SPREADS]
    columns = np.column_stack([own.parent, own.direction, own.degree])
    assert any(np.array_equal(columns, plan) for plan in plans)
    fullest = Expander(groups, scales, fitted.frames, 1.0).by_mean_square(256, squares_on(fitted))
    assert not np.array_equal(fullest.expansions[0].degree, plans[3][:, 2])


def test_columns_are_measured_on_rows_that_count_and_are_not_held_out():
    X = uneven(30_000, 3)
    weights = np.random.default_rng(1).integers(0, 3, size=len(X)).astype(float)
    fitted = fit_frames(Gaussian(0.3), X, weights)
    assert len(fitted.training_rows) == 4000
    places = {tuple(row): i for i, row in enumerate(X)}
    found = [places[tuple(row)] for row in fitted.training_rows]
    np.testing.assert_array_equal(weights[found], fitted.row_weights)
    assert (fitted.row_weights > 0).all() and set(fitted.row_weights) == {1.0, 2.0}
    validation_rows = set(map(tuple, fitted.validation_rows))
    assert not validation_rows & set(map(tuple, fitted.training_rows))


def test_rows_too_wide_to_measure_columns_on_keep_the_largest_by_eigenvalue(monkeypatch):
    X = uneven(2000, 3)
    monkeypatch.setattr(mercer, "WIDE", 2)
    groups, scales, fitted = parts_of(Gaussian(0.3), X)
    assert not len(fitted.training_rows)
    (own,) = hermite_mercer(Gaussian(0.3), X, 40, fitted).expansions
    plans = [Expander(groups, scales, fitted.frames, spread).columns(40)[0] for spread in SPREADS]
    columns = np.column_stack([own.parent, own.direction, own.degree])
    assert any(np.array_equal(columns, plan) for plan in plans)


def test_rows_do_not_depend_on_their_block():
    X = DATA["digits"]
    basis = hermite_mercer(Gaussian(0.01), X, 100)
    whole = features(X, basis)
    np.testing.assert_allclose(whole[5:6], features(X[5:6], basis), rtol=0, atol=1e-15)


def test_other_kernels_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match="Landmarks"):
        hermite_mercer(Matern(1.5, 0.5), DATA["wine"], 10)


# --- groups --------------------------------------------------------------------------------------
def test_every_group_keeps_a_column_and_the_rest_follow_the_eigenvalues():
    X = np.random.default_rng(0).normal(size=(400, 6)) * [3, 3, 1, 1, 0.01, 0.01]
    kernel = Anova(Gaussian(0.3), [[0, 1], [2, 3], [4, 5]])
    basis = hermite_mercer(kernel, X, 60)
    counts = [each.n_columns for each in basis.expansions]
    assert sum(counts) == 60
    assert counts[0] > counts[1] > counts[2] >= 1
    assert len(hermite_mercer(kernel, X, 2).expansions) == 2


def test_a_group_of_little_weight_keeps_one_column_and_a_heavy_one_gets_more():
    X = np.random.default_rng(0).normal(size=(400, 6))
    kernel = Anova(Gaussian(0.3), [[0, 1], [2, 3], [4, 5]], [1.0, 30.0, 1e-12])
    counts = [each.n_columns for each in hermite_mercer(kernel, X, 40).expansions]
    assert counts[1] > counts[0] > counts[2] == 1


def test_a_sum_over_groups_keeps_the_law_and_tends_to_the_kernel():
    X = DATA["cancer"]
    kernel = Anova(Gaussian(0.1), [[0, 1, 2], [3, 4], [5, 6, 7, 8], [2, 9]], [1.0, 2.0, 0.5, 1.0])
    errors = []
    for p in (4, 40, 400):
        Z = features(X, hermite_mercer(kernel, X, p))
        assert violations(kernel, X, Z) == 0
        errors.append(np.abs(kernel(X) - Z @ Z.T).mean())
    assert errors[0] > 10 * errors[1] > 100 * errors[2]


def test_one_kernel_per_axis_is_a_gaussian_too():
    X = DATA["wine"][:, :3]
    several = Anova([Gaussian(0.1), Gaussian(0.2), Gaussian(0.3)], [[0, 1, 2]])
    one = features(X, hermite_mercer(several, X, 30))
    other = features(X, hermite_mercer(Gaussian(np.array([0.1, 0.2, 0.3])), X, 30))
    np.testing.assert_array_equal(one, other)


def test_constant_windows_take_one_column():
    images = np.zeros((300, 8, 8))
    images[:, 3:, 3:] = np.random.default_rng(0).random((300, 5, 5))
    X, kernel = images.reshape(300, 64), Convolution((8, 8), 3, base=Gaussian(0.5))
    basis = hermite_mercer(kernel, X, 400)
    constant = [each for each in basis.expansions if not X[:, each.axes].any()]
    assert len(constant) == 11  # the windows that end before the third row or column
    assert all(each.n_columns == 1 for each in constant)
    assert basis.n_columns == 400
    assert violations(kernel, X, features(X, basis)) == 0


@pytest.mark.parametrize(("n", "apart"), [(4, False), (5, True), (300, True)])
def test_frames_for_choosing_leave_out_validation_rows_where_there_are_five_rows(n, apart):
    fitted = fit_frames(Gaussian(0.5), np.random.default_rng(0).normal(size=(n, 2)))
    assert (fitted.training_frames is not fitted.frames) == apart
