"""Cosine transforms of even functions: from a density to its profile, and back."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from .._errors import NoDensity
from .._typing import Floats, Profile
from .panels import NO_EDGES, end_of_peaks, find_cutoff, legendre, median_frequency, refined, scan


class CosineTransform:
    """The integral of function(t) cos(t * at) over the real line, for an even function.

    Light tails: Gauss-Legendre panels short enough for the fastest cosine. Heavy tails: the sum
    over half-waves, extrapolated. More than 400 points are read from a Chebyshev interpolant.
    Results up to the largest `at` are cached for smaller ones. `edges` are panels that contain the
    whole function, for one with peaks.

    >>> transform = CosineTransform(lambda t: np.exp(-(t**2) / 2) / np.sqrt(2 * np.pi))
    >>> bool(np.allclose(transform(np.array([1.0])), np.exp(-0.5)))
    True
    >>> bool(np.allclose(transform.slope(np.array([1.0])), -np.exp(-0.5)))
    True
    """

    def __init__(self, function: Profile, edges: Floats = NO_EDGES) -> None:
        self._cosines = _Waves(function, edges, _COSINE)
        self._sines = _Waves(function, edges, _SINE)

    def __call__(self, at: Floats) -> Floats:
        return self._cosines(np.abs(at))

    def slope(self, at: Floats) -> Floats:
        """The derivative by `at`, for at > 0: minus the integral of t function(t) sin(t * at)."""
        return -self._sines(at)


class _Wave(NamedTuple):
    """A factor t**power wave(t * at) of an integral, and the first zero of the wave, over pi."""

    function: Profile
    power: int
    first_zero: float


_COSINE, _SINE = _Wave(np.cos, 0, 0.5), _Wave(np.sin, 1, 1.0)


class _Waves:
    """The integral of function(t) times a wave, for at >= 0, with a cache.

    The cache is replaced as a whole, for other threads may be reading it.
    """

    def __init__(self, function: Profile, edges: Floats, wave: _Wave) -> None:
        self._function = function
        self._edges = edges
        self._wave = wave
        self._known: _Integral | None = None

    def __call__(self, at: Floats) -> Floats:
        largest, known = float(at.max(initial=0.0)), self._known
        if known is None or largest > known.reach:
            known = self._known = self._up_to(largest)
        transform = known.direct if at.size <= 400 else known.series
        return transform(at.ravel()).reshape(at.shape)

    def _up_to(self, largest: float) -> _Integral:
        reach = float(2.0 ** np.ceil(np.log2(largest))) if largest > 0 else 0.0
        light = _light_transform(self._function, reach, self._edges, self._wave)
        return _Integral(reach, light or _heavy_transform(self._function, self._edges, self._wave))


@dataclass(frozen=True)
class _Integral:
    """An integral as a function of at <= reach, and a series for many values."""

    reach: float
    direct: Profile

    @cached_property
    def series(self) -> Profile:
        return _interpolant(self.direct, self.reach)


def _interpolant(function: Profile, reach: float) -> Profile:
    """A Chebyshev series as good as the function on [0, reach], or the function itself."""
    for degree in (64, 128, 256, 512, 1024, 2048):
        series = np.polynomial.Chebyshev.interpolate(function, degree, [0.0, reach])
        if np.abs(series.coef[-4:]).max() < 1e-15 * degree * np.abs(series.coef).max():
            return series
    return function


_FASTEST = 1e6  # radians, the most that a cosine turns through over all panels


def _light_transform(function: Profile, reach: float, edges: Floats, wave: _Wave) -> Profile | None:
    cutoff = find_cutoff(function, wave.power, edges)
    if cutoff is None or cutoff * reach > _FASTEST:
        return None
    nodes, weights = legendre(refined(function, _short(edges, cutoff, reach)))
    mass = 2 * weights * function(nodes) * nodes**wave.power
    nodes, mass = nodes[mass != 0], mass[mass != 0]
    rows = max(1, 2**22 // len(nodes))

    def transform(at: Floats) -> Floats:
        parts = np.array_split(at, len(at) // rows + 1)
        return np.concatenate([wave.function(np.outer(part, nodes)) @ mass for part in parts])

    return transform


def _short(edges: Floats, cutoff: float, reach: float) -> Floats:
    """At least 16 panels up to the cut-off; on each a cosine turns through at most 8 radians."""
    pieces = max(16, int(np.ceil(cutoff * reach / 8)))
    return np.union1d(np.linspace(0.0, cutoff, pieces + 1), edges[edges < cutoff])


def _heavy_transform(function: Profile, edges: Floats, wave: _Wave) -> Profile:
    scale = median_frequency(function, edges)
    peaks = end_of_peaks(function, edges)
    if np.any(function(scan(edges)) < 0):
        raise NoDensity(
            "this profile changes its sign and falls slowly, so its spectrum cannot be computed "
            "from it; smooth the kernel with Smoothed(kernel, width)"
        )

    def on_angles(theta: Floats) -> Floats:
        return scale * function(scale * np.tan(theta)) / np.cos(theta) ** 2

    angles = np.union1d(np.linspace(0.0, np.pi / 2, 17), np.arctan(edges / scale))

    def one(at: float) -> float:
        if at == 0.0 and wave is _SINE:
            return 0.0
        if at == 0.0:
            theta, weights = legendre(refined(on_angles, angles))
            return 2 * float(weights @ on_angles(theta))
        if peaks * at > _FASTEST:
            raise NoDensity(
                f"a gap of {at:g} is too far for this spectrum, which has peaks at frequencies "
                f"of up to {peaks:g}; standardise X"
            )
        # Half-waves begin beyond the last peak, where t**power function(t) falls; the part before
        # is integrated directly.
        rise = wave.power * _RISE * scale
        bulk = max(peaks, rise) if rise * at <= _FASTEST else peaks
        first = np.ceil(bulk * at / np.pi - wave.first_zero)
        zeros = (first + np.arange(_TAIL + 1) + wave.first_zero) * np.pi / at
        before = _short(edges, zeros[0], at) if bulk else np.array([0.0, zeros[0]])

        def integrand(t: Floats) -> Floats:
            return function(t) * t**wave.power * wave.function(at * t)

        panels = refined(integrand, np.union1d(before, zeros))
        nodes, weights = legendre(panels)
        integrals = np.bincount(
            np.searchsorted(zeros, nodes),
            weights=weights * integrand(nodes),
        )
        sign = np.sign(integrals[1])
        return 2 * float(integrals[0] + sign * _alternating(np.abs(integrals[1:])))

    return lambda at: np.array([one(a) for a in at])


_RISE = 8.0  # median frequencies, beyond which t * function(t) falls except at peaks
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
