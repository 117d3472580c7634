"""Scores and their intervals: known values, coverage, groups."""

import numpy as np
import pytest
from sklearn.metrics import r2_score, roc_auc_score

from quadfeat.app.scores import accuracy, auroc, r2


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


def test_perfect_predictions_of_few_rows_are_not_certain():
    score = auroc(np.array([True] * 5 + [False] * 5), np.arange(10)[::-1])
    assert score.value == 1 and score.low < 0.5
    assert accuracy(np.ones(10), 0.5).low < 0.8
