"""The summary of a source: rows, classes and weights, whatever the blocks."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data.sources import source


def test_some_of_a_sample_is_never_more_than_was_asked_for(rng):
    summary = source(rng.normal(size=(101, 2)), np.arange(101)).summary(labels=False)
    for rows in range(1, 120):
        assert len(summary.some(rows).drawn.X) == min(rows, 101)


def test_rows_and_labels_without_weight_are_not_seen(rng):
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    weight = np.where(y == "b", 0.0, rng.uniform(1, 2, size=60))
    weight[0] = 0.0
    summary = source(X, y, weight, rows=16).summary(labels=True)
    assert np.array_equal(np.unique(summary.drawn.X, axis=0), np.unique(X[weight > 0], axis=0))
    assert summary.classes.tolist() == ["a", "c"]
    totals = [weight[y == label].sum() for label in ("a", "c")]
    np.testing.assert_allclose(summary.class_weights, totals, rtol=1e-14)


def test_copies_and_equal_weights_make_no_more_distinct_rows(rng):
    X, y = rng.normal(size=(60, 2)), rng.normal(size=60)
    weight = rng.uniform(0.5, 2, size=60)
    worth = weight.sum() ** 2 / (weight**2).sum()  # Kish
    for factor in (1.0, 1e-3, 1e9):
        summary = source(X, y, factor * weight).summary(labels=False)
        assert summary.distinct_share == pytest.approx(1.0)
    twice = source(np.tile(X, (2, 1)), np.tile(y, 2), np.tile(weight, 2)).summary(labels=False)
    assert twice.distinct_share * 2 * worth == pytest.approx(worth)


@pytest.mark.parametrize(("weight", "told"), [(-0.5, "negative, got -0.5"), (1e200, "1e+200")])
def test_one_impossible_weight_in_a_stream_is_refused(weight, told, rng):
    X, weights = rng.normal(size=(60, 2)), np.ones(60)
    weights[33] = weight
    with pytest.raises(ValueError, match="sample_weight") as refusal:
        qf.KernelRegressor().fit([(X, X[:, 0], weights)])
    assert told in str(refusal.value)


def test_dates_are_labels_with_weights_of_their_own(rng):
    days = np.array(["2020-01-01", "2021-01-01"], dtype="datetime64[ns]")
    seen = source(rng.normal(size=(6, 1)), days[[0, 1, 1, 1, 0, 1]]).summary(labels=True)
    np.testing.assert_array_equal(seen.classes, days)
    np.testing.assert_array_equal(seen.class_weights, [2, 4])
