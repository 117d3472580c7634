"""Equispaced and Clenshaw-Curtis rules, and a bound of the error of equispaced ones."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from .._checks import check_count, check_positive
from .._typing import Floats, Integers, Profile
from .rule import Axis, Rule, mirrored, zero_rule


def equispaced(density: Profile, n: int, step: float) -> Rule:
    """`n` nodes `step` apart, weights proportional to the density: positive, of mass 1.

    By Poisson summation the error of the infinite rule is the `aliases` of the kernel; that of the
    finite one is at most `equispaced_bound`. Beyond about three length scales it is better than
    Gauss.
    """
    check_count("n", n, maximum=10**7, example=5)
    check_positive("step", step)
    if not callable(density):
        raise TypeError(f"density must be a function of an array of frequencies, got {density!r}")
    half = _positive_nodes(n, step)
    middle = float(density(np.zeros(1))[0]) if n % 2 else None
    return mirrored(half, density(half), middle)


def _positive_nodes(n: int, step: float) -> Floats:
    first = 1.0 if n % 2 else 0.5
    return np.linspace(first, first + n // 2 - 1, n // 2) * step


_NEGLIGIBLE = 1e-15  # the rounding of kernels computed as integrals


def aliases(profile: Profile, gap: Floats, step: float, *, shifted: bool) -> Floats:
    """The error of the infinite equispaced rule: the sum of k(gap + 2 pi m / step) over m != 0.

    `shifted` is the rule without a node at zero (n even), whose aliases alternate in sign.
    """
    period, total = 2 * np.pi / step, np.zeros_like(gap)
    for m in _runs(10_000):
        far = m[:, None] * period
        both = np.concatenate([np.abs(far - gap).ravel(), (far + gap).ravel()])
        terms = profile(both).reshape(2, len(m), len(gap)).sum(axis=0)
        small = np.flatnonzero(np.all(terms <= _NEGLIGIBLE, axis=1))
        last = small[0] + 1 if len(small) else len(m)
        signs = np.where(shifted & (m % 2 == 1), -1.0, 1.0)
        total += signs[:last] @ terms[:last]
        if len(small):
            break
    return total


def _runs(stop: int) -> Iterator[Integers]:
    """1, 2, ..., stop - 1 in runs of doubling length: most kernels need few terms, some many."""
    first = 1
    while first < stop:
        yield np.arange(first, min(2 * first, first + 256, stop))
        first = min(2 * first, first + 256)


def equispaced_bound(axis: Axis, n: int, step: float, reach: float) -> float:
    """A bound of |k - rule| over |gap| <= reach for `equispaced(axis.density, n, step)`.

    For kernels that decrease with the gap, at least like its square. The sum of the aliases, the
    mass beyond the last node, and the change from normalising the mass to 1. Vacuous beyond half of
    the period 2 pi / step.
    """
    half, period = _positive_nodes(n, step), 2 * np.pi / step
    kept = step * (2 * axis.density(half).sum())
    kept += step * float(axis.density(np.zeros(1))[0]) if n % 2 else 0.0
    if reach >= period:
        return 2.0
    # Aliases on one side are largest at the reach, on the other at zero. The kernel falls at least
    # like the square of the gap, so those beyond the last term sum to at most m times that term.
    all_aliases = 0.0
    for m in _runs(2001):
        far = m * period
        terms = axis.profile(np.concatenate([far - reach, far])).reshape(2, -1).sum(axis=0)
        all_aliases += float(terms.sum())
        if terms[-1] <= _NEGLIGIBLE:
            break
    all_aliases += float(m[-1] * terms[-1])
    at_zero = aliases(axis.profile, np.zeros(1), step, shifted=n % 2 == 0)[0]
    return float(min(2.0, all_aliases + max(0.0, 1 + at_zero - kept) + abs(1 - kept)))


def clenshaw_curtis(density: Profile, n: int, cutoff: float) -> Rule:
    """`n` Chebyshev nodes on [-cutoff, cutoff], weights positive, of mass 1.

    Exact for the density times polynomials only as far as the density is a polynomial on the
    interval; the paper's alternative to Gauss (Clenshaw and Curtis, 1960).
    """
    if n == 1:
        return zero_rule(1)
    theta = np.pi * np.arange(n) / (n - 1)
    k = np.arange(1, (n - 1) // 2 + 1)
    coefficient = np.where(2 * k == n - 1, 1.0, 2.0) / (4.0 * k**2 - 1)
    weights = 1 - (coefficient * np.cos(2 * np.outer(theta, k))).sum(axis=1)
    weights[[0, -1]] /= 2
    # Cosines as sines of angles from the middle: small nodes keep their last digits.
    half = cutoff * np.sin(np.pi * np.arange(n - 1, 0, -2) / (2 * (n - 1)))
    middle = weights[n // 2] * float(density(np.zeros(1))[0]) if n % 2 else None
    return mirrored(half, weights[: n // 2] * density(half), middle)


def frequency_scale(axis: Axis) -> float:
    """The inverse of the gap, from 2^-40 to 2^60, at which the kernel has fallen by half."""
    gap = 2.0**-40
    while gap < 2.0**60 and float(axis.profile(np.array([gap]))[0]) > 0.5:
        gap *= 2.0**0.5
    return 1.0 / gap
