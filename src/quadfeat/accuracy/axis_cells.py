"""Proven enclosures on one axis: of k, of a rule q and of k - q, cell by cell.

On a panel a function is its Chebyshev interpolant up to a remainder, and the interpolant's second
derivative is bounded by its coefficients (`_enclose`); a decreasing kernel is between its values at
the ends of a cell. Proofs for grids use `AxisCells`.
"""

from __future__ import annotations

from collections.abc import Callable
from math import ceil, factorial, inf, isfinite, log, pi
from typing import Any, NamedTuple

import numpy as np

from .._errors import NoCertificate
from .._typing import Floats
from ..rules.rule import Axis, Rule

# Bound of the rounding in k and k~ in double precision: a few hundred units in the last place.
ROUNDING = 2.0**-46
# Orders of derivatives, and points of interpolants, to choose from.
ORDERS = (2, 4, 8, 16)
_LONG = np.longdouble  # 64-bit mantissa if the machine has one: errors of 1e-12 are then not noise


def mass(rule: Rule) -> float:
    """sum |weights|, a bound of |rule| everywhere."""
    return float(np.abs(rule.weights).sum()) * (1 + 1e-12)


def _rule_derivatives(rule: Rule) -> Floats:
    """Bounds (17,) of the derivatives of a rule, by order."""
    powers: Floats = np.abs(rule.nodes) ** np.arange(ORDERS[-1] + 1.0)
    return np.asarray(np.abs(rule.weights) @ powers * (1 + 1e-12))


class _Function(NamedTuple):
    """A function of |gap| on one axis, bounds of its derivatives, and its rounding errors."""

    value: Callable[[Any], Any]
    derivatives: Floats
    noise: float


def _k(axis: Axis) -> _Function:
    """The kernel of an axis, in extended precision if available."""

    def value(t: Any) -> Any:
        profile = axis.profile(t)
        return (
            profile if profile.dtype == _LONG else axis.profile(t.astype(np.float64)).astype(_LONG)
        )

    trial = axis.profile(np.ones(1, dtype=_LONG))
    precision = float(np.finfo(trial.dtype).eps)
    return _Function(value, axis.derivative_bounds(), 8 * precision + axis.noise)


def _q(rule: Rule, reach: float) -> _Function:
    """A rule as a function of gaps up to `reach`."""
    nodes, weights = rule.nodes[:, 0].astype(_LONG), rule.weights.astype(_LONG)

    def value(t: Any) -> Any:
        return (np.cos(np.multiply.outer(t, nodes)) * weights).sum(axis=-1)

    mass = np.abs(rule.weights)
    rounding = float(mass @ (np.abs(rule.nodes[:, 0]) * reach + len(rule) + 4))
    return _Function(value, _rule_derivatives(rule), rounding * float(np.finfo(_LONG).eps))


def _minus(one: _Function, two: _Function) -> _Function:
    return _Function(
        lambda t: one.value(t) - two.value(t),
        one.derivatives + two.derivatives,
        one.noise + two.noise,
    )


