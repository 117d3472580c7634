"""Scores of predictions on held-out rows, with 95% intervals.

An interval is the estimate and t times its standard error, on a scale on which the estimate is
nearly normal: log(1 - R2), logit of the AUROC (DeLong, DeLong and Clarke-Pearson, 1988), Wilson's
(1927) for shares. Standard errors come from what each row adds to the estimate; rows of one group
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
    """A score, its 95% interval, and the score of a prediction that knows nothing of the row."""

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


def r2(y: Any, predicted: Any, mean: float, group: Any = None) -> Score:
    """1 - squared error / squared error of the mean of the training rows."""
    errors, errors_of_mean = np.square(y - predicted), np.square(y - mean)
    total, total_of_mean = float(errors.sum()), float(errors_of_mean.sum())
    if total_of_mean == 0:
        return Score("R2", np.nan, np.nan, np.nan, 0.0)
    if total == 0:
        return Score("R2", 1.0, 1.0, 1.0, 0.0)
    spread = _spread(errors / total - errors_of_mean / total_of_mean, group)
    ratio = np.log(total / total_of_mean)
    high, value, low = (1 - np.exp(ratio + np.array([-1, 0, 1]) * spread)).tolist()
    return Score("R2", value, low, high, 0.0)


def auroc(positive: Any, scores: Any, group: Any = None) -> Score:
    """The chance that a row of the second class has a higher score than one of the first."""
    positive = np.asarray(positive, dtype=bool)
    m, n = int(positive.sum()), int((~positive).sum())
    if not m or not n:
        return Score("AUROC", np.nan, np.nan, np.nan, 0.5)
    ranks = stats.rankdata(scores)
    place = np.empty(len(ranks))
    place[positive] = (ranks[positive] - stats.rankdata(scores[positive])) / n
    place[~positive] = 1 - (ranks[~positive] - stats.rankdata(scores[~positive])) / m
    value = float(place[positive].mean())
    if value in (0.0, 1.0):
        edge = 3 / min(m, n)  # the rule of three
        low, high = (max(0.0, 1 - edge), 1.0) if value else (0.0, min(1.0, edge))
        return Score("AUROC", value, low, high, 0.5)
    part = (place - value) / np.where(positive, m, n)
    spread = _spread(part, group) / (value * (1 - value))
    logit = np.log(value / (1 - value))
    low, high = (float(1 / (1 + np.exp(-(logit + sign * spread)))) for sign in (-1, 1))
    return Score("AUROC", value, low, high, 0.5)


def accuracy(right: Any, chance: float, group: Any = None) -> Score:
    """The share of rows that are predicted right; `chance` is that of the most frequent class."""
    right = np.asarray(right, dtype=np.float64)
    n, value = float(len(right)), float(right.mean())
    z = float(stats.norm.ppf((1 + _CONFIDENCE) / 2))
    if group is not None and 0 < value < 1:  # as many rows as would have the same standard error
        spread = _spread((right - value) / n, group) / z
        n = value * (1 - value) / spread**2 if spread > 0 else n
    middle = (value + z**2 / (2 * n)) / (1 + z**2 / n)
    half = z / (1 + z**2 / n) * np.sqrt(value * (1 - value) / n + z**2 / (4 * n**2))
    low, high = max(0.0, middle - half), min(1.0, middle + half)
    return Score("accuracy", value, float(low), float(high), chance)


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
