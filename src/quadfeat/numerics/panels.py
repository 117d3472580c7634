"""Gauss-Legendre panels on the half-line, as short as a density needs; its mass and its tail."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from .._errors import NoDensity
from .._typing import Floats, Profile

POINTS = 24  # points of the Gauss-Legendre rule on each panel
_X, _W = np.polynomial.legendre.leggauss(POINTS)
# Integrals over a panel count as equal if they differ by less than this share of the whole.
_SAME = 4e-16
# Every octave of frequency from 2^-60 to 2^64 is searched on 2^5 panels: points are at most 0.2% of
# the frequency apart, so a normal peak is seen if its deviation is above 0.02% of its frequency.
_OCTAVES = np.concatenate([[0.0], 2.0 ** np.arange(-60.0, 65.0)])
_LOOK = 5
_MOST = 1 << 15  # most panels during the search; a density that needs more is rough everywhere
_ENOUGH = 1024  # panels after joining
_AT_ONCE = 1 << 15  # frequencies per call of a density


def legendre(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of the Gauss-Legendre rule on each panel between `edges`."""
    middle, radius = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + radius[:, None] * _X).ravel(), (radius[:, None] * _W).ravel()


def refined(function: Profile, edges: Floats) -> Floats:
    """`edges` with panels halved until halving one more time changes no integral."""
    left, right, settled = edges[:-1], edges[1:], 0.0
    whole = _integrals(function, left, right)
    for _ in range(60):
        middle = (left + right) / 2
        halves = _halves(function, left, right)
        change = np.abs(whole - _of_both(halves)).max(axis=0)
        split = change > _SAME * (settled + np.abs(whole[0]).sum())
        if not split.any() or len(edges) > 4096:
            break
        settled += float(np.abs(whole[0, ~split]).sum())
        edges = np.sort(np.concatenate([edges, middle[split]]))
        left, right = _interleaved(left, middle, right, split)
        whole = halves[:, split].reshape(2, -1)
    return edges


def _interleaved(
    left: Floats, middle: Floats, right: Floats, split: npt.NDArray[np.bool_]
) -> tuple[Floats, Floats]:
    """The ends of the halves of the panels that were split, in order."""
    starts, ends = np.stack([left, middle], axis=1), np.stack([middle, right], axis=1)
    return starts[split].ravel(), ends[split].ravel()


class Found(NamedTuple):
    """The panels of a density on the half-line, its mass on the whole line, and their error."""

    edges: Floats
    mass: float
    error: float


class _Level(NamedTuple):
    """Panels of one generation, their integrals (2, n), and which of them were halved."""

    left: Floats
    right: Floats
    whole: Floats
    split: npt.NDArray[np.bool_]


def search(density: Profile, peaks: Sequence[float] = ()) -> Found:
    """The panels that contain the mass of an even density, wherever it is.

    Panels of every octave are halved until halving changes no integral, and then joined if one is
    as good as two. Around `peaks` the first panels shrink to rounding, so that peaks of any width
    are detected.
    """
    shrinking = 2.0 ** -np.arange(1.0, 50.0)
    around = [p * np.concatenate([1 - shrinking, [1.0], 1 + shrinking]) for p in peaks]
    roots = np.unique(np.concatenate([_OCTAVES, *around]))
    left, right = roots[:-1], roots[1:]
    levels: list[_Level] = []
    settled = 0.0
    whole = _integrals(density, left, right)
    for depth in range(60):
        middle = (left + right) / 2
        halves = _halves(density, left, right)
        change = np.abs(whole - _of_both(halves)).max(axis=0)
        split = change > _SAME * (settled + float(halves[0].sum()))
        if depth < _LOOK:
            split |= left > 0
        split &= (middle > left) & (middle < right) & (len(left) <= _MOST)
        levels.append(_Level(left, right, whole, split))
        settled += float(whole[0, ~split].sum())
        if not split.any():
            break
        left, right = _interleaved(left, middle, right, split)
        whole = halves[:, split].reshape(2, -1)
    # If the density itself has rounding errors, the tolerance grows until there are few enough
    # panels.
    for same in _SAME * 10.0 ** np.arange(5):
        found = _joined(density, levels, same * settled)
        if len(found.edges) <= _ENOUGH:
            break
    return found


