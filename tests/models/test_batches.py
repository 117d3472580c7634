"""Laws of partial_fit: the first batch decides the map; batches change nothing else."""

import numpy as np
import pytest
from sklearn.base import clone

import quadfeat as qf

KERNEL = qf.Gaussian(0.5)


@pytest.fixture(params=["regressor", "classifier"])
def case(request, rng):
    """A model with a given kernel, rows, and targets: numbers, or three labels."""
    X = rng.normal(size=(200, 2))
    y = np.sin(2 * X).sum(axis=1) + 0.5 * rng.normal(size=200)
    # Random features do not depend on the rows, so that batches have the map of a fit.
    features = qf.RandomFourier(KERNEL, n_components=32, random_state=0)
    if request.param == "regressor":
        return qf.KernelRegressor(features), X, y
    return (
        qf.KernelClassifier(features, loss="ridge"),
        X,
        np.array(["a", "b", "ccc"])[np.digitize(y, [-0.5, 1])],
    )


def in_batches(model, X, y, cuts, weight=None):
    for some in np.split(np.arange(len(X)), cuts):
        model.partial_fit(X[some], y[some], sample_weight=None if weight is None else weight[some])
    return model


def answers(model, X):
    if isinstance(model, qf.KernelRegressor):
        return [*model.predict(X, return_std=True), [model.noise_]]
    return [model.decision_function(X), model.predict_proba(X)]


def assert_same(one, two, X):
    assert one.alpha_ == pytest.approx(two.alpha_, rel=1e-9)
    for ours, theirs in zip(answers(one, X), answers(two, X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("cuts", [[199], [100], [197], [60, 61, 150]])
def test_batches_choose_what_a_fit_chooses(case, cuts, rng):
    model, X, y = case
    weight = rng.integers(1, 4, size=200)
    batches = in_batches(model, X, y, cuts, weight)
    assert_same(batches, clone(model).fit(X, y, weight), X)


def test_copies_in_some_batches_are_weights(case):
    model, X, y = case
    copies = np.where(np.arange(200) < 100, 20, 1)
    each = np.repeat(np.arange(200), copies)
    by_row = in_batches(type(model)(model.features), X[each], y[each], [2000])
    assert_same(by_row, in_batches(model, X, y, [100], copies), X)


def test_a_batch_that_comes_again_tells_nothing_new(case):
    model, X, y = case
    once = type(model)(model.features).partial_fit(X, y)
    again = model.partial_fit(X, y).partial_fit(X, y).partial_fit(X, y)
    assert again.alpha_ == pytest.approx(3 * once.alpha_, rel=1e-9)
    for ours, theirs in zip(answers(again, X), answers(once, X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-8)


def test_batches_go_on_after_a_file_as_if_there_was_none(case, tmp_path):
    model, X, y = case
    model.partial_fit(X[:120], y[:120])
    qf.save(model, tmp_path / "model.qf")
    loaded = qf.load(tmp_path / "model.qf")
    assert_same(loaded.partial_fit(X[120:], y[120:]), model.partial_fit(X[120:], y[120:]), X)


def test_a_large_first_batch_leaves_a_small_sample_in_the_model(rng):
    X = rng.normal(size=(30_000, 1))
    features = qf.RandomFourier(KERNEL, n_components=1000, random_state=0)
    model = qf.KernelRegressor(features, alpha=1.0).partial_fit(X, X[:, 0])
    model.partial_fit(X + 1, X[:, 0])
    assert len(model._seen.drawn().X) <= 5000


def test_a_batch_that_cannot_be_solved_is_not_kept(rng):
    X, y = rng.normal(size=(50, 2)), rng.normal(size=50)
    features = qf.RandomFourier(KERNEL, n_components=200, random_state=0)
    model = qf.KernelRegressor(features, alpha=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="too small"):
        model.set_params(alpha=1e-300).partial_fit(X + 1, y)
    model.set_params(alpha=1.0).partial_fit(X + 1, y)
    twice = qf.KernelRegressor(features, alpha=1.0).partial_fit(X, y).partial_fit(X + 1, y)
    assert_same(model, twice, X)
