"""Folds: every row is predicted once, groups stay together, models learn from the past."""

import numpy as np
import pytest

from quadfeat.app.folds import group_folds, random_folds, time_folds
from quadfeat.app.rows import RowBlock


def block(n, y=None, key=None):
    return RowBlock(np.zeros((n, 1)), np.arange(n) if y is None else y, None, key)


@pytest.mark.parametrize("classes", [False, True])
@pytest.mark.parametrize("n", [10, 103])
def test_every_row_is_predicted_once_by_a_model_that_has_not_seen_it(n, classes, rng):
    masks = random_folds(block(n, rng.integers(0, 3, n)), 5, classes=classes)
    assert len(masks) == 5
    assert (sum(test.astype(int) for _, test in masks) == 1).all()
    assert all((train == ~test).all() for train, test in masks)


def test_classes_are_spread_over_the_folds():
    y = np.repeat(["a", "b"], [90, 10])
    for _, test in random_folds(block(100, y), 5, classes=True):
        assert (y[test] == "b").sum() == 2


def test_classes_of_one_row_each_are_split_like_numbers():
    masks = random_folds(block(12, np.array(list("aabbccddeeff"))), 3, classes=True)
    assert (sum(test.astype(int) for _, test in masks) == 1).all()


@pytest.mark.parametrize("kind", [int, str])
def test_groups_stay_together_and_folds_are_about_as_large(kind, rng):
    key = rng.integers(0, 40, 1000).astype(kind)
    masks = group_folds(block(1000, key=key), 4, "g")
    assert (sum(test.astype(int) for _, test in masks) == 1).all()
    for train, test in masks:
        assert not set(key[train]) & set(key[test])
        assert 200 < test.sum() < 300  # a group has about 25 rows


def test_models_learn_from_the_past(rng):
    times = rng.integers(0, 50, 400).astype(float)
    masks = time_folds(block(400, key=times), 3, "t")
    assert len(masks) == 3
    for train, test in masks:
        assert times[train].max() < times[test].min()
        assert test.sum() > 60
    last = np.max([times[test].max() for _, test in masks])
    assert last == times.max()


def test_two_times_make_one_fold():
    times = np.repeat([1.0, 2.0], 20)
    ((train, test),) = time_folds(block(40, key=times), 5, "t")
    assert (times[train] == 1).all() and (times[test] == 2).all()
