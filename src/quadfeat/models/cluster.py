"""Fits on a cluster: rows and features stay on their workers, only sums are sent.

A fit first summarises the data: lengths and labels of partitions and a sample of rows are sent to
the client, which fits the map and sends it to the workers. Each worker adds its partitions to
partial sums, which are merged in pairs by a tree that depends only on the order of the partitions.
So the result does not depend on the number of workers, on how work was divided, or on workers that
died.

Works with every Dask scheduler: a `dask.distributed` client if there is one, else threads; and
with every engine that can map a function over partitions (`data.partitioned.MappedRows`).
"""

from __future__ import annotations

import functools
import importlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._display.progress import steps
from ..data.checkpoint import Checkpoint
from ..data.dask_source import AnySource, delayed, is_collection
from ..data.partitioned import PartitionedRows, check_seen
from ..data.sources import source
from .stream import LABELS, Arrays, Encode, FeatureStream, RowMap, Stream, Sums


def open_stream(
    data: AnySource,
    features: RowMap,
    encode: Encode,
    *,
    n_rows: int | None,
    keep: bool,
) -> Stream:
    """The features of any source; a cluster ignores the further parameters of `FeatureStream`."""
    if data.on_workers:
        return ClusterStream(data, features, encode)
    return FeatureStream(data, features, encode, n_rows=n_rows, keep=keep)


class ClusterStream:
    """The features of partitions, computed and summed on the workers; a `Stream`.

    Parameters
    ----------
    partitions : PartitionedRows
    features : fitted FeatureMap
    encode : function of a Block that returns its targets and weights in the form of the sums
    """

    def __init__(self, partitions: PartitionedRows, features: RowMap, encode: Encode) -> None:
        self._partitions, self._features, self._encode = partitions, features, encode

    def fold(
        self,
        sums: Sums,
        checkpoint: Checkpoint,
        stage: str,
        *,
        start: int = 0,
        beside: Arrays = dict,
    ) -> None:
        """Add all rows of the collection to the sums; the scheduler replaces the checkpoint."""
        dtype = self._partitions.dtype
        task = _SumsTask(sums.blank(), self._features, self._encode, dtype)
        with steps(LABELS.get(stage, stage), 1):
            sums.merge(self._partitions.gather(task))


@dataclass(frozen=True, eq=False)
class _SumsTask:
    """Worker task: the sums of one partition."""

    blank: Callable[[], Any]
    features: RowMap
    encode: Encode
    dtype: Any

    def __call__(self, X: Any, y: Any, weight: Any, seen: str | None = None) -> Any:
        sums = self.blank()
        rows = source(X, y, weight).astype(self.dtype)
        FeatureStream(rows, self.features, self.encode).fold(sums, Checkpoint.none(), "sums")
        check_seen(rows, seen)
        return sums


# --- prediction -----------------------------------------------------------------------------------
def lazily(method: Callable[..., Any]) -> Callable[..., Any]:
    """Decorate a method of X: for a Dask collection it returns a lazy dask array."""

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
    """A function of a partition; `nothing` is the result for a partition without rows."""

    function: Callable[[Any], Any]
    nothing: Any

    def __call__(self, X: Any) -> Any:
        return self.function(X) if X.shape[0] else self.nothing


def _mapped(function: Callable[[Any], Any], X: Any, row: Any) -> Any:
    """A function of every partition, as a dask array with the row partitions of X.

    It is first called on one row, to learn dtype and shape of the result.
    """
    dask, da = importlib.import_module("dask"), importlib.import_module("dask.array")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the row has no column names
        like = function(row[None])
    call = dask.delayed(_Part(function, like[:0]), pure=False, traverse=False)
    lengths = getattr(X, "chunks", ([np.nan] * len(delayed(X, None)),))[0]
    parts = [
        da.from_delayed(call(part), shape=(n, *like.shape[1:]), dtype=like.dtype)
        for part, n in zip(delayed(X, None), lengths, strict=True)
    ]
    return da.concatenate(parts, allow_unknown_chunksizes=True)
