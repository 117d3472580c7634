"""`IteratorSource`: an iterator of blocks, which can be read only once."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Literal

import numpy as np

from .base import Source
from .blocks import Block
from .sampling import sample_size
from .sources import kept, source
from .summary import Summary


@dataclass(frozen=True, eq=False)
class IteratorSource:
    """An iterator of blocks, read only once: its first rows are kept and summarised first.

    Parameters
    ----------
    head : Source, the first rows, in memory
    whole : Source, all rows, which can be read once
    """

    head: Source
    whole: Source

    on_workers: ClassVar[Literal[False]] = False
    first_index: ClassVar[None] = None

    @classmethod
    def of(cls, blocks: Iterator[Any]) -> IteratorSource | Source:
        """Read blocks until there are enough rows for a sample; a `Source` if that is all."""
        first: list[Any] = []
        rows = 0
        for block in blocks:
            first.append(kept(block))
            shape = np.shape(first[-1][0])
            if len(shape) != 2:
                raise ValueError(f"X of a block must be (rows, columns), got shape {shape}")
            rows += shape[0]
            if rows >= sample_size(shape[1]):
                break
        else:
            if not rows:
                raise ValueError(
                    "the iterator of blocks has no rows: it is empty, or has been read before; "
                    "give a list of blocks, or a function that returns a new iterator each time"
                )
            return source(first)
        return cls(source(first), source(itertools.chain(first, blocks)))

    def astype(self, dtype: Any) -> IteratorSource:
        """The same source for features of this dtype; None changes nothing."""
        return IteratorSource(self.head.astype(dtype), self.whole.astype(dtype))

    @property
    def fingerprint(self) -> str:
        """A digest of the head; a checkpoint compares the other rows when they are read again."""
        return self.head.fingerprint

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of X's columns, known after the head was read."""
        return self.head.columns

    def summary(self, *, labels: bool) -> Summary:
        """The summary of the head."""
        return replace(self.head.summary(labels=labels), of_all=False)

    # --- the only pass, as of a `Source` ----------------------------------------------------------
    @property
    def n_rows(self) -> None:
        """Unknown before the pass is over."""
        return None

    @property
    def rows(self) -> int:
        """Rows of every block but the last."""
        return self.whole.rows

    @property
    def dtype(self) -> Any:
        """The precision of the features, or None for that of X."""
        return self.whole.dtype

    def blocks(self, start: int = 0) -> Iterator[Block]:
        """The pass over all blocks, beginning at block number `start`; a second one is an error."""
        return self.whole.blocks(start)

    def checksums(self, stop: int) -> Any:
        """Checksums of the first `stop` blocks, for `expect` in another process."""
        return self.whole.checksums(stop)

    def expect(self, checksums: Any) -> None:
        """Raise an error if the first blocks of the iterator do not have these checksums."""
        self.whole.expect(checksums)
