"""Files with right checksums and wrong values are refused, without taking much memory."""

import copy
import os
import tracemalloc

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data import archive

from ..conftest import KERNELS, MAPS

SMALL = qf.RandomFourier(qf.Gaussian(0.3), n_components=8, random_state=0)
CONVOLUTION = qf.Convolution((4,), 2, base=qf.Gaussian(0.3))
FITTED = {
    "regressor": lambda X: qf.KernelRegressor(SMALL).fit(X, X[:, 0]),
    "regressors": lambda X: qf.KernelRegressor(SMALL).fit(X, X[:, :2]),
    "partial": lambda X: qf.KernelRegressor(SMALL).partial_fit(X, X[:, 0]),
    "classifier": lambda X: qf.KernelClassifier(SMALL, loss="ridge", class_weight="balanced").fit(
        X, (X[:, 0] > 0) + 1.0
    ),
    "logistic": lambda X: qf.KernelClassifier(
        SMALL, loss="logistic", alpha=1.0, class_weight={0: 1.0, 1: 2}
    ).fit(X, X[:, 0] > 0),
    **{
        name: (lambda X, name=name: MAPS[name]().fit(X))
        for name in ("dense", "random", "hermite-mercer", "landmarks", "kernel-features")
    },
    "convolution": lambda X: qf.HermiteMercer(CONVOLUTION, n_components=12).fit(X),
    "sum": lambda X: qf.RandomFourier(KERNELS["sum"](4), n_components=12).fit(X),
}
# Attributes that may be NaN or infinite.
UNKNOWN = {"score", "rms", "max", "cost", "typical", "noise_", "checkpoint_interval"}


@pytest.fixture(autouse=True)
def _not_synced(monkeypatch):
    monkeypatch.setattr(
        os, "fsync", lambda _: None
    )  # syncing hundreds of files would take most of the time


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """The contents of one file per estimator, written when first used."""
    folder, cached = tmp_path_factory.mktemp("saved"), {}
    generator = np.random.default_rng(1)
    X = generator.normal(size=(80, 4)) @ generator.normal(size=(4, 4)) / 2

    def contents(name):
        if name not in cached:
            qf.save(FITTED[name](X), folder / "m.qf")
            cached[name] = archive.read(folder / "m.qf")
        manifest, arrays = cached[name]
        return copy.deepcopy(manifest), dict(arrays)

    return contents


def _leaves(node, kind):
    """Every (holder, key) of a tree whose value has the type `kind`."""
    for key, child in list(node.items() if isinstance(node, dict) else enumerate(node)):
        if type(child) is kind:
            yield node, key
        elif isinstance(child, dict | list):
            yield from _leaves(child, kind)


@pytest.mark.parametrize(
    ("name", "attribute", "value"),
    [
        *(("regressor", "intercept_", value) for value in (np.nan, np.inf, "1")),
        *(("regressor", "noise_", value) for value in (-5.0, np.inf, -np.inf, 1, None)),
        *(("regressor", "alpha_", value) for value in (0.0, -1.0, np.nan, np.inf)),
        *(("regressor", "n_features_in_", value) for value in (-1, 4.0, True)),
        ("regressor", "checkpoint_interval", np.nan),
        ("classifier", "_slope", -1.0),
        ("classifier", "_slope", np.nan),
        ("logistic", "n_passes_", -1),
        ("logistic", "class_weight", {"dict": [[0, -1.0], [1, 1.0]]}),
        ("random", "n_features_in_", -4),
        ("random", "kernel_", {"class": "Gaussian", "state": {"gamma": np.nan}}),
        ("random", "kernel_", {"class": "Gaussian", "state": {"gamma": -1.0}}),
        ("random", "kernel_", {"class": "Gaussian", "state": {"gamma": "scale"}}),
        ("random", "kernel_", {"class": "Convolution", "state": {"shape": 4, "window": 4}}),
    ],
)
def test_an_attribute_out_of_its_range_is_refused(name, attribute, value, saved, tmp_path):
    manifest, arrays = saved(name)
    assert attribute in manifest["estimator"]["state"]
    manifest["estimator"]["state"][attribute] = value
    archive.write(tmp_path / "m.qf", manifest, arrays)
    with pytest.raises(ValueError, match=f"{attribute} of|kernel|not describe"):
        qf.load(tmp_path / "m.qf")


@pytest.mark.parametrize("name", FITTED)
def test_no_number_of_a_fitted_object_may_be_nan_or_infinite(name, saved, tmp_path):
    manifest, arrays = saved(name)
    places = [place for place in _leaves(manifest["estimator"], float) if place[1] not in UNKNOWN]
    noise = manifest["estimator"]["state"].get("noise_")
    known = arrays.keys() - ({noise["array"]} if isinstance(noise, dict) else set())
    for value in (np.nan, np.inf):
        for holder, key in places:
            before, holder[key] = holder[key], value
            archive.write(tmp_path / "m.qf", manifest, arrays)
            holder[key] = before
            with pytest.raises(ValueError, match="does not describe"):
                qf.load(tmp_path / "m.qf")
        for key in known:
            if arrays[key].dtype.kind == "f" and arrays[key].size:
                changed = arrays[key].copy()
                changed.flat[-1] = value
                archive.write(tmp_path / "m.qf", manifest, {**arrays, key: changed})
                with pytest.raises(ValueError, match="does not describe"):
                    qf.load(tmp_path / "m.qf")


