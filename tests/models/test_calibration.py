"""Scores become probabilities by the slope of highest likelihood for left-out rows."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar
from scipy.special import logsumexp

from quadfeat.models.calibration import _PRIOR, fit_slope, log_loss, probabilities


def scores_of(columns, rng):
    """Scores that are often largest for the right class, and the classes."""
    codes = rng.integers(max(columns, 2), size=200)
    scores = rng.normal(size=(200, columns))
    if columns == 1:
        return scores + np.where(codes, 1.0, -1.0)[:, None], codes
    scores[np.arange(200), codes] += 1.0
    return scores, codes


@pytest.mark.parametrize("factor", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("columns", [1, 3])
def test_the_slope_is_where_the_labels_are_most_likely(columns, factor, rng):
    scores, codes = scores_of(columns, rng)
    scale = np.abs(scores).max() / (2 if columns == 1 else 1)
    f = np.hstack([-scores / 2, scores / 2]) if columns == 1 else scores

    def cost(slope):
        unlikely = logsumexp(slope * f, axis=1) - slope * f[np.arange(200), codes]
        return unlikely.sum() + _PRIOR / 2 * (slope * scale) ** 2

    best = minimize_scalar(cost, bounds=(0.0, 50.0), method="bounded", options={"xatol": 1e-10}).x
    # A minimum is known to the root of the rounding of its value.
    assert fit_slope(factor * scores, codes, np.ones(200), 200) * factor == pytest.approx(
        best, rel=1e-6
    )


def test_where_every_row_is_on_its_side_the_slope_ends_where_its_prior_says():
    scores, codes = np.eye(100), np.arange(100)
    slope = fit_slope(scores, codes, np.ones(100), 100)
    # The gain of a larger slope is the probability that the wrong classes still have.
    wrong = 99 * np.exp(-slope) / (1 + 99 * np.exp(-slope))
    assert 100 * wrong == pytest.approx(_PRIOR * slope, rel=1e-9)


@pytest.mark.parametrize("classes", [10, 500, 5000, 50_000])
@pytest.mark.parametrize("wrong", [0.02, 0.1, 0.5, 0.9])
@pytest.mark.parametrize("n", [100.0, 1e6])
def test_the_slope_is_found_for_any_number_of_classes_and_of_mistakes(classes, wrong, n):
    """Scores of 1 for one class, which is the right one except for a share of the weight."""
    scores, codes = np.zeros((2, classes)), np.array([0, 1])
    scores[:, 0] = 1.0
    slope = fit_slope(scores, codes, np.array([1 - wrong, wrong]), n)
    chance = 1 / (1 + (classes - 1) * np.exp(-slope))
    if slope == 1e-3:  # the least one: no class is better than the others
        assert n * (chance - (1 - wrong)) + _PRIOR * slope >= 0
    else:
        # The gain of a larger slope, for these and the other rows, is the loss of its prior.
        assert n * (1 - wrong - chance) == pytest.approx(_PRIOR * slope, abs=1e-9 * n)


@pytest.mark.parametrize("columns", [1, 3])
def test_a_weight_counts_copies_of_a_row(columns, rng):
    scores, codes = scores_of(columns, rng)
    copies = rng.integers(1, 6, size=200)
    each = np.repeat(np.arange(200), copies)
    for judge in (fit_slope, log_loss):
        weighted = judge(scores, codes, copies.astype(float), 200)
        repeated = judge(scores[each], codes[each], np.ones(len(each)), 200)
        assert weighted == pytest.approx(repeated, rel=1e-9)
        assert judge(scores, codes, 1e6 * copies, 200) == pytest.approx(weighted, rel=1e-9)


@pytest.mark.parametrize("columns", [1, 3])
def test_the_largest_score_stays_the_most_likely_even_where_it_is_wrong(columns, rng):
    scores, codes = scores_of(columns, rng)
    P = probabilities(-scores, fit_slope(-scores, codes, np.ones(200), 200))
    largest = (scores[:, 0] < 0).astype(int) if columns == 1 else scores.argmin(axis=1)
    assert np.array_equal(P.argmax(axis=1), largest)


@pytest.mark.parametrize("columns", [1, 3])
def test_scores_of_the_wrong_sign_get_the_least_slope(columns, rng):
    """Not 0, so that the class with the largest score stays the most likely."""
    scores, codes = scores_of(columns, rng)
    scale = np.abs(scores).max() / (2 if columns == 1 else 1)
    assert fit_slope(-scores, codes, np.ones(200), 200) == pytest.approx(1e-3 / scale, rel=1e-12)


def test_scores_that_say_nothing_make_all_classes_alike():
    for columns in (1, 3):
        scores, codes = np.zeros((6, columns)), np.array([0, 1, 0, 1, 0, 1])
        P = probabilities(scores, fit_slope(scores, codes, np.ones(6), 6))
        np.testing.assert_allclose(P, 1 / max(columns, 2), rtol=1e-15)


def test_one_row_far_on_the_wrong_side_leaves_the_log_loss_finite():
    scores = np.append(np.full(10_000, 1e-3), -1.0)[:, None]
    weight = np.append(np.ones(10_000), 1e-9)
    assert np.isfinite(log_loss(scores, np.ones(10_001, dtype=int), weight, 10_000))


def test_two_classes_share_one_score_as_the_logistic_function_has_it(rng):
    scores = 5 * rng.normal(size=(50, 1))
    P = probabilities(scores, 1.0)
    np.testing.assert_allclose(P[:, 1], 1 / (1 + np.exp(-scores[:, 0])), rtol=1e-12)
