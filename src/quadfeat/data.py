"""Data in blocks of rows: arrays, files and streams behind one `Source`.

Every source is cut into blocks of exactly `rows` rows (the last may be shorter), whatever batches
its file has, so that a fit does not depend on how the data was written. X is float32 where every
column of it is float32 (or float16), else float64: integers, and one float64 column among float32
ones, make it float64. The first block of a stream decides for all.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._checks import check_count, check_unmasked
from ._readers import Batch, Wanted, file_identity, open_table

_LARGEST_WEIGHT = 1e100  # sums of larger ones, times squares of targets, overflow


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows: X (n, d), float32 or float64, an array or CSR; y and weight (n, ...) or None."""

    X: Any
    y: Any = None
    weight: Any = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def copied(self) -> Block:
        """The same rows in memory of their own."""
        y, weight = (None if v is None else v.copy() for v in (self.y, self.weight))
        return Block(self.X.copy(), y, weight)

    def _cut(self, start: int, stop: int) -> Block:
        y, weight = (None if v is None else v[start:stop] for v in (self.y, self.weight))
        return Block(self.X[start:stop], y, weight)


@dataclass(frozen=True, eq=False)
class Source:
    """A stream of blocks that can be read again: every pass has the same partition.

    Parameters
    ----------
    name : str, for messages
    rows : int, of every block but the last
    n_rows : int, or None where it is not known before reading
    columns : the names of X's columns, or None where they have none
    dtype : of the blocks of X; None where the data decides
    """

    name: str
    rows: int
    n_rows: int | None
    columns: tuple[str, ...] | None
    _read: Callable[[int], Iterator[Batch]]  # batches of any size, from a row on
    _identity: Callable[[], bytes]
    _width: int | None = None  # columns that X must have
    dtype: Any = None

    def astype(self, dtype: Any) -> Source:
        """The same source with blocks of X in this precision; None changes nothing."""
        return self if dtype is None else replace(self, dtype=np.dtype(dtype))

    @cached_property
    def fingerprint(self) -> str:
        """A cheap identity of the content: other data has another one, but for tiny edits."""
        digest = hashlib.sha256(f"{self.rows} {self.n_rows} {self.columns} ".encode())
        digest.update(self._identity())
        return digest.hexdigest()

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """A fresh pass over the blocks, from block number `start` on."""
        first = start * self.rows
        checked = self._checked(self._read(first), first)
        yield from _reblocked(checked, self.rows)

    def _checked(self, batches: Iterator[Batch], row: int) -> Iterator[Block]:
        dtype, width = self.dtype, self._width
        for batch in batches:
            block = _block(batch, dtype, self.name, row)
            dtype = block.X.dtype
            width = block.X.shape[1] if width is None else width
            if block.X.shape[1] != width:
                raise ValueError(
                    f"{self.name}: {block.X.shape[1]} columns from row {row} on, expected {width}"
                )
            self._check_finite(block, row)
            row += len(block)
            yield block

    def _check_finite(self, block: Block, row: int) -> None:
        values = block.X.data if sparse.issparse(block.X) else block.X
        if not np.isfinite(values).all():
            where = sparse.coo_matrix(block.X) if sparse.issparse(block.X) else None
            if where is None:
                i, j = np.argwhere(~np.isfinite(values))[0]
            else:
                at = np.flatnonzero(~np.isfinite(where.data))[0]
                i, j = where.row[at], where.col[at]
            column = j if self.columns is None else repr(self.columns[j])
            single = block.X.dtype == np.float32
            wrong = ", not finite or too large for float32" if single else " or not finite"
            raise ValueError(
                f"{self.name}: the value in row {row + i}, column {column} is missing{wrong}; "
                f"impute it or leave the row out"
            )
        for what, vector in (("target", block.y), ("weight", block.weight)):
            strange = None if vector is None else _strange(vector)
            if strange is not None and strange.any():
                i = np.argwhere(strange)[0][0]
                raise ValueError(
                    f"{self.name}: the {what} in row {row + i} is missing or not finite; leave "
                    f"the row out"
                )
        largest = 0.0 if block.weight is None else float(block.weight.max(initial=0.0))
        if largest > _LARGEST_WEIGHT:
            raise ValueError(
                f"{self.name}: sample_weight has values up to {largest:g}, whose sums overflow; "
                f"divide all by their mean"
            )