def _enclose(function: _Function, breaks: Floats) -> tuple[Floats, Floats] | None:
    """The least and largest value on each cell between `breaks`; None if no bound is known.

    On panels of half-width r the function is its Chebyshev interpolant of p points up to
    2 (r/2)^p / p! sup|f^(p)|, and on an interval of width h a polynomial exceeds its values at the
    ends by at most h^2 / 8 sup|second derivative|, which its coefficients bound. So the slack is
    small compared to the function, even where that is 1e-15 and its derivatives' bounds are 1.
    Cells are cut at the ends of panels, because the polynomials of two panels do not join smoothly.
    """
    values = function.value(breaks.astype(_LONG))
    reach, size = float(breaks[-1]), float(np.abs(values).max())
    target = max(1e-4 * size, 1e-18)
    choices = []
    for p in ORDERS:
        slope = max(float(function.derivatives[p]), 1e-300)
        if isfinite(slope):
            half = 2 * (target * factorial(p) / (2 * slope)) ** (1 / p)
            panels = min(max(1, ceil(min(reach / (2 * half), 1e9))), 2**16 // p)
            with np.errstate(over="ignore"):
                remainder = float(2 * np.float64(reach / (4 * panels)) ** p / factorial(p) * slope)
            choices.append((remainder > target, p * panels, p, panels, remainder))
    if not choices or not isfinite(function.noise):
        return None
    _, _, p, panels, remainder = min(choices)
    half = reach / (2 * panels)
    angle = pi * (np.arange(p) + 0.5) / p
    middles = half * (2 * np.arange(panels) + 1)
    at = (middles[:, None] + half * np.cos(angle)).astype(_LONG)
    k = np.arange(p)
    transform = (np.cos(np.outer(k, angle)) * (2 / p)).astype(_LONG)
    coefficient = np.abs(function.value(at) @ transform.T).astype(np.float64)
    bend = coefficient @ (k**2 * (k**2 - 1) / 3) / max(half, 1e-300) ** 2 * (1 + 1e-9)
    ends = np.unique(np.concatenate([breaks, 2 * half * np.arange(1, panels)]))
    panel = np.searchsorted(2 * half * np.arange(1, panels), (ends[1:] + ends[:-1]) / 2)
    if len(ends) > len(breaks):
        values = function.value(ends.astype(_LONG))
    lebesgue = 2 / pi * log(p) + 1
    slack = np.diff(ends) ** 2 / 8 * bend[panel]
    slack += 2 * (remainder + lebesgue * function.noise) + function.noise + 1e-18 * size
    low = np.minimum(values[:-1], values[1:]).astype(np.float64) - slack
    high = np.maximum(values[:-1], values[1:]).astype(np.float64) + slack
    starts = np.searchsorted(ends, breaks[:-1])
    return (
        _down_ulp(np.minimum.reduceat(low, starts)),
        -_down_ulp(-np.maximum.reduceat(high, starts)),
    )


def _down_ulp(x: Floats) -> Floats:
    return np.nextafter(x, -inf)


def _enclose_decreasing(axis: Axis, breaks: Floats) -> tuple[Floats, Floats]:
    """A falling kernel lies between its values at the ends of a cell."""
    values = axis.profile(breaks)
    noise = axis.noise + 16 * np.finfo(float).eps
    return np.maximum(values[1:] - noise, 0.0), np.minimum(values[:-1] + noise, 1.0)


def square_edges(width: float, step: float, cells: int) -> Floats:
    """Points where t^2 is a multiple of `step`, up to t = width."""
    size = int(min(cells, max(1, ceil(width**2 / step * (1 - 1e-12)))))
    edges = np.sqrt(step * np.arange(size + 1))
    edges[-1] = max(width, edges[-2])
    return np.asarray(edges)


def falls(axis: Axis, width: float) -> tuple[Floats, Floats]:
    """Points t up to `width`, and the fall of log k there."""
    t = width * np.linspace(0.0, 1.0, 2**12 + 1) ** 2
    return t, np.maximum.accumulate(-np.log(np.clip(axis.profile(t), 1e-15, 1.0)))


def level_edges(axis: Axis, width: float, step: float) -> Floats:
    """Points where log k has fallen by about a multiple of `step`: these cells are only labels."""
    t, fall = falls(axis, width)
    inner = np.interp(np.arange(step, fall[-1], step), fall, t)
    return np.unique(np.concatenate([[0.0], inner[inner < width], [width]]))


class AxisCells:
    """One axis cut into cells of t between `edges`, the first of which is 0."""

    def __init__(self, axis: Axis, edges: Floats) -> None:
        self.axis, self.reach, self.size = axis, float(edges[-1]), len(edges) - 1
        self._edges = edges
        self._k = _k(axis)

    def _breaks(self, finer: int) -> Floats:
        extra = np.linspace(0.0, self._edges[-1], finer * self.size + 1)
        return np.unique(np.concatenate([self._edges, extra]))

    def _cells(self, breaks: Floats, bounds: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
        starts = np.searchsorted(breaks, self._edges[:-1])
        starts = np.minimum(starts, len(breaks) - 2)
        return np.minimum.reduceat(bounds[0], starts), np.maximum.reduceat(bounds[1], starts)

    def of(self, function: _Function) -> tuple[Floats, Floats] | None:
        """The least and largest value on each cell; None if no derivative is bounded."""
        breaks = self._breaks(4)
        bounds = _enclose(function, breaks)
        return None if bounds is None else self._cells(breaks, bounds)

    def kernel(self) -> tuple[Floats, Floats]:
        """The least and largest k on each cell."""
        if self.axis.decreasing:
            return self._cells(self._edges, _enclose_decreasing(self.axis, self._edges))
        bounds = self.of(self._k)
        if bounds is None:
            return np.full(self.size, -1.0), np.ones(self.size)
        return np.maximum(bounds[0], -1.0), np.minimum(bounds[1], 1.0)

    def error(self, rule: Rule) -> tuple[Floats, Floats]:
        """The least and largest k - rule on each cell."""
        approximate = _q(rule, self.reach)
        bounds = self.of(_minus(self._k, approximate))
        if bounds is not None:
            most = 1 + mass(rule)
            return np.maximum(bounds[0], -most), np.minimum(bounds[1], most)
        if not self.axis.decreasing:
            raise NoCertificate(
                f"no certificate for {self.axis!r}: its spectrum has no second moment and its "
                f"profile is not known to decrease; error(X) gives an estimate with a confidence"
            )
        breaks = self._breaks(64)
        exact = _enclose_decreasing(self.axis, breaks)
        low_high = _enclose(approximate, breaks)
        assert low_high is not None  # a rule has all derivatives
        return self._cells(breaks, (exact[0] - low_high[1], exact[1] - low_high[0]))

    def difference(self, finer: Rule, coarser: Rule | None) -> tuple[Floats, Floats]:
        """The least and largest finer - coarser on each cell."""
        function, most = _q(finer, self.reach), mass(finer)
        if coarser is not None:
            function, most = _minus(function, _q(coarser, self.reach)), most + mass(coarser)
        bounds = self.of(function)
        assert bounds is not None
        return np.maximum(bounds[0], -most), np.minimum(bounds[1], most)
