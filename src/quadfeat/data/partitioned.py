"""Rows that stay in partitions on other machines: each pass is a function of every partition.

`PartitionedRows` is the base for every engine; `MappedRows` is a source for any engine that can map
a function over partitions, such as Spark (`spark_rows`) and Ray.
"""

from __future__ import annotations

import importlib
import pickle
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from copy import copy
from dataclasses import dataclass, field
from typing import Any, ClassVar, Literal, Self

import numpy as np

from .._display.progress import steps
from .base import Source
from .sampling import RowSample
from .sources import source
from .summary import Summary, SummaryBuilder


class PartitionedRows(ABC):
    """Rows on other machines; a subclass implements `gather`, a function of every partition."""

    name: ClassVar[str] = "the collection"
    on_workers: ClassVar[Literal[True]] = True
    first_index: ClassVar[None] = None
    columns: tuple[str, ...] | None = None
    dtype: Any = None  # the precision of the features, or None for that of X
    seen: Sequence[str] = ()  # fingerprints at the summary, which later passes must match

    @property
    def fingerprint(self) -> str:
        """A digest of the content, known after `summary`."""
        return "".join(self.seen)

    def summary(self, *, labels: bool) -> Summary:
        """The same summary as that of a local source with these rows.

        The first pass sends the keys that determine the sample, the second only the sampled rows.
        """
        with steps("looking at the data", 2) as passes:
            builder: SummaryBuilder = self.gather(_SummaryTask(labels, self.dtype))
            passes.done()
            self.seen = builder.fingerprints
            if builder.sample is not None:
                builder.sample.drawn()  # fixes the keys
                builder.sample = self.gather(_SampleTask(builder.sample.blank(), self.dtype))
        return builder.summary(self.name)

    @abstractmethod
    def gather(self, partial: Callable[..., Any]) -> Any:
        """`partial` of every partition, computed on its worker, merged by a fixed tree.

        Its arguments are X, y, weight, and the partition's fingerprint at the summary, or None.
        """


class MappedRows(PartitionedRows):
    """Partitions of any engine that can map a function over them, for `model.fit(X)`.

    Results are merged in pairs, in the order of the partitions: whatever the engine, partitions of
    the same rows give the same bits.

    Parameters
    ----------
    run : function of a task
        Calls task(number, X, y) or task(number, X, y, weight), where the rows are, for every
        partition that has rows, and returns the results, bytes, in any order.
    columns : names of the columns of X, or None

    Examples
    --------
    >>> import quadfeat as qf
    >>> X = np.random.default_rng(0).normal(size=(300, 2))
    >>> parts = [X[:100], X[100:200], X[200:]]
    >>> rows = MappedRows(lambda task: [task(i, x, x.sum(axis=1)) for i, x in enumerate(parts)])
    >>> model = qf.KernelRegressor(qf.HermiteMercer(qf.Gaussian(0.1), n_components=40)).fit(rows)
    >>> bool(abs(model.predict([[0.5, 0.25]])[0] - 0.75) < 1e-2)
    True
    """

    name = "the partitions"

    def __init__(
        self,
        run: Callable[[PartitionTask], Iterable[bytes]],
        columns: Sequence[str] | None = None,
    ) -> None:
        self._run = run
        self._numbers: list[int] = []  # of the partitions that have rows
        self.columns = None if columns is None else tuple(columns)

    def astype(self, dtype: Any) -> Self:
        """The same rows, with features of a precision; None for that of X."""
        cast = copy(self)
        cast.dtype = dtype
        return cast

    def gather(self, partial: Callable[..., Any]) -> Any:
        seen = dict(zip(self._numbers, self.seen, strict=bool(self.seen)))
        results = []
        with steps("partitions", len(self._numbers) or None) as partitions:
            for result in self._run(PartitionTask(partial, seen)):
                results.append(pickle.loads(result))
                partitions.done()
        results.sort(key=_number)
        if not results:
            raise ValueError(f"{self.name} have no rows; give at least one partition with some")
        self._numbers = [number for number, _ in results]
        return in_pairs([result for _, result in results], merged)


@dataclass(frozen=True, eq=False)
class PartitionTask:
    """Worker task: a function of one partition, and its result as bytes."""

    partial: Callable[..., Any]
    seen: dict[int, str] = field(default_factory=dict)

    def __call__(self, number: int, X: Any, y: Any, weight: Any = None) -> bytes:
        return pickle.dumps((number, self.partial(X, y, weight, self.seen.get(number))))


def _number(result: tuple[int, Any]) -> int:
    return result[0]


def spark_rows(frame: Any, y: str, sample_weight: str | None = None) -> MappedRows:
    """A Spark DataFrame as rows to fit; partitions stay on their workers.

    Rows are read several times; call `frame.cache()` so that they are not recomputed.

    Parameters
    ----------
    frame : pyspark.sql.DataFrame of numbers
    y : the name of the column of targets; all others are columns of X
    sample_weight : the name of the column of weights, or None
    """
    names = [name for name in frame.columns if name not in (y, sample_weight)]

    def run(task: PartitionTask) -> list[bytes]:
        def partition(batches: Iterator[Any]) -> Iterator[Any]:  # on a worker
            arrow, spark = importlib.import_module("pyarrow"), importlib.import_module("pyspark")
            rows = [batch for batch in batches if batch.num_rows]
            if rows:
                table = arrow.Table.from_batches(rows)
                values = [table[name].to_numpy() for name in (*names, y)]
                weight = None if sample_weight is None else table[sample_weight].to_numpy()
                number = spark.TaskContext.get().partitionId()
                result = task(number, np.column_stack(values[:-1]), values[-1], weight)
                yield arrow.RecordBatch.from_pydict({"result": [result]})

        return [bytes(row.result) for row in frame.mapInArrow(partition, "result binary").collect()]

    return MappedRows(run, names)


def check_seen(rows: Source, seen: str | None) -> None:
    """Raise a ValueError if a partition has changed since the summary."""
    if seen not in (None, rows.fingerprint):
        raise ValueError(
            "a partition of the collection has other rows than in the first pass; give a "
            "collection that always gives the same rows, or persist() it"
        )


@dataclass(frozen=True, eq=False)
class _SummaryTask:
    """Worker task: the summary of one partition, with the keys but not the values of its sample."""

    labels: bool
    dtype: Any

    def __call__(self, X: Any, y: Any, weight: Any, seen: None = None) -> SummaryBuilder:
        builder, rows = SummaryBuilder(labels=self.labels), source(X, y, weight).astype(self.dtype)
        for block in rows.blocks():
            builder.add(block, "the collection")
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


def in_pairs(parts: Sequence[Any], merge: Callable[[Any, Any], Any]) -> Any:
    """All parts merged by a tree that depends only on their number."""
    level = list(parts)
    while len(level) > 1:
        pairs = [merge(*level[i : i + 2]) for i in range(0, len(level) - 1, 2)]
        level = pairs + level[2 * len(pairs) :]
    return level[0]


def merged(left: Any, right: Any) -> Any:
    """The sums of two sets of rows."""
    # Dask may reuse the left sums after a worker dies, so they must not be changed.
    total = left.blank()()
    total.merge(left)
    total.merge(right)
    return total
