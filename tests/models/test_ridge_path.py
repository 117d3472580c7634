"""Solutions of ridge systems for any penalty: the dense textbook formulas."""

import numpy as np
import pytest
from scipy import stats

from quadfeat.models.ridge import Posterior, fit_ridge
from quadfeat.models.ridge_path import RidgePath
from quadfeat.models.ridge_sums import NormalSums
from quadfeat.models.stream import Rows

from .ridge_systems import system_of

ALPHAS = np.array([1e-3, 0.1, 10.0])


def dense_hat(Z, weight, alpha, intercept, signs):
    """The hat matrix of repeated rows, written from the definition."""
    rows = np.repeat(np.arange(len(Z)), weight.astype(int))
    X = Z[rows]
    means = X.mean(axis=0) if intercept else np.zeros(Z.shape[1])
    C = X - means
    H = C @ np.linalg.solve(C.T @ C + alpha * np.diag(signs), C.T)
    return rows, H + (1 / len(X) if intercept else 0.0)


@pytest.mark.parametrize("signed", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_leave_one_out_and_freedom_equal_the_dense_formulas(problem, intercept, signed):
    Z, Y, weight = problem
    signs = np.where(np.arange(Z.shape[1]) % 3 == 1, -1.0, 1.0) if signed else np.ones(Z.shape[1])
    system = system_of(Z, Y, weight, intercept=intercept, signs=signs)
    path = RidgePath(system)
    loo = path.loo_squares(Z, Y, weight, ALPHAS)
    for alpha, left_out in zip(ALPHAS, loo, strict=True):
        rows, H = dense_hat(Z, weight, alpha, intercept, signs)
        residual = Y[rows] - H @ Y[rows]
        assert path.freedom(alpha) == pytest.approx(np.trace(H), rel=1e-8)
        np.testing.assert_allclose(path.squares(alpha), (residual**2).sum(axis=0), rtol=1e-8)
        # Copies are left out together: the block of H of w of them has the eigenvalue w h.
        dense = residual / (1 - weight[rows] * np.diag(H))[:, None]
        assert left_out == pytest.approx((dense**2).sum(), rel=1e-8)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_evidence_is_the_restricted_likelihood_of_a_gaussian_process(problem, intercept):
    Z, Y, _ = problem
    n, path = len(Z), RidgePath(system_of(Z, Y, intercept=intercept))
    scale = np.linalg.norm(Z, 2) ** 2
    alphas = scale * np.array([1e-4, 1e-2, 1.0])
    # Contrasts that no intercept changes; the rest is a plain multivariate normal.
    basis = np.linalg.svd(np.ones((1, n)))[2][1:] if intercept else np.eye(n)
    for alpha, ours in zip(alphas, path.evidence(alphas), strict=True):
        cov = basis @ (Z @ Z.T / alpha + np.eye(n)) @ basis.T
        m, minus = len(cov), 0.0
        for y in (basis @ Y).T:
            variance = y @ np.linalg.solve(cov, y) / m
            minus += -2 * stats.multivariate_normal(cov=variance * cov).logpdf(y) / Y.shape[1]
        # log L has -m / 2 (log 2 pi + 1), and the variance is over m rows instead of n.
        expected = np.exp(minus / m - np.log(2 * np.pi) - 1) * m / n
        assert ours == pytest.approx(expected, rel=1e-7)


def test_leaving_a_row_out_is_what_the_formula_says(rng):
    Z, Y = rng.normal(size=(12, 4)), rng.normal(size=(12, 1))
    alpha, brute = 0.3, 0.0
    for i in range(12):
        keep = np.arange(12) != i
        part = system_of(Z[keep], Y[keep])
        v = RidgePath(part).weights(alpha)
        brute += float((Y[i] - part.target_mean - (Z[i] - part.feature_mean) @ v)[0] ** 2)
    ours = RidgePath(system_of(Z, Y)).loo_squares(Z, Y, None, np.array([alpha]))
    assert ours[0] == pytest.approx(brute, rel=1e-10)


def test_many_penalties_leave_rows_out_as_each_alone_does(problem):
    Z, Y, weight = problem
    Z = np.column_stack([Z, Z[:, :2]])  # repeated columns
    path, alphas = RidgePath(system_of(Z, Y, weight)), np.geomspace(1e-3, 1e3, 9)
    for alpha, many in zip(alphas, path.left_out(Z, Y, weight, alphas), strict=True):
        (alone,) = path.left_out(Z, Y, weight, [alpha])
        np.testing.assert_allclose(many, alone, rtol=1e-9, atol=1e-9)
    below = np.append(alphas, -1.0)  # where no system of repeated columns is definite
    assert [f is None for f in path.left_out(Z, Y, weight, below)] == [False] * 9 + [True]


def test_signed_weights_solve_ridge_in_the_indefinite_inner_product(rng):
    Z, y = rng.normal(size=(30, 5)), rng.normal(size=(30, 1))
    signs = np.array([1.0, -1.0, 1.0, 1.0, -1.0])
    v = RidgePath(system_of(Z, y, intercept=False, signs=signs)).weights(0.7)
    K = (Z * signs) @ Z.T
    dense = K @ np.linalg.solve(K + 0.7 * np.eye(30), y)
    np.testing.assert_allclose(Z @ v, dense, atol=1e-11)


def test_centring_survives_a_large_mean(rng):
    Z, Y = rng.normal(size=(500, 3)) + 1e3, rng.normal(size=(500, 1))
    centred = Z - Z.mean(axis=0)
    expected = np.linalg.solve(centred.T @ centred + np.eye(3), centred.T @ (Y - Y.mean()))
    # 1e6 times the variance is subtracted, so six digits go.
    np.testing.assert_allclose(RidgePath(system_of(Z, Y)).weights(1.0), expected, rtol=1e-7)


def test_leaving_a_row_out_with_its_weight_is_what_the_formula_says(rng):
    Z, Y, weight = rng.normal(size=(12, 4)), rng.normal(size=(12, 1)), rng.uniform(0.1, 5, 12)
    alpha, brute = 0.3, 0.0
    for i in range(12):
        keep = np.arange(12) != i
        part = system_of(Z[keep], Y[keep], weight[keep])
        v = RidgePath(part).weights(alpha)
        left_out = Y[i] - part.target_mean - (Z[i] - part.feature_mean) @ v
        brute += float(weight[i] * left_out[0] ** 2)
    ours = RidgePath(system_of(Z, Y, weight)).loo_squares(Z, Y, weight, np.array([alpha]))
    assert ours[0] == pytest.approx(brute, rel=1e-10)


def test_a_fit_and_a_path_predict_the_same_for_rows_left_out(problem, rng):
    Z, Y, _ = problem
    weight = rng.uniform(0.1, 3.0, size=60)
    (expected,) = RidgePath(system_of(Z, Y, weight)).left_out(Z, Y, weight, [0.1])
    fit = fit_ridge(system_of(Z, Y, weight), 0.1, Z.dtype, Rows(Z, Y, weight))
    np.testing.assert_allclose(fit.left_out(Rows(Z, Y, weight)), expected, rtol=1e-7, atol=1e-9)


def test_no_sum_of_squares_is_below_zero(problem, rng):
    Z, _, weight = problem
    constants = np.full((60, 200), rng.uniform(0.1, 1.0, size=200))
    assert (system_of(Z, constants, weight).target_square >= 0).all()
    exact = RidgePath(system_of(Z, Z @ rng.normal(size=(Z.shape[1], 200)), weight))
    for alpha in (1e-14, 1e-12, 1e-10):
        assert (exact.squares(alpha) >= 0).all()


def test_an_alpha_that_makes_a_signed_system_singular_is_never_the_best(rng):
    Z = np.vstack([np.eye(2), np.zeros((4, 2))])  # its gram is I, and I + diag(1, -1) is singular
    system = system_of(Z, rng.normal(size=(6, 1)), intercept=False, signs=np.array([1.0, -1.0]))
    path, Y = RidgePath(system), np.zeros((6, 1))
    assert np.array_equal(np.isinf(path.loo_squares(Z, Y, None, [1.0, 0.1])), [True, False])


@pytest.mark.parametrize("signed", [False, True])
def test_rows_left_out_for_one_alpha_are_those_for_several(problem, rng, signed):
    Z, Y, _ = problem
    weight = rng.uniform(0.5, 2.0, size=len(Z))
    sums = NormalSums(Z.shape[1], Y.shape[1])
    sums.add(Z, Y, weight)
    signs = np.where(signed & (np.arange(Z.shape[1]) % 2 > 0), -1.0, 1.0)
    path = RidgePath(sums.system(intercept=True, signs=signs, copy=True))
    several = path.left_out(Z, Y, weight, np.array([1e-3, 10.0]))
    for alpha, expected in zip((1e-3, 10.0), several, strict=True):
        once = path.left_out_once(Z, Y, weight, alpha)
        np.testing.assert_allclose(once, expected, rtol=1e-7, atol=1e-9)


def test_an_alpha_too_small_for_the_rounding_leaves_out_no_row():
    Z = np.ones((6, 2)) * np.arange(6.0)[:, None]
    path = RidgePath(system_of(Z, Z[:, :1], np.ones(6)))
    assert path.left_out_once(Z, Z[:, :1], None, -1.0) is None


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
