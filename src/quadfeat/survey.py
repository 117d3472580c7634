"""A first look at a source: how many rows, which classes, and a sample to learn a map from."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ._progress import progress
from .data import Source
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


def survey(source: Source, *, labels: bool, verbose: bool = False) -> Survey:
    """Read a source once; `labels` asks for the classes."""
    sample = _EveryKth()
    weights: Counter[Any] = Counter()
    n_rows = 0
    blocks = progress(
        source.blocks(), total=source.n_rows, label="looking at the data", verbose=verbose
    )
    for block in blocks:
        if block.y is None:
            raise ValueError(
                f"{source.name} has no target; give y, an array, or for a file its column's name"
            )
        if block.weight is not None and (block.weight < 0).any():
            raise ValueError(f"sample_weight must not be negative, got {block.weight.min()}")
        sample.add(n_rows, block.X, block.y, block.weight)
        n_rows += len(block)
        if labels:
            names, codes = np.unique(block.y, return_inverse=True)
            for name, total in zip(names, np.bincount(codes, block.weight), strict=True):
                weights[name] += total
    X, y, weight = sample.rows()
    if len(X) == 0:
        raise ValueError(f"{source.name} has no rows with a weight above zero")
    classes = np.array(sorted(name for name, total in weights.items() if total > 0))
    totals = np.array([weights[name] for name in classes.tolist()])
    return Survey(n_rows, X, y, weight, classes, totals)


class _EveryKth:
    """Every k-th row, where k doubles whenever there are too many: no random number, one pass."""

    def __init__(self) -> None:
        self._step = 1
        self._parts: list[tuple[Any, ...]] = []

    def add(self, first: int, X: Any, y: Any, weight: Any) -> None:
        rows = np.arange(-first % self._step, X.shape[0], self._step)
        if weight is not None:
            rows = rows[weight[rows] > 0]
        dense = X[rows].toarray() if sparse.issparse(X) else X[rows]
        kept = None if weight is None else weight[rows]
        self._parts.append((first + rows, dense, y[rows], kept))
        limit = min(_SAMPLE, max(1, _SAMPLE_VALUES // X.shape[1]))
        while sum(len(part[0]) for part in self._parts) > limit:
            self._step *= 2
            self._parts = [_thinned(part, self._step) for part in self._parts]

    def rows(self) -> tuple[Any, Any, Any]:
        if not self._parts:
            return np.empty((0, 0)), None, None
        _, X, y, weight = zip(*self._parts, strict=True)
        return (
            np.concatenate(X),
            np.concatenate(y),
            None if weight[0] is None else np.concatenate(weight),
        )


def _thinned(part: tuple[Any, ...], step: int) -> tuple[Any, ...]:
    keep = part[0] % step == 0
    return tuple(None if each is None else each[keep] for each in part)
