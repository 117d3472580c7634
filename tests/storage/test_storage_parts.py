"""Files whose parts are missing, too many or do not fit are refused, and how a file is written."""

import hashlib
import io
import os
import stat

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data import archive

from .test_storage import _rewrite


@pytest.fixture
def model(data, tmp_path):
    features = qf.RandomFourier(n_components=8, random_state=0).fit(data)
    qf.save(features, tmp_path / "model.qf")
    return tmp_path / "model.qf"


@pytest.mark.parametrize("number", [0, -1, 1.0, True, None])
def test_a_format_that_is_no_number_from_one_on_is_refused(model, number):
    _rewrite(model, lambda record, members: record.update(format=number))
    with pytest.raises(ValueError, match="no format number"):
        qf.load(model)


def test_members_and_arrays_that_nothing_asks_for_are_refused(model):
    extra = io.BytesIO()
    np.save(extra, np.zeros(3))

    def hidden(record, members):
        members["hidden.npy"] = extra.getvalue()

    def unused(record, members):
        hidden(record, members)
        record["sha256"]["hidden"] = hashlib.sha256(extra.getvalue()).hexdigest()

    for change, message in ((hidden, "manifest lists"), (unused, "do not make one object")):
        whole = model.read_bytes()
        _rewrite(model, change)
        with pytest.raises(ValueError, match=message):
            qf.load(model)
        model.write_bytes(whole)


def test_a_fitted_object_without_one_of_its_parts_is_refused(data, tmp_path):
    path = tmp_path / "model.qf"
    qf.save(qf.KernelFeatures(n_components=16, random_state=0).fit(data), path)
    whole = path.read_bytes()
    for name in ("n_features_in_", "kernel_", "map_", "report_"):

        def change(record, members, name=name):
            del record["content"]["estimator"]["state"][name]

        _rewrite(path, change)
        with pytest.raises(ValueError, match=f"{name} of KernelFeatures is missing"):
            qf.load(path)
        path.write_bytes(whole)


def test_a_class_of_one_s_own_is_not_taken_for_one_of_the_same_name(tmp_path):
    own = type("Gaussian", (qf.Gaussian,), {})
    with pytest.raises(TypeError, match="cannot be stored"):
        qf.save(own(0.5), tmp_path / "kernel.qf")


def _change_array(path, place, change):
    """The same file, checksums made right, with one array of its tree changed."""
    manifest, arrays = archive.read(path)
    tree = manifest["estimator"]
    for step in place:
        tree = tree["tuple"][step] if isinstance(step, int) else tree["state"][step]
    arrays[tree["array"]] = change(arrays[tree["array"]].copy())
    archive.write(path, manifest, arrays)


def _at(index, value):
    def change(array):
        array[index] = value
        return array

    return change


_EXPANSION = ("basis_", "expansions", 0)


@pytest.mark.parametrize(
    ("name", "place", "change", "message"),
    [
        ("random", ("_plan", "amplitudes"), _at(0, np.nan), "not of its type and shape"),
        ("random", ("_plan", "nodes"), lambda nodes: nodes[:-1], "nodes has .* values, not"),
        ("random", ("_plan", "axes"), _at(0, 4), r"axes holds 4, an index outside of \[0, 4\)"),
        ("random", ("_plan", "axes"), _at(0, -1), r"axes holds -1, an index outside of \[0, 4\)"),
        ("random", ("signs_",), _at(0, 2.0), "signs are not"),
        ("anova", ("_plan", "axes_ptr"), _at(1, 9), "axes_ptr does not cut"),
        ("anova", ("_plan", "axes_ptr"), _at(-1, 6), "axes_ptr does not cut"),
        ("anova", ("_plan", "group_nodes"), _at(2, 0), "groups of different sizes share"),
        (
            "hermite",
            (*_EXPANSION, "parent"),
            _at(1, 1),
            "parent of column 1 is 1",
        ),
        ("hermite", (*_EXPANSION, "parent"), _at(1, -2), "parent of column 1 is -2"),
        ("hermite", (*_EXPANSION, "direction"), _at(1, 4), "direction holds 4, an index outside"),
        ("reflected", (*_EXPANSION, "rotation"), lambda rows: rows[:, 1:], "rotation has shape"),
        (
            "reflected",
            (*_EXPANSION, "mixing"),
            lambda rows: rows[:, 1:],
            "a mixing of shape",
        ),
        ("reflected", (*_EXPANSION, "mixing"), lambda rows: rows[:0], "rotation has shape"),
        ("reflected", (*_EXPANSION, "mixing"), _at((0, 0), np.inf), "not of its type and shape"),
        ("reflected", (*_EXPANSION, "length"), _at(0, 0.0), "a direction has no length"),
    ],
)
def test_parts_that_do_not_fit_together_are_refused(name, place, change, message, data, tmp_path):
    chain = qf.Anova(qf.Gaussian(0.3), [[0, 1], [1, 2], [3]])
    made = {
        "random": qf.RandomFourier(n_components=8, random_state=0),
        "anova": qf.RandomFourier(chain, n_components=24, random_state=0),
        "hermite": qf.HermiteMercer(n_components=8),
        "reflected": qf.HermiteMercer(qf.Gaussian(0.002), n_components=70),
    }[name]
    if name == "reflected":
        data = np.random.default_rng(0).normal(size=(300, 60)) @ np.diag(np.linspace(2, 1, 60))
        data = data @ np.linalg.qr(np.random.default_rng(1).normal(size=(60, 60)))[0]
    qf.save(made.fit(data), tmp_path / "model.qf")
    np.testing.assert_array_equal(
        qf.load(tmp_path / "model.qf").transform(data[:9]), made.transform(data[:9])
    )
    _change_array(tmp_path / "model.qf", place, change)
    with pytest.raises(ValueError, match=message):
        qf.load(tmp_path / "model.qf")


def test_an_attribute_that_a_class_does_not_have_is_refused(model):
    def change(record, members):
        record["content"]["estimator"]["state"]["transform"] = 3

    _rewrite(model, change)
    with pytest.raises(ValueError, match="has no attribute 'transform'"):
        qf.load(model)


def test_a_file_is_on_the_disk_before_it_has_its_name_and_its_folder_after(tmp_path, monkeypatch):
    steps, fsync, replace = [], os.fsync, os.replace

    def synced(descriptor):
        status = os.fstat(descriptor)
        steps.append("folder" if stat.S_ISDIR(status.st_mode) else status.st_size)
        fsync(descriptor)

    def named(*names):
        steps.append("name")
        replace(*names)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", named)
    archive.write(tmp_path / "m", {}, {"a": np.zeros(1000)})
    assert steps == [(tmp_path / "m").stat().st_size, "name", "folder"]
