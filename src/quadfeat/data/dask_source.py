"""Dask collections as sources of rows, one partition at a time."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .base import Source
from .blocks import Block, Names
from .sampling import RowSample
from .sources import source
from .summary import Survey, Tally


def is_collection(X: Any) -> bool:
    """Whether X is a collection of Dask, told without importing it."""
    return type(X).__module__.partition(".")[0] in ("dask", "dask_expr")


class Partitions:
    """A dask.array or dask.dataframe with its targets and weights, partition by partition.

    Parameters
    ----------
    X : dask array (n, d) or DataFrame; its partitions of rows are those of the fit
    y : dask array or Series, (n,) or (n, t)
    sample_weight : dask array or Series (n,), or None
    dtype : of X's blocks, or None where X decides
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
        self._seen: list[str] = []  # what a survey saw, which later passes must see again
        self.dtype = dtype

    @property
    def fingerprint(self) -> str:
        """The identity of the content, after a survey."""
        return "".join(self._seen)

    def survey(self, *, labels: bool) -> Survey:
        """Rows, labels and a sample, as a look at a local source finds them.

        Keys decide which rows are drawn; then these rows alone travel.
        """
        tally: Tally = self.gather(_Look(labels, self.dtype))
        self._seen = tally.fingerprints
        if tally.sample is not None:
            tally.sample.drawn()  # decides the keys
            tally.sample = self.gather(_Draw(tally.sample.blank(), self.dtype))
        return tally.survey(self.name)

    def blocks(self) -> Iterator[Block]:
        """The rows themselves, one partition at a time on the client: for few rows."""
        dask = importlib.import_module("dask")
        for part in self._parts:
            (rows,) = dask.compute(part)
            yield from source(*rows).astype(self.dtype).blocks()

    def gather(self, partial: Callable[..., Any]) -> Any:
        """`partial` of every partition where it is, merged by a fixed tree.

        Its arguments are X, y, weight, and what the survey saw of them, if there was one.
        """
        dask = importlib.import_module("dask")
        work = dask.delayed(partial, pure=False, traverse=False)
        seen: list[Any] = self._seen or [None] * len(self._parts)
        level = [work(*part, each) for part, each in zip(self._parts, seen, strict=True)]
        merge = dask.delayed(_merged, pure=False)
        while len(level) > 1:
            pairs = [merge(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
            level = pairs + level[2 * len(pairs) :]
        # The map goes with the graph, so that the scheduler can give it to a new worker.
        large = {"distributed.admin.large-graph-warning-threshold": "1GB"}
        with dask.config.set(large if "distributed" in sys.modules else {}):
            (total,) = dask.compute(level[0])
        return total


def check_seen(rows: Source, seen: str | None) -> None:
    """Refuse a partition that has changed since the survey saw it."""
    if seen not in (None, rows.fingerprint):
        raise ValueError(
            f"a partition of {Partitions.name} has other rows than when it was first looked at; "
            f"give a collection that is computed to the same each time, or persist() it"
        )


@dataclass(frozen=True, eq=False)
class _Look:
    """The task of a worker: what a partition tells of itself, without the values of its rows."""

    labels: bool
    dtype: Any

    def __call__(self, X: Any, y: Any, weight: Any, seen: None = None) -> Tally:
        tally, rows = Tally(labels=self.labels), source(X, y, weight).astype(self.dtype)
        for block in rows.blocks():
            tally.add(block, Partitions.name)
        tally.fingerprints = [rows.fingerprint]
        if tally.sample is not None:
            tally.sample = tally.sample.keys_only()
        return tally


@dataclass(frozen=True, eq=False)
class _Draw:
    """The task of a worker: the rows of a partition that are in the sample."""

    blank: Callable[[], RowSample]
    dtype: Any

    def __call__(self, X: Any, y: Any, weight: Any, seen: str | None = None) -> RowSample:
        sample, rows = self.blank(), source(X, y, weight).astype(self.dtype)
        for block in rows.blocks():
            sample.add(block)
        check_seen(rows, seen)
        return sample


def _ordered(frame: Any, columns: tuple[str, ...]) -> Any:
    """A partition with the columns that the collection says it has."""
    return Names("column", columns).ordered(frame, 0)


def _merged(left: Any, right: Any) -> Any:
    # Dask may need the left sums again if a worker dies, so they must not change.
    total = left.blank()()
    total.merge(left)
    total.merge(right)
    return total


def delayed(collection: Any, chunks: Any) -> list[Any]:
    """The partitions of rows of a collection, after giving it those of X where both are known."""
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
