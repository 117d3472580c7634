"""The contents of an ONNX file."""

import numpy as np
import pytest

import quadfeat as qf

onnx = pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")


def test_a_file_passes_the_full_check_and_says_what_it_is(data, tmp_path):
    for features in (qf.HermiteMercer(n_components=64), qf.DenseGrid(n_points=3)):
        qf.to_onnx(features.fit(data), tmp_path / "map.onnx")
        model = onnx.load(tmp_path / "map.onnx")
        onnx.checker.check_model(model, full_check=True)
        assert model.producer_name == "quadfeat" and "Gaussian(gamma=" in model.doc_string
        (given,) = model.graph.input
        (features_,) = model.graph.output
        assert given.name == "X" and features_.name == "features"
        assert given.type.tensor_type.shape.dim[1].dim_value == data.shape[1]


def test_windows_do_not_multiply_the_size_of_the_file(data, tmp_path):
    """576 windows of a 28 x 28 image: nodes are stored for the axes of a window."""
    kernel = qf.Convolution((28, 28), 5, base=qf.Gaussian(0.1))
    X = np.random.default_rng(0).normal(size=(20, 784))
    features = qf.RandomFourier(kernel, n_components=576 * 4, random_state=0).fit(X)
    qf.to_onnx(features, tmp_path / "map.onnx")
    size = (tmp_path / "map.onnx").stat().st_size
    assert size < 4 * 576 * 2 * 25 + 8 * 576 * 25 + 8 * 3 * 2304 + 10_000  # nodes, axes, rest


def test_columns_far_from_zero_want_double_precision(rng, tmp_path):
    X = rng.normal(size=(200, 2)) + np.array([1e9, 0.0])
    model = qf.KernelRegressor(qf.RandomFourier(qf.Gaussian(0.3), n_components=16)).fit(X, X[:, 1])
    with pytest.raises(ValueError, match=r"1e\+09 from 0 .* use dtype='float64'"):
        qf.to_onnx(model, tmp_path / "model.onnx")
    with pytest.raises(ValueError, match="dtype must be one of"):
        qf.to_onnx(model, tmp_path / "model.onnx", dtype="float16")
    assert not list(tmp_path.iterdir())
