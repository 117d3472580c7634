"""A loaded object gives the results of the saved one, to the bit."""

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.data import archive

from ..conftest import KERNELS


def _round_trip(estimator, folder):
    qf.save(estimator, folder / "model.qf")
    return qf.load(folder / "model.qf")


@pytest.mark.filterwarnings("ignore:.*polynomial.*|.*degree.*:UserWarning")
@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_every_map_answers_with_the_same_bits_after_a_round_trip(any_map, data, dtype, tmp_path):
    X = data.astype(dtype)
    any_map.fit(X)
    again = _round_trip(any_map, tmp_path)
    assert vars(again).keys() == vars(any_map).keys()
    assert repr(again) == repr(any_map) and repr(again.kernel_) == repr(any_map.kernel_)
    assert again.transform(X).tobytes() == any_map.transform(X).tobytes()
    assert again.transform(X[:1]).tobytes() == any_map.transform(X[:1]).tobytes()
    assert again.approximate_kernel(X).tobytes() == any_map.approximate_kernel(X).tobytes()
    assert again.error(X, n_pairs=100) == any_map.error(X, n_pairs=100)


@pytest.mark.parametrize("name", sorted(KERNELS.keys() - {"spectral"}))
def test_every_kernel_and_its_features_come_back(name, data, tmp_path):
    kernel = KERNELS[name](data.shape[1])
    again = _round_trip(kernel, tmp_path)
    assert repr(again) == repr(kernel)
    assert again(data).tobytes() == kernel(data).tobytes()
    features = qf.RandomFourier(kernel, n_components=64, random_state=0).fit(data)
    assert _round_trip(features, tmp_path).transform(data).tobytes() == (
        features.transform(data).tobytes()
    )


MODELS = {
    "regressor": lambda f: qf.KernelRegressor(f),
    "regressor-path": lambda f: qf.KernelRegressor(f, alpha=(0.1, 1.0), fit_intercept=False),
    "interval": lambda f: qf.KernelRegressor(f, checkpoint_interval=3),
    "auto": lambda f: qf.KernelClassifier(f),
    "ridge": lambda f: qf.KernelClassifier(f, loss="ridge", class_weight="balanced"),
    "weighted": lambda f: qf.KernelClassifier(f, class_weight={"a": 1, "b": 2.5}, alpha=1.0),
    "squared-hinge": lambda f: qf.KernelClassifier(f, loss="squared_hinge", alpha=1.0),
    "logistic": lambda f: qf.KernelClassifier(f, loss="logistic", alpha=1.0),
}


def _answers(model, X):
    names = ("predict", "decision_function", "predict_proba")
    answers = [getattr(model, name)(X) for name in names if hasattr(model, name)]
    if isinstance(model, qf.KernelRegressor):
        answers += model.predict(X, return_std=True)
    return [np.asarray(answer).tobytes() for answer in answers]


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("n_targets", [2, 3])
def test_every_model_answers_with_the_same_bits_after_a_round_trip(name, n_targets, data, tmp_path):
    features = qf.RandomFourier(qf.Gaussian(0.3), n_components=16, random_state=0)
    model = MODELS[name](features)
    if isinstance(model, qf.KernelRegressor):
        y = data[:, 0] if n_targets == 2 else data[:, :n_targets]
    else:
        y = np.array(["a", "b", "c"])[np.arange(len(data)) % n_targets]
    for given in (data, pd.DataFrame(data, columns=list("abcd"))):
        model.fit(given, y)
        again = _round_trip(model, tmp_path)
        assert vars(again).keys() == vars(model).keys() and repr(again) == repr(model)
        assert _answers(again, given) == _answers(model, given)


def test_partial_fit_continues_after_a_round_trip(data, tmp_path):
    half = len(data) // 2
    y = np.arange(len(data)) % 3
    features = qf.RandomFourier(qf.Gaussian(0.3), n_components=16, random_state=0)
    for model, target in (
        (qf.KernelRegressor(features), data[:, 0]),
        (qf.KernelClassifier(features), y),
    ):
        model.partial_fit(data[:half], target[:half])
        again = _round_trip(model, tmp_path).partial_fit(data[half:], target[half:])
        model.partial_fit(data[half:], target[half:])
        assert _answers(again, data) == _answers(model, data)


def test_a_file_does_not_say_where_a_later_fit_writes(data, tmp_path):
    model = qf.KernelRegressor(qf.RandomFourier(), checkpoint=tmp_path / "checkpoint")
    assert _round_trip(model.fit(data, data[:, 0]), tmp_path).checkpoint is None


def test_certificates_survive(data, tmp_path):
    for features in (
        qf.DenseGrid(qf.Gaussian(0.05), n_points=8).fit(data[:, :2]),
        qf.ReweightedGrid(
            qf.Gaussian(0.05), n_components=20, pool=qf.DenseGrid(n_points=8), random_state=0
        ).fit(data[:, :2]),
        qf.SparseGrid(qf.Gaussian(0.01), level=3, weights="signed").fit(data[:, :2]),
    ):
        again = _round_trip(features, tmp_path)
        assert again.certificate(data[:, :2]) == features.certificate(data[:, :2])


