"""The bound of any rule over a small region: the spectral moments it matches, and a remainder.

Taylor's expansion of the cosines to order s: lower orders contribute the differences between the
rule's moments and the spectrum's, the rest at most the moments of order s. Here `moments` are
E w^j of the spectrum of one axis, j = 0, 1, ..., 16.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from itertools import combinations_with_replacement
from math import comb, factorial, inf, isfinite, log10, prod

import numpy as np

from .._errors import NotSeparable
from .._typing import Axes, Floats
from ..rules.rule import Axis, Rule
from .bounds import Provable
from .region import Region


def taylor_bound(kernel: Provable, rule: Rule, region: Region, radii: Floats) -> Floats:
    """The bound of any rule at each radius: the least over even orders s of Taylor's remainder.

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
        axes = kernel.axes(d)
    except NotSeparable:
        return np.full(len(radii), inf)
    moments = _spectral_moments(axes)
    best = np.full(len(radii), inf)
    misfit = np.full(len(radii), abs(1.0 - float(rule.weights.sum())) + 1e-15)
    mass, length = np.abs(rule.weights), np.linalg.norm(rule.nodes, axis=1)
    for s in range(2, moments.shape[1], 2):
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
        if s > 2 and comb(d + s - 1, s) * len(rule) > 2**18:  # about 10 ms
            break
        misfit = misfit + _moment_gap(moments, rule, s) / factorial(s) * radii**s
    return np.asarray(np.maximum.accumulate(best) * (1 + 1e-12))


def _spectral_moments(axes: Sequence[Axis]) -> Floats:
    """E w^j of the spectrum of each axis, (d, 17)."""
    known = {id(axis): axis.spectral_moments() for axis in axes}
    return np.stack([known[id(axis)] for axis in axes])


def _moment_gap(moments: Floats, rule: Rule, order: int) -> float:
    """The norm of the rule's moment tensor of an even order minus that of the spectrum."""
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
    """Every monomial of an order: its axes, its exponents, and its multinomial coefficient."""
    power = np.array(list(combinations_with_replacement(range(d), order)))
    counts = (power[:, :, None] == np.arange(d)).sum(axis=1)
    repeats = np.array([float(factorial(n)) for n in range(order + 1)])
    return power, counts, factorial(order) / repeats[counts].prod(axis=1)
