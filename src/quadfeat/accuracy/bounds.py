"""The vocabulary of the proofs: constructions that can be certified, and bounds on cells.

A construction is the result of a map for one group of axes: a `Rule` of any nodes, a tensor `Grid`,
a `Sparse` grid, a `Reweighted` grid, or a `SpectralLattice`. A proof returns a `Bound`: a step
function of |u|^2 that no |k - k~| of the group exceeds.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from .._typing import Floats, Integers
from ..rules.rule import Axis, Rule


class Provable(Protocol):
    """The methods of a kernel that bounds for any rule need."""

    def at(self, gaps: Floats) -> Floats:
        """k at the rows of gaps (n, d): (n,)."""

    def axes(self, d: int) -> list[Axis]:
        """The one-dimensional kernels whose product k is."""

    def bends(self, d: int) -> Floats | None:
        """Bounds (d,) of the second derivatives along each axis, or None if unknown."""


@dataclass(frozen=True, eq=False)
class Grid:
    """The tensor grid of one-dimensional rules."""

    axes: tuple[Rule, ...]


@dataclass(frozen=True, eq=False)
class Sparse:
    """The Smolyak grid of total level `level`: levels[i][l] is the rule of axis i at level l."""

    levels: tuple[tuple[Rule, ...], ...]

    @property
    def level(self) -> int:
        return len(self.levels[0]) - 1


@dataclass(frozen=True, eq=False)
class Reweighted:
    """Some nodes of a tensor grid with other weights: pruned, renormalised or refitted."""

    grid: Grid
    rule: Rule


@dataclass(frozen=True, eq=False)
class SpectralLattice:
    """Equispaced nodes on every axis with weights as the density, of an isotropic kernel."""

    steps: Floats
    counts: Integers
    density: Callable[[Floats], Floats]


Construction = Rule | Grid | Sparse | Reweighted | SpectralLattice


class Bound(NamedTuple):
    """upper[i] bounds a group's |k - k~| wherever |u|^2 <= (i + 1) * step; it never decreases."""

    step: float
    upper: Floats
    method: str


def rule_key(rule: Rule) -> tuple[bytes, bytes]:
    """Equal for rules with the same nodes and weights, so that they share one proof."""
    return rule.nodes.tobytes(), rule.weights.tobytes()


def chain(bound: Bound) -> tuple[Floats, Floats]:
    """Slopes and lengths of the least concave majorant of a bound, from left to right."""
    x = bound.step * np.arange(len(bound.upper) + 1)
    y = np.append(bound.upper, bound.upper[-1])
    hull = [0]
    for i in range(1, len(x)):
        while len(hull) > 1 and (y[hull[-1]] - y[hull[-2]]) * (x[i] - x[hull[-2]]) <= (
            y[i] - y[hull[-2]]
        ) * (x[hull[-1]] - x[hull[-2]]):
            hull.pop()
        hull.append(i)
    length = np.diff(x[hull])
    return np.diff(y[hull]) / length, length


class Cells(NamedTuple):
    """On cells of |u|^2: -low <= k - q <= high and bottom <= k <= top; |q| <= mass everywhere."""

    high: Floats
    low: Floats
    top: Floats
    bottom: Floats
    mass: float


def padded(worst: Floats, cells: int) -> Floats:
    """The largest error up to each cell, (cells,): non-decreasing, and constant beyond the last."""
    upper = np.maximum.accumulate(worst[:cells]) * (1 + 1e-13)
    return np.concatenate([upper, np.full(max(0, cells - len(upper)), upper[-1])])
