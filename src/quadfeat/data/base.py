"""A source: rows in blocks, that can be read once or again."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import sparse

from .blocks import Block, Form, Names, as_block, reblocked, strange
from .identity import Ledger
from .wanted import Batch

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
