"""`Partitions`: Dask collections as a source of rows, which stay on the workers."""

from __future__ import annotations

import importlib
import sys
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import numpy as np

from .._display.progress import Steps, steps
from .base import Source
from .blocks import Names
from .iterators import IteratorSource
from .partitioned import MappedRows, PartitionedRows, in_pairs, merged


def is_collection(X: Any) -> bool:
    """Whether X is a Dask collection; does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


class Partitions(PartitionedRows):
    """A dask.array or dask.dataframe with its targets and weights, partition by partition.

    Each pass is one `gather`: a function of every partition on its worker, merged in pairs.

    Parameters
    ----------
    X : dask array (n, d) or DataFrame; its partitions of rows are used as they are
    y : dask array or Series, (n,) or (n, t)
    sample_weight : dask array or Series (n,), or None
    dtype : the precision of the features, or None for that of X
    """

    name = "the Dask collection"

    def __init__(self, X: Any, y: Any, sample_weight: Any = None, *, dtype: Any = None) -> None:
        if y is None or not is_collection(y):
            way = "dask.array.from_array(y, chunks=X.chunks[0]) makes one"
            if isinstance(y, str):
                way = f"give X.drop(columns={y!r}) and X[{y!r}]"
            raise TypeError(
                f"y must be a Dask collection with the partitions of X, got {type(y).__name__}; "
                f"{way}"
            )
        self.columns = tuple(map(str, X.columns)) if hasattr(X, "columns") else None
        chunks = getattr(X, "chunks", (None,))[0]
        parts = [delayed(X, None), delayed(y, chunks)]
        if self.columns is not None:
            order = importlib.import_module("dask").delayed(_ordered)
            parts[0] = [order(part, self.columns) for part in parts[0]]
        parts.append([None] * len(parts[0]))
        if sample_weight is not None:
            parts[2] = delayed(sample_weight, chunks)
        counts = [len(part) for part in parts]
        if len(set(counts)) > 1:
            raise ValueError(
                f"X, y and sample_weight must have the same partitions, got "
                f"{', '.join(map(str, counts))} of them"
            )
        self._parts = list(zip(*parts, strict=True))
        self.dtype = dtype

    def gather(self, partial: Callable[..., Any]) -> Any:
        """`partial` of every partition, computed on its worker, merged by a fixed tree.

        Its arguments are X, y, weight, and the partition's fingerprint at the summary, or None.
        """
        dask = importlib.import_module("dask")
        work = dask.delayed(partial, pure=False, traverse=False)
        seen: Sequence[Any] = self.seen or [None] * len(self._parts)
        level = [work(*part, digest) for part, digest in zip(self._parts, seen, strict=True)]
        total = in_pairs(level, dask.delayed(merged, pure=False))
        with (
            _with_large_graphs(),
            steps("partitions", None) as tasks,
            _counted(tasks),
        ):
            (computed,) = dask.compute(total)
        return computed


class _LargeGraphs:
    """Dask's settings are those of the process: the first user sets one, the last restores it."""

    def __init__(self) -> None:
        self._lock, self._users = threading.Lock(), 0

    def __enter__(self) -> None:
        large = {"distributed.admin.large-graph-warning-threshold": "1GB"}
        with self._lock:
            if not self._users:
                self._setting = importlib.import_module("dask").config.set(large)
            self._users += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._setting.__exit__(None, None, None)


_large_graphs = _LargeGraphs()


def _with_large_graphs() -> AbstractContextManager[None]:
    """No warning of large graphs: the map is in them, so that it can be sent to a new worker.

    Another thread may be importing `distributed`, whose settings are not there yet: to restore one
    of them would then remove all.
    """
    if "distributed" not in sys.modules:
        return nullcontext()
    importlib.import_module("distributed")
    return _large_graphs


def _counted(tasks: Steps) -> Any:
    """Counts the tasks of Dask's local schedulers; a cluster has its dashboard."""

    def finished(key: Any, value: Any, graph: Any, state: Any, worker: Any) -> None:
        done = len(state["finished"])
        left = sum(len(state[kind]) for kind in ("ready", "waiting", "running"))
        tasks.reached(done / (done + left))

    return importlib.import_module("dask.callbacks").Callback(posttask=finished)


# Threads share the cached properties of Dask's expressions. Before Python 3.12 each has a lock: two
# threads that need them in different orders, where a frame is planned, would wait forever.
_planning = threading.Lock()


def is_partitioned(X: Any) -> bool:
    """Whether the rows of X stay in partitions on other machines."""
    return is_collection(X) or isinstance(X, MappedRows)


def partitions(X: Any, y: Any, sample_weight: Any, *, dtype: Any) -> PartitionedRows:
    """A Dask collection, or `MappedRows`, as a source; the latter contain targets."""
    if not isinstance(X, MappedRows):
        with _planning:
            return Partitions(X, y, sample_weight, dtype=dtype)
    if y is not None or sample_weight is not None:
        raise TypeError("MappedRows contain targets and weights: call fit(rows)")
    return X.astype(dtype)


# All have `summary`, `fingerprint`, `columns`, `first_index` and `on_workers`: if it is False, a
# pass is `blocks`; if it is True, the rows are on other machines and a pass is `gather`.
AnySource = Source | IteratorSource | PartitionedRows


def _ordered(frame: Any, columns: tuple[str, ...]) -> Any:
    """A partition with its columns in the order of the collection's metadata."""
    return Names("column", columns).ordered(frame, 0)


def delayed(collection: Any, chunks: Any) -> list[Any]:
    """The row partitions of a collection, rechunked to `chunks` (those of X) if both are known."""
    if hasattr(collection, "to_delayed") and not hasattr(collection, "chunks"):
        return list(collection.to_delayed())
    if collection.ndim == 2:
        collection = collection.rechunk({1: -1})
    known = chunks is not None and not np.isnan([*chunks, *collection.chunks[0]]).any()
    if known and collection.chunks[0] != chunks:
        if sum(chunks) != collection.shape[0]:
            raise ValueError(f"X has {sum(chunks)} rows, and y or a weight {collection.shape[0]}")
        collection = collection.rechunk({0: chunks})
    return list(collection.to_delayed().ravel())
