"""Blocks of rows, and the form that all blocks of a source share: names, width, dtype."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_plain
from .._errors import NeedsEncoding
from .wanted import Batch, listed


@dataclass(frozen=True, eq=False)
class Block:
    """Checked rows of a source: X (n, d), float32 or float64, an array or CSR; y, weight or None.

    A `Batch` is what a reader returns, of any length and unchecked. All blocks of a source but the
    last have the same length.
    """

    X: Any
    y: Any = None
    weight: Any = None

    def __len__(self) -> int:
        return int(self.X.shape[0])

    def copied(self) -> Block:
        """A copy that shares no memory with this block."""
        y, weight = (None if v is None else v.copy() for v in (self.y, self.weight))
        return Block(self.X.copy(), y, weight)

    def _cut(self, start: int, stop: int) -> Block:
        y, weight = (None if v is None else v[start:stop] for v in (self.y, self.weight))
        return Block(self.X[start:stop], y, weight)


class Names:
    """The names of columns, used to put the columns of every DataFrame of a stream in order.

    Parameters
    ----------
    what : str, "column" or "target", for messages
    names : the names that every block must have, or None to take those of the first block
    """

    def __init__(self, what: str, names: Sequence[str] | None = None) -> None:
        self._what = what
        self.names = None if names is None else tuple(map(str, names))
        self._named: bool | None = None  # whether blocks are DataFrames

    def ordered(self, table: Any, row: int) -> Any:
        """A DataFrame with its columns in the order of the names; anything else unchanged."""
        named = is_frame(table)
        if self._named is None:
            self._named = named
        if named != self._named:
            with_names, without = (row, 0) if named else (0, row)
            raise ValueError(
                f"the block from row {with_names} on has names of {self._what}s and the block from "
                f"row {without} on has none; give all blocks as DataFrames, or all as arrays"
            )
        if not named:
            return table
        names = [str(name) for name in table.columns]
        if len(set(names)) < len(names):
            twice = next(name for name in names if names.count(name) > 1)
            raise ValueError(f"the block from row {row} on has two {self._what}s {twice!r}")
        if self.names is None:
            self.names = tuple(names)
        for name in self.names:
            if name not in names:
                raise ValueError(
                    f"the block from row {row} on has no {self._what} {name!r}; it has "
                    f"{listed(names)}"
                )
        for name in names:
            if name not in self.names:
                raise ValueError(
                    f"the block from row {row} on has a {self._what} {name!r} which is not among "
                    f"those expected; leave it out, or give it to every block"
                )
        if tuple(names) == self.names:
            return table
        order = [names.index(name) for name in self.names]
        return table.iloc[:, order] if hasattr(table, "iloc") else table[:, order]


@dataclass(eq=False)
class Form:
    """The form set by the first block: width, dtype, sparsity, targets and weights."""

    width: int | None = None
    dtype: Any = None
    is_sparse: bool | None = None
    parts: tuple[bool, bool] | None = None  # (has targets, has weights)
    text: bool | None = None  # whether targets are text; numbers joined to text would become text

    def take(self, block: Block, name: str, row: int) -> None:
        """Record the first block's form; raise a ValueError if a later block differs."""
        width, parts = block.X.shape[1], (block.y is not None, block.weight is not None)
        if self.width is not None and width != self.width:
            raise ValueError(f"{name}: {width} columns from row {row} on, expected {self.width}")
        if self.is_sparse not in (None, sparse.issparse(block.X)):
            raise ValueError(
                f"{name}: blocks are sparse before row {row} or from there on, but not both; give "
                f"all in one form"
            )
        for what, now, before in zip(
            ("targets", "weights"), parts, self.parts or parts, strict=True
        ):
            if now != before:
                here, there = ("", "no ") if now else ("no ", "")
                raise ValueError(
                    f"{name}: there are {here}{what} from row {row} on and {there}{what} before; "
                    f"give every block {what}, or none"
                )
        if block.y is not None and block.y.dtype.kind in "biufU":
            text = block.y.dtype.kind == "U"
            if self.text not in (None, text):
                raise ValueError(
                    f"{name}: targets are text before row {row} or from there on, and numbers "
                    f"elsewhere; give all in one form"
                )
            self.text = text
        self.width, self.parts, self.dtype = width, parts, block.X.dtype
        self.is_sparse = sparse.issparse(block.X)


def not_finite(vector: Any) -> Any:
    """Which entries are missing or not finite; None for dtypes that have no such values."""
    if vector.dtype.kind == "f":
        return ~np.isfinite(vector)
    if vector.dtype.kind in "mM":
        return np.isnat(vector)
    if vector.dtype.kind == "O":
        missing = [
            # The NA of pandas cannot be compared with anything.
            value is None or type(value).__name__ == "NAType" or bool(value != value)
            for value in vector.ravel()
        ]
        return np.array(missing, dtype=bool).reshape(vector.shape)
    return None


def is_frame(X: Any) -> bool:
    return hasattr(X, "columns") and hasattr(X, "dtypes") and hasattr(X, "shape")


def as_block(batch: Batch, dtype: Any, name: str, row: int) -> Block:
    """A batch as float32 or float64; `dtype` is that of earlier blocks, None for the first."""
    X = batch.X
    check_plain(f"X of {name} from row {row} on", X)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (rows, columns), got shape {X.shape}")
    if dtype is None:
        dtype = np.float32 if X.dtype in (np.float32, np.float16) else np.float64
    try:
        # Later blocks of wider floats are cast as well: the first block decided.
        with np.errstate(over="ignore"):  # becomes infinity, which is refused later
            X = X.tocsr().astype(dtype) if sparse.issparse(X) else np.asarray(X, dtype=dtype)
    except (TypeError, ValueError) as error:
        raise NeedsEncoding(f"{name}: a value from row {row} on is not a number: {error}") from None
    y = None if batch.y is None else np.asarray(batch.y)
    weight = None if batch.weight is None else np.asarray(batch.weight, dtype=np.float64)
    return Block(X, y, weight)


def reblocked(blocks: Iterator[Block], length: Callable[[], int]) -> Iterator[Block]:
    """The same rows in blocks of exactly `length()` rows; only the last may be shorter.

    `length` is called after the first block was read, since the width of that block decides it.
    """
    waiting: list[Block] = []
    held = 0
    for block in blocks:
        start, rows = 0, length()
        while start < len(block):
            stop = min(len(block), start + rows - held)
            waiting.append(block._cut(start, stop))
            held += stop - start
            start = stop
            if held == rows:
                yield _concatenated(waiting)
                waiting, held = [], 0
        if waiting:  # the caller may reuse the block's buffer
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
