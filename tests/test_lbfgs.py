"""The descent finds its own scale, and starts in the right metric."""

import numpy as np
import pytest

from quadfeat.fitting import Rows, _Metric
from quadfeat.lbfgs import LBFGS
from quadfeat.losses import Weights, curvature
from quadfeat.streaming import Checkpoint


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
    nothing = Checkpoint(None, 0.0, {})
    metric = _Metric.made("squared_hinge", rows, nothing, (4, t), alpha, intercept=intercept)
    weights = Weights(4, t, rank=None, intercept=intercept)
    A = np.column_stack([Z, np.ones(50)]) if intercept else Z
    penalty = np.diag([alpha] * 4 + [0.0] * intercept)
    curved = curvature("squared_hinge", t) * A.T @ A + penalty
    gradient = rng.normal(size=(4 + intercept) * t)
    found = metric.full(weights)(gradient).reshape(-1, t)
    np.testing.assert_allclose(curved @ found, gradient.reshape(-1, t), rtol=1e-9, atol=1e-10)
