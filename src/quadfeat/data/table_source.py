"""`TableBlocks`: tables with text, dates and gaps as blocks of numbers."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .arrays import checked_vector
from .base import Source
from .blocks import Form, Names
from .encoder import TableEncoder, warn_of_unseen
from .frame import Column, Frame, concatenated, frame, is_table
from .table_files import is_table_file, open_table
from .tables import arrow, target_values
from .wanted import Batch

_SAMPLE = 100_000  # rows to fit the encoder of a file on
_BLOCK = 8192  # rows of a block of numbers

TableBlock = tuple[Any, Any, Any]  # a table, targets, weights


@dataclass(frozen=True, eq=False)
class TableBlocks:
    """A table, a file, or a stream of tables, as blocks (table, y, weight).

    Parameters
    ----------
    name : str, for messages
    n_rows : int, or None if unknown
    blocks : function that returns an iterator of blocks, called for every pass
    """

    name: str
    n_rows: int | None
    blocks: Callable[[], Iterator[TableBlock]]

    @classmethod
    def of(
        cls, X: Any, y: Any = None, weight: Any = None, *, arrays: bool = False
    ) -> TableBlocks | None:
        """The blocks of X, or None if X is not a table, a table file or a stream of tables.

        With `arrays`, arrays of two dimensions are tables too.
        """
        if isinstance(X, TableBlocks):
            return X
        if isinstance(X, str | os.PathLike):
            return cls._of_file(Path(X), y, weight) if is_table_file(Path(X)) else None
        if is_table(X) or (arrays and np.ndim(X) == 2 and not sparse.issparse(X)):
            n = frame(X).n_rows
            y, weight = checked_vector("y", y, n), checked_vector("sample_weight", weight, n)
            return cls("X", n, lambda: iter([(X, y, weight)]))
        if y is None and weight is None and (callable(X) or isinstance(X, list | tuple)):
            return cls._of_stream(X)
        return None

    @classmethod
    def _of_file(cls, path: Path, y: Any, weight: Any) -> TableBlocks:
        file = open_table(path)
        named = [name for name in (y, weight) if name is not None]
        for name in named:
            if not isinstance(name, str):
                raise ValueError(f"y and sample_weight of {path} must be columns of it; name them")
            file.require(name)
        columns = [name for name in file.columns if name not in named]

        def blocks() -> Iterator[TableBlock]:
            for table in file.tables():
                targets, weights = (
                    None if name is None else column_values(table, name) for name in (y, weight)
                )
                yield table.select(columns), targets, weights

        return cls(str(path), file.n_rows, blocks)

    @classmethod
    def _of_stream(cls, X: Any) -> TableBlocks | None:
        def blocks() -> Iterator[TableBlock]:
            for item in X() if callable(X) else X:
                parts = item if isinstance(item, tuple) else (item,)
                yield (*parts, None, None)[:3]

        first = next(blocks(), None)
        if first is None or not is_table(first[0]):
            return None
        return cls("the stream of blocks", None, blocks)

    def chosen(self, names: Any) -> TableBlocks:
        """The same rows with these columns in this order; None for all."""
        if names is None:
            return self

        def blocks() -> Iterator[TableBlock]:
            for table, y, weight in self.blocks():
                yield frame(table).select(list(names)), y, weight

        return TableBlocks(self.name, self.n_rows, blocks)

    def is_numeric(self) -> bool:
        """Whether every column of every block is numbers without gaps."""
        return all(frame(table).is_numeric() for table, _, _ in self.blocks())

    def fitted(self, encoder: TableEncoder) -> TableEncoder:
        """Fit the encoder on these rows, or on a random sample of 100,000 of them."""
        rng = np.random.default_rng(0)
        kept: list[tuple[Any, dict[str, Column], Any, Any]] = []
        names: tuple[str, ...] | None = None
        count = held = 0
        named, cut = True, np.inf  # rows with larger keys are not in the sample
        for table, y, weight in self.blocks():
            read, named = frame(table), is_table(table)
            names = read.names if names is None else names
            if set(read.names) != set(names):
                raise ValueError(
                    f"{self.name}: the block from row {count} on has other columns than the first"
                )
            count += read.n_rows
            key = rng.random(read.n_rows)
            if cut < np.inf:
                rows = np.flatnonzero(key < cut)
                key, read = key[rows], read.at(rows)
                y, weight = (None if part is None else part[rows] for part in (y, weight))
            columns = {name: read.column(name) for name in names}
            kept.append((key, columns, y, weight))
            held += read.n_rows
            if held > 2 * _SAMPLE:
                kept, held = [_thinned(kept)], _SAMPLE
                cut = float(kept[0][0].max())
        if not kept or names is None or count == 0:
            raise ValueError(f"{self.name} has no rows; give a table with rows under its header")
        _, columns, y, weight = _thinned(kept)
        return encoder.fit_sample(Frame.of(columns), y, weight, count, named=named)

    def numbers(self, encoder: TableEncoder | None, *, training: bool) -> Source:
        """The blocks as numbers: encoded, or unchanged if `encoder` is None.

        `training` rows get target means of other folds. Otherwise a pass ends with a warning that
        counts unseen values.
        """

        def encoded(table: Any, unseen: Counter[str]) -> Any:
            if encoder is None:
                return frame(table).numbers()
            if training:
                return encoder.encode_training(table)
            X, found = encoder.encode(table)
            unseen.update(found)
            return X

        def read(first: int) -> Iterator[Batch]:
            row, unseen = 0, Counter[str]()
            for table, y, weight in self.blocks():
                n = frame(table).n_rows
                skip = max(first - row, 0)
                row += n
                if skip >= n > 0:
                    continue
                X = encoded(table, unseen)
                yield Batch(*(None if part is None else part[skip:] for part in (X, y, weight)))
            warn_of_unseen(unseen, row - first)

        names = None
        if encoder is None:
            first = next(self.blocks(), None)
            names = None if first is None else frame(first[0]).names
        width = None if encoder is None else len(encoder.inverse_)
        return Source(self.name, self.n_rows, _BLOCK, Names("column", names), read, Form(width))


def are_arrow_blocks(X: Any) -> bool:
    """Whether X is `TableBlocks`, or a list of blocks whose first has an Arrow table, which has no
    NumPy values.
    """
    if isinstance(X, TableBlocks):
        return True
    if not (isinstance(X, list | tuple) and len(X)):
        return False
    first = X[0][0] if isinstance(X[0], tuple) and X[0] else X[0]
    return is_table(first) and not hasattr(first, "dtypes")


def column_values(table: Any, name: str) -> Any:
    """A column of an Arrow table as targets or weights."""
    pa, _ = arrow("compute")
    column = table.column(name)
    return target_values(column.combine_chunks() if column.num_chunks != 1 else column.chunk(0), pa)


def _thinned(parts: list[Any]) -> tuple[Any, dict[str, Column], Any, Any]:
    """The rows with the smallest keys, at most 100,000, in their order."""
    keys = np.concatenate([part[0] for part in parts])
    rows = np.sort(np.argsort(keys, kind="stable")[:_SAMPLE])
    columns = {
        name: concatenated([part[1][name] for part in parts]).at(rows).compact()
        for name in parts[0][1]
    }
    y, weight = (
        None if parts[0][i] is None else np.concatenate([part[i] for part in parts])[rows]
        for i in (2, 3)
    )
    return keys[rows], columns, y, weight
