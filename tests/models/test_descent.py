"""Choice of the penalty of a loss, and descents that end at its minimum."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from quadfeat.data.checkpoint import Checkpoint
from quadfeat.models.descent import Objective, fit_loss, tune_alpha
from quadfeat.models.losses import LOSSES, LossSums, Weights
from quadfeat.models.stream import Rows
from quadfeat.models.validation import Split


@pytest.fixture
def split(rng):
    Z = rng.normal(size=(200, 3))
    return Split.of(Rows(Z, (Z[:, 0] + rng.logistic(size=200) > 0).astype(int), None))


def test_a_penalty_has_the_mean_loss_of_validation_rows_for_its_score(split):
    alpha, tried = tune_alpha("logistic", [split], 1, intercept=True, tolerance=1e-12)
    assert len(tried) > 3
    training, validation = split.training, split.validation
    for each in tried:
        fit = LogisticRegression(C=1 / each.value, tol=1e-10).fit(training.Z, training.y)
        chance = fit.predict_proba(validation.Z)[np.arange(len(validation.Z)), validation.y]
        assert each.score == pytest.approx(-np.log(chance).mean(), rel=1e-5)
    scores = [each.score for each in tried]
    assert alpha == tried[int(np.argmin(scores))].value
    assert [each.value for each in tried if each.chosen] == [alpha]


def test_penalties_fall_by_decades_from_ten_times_the_square_of_a_row(split):
    """Down to a ten-thousandth of it, unless smaller ones have become clearly worse."""
    _, tried = tune_alpha("logistic", [split], 1, intercept=True)
    squares = np.square(np.concatenate([split.training.Z, split.validation.Z])).sum(axis=1)
    decades = 10.0 ** np.arange(1, -5, -1)
    expected = squares.mean() * decades[: len(tried)]
    np.testing.assert_allclose([each.value for each in tried], expected, rtol=1e-12)
    scores = [each.score for each in tried]
    assert len(tried) == 6 or scores[-1] > 1.02 * min(scores)


def test_a_penalty_that_is_given_is_the_only_one_that_is_scored(split):
    alpha, tried = tune_alpha("logistic", [split], 1, intercept=True, alpha=0.37)
    assert alpha == 0.37
    assert [(each.value, each.chosen, each.edge) for each in tried] == [(0.37, True, False)]


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize(("rank", "share"), [(None, 1e-6), (1, 1e-2), (2, 1e-2)])
def test_a_descent_ends_where_the_slope_of_the_objective_is_zero(name, rank, share, rng):
    """To the root of the tolerance of the loss, 1e-14, or 1e-6 for factors, and to spare."""
    Z, codes = rng.normal(size=(150, 4)), rng.integers(3, size=150)
    weights = Weights(4, 3, rank=rank, intercept=True)
    W, b, _ = fit_loss(
        Objective(name, weights, 0.5), Rows(Z, codes, None), Checkpoint.none(), tolerance=1e-14
    )
    assert rank is None or np.linalg.matrix_rank(W, tol=1e-9) == rank
    left, values, right = np.linalg.svd(W, full_matrices=False)
    root = np.sqrt(values[:rank])
    factors = [W] if rank is None else [left[:, :rank] * root, right[:rank].T * root]

    def slope(factors, b):
        sums = LossSums(LOSSES[name], weights, weights.join(factors, b))
        sums.add(Z, codes)
        return sums.gradient + weights.penalty(weights.join(factors, b), 0.5)[1]

    start = slope([np.ones_like(factor) for factor in factors], np.zeros(3))
    assert np.linalg.norm(slope(factors, b)) < share * np.linalg.norm(start)
