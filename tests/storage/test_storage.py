"""One file, all or nothing; what is damaged or hostile is refused, and runs nothing."""

import io
import json
import os
import resource
import sys
import tempfile
import zipfile

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.data import archive

from ..conftest import KERNELS, MAPS
from .fuzz import mutate, outcome


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
    archive.write(tmp_path / "m", manifest, arrays)
    again, back = archive.read(tmp_path / "m")
    assert again == manifest and list(back) == list(arrays)
    for name, array in arrays.items():
        assert back[name].dtype == array.dtype
        np.testing.assert_array_equal(back[name], array)
    assert [path.name for path in tmp_path.iterdir()] == ["m"]


def test_python_objects_are_never_stored(tmp_path):
    with pytest.raises(TypeError, match="objects"):
        archive.write(tmp_path / "m", {}, {"a": np.array([{}], dtype=object)})
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
    "ridge": lambda f: qf.KernelClassifier(f, class_weight="balanced", checkpoint_interval=3),
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


def test_a_model_goes_on_learning_after_a_round_trip(data, tmp_path):
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


# --- damaged and hostile files --------------------------------------------------------------------
MUTATED = {
    **{name: MAPS[name] for name in ("dense", "random", "hermite-mercer-compressed", "landmarks")},
    "regressor": lambda: qf.KernelRegressor(MAPS["random"](), alpha=1.0),
    "classifier": lambda: qf.KernelClassifier(MAPS["random"](), alpha=1.0),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MUTATED)
def test_a_mutated_file_is_refused_or_loads_to_what_can_be_used(name, data, tmp_path):
    rng = np.random.default_rng(list(name.encode()))
    labels = np.arange(60) % 3
    qf.save(MUTATED[name]().fit(data[:60, :3], labels), tmp_path / "original")
    whole = (tmp_path / "original").read_bytes()
    for i in range(100):
        (tmp_path / "damaged").write_bytes(mutate(whole, rng))
        # The time is the benchmark's to judge: a test must not depend on the machine.
        assert outcome(tmp_path / "damaged", seconds=np.inf) in ("refused", "loaded"), i


@pytest.fixture
def model(data, tmp_path):
    features = qf.RandomFourier(n_components=8, random_state=0).fit(data)
    qf.save(features, tmp_path / "model.qf")
    return tmp_path / "model.qf"


def _rewrite(path, change):
    """The same file with its record changed, whatever the checksums say then."""
    with zipfile.ZipFile(path) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    record = json.loads(members["manifest.json"])
    change(record, members)
    members["manifest.json"] = json.dumps(record).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in members.items():
            archive.writestr(name, content)


def test_a_later_format_says_that_quadfeat_must_be_upgraded(model):
    _rewrite(model, lambda record, members: record.update(format=2, library="quadfeat 9.1"))
    with pytest.raises(ValueError, match=r"format 2.*quadfeat 9\.1.*upgrade"):
        qf.load(model)


def test_a_class_that_is_not_in_the_table_is_refused(model):
    def change(record, members):
        record["content"]["estimator"]["class"] = "subprocess.Popen"

    _rewrite(model, change)
    with pytest.raises(ValueError, match=r"'subprocess\.Popen', which this version does not know"):
        qf.load(model)


def test_a_changed_array_does_not_have_its_checksum(model):
    def change(record, members):
        members["0.npy"] = members["0.npy"][:-1] + b"?"

    _rewrite(model, change)
    with pytest.raises(ValueError, match="checksum"):
        qf.load(model)


def test_a_pickle_inside_is_refused_unread(model):
    buffer = io.BytesIO()
    np.save(buffer, np.array([sys.exit], dtype=object), allow_pickle=True)

    def change(record, members):
        members["0.npy"] = buffer.getvalue()

    _rewrite(model, change)
    with pytest.raises(ValueError, match="holds object"):
        qf.load(model)


