"""`source`: arrays, files and streams of blocks as one `Source`.

Every source is cut into blocks of exactly `rows` rows (the last may be shorter), whatever batches
its file has, so that a fit does not depend on how the data was written. X is float32 if every
column of it is float32 (or float16), else float64: integers, and one float64 column among float32
ones, make it float64. The first block of a stream fixes the precision, the columns and their names,
and whether there are targets and weights. A later pass with other rows is refused.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_count
from .arrays import array_source, checked_vector, frame_dtype, frame_numbers, frame_source
from .base import Source
from .blocks import Block, Form, Names, is_frame
from .readers import open_reader
from .wanted import Batch, Wanted


def source(
    X: Any,
    y: Any = None,
    sample_weight: Any = None,
    *,
    rows: int = 8192,
    columns: Sequence[str] | int | None = None,
    first_index: int | None = None,
) -> Source:
    """Data as a stream of blocks, never held in memory as a whole.

    Parameters
    ----------
    X : array, memory map, sparse matrix or DataFrame; or a path; or blocks
        A path ends in .csv, .tsv, .parquet, .npy, .npz (arrays X and y) or .svmlight (also .svm,
        .libsvm). Blocks are an iterable, or a function that returns one, of (X, y) or
        (X, y, weight); an iterator can be read once only.
    y : array, or for a path the name of the target's column (or array, for .npz; several names
        make several targets)
        None reads no target, except for .npz with an array y, and for .svmlight, which always has
        labels.
    sample_weight : as y
    rows : int, maximum rows of a block
    columns : names, or how many
        The columns of X. By default all except the target and the weight. DataFrames in a stream
        must have exactly these, in any order.
    first_index : 0 or 1, the first index of an svmlight file
        By default 0 if some index is 0, else 1; an error if `columns` gives the width and both are
        possible.

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
        return frame_source(X, y, sample_weight, rows, columns)
    if not (columns is None or isinstance(columns, int | Sequence)):
        raise TypeError(f"columns must be a list of names, or how many, got {columns!r}")
    width = columns if columns is None or isinstance(columns, int) else len(columns)
    if callable(X) or is_blocks(X):
        if y is not None or sample_weight is not None:
            raise ValueError("y and sample_weight of a stream belong into its blocks: (X, y, w)")
        return _stream(X, rows, None if isinstance(columns, int) else columns, width)
    return array_source(X, y, sample_weight, rows, width)


# --- files --------------------------------------------------------------------------------------
def _file(path: Path, y: Any, weight: Any, rows: int, wanted: Wanted) -> Source:
    target, y = _name_or_array(y)
    weight_name, weight = _name_or_array(weight)
    table = open_reader(path, replace(wanted, target=target, weight=weight_name), rows)
    read = table.read
    if y is not None or weight is not None:
        if table.n_rows is None:
            raise ValueError(
                f"{path} does not store its number of rows, so y and sample_weight must be "
                f"columns of it; give their names"
            )
        y = checked_vector("y", y, table.n_rows)
        weight = checked_vector("sample_weight", weight, table.n_rows)
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
    """The batches of a file, with targets and weights given as arrays."""

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
    once = _SinglePass(blocks) if hasattr(blocks, "__next__") else None
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


class _SinglePass:
    """An iterator of blocks that raises a ValueError on a second pass."""

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
    """A copy of one item of a stream: the caller may reuse its buffers."""
    return tuple(_copied(part) for part in _parts(item))


def _copied(part: Any) -> Any:
    if part is None or hasattr(part, "clone"):  # polars frames are immutable
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
    """One item of a stream, with columns in the order of the names; `row` is its first row."""
    X, y, weight = [*_parts(item), None, None][:3]
    X, y = names.ordered(X, row), targets.ordered(y, row)
    if is_frame(X):
        X = frame_numbers(X, names.names or (), frame_dtype(X), row)
    X = X.tocsr() if sparse.issparse(X) else (X if hasattr(X, "shape") else np.asarray(X))
    return Batch(
        X, checked_vector("y", y, X.shape[0]), checked_vector("weight", weight, X.shape[0])
    )


def is_blocks(X: Any) -> bool:
    """Whether X is an iterable of blocks, rather than an array or a list of rows."""
    if hasattr(X, "shape") or sparse.issparse(X):
        return False
    if isinstance(X, list | tuple):
        first: Any = X[0] if len(X) else None
        if isinstance(first, tuple):  # a block (X, y), or a row of numbers
            first = first[0] if first else None
        return isinstance(first, Block) or is_frame(first) or np.ndim(first) == 2
    return hasattr(X, "__iter__")