def _joined(density: Profile, levels: list[_Level], same: float) -> Found:
    """The fewest panels of a tree of halvings that have the same integrals."""
    best, kept = levels[-1].whole, [~levels[-1].split]
    for level in reversed(levels[:-1]):
        exact = level.whole.copy()
        exact[:, level.split] = _of_both(best.reshape(2, -1, 2))
        one = np.abs(level.whole - exact).max(axis=0) <= same
        kept.append(one | ~level.split)
        best = exact
    rights, alive = [], np.ones(len(levels[0].left), dtype=bool)
    for level, one in zip(levels, reversed(kept), strict=True):
        rights.append(level.right[alive & one])
        alive = np.repeat((alive & ~one)[level.split], 2)
    # Next to zero one panel extends as far as it is exact; beyond the mass there are no panels.
    left, right = levels[0].left, levels[0].right
    mass = np.cumsum(best[0])
    slope = np.cumsum((right + left) * best[0] + (right - left) * best[1]) / right - mass
    change = np.abs(_integrals(density, 0 * right, right) - np.stack([mass, slope])).max(axis=0)
    last = int(np.flatnonzero(best[0]).max(initial=0))
    good = int(np.argmin(np.append(change[: last + 1] <= same, False)))
    panels = np.unique(np.concatenate(rights))
    inside = (panels >= right[max(good - 1, 0)]) & (panels <= right[last])
    panels = _paired(density, np.concatenate([[0.0], panels[inside]]), same)
    return Found(panels, 2 * float(mass[-1]), 2 * same * len(panels))


def _paired(density: Profile, edges: Floats, same: float) -> Floats:
    """Join neighbours, with any parents, while one panel has the integrals of two.

    Away from zero none gets longer than an octave, so that panels show where a tail ends.
    """
    idle = 0
    for start in range(2 * len(edges)):
        left, middle, right = (edges[start % 2 + i :: 2] for i in range(3))
        left, middle = left[: len(right)], middle[: len(right)]
        whole = _integrals(density, left, right)
        parts = np.stack(
            [_integrals(density, left, middle), _integrals(density, middle, right)], axis=-1
        )
        share = np.stack([middle - left, right - middle], axis=-1) / (right - left)[:, None]
        at = np.stack([share[:, 0] - 1, 1 - share[:, 1]], axis=-1)  # middles of the parts
        slope = (share * parts[1] + at * parts[0]).sum(axis=1)
        change = np.maximum(np.abs(whole[0] - parts[0].sum(axis=1)), np.abs(whole[1] - slope))
        one = (change <= same) & ((left == 0) | (right <= 2 * left))
        edges = np.setdiff1d(edges, middle[one])
        idle = 0 if one.any() else idle + 1
        if idle == 2:
            break
    return edges


def _integrals(function: Profile, left: Floats, right: Floats) -> Floats:
    """The integrals over panels of the function, and of it times x from -1 to 1: (2, ...).

    The second sees a jump in the middle of a panel, which the first does not.
    """
    middle, radius = ((right + left) / 2).ravel(), ((right - left) / 2).ravel()
    found = np.empty((2, len(middle)))
    size = _AT_ONCE // POINTS
    for start in range(0, len(middle), size):
        part = slice(start, start + size)
        at = middle[part, None] + radius[part, None] * _X
        values = function(at.ravel()).reshape(at.shape)
        found[:, part] = (values @ np.stack([_W, _W * _X], axis=1)).T * radius[part]
    return found.reshape(2, *left.shape)


def _halves(function: Profile, left: Floats, right: Floats) -> Floats:
    """The integrals over both halves of panels: (2, n, 2)."""
    middle = (left + right) / 2
    return _integrals(function, np.stack([left, middle], axis=1), np.stack([middle, right], axis=1))


