"""Folds: every row, or every later one, is predicted once by a model that has not seen it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import KFold, StratifiedKFold

from .holdout import checked_times
from .rows import RowBlock

Masks = list[tuple[Any, Any]]  # training rows and test rows of each fold, (n,) each


def random_folds(block: RowBlock, n_folds: int, *, classes: bool) -> Masks:
    """Random rows; classes are spread over folds as evenly as possible."""
    n = len(block)
    if n < 2 * n_folds:
        raise ValueError(f"{n} rows are too few for --folds {n_folds}; give at least {2 * n_folds}")
    kind: Any = StratifiedKFold if classes else KFold
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about classes with fewer rows than folds
        try:
            splits = list(kind(n_folds, shuffle=True, random_state=0).split(np.empty(n), block.y))
        except ValueError:  # all classes have fewer rows
            splits = list(KFold(n_folds, shuffle=True, random_state=0).split(np.empty(n)))
    return [(_mask(train, n), _mask(test, n)) for train, test in splits]


def group_folds(block: RowBlock, n_folds: int, name: str) -> Masks:
    """Whole groups, large ones first, each put into the fold with the fewest rows."""
    codes = np.unique(block.key.astype(str), return_inverse=True)[1]
    sizes = np.bincount(codes)
    if len(sizes) < n_folds:
        raise ValueError(
            f"--group {name} has {len(sizes)} groups, fewer than --folds {n_folds}; give --folds "
            f"{len(sizes)}, or name a column with more groups"
            if len(sizes) > 1
            else f"--group {name} has one value only; name a column with several groups"
        )
    order = np.random.default_rng(0).permutation(len(sizes))
    fold, totals = np.empty(len(sizes), dtype=int), np.zeros(n_folds)
    for i in order[np.argsort(-sizes[order], kind="stable")]:
        fold[i] = int(np.argmin(totals))
        totals[fold[i]] += sizes[i]
    return [(fold[codes] != k, fold[codes] == k) for k in range(n_folds)]


def time_folds(block: RowBlock, n_folds: int, name: str) -> Masks:
    """Time is cut into n_folds + 1 spans; each but the first is predicted from those before it."""
    times = checked_times([block.key], name)
    limits = np.quantile(times, np.arange(1, n_folds + 1) / (n_folds + 1))
    span = np.searchsorted(np.unique(limits), times, side="left")
    span = np.unique(span, return_inverse=True)[1]
    if span.max() == 0:
        raise ValueError(f"--time {name} has one value only; name a column that tells rows apart")
    return [(span < k, span == k) for k in range(1, span.max() + 1)]


def _mask(rows: Any, n: int) -> Any:
    mask = np.zeros(n, dtype=bool)
    mask[rows] = True
    return mask