def _strange(vector: Any) -> Any:
    """Which entries are missing or not finite; None for a kind of array that has no such."""
    if vector.dtype.kind == "f":
        return ~np.isfinite(vector)
    if vector.dtype.kind == "O":
        missing = [
            # The NA of pandas cannot be compared with anything.
            each is None or type(each).__name__ == "NAType" or bool(each != each)
            for each in vector.ravel()
        ]
        return np.array(missing, dtype=bool).reshape(vector.shape)
    return None


def source(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    rows: int = 8192,
    columns: Sequence[str] | int | None = None,
) -> Source:
    """Data as a stream of blocks that is never held as a whole.

    Parameters
    ----------
    X : array, memory map, sparse matrix or DataFrame; or a path; or blocks
        A path ends in .csv, .tsv, .parquet, .npy, .npz (arrays X and y) or .svmlight (also .svm,
        .libsvm). Blocks are an iterable, or a function that returns one, of (X, y) or
        (X, y, weight); an iterator can be read once only.
    y : array, or for a path the name of the target's column (or array, for .npz; several names
        make several targets)
        None reads no target, but for .npz with an array y and for .svmlight, where labels always
        are.
    sample_weight : as y
    rows : int, of a block
    columns : names, or how many
        The columns of X. By default all but the target and the weight.

    Examples
    --------
    >>> stream = source(np.zeros((10, 3)), np.arange(10), rows=4)
    >>> [block.X.shape for block in stream.blocks()]
    [(4, 3), (4, 3), (2, 3)]
    """
    rows = check_count("rows", rows, example=8192)
    if isinstance(X, str | os.PathLike):
        return _file(Path(X), y, sample_weight, rows, columns)
    if _is_frame(X):
        return _frame(X, y, sample_weight, rows, columns)
    width = columns if columns is None or isinstance(columns, int) else len(columns)
    if callable(X) or _is_blocks(X):
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight of a stream belong into its blocks: (X, y, w)")
        return _stream(X, rows, width)
    return _array(X, y, sample_weight, rows, width)


# --- arrays -------------------------------------------------------------------------------------
def _array(X: Any, y: Any, weight: Any, rows: int, width: int | None, name: str = "X") -> Source:
    X = X.tocsr() if sparse.issparse(X) else (X if hasattr(X, "shape") else np.asarray(X))
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (rows, columns), got shape {X.shape}")
    n = X.shape[0]
    y, weight = _vector("y", y, n), _vector("sample_weight", weight, n)

    def read(first: int) -> Iterator[Batch]:
        for start in range(first, n, rows):
            some = slice(start, start + rows)
            yield Batch(
                X[some], None if y is None else y[some], None if weight is None else weight[some]
            )

    def identity() -> bytes:
        return array_identity(X) + array_identity(y) + array_identity(weight)

    return Source(name, rows, n, None, read, identity, width)


def _frame(X: Any, y: Any, weight: Any, rows: int, columns: Any) -> Source:
    """A DataFrame of pandas or polars, converted a block at a time."""
    names = [str(name) for name in X.columns]
    chosen = Wanted(columns=columns).choose(Path("X"), names)
    part = X if chosen == names else X[chosen]
    dtype = _frame_dtype(part)
    y, weight = _vector("y", y, len(X)), _vector("sample_weight", weight, len(X))

    def rows_of(start: int, stop: int) -> Any:
        some = part.iloc[start:stop] if hasattr(part, "iloc") else part[start:stop]
        return _numbers(some, chosen, dtype, start)

    def read(first: int) -> Iterator[Batch]:
        for start in range(first, len(part), rows):
            stop = start + rows
            yield Batch(
                rows_of(start, stop),
                None if y is None else y[start:stop],
                None if weight is None else weight[start:stop],
            )

    def identity() -> bytes:
        step = max(1, len(part) // 16)
        sample = [array_identity(rows_of(i, i + 16)) for i in range(0, len(part), step)]
        return b"".join([*sample, array_identity(y), array_identity(weight)])

    width = columns if isinstance(columns, int) else None
    return Source("X", rows, len(part), tuple(chosen), read, identity, width)


def _frame_dtype(frame: Any) -> Any:
    types = [str(kind).lower() for kind in frame.dtypes]
    narrow = all(kind in ("float32", "float16") for kind in types)
    return np.float32 if narrow and types else np.float64


def _numbers(frame: Any, names: Sequence[str], dtype: Any, row: int) -> Any:
    X = np.empty((len(frame), len(names)), dtype=dtype)
    for j, name in enumerate(names):
        column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame.to_series(j)
        try:
            X[:, j] = np.asarray(column, dtype=dtype)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"column {name!r} has a value that is not a number in rows {row} to "
                f"{row + len(frame)}: {error}"
            ) from None
    return X


