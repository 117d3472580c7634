"""`Source`, rows in blocks that every pass reads again."""

from __future__ import annotations

import hashlib
import itertools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Literal

import numpy as np
from scipy import sparse

from .._errors import NeedsEncoding
from .blocks import Block, Form, Names, as_block, not_finite, reblocked
from .identity import Ledger
from .summary import Summary, summarise
from .wanted import Batch

_VALUES = 2**25  # most values of a dense block: 256 MB


@dataclass(frozen=True, eq=False)
class Source:
    """Rows in equal blocks, which every pass reads again with the same partition.

    Parameters
    ----------
    name : str, for messages
    n_rows : int, or None if unknown before reading
    dtype : the precision of the features, or None for that of X
        Blocks of X keep their own precision, since they may be centred before they are rounded.
        Values too large for this dtype are refused.
    first_index : first index of an svmlight file, 0 or 1; None for other sources
    """

    on_workers: ClassVar[Literal[False]] = False
    name: str
    n_rows: int | None
    _rows: int
    _names: Names
    _read: Callable[[int], Iterator[Batch]]  # batches of any size, from the given row on
    _form: Form
    dtype: Any = None
    first_index: int | None = None
    _ledger: Ledger = field(default_factory=Ledger)

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of X's columns, or None; of a stream, known after the first block was read."""
        return self._names.names

    @property
    def rows(self) -> int:
        """Rows of every block but the last: the requested number, fewer if they are very wide."""
        width = self._form.width
        return self._rows if width is None else min(self._rows, max(1, _VALUES // max(width, 1)))

    def astype(self, dtype: Any) -> Source:
        """The same source for features of this dtype; None changes nothing."""
        return self if dtype is None else replace(self, dtype=np.dtype(dtype))

    @property
    def fingerprint(self) -> str:
        """A digest of every row; reads the source if no pass has been completed yet."""
        if not self._ledger.complete:
            for _ in self.blocks():
                pass
        layout = f"{self.rows} {self.columns} {self._form}".encode()
        return hashlib.sha256(layout + self._ledger.digest()).hexdigest()

    def summary(self, *, labels: bool) -> Summary:
        """Read all rows once; `labels` asks for the classes."""
        return summarise(self.blocks(), self.name, self.n_rows, labels=labels)

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """One pass over the blocks, beginning at block number `start`."""
        if start and self._form.dtype is None:
            # Nothing has been read yet, so the form of the first block is still unknown.
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
        """Checksums of the first `stop` blocks, for `expect` in another process."""
        return self._ledger.checksums(stop)

    def expect(self, checksums: Any) -> None:
        """Raise an error if the first blocks of the source do not have these checksums."""
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
            limit /= 2  # so that rows are finite after centring
        if values.size and not (values.min() >= -limit and values.max() <= limit):
            where = sparse.coo_matrix(block.X) if sparse.issparse(block.X) else None
            if where is None:
                i, j = np.argwhere(~(np.abs(values) <= limit))[0]
            else:
                at = np.flatnonzero(~(np.abs(where.data) <= limit))[0]
                i, j = where.row[at], where.col[at]
            column = j if self.columns is None else repr(self.columns[j])
            wrong = ", not finite or too large for float32" if single else " or not finite"
            gap = bool(np.isnan(block.X[i, j]))
            kind_of_error = NeedsEncoding if gap else ValueError
            raise kind_of_error(
                f"{self.name}: the value in row {row + i}, column {column} is missing{wrong}; "
                f"impute it or leave the row out"
            )
        for what, vector in (("target", block.y), ("weight", block.weight)):
            missing = None if vector is None else not_finite(vector)
            if missing is not None and missing.any():
                i = np.argwhere(missing)[0][0]
                raise ValueError(
                    f"{self.name}: the {what} in row {row + i} is missing or not finite; leave "
                    f"the row out"
                )
