"""Bounds for any rule at all: by its moments over small regions, by covering up to three axes."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations_with_replacement, product
from math import comb, factorial, inf, isfinite, log10, prod

import numpy as np

from ._enclosure import _ORDERS, _derivatives, _moments, shared_axes
from .kernels import Axes, Kernel, Matern
from .regions import Region
from .rules import Axis, Floats, Rule


# --- small regions: Taylor's remainder ----------------------------------------------------------
def taylor_bound(kernel: Kernel, rule: Rule, region: Region, radii: Floats) -> Floats:
    """The bounds of any rule by moments: the best over even orders s of Taylor's remainder.

    |cos z - sum_(l<s) ...| <= z^s / s!, so |k - k~| is at most the sum over even l < s of
    |u|^l / l! times the norm of the difference of the moment tensors of order l (zero, but for
    rounding, where the rule is exact), plus (E (u.w)^s + sum |a| (u.w)^s) / s!. If every axis has
    E w^2n <= t^2n (2n-1)!! up to 2n = s then E (u.w)^s <= (s-1)!! (t |u|)^s, as for a normal
    spectrum: for a rule exact to degree R this is 2 b^R M^R (R-1)!! / R!, and better at s = R + 2.
    (That (R-1)!! does not hold for b-subgaussian spectra at large: +-2 with probability 1/9 each,
    else 0, is 1-subgaussian and has a fourth moment of 32/9.)
    """
    d = rule.nodes.shape[1]
    try:
        axes = shared_axes(kernel, d)
    except (ValueError, NotImplementedError):  # no product over axes, or no such axis
        return np.full(len(radii), inf)
    moments = _axis_moments(axes)
    best = np.full(len(radii), inf)
    misfit = np.full(len(radii), abs(1.0 - float(rule.weights.sum())) + 1e-15)
    mass, length = np.abs(rule.weights), np.linalg.norm(rule.nodes, axis=1)
    for s in range(2, _ORDERS[-1] + 1, 2):
        if not isfinite(moments[:, s].max()) or s * log10(max(radii[-1], 1.0)) > 300:
            break
        double = [prod(range(1, 2 * n, 2)) for n in range(1, s // 2 + 1)]
        scale = max(
            (moments[:, 2 * n + 2] / f).max() ** (0.5 / (n + 1)) for n, f in enumerate(double)
        )
        exact = double[-1] * scale**s
        # sum |a| (v.w)^s <= v' (sum |a| |w|^(s-2) w w') v for unit v
        spread = (rule.nodes * (mass * length ** (s - 2))[:, None]).T @ rule.nodes
        largest = float(np.linalg.eigvalsh(spread)[-1])
        remainder = (exact + largest * (1 + 1e-9)) / factorial(s) * radii**s
        best = np.minimum(best, misfit + remainder)
        if s > 2 and comb(d + s - 1, s) * len(rule) > 2**18:  # some 10 ms
            break
        misfit = misfit + _moment_gap(moments, rule, s) / factorial(s) * radii**s
    return np.asarray(np.maximum.accumulate(best) * (1 + 1e-12))


def _axis_moments(axes: Sequence[Axis]) -> Floats:
    """The moments (d, 17) of each axis."""
    known = {id(axis): _moments(axis) for axis in axes}
    return np.stack([known[id(axis)] for axis in axes])


def _moment_gap(moments: Floats, rule: Rule, order: int) -> float:
    """The norm of the difference of the moment tensors of an even order."""
    d = rule.nodes.shape[1]
    power, counts, ways = _monomials(d, order)
    exact = moments[np.arange(d), counts].prod(axis=1)
    terms = np.ones((len(rule), len(power)))
    for column in power.T:
        terms *= rule.nodes[:, column]
    rounding = 2.0**-50 * len(rule) * (np.abs(rule.weights) @ np.abs(terms) + exact)
    return float(np.sqrt(ways @ (np.abs(exact - rule.weights @ terms) + rounding) ** 2))


@lru_cache(maxsize=64)
def _monomials(d: int, order: int) -> tuple[Axes, Axes, Floats]:
    """The axes of every monomial of an order, its exponents, and in how many ways it arises."""
    power = np.array(list(combinations_with_replacement(range(d), order)))
    counts = (power[:, :, None] == np.arange(d)).sum(axis=1)
    repeats = np.array([float(factorial(n)) for n in range(order + 1)])
    return power, counts, factorial(order) / repeats[counts].prod(axis=1)


# --- up to three axes: covering -----------------------------------------------------------------
_SMALL = 1e-13  # errors that rounding hides are not covered any closer
_OVERHEAD = 20  # cosines that take as long as all else that is done at a point


def cover_bound(kernel: Kernel, rule: Rule, region: Region, budget: float) -> float | None:
    """A bound by branch and bound over boxes, within 5% of the largest error seen, or 1e-13, if the
    budget allows.

    On a box of half-widths h, which no axis plane cuts, k is no further beyond its values at the
    corners than sum_i H_i h_i^2 / 2, H_i a bound of its second derivative along axis i; and a
    cosine of the rule no further than sum_i w_i^2 h_i^2 / 2, or 2.
    """
    d = rule.nodes.shape[1]
    bend = _bends(kernel, d)
    if bend is None:
        return None
    widths = np.minimum(np.array(region.box), region.diameter)
    # k - k~ is even, so one half of the space will do.
    signs = np.array([(1.0, *rest) for rest in product((1.0, -1.0), repeat=d - 1)])
    low = np.minimum(signs * widths, 0.0)
    high = np.maximum(signs * widths, 0.0)
    unit = np.array(list(product((0.0, 0.5, 1.0), repeat=d)))
    corner = np.array(list(product((0, 1), repeat=d)))
    index = np.array(
        [[int(((child + c) * 3 ** np.arange(d)[::-1]).sum()) for c in corner] for child in corner]
    )
    seen, kept, used = 0.0, 0.0, 0
    worst = np.full(len(low), inf)
    while len(low):
        if used >= budget or seen >= 1:  # which is no certificate
            return float(max(seen * 1.05, kept, worst.max()))
        order = np.argsort(-worst)
        # A share of the boxes: sorting all of them for a few would take longer than cosines do.
        some = max(40_000 // len(unit), len(order) // 16)
        take, rest = order[:some], order[some:]
        span = high[take] - low[take]
        points = low[take, None, :] + unit * span[:, None, :]
        flat = points.reshape(-1, d)
        error = np.abs(kernel.at(flat) - rule(flat)).reshape(len(take), -1)
        used += error.size * (len(rule) + _OVERHEAD)
        inside = (flat**2).sum(axis=1).reshape(error.shape) <= region.diameter**2
        seen = max(seen, float(error[inside].max(initial=0.0)))
        sizes, which = np.unique(span**2 / 32, axis=0, return_inverse=True)
        cosines = np.minimum(2.0, rule.nodes**2 @ sizes.T)
        slack = (sizes @ bend + np.abs(rule.weights) @ cosines)[which.ravel()]
        upper = error[:, index].max(axis=2) + slack[:, None] + 1e-14
        child_low = low[take, None, :] + corner * (span[:, None, :] / 2)
        child_high = child_low + span[:, None, :] / 2
        nearest = np.maximum(0.0, np.maximum(child_low, -child_high))
        reached = (nearest**2).sum(axis=2) <= region.diameter**2 * (1 + 1e-12)
        enough = max(1.05 * seen, _SMALL)
        open_ = reached & (upper > enough)
        kept = max(kept, float(upper[reached & ~open_].max(initial=0.0)))
        low = np.concatenate([low[rest], child_low[open_]])
        high = np.concatenate([high[rest], child_high[open_]])
        worst = np.concatenate([worst[rest], upper[open_]])
        alive = worst > enough
        kept = max(kept, float(worst[~alive].max(initial=0.0)))
        low, high, worst = low[alive], high[alive], worst[alive]
    return float(max(1.05 * seen, kept))


def _bends(kernel: Kernel, d: int) -> Floats | None:
    """Bounds of the second derivatives of k along each axis, away from the axis planes."""
    if isinstance(kernel, Matern) and not kernel.product:
        if kernel.nu <= 1:
            return None
        variance = 2 * np.asarray(kernel.gamma) * kernel.nu / (kernel.nu - 1)
        return np.broadcast_to(variance, (d,))
    try:
        bend = np.array([_derivatives(axis)[2] for axis in shared_axes(kernel, d)])
    except (ValueError, NotImplementedError):  # no product over axes, or no such axis
        return None
    return bend if np.isfinite(bend).all() else None
