"""Exported models predict what the models predict."""

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.export.outputs import record

from .targets import installed

TARGETS = installed()
TOLERANCE = {"float32": 1e-5, "float64": 1e-10}  # of the deviation of y, or of a probability
pytestmark = pytest.mark.skipif(
    not TARGETS, reason="neither torch nor onnx and onnxruntime are installed"
)
FEATURES = {
    "hermite-mercer": lambda: qf.HermiteMercer(qf.Gaussian(0.3), n_components=64),
    "landmarks": lambda: qf.Landmarks(qf.Matern(1.5, 0.3), n_components=40),
    "random": lambda: qf.RandomFourier(qf.Gaussian(0.3), n_components=64),
    "signed": lambda: qf.SparseGrid(qf.Gaussian(0.3), level=2, weights="signed"),
    "chosen": lambda: qf.KernelFeatures(qf.Gaussian(0.3), n_components=32),
}


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(300, 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=300)


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("several", [False, True])
@pytest.mark.parametrize("name", FEATURES)
def test_regressors_predict_the_same_means_and_deviations(name, several, dtype, rows):
    X, y = rows
    y = np.column_stack([y, 100 * X[:, 0]]) if several else y
    model = qf.KernelRegressor(FEATURES[name](), alpha=0.1).fit(X, y)
    x, unit = X[:40].astype(dtype), TOLERANCE[dtype] * y.std(axis=0)
    signed = name == "signed"
    mean, std = (model.predict(x), None) if signed else model.predict(x, return_std=True)
    for _, exported in TARGETS:
        outputs = exported(model, dtype)(x)
        assert outputs["predictions"].shape == mean.shape
        assert (np.abs(outputs["predictions"] - mean) <= unit).all()
        assert ("deviations" in outputs) != signed
        if not signed:
            assert outputs["deviations"].shape == std.shape
            assert (np.abs(outputs["deviations"] - std) <= unit).all()


@pytest.mark.parametrize("loss", ["ridge", "logistic", "squared_hinge"])
@pytest.mark.parametrize("labels", [["no", "yes"], [3, 5, 8], [True, False], [1.0, 2.0, 4.0]])
def test_classifiers_predict_the_same_labels_and_probabilities(loss, labels, rows):
    X, y = rows
    classes = np.asarray(labels)[np.digitize(y, np.linspace(-1, 1, len(labels) + 1)[1:-1])]
    model = qf.KernelClassifier(FEATURES["random"](), loss=loss, alpha=1.0).fit(X, classes)
    for dtype, tolerance in TOLERANCE.items():
        x = X[:40].astype(dtype)
        for name, exported in TARGETS:
            outputs = exported(model, dtype)(x)
            predicted = outputs["label"] if name == "onnx" else model.classes_[outputs["codes"]]
            assert np.array_equal(predicted, model.predict(x))
            scores = model.decision_function(x)
            assert np.abs(outputs["scores"] - scores).max() <= tolerance * np.abs(scores).max()
            if loss == "squared_hinge":
                assert "probabilities" not in outputs
            else:
                error = np.abs(outputs["probabilities"] - model.predict_proba(x)).max()
                assert error <= tolerance


def test_a_model_in_single_precision_takes_rows_in_double(rows):
    X, y = rows
    X = X + np.array([1e6, 0.0, 0.0])  # a column far from 0 is centred before it is rounded
    model = qf.KernelRegressor(FEATURES["random"](), alpha=0.1, dtype="float32").fit(X, y)
    assert model.features_.origin is not None
    for _, exported in TARGETS:
        outputs = exported(model, "float64")(X[:40])
        assert np.abs(outputs["predictions"] - model.predict(X[:40])).max() <= 1e-5 * y.std()


@pytest.mark.parametrize("export", ["to_torch", "to_onnx"])
def test_what_cannot_be_exported_is_named(export, tmp_path):
    pytest.importorskip("torch" if export == "to_torch" else "onnx")
    path = [] if export == "to_torch" else [tmp_path / "x.onnx"]
    with pytest.raises(TypeError, match="got Gaussian"):
        getattr(qf, export)(qf.Gaussian(), *path)
    with pytest.raises(ValueError, match="not fitted"):  # scikit-learn's NotFittedError
        getattr(qf, export)(qf.DenseGrid(), *path)


def test_a_model_of_tables_has_no_module_of_torch_and_the_way_out_is_named(rng):
    table = pd.DataFrame({"city": ["a", "b"] * 30, "size": rng.normal(size=60)})
    model = qf.KernelRegressor(qf.KernelFeatures(qf.Gaussian(0.3)), alpha=0.1)
    y = rng.normal(size=60)
    with pytest.raises(ValueError, match="TableEncoder"):
        record(model.fit(table, y), learnable=True)
    assert record(model.fit(qf.TableEncoder().fit_transform(table, y), y)).outputs
