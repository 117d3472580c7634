"""Models in one file without pickle: arrays, a JSON manifest, versions and checksums.

A file is a zip archive, nothing in it compressed: `manifest.json`, and one NPY member per array.
Reading it takes no more memory than its own length, and runs nothing. It is written to a temporary
file beside the old one, which is replaced only when the new one is safe on the disk.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import math
import os
import zipfile
from collections.abc import Iterator
from importlib.metadata import version
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from ._recipes import RECIPES, recipe_of

try:
    import fcntl
except ImportError:  # not a Unix: two writers of one file are then not kept apart
    fcntl = None  # type: ignore[assignment]

FORMAT = 1  # raised when an older reader would misunderstand a file

Array = npt.NDArray[Any]

_MANIFEST = "manifest.json"
_LONGEST_MANIFEST = 1 << 24
_CHUNK = 1 << 22
_DATE = (1980, 1, 1, 0, 0, 0)  # the same content makes the same bytes


def write(path: Any, manifest: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a manifest and arrays into one file, all or nothing.

    When it returns, the file is on the disk. If it cannot be written (no space, a folder that is
    read-only), there is an OSError, and an earlier file of that name is as it was.

    Parameters
    ----------
    path : path
    manifest : dict that JSON can hold
    arrays : dict of arrays of numbers or text
    """
    path = Path(path)
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects, which are never stored")
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with _sole_writer(temporary) as file:
            _write_archive(file, manifest, arrays)
            file.flush()
            os.fsync(file.fileno())
            os.replace(temporary, path)
        _sync_folder(path.parent)
    except OSError as error:
        kind = OSError if error.errno is None else type(error)
        raise kind(error.errno, f"{path} was not written ({error.strerror or error})") from error


