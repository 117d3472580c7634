"""A first look at a source: how many rows, which classes, and a sample to learn a map from."""

from __future__ import annotations

import functools
import itertools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._progress import progress
from .._typing import Floats, Matrix
from . import sources
from .base import Source
from .blocks import Block
from .sampling import Drawn, RowSample, row_keys, sample_size

_LARGEST_WEIGHT = 1e100


@dataclass(frozen=True, eq=False)
class Survey:
    """What one pass over a source tells.

    Parameters
    ----------
    n_rows : int
    sample : RowSample, of the distinct rows with a weight above zero
    distinct_share : float, the effective number of distinct rows over that of rows
    classes : sorted labels, where they were asked for
    class_weights : total weight of each
    """

    n_rows: int
    sample: RowSample
    distinct_share: float
    classes: Any
    class_weights: Floats

    @functools.cached_property
    def drawn(self) -> Drawn:
        """The rows of the sample, dense, in an order that their values decide."""
        return self.sample.drawn()

    def joined(self, before: RowSample, n_rows: float) -> Survey:
        """The same of these and earlier rows, whose sample takes these in; `n_rows` effective."""
        before.merge(self.sample)
        return replace(self, sample=before, distinct_share=_distinct_share(before, n_rows))

    def some(self, rows: int) -> Survey:
        """The same with about so many rows in the sample; every class keeps some of its own."""
        return replace(self, sample=self.sample.limited(rows))


@dataclass(frozen=True, eq=False)
class Once:
    """An iterator of blocks, which can be read once: its first rows are looked at beforehand."""

    head: Source
    whole: Source

    @classmethod
    def of(cls, blocks: Iterator[Any]) -> Once | Source:
        """Take blocks until they are enough to learn a map from; all of them, if they are few."""
        first: list[Any] = []
        rows = 0
        for block in blocks:
            first.append(sources.kept(block))
            shape = np.shape(first[-1][0])
            if len(shape) != 2:
                raise ValueError(f"X of a block must be (rows, columns), got shape {shape}")
            rows += shape[0]
            if rows >= sample_size(shape[1]):
                break
        else:
            if not rows:
                raise ValueError(
                    "the iterator of blocks has no rows: it is empty, or has been read before; "
                    "give a list of blocks, or a function that returns a new iterator each time"
                )
            return sources.source(first)
        return cls(sources.source(first), sources.source(itertools.chain(first, blocks)))

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
    tally = Tally(labels=labels)
    blocks = progress(
        source.blocks(), total=source.n_rows, label="looking at the data", verbose=verbose
    )
    for block in blocks:
        tally.add(block, source.name)
    return tally.survey(source.name)


class Tally:
    """What a survey counts, of rows that are seen once; tallies of parts merge.

    Parameters
    ----------
    labels : bool, to count the classes
    """

    def __init__(self, *, labels: bool) -> None:
        self.n_rows = 0
        self.sample: RowSample | None = None
        self.fingerprints: list[str] = []  # of parts of the data, in their order
        self._labels = labels
        self._classes: Counter[Any] = Counter()  # their weights
        self._weight = self._square = 0.0  # sums of the weights and of their squares

    def add(self, block: Block, name: str) -> None:
        """Count the rows of a block of the source `name`, and draw from them."""
        check_block(block, name)
        self.n_rows += len(block)
        weight = np.ones(len(block)) if block.weight is None else block.weight
        self._weight += float(weight.sum())
        self._square += float(weight @ weight)
        if self._labels:
            self._classes += label_weights(block)
        if self.sample is None:
            self.sample = RowSample(sample_size(block.X.shape[1]), by_class=self._labels)
        self.sample.add(block)

    def blank(self) -> Callable[[], Tally]:
        """Makes tallies of this kind without rows."""
        return functools.partial(Tally, labels=self._labels)

    def merge(self, other: Tally) -> None:
        """Add what another has counted and drawn."""
        self.n_rows += other.n_rows
        self.fingerprints += other.fingerprints
        self._weight += other._weight
        self._square += other._square
        self._classes += other._classes
        if self.sample is None and other.sample is not None:
            self.sample = other.sample.blank()()
        if self.sample is not None and other.sample is not None:
            self.sample.merge(other.sample)

    def survey(self, name: str) -> Survey:
        """What was seen of the source `name`."""
        drawn = None if self.sample is None else self.sample.drawn()
        if self.sample is None or drawn is None or len(drawn.X) == 0:
            raise ValueError(f"{name} has no rows with a weight above zero")
        if (largest := drawn.weight.max()) < 1 / _LARGEST_WEIGHT:
            raise ValueError(_beyond(largest))
        labels = sorted(self._classes)
        classes, totals = np.array(labels), np.array([self._classes[each] for each in labels])
        share = _distinct_share(self.sample, self._weight**2 / self._square)
        return Survey(self.n_rows, self.sample, share, classes, totals)


def _distinct_share(sample: RowSample, n_rows: float) -> float:
    drawn = sample.drawn()
    return sample.n_distinct * effective_share(drawn.weight, drawn.share) / n_rows


def distinct_rows(X: Matrix) -> Matrix:
    """The distinct rows of a sample, in an order that their values decide.

    Copies and weights do not affect a map.
    """
    return X[np.unique(row_keys(X), return_index=True)[1]]


def effective_share(weight: Floats, share: Floats | None = None) -> float:
    """(mean w)^2 / mean w^2, by which unequal weights make rows fewer (Kish, 1965).

    `share` is the chance of each to be among these rows.
    """
    mass = None if share is None else 1 / share
    return float(np.average(weight, weights=mass) ** 2 / np.average(weight**2, weights=mass))


def check_block(block: Block, name: str) -> None:
    """Refuse rows without targets, and negative weights."""
    if block.y is None:
        raise ValueError(f"{name} has no target; give y, an array, or for a file its column's name")
    if block.weight is None:
        return
    if (block.weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got {block.weight.min()}")
    if (largest := block.weight.max(initial=0.0)) > _LARGEST_WEIGHT:
        raise ValueError(_beyond(largest))


def _beyond(weight: float) -> str:
    return (
        f"sample_weight of {weight:g} has a square beyond the range of floats; only ratios of "
        f"weights matter, so divide them by their mean"
    )


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
