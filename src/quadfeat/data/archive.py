"""Archives of arrays with a JSON manifest, versions and checksums, written atomically.

A file is an uncompressed zip archive: `manifest.json`, and one NPY member per array. Reading takes
no more memory than the length of the file, and runs no code from it.
"""

from __future__ import annotations

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

from .._typing import Array
from .atomic import replacing

FORMAT = 1  # increased when older versions could not read a file correctly
_MANIFEST = "manifest.json"
_LONGEST_MANIFEST = 1 << 24
_CHUNK = 1 << 22
_DATE = (1980, 1, 1, 0, 0, 0)  # fixed, so that equal content gives equal bytes


def write(path: Any, manifest: dict[str, Any], arrays: dict[str, Array]) -> None:
    """Write a manifest and arrays into one file, atomically (see `atomic.replacing`).

    Parameters
    ----------
    path : path
    manifest : dict that JSON can hold
    arrays : dict of arrays of numbers or text
    """
    for name, array in arrays.items():
        if array.dtype.hasobject:
            raise TypeError(f"array {name!r} holds Python objects, which are never stored")
    with replacing(path) as file:
        _write_archive(file, manifest, arrays)


def read(path: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """The manifest and the arrays of a file written by `write`; a ValueError if it is damaged."""
    path = Path(path)
    try:
        # Opened only once: a writer may replace the file at any moment.
        with path.open("rb") as file, zipfile.ZipFile(file) as archive:
            return _read_archive(archive, os.fstat(file.fileno()).st_size)
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {path}") from None
    except PermissionError:
        raise
    except ValueError as error:
        raise ValueError(f"{path} is not a file of quadfeat that can be read: {error}") from None
    except Exception:
        # zipfile and NumPy raise a dozen types of errors on damaged headers.
        raise ValueError(
            f"{path} is not a file of quadfeat, or is damaged; give one written by quadfeat fit or "
            f"quadfeat.save"
        ) from None


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


def _read_archive(archive: zipfile.ZipFile, size: int) -> tuple[dict[str, Any], dict[str, Array]]:
    members = {info.filename: info for info in archive.infolist()}
    if len(members) != len(archive.infolist()):
        raise ValueError("two of its members have one name")
    if any(info.compress_type != zipfile.ZIP_STORED for info in members.values()):
        raise ValueError("a member is compressed")
    if sum(info.file_size for info in members.values()) > size:
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
    """The checksums in a manifest, after checking its format number."""
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
    """A stream that keeps a copy of what was read from it."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.seen = b""

    def read(self, count: int) -> bytes:
        part: bytes = self._stream.read(count)
        self.seen += part
        return part


def _chunks(flat: Array) -> Iterator[memoryview]:
    """A flat array of bytes in chunks of 4 MB, without copying."""
    for start in range(0, len(flat), _CHUNK):
        yield flat[start : start + _CHUNK].data
