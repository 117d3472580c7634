"""The smallest tensor grid with a certified error within a tolerance.

Observed errors give lower limits on the nodes per axis; the result is always a grid whose
certificate (`certificate.certify`) is at most the tolerance.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from .._typing import Axes, Floats
from ..kernels.base import Group, Kernel
from ..rules.choice import MOST_NODES, AxisRules
from ..rules.rule import Rule
from . import certificate
from .bounds import Grid
from .region import Region

_MANY = 512  # most grids to try for a smaller one


class GridSearch:
    """Searches for the smallest tensor grid that meets a tolerance; certificates are cached.

    Parameters
    ----------
    kernel : Kernel, resolved
    region : Region, where the error is bounded
    reaches : (d,), the gap on each axis for which the one-dimensional rules are chosen
    """

    def __init__(self, kernel: Kernel, region: Region, reaches: Floats) -> None:
        self._kernel, self._region, self._reaches = kernel, region, reaches
        self._groups = kernel.groups(len(reaches))
        self._axes = [g.kernel.axes(len(g.axes)) for g in self._groups]
        self._make = AxisRules(("auto",), reaches)
        total = sum(group.weight for group in self._groups)
        self._terms = [
            [
                (own[int(np.flatnonzero(group.axes == column)[0])], group.weight / total)
                for group, own in zip(self._groups, self._axes, strict=True)
                if column in group.axes
            ]
            for column in range(len(reaches))
        ]
        # If all axes are equal, only one of the grids that differ by a permutation of axes is
        # tried.
        self._alike = len(self._groups) == 1 and (
            len({*map(id, self._axes[0])}) == len({*reaches}) == len({*region.box}) == 1
        )
        self._gaps = _some_gaps(region)
        self._errors: dict[Any, float] = {}
        self._certified: dict[tuple[int, ...], float] = {}

    def fewest(self, tol: float, *, limit: float = np.inf) -> tuple[int, ...] | None:
        """Nodes per axis of the smallest grid with a certified error of at most `tol` of k(0).

        Rows that differ on one axis only have that axis' error, so every axis needs enough nodes
        for an error of `tol`. If these are not enough, the error of all axes is lowered until the
        certificate is at most `tol`; then grids between the two are tried, small ones first. None
        above `limit` columns or `MOST_NODES` nodes.
        """
        level, low, high = tol, None, (first := self._least(tol, limit))
        while high is not None and (value := self.certified(high)) > tol:
            if columns_of(self._groups, high) > limit:
                return None
            level, low = level * max(0.25, min(0.97, tol / value)), high
            high = self._least(level, np.inf)
        if high is None or first is None:
            return None
        if low is not None:
            high = self._between(first, low, high, tol)
        return tuple(high.tolist()) if columns_of(self._groups, high) <= limit else None

    def _between(self, first: Axes, low: Axes, high: Axes, tol: float) -> Axes:
        """The smallest grid between one that fails and one that is certified.

        Errors need not decrease with every node (even and odd rules differ), so the last steps try
        all grids from `first` on.
        """
        while (high - low).max() > 1:
            middle = (low + high) // 2
            if self.certified(middle) <= tol:
                high = middle
            else:
                low = middle
        for counts in self._smaller(first, high):
            if self.seen(counts) <= tol and self.certified(counts) <= tol:
                return counts
        return high

    def _smaller(self, low: Axes, high: Axes) -> list[Axes]:
        """Grids between two others, small ones first: all of them, or those next to `high`."""
        if np.prod(high - low + 1.0) > _MANY:
            widest = np.argsort(-high, kind="stable")[: int(np.log2(_MANY))]
            low = high.copy()
            low[widest] = np.maximum(1, high[widest] - 1)
        spans = [range(a, b + 1) for a, b in zip(low.tolist(), high.tolist(), strict=True)]
        every = (c for c in product(*spans) if not self._alike or list(c) == sorted(c)[::-1])
        return sorted(map(np.array, every), key=lambda counts: columns_of(self._groups, counts))

    def seen(self, counts: Axes) -> float:
        """The largest error seen at some gaps of the region, over k(0)."""
        error = np.zeros(len(self._gaps))
        for group, axes, own in zip(self._groups, self.rules(counts), self._axes, strict=True):
            exact, found = np.ones(len(error)), np.ones(len(error))
            for axis, rule, column in zip(own, axes, group.axes, strict=True):
                gap = self._gaps[:, column]
                exact *= axis.profile(gap)
                found *= rule(gap[:, None])
            error += group.weight * (exact - found)
        return float(np.abs(error).max()) / sum(group.weight for group in self._groups)

    def error(self, column: int, n: int) -> float:
        """The largest error seen between rows that differ on one axis alone, over k(0)."""
        terms, reach = self._terms[column], float(self._reaches[column])
        key = tuple((id(axis), weight) for axis, weight in terms), reach, n
        if key not in self._errors:
            gap = np.linspace(0.0, reach, 201 + 4 * n)
            total = np.zeros(len(gap))
            for axis, weight in terms:
                rule = self._make(axis, column, n)
                total += weight * (axis.profile(gap) - rule(gap[:, None]))
            self._errors[key] = float(np.abs(total).max())
        return self._errors[key]

    def certified(self, counts: Axes) -> float:
        """The certificate of the grid with these nodes per axis."""
        key = tuple(counts.tolist())
        if key not in self._certified:
            constructions = [Grid(tuple(axes)) for axes in self.rules(counts)]
            proof = certificate.certify(self._kernel, constructions, self._region)
            self._certified[key] = proof.value
        return self._certified[key]

    def rules(self, counts: Axes) -> list[list[Rule]]:
        """The one-dimensional rules of each group's grid."""
        return [
            [
                self._make(axis, int(column), int(counts[column]))
                for axis, column in zip(own, group.axes, strict=True)
            ]
            for group, own in zip(self._groups, self._axes, strict=True)
        ]

    def _least(self, tol: float, limit: float) -> Axes | None:
        """The fewest nodes on each axis for its error; None if these are already too many."""
        counts = np.ones(len(self._terms), dtype=np.intp)
        for column, terms in enumerate(self._terms):
            low, high = 0, 1
            while terms and self.error(column, high) > tol:
                low, high = high, 2 * high
                counts[column] = low + 1
                if low >= MOST_NODES or columns_of(self._groups, counts) > limit:
                    return None
            while high - low > 1:
                middle = (low + high) // 2
                if self.error(column, middle) > tol:
                    low = middle
                else:
                    high = middle
            counts[column] = high
        return counts


def _some_gaps(region: Region, n: int = 256) -> Floats:
    """Gaps of a region, more of them near its boundary: a grid that fails on one is not tried."""
    d = len(region.box)
    gaps = np.abs(np.random.default_rng(0).standard_normal((n, d)))
    gaps *= (region.diameter * np.linspace(0.05, 1.0, n) / np.linalg.norm(gaps, axis=1))[:, None]
    return np.asarray(np.minimum(gaps, region.box))


def columns_of(groups: Sequence[Group], counts: Axes) -> float:
    """The columns of a tensor grid with `counts` nodes per axis, as a float: it cannot overflow."""
    return float(sum(np.prod(counts[group.axes].astype(float)) for group in groups))
