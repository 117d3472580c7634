"""An archive holds arrays and a manifest to the bit, and is written completely or not at all."""

import hashlib
import io
import json
import os
import resource
import stat
import tempfile
import warnings
import zipfile

import numpy as np
import pytest

from quadfeat.data import archive


@pytest.fixture
def written(tmp_path):
    """The path of an archive."""
    archive.write(tmp_path / "model.qf", {"n": 1}, {"a": np.zeros(1000)})
    return tmp_path / "model.qf"


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


def test_a_full_disk_leaves_the_earlier_file_and_no_other(written):
    before = written.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, hard))
    try:
        with pytest.raises(OSError, match=r"model\.qf was not written"):
            archive.write(written, {}, {"a": np.zeros(100_000)})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert written.read_bytes() == before
    assert [path.name for path in written.parent.iterdir()] == ["model.qf"]


def test_a_folder_that_is_missing_is_named(written):
    with pytest.raises(OSError, match=r"nowhere.*was not written"):
        archive.write(written.parent / "nowhere" / "m.qf", {}, {})


def _as_nobody(function):
    """The error of a function that runs as another user than root, who may write anywhere."""
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


def test_a_temporary_file_left_by_a_killed_process_is_replaced(written):
    (written.parent / ".model.qf.tmp").write_bytes(bytes(1_000_000))
    archive.write(written, {"again": True}, {})
    assert archive.read(written) == ({"again": True}, {})
    assert [path.name for path in written.parent.iterdir()] == ["model.qf"]


def test_the_file_has_the_permissions_of_any_new_file(tmp_path):
    (tmp_path / "plain").write_text("")
    archive.write(tmp_path / "m", {}, {})
    assert (tmp_path / "m").stat().st_mode == (tmp_path / "plain").stat().st_mode


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


def _with_manifest(path, text, copies=1):
    """An archive that has this manifest, and no arrays."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED) as file, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of names that come twice
        for _ in range(copies):
            file.writestr("manifest.json", text)
    return path


@pytest.mark.parametrize(
    ("text", "copies", "words"),
    [
        ('{"format": 1, "sha256": {}, "content": {}}', 2, "two of its members have one name"),
        ('{"format": 1, "sha256": {}}', 1, "its manifest is incomplete"),
        ('{"format": 1, "sha256": [], "content": {}}', 1, "its manifest is incomplete"),
        ("[1]", 1, "its manifest has no format number"),
        (" " * ((1 << 24) + 1), 1, "its manifest is longer than 16,777,216 bytes"),
    ],
)
def test_a_manifest_that_no_version_wrote_is_refused(text, copies, words, tmp_path):
    with pytest.raises(ValueError, match=words):
        archive.read(_with_manifest(tmp_path / "m.qf", text, copies))
    _with_manifest(tmp_path / "m.qf", '{"format": 1, "sha256": {}, "content": {"n": 3}}')
    assert archive.read(tmp_path / "m.qf") == ({"n": 3}, {})


def test_an_array_of_another_npy_version_is_refused(tmp_path):
    array = io.BytesIO()
    np.lib.format.write_array(array, np.zeros(3), version=(2, 0))
    digest = hashlib.sha256(array.getvalue()).hexdigest()
    manifest = {"format": 1, "sha256": {"a": digest}, "content": {}}
    with zipfile.ZipFile(tmp_path / "m.qf", "w") as file:
        file.writestr("manifest.json", json.dumps(manifest))
        file.writestr("a.npy", array.getvalue())
    with pytest.raises(ValueError, match=r"a\.npy has NPY version 2\.0"):
        archive.read(tmp_path / "m.qf")


def test_a_file_that_may_not_be_read_is_not_called_damaged(written, monkeypatch):
    def refuse(path, mode):
        raise PermissionError(13, "Permission denied", str(path))

    monkeypatch.setattr(archive.Path, "open", refuse)  # root may read every file
    with pytest.raises(PermissionError):
        archive.read(written)
