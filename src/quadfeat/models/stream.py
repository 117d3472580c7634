"""Rows to features to sums, one block at a time, with checkpoints that resume to the same bits."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np

from .._display.progress import progress
from .._engine import empty
from .._typing import Floats, Matrix
from ..data.base import Source
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.iterators import IteratorSource

_BUFFER = 2**28  # bytes of features at a time: long products, but small compared with the sums
LONGEST = 8192  # rows of a product; longer ones are no faster
_KEPT = 2**30  # bytes of features that are cached for further passes
LABELS = {  # by stage
    "sums": "reading the rows",
    "toeplitz": "reading the rows",
    "descent": "minimising the loss",
    "iterative": "solving for the coefficients",
}
Encode = Callable[[Block], tuple[Any, Any]]
Arrays = Callable[[], dict[str, Any]]


class RowMap(Protocol):
    """Writes features of rows: a `FeatureMap`, or a `Lattice`, which also has `rows_at_once`."""

    @property
    def n_columns_(self) -> int: ...

    def write(self, X: Any, out: Matrix) -> None: ...


class Sums(Protocol):
    """Sums over rows of features: `NormalSums`, `LossSums`."""

    def add(self, Z: Matrix, y: Any, weight: Any) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def blank(self) -> Callable[[], Any]: ...

    def merge(self, other: Any) -> None: ...


class Stream(Protocol):
    """Rows of features that can be added to sums, in any number of passes."""

    def fold(
        self,
        sums: Sums,
        checkpoint: Checkpoint,
        stage: str,
        *,
        start: int = 0,
        beside: Arrays = dict,
    ) -> None:
        """Add all rows from block `start` on to the sums.

        Parameters
        ----------
        sums : Sums
        checkpoint : Checkpoint, written between blocks when it is due
        stage : str, of the checkpoint; also the label of the progress
        start : int, number of the first block
        beside : function that returns further arrays for the checkpoint
        """


def summed(stream: Stream, checkpoint: Checkpoint, empty_sums: Any, stage: str) -> Any:
    """Empty sums after a whole pass, resumed from this stage of the checkpoint if it has one."""
    resumed = checkpoint.resume(stage)
    start, sums = 0, empty_sums
    if resumed is not None:
        start, sums = resumed[0], type(sums).from_state(resumed[1])
    stream.fold(sums, checkpoint, stage, start=start)
    return sums


class LocalStream(ABC):
    """A stream whose features are computed on this machine, some rows at a time."""

    @abstractmethod
    def pieces(self, label: str, start: int = 0) -> Iterator[tuple[Rows, int | None]]:
        """One pass from block `start` on: features of up to 8192 rows, in a reused buffer.

        Each comes with the number of blocks complete after it, or None inside a block.
        """

    @abstractmethod
    def checksums(self, done: int) -> Any:
        """Checksums of the first `done` blocks of the source, for `expect` in another process."""

    @abstractmethod
    def expect(self, checksums: Any) -> None:
        """Raise an error if the first blocks of the source have other checksums."""

    def fold(
        self,
        sums: Sums,
        checkpoint: Checkpoint,
        stage: str,
        *,
        start: int = 0,
        beside: Arrays = dict,
    ) -> None:
        """As `Stream.fold`."""
        if start:
            _, saved = checkpoint.resume(stage) or (0, {})
            self.expect(saved["seen"])
        try:
            for rows, done in self.pieces(stage, start):
                sums.add(rows.Z, rows.y, rows.weight)
                if done is not None and checkpoint.due():
                    seen = {"seen": self.checksums(done)}
                    checkpoint.write(stage, done, {**sums.state(), **beside(), **seen})
        except KeyboardInterrupt:
            if not checkpoint.exists:
                raise
            raise KeyboardInterrupt(
                "stopped; the checkpoint is complete, and the same fit with it resumes from there"
            ) from None


class FeatureStream(LocalStream):
    """The features of a source, recomputed in every pass, or cached if they are small.

    Parameters
    ----------
    source : Source or IteratorSource
    features : fitted FeatureMap, or a Lattice, which needs many rows at a time
    encode : function of a Block that returns its targets and weights in the form of the sums
    n_rows : int or None, if known
    keep : bool, whether to cache features of up to a gigabyte for further passes
    """

    def __init__(
        self,
        source: Source | IteratorSource,
        features: RowMap,
        encode: Encode,
        *,
        n_rows: int | None = None,
        keep: bool = False,
    ) -> None:
        self._source, self._features, self._encode = source, features, encode
        self._n_rows = source.n_rows if n_rows is None else n_rows
        self._keep = keep
        self._kept: list[tuple[Rows, int | None]] | None = None

    def pieces(self, label: str, start: int = 0) -> Iterator[tuple[Rows, int | None]]:
        """As `LocalStream.pieces`."""
        if self._kept is not None:
            # A resumed pass skips everything up to the end of block `start`.
            first = next((i + 1 for i, (_, done) in enumerate(self._kept) if done == start), 0)
            yield from self._kept[first if start else 0 :]
            return
        if (rows_at_once := getattr(self._features, "rows_at_once", None)) is not None:
            yield from gathered(self._computed(label, start), rows_at_once)
            return
        kept: list[tuple[Rows, int | None]] | None = [] if self._keep and start == 0 else None
        for rows, done in self._computed(label, start):
            if kept is not None:
                size = (self._n_rows or _KEPT) * rows.Z[0].nbytes
                kept = kept if size <= _KEPT else None
            if kept is not None:
                kept.append((replace(rows, Z=rows.Z.copy()), done))
            yield rows, done
        self._kept = kept

    def checksums(self, done: int) -> Any:
        """As `LocalStream.checksums`."""
        return self._source.checksums(done)

    def expect(self, checksums: Any) -> None:
        """As `LocalStream.expect`."""
        self._source.expect(checksums)

    def _computed(self, label: str, start: int) -> Iterator[tuple[Rows, int | None]]:
        p = self._features.n_columns_
        buffer: Matrix | None = None
        blocks = progress(
            self._source.blocks(start),
            total=self._n_rows,
            label=LABELS.get(label, label),
            done=start * self._source.rows,
        )
        for number, block in enumerate(blocks, start + 1):
            if buffer is None:
                dtype = np.dtype(self._source.dtype or block.X.dtype)
                rows = int(np.clip(_BUFFER // (p * dtype.itemsize), 512, LONGEST))
                buffer = empty(min(rows, max(len(block), 1)), p, dtype)
            y, weight = self._encode(block)
            for first in range(0, len(block), len(buffer)):
                some = slice(first, min(first + len(buffer), len(block)))
                Z = buffer[: some.stop - first]
                self._features.write(block.X[some], Z)
                piece = Rows(Z, y[some], None if weight is None else weight[some])
                yield piece, number if some.stop == len(block) else None


@dataclass(frozen=True, eq=False)
class Rows(LocalStream):
    """Features, targets and weights of rows in memory: part of a block, or the rows of a sample.

    A `Block` has rows of X instead of features. The parameters after `weight` describe a sample.

    Parameters
    ----------
    Z : (n, p)
    y : (n,) codes or (n, t) targets
    weight : (n,), total weight of all copies of a row in the data, or None for 1
    share : (n,), each row's chance of being sampled, relative to that of most rows; None for 1
    group : (n,) codes 0, 1, ... of rows with equal x, which are left out together; None if every
        row is left out on its own
    of_all : bool, whether these rows represent all rows of the fit
    complete : bool, whether these are all distinct rows of the fit
    counts : bool, whether a weight is a number of observations, left out one at a time, instead of
        copies, left out together
    """

    Z: Matrix
    y: Any
    weight: Floats | None
    share: Floats | None = None
    group: Any = None
    of_all: bool = True
    complete: bool = False
    counts: bool = False

    @property
    def left(self) -> Floats | None:
        """The part of each weight that is left out at a time."""
        return (
            np.minimum(self.weight, 1.0) if self.counts and self.weight is not None else self.weight
        )

    @property
    def mass(self) -> Floats:
        """The weight of the rows that each one represents, (n,): weight / share."""
        weight = np.ones(len(self.Z)) if self.weight is None else self.weight
        return weight if self.share is None else weight / self.share

    def grouped(self) -> Rows:
        """One row per group: the mean of its targets (n, t), with its total weight."""
        if self.group is None:
            return self
        first = np.unique(self.group, return_index=True)[1]
        weight = np.ones(len(self.Z)) if self.weight is None else self.weight
        total = np.add.reduceat(weight, first)
        Y = np.add.reduceat(weight[:, None] * self.y, first) / total[:, None]
        share = None if self.share is None else self.share[first]
        return Rows(self.Z[first], Y, total, share, None, self.of_all, self.complete)

    def expanded(self, grouped: Floats) -> Floats:
        """Values per group, repeated for each row of the group."""
        return grouped if self.group is None else grouped[self.group]

    def pieces(self, label: str, start: int = 0) -> Iterator[tuple[Rows, int | None]]:
        """The rows, 8192 at a time; there are no blocks, so no checkpoint between them."""
        for first in range(0, len(self.Z), LONGEST):
            yield self.where(slice(first, first + LONGEST)), None

    def checksums(self, done: int) -> Any:
        """None: rows in memory do not change."""
        return np.empty(0, dtype=np.int64)

    def expect(self, checksums: Any) -> None:
        """Nothing to compare."""

    def where(self, chosen: Any) -> Rows:
        """Some of these rows, with their weights but without share and group."""
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(self.Z[chosen], self.y[chosen], weight, counts=self.counts)

    def targets(self, Y: Floats) -> Rows:
        """The same rows with other targets."""
        return replace(self, y=Y)


def gathered(
    pieces: Iterator[tuple[Rows, int | None]], rows: int
) -> Iterator[tuple[Rows, int | None]]:
    """Pieces of at least so many rows, of whole blocks, so that resumed passes cut alike."""
    some: list[Rows] = []
    count, last = 0, None
    for piece, done in pieces:
        some.append(replace(piece, Z=piece.Z.copy()))
        count, last = count + len(piece.Z), done
        if count >= rows and done is not None:
            yield _joined(some), done
            some, count = [], 0
    if some:
        yield _joined(some), last


def _joined(pieces: list[Rows]) -> Rows:
    weights = [np.ones(len(piece.Z)) if piece.weight is None else piece.weight for piece in pieces]
    return Rows(
        np.concatenate([piece.Z for piece in pieces]),
        np.concatenate([piece.y for piece in pieces]),
        np.concatenate(weights),
    )
