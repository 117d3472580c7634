"""Checksums of the blocks of a source, and digests of an estimator's parameters.

A fit reads its data several times, and a resumed fit reads them again in another process. Both need
the same rows every time, so every pass is compared with the first.
"""

from __future__ import annotations

import dis
import functools
import hashlib
import json
import re
import sys
import types
import zlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from scipy import sparse

_EXACT = 2**53  # integers up to here are exact in float64
_PACKAGES = {"numpy", "scipy", "sklearn", "quadfeat", "builtins", *sys.stdlib_module_names}
_AS_BEFORE = (
    "those of an earlier pass; data must not change during a fit, or before it is resumed: give a "
    "function that returns a new iterator over the same blocks each time, or a file that nobody "
    "writes to"
)


_ADDRESS = re.compile(r" at 0x[0-9a-f]+")
_WRAPPERS: dict[type, tuple[str, ...]] = {
    functools.partial: ("func", "args", "keywords"),
    types.MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget",),
    functools.cached_property: ("func",),
}


# Attributes of a class that describe where it was defined, or that its methods imply.
_UNSAID = (
    "__dict__",
    "__weakref__",
    "__doc__",
    "__module__",
    "__firstlineno__",
    "__dataclass_fields__",
    "__dataclass_params__",
)


class Ledger:
    """The checksum of every block that a pass has read, and the number of rows.

    The first pass that reads a block records its checksum; a later pass with another checksum is an
    error. CRC-32 runs at the speed of memory, and misses one accidental change in 2^32.
    """

    def __init__(self) -> None:
        self._sums: dict[int, int] = {}
        self._n_rows: int | None = None

    def enter(self, name: str, number: int, first: int, parts: Sequence[Any]) -> None:
        """Record a block, or compare it with the record of another pass.

        Parameters
        ----------
        name : str, of the source
        number : int, of the block
        first : int, its first row
        parts : X, y and weight
        """
        checksum = functools.reduce(_checksum, parts, 0)
        last = first + parts[0].shape[0] - 1
        if self._sums.setdefault(number, checksum) != checksum or (
            self._n_rows is not None and last >= self._n_rows
        ):
            raise ValueError(f"{name}: rows {first} to {last} are not {_AS_BEFORE}")

    def close(self, name: str, n_rows: int) -> None:
        """Record the number of rows at the end of a pass, or compare it."""
        if self._n_rows is None:
            self._n_rows = n_rows
        if self._n_rows != n_rows:
            raise ValueError(
                f"{name}: this pass ended after {n_rows} rows and another after {self._n_rows}, so "
                f"they are not {_AS_BEFORE}"
            )

    @property
    def complete(self) -> bool:
        """Whether a pass has read all rows."""
        return self._n_rows is not None

    def checksums(self, stop: int | None = None) -> Any:
        """Checksums of the first `stop` blocks, or of all, (blocks,)."""
        count = len(self._sums) if stop is None else stop
        return np.array([self._sums[i] for i in range(count)], dtype=np.int64)

    def expect(self, checksums: Any) -> None:
        """Take over the checksums of the first blocks from a pass in another process."""
        for number, checksum in enumerate(checksums.tolist()):
            self._sums.setdefault(number, checksum)

    def digest(self) -> bytes:
        """All checksums and the number of rows, after a complete pass."""
        return self.checksums().tobytes() + str(self._n_rows).encode()


def _checksum(before: int, part: Any) -> int:
    if part is None:
        return zlib.crc32(b"none", before)
    if sparse.issparse(part):
        # The dtype of indices depends on the size of the matrix that a block was cut from.
        arrays = [part.data, part.indices.astype(np.int64), part.indptr.astype(np.int64)]
        return functools.reduce(_checksum, arrays, before)
    if part.dtype.kind in "biu" and (not part.size or np.abs(part.astype(float)).max() <= _EXACT):
        part = part.astype(np.float64)  # whole numbers may be int in one batch and float in another
    if part.dtype.kind not in "biuf":
        # The dtype of text is as wide as the longest string of its batch.
        return zlib.crc32(repr(part.tolist()).encode(), before)
    return zlib.crc32(np.ascontiguousarray(part).data, before)


