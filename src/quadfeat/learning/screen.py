"""The screen for subsets: products of functions of columns that correlate with a residual.

All pairs of d columns take one matrix product, all triples one for each function of a column.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import ndtri

from .._typing import Floats
from .cosine_basis import Subset

_FUNCTIONS = {1: 6, 2: 3, 3: 2}  # functions of each column to multiply, by the size of a subset
# Mean number of subsets that pass a screen without having an effect. Wrong main effects are cheap
# to drop.
_PASSED = {1: 0.5, 2: 0.1, 3: 0.1}
_MOST_TRIPLED = 100  # most columns whose triples are screened


class Screened(NamedTuple):
    """A subset that passed, and its largest squared score."""

    subset: Subset
    score: float


def rank_cosines(X: Floats) -> Floats:
    """cos(k pi rank) of every column, standardised, (d, n, k): functions of its order alone.

    >>> rank_cosines(np.arange(4.0)[:, None])[0, :, 0].round(2).tolist()
    [1.31, 0.54, -0.54, -1.31]
    """
    rank = np.column_stack([_ranks(column) for column in X.T])
    found = np.cos(np.pi * np.multiply.outer(rank.T, np.arange(1, _FUNCTIONS[1] + 1)))
    found -= found.mean(axis=1, keepdims=True)
    spread = found.std(axis=1, keepdims=True)
    return np.where(spread > 1e-9, found / np.where(spread > 1e-9, spread, 1.0), 0.0)


def screen(
    cosines: Floats,
    residual: Floats,
    weight: Floats,
    size: int,
    known: Collection[Subset],
    *,
    passed_by_chance: float | None = None,
) -> list[Screened]:
    """Subsets of a size that the residual depends on, the clearest first, except `known` ones.

    The score of a product u of functions is (sum w r u)^2 / sum (w r u)^2, about chi-squared of one
    degree without an effect, whatever the variance of the residual (White, 1980). A subset passes
    if its largest score exceeds the level that subsets of its size reach by chance in one of ten
    screens (every second for main effects).

    Parameters
    ----------
    cosines : (d, n, k), of `rank_cosines`
    residual : (n, t), of t targets
    weight : (n,)
    size : int, columns of a subset, up to 3
    passed_by_chance : float or None, how many subsets without an effect may pass, on average
    """
    by_chance = _PASSED[size] if passed_by_chance is None else passed_by_chance
    d, t = len(cosines), residual.shape[1]
    k = _FUNCTIONS[size]
    flat = np.ascontiguousarray(cosines[:, :, :k].transpose(1, 0, 2)).reshape(-1, d * k)
    best: dict[Subset, float] = {}
    for r in (residual * weight[:, None]).T:
        for subset, score in _scores(flat, r, d, size):
            best[subset] = max(best.get(subset, 0.0), score)
    limit = float(ndtri(min(by_chance / max(len(best) * k**size * t, 1), 1.0) / 2) ** 2)
    passed = [Screened(s, v) for s, v in best.items() if v > limit and s not in known]
    return sorted(passed, key=lambda each: (-each.score, each.subset))


def _scores(flat: Floats, r: Floats, d: int, size: int) -> Iterator[tuple[Subset, float]]:
    k = flat.shape[1] // d
    square = flat**2
    if size == 1:
        largest = _ratio(r @ flat, r**2 @ square).reshape(d, k).max(axis=1)
        yield from (((i,), float(value)) for i, value in enumerate(largest))
        return
    above = np.triu_indices(d, 1)
    if size == 2:
        largest = _pairs(flat, square, r, k)
        for i, j in zip(*above, strict=True):
            yield (int(i), int(j)), float(largest[i, j])
        return
    columns = np.arange(d)
    if d > _MOST_TRIPLED:  # the columns with the clearest pairs
        strongest = _pairs(flat, square, r, k).max(axis=0)
        columns = np.sort(np.argsort(-strongest, kind="stable")[:_MOST_TRIPLED])
    for position, i in enumerate(columns[:-2]):
        later = columns[position + 1 :]
        some = (later[:, None] * k + np.arange(k)).ravel()
        left, left_square = flat[:, some], square[:, some]
        products = [_pairs(left, left_square, r * flat[:, i * k + f], k) for f in range(k)]
        largest = np.maximum.reduce(products)
        for a, b in zip(*np.triu_indices(len(later), 1), strict=True):
            yield (int(i), int(later[a]), int(later[b])), float(largest[a, b])


def _pairs(flat: Floats, square: Floats, r: Floats, k: int) -> Floats:
    """The largest score of each pair of columns, (d, d)."""
    found = _ratio(flat.T @ (r[:, None] * flat), square.T @ ((r**2)[:, None] * square))
    d = flat.shape[1] // k
    return np.asarray(found.reshape(d, k, d, k).max(axis=(1, 3)))


def _ratio(sums: Floats, squares: Floats) -> Floats:
    """Squared sums divided by sums of squares; 0 if these are 0."""
    return np.asarray(sums**2 / np.where(squares > 0, squares, np.inf))


def _ranks(column: Floats) -> Floats:
    """Ranks between 0 and 1; equal values have their mean rank."""
    _, place, counts = np.unique(column, return_inverse=True, return_counts=True)
    return np.asarray((np.cumsum(counts) - counts / 2)[place] / len(column))