def _of_both(halves: Floats) -> Floats:
    """The integrals over panels (2, n), from those over their halves (2, n, 2)."""
    mass, slope = halves
    return np.stack([mass.sum(axis=1), (slope.sum(axis=1) + mass[:, 1] - mass[:, 0]) / 2])


# A spectrum is heavy-tailed if the moment still has mass this many median frequencies out: no
# finite panel holds it, and a rule built on a cut-off would integrate another measure.
_HEAVY = 1e4
NO_EDGES = np.zeros(0)
MASS_TOLERANCE = 1e-6


def check_mass(mass: float) -> None:
    """Raise an error if the mass on the panels is not 1: a peak may have been missed.

    The tolerance allows for a rounded constant; a certificate adds the error that this can cause.
    """
    if not abs(mass - 1) <= MASS_TOLERANCE:
        raise NoDensity(
            f"density must have mass 1 over the real line, and its mass is {mass:.9g}; if it is "
            f"not normalised, divide it by its mass; if it has peaks much narrower than the "
            f"frequency they are at, name them, as in Spectral(density, peaks=[20.0])"
        )


def find_cutoff(density: Profile, order: int, edges: Floats = NO_EDGES) -> float | None:
    """The frequency where omega**order * density has fallen by 1e-20; None if too far out."""
    omega = scan(edges)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        size = np.abs(density(omega))
        log = np.log(size) + (order + 1) * np.log(omega)
        mass = np.cumsum(size * np.gradient(omega))
    if not np.isfinite(mass[-1]) or mass[-1] <= 0:
        raise ValueError("density must be positive somewhere and finite away from zero")
    median = omega[np.searchsorted(mass, 0.5 * mass[-1])]
    reached = np.flatnonzero(log > log.max() - 46.0)[-1] + 1
    end = edges[-1] if len(edges) else np.inf
    cutoff = float(omega[reached] if reached < len(omega) else end)
    bulk = max(median, end_of_peaks(density, edges))
    return None if cutoff > _HEAVY * bulk * (order + 1) else cutoff


def scan(edges: Floats) -> Floats:
    """Frequencies for evaluating a spectrum: eight per octave, or those of its panels."""
    return legendre(edges)[0] if len(edges) else 2.0 ** np.arange(-60.0, 120.0, 0.125)


def median_frequency(density: Profile, edges: Floats = NO_EDGES) -> float:
    """The frequency below which half of the mass lies, on the scan."""
    omega = scan(edges)
    mass = np.cumsum(np.abs(density(omega)) * np.gradient(omega))
    return float(omega[np.searchsorted(mass, 0.5 * mass[-1])])


def quantile_table(density: Profile, edges: Floats = NO_EDGES) -> tuple[Floats, Floats]:
    """The distribution function of a symmetric density, tabulated on omega = s tan(theta)."""
    scale = median_frequency(density, edges)
    theta = np.linspace(0.0, np.pi / 2, 2**15 + 1)[:-1]
    if len(edges):
        within = np.linspace(edges[:-1], edges[1:], 256, endpoint=False)
        theta = np.union1d(theta, np.arctan(within / scale))
    omega = scale * np.tan(theta)
    area = density(omega) / np.cos(theta) ** 2
    cumulative = np.concatenate([[0.0], np.cumsum((area[1:] + area[:-1]) * np.diff(theta))])
    return 0.5 + 0.5 * cumulative / cumulative[-1], omega


def end_of_peaks(function: Profile, edges: Floats) -> float:
    """The end of the last panel shorter than an octave; 0 for a function that only falls."""
    if not len(edges) or np.all(np.diff(function(legendre(edges)[0])) <= 0):
        return 0.0
    shorter = np.flatnonzero(np.diff(edges) < 0.4 * edges[1:])  # than an octave
    return float(edges[1 + shorter.max(initial=0)])
