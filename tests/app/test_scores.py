"""Scores and their intervals: known values, coverage, groups."""

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from quadfeat.app.scores import (
    accuracy,
    accuracy_parts,
    auroc,
    auroc_parts,
    paired,
    r2,
    r2_parts,
)


def test_values_are_those_of_scikit_learn(rng):
    y, predicted = rng.normal(size=(2, 300))
    assert r2(y, predicted, float(y.mean())).value == pytest.approx(r2_score(y, predicted))
    scores = np.round(y + predicted, 1)  # with ties
    assert auroc(y > 0, scores).value == pytest.approx(roc_auc_score(y > 0, scores))
    assert accuracy([1, 1, 0, 1], 0.5).value == 0.75


def test_the_mean_has_a_score_of_zero_and_its_interval_holds_it(rng):
    y = rng.normal(size=100)
    score = r2(y, np.full(100, 0.3), 0.3)
    assert score.value == score.low == score.high == 0 and not score.learned


@pytest.fixture(scope="module")
def large_auroc():
    """The AUROC of the signal below, from a million rows: its deviation is .0003."""
    rng = np.random.default_rng(1)
    signal, noise = rng.normal(size=10**6), rng.normal(size=10**6) * np.sqrt(0.5)
    return auroc(signal + noise > 0, signal).value


@pytest.mark.parametrize("name", ["R2", "AUROC", "accuracy"])
@pytest.mark.parametrize("grouped", [False, True])
def test_intervals_cover_what_they_estimate(name, grouped, large_auroc):
    # 400 draws of 95%: below 90% has a chance of 1e-5. Rows of a group share half their variance.
    rng = np.random.default_rng(0)
    truth = {"R2": 1 - 0.5 / 1.5, "AUROC": large_auroc, "accuracy": 0.7}[name]
    covered = 0
    for _ in range(400):
        group = np.repeat(np.arange(60), 5) if grouped else None
        n = 300

        def normal(n=n, group=group):
            own = rng.normal(size=n)
            return own if group is None else np.sqrt(0.5) * (own + rng.normal(size=60)[group])

        if name == "R2":
            signal, noise = normal(), normal() * np.sqrt(0.5)
            score = r2(signal + noise, signal, 0.0, group)
        elif name == "AUROC":
            signal, noise = normal(), normal() * np.sqrt(0.5)
            score = auroc(signal + noise > 0, signal, group)
        else:
            score = accuracy(normal() < 0.5244005, 0.5, group)
        covered += score.low <= truth <= score.high
    assert covered >= 0.9 * 400


@pytest.mark.parametrize("n_positive", [1, 3, 5])
def test_few_rows_of_a_class_are_few_rows(n_positive):
    # 300 draws of 95%: below 86% has a chance of 1e-8. Counted as 100 rows, 1 to 5 have 22 to 86%.
    rng, positive = np.random.default_rng(0), np.arange(100) < n_positive
    truth, covered = 0.7602499, 0  # that one normal variable is above another: Phi(1 / sqrt(2))
    for _ in range(300):
        score = auroc(positive, positive + rng.normal(size=100))
        covered += score.low <= truth <= score.high
    assert covered >= 0.86 * 300


def test_perfect_predictions_of_few_rows_are_not_certain():
    score = auroc(np.array([True] * 5 + [False] * 5), np.arange(10)[::-1])
    assert score.value == 1 and score.low < 0.5
    assert accuracy(np.ones(10), 0.5).low < 0.8


# --- differences on the same rows -----------------------------------------------------------------
def three_scores(rng, n, noise=(1.0, 1.2)):
    """Parts of two predictions of the same rows, for every score."""
    signal = rng.normal(size=n)
    y = signal + rng.normal(size=n)
    a, b = (signal + scale * rng.normal(size=n) for scale in noise)
    return {
        "R2": [r2_parts(y, each, 0.1) for each in (a, b)],
        "AUROC": [auroc_parts(y > 0, each) for each in (a, b)],
        "accuracy": [accuracy_parts((y > 0) == (each > 0)) for each in (a, b)],
    }


def test_parts_are_the_change_by_a_little_more_weight_of_a_row(rng):
    # A row that is there k + 1 times instead of k moves the score by its part over k.
    y, predicted = rng.normal(size=(2, 30))
    positive, k = y > 0, 400
    for score, given in ((r2_parts, (y, predicted, y * 0 + 0.1)), (auroc_parts, (positive, y**2))):
        base = score(*given)
        assert base.parts.sum() == pytest.approx(0, abs=1e-12)
        for row in (0, 7):
            rows = np.append(np.repeat(np.arange(30), k), row)
            moved = score(*(each[rows] for each in given)).value
            # The second order is 30 / k times smaller.
            assert (moved - base.value) * k == pytest.approx(base.parts[row], abs=0.1 * 30 / k)


