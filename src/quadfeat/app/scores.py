"""Scores of predictions on held-out rows, with 95% intervals.

An interval is the estimate plus and minus t standard errors, on a scale where the estimate is
nearly normal: log(1 - R2), logit of the AUROC (DeLong, DeLong and Clarke-Pearson, 1988), Wilson's
(1927) for shares. Standard errors come from the part of each row in the estimate; rows of a group
are added up first (Obuchowski, 1997), so that intervals hold for new groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import stats

from .._typing import Floats

_CONFIDENCE = 0.95


@dataclass(frozen=True)
class Score:
    """A score, its 95% interval, and the score of a prediction that ignores the row."""

    name: str
    value: float
    low: float
    high: float
    chance: float

    @property
    def learned(self) -> bool:
        """Whether the whole interval is above chance."""
        return self.low > self.chance

    def __str__(self) -> str:
        return f"{self.name} {self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


@dataclass(frozen=True, eq=False)
class RowParts:
    """A score, and the part of each row in its error: the sum of `parts` (n,), of mean 0.

    So the error of a difference of two scores on the same rows comes from the difference of parts.
    """

    value: float
    parts: Floats


def r2_parts(y: Any, predicted: Any, mean: Any) -> RowParts:
    """R2 relative to `mean`, a number or one per row."""
    errors, errors_of_mean = np.square(y - predicted), np.square(y - mean)
    total, total_of_mean = float(errors.sum()), float(errors_of_mean.sum())
    if total_of_mean == 0:
        return RowParts(np.nan, np.zeros(len(errors)))
    ratio = total / total_of_mean
    return RowParts(1 - ratio, ratio * errors_of_mean / total_of_mean - errors / total_of_mean)


def auroc_parts(positive: Any, scores: Any, fold: Any = None) -> RowParts:
    """The AUROC; for several folds (scores are not comparable) their mean weighted by rows."""
    positive = np.asarray(positive, dtype=bool)
    fold = np.zeros(len(positive), dtype=int) if fold is None else fold
    values, weights, parts = [], [], np.zeros(len(positive))
    for number in np.unique(fold):
        rows = np.flatnonzero(fold == number)
        m, n = int(positive[rows].sum()), int((~positive[rows]).sum())
        if m and n:
            place = _placements(positive[rows], scores[rows])
            value = float(place[positive[rows]].mean())
            parts[rows] = len(rows) * (place - value) / np.where(positive[rows], m, n)
            values.append(value)
            weights.append(len(rows))
    if not values:
        return RowParts(np.nan, parts)
    return RowParts(float(np.average(values, weights=weights)), parts / sum(weights))


def _placements(positive: Any, scores: Any) -> Floats:
    """For each row, the share of rows of the other class that it is ranked correctly against."""
    ranks = stats.rankdata(scores)
    place = np.empty(len(ranks))
    place[positive] = (ranks[positive] - stats.rankdata(scores[positive])) / (~positive).sum()
    place[~positive] = 1 - (ranks[~positive] - stats.rankdata(scores[~positive])) / positive.sum()
    return place


def accuracy_parts(right: Any) -> RowParts:
    """The share of correct predictions."""
    right = np.asarray(right, dtype=np.float64)
    return RowParts(float(right.mean()), (right - right.mean()) / len(right))


def paired(a: RowParts, b: RowParts, group: Any = None) -> tuple[float, float, float]:
    """The difference a - b on the same rows, with the ends of its 95% interval."""
    difference, spread = a.value - b.value, _spread(a.parts - b.parts, group)
    return difference, difference - spread, difference + spread


def r2(y: Any, predicted: Any, mean: Any, group: Any = None) -> Score:
    """1 - squared error / squared error of the mean of the training rows."""
    found = r2_parts(y, predicted, mean)
    if not found.value < 1:  # also nan
        return Score("R2", found.value, found.value, found.value, 0.0)
    spread = _spread(found.parts / (1 - found.value), group)
    low, high = (1 - (1 - found.value) * np.exp([spread, -spread])).tolist()
    return Score("R2", found.value, low, high, 0.0)


def auroc(positive: Any, scores: Any, group: Any = None, fold: Any = None) -> Score:
    """The probability that a row of the second class scores higher than one of the first."""
    found = auroc_parts(positive, scores, fold)
    value = found.value
    if value in (0.0, 1.0):
        edge = 3 / min(int(np.sum(positive)), int(np.sum(~np.asarray(positive, dtype=bool))))
        # the rule of three
        low, high = (max(0.0, 1 - edge), 1.0) if value else (0.0, min(1.0, edge))
        return Score("AUROC", value, low, high, 0.5)
    if np.isnan(value):
        return Score("AUROC", value, value, value, 0.5)
    if group is None and fold is None:
        spread = _spread_of_classes(found.parts, np.asarray(positive, dtype=bool))
    else:
        spread = _spread(found.parts, group)
    spread /= value * (1 - value)
    logit = np.log(value / (1 - value))
    low, high = (float(1 / (1 + np.exp(-(logit + sign * spread)))) for sign in (-1, 1))
    return Score("AUROC", value, low, high, 0.5)


def accuracy(right: Any, chance: float, group: Any = None) -> Score:
    """The share of correct predictions; `chance` is the share of the most frequent class."""
    found = accuracy_parts(right)
    n, value = float(len(found.parts)), found.value
    z = float(stats.norm.ppf((1 + _CONFIDENCE) / 2))
    if group is not None and 0 < value < 1:  # independent rows with the same standard error
        spread = _spread(found.parts, group) / z
        n = value * (1 - value) / spread**2 if spread > 0 else n
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Score("accuracy", value, float(low), float(high), chance)


def _spread_of_classes(parts: Floats, positive: Any) -> float:
    """t times the standard error of a sum over two classes, each of mean 0 (Welch, 1947).

    So a class of few rows counts as few; for a single row the error is not known.
    """
    sizes = np.array([positive.sum(), (~positive).sum()])
    if sizes.min() < 2:
        return float("inf")
    squares = np.array([np.sum(parts[rows] ** 2) for rows in (positive, ~positive)])
    variances = squares * sizes / (sizes - 1)
    total = float(variances.sum())
    if total == 0:
        return 0.0
    freedom = total**2 / float(np.sum(variances**2 / (sizes - 1)))
    return float(stats.t.ppf((1 + _CONFIDENCE) / 2, freedom)) * float(np.sqrt(total))


def _spread(parts: Floats, group: Any) -> float:
    """t times the standard error of a sum of parts, one per row; rows of a group are one part."""
    if group is not None:
        codes = np.unique(group, return_inverse=True)[1]
        parts = np.bincount(codes, parts).astype(np.float64)
    n = len(parts)
    if n < 2:
        return float("inf")
    quantile = float(stats.t.ppf((1 + _CONFIDENCE) / 2, n - 1))
    return quantile * float(np.sqrt(np.sum(parts**2) * n / (n - 1)))
