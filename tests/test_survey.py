"""A look at a source: every k-th row whatever its blocks, and what has weight alone."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data import source
from quadfeat.survey import Once, survey


@pytest.mark.parametrize("rows", [1, 7, 64, 1000])
def test_the_sample_is_every_kth_row_whatever_the_blocks(rows, rng, monkeypatch):
    monkeypatch.setattr("quadfeat.survey._SAMPLE", 100)
    X, y = rng.normal(size=(1000, 2)), np.arange(1000)
    look = survey(source(X, y, rows=rows), labels=False)
    assert look.n_rows == 1000
    assert np.array_equal(look.y, y[::16]) and np.array_equal(look.X, X[::16])


def test_some_of_a_sample_is_never_more_than_was_asked_for(rng):
    look = survey(source(rng.normal(size=(101, 2)), np.arange(101)), labels=False)
    for rows in range(1, 120):
        some = look.some(rows)
        assert len(some.X) == len(some.y) <= rows
        assert len(some.X) > min(rows, 101) / 2


def test_rows_and_labels_without_weight_are_not_seen(rng):
    X, y = rng.normal(size=(60, 2)), np.repeat(["a", "b", "c"], 20)
    weight = np.where(y == "b", 0.0, rng.uniform(1, 2, size=60))
    weight[0] = 0.0
    look = survey(source(X, y, weight, rows=16), labels=True)
    assert np.array_equal(look.X, X[weight > 0])
    assert look.classes.tolist() == ["a", "c"]
    totals = [weight[y == label].sum() for label in ("a", "c")]
    np.testing.assert_allclose(look.class_weights, totals, rtol=1e-14)


def test_one_negative_weight_in_a_stream_is_refused(rng):
    X, weight = rng.normal(size=(60, 2)), np.ones(60)
    weight[33] = -0.5
    with pytest.raises(ValueError, match=r"must not be negative, got -0\.5"):
        qf.KernelRegressor().fit([(X, X[:, 0], weight)])


def test_an_iterator_is_read_beforehand_only_as_far_as_a_sample_needs(monkeypatch):
    monkeypatch.setattr("quadfeat.survey._SAMPLE", 100)
    read = []

    def blocks():
        for number in range(20):
            read.append(number)
            yield np.full((30, 2), number), np.full(30, number)

    once = Once.of(blocks())
    assert len(read) == 4
    assert sum(len(block) for block in once.head.blocks()) == 120
    whole = np.concatenate([block.y for block in once.whole.blocks()])
    assert np.array_equal(whole, np.repeat(np.arange(20), 30))
