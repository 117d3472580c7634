"""The descent finds its own scale."""

import numpy as np
import pytest

from quadfeat.lbfgs import LBFGS


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
