"""Losses and their gradients are those of the formulas, at scores of any size."""

import numpy as np
import pytest
from scipy.special import expit, logsumexp, softmax

from quadfeat.models.losses import LOSSES, LossSums, Weights


@pytest.mark.parametrize("size", [1.0, 1e4])
@pytest.mark.parametrize("columns", [1, 3])
def test_the_logistic_loss_is_its_formula_at_scores_of_any_size(columns, size, rng):
    scores = size * rng.normal(size=(50, columns)) * np.geomspace(1e-3, 1.0, 50)[:, None]
    codes = rng.integers(max(columns, 2), size=50)
    value, slope = LOSSES["logistic"](scores, codes)
    if columns == 1:
        signs = np.where(codes, 1.0, -1.0)
        np.testing.assert_allclose(value, np.logaddexp(0.0, -signs * scores[:, 0]), rtol=1e-12)
        np.testing.assert_allclose(slope[:, 0], -signs * expit(-signs * scores[:, 0]), rtol=1e-12)
        return
    own = scores[np.arange(50), codes]
    np.testing.assert_allclose(
        value, logsumexp(scores, axis=1) - own, rtol=1e-12, atol=1e-15 * size
    )
    expected = softmax(scores, axis=1) - np.eye(3)[codes]
    np.testing.assert_allclose(slope, expected, rtol=1e-12, atol=1e-15)


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("rank", [None, 2])
@pytest.mark.parametrize("intercept", [True, False])
def test_gradients_are_the_slopes_of_the_values(name, rank, intercept, rng):
    Z, codes, weight = rng.normal(size=(30, 4)), rng.integers(3, size=30), rng.uniform(size=30)
    weights = Weights(4, 3, rank=rank, intercept=intercept)
    size = (12 if rank is None else (4 + 3) * rank) + 3 * intercept
    theta, along = rng.normal(size=(2, size))

    def parts(theta):
        sums = LossSums(LOSSES[name], weights, theta)
        sums.add(Z, codes, weight)
        return (sums.value, sums.gradient), weights.penalty(theta, 0.7)

    step = 1e-5
    before, here, after = parts(theta - step * along), parts(theta), parts(theta + step * along)
    for (low, _), (_, gradient), (high, _) in zip(before, here, after, strict=True):
        # A central difference errs by step^2 times a third derivative, here below 1e4.
        assert (high - low) / (2 * step) == pytest.approx(gradient @ along, abs=1e-6)


@pytest.mark.parametrize("rank", [None, 2])
def test_the_penalty_is_that_of_the_whole_matrix_and_spares_the_intercept(rank, rng):
    weights = Weights(4, 3, rank=rank, intercept=True)
    theta = rng.normal(size=(12 if rank is None else 14) + 3)
    W, b = weights.matrix(theta)
    assert W.shape == (4, 3) and np.array_equal(b, theta[-3:])
    value, gradient = weights.penalty(theta, 0.7)
    assert value == pytest.approx(0.35 * (W**2).sum(), rel=1e-12)
    assert not gradient[-3:].any()
