"""One file, all or nothing; what is damaged or hostile is refused, and runs nothing."""

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat import storage

from .conftest import KERNELS


def test_arrays_and_manifest_come_back_to_the_bit(tmp_path, rng):
    arrays = {
        "double": rng.normal(size=(5, 7)),
        "fortran": np.asfortranarray(rng.normal(size=(3, 4))),
        "single": rng.normal(size=4).astype(np.float32),
        "strided": rng.normal(size=(6, 6))[::2, ::3],
        "empty": np.empty((0, 3)),
        "scalar": np.array(2.5),
        "integers": np.arange(3),
        "flags": np.array([True, False]),
        "text": np.array(["a", "größer"]),
    }
    manifest = {"n": 3, "x": 0.1, "inf": np.inf, "nested": [{"a": None}]}
    storage.write(tmp_path / "m", manifest, arrays)
    again, back = storage.read(tmp_path / "m")
    assert again == manifest and list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_python_objects_are_never_stored(tmp_path):
    with pytest.raises(TypeError, match="objects"):
        storage.write(tmp_path / "m", {}, {"a": np.array([{}], dtype=object)})
    assert not list(tmp_path.iterdir())


# --- estimators -----------------------------------------------------------------------------------
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


@pytest.mark.parametrize("name", KERNELS.keys() - {"spectral"})
def test_every_kernel_and_its_features_come_back(name, data, tmp_path):
    kernel = KERNELS[name](data.shape[1])
    again = _round_trip(kernel, tmp_path)
    assert repr(again) == repr(kernel)
    assert again(data).tobytes() == kernel(data).tobytes()
    features = qf.RandomFourier(kernel, n_components=64, random_state=0).fit(data)
    assert _round_trip(features, tmp_path).transform(data).tobytes() == (
        features.transform(data).tobytes()
    )


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


def test_the_report_of_the_front_door_is_kept(data, tmp_path):
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
        (np.ones(3), "stores maps, models and kernels"),
        ({"a": 1}, "stores maps, models and kernels"),
    ):
        with pytest.raises(TypeError, match=name):
            qf.save(estimator, tmp_path / "m.qf")
    assert not list(tmp_path.iterdir())
