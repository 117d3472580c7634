"""`Partitions`: Dask collections as a source of rows, which stay on the workers."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

import numpy as np

from .base import Source
from .blocks import Names
from .iterators import IteratorSource
from .sampling import RowSample
from .sources import source
from .summary import Summary, SummaryBuilder


def is_collection(X: Any) -> bool:
    """Whether X is a Dask collection; does not import Dask."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


class Partitions:
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
    on_workers: ClassVar[Literal[True]] = True
    first_index: ClassVar[None] = None

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
        self._seen: list[str] = []  # fingerprints at the summary, which later passes must match
        self.dtype = dtype

    @property
    def fingerprint(self) -> str:
        """A digest of the content, known after `summary`."""
        return "".join(self._seen)

    def summary(self, *, labels: bool, verbose: bool = False) -> Summary:
        """The same summary as that of a local source with these rows.

        The first pass sends the keys that decide the sample, the second only the sampled rows.
        Progress is not shown: the scheduler has its own.
        """
        builder: SummaryBuilder = self.gather(_SummaryTask(labels, self.dtype))
        self._seen = builder.fingerprints
        if builder.sample is not None:
            builder.sample.drawn()  # fixes the keys
            builder.sample = self.gather(_SampleTask(builder.sample.blank(), self.dtype))
        return builder.summary(self.name)

    def gather(self, partial: Callable[..., Any]) -> Any:
        """`partial` of every partition, computed on its worker, merged by a fixed tree.

        Its arguments are X, y, weight, and the partition's fingerprint at the summary, or None.
        """
        dask = importlib.import_module("dask")
        work = dask.delayed(partial, pure=False, traverse=False)
        seen: list[Any] = self._seen or [None] * len(self._parts)
        level = [work(*part, digest) for part, digest in zip(self._parts, seen, strict=True)]
        merge = dask.delayed(_merged, pure=False)
        while len(level) > 1:
            pairs = [merge(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
            level = pairs + level[2 * len(pairs) :]
        # The map is part of the graph, so that the scheduler can send it to a new worker.
        large = {"distributed.admin.large-graph-warning-threshold": "1GB"}
        with dask.config.set(large if "distributed" in sys.modules else {}):
            (total,) = dask.compute(level[0])
        return total


# All have `summary`, `fingerprint`, `columns`, `first_index` and `on_workers`: if it is False, a
# pass is `blocks`; if it is True, the rows are on other machines and a pass is `gather`.
AnySource = Source | IteratorSource | Partitions


def check_seen(rows: Source, seen: str | None) -> None:
    """Raise a ValueError if a partition has changed since the summary."""
    if seen not in (None, rows.fingerprint):
        raise ValueError(
            f"a partition of {Partitions.name} has other rows than when it was first looked at; "
            f"give a collection that is computed to the same each time, or persist() it"
        )


@dataclass(frozen=True, eq=False)
class _SummaryTask:
    """Worker task: the summary of one partition, with the keys but not the values of its sample."""

    labels: bool
    dtype: Any

    def __call__(self, X: Any, y: Any, weight: Any, seen: None = None) -> SummaryBuilder:
        builder, rows = SummaryBuilder(labels=self.labels), source(X, y, weight).astype(self.dtype)
        for block in rows.blocks():
            builder.add(block, Partitions.name)
        builder.fingerprints = [rows.fingerprint]
        if builder.sample is not None:
            builder.sample = builder.sample.keys_only()
        return builder


@dataclass(frozen=True, eq=False)
class _SampleTask:
    """Worker task: the rows of one partition that are in the sample."""

    blank: Callable[[], RowSample]
    dtype: Any

    def __call__(self, X: Any, y: Any, weight: Any, seen: str | None = None) -> RowSample:
        sample, rows = self.blank(), source(X, y, weight).astype(self.dtype)
        for block in rows.blocks():
            sample.add(block)
        check_seen(rows, seen)
        return sample


def _ordered(frame: Any, columns: tuple[str, ...]) -> Any:
    """A partition with its columns in the order of the collection's metadata."""
    return Names("column", columns).ordered(frame, 0)


def _merged(left: Any, right: Any) -> Any:
    # Dask may reuse the left sums after a worker dies, so they must not be changed.
    total = left.blank()()
    total.merge(left)
    total.merge(right)
    return total


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
