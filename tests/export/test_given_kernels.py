"""Landmarks of given kernels: values of a matrix are exported, functions of pairs are refused."""

import sys
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat._errors import NotSeparable
from quadfeat.export.features import features_of
from quadfeat.export.graph import Graph

from .targets import installed

TARGETS = installed()
pytestmark = pytest.mark.skipif(
    not TARGETS, reason="neither torch nor onnx and onnxruntime are installed"
)


@pytest.mark.parametrize("name", [name for name, _ in TARGETS])
def test_values_with_the_rows_of_the_fit_are_exported(name, rng):
    X, new = rng.normal(size=(40, 2)), rng.normal(size=(7, 2))
    kernel = qf.Gaussian(0.4)
    features = qf.Landmarks("precomputed", n_components=12, random_state=0).fit(kernel(X))
    values = kernel(new, X)
    actual = dict(TARGETS)[name](features, "float64")(values)["features"]
    np.testing.assert_allclose(actual, features.transform(values), rtol=0, atol=1e-11)


class Bumps(qf.Kernel):
    """A kernel of distances that does not factor, by a function that no graph has."""

    def __init__(self, gamma=0.5):
        self.gamma = gamma

    def group_at(self, gaps):
        return np.exp(-np.cbrt(np.linalg.norm(gaps, axis=1) ** 6))

    def group_gram(self, X, Y):
        return np.exp(-((X[:, None] - Y) ** 2).sum(axis=2))

    def axis(self, i):
        raise NotSeparable("it does not factor")


def test_kernels_that_cannot_be_recorded_are_refused(rng):
    X = rng.normal(size=(30, 2))

    def function(x, y):
        return float(np.exp(-((x - y) ** 2).sum()))

    features = qf.Landmarks(function, n_components=8, random_state=0).fit(X)
    other = qf.Landmarks(Bumps(), n_components=8, random_state=0).fit(X)
    for _, export in TARGETS:
        with pytest.raises(TypeError, match="cannot be exported: it is a function of pairs"):
            export(features, "float64")
        with pytest.raises(TypeError, match="it does not factor over axes and its functions"):
            export(other, "float64")


def test_a_map_that_is_not_of_the_library_is_refused():
    own = SimpleNamespace(origin=None, kernel_=qf.Gaussian(0.5), n_features_in_=2)
    with pytest.raises(TypeError, match="SimpleNamespace cannot be exported: maps of quadfeat can"):
        features_of(Graph().input(), own)


def test_gaps_that_tell_nothing_have_no_column(rng, tmp_path):
    """Gaps at random are imputed; gaps whose targets differ have an indicator."""
    pytest.importorskip("onnx")
    runtime = pytest.importorskip("onnxruntime")
    table = pd.DataFrame({"a": rng.normal(size=300), "b": rng.normal(size=300)})
    gaps = rng.random(300) < 0.2
    table.loc[gaps, "a"] = np.nan
    widths = []
    for y in (table["b"].to_numpy(), 5.0 * gaps + table["b"].to_numpy()):
        features = qf.RandomFourier(qf.Gaussian(0.1), n_components=16, random_state=0)
        model = qf.KernelRegressor(features, alpha=0.1).fit(table, y)
        widths.append(model.features_.n_features_in_)
        qf.to_onnx(model, tmp_path / "m.onnx", dtype="float64")
        session = runtime.InferenceSession(tmp_path / "m.onnx", providers=["CPUExecutionProvider"])
        (predicted,) = session.run(["predictions"], {n: table[n].to_numpy() for n in ("a", "b")})
        np.testing.assert_allclose(predicted.ravel(), model.predict(table), atol=1e-9)
    assert widths == [2, 3]


def test_the_probabilities_of_a_module_are_those_of_its_model(rng):
    torch = pytest.importorskip("torch")
    X = rng.normal(size=(60, 2))
    features = qf.RandomFourier(qf.Gaussian(0.4), n_components=16, random_state=0)
    model = qf.KernelClassifier(features, loss="logistic", alpha=1.0).fit(X, X[:, 0] > 0)
    module = qf.to_torch(model)
    with torch.no_grad():
        shares = module.predict_proba(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(shares, model.predict_proba(X), atol=1e-9)


@pytest.mark.parametrize("package", ["torch", "onnx"])
def test_a_package_that_is_missing_is_named(package, rng, monkeypatch, tmp_path):
    features = qf.DenseGrid(qf.Gaussian(0.4)).fit(rng.normal(size=(9, 2)))
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(ImportError, match=rf"needs {package}: pip install 'quadfeat\[{package}\]'"):
        if package == "torch":
            qf.to_torch(features)
        else:
            qf.to_onnx(features, tmp_path / "m.onnx")