def _vector(name: str, value: Any, n: int) -> Any:
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(f"{name}={value!r} names a column, which only a file has; give an array")
    value = value if isinstance(value, np.ndarray) else np.asarray(value)
    if value.ndim == 0 or len(value) != n:
        raise ValueError(f"{name} has shape {value.shape} and X has {n} rows")
    return value


def array_identity(values: Any) -> bytes:
    """Shape, dtype and about a thousand rows."""
    if values is None:
        return b"none"
    step = max(1, values.shape[0] // 1000)
    some = values[::step]
    parts = [some.data, some.indices, some.indptr] if sparse.issparse(some) else [some]
    digest = hashlib.sha256(f"{values.shape} {values.dtype}".encode())
    for part in parts:
        flat = np.ascontiguousarray(part)
        digest.update(repr(flat.tolist()).encode() if flat.dtype.hasobject else flat.tobytes())
    return digest.digest()


# --- files --------------------------------------------------------------------------------------
def _file(path: Path, y: Any, weight: Any, rows: int, columns: Any) -> Source:
    target, y = _name_or_array(y)
    weight_name, weight = _name_or_array(weight)
    wanted = Wanted(target, weight_name, columns)
    table = open_table(path, wanted, rows)
    read = table.read
    if y is not None or weight is not None:
        if table.n_rows is None:
            raise ValueError(
                f"{path} does not tell its number of rows, so y and sample_weight must be columns "
                f"of it; give their names"
            )
        y = _vector("y", y, table.n_rows)
        weight = _vector("sample_weight", weight, table.n_rows)
        read = _joined(table.read, y, weight)

    def identity() -> bytes:
        asked = repr(wanted).encode()
        return file_identity(path) + asked + array_identity(y) + array_identity(weight)

    width = columns if columns is None or isinstance(columns, int) else len(columns)
    return Source(str(path), rows, table.n_rows, table.names, read, identity, width)


def _name_or_array(value: Any) -> tuple[Any, Any]:
    """A name (or a list of names) and no array, or an array and no name."""
    named = isinstance(value, str) or (
        isinstance(value, list | tuple) and all(isinstance(each, str) for each in value)
    )
    return (value, None) if named else (None, value)


def _joined(
    read: Callable[[int], Iterator[Batch]], y: Any, weight: Any
) -> Callable[[int], Iterator[Batch]]:
    """The batches of a file, with arrays that have a row for each of its rows."""

    def joined(first: int) -> Iterator[Batch]:
        for batch in read(first):
            some = slice(first, first + batch.X.shape[0])
            first = some.stop
            yield Batch(
                batch.X,
                batch.y if y is None else y[some],
                batch.weight if weight is None else weight[some],
            )

    return joined


# --- streams ------------------------------------------------------------------------------------
def _stream(blocks: Any, rows: int, width: int | None) -> Source:
    once = _Once(blocks) if hasattr(blocks, "__next__") else None

    def fresh() -> Iterator[Any]:
        if once is not None:
            return once.take()
        return iter(blocks() if callable(blocks) else blocks)

    def read(first: int) -> Iterator[Batch]:
        for item in fresh():
            batch = _as_batch(item)
            n = batch.X.shape[0]
            if first < n:
                yield batch if first <= 0 else Batch(*(_from(part, first) for part in batch))
            first -= n

    def identity() -> bytes:
        item = once.first if once is not None else next(fresh(), None)
        if item is None:
            return b"empty"
        return b"".join(array_identity(part) for part in _as_batch(item))

    return Source("the stream of blocks", rows, None, None, read, identity, width)


class _Once:
    """An iterator that says so when it is asked for a second pass; its first item can be seen."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._taken = False

    @cached_property
    def first(self) -> Any:
        return next(self._items, None)

    def take(self) -> Iterator[Any]:
        if self._taken:
            raise ValueError(
                "this iterator of blocks has been read, and another pass is needed; give a list "
                "of blocks, or a function that returns a new iterator each time"
            )
        self._taken = True
        return itertools.chain([] if self.first is None else [self.first], self._items)


def as_block(item: Any) -> Block:
    """What a stream yields, in memory of its own."""
    return Block(*_as_batch(item)).copied()


def _as_batch(item: Any) -> Batch:
    parts = (item.X, item.y, item.weight) if isinstance(item, Block) else item
    if not isinstance(parts, tuple):
        parts = (parts,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"a block is X, (X, y) or (X, y, weight), got a tuple of {len(parts)}")
    X, *rest = parts
    if _is_frame(X):
        X = _numbers(X, [str(name) for name in X.columns], _frame_dtype(X), 0)
    X = X if hasattr(X, "shape") else np.asarray(X)
    y, weight = [*rest, None, None][:2]
    return Batch(X, _vector("y", y, X.shape[0]), _vector("weight", weight, X.shape[0]))


def _from(part: Any, first: int) -> Any:
    return None if part is None else part[first:]


# --- blocks -------------------------------------------------------------------------------------
def _block(batch: Batch, dtype: Any, name: str, row: int) -> Block:
    """A batch as float32 or float64; `dtype` is that of the blocks before, None for the first."""
    X = batch.X
    check_unmasked(X=X, y=batch.y, weight=batch.weight)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (rows, columns), got shape {X.shape}")
    if dtype is None:
        dtype = np.float32 if X.dtype in (np.float32, np.float16) else np.float64
    try:
        # Casts wider floats of later blocks as well: the first block decided.
        with np.errstate(over="ignore"):  # to infinity, which is refused
            X = X.tocsr().astype(dtype) if sparse.issparse(X) else np.asarray(X, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{name}: a value from row {row} on is not a number: {error}") from None
    y = None if batch.y is None else np.asarray(batch.y)
    weight = None if batch.weight is None else np.asarray(batch.weight, dtype=np.float64)
    return Block(X, y, weight)


def _reblocked(blocks: Iterator[Block], rows: int) -> Iterator[Block]:
    """The same rows in blocks of exactly `rows`; only the last may be shorter."""
    waiting: list[Block] = []
    held = 0
    for block in blocks:
        start = 0
        while start < len(block):
            stop = min(len(block), start + rows - held)
            waiting.append(block._cut(start, stop))
            held += stop - start
            start = stop
            if held == rows:
                yield _concatenated(waiting)
                waiting, held = [], 0
        if waiting:  # for rows of a buffer that may be filled again
            waiting[-1] = waiting[-1].copied()
    if held:
        yield _concatenated(waiting)


def _concatenated(parts: list[Block]) -> Block:
    if len(parts) == 1:
        return parts[0]
    stack = sparse.vstack if sparse.issparse(parts[0].X) else np.concatenate
    X: Any = stack([part.X for part in parts])
    y, weight = (
        None if values[0] is None else np.concatenate(values)
        for values in ([part.y for part in parts], [part.weight for part in parts])
    )
    return Block(X.tocsr() if sparse.issparse(X) else X, y, weight)


def _is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def _is_blocks(X: Any) -> bool:
    """Whether X is an iterable of blocks, not rows: an array, or a list of lists of numbers."""
    if hasattr(X, "shape") or sparse.issparse(X):
        return False
    if isinstance(X, list | tuple):
        first: Any = X[0] if len(X) else None
        if isinstance(first, tuple):  # a block (X, y), or a row of numbers
            first = first[0] if first else None
        return isinstance(first, Block) or _is_frame(first) or np.ndim(first) == 2
    return hasattr(X, "__iter__")