@pytest.mark.parametrize("name", ["R2", "AUROC", "accuracy"])
def test_paired_intervals_are_those_of_the_jackknife(name, rng):
    n = 400
    signal = rng.normal(size=n)
    y = signal + rng.normal(size=n)
    a, b = signal + 0.3 * rng.normal(size=n), signal + 0.6 * rng.normal(size=n)
    score = {
        "R2": lambda rows, each: r2_parts(y[rows], each[rows], 0.1),
        "AUROC": lambda rows, each: auroc_parts(y[rows] > 0, each[rows]),
        "accuracy": lambda rows, each: accuracy_parts((y[rows] > 0) == (each[rows] > 0)),
    }[name]
    every = np.arange(n)
    value, low, high = paired(score(every, a), score(every, b))
    assert value == pytest.approx(score(every, a).value - score(every, b).value)
    left_out = np.array(
        [
            score(rows, a).value - score(rows, b).value
            for rows in (np.delete(every, i) for i in range(n))
        ]
    )
    deviation = np.sqrt((n - 1) / n * np.sum((left_out - left_out.mean()) ** 2))
    assert high - value == pytest.approx(value - low)
    assert (high - low) / 2 / 1.966 == pytest.approx(deviation, rel=0.03)  # t of 399: 1.966


@pytest.mark.parametrize("name", ["R2", "AUROC", "accuracy"])
def test_paired_intervals_cover_the_difference(name):
    large = three_scores(np.random.default_rng(1), 10**6)[name]
    truth = large[0].value - large[1].value
    covered = 0
    for seed in range(300):
        a, b = three_scores(np.random.default_rng(seed + 2), 300)[name]
        _, low, high = paired(a, b)
        covered += low <= truth <= high
    assert covered >= 0.9 * 300  # below that by chance: 1 in 2,000


def test_the_same_predictions_differ_by_nothing(rng):
    for a, _ in three_scores(rng, 50).values():
        assert paired(a, a) == (0, 0, 0)


def test_rows_of_a_group_are_one_part(rng):
    found = three_scores(rng, 200)
    for a, b in found.values():
        alone = paired(a, b, np.arange(200))
        assert alone == pytest.approx(paired(a, b))
        twice = [type(each)(each.value, np.repeat(each.parts, 2) / 2) for each in (a, b)]
        assert paired(*twice, np.repeat(np.arange(200), 2)) == pytest.approx(alone)


def test_folds_of_other_scales_have_the_mean_of_their_auroc(rng):
    positive, scores = rng.random(300) < 0.4, rng.normal(size=300)
    fold = np.repeat([0, 1], [100, 200])
    single = [auroc_parts(positive[fold == k], scores[fold == k]).value for k in (0, 1)]
    moved = scores + 100 * fold
    assert auroc_parts(positive, moved, fold).value == pytest.approx(
        (single[0] + 2 * single[1]) / 3
    )
    assert auroc(positive, moved, None, fold).value == auroc_parts(positive, scores, fold).value


def test_equal_targets_have_no_score_and_single_rows_no_known_error():
    score = r2(np.full(2, 2.0), np.array([1.0, 3.0]), 2.0)
    assert np.isnan([score.value, score.low, score.high]).all() and not score.learned
    score = auroc(np.ones(4, dtype=bool), np.arange(4.0))
    assert np.isnan([score.value, score.low, score.high]).all() and not score.learned
    score = r2(np.array([2.0]), np.array([1.5]), 1.0)
    assert (score.value, score.low, score.high) == (0.75, -np.inf, 1.0) and not score.learned


def test_right_predictions_have_the_best_score():
    y = np.arange(4.0)
    assert r2(y, y, float(y.mean())) == r2(y, y.copy(), 0.0)
    assert r2(y, y, 1.5).value == 1.0


def test_a_fold_of_one_class_has_no_ranking_and_counts_for_nothing(rng):
    positive, scores = rng.random(60) < 0.5, rng.normal(size=60)
    fold = np.repeat([0, 1, 2], 20)
    positive[40:] = True
    with_it = auroc_parts(positive, scores, fold)
    without = auroc_parts(positive[:40], scores[:40], fold[:40])
    assert with_it.value == without.value
    np.testing.assert_array_equal(with_it.parts[:40], without.parts)
    np.testing.assert_array_equal(with_it.parts[40:], 0.0)
