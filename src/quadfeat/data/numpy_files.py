"""NPY and NPZ files as batches of rows, read without pickle."""

from __future__ import annotations

import tokenize
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from .wanted import CHUNK, Batch, BatchReader, Wanted, listed

# Errors of zipfile and NumPy on damaged NPY and NPZ files, or on other files of that name.
_UNPARSED = (OverflowError, SyntaxError, TypeError, tokenize.TokenError)  # damaged NPY headers
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError),
    *_UNPARSED,
)


# --- arrays of NumPy ----------------------------------------------------------------------------
def read_npy(path: Path, wanted: Wanted, rows: int) -> BatchReader:
    """One array (n, d), memory-mapped."""
    if wanted.targets() or wanted.weight is not None:
        raise ValueError(
            f"{path} holds one array and no names, so y={wanted.target!r} and "
            f"sample_weight={wanted.weight!r} cannot be found in it; give them as arrays, or "
            f"an NPZ file with arrays of these names beside X"
        )
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGED as error:
        raise ValueError(f"{path} cannot be read as an NPY file: {_said(error)}") from None
    if not np.ndim(whole):
        raise ValueError(f"{path} is a single number, not rows; give an array (rows, columns)")

    def read(first: int) -> Iterator[Batch]:
        for start in range(first, len(whole), rows):
            # Mapped again for every batch, so that no page of an earlier one stays in memory.
            yield Batch(np.array(np.load(path, mmap_mode="r")[start : start + rows]))

    return BatchReader(len(whole), None, read)


def read_npz(path: Path, wanted: Wanted, rows: int) -> BatchReader:
    """Arrays X and y, decompressed as they are read; arrays in Fortran order are read whole."""
    with _damage(f"{path}"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    keys = [name.removesuffix(".npy") for name in names if name.endswith(".npy")]
    targets = wanted.targets() or (["y"] if "y" in keys else [])
    if len(targets) > 1:
        raise ValueError(f"y={wanted.target!r}: the target in an NPZ file is one array, one key")
    weight = [] if wanted.weight is None else [wanted.weight]
    chosen = ["X", *targets, *weight]
    for key in chosen:
        if key not in keys:
            raise ValueError(f"{path} has no array {key!r}; its arrays are {listed(keys)}")
    lengths = [len(_Member(path, key)) for key in chosen]
    if len(set(lengths)) > 1:
        counts = ", ".join(f"{key} {n}" for key, n in zip(chosen, lengths, strict=True))
        raise ValueError(f"the arrays of {path} differ in rows: {counts}")

    def read(first: int) -> Iterator[Batch]:
        streams = [_Member(path, key).batches(first, rows) for key in chosen]
        for parts in zip(*streams, strict=True):
            X, *rest = parts
            y = rest.pop(0) if targets else None
            yield Batch(X, y, rest[0] if rest else None)

    return BatchReader(lengths[0], None, read)


@contextmanager
def _damage(what: str) -> Iterator[None]:
    """Errors of damaged files as one ValueError; missing or forbidden files keep their errors."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except DAMAGED as error:
        raise ValueError(f"{what} cannot be read: {_said(error)}; copy it again") from None


def _said(error: Exception) -> str:
    return "its header is damaged" if isinstance(error, _UNPARSED) else str(error)


class _Member:
    """One array of an NPZ file, read in order and never held as a whole."""

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key
        self._what = f"array {key!r} of {path}"
        with _damage(self._what), self._open() as stream:
            self._header(stream)
        if self.dtype.hasobject:
            raise ValueError(
                f"{self._what} holds Python objects, which could run code when they "
                f"are read; save it as numbers, or as text (dtype=str)"
            )
        if not self.shape:
            raise ValueError(f"{self._what} is a single number, not rows")

    def __len__(self) -> int:
        return int(self.shape[0])

    def _open(self) -> Any:
        # The member keeps the file open while it is read.
        with zipfile.ZipFile(self._path) as archive:
            return archive.open(f"{self._key}.npy")

    def _header(self, stream: Any) -> None:
        version = np.lib.format.read_magic(stream)
        parse = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        self.shape, self.fortran, self.dtype = parse(stream)
        if not all(0 <= n < 1 << 62 for n in self.shape):
            raise ValueError(f"no array has the shape {self.shape}")

    def batches(self, first: int, rows: int) -> Iterator[Any]:
        if self.fortran and len(self.shape) > 1:
            with _damage(self._what), np.load(self._path, allow_pickle=False) as arrays:
                whole = arrays[self._key]
            for start in range(first, len(self), rows):
                yield whole[start : start + rows]
            return
        width = int(np.prod(self.shape[1:])) * self.dtype.itemsize
        with _damage(self._what), self._open() as stream:
            self._header(stream)
            _skip(stream, first * width)
            for start in range(first, len(self), rows):
                count = min(rows, len(self) - start)
                data = stream.read(count * width)
                if len(data) < count * width:
                    raise ValueError(f"it ends in row {start + len(data) // width}")
                yield np.frombuffer(data, dtype=self.dtype).reshape(count, *self.shape[1:])


def _skip(stream: Any, count: int) -> None:
    while count > 0:
        read = len(stream.read(min(count, CHUNK)))
        if not read:
            return
        count -= read
