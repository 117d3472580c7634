"""Rows to features to sums, a block at a time, with checkpoints that resume to the same bits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from .._engine import empty
from .._progress import progress
from .._typing import Floats, Matrix
from ..data.base import Source
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..maps.base import FeatureMap

_BUFFER = 2**28  # bytes of features at a time: long products, and little beside the sums
LONGEST = 8192  # rows of a product, after which it gets no faster
_KEPT = 2**30  # bytes of features that are kept for further passes
Encode = Callable[[Block], tuple[Any, Any]]


@dataclass(frozen=True, eq=False)
class Piece:
    """Features of some rows in a reused buffer, their target and weight, and where they end."""

    Z: Matrix
    y: Any
    weight: Any
    done: int | None  # blocks of the source that are complete with this piece


class Sums(Protocol):
    """What pieces are added to."""

    def add(self, Z: Matrix, y: Any, weight: Any) -> None: ...

    def state(self) -> dict[str, Any]: ...

    def blank(self) -> Callable[[], Any]: ...

    def merge(self, other: Any) -> None: ...


class Stream(Protocol):
    """Pieces that can be passed over again."""

    def pieces(self, label: str, start: int = 0) -> Iterator[Piece]: ...


@runtime_checkable
class Gathering(Protocol):
    """A stream whose pieces are added up where they are, by others."""

    def gather(self, sums: Sums) -> None: ...


class FeatureStream:
    """The features of a source, made again on every pass, or kept where they are few.

    Parameters
    ----------
    source : Source
    features : fitted FeatureMap
    encode : function of a Block, its target and weight as the sums want them
    n_rows : int or None, where it is known
    keep : bool, to keep features that fit into a gigabyte for further passes
    verbose : bool
    """

    def __init__(
        self,
        source: Source,
        features: FeatureMap,
        encode: Encode,
        *,
        n_rows: int | None = None,
        keep: bool = False,
        verbose: bool = False,
    ) -> None:
        self._source, self._features, self._encode = source, features, encode
        self._n_rows = source.n_rows if n_rows is None else n_rows
        self._verbose = verbose
        self._keep = keep
        self._kept: list[Piece] | None = None

    def pieces(self, label: str, start: int = 0) -> Iterator[Piece]:
        """A pass over the pieces, from block number `start` on."""
        if self._kept is not None:
            # Blocks end where `done` says so; the first pieces of a resumed pass are skipped.
            first = next((i + 1 for i, p in enumerate(self._kept) if p.done == start), 0)
            yield from self._kept[first if start else 0 :]
            return
        kept: list[Piece] | None = [] if self._keep and start == 0 else None
        for piece in self._made(label, start):
            if kept is not None:
                size = (self._n_rows or _KEPT) * piece.Z[0].nbytes
                kept = kept if size <= _KEPT else None
            if kept is not None:
                kept.append(_copied(piece))
            yield piece
        self._kept = kept

    def checksums(self, done: int) -> Any:
        """Of the blocks of the source that are done, for `expect` in another process."""
        return self._source.checksums(done)

    def expect(self, checksums: Any) -> None:
        """Refuse a source whose first blocks have other checksums."""
        self._source.expect(checksums)

    def _made(self, label: str, start: int) -> Iterator[Piece]:
        p = self._features.n_columns_
        buffer: Matrix | None = None
        blocks = self._source.blocks(start)
        shown = progress(
            blocks,
            total=self._n_rows,
            label=label,
            verbose=self._verbose,
            done=start * self._source.rows,
        )
        for number, block in enumerate(shown, start + 1):
            if buffer is None:
                dtype = np.dtype(self._source.dtype or block.X.dtype)
                rows = int(np.clip(_BUFFER // (p * dtype.itemsize), 512, LONGEST))
                buffer = empty(min(rows, max(len(block), 1)), p, dtype)
            y, weight = self._encode(block)
            for first in range(0, len(block), len(buffer)):
                some = slice(first, min(first + len(buffer), len(block)))
                Z = buffer[: some.stop - first]
                self._features.write(block.X[some], Z)
                yield Piece(
                    Z,
                    y[some],
                    None if weight is None else weight[some],
                    number if some.stop == len(block) else None,
                )


def _copied(piece: Piece) -> Piece:
    return Piece(piece.Z.copy(), piece.y, piece.weight, piece.done)


def fold(
    stream: Stream,
    sums: Sums,
    checkpoint: Checkpoint,
    stage: str,
    *,
    start: int = 0,
    beside: Callable[[], dict[str, Any]] = dict,
) -> None:
    """Add every piece from block `start` on, writing checkpoints between blocks.

    Parameters
    ----------
    stage : str, which also labels the progress
    beside : function, further arrays that a checkpoint must hold
    """
    if isinstance(stream, Gathering):
        stream.gather(sums)
        return
    if start and isinstance(stream, FeatureStream):
        _, saved = checkpoint.resume(stage) or (0, {})
        stream.expect(saved["seen"])
    done = start
    try:
        for piece in stream.pieces(stage, start):
            sums.add(piece.Z, piece.y, piece.weight)
            if piece.done is not None:
                done = piece.done
                if checkpoint.due():
                    seen = {}
                    if isinstance(stream, FeatureStream):
                        seen["seen"] = stream.checksums(done)
                    checkpoint.write(stage, done, {**sums.state(), **beside(), **seen})
    except KeyboardInterrupt:
        if not checkpoint.exists:
            raise
        raise KeyboardInterrupt(
            "stopped; the checkpoint is whole, and the same fit with it goes on from there"
        ) from None


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows in memory: features, targets or codes, weights.

    Parameters
    ----------
    Z : (n, p)
    y : (n,) codes or (n, t) targets
    weight : (n,), of all copies of a row in the data, or None for 1
    share : (n,), the chance of each to be among these as a multiple of that of most, or None for 1
    group : (n,) codes 0, 1, ... of rows with equal x, which are left out together, or None where
        every row is on its own
    of_all : bool, whether they stand for all rows of a fit
    complete : bool, whether they are all distinct rows of it
    counts : bool, whether a weight counts observations, which are left out one at a time, and not
        copies, which go together
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
        """How much of each weight is left out at a time."""
        return (
            np.minimum(self.weight, 1.0) if self.counts and self.weight is not None else self.weight
        )

    @property
    def mass(self) -> Floats:
        """The weight of what each row stands for, (n,)."""
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
        """Values of the groups, given to each of their rows."""
        return grouped if self.group is None else grouped[self.group]

    def pieces(self, label: str, start: int = 0) -> Iterator[Piece]:
        """A stream of pieces as long as products gain from."""
        for first in range(0, len(self.Z), LONGEST):
            some = self.where(slice(first, first + LONGEST))
            yield Piece(some.Z, some.y, some.weight, None)

    def where(self, chosen: Any) -> Rows:
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(self.Z[chosen], self.y[chosen], weight, counts=self.counts)

    def targets(self, Y: Floats) -> Rows:
        """The same rows with other targets."""
        return replace(self, y=Y)
