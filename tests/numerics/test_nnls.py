"""Non-negative least squares: optimal weights, for degenerate problems too."""

from __future__ import annotations

import math

import numpy as np
import pytest
import scipy.optimize

from quadfeat.numerics import factorisations, nnls

EPS = np.finfo(np.float64).eps


def _problem(kind, seed):
    """M and b of one of several kinds, most of them degenerate."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 60)), int(rng.integers(2, 80))
    matrix = rng.normal(size=(n, m))
    if kind == "scaled":
        matrix *= 10.0 ** rng.uniform(-4, 4, size=m)
    elif kind == "low rank":
        rank = max(1, min(n, m) // 3)
        matrix = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))
    elif kind == "repeated columns":
        matrix = np.repeat(matrix, 3, axis=1)[:, :m]
    elif kind == "nearly dependent cosines":
        gaps = rng.uniform(0, 2, size=n)
        matrix = np.cos(np.outer(gaps, rng.uniform(0, 3, size=m)))
        return matrix, np.exp(-(gaps**2)) + (seed % 2) * 0.1 * rng.normal(size=n)
    elif kind == "zero columns":
        matrix = np.abs(matrix)
        matrix[:, rng.random(m) < 0.3] = 0.0
    return matrix, matrix @ np.maximum(rng.normal(size=m), 0) if seed % 2 else rng.normal(size=n)


KINDS = [
    "plain", "scaled", "low rank", "repeated columns", "nearly dependent cosines", "zero columns",
]  # fmt: skip


def _solve(matrix, target, **options):
    return nnls.nonnegative_least_squares(matrix.T @ matrix, matrix.T @ target, **options)


@pytest.mark.parametrize("kind", KINDS)
def test_weights_satisfy_the_optimality_conditions(kind):
    for seed in range(40):
        matrix, target = _problem(kind, seed)
        solution = _solve(matrix, target)
        a = solution.weights
        assert np.isfinite(a).all()
        assert (a >= 0).all()
        lengths = np.linalg.norm(matrix, axis=0)
        used = lengths > 0
        slopes = (matrix.T @ (target - matrix @ a))[used] / lengths[used]
        unit = (np.abs(matrix.T @ target)[used] / lengths[used]).max(initial=0.0)
        # The tolerance of the solver, and the rounding of these products.
        allowed = 1e-12 * unit + 100 * EPS * (np.abs(matrix) @ a + np.abs(target)).sum()
        assert slopes.max(initial=0.0) <= allowed, seed
        assert np.abs(slopes[a[used] > 0]).max(initial=0.0) <= allowed, seed
        assert solution.kkt_residual <= 1e-12


@pytest.mark.parametrize("kind", KINDS)
def test_no_other_solver_finds_a_smaller_residual(kind):
    for seed in range(40):
        matrix, target = _problem(kind, seed)
        theirs = scipy.optimize.nnls(matrix, target, maxiter=100 * matrix.shape[1])[1]
        ours = np.linalg.norm(matrix @ _solve(matrix, target).weights - target)
        # A Gram matrix resolves squared residuals to a few EPS |b|^2 n.
        allowed = math.sqrt(theirs**2 + 100 * EPS * len(target) * float(target @ target))
        assert ours <= allowed, seed


def test_scaling_columns_and_target_scales_the_weights():
    rng = np.random.default_rng(0)
    matrix, target = rng.normal(size=(40, 25)), rng.normal(size=40)
    scale = 2.0 ** rng.integers(-20, 20, size=25)  # powers of two: scaling itself does not round
    plain = _solve(matrix, target)
    scaled = _solve(matrix * scale, 1024 * target)
    # Weights are the solution of a system whose condition number is that of 25 Gaussian columns.
    np.testing.assert_allclose(scaled.weights, 1024 * plain.weights / scale, rtol=1e-9)


def test_a_start_does_not_change_the_optimum():
    rng = np.random.default_rng(1)
    matrix, target = rng.normal(size=(60, 30)), rng.normal(size=60)
    cold, warm = _solve(matrix, target), _solve(matrix, target, start=rng.random(30))
    np.testing.assert_allclose(warm.weights, cold.weights, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("count", [1, 7, 40])
def test_max_support_is_reached_exactly(count):
    rng = np.random.default_rng(2)
    gaps = rng.normal(size=(300, 6))
    matrix = np.cos(gaps @ rng.normal(size=(6, 200)))
    target = np.exp(-0.5 * (gaps**2).sum(axis=1))
    solution = _solve(matrix, target, max_support=count)
    assert np.count_nonzero(solution.weights) == count


def test_the_iteration_cap_is_obeyed_and_the_residual_tells():
    rng = np.random.default_rng(3)
    matrix, target = rng.random(size=(100, 80)), rng.random(size=100)
    solution = _solve(matrix, target, max_iterations=1)
    assert solution.iterations == 1
    assert solution.kkt_residual > 1e-6
    assert (solution.weights >= 0).all()


def test_a_target_that_no_column_points_to_gets_zero_weights():
    matrix = np.eye(3)
    assert not _solve(matrix, -np.ones(3)).weights.any()
    assert not _solve(matrix, np.zeros(3), start=np.ones(3)).weights.any()
    assert not _solve(np.zeros((3, 2)), np.ones(3)).weights.any()


def test_bad_input_is_named():
    eye, ones = np.eye(2), np.ones(2)
    with pytest.raises(ValueError, match="linear contains NaN"):
        nnls.nonnegative_least_squares(eye, np.array([1.0, np.nan]))
    with pytest.raises(ValueError, match="need \\(m, m\\)"):
        nnls.nonnegative_least_squares(eye, np.ones(3))
    with pytest.raises(ValueError, match="negative weight -1"):
        nnls.nonnegative_least_squares(eye, ones, start=-ones)
    with pytest.raises(ValueError, match="more than max_support=1"):
        nnls.nonnegative_least_squares(eye, ones, start=ones, max_support=1)
    with pytest.raises(ValueError, match="not positive semi-definite"):
        nnls.nonnegative_least_squares(np.array([[1.0, -5.0], [-5.0, 1.0]]), ones)


def test_bad_starts_and_lengths_of_least_squares_are_refused():
    gram, linear = np.eye(2), np.ones(2)
    with pytest.raises(ValueError, match=r"start has shape \(3,\); the problem has 2 candidates"):
        nnls.nonnegative_least_squares(gram, linear, start=np.ones(3))
    with pytest.raises(ValueError, match="squared column lengths overflow"):
        nnls.inverse_lengths(np.array([1.0, np.inf]))
    np.testing.assert_array_equal(nnls.inverse_lengths(np.array([4.0, 1e-40, 0.0])), [0.5, 0, 0])


def test_columns_that_rounding_refuses_are_tried_alone_and_then_left():
    """Columns that are equal up to rounding: none of them can lower the objective any more."""
    rng = np.random.default_rng(0)
    one = rng.normal(size=(40, 1))
    matrix = one + 1e-9 * rng.normal(size=(40, 30))
    target = one[:, 0] + rng.normal(size=40)
    gram, linear = matrix.T @ matrix, matrix.T @ target
    solution = nnls.nonnegative_least_squares(gram, linear, tolerance=1e-16)
    assert (solution.weights >= 0).all() and np.isfinite(solution.weights).all()
    alone = max(0.0, float(one[:, 0] @ target) / float(one[:, 0] @ one[:, 0]))
    assert solution.weights.sum() == pytest.approx(alone, rel=1e-6)


class _Never:
    """A factorisation that fails for every shift."""

    diagonal = np.ones(3)

    def __init__(self):
        self.tried = []

    def factor(self, shift):
        self.tried.append(shift)
        raise np.linalg.LinAlgError("not definite")


def test_a_shift_is_raised_up_to_the_trace_and_no_further():
    never = _Never()
    with pytest.raises(np.linalg.LinAlgError, match="not definite"):
        factorisations.factor_raised(never, 1e-3)
    assert never.tried == pytest.approx([1e-3, 1e-2, 1e-1, 1.0, 10.0])
    with pytest.raises(ValueError, match="not positive semi-definite"):
        factorisations.cholesky(-np.eye(2))
