"""A first look at a source: how many rows, which classes, and a sample to learn a map from."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from . import data
from ._progress import progress
from .data import Block, Source
from .features import Matrix
from .rules import Floats

_SAMPLE = 20_000  # rows that a map learns from
_SAMPLE_VALUES = 2**27  # and how many numbers they may be


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over a source tells.

    Parameters
    ----------
    n_rows : int
    X, y, weight : every k-th row of the source, dense, with a weight above zero
    classes : sorted labels, where they were asked for
    class_weights : total weight of each
    """

    n_rows: int
    X: Matrix
    y: Any
    weight: Floats | None
    classes: Any
    class_weights: Floats

    def distinct_rows(self) -> Matrix:
        """The sample without repetitions, sorted: rows that weigh twice change no map."""
        return np.unique(self.X, axis=0)

    def some(self, rows: int) -> Survey:
        """The same with at most so many rows of the sample, evenly spaced."""
        step = -(-len(self.X) // rows)
        weight = None if self.weight is None else self.weight[::step]
        return Survey(
            self.n_rows,
            self.X[::step],
            self.y[::step],
            weight,
            self.classes,
            self.class_weights,
        )


@dataclass(frozen=True, eq=False)
class Once:
    """An iterator of blocks, which can be read once: its first rows are looked at beforehand."""

    head: Source
    whole: Source

    @classmethod
    def of(cls, blocks: Iterator[Any]) -> Once:
        """Take blocks until they are enough to learn a map from."""
        first: list[Any] = []
        rows = 0
        for block in blocks:
            first.append(data.kept(block))
            rows += np.shape(first[-1][0])[0]
            if rows >= _SAMPLE:
                break
        if not rows:
            raise ValueError(
                "the iterator of blocks has no rows: it is empty, or has been read before; give a "
                "list of blocks, or a function that returns a new iterator each time"
            )
        return cls(data.source(first), data.source(itertools.chain(first, blocks)))

    def astype(self, dtype: Any) -> Once:
        return Once(self.head.astype(dtype), self.whole.astype(dtype))

    @property
    def fingerprint(self) -> str:
        """Of what was looked at; a checkpoint compares the rest as it is read again."""
        return self.head.fingerprint

    @property
    def columns(self) -> tuple[str, ...] | None:
        """The names of X's columns, once its head was read."""
        return self.head.columns


def survey(source: Source, *, labels: bool, verbose: bool = False) -> Survey:
    """Read a source once; `labels` asks for the classes."""
    sample = EveryKth()
    weights: Counter[Any] = Counter()
    n_rows = 0
    blocks = progress(
        source.blocks(), total=source.n_rows, label="looking at the data", verbose=verbose
    )
    for block in blocks:
        check_block(block, source.name)
        sample.add(every_kth(block, n_rows, sample.step))
        n_rows += len(block)
        if labels:
            weights += label_weights(block)
    return surveyed(source.name, n_rows, sample, weights)


def check_block(block: Block, name: str) -> None:
    """Refuse rows without targets, and negative weights."""
    if block.y is None:
        raise ValueError(f"{name} has no target; give y, an array, or for a file its column's name")
    if block.weight is not None and (block.weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {block.weight.min()}")


def labels_of(block: Block) -> Any:
    """One label per row, (n,); a column of them is taken for that."""
    labels = np.asarray(block.y)
    if labels.size != len(block):
        raise ValueError(f"y has shape {labels.shape}, and a classifier needs one label per row")
    if labels.dtype.kind == "f" and labels.size:
        largest = np.abs(labels).max()
        if largest >= 2 / np.finfo(labels.dtype).eps:
            raise ValueError(
                f"y has labels up to {largest:g} as {labels.dtype}, which cannot tell whole "
                f"numbers of that size apart; give them as int64 or as text"
            )
    return labels.ravel()


def label_weights(block: Block) -> Counter[Any]:
    """The total weight of each label that has any."""
    names, codes = np.unique(labels_of(block), return_inverse=True)
    totals = np.bincount(codes, block.weight).tolist()
    return +Counter(dict(zip(names, totals, strict=True)))


def surveyed(name: str, n_rows: int, sample: EveryKth, weights: Counter[Any]) -> Survey:
    """What was seen, put together."""
    X, y, weight = sample.rows()
    if len(X) == 0:
        raise ValueError(f"{name} has no rows with a weight above zero")
    classes = np.array(sorted(weights))
    totals = np.array([weights[each] for each in classes.tolist()])
    return Survey(n_rows, X, y, weight, classes, totals)


Part = tuple[Any, Any, Any, Any]  # numbers of rows, X, y, weight


def every_kth(block: Block, first: int, step: int) -> Part:
    """Rows of a block whose number is a multiple of `step`; its first row has number `first`."""
    rows = np.arange(-first % step, len(block), step)
    if block.weight is not None:
        rows = rows[block.weight[rows] > 0]
    dense = block.X[rows].toarray() if sparse.issparse(block.X) else block.X[rows]
    kept = None if block.weight is None else block.weight[rows]
    return first + rows, dense, block.y[rows], kept


def sample_size(n_columns: int) -> int:
    """How many rows a sample may have."""
    return min(_SAMPLE, max(1, _SAMPLE_VALUES // n_columns))


class EveryKth:
    """Every k-th row, where k doubles whenever there are too many: no random number, one pass."""

    def __init__(self) -> None:
        self.step = 1
        self._parts: list[Part] = []

    def add(self, part: Part) -> None:
        """Add rows that `every_kth` found, in their order; `step` may have doubled since."""
        self._parts.append(_thinned(part, self.step))
        while sum(len(each[0]) for each in self._parts) > sample_size(part[1].shape[1]):
            self.step *= 2
            self._parts = [_thinned(each, self.step) for each in self._parts]

    def rows(self) -> tuple[Any, Any, Any]:
        """X, y and weight of the sample."""
        if not self._parts:
            return np.empty((0, 0)), None, None
        _, X, y, weight = zip(*self._parts, strict=True)
        return (
            np.concatenate(X),
            np.concatenate(y),
            None if weight[0] is None else np.concatenate(weight),
        )


def _thinned(part: Part, step: int) -> Part:
    keep = part[0] % step == 0
    number, X, y, weight = part
    return number[keep], X[keep], y[keep], None if weight is None else weight[keep]
