"""Laws of the choice between landmarks and a cheaper map by the targets."""

from functools import partial

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.models.map_choice import choose_map
from quadfeat.models.sample import Sample

MANY = 10**9  # rows, for which every multiply-add per row counts


def never():
    raise AssertionError("the sample was drawn")


@pytest.fixture(scope="module")
def rows():
    return np.random.default_rng(0).normal(size=(600, 6))


@pytest.fixture(scope="module")
def landmarks(rows):
    features = qf.KernelFeatures(qf.Matern(2.5, 0.05), n_components=96, random_state=0).fit(rows)
    assert isinstance(features.map_, qf.Landmarks)
    return features


def sample_of(X, y, *, labels=False):
    return Sample(X, y[:, None], np.ones(len(X)), counts=False, labels=labels)


@pytest.mark.parametrize("labels", [False, True])
def test_targets_that_landmarks_say_nothing_of_take_the_cheaper_map(landmarks, rows, labels):
    y = np.random.default_rng(1).normal(size=600)
    y = np.sign(y) if labels else y
    chosen, tried = choose_map(landmarks, rows, lambda: sample_of(rows, y, labels=labels), MANY)
    assert isinstance(chosen.map_, qf.QuasiRandomFourier | qf.OrthogonalFourier)
    assert chosen.n_columns_ == 96
    assert [each.chosen for each in tried] == [False, True]
    assert ("log loss" in tried[0].judge) == labels


def test_landmarks_stay_where_the_targets_gain_by_them(landmarks, rows):
    # Of the span of the kernel, and smooth: a better kernel is a better model.
    weights = np.random.default_rng(2).normal(size=20)
    y = qf.Matern(2.5, 0.05)(rows, rows[:20]) @ weights
    chosen, tried = choose_map(landmarks, rows, lambda: sample_of(rows, y), MANY)
    assert chosen is landmarks
    assert tried[0].score < 0.98 * tried[1].score
    assert [each.chosen for each in tried] == [True, False]


def test_no_rows_are_compared_where_little_is_saved_or_nothing_dear_was_chosen(landmarks, rows):
    few = partial(choose_map, rows=rows)
    assert few(landmarks, sample=never, n_rows=10_000) == (landmarks, [])
    cheap = qf.KernelFeatures(qf.Gaussian(0.01), n_components=96, random_state=0).fit(rows)
    assert few(cheap, sample=never, n_rows=MANY) == (cheap, [])
    given = qf.Landmarks(qf.Matern(2.5, 0.05), n_components=96, random_state=0).fit(rows)
    assert few(given, sample=never, n_rows=MANY) == (given, [])


def test_a_model_of_many_rows_chooses_its_map_by_the_targets(monkeypatch):
    monkeypatch.setattr("quadfeat.models.map_choice._SAVED", 0)  # as if there were many
    rng = np.random.default_rng(3)
    X = rng.normal(size=(1500, 6))
    features = qf.KernelFeatures(qf.Matern(2.5, 0.05), n_components=96)
    model = qf.KernelRegressor(features, alpha=1.0).fit(X, rng.normal(size=1500))
    assert not isinstance(model.features_.map_, qf.Landmarks)
    assert [each.value for each in model.tuning_ if each.chosen] == ["QuasiRandomFourier"]
    assert np.isfinite(model.predict(X)).all()
