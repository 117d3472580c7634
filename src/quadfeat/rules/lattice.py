"""Equispaced rules for a tolerance: on one axis, and on a lattice for a density of several axes.

By Poisson summation an infinite lattice of step h integrates k(u) plus its aliases, the values of k
at u + 2 pi l / h for whole l != 0. A finite one also loses the mass beyond its last nodes. Both are
known, so the error is bounded without evaluating the rule (Barnett et al., 2022).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from math import ceil, inf, prod

import numpy as np

from .._typing import Floats, Integers
from .interval import equispaced, frequency_scale
from .rule import Axis, Rule

Kernel = Callable[[Floats], Floats]  # a function of gaps (n, d), or of frequencies (n, d)
MOST_AXIS_NODES = 8191
_DECAYS = 2.0 ** np.arange(-1.0, 9.01, 0.25)  # candidates, in length scales: 512 at most
_NEGLIGIBLE = 1e-15
_SHARES = (0.5, 0.25, 0.1, 0.05, 0.02)  # shares of the tolerance for the aliases


def axis_rule_for(axis: Axis, tol: float, reach: float) -> Rule | None:
    """The equispaced rule of fewest nodes with `equispaced_bound` <= tol.

    None where it would need more than 8,191 nodes, or a period of more than the reach and 512
    length scales, as the aliases of `Cauchy` do below 1e-5. The number of nodes is odd, so that the
    frequency 0 is one of them.
    """
    width, half = frequency_scale(axis), np.arange(MOST_AXIS_NODES // 2 + 1)
    best: tuple[int, float] | None = None
    for decay in _DECAYS / width:
        period = reach + decay
        everywhere, at_zero = _axis_aliases(axis, period, reach)
        if everywhere >= tol:
            continue
        step = 2 * np.pi / period
        mass = 2 * step * axis.density(half * step)
        mass[0] /= 2
        kept = np.cumsum(mass)
        bound = everywhere + np.maximum(0.0, 1 + at_zero - kept) + np.abs(1 - kept)
        enough = np.flatnonzero(bound <= tol * (1 - 1e-9))
        if len(enough) and (best is None or enough[0] < best[0]):
            best = int(enough[0]), step
    return None if best is None else equispaced(axis.density, 2 * best[0] + 1, best[1])


def _axis_aliases(axis: Axis, period: float, reach: float) -> tuple[float, float]:
    """Bounds of the sum of aliases up to a gap of `reach`, and at 0, as in `equispaced_bound`."""
    m = np.arange(1.0, 2001.0)
    near, far = axis.profile(m * period - reach), axis.profile(m * period)
    # k falls at least like the square of the gap: the rest is at most m times the last term.
    rest = m[-1] * (near[-1] + far[-1])
    return float(near.sum() + far.sum() + rest), float(2 * far.sum() + rest)


def lattice_rule(density: Kernel, steps: Floats, counts: Integers) -> Rule:
    """Nodes `steps` apart, an odd number on each axis, weights as the density: positive, of mass 1.

    One of the nodes m and -m is kept, with the weight of both: prod(counts) // 2 + 1 nodes.
    """
    half = [np.arange(n) - n // 2 for n in counts]
    index = np.stack([grid.ravel() for grid in np.meshgrid(*half, indexing="ij")], axis=1)
    right = index[len(index) // 2 + 1 :] * steps
    middle = float(density(np.zeros((1, len(steps))))[0])
    weights = np.concatenate([[middle], 2 * density(right)])
    return Rule(np.concatenate([np.zeros((1, len(steps))), right]), weights / weights.sum())


def lattice_bound(
    kernel: Kernel, density: Kernel, steps: Floats, counts: Integers, reach: Floats
) -> float:
    """A bound of |k - rule| over |u_i| <= reach[i] for `lattice_rule`; k(0) = 1.

    For a kernel that decreases with |u_i| on every axis, and on a line at an increasing rate or
    like an exponential, as Matern kernels do. The sum of the aliases, the mass beyond the last
    nodes, and the change from normalising the mass to 1. Vacuous if a reach is not below its period
    2 pi / step.
    """
    periods = 2 * np.pi / steps
    if (reach >= periods).any():
        return 2.0
    everywhere, at_zero = (_aliases(kernel, periods, gap) for gap in (reach, 0 * reach))
    kept = _kept_mass(density, steps, counts)
    # The whole lattice has the mass 1 + the aliases at 0, of which `at_zero` is a bound.
    return float(min(2.0, everywhere + max(0.0, 1 + at_zero - kept) + abs(1 - kept)))


def _aliases(kernel: Kernel, periods: Floats, reach: Floats) -> float:
    """A bound of the sum of k(u + l * periods) over whole l != 0, for |u_i| <= reach[i]."""
    total, before = 0.0, inf
    for size in range(1, 200):
        nearest = np.maximum(np.abs(_shell(size, len(periods))) * periods - reach, 0.0)
        here = float(kernel(nearest).sum())
        total += here
        if here <= _NEGLIGIBLE and here <= before / 2:
            return total + here  # each further shell is at most half of the one before
        before = here
    return inf


def _shell(size: int, d: int) -> Floats:
    """Whole vectors whose largest entry is `size`, (n, d)."""
    span = np.arange(-size, size + 1)
    every = np.array(list(product(span, repeat=d)), dtype=np.float64)
    return every[np.abs(every).max(axis=1) == size]


def _kept_mass(density: Kernel, steps: Floats, counts: Integers) -> float:
    """The mass of the nodes before normalisation: one orthant, counted by symmetry."""
    axes = [np.arange(n // 2 + 1) * step for n, step in zip(counts, steps, strict=True)]
    total = 0.0
    for first in np.array_split(axes[0], min(len(axes[0]), 64)):  # to save memory
        grids = np.meshgrid(first, *axes[1:], indexing="ij")
        nodes = np.stack([grid.ravel() for grid in grids], axis=1)
        total += float((2.0 ** (nodes > 0).sum(axis=1)) @ density(nodes))
    return total * float(prod(steps))


def lattice_for(
    kernel: Kernel, density: Kernel, scales: Floats, tol: float, reach: Floats
) -> tuple[Floats, Integers] | None:
    """Steps and counts of about the fewest nodes with `lattice_bound` <= tol; None beyond limits.

    Periods are the reach and a decay in length scales 1 / scales; the cut-off is the same multiple
    of the scales on each axis.
    """
    best: tuple[Floats, Integers] | None = None
    for share in _SHARES:
        steps = _steps_for(kernel, scales, share * tol, reach)
        if steps is None:
            continue
        counts = _counts_for(kernel, density, scales, steps, tol, reach)
        if counts is not None and (best is None or prod(counts) < prod(best[1])):
            best = steps, counts
    return best


def _steps_for(kernel: Kernel, scales: Floats, tol: float, reach: Floats) -> Floats | None:
    for decay in _DECAYS:
        periods = reach + decay / scales
        if _aliases(kernel, periods, reach) + _aliases(kernel, periods, 0 * reach) <= tol:
            return np.asarray(2 * np.pi / periods)
    return None


def _counts_for(
    kernel: Kernel, density: Kernel, scales: Floats, steps: Floats, tol: float, reach: Floats
) -> Integers | None:
    def counts(cutoff: float) -> Integers:
        return np.array([2 * ceil(cutoff * s / h) + 1 for s, h in zip(scales, steps, strict=True)])

    def enough(cutoff: float) -> bool:
        return lattice_bound(kernel, density, steps, counts(cutoff), reach) <= tol

    most = MOST_AXIS_NODES // 2 * float((steps / scales).min())
    most = min(most, _largest_cutoff(scales, steps))
    high = 1.0
    while not enough(high):
        high *= 1.5
        if high > most:
            return None
    low = high / 1.5
    while counts(low).tolist() != counts(high).tolist() and high > low * 1.002:
        middle = (low * high) ** 0.5
        low, high = (low, middle) if enough(middle) else (middle, high)
    return counts(high)


def _largest_cutoff(scales: Floats, steps: Floats) -> float:
    """The cut-off at which the lattice has 2^24 nodes."""
    return float((2**24 * prod(steps / scales)) ** (1 / len(steps)) / 2)


def best_steps(
    kernel: Kernel, density: Kernel, scales: Floats, counts: Integers, reach: Floats
) -> Floats:
    """The steps with the least `lattice_bound` for given counts."""
    every: Iterator[Floats] = (2 * np.pi / (reach + decay / scales) for decay in _DECAYS)
    return min(every, key=lambda steps: lattice_bound(kernel, density, steps, counts, reach))
