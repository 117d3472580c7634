"""Rows to features to sums, a block at a time, with checkpoints that resume to the same bits."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, runtime_checkable

import numpy as np

from . import _archive, _atomic
from ._engine import empty
from ._progress import progress
from .data import Block, Source
from .features import FeatureMap, Matrix

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
        p = self._features._n_features_out
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
                self._features._write(block.X[some], Z)
                yield Piece(
                    Z,
                    y[some],
                    None if weight is None else weight[some],
                    number if some.stop == len(block) else None,
                )


def _copied(piece: Piece) -> Piece:
    return Piece(piece.Z.copy(), piece.y, piece.weight, piece.done)


class Checkpoint:
    """A file that holds how far a fit has come; without a path it does nothing.

    Parameters
    ----------
    path : path or None
    interval : float, seconds between two writes at least
    identity : dict of str, what a fit must share with the one that wrote the file
    """

    def __init__(self, path: Any, interval: float, identity: dict[str, str]) -> None:
        self._path = None if path is None else Path(path)
        self._interval, self._identity = interval, identity
        self._written = time.monotonic()
        self._stage, self._block = "", 0
        self._arrays: dict[str, Any] = {}
        self._lasting: dict[str, Any] = {}
        self._theirs: dict[str, Any] | None = None  # the identity in the file
        if self._path is not None:
            self._try_out(self._path)
        if self._path is not None and self.exists:
            self._read(self._path)

    def _try_out(self, path: Path) -> None:
        """Notice at once, not after an hour, that nothing can be written."""
        try:
            _atomic.try_out(path)
        except OSError as error:
            raise type(error)(
                error.errno,
                f"checkpoint={str(path)!r} cannot be used; name a file in a folder that exists and "
                f"can be written to: {error.strerror}",
            ) from None

    def _read(self, path: Path) -> None:
        try:
            manifest, arrays = _archive.read(path)
        except ValueError as error:
            raise ValueError(
                f"checkpoint={str(path)!r} cannot be resumed; give another path, or delete it: "
                f"{error}"
            ) from None
        theirs = manifest.get("identity")
        self._theirs = theirs if isinstance(theirs, dict) else {}
        for what, value in self._identity.items():
            self.require(what, value)
        self._stage, self._block = str(manifest["stage"]), int(manifest["block"])
        for name, array in arrays.items():
            kind, _, own = name.partition("/")
            (self._lasting if kind == "lasting" else self._arrays)[own] = array

    def require(self, what: str, value: str) -> None:
        """Take up one more part of the identity; a ValueError where the file has another."""
        if self._theirs is not None and self._theirs.get(what) != value:
            raise ValueError(
                f"checkpoint={str(self._path)!r} is of a fit with other {what}; give another path, "
                f"or delete the file to begin again"
            )
        self._identity[what] = value

    @property
    def active(self) -> bool:
        return self._path is not None

    @property
    def exists(self) -> bool:
        """Whether there is a file to go on from."""
        return self._path is not None and self._path.exists()

    @property
    def lasting(self) -> dict[str, Any]:
        """Arrays of stages that are over, which later ones need."""
        return self._lasting

    def resume(self, stage: str) -> tuple[int, dict[str, Any]] | None:
        """The block to go on from and the arrays, if the file was written in this stage."""
        if self._stage != stage:
            return None
        return self._block, self._arrays

    def due(self) -> bool:
        """Whether it is time to write."""
        return self.active and time.monotonic() - self._written >= self._interval

    def remove(self) -> None:
        """The fit is over: the next one begins anew, with other data if it likes."""
        if self._path is not None:
            _atomic.remove(self._path)

    def write(self, stage: str, block: int, arrays: dict[str, Any]) -> None:
        """Replace the file; whatever happens, the old one or the new one is whole.

        A full disk is no reason to lose the fit: it warns, and tries again when it is due.
        """
        if self._path is None:
            return
        named = {f"lasting/{name}": array for name, array in self._lasting.items()}
        named |= {f"now/{name}": array for name, array in arrays.items()}
        manifest = {"identity": self._identity, "stage": stage, "block": block}
        try:
            _archive.write(self._path, manifest, named)
        except OSError as error:
            warnings.warn(
                f"{error.strerror or error}; the fit goes on, and would be resumed from an earlier "
                f"checkpoint or none",
                stacklevel=2,
            )
        self._written = time.monotonic()


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