def read(path: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """The manifest and the arrays of a file that `write` made; a ValueError if it is damaged."""
    path = Path(path)
    try:
        with zipfile.ZipFile(path) as archive:
            return _read_archive(archive, path)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except PermissionError:
        raise
    except ValueError as error:
        raise ValueError(f"{path} is not a model file that can be read: {error}") from None
    except Exception as error:
        # zipfile and NumPy raise a dozen kinds on damaged headers; all mean one thing.
        raise ValueError(
            f"{path} is not a model file that can be read: it is damaged or something else "
            f"({type(error).__name__}: {error})"
        ) from None


def save(estimator: Any, path: Any) -> None:
    """Write a fitted map, model or kernel of this library into one file, without pickle.

    `load` gives back an object whose answers have the same bits. Written as `write` does: all or
    nothing.

    Parameters
    ----------
    estimator : FeatureMap, Kernel, KernelRegressor or KernelClassifier
    path : path

    Raises
    ------
    TypeError
        For what a file without code cannot hold, such as a function inside `Spectral`.

    Examples
    --------
    >>> import tempfile, quadfeat as qf
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = qf.SubsampledGrid(n_components=16, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qf.save(features, f"{folder}/map.qf")
    ...     again = qf.load(f"{folder}/map.qf")
    >>> bool((again.transform(X) == features.transform(X)).all())
    True
    """
    encoder = _Encoder()
    tree = encoder.encode(estimator, type(estimator).__name__)
    if not (isinstance(tree, dict) and "class" in tree):
        raise TypeError(f"save stores maps, models and kernels of quadfeat, not {estimator!r}")
    write(path, {"estimator": tree}, encoder.arrays)


def load(path: Any) -> Any:
    """The map, model or kernel that `save` wrote.

    No code in the file is run, for it can hold none: classes come from a fixed table, and every
    array is checked before the engine sees it. A damaged or hostile file raises a ValueError.
    """
    manifest, arrays = read(path)
    if "estimator" not in manifest:
        raise ValueError(f"{path} holds no saved estimator, but {', '.join(manifest) or 'nothing'}")
    decoder = _Decoder(arrays)
    try:
        made = decoder.decode(manifest["estimator"])
        if recipe_of(made) is None or arrays:
            raise ValueError("its parts do not make one object")
    except Exception as error:
        # Whatever a false value led to, it is the file that is wrong.
        raise ValueError(
            f"{path} does not describe an estimator of quadfeat: {type(error).__name__}: {error}"
        ) from None
    return made


# --- objects as trees ---------------------------------------------------------------------------
class _Encoder:
    """Objects as what JSON can hold, and their arrays apart."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._seen: dict[int, int] = {}  # objects that may be shared, by identity

    def encode(self, value: Any, where: str) -> Any:
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, list | tuple):
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict) and all(isinstance(key, str) for key in value):
            return {"dict": {k: self.encode(item, f"{where}[{k!r}]") for k, item in value.items()}}
        return self._object(value, where)

    def _array(self, value: Array, where: str) -> Any:
        if value.dtype.hasobject:
            if not all(isinstance(item, str) for item in value.ravel()):
                raise TypeError(f"{where} holds Python objects, which a file cannot hold")
            return {"texts": self._array(value.astype(str), where)["array"]}
        name = str(len(self.arrays))
        self.arrays[name] = value
        return {"array": name}

    def _object(self, value: Any, where: str) -> Any:
        recipe = recipe_of(value)
        if recipe is None:
            raise TypeError(
                f"{where} is {value!r}, which cannot be stored: a file holds numbers, text and "
                f"quadfeat's own classes, and no code"
            )
        if recipe.shared and id(value) in self._seen:
            return {"same": self._seen[id(value)]}
        state = vars(value)
        known = {*recipe.names, *recipe.stored, *recipe.optional}
        for name in state.keys() - known - set(recipe.derived):
            raise TypeError(f"{where}.{name} is not an attribute that {recipe.kind.__name__} has")
        tree = {
            "class": recipe.kind.__name__,
            "state": {
                name: self.encode(item, f"{where}.{name}")
                for name, item in state.items()
                if name in known
            },
        }
        if recipe.shared:
            self._seen[id(value)] = len(self._seen)
        return tree


class _Decoder:
    """The inverse of `_Encoder`; each array is used once, so nothing grows beyond its file."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays
        self._shared: list[Any] = []

    def decode(self, tree: Any) -> Any:
        if isinstance(tree, list):
            return [self.decode(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        if "class" in tree:
            return self._object(str(tree["class"]), tree["state"])
        ((kind, content),) = tree.items()
        if kind == "array":
            return self._arrays.pop(content)
        if kind == "texts":
            return self._arrays.pop(content).astype(object)
        if kind == "tuple":
            return tuple(self.decode(item) for item in content)
        if kind == "dict":
            return {str(key): self.decode(item) for key, item in content.items()}
        if kind == "same":
            return self._shared[content]
        raise ValueError(f"there is no {kind!r} in this format")

    def _object(self, name: str, tree: dict[str, Any]) -> Any:
        if name not in RECIPES:
            raise ValueError(f"it names the class {name!r}, which this version does not know")
        recipe = RECIPES[name]
        state = {key: self.decode(item) for key, item in tree.items()}
        checks = {**recipe.stored, **recipe.optional, **recipe.parameters}
        for key, value in state.items():
            if key not in checks and key not in recipe.names:
                raise ValueError(f"{name} has no attribute {key!r}")
            if key in checks and not checks[key](value):
                raise ValueError(f"{key} of {name} is not of its type and shape")
        made = recipe.kind(**{key: state.pop(key) for key in recipe.names if key in state})
        if state:  # fitted: then all of it
            for key in recipe.stored:
                if key not in state:
                    raise ValueError(f"{key} of {name} is missing")
            vars(made).update(state)
        if state or not recipe.stored:
            recipe.finish(made)
        if recipe.shared:
            self._shared.append(made)
        return made


# --- the archive --------------------------------------------------------------------------------
def _write_archive(file: BinaryIO, manifest: dict[str, Any], arrays: dict[str, Array]) -> None:
    sums = {}
    with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
        for name, array in arrays.items():
            sums[name] = _write_array(archive, name, array)
        record = {
            "format": FORMAT,
            "library": f"quadfeat {version('quadfeat')}",
            "sha256": sums,
            "content": manifest,
        }
        with archive.open(zipfile.ZipInfo(_MANIFEST, _DATE), "w") as member:
            member.write(json.dumps(record).encode())


def _write_array(archive: zipfile.ZipFile, name: str, array: Array) -> str:
    header = io.BytesIO()
    array = array if array.flags.c_contiguous or array.flags.f_contiguous else array.copy()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(array))
    flat = (array if array.flags.c_contiguous else array.T).reshape(-1).view(np.uint8)
    digest = hashlib.sha256()
    with archive.open(zipfile.ZipInfo(f"{name}.npy", _DATE), "w", force_zip64=True) as member:
        for part in (header.getbuffer(), *_chunks(flat)):
            member.write(part)
            digest.update(part)
    return digest.hexdigest()


def _read_archive(archive: zipfile.ZipFile, path: Path) -> tuple[dict[str, Any], dict[str, Array]]:
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("two of its members have one name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members.values()):
        raise ValueError("a member is compressed")
    if sum(info.file_size for info in members.values()) > os.path.getsize(path):
        raise ValueError("its members claim to be longer than the file")
    if _MANIFEST not in members:
        raise ValueError("it has no manifest")
    if members[_MANIFEST].file_size > _LONGEST_MANIFEST:
        raise ValueError(f"its manifest is longer than {_LONGEST_MANIFEST:,} bytes")
    record = json.loads(archive.read(_MANIFEST))
    sums = _checked_record(record)
    if {f"{name}.npy" for name in sums} | {_MANIFEST} != set(members):
        raise ValueError("its members are not those that its manifest lists")
    arrays = {
        name: _read_array(archive, members[f"{name}.npy"], str(digest))
        for name, digest in sums.items()
    }
    return record["content"], arrays


def _checked_record(record: Any) -> dict[str, Any]:
    """The checksums in a manifest, after its format number has been looked at."""
    number = record.get("format") if isinstance(record, dict) else None
    if type(number) is not int or number < 1:
        raise ValueError("its manifest has no format number")
    if number > FORMAT:
        raise ValueError(
            f"it has format {number}, written by {record.get('library')!r}, and this version "
            f"reads up to {FORMAT}; upgrade quadfeat"
        )
    sums, content = record.get("sha256"), record.get("content")
    if not isinstance(sums, dict) or not isinstance(content, dict):
        raise ValueError("its manifest is incomplete")
    return sums


def _read_array(archive: zipfile.ZipFile, info: zipfile.ZipInfo, expected: str) -> Array:
    digest = hashlib.sha256()
    with archive.open(info) as opened:
        member: Any = opened
        head: Any = _Recorder(member)
        major, minor = np.lib.format.read_magic(head)
        if (major, minor) != (1, 0):
            raise ValueError(f"{info.filename} has NPY version {major}.{minor}")
        shape, fortran, dtype = np.lib.format.read_array_header_1_0(head)
        digest.update(head.seen)
        if dtype.kind not in "biufU" or not all(type(n) is int and n >= 0 for n in shape):
            raise ValueError(f"{info.filename} holds {dtype} of shape {shape}")
        size = math.prod(shape) * dtype.itemsize
        if size != info.file_size - len(head.seen):
            raise ValueError(f"the shape {shape} of {info.filename} does not fit its length")
        array = np.empty(shape, dtype=dtype, order="F" if fortran else "C")
        flat = (array.T if fortran else array).reshape(-1).view(np.uint8)
        for part in _chunks(flat):
            if member.readinto(part) != len(part):
                raise ValueError(f"{info.filename} is cut short")
            digest.update(part)
    if digest.hexdigest() != expected:
        raise ValueError(f"{info.filename} does not have its checksum")
    return array if dtype.isnative else array.astype(dtype.newbyteorder("="))


class _Recorder:
    """A stream that remembers what was read from it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.seen = b""

    def read(self, count: int) -> bytes:
        part: bytes = self._stream.read(count)
        self.seen += part
        return part


def _chunks(flat: Array) -> Iterator[memoryview]:
    """A flat array of bytes in pieces, so that nothing is copied whole."""
    for start in range(0, len(flat), _CHUNK):
        yield flat[start : start + _CHUNK].data


# --- the file -----------------------------------------------------------------------------------
@contextlib.contextmanager
def _sole_writer(temporary: Path) -> Iterator[BinaryIO]:
    """The temporary file, empty and locked; it is gone afterwards unless it was renamed.

    Its name is fixed, so that one left behind by a killed process is used again and never two.
    """
    while True:
        file = os.fdopen(os.open(temporary, os.O_RDWR | os.O_CREAT, 0o666), "r+b")
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX)
        try:
            if os.path.samestat(os.fstat(file.fileno()), os.stat(temporary)):
                break
        except FileNotFoundError:
            pass  # another writer had the lock, and has renamed the file since
        file.close()
    renamed = os.fstat(file.fileno())
    try:
        file.truncate(0)
        yield file
    finally:
        with contextlib.suppress(OSError):
            if os.path.samestat(renamed, os.stat(temporary)):
                os.unlink(temporary)
        with contextlib.suppress(OSError):
            file.close()


def _sync_folder(folder: Path) -> None:
    """Make a rename in a folder last through a loss of power, where the system can."""
    with contextlib.suppress(PermissionError):
        descriptor = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
