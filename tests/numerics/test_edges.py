"""Numerics at the edge: nothing to sum, nothing to solve, matrices that are not definite."""

import numpy as np
import pytest

from quadfeat.numerics import factorisations, nnls, panels
from quadfeat.numerics.cosine_transform import _interpolant
from quadfeat.numerics.principal_frame import moments


def test_moments_of_no_row_are_refused():
    for X, weights in ((np.empty((0, 2)), None), (np.ones((3, 2)), np.zeros(3))):
        with pytest.raises(ValueError, match="moments needs at least one row"):
            moments(X, weights)


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


def test_a_density_without_mass_has_no_cutoff():
    for density in (np.zeros_like, lambda omega: np.full_like(omega, np.inf)):
        with pytest.raises(
            ValueError, match="must be positive somewhere and finite away from zero"
        ):
            panels.find_cutoff(density, 0)


def test_a_function_that_no_series_resembles_is_itself():
    def edge(x):
        return np.where(np.asarray(x) < 0.5, 1.0, 0.0)

    assert _interpolant(edge, 1.0) is edge
    series = _interpolant(np.cos, 1.0)
    x = np.linspace(0, 1, 50)
    np.testing.assert_allclose(series(x), np.cos(x), rtol=0, atol=1e-13)


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
