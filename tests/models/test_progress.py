"""Every long part of a fit counts its work."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import quadfeat as qf
from quadfeat._display import showing as module

from ..display.test_progress import Recorder


@pytest.fixture
def screen(monkeypatch):
    screen = Recorder()
    monkeypatch.setattr(module, "WAIT", 0.0)
    monkeypatch.setattr(module, "open_screen", lambda: screen)
    return screen


def labels(screen):
    return list(dict.fromkeys(state.label for state in screen.states))


X, Y = make_friedman1(1200, n_features=5, noise=0.5, random_state=0)


def test_a_regressor_counts_its_rows_its_kernels_and_its_maps(screen):
    qf.KernelRegressor(qf.KernelFeatures(n_components=32)).fit(X, Y)
    expected = {
        "looking at the data",
        "choosing the kernel",
        "choosing the map",
        "reading the rows",
        "solving for the coefficients",
    }
    assert expected <= set(labels(screen))
    assert {state.title for state in screen.states} == {"KernelRegressor"}
    for label in ("looking at the data", "choosing the kernel", "choosing the map"):
        shares = [state.share for state in screen.states if state.label == label]
        assert (np.diff(shares) >= 0).all()
        assert shares[-1] > 0.8


def test_passes_of_a_loss_are_a_share_that_grows_to_one(screen):
    features = qf.HermiteMercer(qf.Gaussian(1.0), n_components=32)
    qf.KernelClassifier(features, loss="logistic").fit(X, np.median(Y) < Y)
    assert "choosing the penalty" in labels(screen)
    shares = [s.share for s in screen.states if s.label == "minimising the loss" and s.share]
    assert (np.diff(shares) >= 0).all()
    assert shares[-1] == 1.0


@pytest.mark.parametrize(
    ("features", "label"),
    [
        (qf.Landmarks(qf.Gaussian("learned"), n_components=16), "learning the kernel"),
        (qf.Landmarks(qf.Anova(), n_components=16), "choosing the subsets"),
    ],
    ids=["scales", "subsets"],
)
def test_maps_that_learn_count_it_too(screen, features, label):
    features.fit(X[:300], Y[:300])
    assert label in labels(screen)
    assert {state.title for state in screen.states} == {"Landmarks"}


def test_polished_nodes_are_counted(screen):
    qf.ReweightedGrid(qf.Gaussian(1.0), n_components=16, polish=True, random_state=0).fit(X[:200])
    assert labels(screen) == ["moving the nodes"]


def test_partitions_of_dask_are_counted(screen):
    array = pytest.importorskip("dask.array")
    rows, targets = array.from_array(X, chunks=(300, 5)), array.from_array(Y, chunks=300)
    features = qf.HermiteMercer(qf.Gaussian(1.0), n_components=16)
    qf.KernelRegressor(features).fit(rows, targets)
    for label in ("looking at the data", "reading the rows"):
        shares = [state.share for state in screen.states if state.label == label]
        assert len(set(shares)) > 2
        assert (np.diff(shares) >= 0).all()


def test_a_model_that_is_not_verbose_shows_nothing(screen):
    qf.KernelRegressor(qf.KernelFeatures(n_components=8), verbose=False).fit(X[:100], Y[:100])
    assert screen.states == []


def test_a_fit_is_the_same_whether_it_is_shown_or_not(screen):
    kinds = [qf.KernelRegressor(qf.KernelFeatures(n_components=16), verbose=v) for v in (1, 0)]
    shown, silent = (model.fit(X[:200], Y[:200]).coef_ for model in kinds)
    np.testing.assert_array_equal(shown, silent)
