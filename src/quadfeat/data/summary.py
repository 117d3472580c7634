"""The summary of a source: number of rows, classes, and a sample to fit a map on."""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._display.progress import progress
from .._typing import Floats, Matrix
from .blocks import Block
from .sampling import RowSample, SampledRows, row_keys, sample_size

_LARGEST_WEIGHT = 1e100


@dataclass(frozen=True, eq=False)
class Summary:
    """The results of one pass over a source.

    Parameters
    ----------
    n_rows : int, rows read
    sample : RowSample, of the distinct rows with a positive weight
    distinct_share : float, effective number of distinct rows / effective number of rows
    classes : sorted labels, if requested
    class_weights : total weight of each class
    of_all : bool, False if only the first rows of an iterator were read
    """

    n_rows: int
    sample: RowSample
    distinct_share: float
    classes: Any
    class_weights: Floats
    of_all: bool = True

    @functools.cached_property
    def drawn(self) -> SampledRows:
        """The rows of the sample, dense, in an order that depends on their values only."""
        return self.sample.drawn()

    def joined(self, before: RowSample, n_rows: float) -> Summary:
        """The summary of these rows and those of `before`, whose sample is extended in place.

        `n_rows` is the effective number of all of them.
        """
        before.merge(self.sample)
        share = _distinct_share(before, n_rows)
        return replace(self, sample=before, distinct_share=share, of_all=True)

    def some(self, rows: int) -> Summary:
        """The same summary with about `rows` rows in the sample; every class keeps some."""
        return replace(self, sample=self.sample.limited(rows))


def summarise(blocks: Iterator[Block], name: str, n_rows: int | None, *, labels: bool) -> Summary:
    """Read all blocks of the source `name` once.

    Parameters
    ----------
    blocks : iterator of Block
    name : str, for messages
    n_rows : int, for the progress bar, or None if unknown
    labels : bool, whether to collect the classes
    """
    builder = SummaryBuilder(labels=labels)
    for block in progress(blocks, total=n_rows, label="looking at the data"):
        builder.add(block, name)
    return builder.summary(name)


class SummaryBuilder:
    """Accumulates a `Summary` block by block; builders of parts of the data can be merged.

    Parameters
    ----------
    labels : bool, whether to collect the classes
    """

    def __init__(self, *, labels: bool) -> None:
        self.n_rows = 0
        self.sample: RowSample | None = None
        self.fingerprints: list[str] = []  # one for each part of the data, in order
        self._labels = labels
        self._classes: Counter[Any] = Counter()  # total weight of each
        self._weight = self._square = 0.0  # sum of weights, sum of squared weights

    def add(self, block: Block, name: str) -> None:
        """Add a block of the source `name`."""
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

    def blank(self) -> Callable[[], SummaryBuilder]:
        """A function that returns an empty builder of this kind."""
        return functools.partial(SummaryBuilder, labels=self._labels)

    def merge(self, other: SummaryBuilder) -> None:
        """Add everything that another builder has accumulated."""
        self.n_rows += other.n_rows
        self.fingerprints += other.fingerprints
        self._weight += other._weight
        self._square += other._square
        self._classes += other._classes
        if self.sample is None and other.sample is not None:
            self.sample = other.sample.blank()()
        if self.sample is not None and other.sample is not None:
            self.sample.merge(other.sample)

    def summary(self, name: str) -> Summary:
        """The summary of all rows added so far, of the source `name`."""
        drawn = None if self.sample is None else self.sample.drawn()
        if self.sample is None or drawn is None or len(drawn.X) == 0:
            raise ValueError(f"{name} has no rows with a weight above zero")
        if (largest := drawn.weight.max()) < 1 / _LARGEST_WEIGHT:
            raise ValueError(_beyond(largest))
        labels = sorted(self._classes)
        classes, totals = np.array(labels), np.array([self._classes[label] for label in labels])
        share = _distinct_share(self.sample, self._weight**2 / self._square)
        return Summary(self.n_rows, self.sample, share, classes, totals)


def _distinct_share(sample: RowSample, n_rows: float) -> float:
    drawn = sample.drawn()
    return sample.n_distinct * effective_share(drawn.weight, drawn.share) / n_rows


def distinct_rows(X: Matrix) -> Matrix:
    """The distinct rows of X, in an order that depends on their values only.

    Maps are fitted on these, so duplicates and weights do not affect a map.
    """
    return X[np.unique(row_keys(X), return_index=True)[1]]


def effective_share(weight: Floats, share: Floats | None = None) -> float:
    """(mean w)^2 / mean w^2: effective number of rows / number of rows (Kish, 1965).

    `share` is each row's chance of being sampled, if these rows are a sample.
    """
    mass = None if share is None else 1 / share
    return float(np.average(weight, weights=mass) ** 2 / np.average(weight**2, weights=mass))


def check_block(block: Block, name: str) -> None:
    """Raise a ValueError for missing targets, and for negative or too large weights."""
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
    """One label per row, (n,); a single column (n, 1) is flattened."""
    labels = np.asarray(block.y)
    if labels.size != len(block):
        raise ValueError(f"y has shape {labels.shape}, and a classifier needs one label per row")
    if labels.dtype.kind == "f" and labels.size:
        largest = np.abs(labels).max()
        if largest >= 2 / np.finfo(labels.dtype).eps:
            raise ValueError(
                f"y has labels up to {largest:g} as {labels.dtype}, which cannot represent all "
                f"whole numbers of that size; give them as int64 or as text"
            )
    return labels.ravel()


def label_weights(block: Block) -> Counter[Any]:
    """The total weight of each label whose weight is positive."""
    names, codes = np.unique(labels_of(block), return_inverse=True)
    totals = np.bincount(codes, block.weight).tolist()
    return +Counter(dict(zip(names, totals, strict=True)))