# --- parameters -----------------------------------------------------------------------------------
def parameters_fingerprint(parameters: dict[str, Any]) -> str:
    """A digest of an estimator's deep parameters that is the same in another process.

    Functions and classes outside known packages are described by their code and what it refers to.
    """
    described = [_Describer(name)(value) for name, value in sorted(parameters.items())]
    return hashlib.sha256(json.dumps([sorted(parameters), described]).encode()).hexdigest()


class _Describer:
    """Describes a parameter as JSON without memory addresses of this process."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._inside: list[int] = []  # ids of the objects that contain the current one
        self._code: list[Any] = []  # functions and classes described so far

    def __call__(self, value: Any) -> Any:
        if isinstance(value, np.random.RandomState | np.random.Generator):
            raise ValueError(
                f"{self._name} is a generator, with which no checkpoint can be resumed; give a "
                f"seed such as 0"
            )
        if id(value) in self._inside:
            return "itself"
        self._inside.append(id(value))
        description = self._described(value)
        self._inside.pop()
        return description

    def _described(self, value: Any) -> Any:
        if isinstance(value, list | tuple):
            return [self(each) for each in value]
        if isinstance(value, set | frozenset):
            return sorted(json.dumps(self(each)) for each in value)
        if isinstance(value, Mapping):
            return sorted(json.dumps([self(key), self(each)]) for key, each in value.items())
        if isinstance(value, np.ndarray):
            return [str(value.dtype), value.shape, self(value.ravel().tolist())]
        if isinstance(value, types.FunctionType | type) and not _is_packaged(value):
            for number, known in enumerate(self._code):
                if known is value:
                    return f"again {number}"
            self._code.append(value)
            parts = _class_parts(value) if isinstance(value, type) else _function_parts(value)
            return [self(each) for each in parts]
        if isinstance(value, types.CodeType):
            return [self(each) for each in (value.co_code.hex(), value.co_names, value.co_consts)]
        for kind, names in _WRAPPERS.items():
            if isinstance(value, kind):
                return [self(getattr(value, name)) for name in names]
        if isinstance(value, types.ModuleType):
            return value.__name__
        if callable(value) and hasattr(value, "__qualname__"):
            return f"{value.__module__}.{value.__qualname__}"
        if hasattr(value, "get_params"):
            return self(type(value))  # its parameters are among the deep ones
        if getattr(type(value), "__repr__", None) is object.__repr__:
            return [self(type(value)), self(getattr(value, "__dict__", {}))]
        if _ADDRESS.search(repr(value)):
            raise ValueError(
                f"{self._name} holds {value!r}, which another process cannot recognise, so no "
                f"checkpoint can be resumed with it; give its class a __repr__ that says what "
                f"it holds, or leave checkpoint=None"
            )
        return repr(value)


def _is_packaged(value: Any) -> bool:
    """Whether code belongs to a known package, so that its name identifies it."""
    return str(value.__module__).partition(".")[0] in _PACKAGES


def _function_parts(function: types.FunctionType) -> list[Any]:
    """Everything that affects the results of a function: code, defaults, closure, globals."""
    known = function.__globals__
    names = sorted(set(_global_names(function.__code__)) & known.keys())
    return [
        function.__code__,
        function.__defaults__,
        function.__kwdefaults__,
        [_content(cell) for cell in function.__closure__ or ()],
        [(name, known[name]) for name in names],
    ]


def _global_names(code: types.CodeType) -> Iterator[str]:
    yield from (step.argval for step in dis.get_instructions(code) if step.opname == "LOAD_GLOBAL")
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            yield from _global_names(constant)


def _content(cell: Any) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # a name that has no value yet
        return None


def _class_parts(kind: type) -> list[Any]:
    """All except attributes that affects the results of an object: methods of its classes."""
    users = [base for base in kind.__mro__ if not _is_packaged(base)]
    members = [
        (name, member)
        for base in users
        for name, member in sorted(vars(base).items())
        if name not in _UNSAID and not name.startswith("_abc_")
    ]
    return [[base.__qualname__ for base in kind.__mro__], members]
