"""Fits on a cluster: blocks of rows stay on their workers, and only sums travel.

A fit looks at the data (lengths and labels of partitions, and a sample of rows, come to the
client), learns the map there, and sends it to the workers. Each partition is folded into partial
sums where it is; partial sums are merged in pairs, by a tree that depends on the order of the
partitions alone. So the result does not depend on the number of workers, on which of them did
what, or on how often one died. Features never leave the worker that made them.

Works with every scheduler of Dask: a `dask.distributed` client if there is one, else threads.
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..data.dask_source import Partitions, check_seen, delayed, is_collection
from ..data.sources import source
from ..maps.base import FeatureMap
from .stream import Encode, FeatureStream, Piece, Sums


class ClusterStream:
    """The features of partitions, made on the workers; a `streaming.Stream`.

    Parameters
    ----------
    partitions : Partitions
    features : fitted FeatureMap
    encode : function of a Block, its target and weight as the sums want them
    """

    def __init__(self, partitions: Partitions, features: FeatureMap, encode: Encode) -> None:
        self._partitions, self._features, self._encode = partitions, features, encode

    def gather(self, sums: Sums) -> None:
        """Add all rows of the collection to the sums."""
        dtype = self._partitions.dtype
        partial = _Partial(sums.blank(), self._features, self._encode, dtype)
        sums.merge(self._partitions.gather(partial))

    def pieces(self, label: str, start: int = 0) -> Iterator[Piece]:
        """Pieces made on the client, for passes that only few rows get."""
        blocks = list(self._partitions.blocks())
        local = source([(block.X, block.y, block.weight) for block in blocks])
        return FeatureStream(local, self._features, self._encode).pieces(label, start)


@dataclass(frozen=True, eq=False)
class _Partial:
    """The task of a worker: one partition to sums."""

    blank: Callable[[], Any]
    features: FeatureMap
    encode: Encode
    dtype: Any

    def __call__(self, X: Any, y: Any, weight: Any, seen: str | None = None) -> Any:
        sums = self.blank()
        rows = source(X, y, weight).astype(self.dtype)
        stream = FeatureStream(rows, self.features, self.encode)
        for piece in stream.pieces("sums"):
            sums.add(piece.Z, piece.y, piece.weight)
        check_seen(rows, seen)
        return sums


# --- prediction -----------------------------------------------------------------------------------
def lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    """A method of one argument X that gives a lazy dask array for a Dask collection."""

    @functools.wraps(method)
    def wrapped(self: Any, X: Any, *args: Any, **options: Any) -> Any:
        if not is_collection(X):
            return method(self, X, *args, **options)
        if any(args) or any(options.values()):
            raise ValueError(
                f"{method.__name__} of a Dask collection takes no other argument; use "
                f"X.map_partitions or X.map_blocks with the model's method"
            )
        origin = self.features_.origin
        row = np.zeros(self.n_features_in_) if origin is None else origin
        return _mapped(functools.partial(method, self), X, row)

    return wrapped


@dataclass(frozen=True, eq=False)
class _Part:
    """A function of a partition, which may have no rows; `nothing` is its answer then."""

    function: Callable[[Any], Any]
    nothing: Any

    def __call__(self, X: Any) -> Any:
        return self.function(X) if X.shape[0] else self.nothing


def _mapped(function: Callable[[Any], Any], X: Any, row: Any) -> Any:
    """A function of every partition, as a dask array whose rows are partitioned as X's.

    What it makes of one row tells the form of its answers.
    """
    dask, da = importlib.import_module("dask"), importlib.import_module("dask.array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # a plain row has no names
        like = function(row[None])
    call = dask.delayed(_Part(function, like[:0]), pure=False, traverse=False)
    lengths = getattr(X, "chunks", ([np.nan] * len(delayed(X, None)),))[0]
    parts = [
        da.from_delayed(call(part), shape=(n, *like.shape[1:]), dtype=like.dtype)
        for part, n in zip(delayed(X, None), lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)
