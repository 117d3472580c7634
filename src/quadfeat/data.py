"""Data in blocks of rows: arrays, files and streams behind one `Source`.

Every source is cut into blocks of exactly `rows` rows (the last may be shorter), whatever batches
its file has, so that a fit does not depend on how the data was written. X is float32 where every
column of it is float32 (or float16), else float64: integers, and one float64 column among float32
ones, make it float64. The first block of a stream decides for all: the precision, the columns and
their names, and whether there are targets and weights. Every later pass has the rows of the first,
or is refused.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ._blocks import Block as Block
from ._blocks import Form, Names, as_block, check_plain, is_frame, reblocked, strange
from ._checks import check_count
from ._identity import Ledger
from ._readers import Batch, Wanted, open_table

_VALUES = 2**25  # of a block when it is made dense, at most: 256 MB


@dataclass(frozen=True, eq=False)
class Source:
    """A stream of blocks that can be read again: every pass has the same partition.

    Parameters
    ----------
    name : str, for messages
    n_rows : int, or None where it is not known before reading
    dtype : the precision in which features will be made; None where the data decides
        Blocks of X have their own precision all the same, for they may be centred in between. But
        values that are too large are refused.
    first_index : what indices of an svmlight file count from, 0 or 1; None for all others
    """

    name: str
    n_rows: int | None
    _rows: int
    _names: Names
    _read: Callable[[int], Iterator[Batch]]  # batches of any size, from a row on
    _form: Form
    dtype: Any = None
    first_index: int | None = None
    _ledger: Ledger = field(default_factory=Ledger)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of X's columns, or None; those of a stream are known once it is read."""
        return self._names.names

    @property
    def rows(self) -> int:
        """Of every block but the last: as many as asked for, unless they are very wide."""
        width = self._form.width
        return self._rows if width is None else min(self._rows, max(1, _VALUES // max(width, 1)))

    def astype(self, dtype: Any) -> Source:
        """The same source for features in this precision; None changes nothing."""
        return self if dtype is None else replace(self, dtype=np.dtype(dtype))

    @property
    def fingerprint(self) -> str:
        """The identity of the content, from every row of it; reads them if nobody has."""
        if not self._ledger.complete:
            for _ in self.blocks():
                pass
        said = f"{self.rows} {self.columns} {self._form}".encode()
        return hashlib.sha256(said + self._ledger.digest()).hexdigest()

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """A pass over the blocks, from block number `start` on."""
        if start and self._form.dtype is None:
            # Nothing has been read, so what the first block decides is not known.
            yield from itertools.islice(self.blocks(), start, None)
            return
        row = start * self.rows
        checked = self._checked(self._read(row), row)
        for number, block in enumerate(reblocked(checked, lambda: self.rows), start):
            self._ledger.enter(self.name, number, row, (block.X, block.y, block.weight))
            row += len(block)
            yield block
        if row > start * self.rows or start == 0:
            self._ledger.close(self.name, row)

    def checksums(self, stop: int) -> Any:
        """Those of the first blocks, for `expect` in another process."""
        return self._ledger.checksums(stop)

    def expect(self, checksums: Any) -> None:
        """Refuse first blocks that are not those of these checksums."""
        self._ledger.expect(checksums)

    def _checked(self, batches: Iterator[Batch], row: int) -> Iterator[Block]:
        for batch in batches:
            block = as_block(batch, self._form.dtype, self.name, row)
            self._form.take(block, self.name, row)
            self._check_finite(block, row)
            row += len(block)
            yield block

    def _check_finite(self, block: Block, row: int) -> None:
        values = block.X.data if sparse.issparse(block.X) else block.X
        single = np.float32 in (self.dtype, block.X.dtype)
        limit = float(np.finfo(np.float32 if single else np.float64).max)
        if single and block.X.dtype != np.float32:
            limit /= 2  # so that rows are finite after they are moved
        if values.size and not (values.min() >= -limit and values.max() <= limit):
            where = sparse.coo_matrix(block.X) if sparse.issparse(block.X) else None
            if where is None:
                i, j = np.argwhere(~(np.abs(values) <= limit))[0]
            else:
                at = np.flatnonzero(~(np.abs(where.data) <= limit))[0]
                i, j = where.row[at], where.col[at]
            column = j if self.columns is None else repr(self.columns[j])
            wrong = ", not finite or too large for float32" if single else " or not finite"
            raise ValueError(
                f"{self.name}: the value in row {row + i}, column {column} is missing{wrong}; "
                f"impute it or leave the row out"
            )
        for what, vector in (("target", block.y), ("weight", block.weight)):
            odd = None if vector is None else strange(vector)
            if odd is not None and odd.any():
                i = np.argwhere(odd)[0][0]
                raise ValueError(
                    f"{self.name}: the {what} in row {row + i} is missing or not finite; leave "
                    f"the row out"
                )


def source(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    rows: int = 8192,
    columns: Sequence[str] | int | None = None,
    first_index: int | None = None,
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
    rows : int, of a block at most
    columns : names, or how many
        The columns of X. By default all but the target and the weight. DataFrames in a stream must
        have exactly these, in any order.
    first_index : 0 or 1, what indices of an svmlight file count from
        By default 0 if one of them is 0, else 1; where `columns` tells the width, it is an error
        if both are possible.

    Examples
    --------
    >>> stream = source(np.zeros((10, 3)), np.arange(10), rows=4)
    >>> [block.X.shape for block in stream.blocks()]
    [(4, 3), (4, 3), (2, 3)]
    """
    rows = check_count("rows", rows, example=8192)
    if isinstance(X, str | os.PathLike):
        return _file(Path(X), y, sample_weight, rows, Wanted(None, None, columns, first_index))
    if is_frame(X):
        return _frame(X, y, sample_weight, rows, columns)
    width = columns if columns is None or isinstance(columns, int) else len(columns)
    if callable(X) or _is_blocks(X):
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight of a stream belong into its blocks: (X, y, w)")
        return _stream(X, rows, None if isinstance(columns, int) else columns, width)
    return _array(X, y, sample_weight, rows, width)


# --- arrays -------------------------------------------------------------------------------------
def _array(X: Any, y: Any, weight: Any, rows: int, width: int | None, name: str = "X") -> Source:
    X = X.tocsr() if sparse.issparse(X) else (X if hasattr(X, "shape") else np.asarray(X))
    check_plain(name, X)
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

    return Source(
        name, n, rows, Names("column"), read, Form(X.shape[1] if width is None else width)
    )


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

    width = columns if isinstance(columns, int) else len(chosen)
    return Source("X", len(part), rows, Names("column", chosen), read, Form(width))


def _frame_dtype(frame: Any) -> Any:
    types = [str(kind).lower() for kind in frame.dtypes]
    narrow = all(kind in ("float32", "float16") for kind in types)
    return np.float32 if narrow and types else np.float64


def _numbers(frame: Any, names: Sequence[str], dtype: Any, row: int) -> Any:
    X = np.empty((len(frame), len(names)), dtype=dtype)
    for j, name in enumerate(names):
        column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame.to_series(j)
        check_plain(f"column {name!r}", column)
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
    check_plain(name, value, dates=True)
    if value.ndim == 0 or len(value) != n:
        raise ValueError(f"{name} has shape {value.shape} and X has {n} rows")
    return value


# --- files --------------------------------------------------------------------------------------
def _file(path: Path, y: Any, weight: Any, rows: int, wanted: Wanted) -> Source:
    target, y = _name_or_array(y)
    weight_name, weight = _name_or_array(weight)
    table = open_table(path, replace(wanted, target=target, weight=weight_name), rows)
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

    names, form = Names("column", table.names), Form(wanted.width())
    return Source(str(path), table.n_rows, rows, names, read, form, first_index=table.first_index)


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
def _stream(blocks: Any, rows: int, columns: Any, width: int | None) -> Source:
    once = _Once(blocks) if hasattr(blocks, "__next__") else None
    names, targets = Names("column", columns), Names("target")

    def fresh() -> Iterator[Any]:
        if once is not None:
            return once.take()
        return iter(blocks() if callable(blocks) else blocks)

    def read(first: int) -> Iterator[Batch]:
        row = 0
        for item in fresh():
            batch = _as_batch(item, names, targets, row)
            n = batch.X.shape[0]
            skip = max(first - row, 0)
            if skip < n:
                yield Batch(*(None if part is None else part[skip:] for part in batch))
            row += n

    return Source("the stream of blocks", None, rows, names, read, Form(width))


class _Once:
    """An iterator that says so when it is asked for a second pass."""

    def __init__(self, items: Iterator[Any]) -> None:
        self._items = items
        self._taken = False

    def take(self) -> Iterator[Any]:
        if self._taken:
            raise ValueError(
                "this iterator of blocks has been read, and another pass is needed; give a list "
                "of blocks, or a function that returns a new iterator each time"
            )
        self._taken = True
        return self._items


def kept(item: Any) -> tuple[Any, ...]:
    """What a stream yields, in memory of its own."""
    return tuple(_own(part) for part in _parts(item))


def _own(part: Any) -> Any:
    if part is None or hasattr(part, "clone"):  # nobody fills a table of polars again
        return part
    return part.copy() if hasattr(part, "shape") else np.array(part)


def _parts(item: Any) -> tuple[Any, ...]:
    parts = (item.X, item.y, item.weight) if isinstance(item, Block) else item
    if not isinstance(parts, tuple):
        parts = (parts,)
    if not 1 <= len(parts) <= 3:
        raise ValueError(f"a block is X, (X, y) or (X, y, weight), got a tuple of {len(parts)}")
    return parts


def _as_batch(item: Any, names: Names, targets: Names, row: int) -> Batch:
    """What a stream yields, with columns in the order of the names; its first row has a number."""
    X, y, weight = [*_parts(item), None, None][:3]
    X, y = names.ordered(X, row), targets.ordered(y, row)
    if is_frame(X):
        X = _numbers(X, names.names or (), _frame_dtype(X), row)
    X = X.tocsr() if sparse.issparse(X) else (X if hasattr(X, "shape") else np.asarray(X))
    return Batch(X, _vector("y", y, X.shape[0]), _vector("weight", weight, X.shape[0]))


def _is_blocks(X: Any) -> bool:
    """Whether X is an iterable of blocks, not rows: an array, or a list of lists of numbers."""
    if hasattr(X, "shape") or sparse.issparse(X):
        return False
    if isinstance(X, list | tuple):
        first: Any = X[0] if len(X) else None
        if isinstance(first, tuple):  # a block (X, y), or a row of numbers
            first = first[0] if first else None
        return isinstance(first, Block) or is_frame(first) or np.ndim(first) == 2
    return hasattr(X, "__iter__")