def test_names_of_columns_and_the_kind_of_output_are_kept(data, tmp_path):
    frame = pd.DataFrame(data, columns=["a", "b", "c", "d"])
    features = qf.QuasiRandomFourier(n_components=8, random_state=0).fit(frame)
    features.set_output(transform="pandas")
    again = _round_trip(features, tmp_path)
    assert again.feature_names_in_.tolist() == ["a", "b", "c", "d"]
    pd.testing.assert_frame_equal(again.transform(frame), features.transform(frame))


def test_the_report_of_kernel_features_is_kept(data, tmp_path):
    features = qf.KernelFeatures(n_components=32, random_state=0).fit(data)
    assert repr(_round_trip(features, tmp_path).report_) == repr(features.report_)


def test_shared_nodes_are_stored_once(data, tmp_path):
    sizes = []
    for windows in (3, 30):
        kernel = qf.Convolution((windows,), 1, base=qf.Gaussian(0.3))
        X = np.random.default_rng(0).normal(size=(20, windows))
        shared = qf.RandomFourier(
            kernel, n_components=2000 * windows, share_groups=True, random_state=0
        ).fit(X)
        shared.signs_ = np.ones(shared.signs_.shape)
        again = _round_trip(shared, tmp_path)
        assert len({id(rule) for rule in again._made_rules}) == 1
        sizes.append((tmp_path / "model.qf").stat().st_size - shared.signs_.nbytes)
    assert sizes[1] < sizes[0] + 10_000


def test_what_holds_code_is_refused_before_anything_is_written(data, tmp_path):
    class Own(qf.Gaussian):
        pass

    for estimator, name in (
        (qf.RandomFourier(qf.Spectral(np.cosh), n_components=4), "Spectral.*density"),
        (qf.Spectral(lambda omega: np.exp(-(omega**2))), "Spectral.*density"),
        (qf.Smoothed(qf.Spectral(lambda omega: np.exp(-(omega**2))), 0.5), "kernel"),
        (Own(0.5), "Own"),
        (qf.RandomFourier(random_state=np.random.RandomState(0)), "random_state"),
        (np.ones(3), "a map, model or kernel"),
        ({"a": 1}, "a map, model or kernel"),
    ):
        with pytest.raises(TypeError, match=name):
            qf.save(estimator, tmp_path / "m.qf")
    assert not list(tmp_path.iterdir())


def test_what_load_would_refuse_is_refused_by_save(data, tmp_path):
    model = qf.KernelRegressor(qf.HermiteMercer(n_components=8), alpha=1.0, verbose=1)
    model.fit(data, data[:, 0])
    qf.save(model, tmp_path / "m.qf")
    assert qf.load(tmp_path / "m.qf").verbose == 1
    before = (tmp_path / "m.qf").read_bytes()
    model.coef_ = model.coef_[:3]
    with pytest.raises(ValueError, match="KernelRegressor cannot be stored: coef_"):
        qf.save(model, tmp_path / "m.qf")
    assert (tmp_path / "m.qf").read_bytes() == before


@pytest.mark.filterwarnings("ignore:.*exact to.*:UserWarning")
def test_every_map_with_a_metric_answers_with_the_same_bits(any_map, data, tmp_path):
    metric = np.random.default_rng(0).normal(size=(2, 4))
    any_map.set_params(kernel=qf.Gaussian("scale", metric=metric)).fit(data)
    again = _round_trip(any_map, tmp_path)
    assert vars(again).keys() == vars(any_map).keys()
    np.testing.assert_array_equal(again.kernel.metric, metric)
    np.testing.assert_array_equal(again.kernel_.metric, metric)
    assert again.transform(data).tobytes() == any_map.transform(data).tobytes()
    assert again.error(data, n_pairs=100) == any_map.error(data, n_pairs=100)


@pytest.mark.parametrize("kind", [np.float64, np.float32, np.int64, list])
def test_a_metric_comes_back_in_its_type(kind, data, tmp_path):
    metric = np.array([[1, 0, 2, 0], [0, 3, 0, 1]])
    metric = metric.tolist() if kind is list else metric.astype(kind)
    kernel = 0.5 * qf.Gaussian(0.3, metric=metric)
    again = _round_trip(kernel, tmp_path)
    assert type(again.kernel.metric) is type(metric)
    assert again(data).tobytes() == kernel(data).tobytes()


def test_a_kernel_without_a_metric_is_stored_as_before_there_were_any(tmp_path):
    qf.save(qf.Gaussian(0.3), tmp_path / "model.qf")
    manifest, _ = archive.read(tmp_path / "model.qf")
    assert manifest["estimator"] == {"class": "Gaussian", "state": {"gamma": 0.3}}
    assert qf.load(tmp_path / "model.qf").metric is None


@pytest.mark.parametrize("metric", [np.ones((2, 3)), np.ones((3, 4)), np.zeros((2, 4)), None])
def test_a_file_whose_metric_does_not_fit_its_map_is_refused(metric, data, tmp_path):
    kernel = qf.Gaussian(0.3, metric=np.ones((2, 4)))
    for features in (qf.RandomFourier(kernel), qf.Landmarks(kernel), qf.KernelFeatures(kernel)):
        features.fit(data)
        features.kernel_ = qf.Gaussian(0.3, metric=metric)
        with pytest.raises(ValueError, match="cannot be stored"):
            qf.save(features, tmp_path / "model.qf")
