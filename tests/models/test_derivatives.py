"""Gradients of models by the rows."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.exceptions import NotFittedError

import quadfeat as qf

STEP = 1e-4


def differences(function, X):
    """Central differences of fourth order of a function (n,) or (n, t): (n, d) or (n, t, d)."""

    def along(e):
        near, far = (function(X + h * e) - function(X - h * e) for h in (STEP, 2 * STEP))
        return (8 * near - far) / (12 * STEP)

    return np.stack([along(e) for e in np.eye(X.shape[1])], axis=-1)


def assert_gradient(model, function, X, shape):
    gradient, expected = model.gradient(X), differences(function, X)
    assert gradient.shape == shape
    assert gradient.dtype == np.float64
    assert np.abs(gradient - expected).max() <= 1e-6 * np.abs(expected).max()


FEATURES = {
    "chosen": None,
    "landmarks": qf.Landmarks(qf.Matern(2.5, 0.3), n_components=40),
    "random": qf.RandomFourier(qf.Gaussian(0.3), n_components=64),
    "signed": qf.SparseGrid(qf.Gaussian(0.3), level=2, weights="signed"),
}


@pytest.mark.parametrize("features", FEATURES.values(), ids=FEATURES)
def test_gradients_of_regressors_are_those_of_predict(features, rng):
    X = rng.normal(size=(200, 3))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    model = qf.KernelRegressor(features, alpha=0.1).fit(X, y)
    assert_gradient(model, model.predict, X[:9], (9, 3))
    model.fit(X, np.column_stack([y, X[:, 0]]))
    assert_gradient(model, model.predict, X[:9], (9, 2, 3))
    model.fit(X, y[:, None])
    assert_gradient(model, model.predict, X[:9], (9, 1, 3))


@pytest.mark.parametrize("loss", ["ridge", "squared_hinge", "logistic"])
def test_gradients_of_classifiers_are_those_of_decisions(loss, rng):
    X = rng.normal(size=(200, 2))
    radius = np.linalg.norm(X, axis=1)
    model = qf.KernelClassifier(FEATURES["random"], loss=loss, alpha=0.1)
    model.fit(X, radius < 1)
    assert_gradient(model, model.decision_function, X[:9], (9, 2))
    model.fit(X, np.digitize(radius, [0.8, 1.5]))
    assert_gradient(model, model.decision_function, X[:9], (9, 3, 2))


def test_the_gradient_of_a_sine_is_the_cosine(rng):
    X = rng.uniform(-3, 3, size=(500, 2))
    model = qf.KernelRegressor().fit(X, np.sin(X[:, 0]))
    inner = X[np.abs(X).max(axis=1) < 2.5]
    gradient = model.gradient(inner)
    assert np.abs(gradient[:, 0] - np.cos(inner[:, 0])).max() < 1e-2
    assert np.abs(gradient[:, 1]).max() < 1e-2


def test_gradients_take_what_predict_takes(rng, tmp_path):
    X = pd.DataFrame(rng.normal(size=(300, 3)), columns=["a", "b", "c"])
    model = qf.KernelRegressor(FEATURES["random"], alpha=1.0).fit(X, X["a"] ** 2)
    expected = model.gradient(X)
    X.to_csv(tmp_path / "rows.csv", index=False)
    from_file = model.gradient(tmp_path / "rows.csv")
    np.testing.assert_allclose(from_file, expected, rtol=1e-9, atol=1e-12)
    unnamed = qf.KernelRegressor(FEATURES["random"], alpha=1.0).fit(X.to_numpy(), X["a"] ** 2)
    for rows in (X.to_numpy(), sparse.csr_matrix(X.to_numpy()), X.to_numpy().tolist()):
        np.testing.assert_allclose(unnamed.gradient(rows), expected, rtol=1e-12, atol=1e-14)
    with pytest.raises(ValueError, match="feature"):
        model.gradient(X[["b", "a", "c"]])


def test_gradients_of_a_dask_array_are_lazy(rng):
    da = pytest.importorskip("dask.array")
    X = rng.normal(size=(100, 3))
    model = qf.KernelClassifier(FEATURES["random"], alpha=1.0).fit(X, X[:, 0] > 0)
    lazy = model.gradient(da.from_array(X, chunks=(30, 3)))
    assert lazy.shape == (100, 3)
    np.testing.assert_allclose(lazy.compute(), model.gradient(X), rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("unit", [1.0, 1e60])
def test_single_precision_is_close_to_double(unit, rng):
    X = rng.normal(size=(200, 3))
    y = unit * np.sin(X).sum(axis=1)
    features = qf.RandomFourier(qf.Gaussian(0.3), n_components=64, random_state=0)
    double, single = (
        qf.KernelRegressor(features, alpha=1.0, dtype=dtype).fit(X, y)
        for dtype in (None, "float32")
    )
    expected = double.gradient(X)
    assert np.abs(single.gradient(X) - expected).max() <= 1e-3 * np.abs(expected).max()


def test_rows_far_from_zero_have_the_gradients_of_centred_ones(rng):
    X = rng.normal(size=(200, 2))
    y, far = np.sin(X[:, 0]), 2.0**24
    near_model, far_model = (
        qf.KernelRegressor(FEATURES["random"], alpha=1.0).fit(X + a, y) for a in (0.0, far)
    )
    assert far_model.features_.origin is not None
    # Features are others by a shift; the function is that of the same kernel.
    expected = differences(lambda x: far_model.predict(x + far), X[:9])
    gradient = far_model.gradient(X[:9] + far)
    assert np.abs(gradient - expected).max() <= 1e-4 * np.abs(expected).max()
    assert np.abs(gradient - near_model.gradient(X[:9])).max() <= 0.2 * np.abs(expected).max()


def test_a_model_without_a_fit_has_no_gradient():
    for model in (qf.KernelRegressor(), qf.KernelClassifier()):
        with pytest.raises(NotFittedError):
            model.gradient([[0.0]])


def test_a_saved_model_has_the_same_gradient(rng, tmp_path):
    X = rng.normal(size=(100, 2))
    for features in (qf.HermiteMercer(n_components=20), qf.Landmarks(n_components=20)):
        model = qf.KernelRegressor(features).fit(X, X[:, 0] ** 3)
        qf.save(model, tmp_path / "model.qf")
        loaded = qf.load(tmp_path / "model.qf")
        np.testing.assert_array_equal(loaded.gradient(X), model.gradient(X))
