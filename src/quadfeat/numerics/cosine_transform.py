"""Cosine transforms of even functions: from a density to its profile, and back."""

from __future__ import annotations

import numpy as np

from .._errors import NoDensity
from .._typing import Floats, Profile
from .panels import NO_EDGES, end_of_peaks, find_cutoff, legendre, median_frequency, refined, scan


class CosineTransform:
    """The integral of function(t) cos(t * at) over the real line, for an even function.

    Light tails: Gauss-Legendre panels short enough for the fastest cosine. Heavy tails: the sum
    over half-waves, extrapolated. More than 400 points are read off a Chebyshev interpolant. What
    is computed up to the largest `at` is cached for smaller ones. `edges` are panels that hold all
    of the function, for one with peaks.
    """

    def __init__(self, function: Profile, edges: Floats = NO_EDGES) -> None:
        self._function = function
        self._edges = edges
        self._reach = -1.0

    def __call__(self, at: Floats) -> Floats:
        at = np.abs(at)
        largest = float(at.max(initial=0.0))
        if largest > self._reach:
            self._reach = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 0.0
            light = _light_transform(self._function, self._reach, self._edges)
            self._direct = light or _heavy_transform(self._function, self._edges)
            self._series: Profile | None = None
        if at.size <= 400:
            return self._direct(at.ravel()).reshape(at.shape)
        if self._series is None:
            self._series = _interpolant(self._direct, self._reach)
        return self._series(at.ravel()).reshape(at.shape)


def _interpolant(function: Profile, reach: float) -> Profile:
    """A Chebyshev series as good as the function on [0, reach], or the function itself."""
    for degree in (64, 128, 256, 512, 1024, 2048):
        series = np.polynomial.Chebyshev.interpolate(function, degree, [0.0, reach])
        if np.abs(series.coef[-4:]).max() < 1e-15 * degree * np.abs(series.coef).max():
            return series
    return function


_FASTEST = 1e6  # radians, the most that a cosine turns through over all panels


def _light_transform(function: Profile, reach: float, edges: Floats) -> Profile | None:
    cutoff = find_cutoff(function, 0, edges)
    if cutoff is None or cutoff * reach > _FASTEST:
        return None
    nodes, weights = legendre(refined(function, _short(edges, cutoff, reach)))
    mass = 2 * weights * function(nodes)
    nodes, mass = nodes[mass != 0], mass[mass != 0]
    rows = max(1, 2**22 // len(nodes))

    def transform(at: Floats) -> Floats:
        parts = np.array_split(at, len(at) // rows + 1)
        return np.concatenate([np.cos(np.outer(part, nodes)) @ mass for part in parts])

    return transform


def _short(edges: Floats, cutoff: float, reach: float) -> Floats:
    """At least 16 panels up to the cut-off; on each a cosine turns through at most 8 radians."""
    pieces = max(16, int(np.ceil(cutoff * reach / 8)))
    return np.union1d(np.linspace(0.0, cutoff, pieces + 1), edges[edges < cutoff])


def _heavy_transform(function: Profile, edges: Floats) -> Profile:
    scale = median_frequency(function, edges)
    bulk = end_of_peaks(function, edges)
    if np.any(function(scan(edges)) < 0):
        raise NoDensity(
            "this profile changes its sign and falls slowly, so its spectrum cannot be found from "
            "it; smooth the kernel with Smoothed(kernel, width)"
        )

    def on_angles(theta: Floats) -> Floats:
        return scale * function(scale * np.tan(theta)) / np.cos(theta) ** 2

    angles = np.union1d(np.linspace(0.0, np.pi / 2, 17), np.arctan(edges / scale))

    def one(at: float) -> float:
        if at == 0.0:
            theta, weights = legendre(refined(on_angles, angles))
            return 2 * float(weights @ on_angles(theta))
        if bulk * at > _FASTEST:
            raise NoDensity(
                f"a gap of {at:g} is too far for this spectrum, which has peaks at frequencies "
                f"of up to {bulk:g}; standardise X"
            )
        # Half-waves begin beyond the last peak; the part before is integrated directly.
        first = np.ceil(bulk * at / np.pi - 0.5)
        zeros = (first + np.arange(_TAIL + 1) + 0.5) * np.pi / at
        before = _short(edges, zeros[0], at) if bulk else np.array([0.0, zeros[0]])
        panels = refined(lambda t: function(t) * np.cos(at * t), np.union1d(before, zeros))
        nodes, weights = legendre(panels)
        integrals = np.bincount(
            np.searchsorted(zeros, nodes),
            weights=weights * function(nodes) * np.cos(at * nodes),
        )
        sign = np.sign(integrals[1])
        return 2 * float(integrals[0] + sign * _alternating(np.abs(integrals[1:])))

    return lambda at: np.array([one(a) for a in at])


_TAIL = 24  # half-waves of an oscillating tail; the sum errs by 5.8**-24 of the first


def _alternating(terms: Floats) -> float:
    """terms[0] - terms[1] + ..., to infinity, for smoothly falling terms (Cohen et al., 2000)."""
    n = len(terms)
    power = (3 + np.sqrt(8)) ** n
    normaliser = (power + 1 / power) / 2
    b, c, total = -1.0, -normaliser, 0.0
    for k, term in enumerate(terms):
        c = b - c
        total += c * term
        b *= (k + n) * (k - n) / ((k + 0.5) * (k + 1))
    return float(total / normaliser)