@pytest.mark.parametrize("name", ["regressor", "partial", "classifier"])
def test_squares_and_weights_are_not_negative(name, saved, tmp_path):
    manifest, arrays = saved(name)
    state = manifest["estimator"]["state"]
    tried = 0
    for holder in (state, state.get("_sums", {}).get("state", {})):
        for key in {"_factors", "target_square", "weight", "gram", "noise_"} & holder.keys():
            if isinstance(holder[key], dict):
                changed, place = dict(arrays), holder[key]["array"]
                changed[place] = np.full_like(changed[place], -1.0)
                archive.write(tmp_path / "m.qf", manifest, changed)
                tried += 1
                with pytest.raises(ValueError, match=r"negative|range"):
                    qf.load(tmp_path / "m.qf")
    assert tried == {"regressor": 0, "partial": 3, "classifier": 1}[name]


@pytest.mark.parametrize(
    "kernel",
    [
        *(qf.Gaussian(gamma) for gamma in (-1.0, 0, np.nan, [1.0, -1.0], np.array([np.inf]), "x")),
        qf.Matern(-0.5),
        qf.Smoothed(qf.Laplacian(1.0), np.nan),
        -2.0 * qf.Gaussian(1.0),
        qf.Anova(qf.Gaussian(1.0), [[0], [-1]]),
        qf.Anova(qf.Gaussian(1.0), [[0], [1]], [1.0, -1.0]),
        qf.Convolution((-4,), 2),
    ],
    ids=repr,
)
def test_a_kernel_with_parameters_out_of_range_is_neither_stored_nor_loaded(kernel, tmp_path):
    with pytest.raises(ValueError, match="cannot be stored"):
        qf.save(kernel, tmp_path / "k.qf")
    assert not list(tmp_path.iterdir())


def test_a_noise_of_nan_from_too_few_rows_is_loaded(saved, tmp_path):
    manifest, arrays = saved("regressor")
    manifest["estimator"]["state"]["noise_"] = np.nan
    archive.write(tmp_path / "m.qf", manifest, arrays)
    assert np.isnan(qf.load(tmp_path / "m.qf").noise_)


def test_targets_of_a_sample_are_an_array_of_rows(saved, tmp_path):
    manifest, arrays = saved("partial")
    state = manifest["estimator"]["state"]["_seen"]["state"]
    key = state["y"]["array"]
    y = arrays[key]
    for changed, kept in (
        ({"array": key}, {**arrays, key: y.reshape(len(y), 1, 1)}),
        (y.ravel().tolist(), {name: array for name, array in arrays.items() if name != key}),
    ):
        state["y"] = changed
        archive.write(tmp_path / "m.qf", manifest, kept)
        with pytest.raises(ValueError, match="y of RowSample"):
            qf.load(tmp_path / "m.qf")


def test_classes_in_another_order_are_refused(saved, tmp_path):
    manifest, arrays = saved("classifier")
    place = manifest["estimator"]["state"]["classes_"]["array"]
    for changed in (arrays[place][::-1], np.array([1.0, np.nan])):
        archive.write(tmp_path / "m.qf", manifest, {**arrays, place: changed})
        with pytest.raises(ValueError, match="classes"):
            qf.load(tmp_path / "m.qf")


@pytest.mark.parametrize("name", FITTED)
def test_no_number_in_a_small_file_makes_it_take_much_memory(name, saved, tmp_path):
    manifest, arrays = saved(name)
    places = list(_leaves(manifest["estimator"], int))
    columns = [(holder, key) for holder, key in places if holder[key] == 4]
    for some in (*([place] for place in places), columns):
        before = [holder[key] for holder, key in some]
        for holder, key in some:
            holder[key] = 2**21
        archive.write(tmp_path / "m.qf", manifest, arrays)
        for (holder, key), value in zip(some, before, strict=True):
            holder[key] = value
        tracemalloc.start()
        try:
            qf.load(tmp_path / "m.qf")
        except ValueError:
            pass
        finally:
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        # 2^21 columns take 16 MiB: not even one array of that size may have been made.
        assert peak < 2**22 + 10 * (tmp_path / "m.qf").stat().st_size, some


def test_a_map_that_looks_at_few_of_many_columns_is_stored_small(tmp_path):
    X = np.random.default_rng(0).normal(size=(20, 600))
    kernel = qf.Anova(qf.Gaussian(0.3), [[0, 599], [7]]) * qf.Gaussian(1e-4)
    for features in (
        qf.RandomFourier(qf.Anova(qf.Gaussian(0.3), [[5, 599]]), n_components=8),
        qf.RandomFourier(kernel, n_components=8, random_state=0),
        qf.Landmarks(qf.Convolution((20, 30), (10, 10), base=qf.Gaussian(1e-3)), n_components=8),
    ):
        features.fit(X)
        qf.save(features, tmp_path / "m.qf")
        again = qf.load(tmp_path / "m.qf")
        assert again.transform(X).tobytes() == features.transform(X).tobytes()