def test_members_that_claim_more_than_the_file_holds_are_refused(model):
    header = b"\x93NUMPY\x01\x00v\x00" + (
        b"{'descr': '<f8', 'fortran_order': False, 'shape': (1099511627776,), }".ljust(117) + b"\n"
    )

    def change(record, members):
        members["0.npy"] = header + bytes(64)

    _rewrite(model, change)
    with pytest.raises(ValueError, match="does not fit its length"):
        qf.load(model)
    with zipfile.ZipFile(model, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("manifest.json", bytes(10_000_000))
    with pytest.raises(ValueError, match="compressed"):
        qf.load(model)


@pytest.mark.parametrize(
    "kernel",
    [
        {"class": "Convolution", "state": {"shape": [4096, 4096], "window": 2048}},
        {"class": "Convolution", "state": {"shape": [2**40], "window": 1}},
        {"class": "Convolution", "state": {"shape": [2**24], "window": 1}},
    ],
    ids=["windows", "length", "groups"],
)
def test_a_kernel_with_too_many_groups_is_refused_uncounted(model, kernel):
    def change(record, members):
        state = record["content"]["estimator"]["state"]
        state["kernel_"], state["n_features_in_"] = kernel, 2**24

    _rewrite(model, change)
    with pytest.raises(ValueError, match="groups"):
        qf.load(model)


def test_products_of_products_of_sums_are_refused_uncounted(model):
    def change(record, members):
        state = record["content"]["estimator"]["state"]
        kernel = state["kernel_"]
        kernel = {"class": "Sum", "state": {"left": kernel, "right": kernel}}
        for _ in range(5):
            kernel = {"class": "Product", "state": {"left": kernel, "right": kernel}}
        state["kernel_"] = kernel

    _rewrite(model, change)
    with pytest.raises(ValueError, match="groups"):
        qf.load(model)


def test_a_file_of_something_else_is_refused_by_name(tmp_path):
    (tmp_path / "a.qf").write_text("not a model")
    with pytest.raises(ValueError, match=r"a\.qf is not a file of quadfeat"):
        qf.load(tmp_path / "a.qf")
    archive.write(tmp_path / "b.qf", {"checkpoint": 1}, {})
    with pytest.raises(ValueError, match=r"b\.qf holds no saved estimator, but checkpoint"):
        qf.load(tmp_path / "b.qf")
    with pytest.raises(FileNotFoundError, match=r"c\.qf"):
        qf.load(tmp_path / "c.qf")


# --- the disk -------------------------------------------------------------------------------------
def test_a_full_disk_leaves_the_earlier_file_and_no_other(model):
    before = model.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match=r"model\.qf was not written"):
            archive.write(model, {}, {"a": np.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert model.read_bytes() == before
    assert [path.name for path in model.parent.iterdir()] == ["model.qf"]


def test_a_folder_that_is_missing_is_named(model):
    with pytest.raises(OSError, match=r"nowhere.*was not written"):
        archive.write(model.parent / "nowhere" / "m.qf", {}, {})


def _as_nobody(function):
    """What a function says as a user who is not root, who may write anywhere."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        if os.geteuid() == 0:
            os.setuid(65534)
        try:
            function()
        except OSError as error:
            os.write(write_end, f"{type(error).__name__}: {error}".encode())
        finally:
            os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        said = pipe.read()
    os.waitpid(child, 0)
    return said


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_a_folder_that_is_read_only_is_named():
    # Not tmp_path, whose parents only its owner can enter.
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o555)
        said = _as_nobody(lambda: archive.write(f"{folder}/m.qf", {}, {}))
        assert said.startswith("PermissionError") and f"{folder}/m.qf was not written" in said
        assert not os.listdir(folder)


def test_a_temporary_file_left_by_a_killed_process_is_used_up(model):
    (model.parent / ".model.qf.tmp").write_bytes(bytes(1_000_000))
    archive.write(model, {"again": True}, {})
    assert archive.read(model) == ({"again": True}, {})
    assert [path.name for path in model.parent.iterdir()] == ["model.qf"]


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    archive.write(tmp_path / "m", {}, {})
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


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
