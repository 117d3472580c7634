"""The descent finds its own scale, and starts in the right metric."""

import numpy as np
import pytest

from quadfeat.data.checkpoint import Checkpoint
from quadfeat.models.descent import Curvature, Objective, fit_loss
from quadfeat.models.losses import Weights, curvature, indicators
from quadfeat.models.ridge import fit_ridge, ridge_sums
from quadfeat.models.stream import Rows
from quadfeat.numerics.lbfgs import LBFGS


@pytest.mark.parametrize("scale", [1e-3, 1.0, 1e9])
def test_a_descent_without_preconditioner_needs_no_scale(scale):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    A = scale * (A @ A.T + np.eye(30))
    best = rng.normal(size=30)
    descent = LBFGS(np.zeros(30), lambda g: g, tolerance=1e-16, max_passes=500)
    while not descent.done:
        gap = descent.trial - best
        descent.tell(float(scale + gap @ A @ gap / 2), A @ gap)
    assert descent.converged
    # The decrease left is below tolerance * value, and the least eigenvalue of A is the scale.
    np.testing.assert_allclose(descent.best, best, atol=1e-6)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_first_metric_is_the_inverse_of_the_curvature(intercept):
    rng = np.random.default_rng(1)
    Z, alpha, t = 2.0 + rng.normal(size=(50, 4)), 0.3, 3
    rows = Rows(Z, np.zeros((50, 0)), None)
    nothing = Checkpoint.none()
    whole = Curvature.of_stream(rows, nothing, 4, intercept=intercept)
    whole.metric("logistic", t, 7.0)  # leaves no trace in the next
    metric = whole.metric("squared_hinge", t, alpha)
    weights = Weights(4, t, rank=None, intercept=intercept)
    A = np.column_stack([Z, np.ones(50)]) if intercept else Z
    penalty = np.diag([alpha] * 4 + [0.0] * intercept)
    curved = curvature("squared_hinge", t) * A.T @ A + penalty
    gradient = rng.normal(size=(4 + intercept) * t)
    found = metric.full(weights)(gradient).reshape(-1, t)
    np.testing.assert_allclose(curved @ found, gradient.reshape(-1, t), rtol=1e-9, atol=1e-10)


@pytest.mark.parametrize("intercept", [True, False])
def test_the_metric_of_factors_inverts_the_curvature_of_each(intercept, rng):
    Z, alpha, t, rank = 2.0 + rng.normal(size=(50, 4)), 0.3, 3, 2
    nothing = Checkpoint.none()
    rows = Rows(Z, np.zeros((50, 0)), None)
    whole = Curvature.of_stream(rows, nothing, 4, intercept=intercept)
    centred = Z - Z.mean(axis=0) if intercept else Z
    curved = curvature("logistic", t) * centred.T @ centred + alpha * np.eye(4)
    U, V = rng.normal(size=(4, rank)), rng.normal(size=(t, rank))
    weights = Weights(4, t, rank=rank, intercept=intercept)
    gradient = rng.normal(size=(4 + t) * rank + t * intercept)
    found = whole.metric("logistic", t, alpha).factored(weights, U, V)(gradient)
    (dU, dV), b = weights.split(gradient)
    (step_u, step_v), step_b = weights.split(found)
    np.testing.assert_allclose(curved @ step_u @ (V.T @ V), dU, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(step_v @ (U.T @ curved @ U), dV, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(curvature("logistic", t) * 50 * step_b, b, rtol=1e-12)


def test_a_ridge_fit_saves_a_descent_its_pass_over_the_products(rng):
    Z, codes = 2.0 + rng.normal(size=(300, 6)), rng.integers(3, size=300)
    nothing, rows = Checkpoint.none(), Rows(Z, indicators(codes, 3), None)
    system = ridge_sums(rows, nothing, 6, 3).system(intercept=True, signs=np.ones(6), copy=False)
    curved = Curvature.of_ridge(fit_ridge(system, 5.0, Z.dtype, rows))

    def fitted(**given):
        objective = Objective("squared_hinge", Weights(6, 3, rank=None, intercept=True), 0.3)
        return fit_loss(objective, Rows(Z, codes, None), nothing, tolerance=1e-14, **given)

    (W, b, passes), (W_own, b_own, passes_own) = fitted(curved=curved), fitted()
    np.testing.assert_allclose(W, W_own, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(b, b_own, rtol=1e-9, atol=1e-12)
    assert passes == passes_own
