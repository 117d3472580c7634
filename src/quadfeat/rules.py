"""Rules: nodes and weights that integrate against a spectrum; how to make them on one axis.

Every spectrum here is a symmetric probability measure on the frequency axis, and every rule has
mass 1, mirrors itself to the last bit, and counts its nodes with `n`.
"""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from . import _gauss
from ._panels import POINTS, legendre, refined, search
from ._panels import Floats as Floats
from ._panels import Profile as Profile

KINDS = ("gauss", "equispaced", "clenshaw-curtis")

# A spectrum whose needed moment still has mass this many median frequencies out is heavy-tailed:
# no finite panel holds it, and a rule built on a cut-off would integrate another measure.
_HEAVY = 1e4


@dataclass(frozen=True, eq=False)
class Rule:
    """A quadrature rule: `nodes` (n, d) and `weights` (n,), which may be signed.

    Calling it at gaps (k, d) gives the kernel it integrates, sum of weight * cos(node . gap).

    >>> Rule(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))(np.array([[0.0]]))
    array([1.])
    """

    nodes: Floats
    weights: Floats

    def __post_init__(self) -> None:
        if self.nodes.ndim != 2 or self.weights.shape != self.nodes.shape[:1]:
            raise ValueError(
                f"a rule needs nodes (n, d) and weights (n,), "
                f"got shapes {self.nodes.shape} and {self.weights.shape}"
            )
        self.nodes.flags.writeable = False
        self.weights.flags.writeable = False

    def __len__(self) -> int:
        return len(self.weights)

    def __call__(self, gaps: Floats) -> Floats:
        rows = max(1, 2**22 // max(1, len(self)))
        return np.concatenate(
            [np.zeros(0)]
            + [
                np.cos(gaps[start : start + rows] @ self.nodes.T) @ self.weights
                for start in range(0, len(gaps), rows)
            ]
        )


class Axis(Protocol):
    """What a rule must know of a one-dimensional kernel with k(0) = 1."""

    @property
    def moments(self) -> float:
        """Spectral moments of an order below this are finite."""

    @property
    def edges(self) -> Floats:
        """Panels that hold the density's peaks; none for one without."""

    def profile(self, gap: Floats) -> Floats:
        """k(u)."""

    def density(self, omega: Floats) -> Floats:
        """The spectral density, of mass 1."""

    def gauss(self, n: int) -> Rule:
        """The n-point Gauss rule of the density."""


def mirrored(half: Floats, weights: Floats, middle: float | None = None) -> Rule:
    """The symmetric 1-D rule of positive nodes and their weights, each for one side."""
    order = np.argsort(half)
    half, weights = half[order], weights[order]
    centre = [] if middle is None else [0.0]
    nodes = np.concatenate([-half[::-1], centre, half])
    both = np.concatenate([weights[::-1], centre if middle is None else [middle], weights])
    mass = both.sum()
    if not mass > 0:
        raise ValueError("the density is zero at every node; a smaller step or cut-off will do")
    return Rule(nodes[:, None], both / mass)


# --- Gauss rules -----------------------------------------------------------------------------
def gauss_hermite(n: int) -> Rule:
    """The `n`-point Gauss rule of the standard normal: exact to degree 2n - 1, weights positive.

    Nodes to 1 ULP, weights to 5e-14 of themselves up to n = 2000; from n = 389 on, weights too
    small for a double are exactly 0.

    >>> rule = gauss_hermite(3)
    >>> round(float(rule.weights @ rule.nodes[:, 0] ** 4), 12)  # the fourth moment of N(0, 1)
    3.0
    """
    nodes, weights = _gauss.gauss_hermite(n)
    return Rule(nodes[:, None], weights)


def discrete_gauss(nodes: Floats, weights: Floats, n: int) -> Rule:
    """The `n`-point Gauss rule of a symmetric measure given by (many) nodes and weights."""
    points, mass = _gauss.symmetric_gauss(_recurrence(nodes, weights, n), n)
    return Rule(points[:, None], mass)


def _recurrence(nodes: Floats, weights: Floats, n: int) -> Floats:
    """The recurrence coefficients beta_1, ..., beta_{n-1} of a symmetric discrete measure."""
    half, which = np.unique(np.abs(nodes), return_inverse=True)
    mass: Floats = np.zeros(len(half))
    np.add.at(mass, which, weights)
    return _gauss.stieltjes(half, mass, n)


def orthonormal(axis: Axis, x: Floats, degree: int) -> Floats:
    """The polynomials of degree 0..degree orthonormal under the axis' spectrum, at x: (., n)."""
    # The Gauss rule of degree + 1 nodes has the spectrum's moments, hence its polynomials.
    rule = axis.gauss(degree + 1)
    beta = _recurrence(rule.nodes[:, 0], rule.weights, degree + 1)
    root = np.sqrt(np.concatenate([[0.0], beta]))
    values = np.ones((degree + 1, len(x)))
    for k in range(degree):
        before = values[k - 1] if k else 0.0
        values[k + 1] = (x * values[k] - root[k] * before) / root[k + 1]
    return values


_NONE = np.zeros(0)


def gauss(density: Profile, n: int, *, moments: float = np.inf, edges: Floats = _NONE) -> Rule:
    """The `n`-point Gauss rule of a symmetric density: exact to degree 2n - 1, weights positive.

    The density is discretised on adaptive Gauss-Legendre panels, its recurrence found by the
    Stieltjes procedure and its nodes by Golub-Welsch with Newton's polish (Gautschi, 2004).
    Needs the moments up to order 2n - 2; a spectrum without them is refused, never cut off.
    `edges` are panels known to hold its mass, for a density with peaks; the mass found must be 1.
    """
    if n == 1:
        return mirrored(np.zeros(0), np.zeros(0), 1.0)
    order = 2 * n - 2
    if order >= moments or (cutoff := _cutoff(density, order, edges)) is None:
        raise ValueError(
            f"a {n}-point Gauss rule needs spectral moments up to order {order}, and this "
            f"spectrum has a tail too heavy for them; use DenseGrid(rule='equispaced'), or make "
            f"the kernel subgaussian with Smoothed(kernel, width)"
        )

    def weighted(omega: Floats) -> Floats:
        return density(omega) * (omega / cutoff) ** order

    start = np.union1d(np.linspace(0.0, cutoff, 17), edges[edges < cutoff])
    omega, weights = legendre(refined(weighted, refined(density, start)))
    mass = weights * density(omega)
    check_mass(2 * float(mass.sum()))
    return discrete_gauss(omega, mass, n)


MASS_TOLERANCE = 1e-6


def check_mass(mass: float) -> None:
    """Refuse a density whose mass was not found: what is missing may be a peak that was not seen.

    By up to the tolerance a constant may be rounded; a certificate adds what that can do.
    """
    if not abs(mass - 1) <= MASS_TOLERANCE:
        raise ValueError(
            f"density must have mass 1 over the real line, and {mass:.9g} was found; if it is not "
            f"normalised, divide it by its mass; if it has peaks much narrower than the frequency "
            f"they are at, name them, as in Spectral(density, peaks=[20.0])"
        )


def _cutoff(density: Profile, order: int, edges: Floats = _NONE) -> float | None:
    """Where omega**order * density has fallen by 1e-20; None if that is far out in the tail."""
    omega = _scan(edges)
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
    bulk = max(median, _end_of_peaks(density, edges))
    return None if cutoff > _HEAVY * bulk * (order + 1) else cutoff


def _scan(edges: Floats) -> Floats:
    """Frequencies at which a spectrum shows: eight per octave, or those of its panels."""
    return legendre(edges)[0] if len(edges) else 2.0 ** np.arange(-60.0, 120.0, 0.125)


# --- rules on a given step or interval ---------------------------------------------------------
def equispaced(density: Profile, n: int, step: float) -> Rule:
    """`n` nodes `step` apart, weights proportional to the density: positive, of mass 1.

    By Poisson summation the infinite rule errs by the aliases of the kernel, `aliases`; the
    finite one by at most `equispaced_bound`. Beyond about three length scales it beats Gauss.
    """
    half = _positive_nodes(n, step)
    middle = float(density(np.zeros(1))[0]) if n % 2 else None
    return mirrored(half, density(half), middle)


def _positive_nodes(n: int, step: float) -> Floats:
    first = 1.0 if n % 2 else 0.5
    return np.linspace(first, first + n // 2 - 1, n // 2) * step


_NEGLIGIBLE = 1e-15  # the rounding of kernels that are known as integrals


def aliases(profile: Profile, gap: Floats, step: float, *, shifted: bool) -> Floats:
    """What the infinite equispaced rule adds to k(gap): the sum of k(gap + 2 pi m / step), m != 0.

    `shifted` is the rule without a node at zero (n even), whose aliases alternate in sign.
    """
    period, total = 2 * np.pi / step, np.zeros_like(gap)
    for m in range(1, 10_000):
        term = profile(np.abs(m * period - gap)) + profile(m * period + gap)
        total += -term if shifted and m % 2 else term
        if np.all(term <= _NEGLIGIBLE):
            break
    return total


def equispaced_bound(axis: Axis, n: int, step: float, reach: float) -> float:
    """A bound of |k - rule| over |gap| <= reach for `equispaced(axis.density, n, step)`.

    For kernels that fall with the gap, at least like its square. Aliases, plus the mass beyond the
    last node, plus what making the mass 1 changes. Vacuous beyond half of the period 2 pi / step.
    """
    half, period = _positive_nodes(n, step), 2 * np.pi / step
    kept = step * (2 * axis.density(half).sum())
    kept += step * float(axis.density(np.zeros(1))[0]) if n % 2 else 0.0
    if reach >= period:
        return 2.0
    # On the one side aliases are largest at the reach, on the other at zero; those beyond the
    # last one summed are at most as many times as large as there were.
    all_aliases = 0.0
    for m in range(1, 2001):
        term = float(axis.profile(np.array([m * period - reach, m * period])).sum())
        all_aliases += term
        if term <= _NEGLIGIBLE:
            break
    all_aliases += m * term
    at_zero = aliases(axis.profile, np.zeros(1), step, shifted=n % 2 == 0)[0]
    return float(min(2.0, all_aliases + max(0.0, 1 + at_zero - kept) + abs(1 - kept)))


def clenshaw_curtis(density: Profile, n: int, cutoff: float) -> Rule:
    """`n` Chebyshev nodes on [-cutoff, cutoff], weights positive, of mass 1.

    Exact for the density times polynomials only as far as the density itself is one on the
    interval; the paper's alternative to Gauss (Clenshaw and Curtis, 1960).
    """
    if n == 1:
        return mirrored(np.zeros(0), np.zeros(0), 1.0)
    theta = np.pi * np.arange(n) / (n - 1)
    k = np.arange(1, (n - 1) // 2 + 1)
    coefficient = np.where(2 * k == n - 1, 1.0, 2.0) / (4.0 * k**2 - 1)
    weights = 1 - (coefficient * np.cos(2 * np.outer(theta, k))).sum(axis=1)
    weights[[0, -1]] /= 2
    half = cutoff * np.cos(theta[: n // 2])
    middle = weights[n // 2] * float(density(np.zeros(1))[0]) if n % 2 else None
    return mirrored(half, weights[: n // 2] * density(half), middle)


# --- the choice among them --------------------------------------------------------------------
def sup_error(axis: Axis, rule: Rule, reach: float) -> float:
    """The largest |k - rule| seen on a fine mesh of |gap| <= reach."""
    gap = _mesh(len(rule), reach)
    return float(np.abs(rule(gap[:, None]) - axis.profile(gap)).max())


def _mesh(n: int, reach: float) -> Floats:
    """Gaps dense enough for the wiggles of an n-point rule's error."""
    return np.linspace(0.0, reach, 201 + 4 * n)


def axis_rule(axis: Axis, n: int, *, kind: str = "auto", reach: float = 1.0) -> Rule:
    """The `n`-point rule of a kind that errs least over |gap| <= reach; "auto" tries every kind."""
    if kind == "gauss":
        return axis.gauss(n)
    if kind == "auto":
        candidates = [axis_rule(axis, n, kind=k, reach=reach) for k in KINDS[1:]]
        with contextlib.suppress(ValueError):  # a spectrum without the moments for it
            candidates.insert(0, axis.gauss(n))
        return min(candidates, key=lambda rule: sup_error(axis, rule, reach))
    if kind not in KINDS:
        raise ValueError(f"rule must be one of {('auto', *KINDS)}, got {kind!r}")
    make = equispaced if kind == "equispaced" else clenshaw_curtis
    gap = _mesh(n, reach)
    exact = axis.profile(gap)

    def error(size: float) -> float:
        try:
            return float(np.abs(make(axis.density, n, size)(gap[:, None]) - exact).max())
        except ValueError:  # nodes so far out that the density is zero there
            return np.inf

    # The step (or the cut-off) trades aliases against lost tail; the trade-off has one valley,
    # but a flat and sometimes rippled floor, so it is scanned before it is refined.
    width = _frequency_scale(axis)
    # With more nodes the step of a light tail shrinks; that of a heavy one hardly does.
    finest = -6 - np.log2(max(1.0, n / 16)) if kind == "equispaced" else -6
    sizes = width * 2.0 ** np.arange(finest, 3.01, 0.25) * (1 if kind == "equispaced" else 8)
    for spread in (2**0.2, 2**0.04, 2**0.008):
        best = min(sizes, key=error)
        sizes = best * spread ** np.linspace(-1, 1, 11)
    return make(axis.density, n, best)


def smallest_rule(axis: Axis, reach: float, tol: float, *, max_n: int = 512) -> Rule:
    """The rule of fewest nodes whose error over |gap| <= reach stays below `tol`."""

    def meets(n: int) -> Rule | None:
        rule = axis_rule(axis, n, reach=reach)
        return rule if sup_error(axis, rule, reach) <= tol else None

    low, high = 0, 1
    while (found := meets(high)) is None:
        low, high = high, 2 * high
        if low >= max_n:
            raise ValueError(
                f"tol={tol:g} over gaps up to {reach:g} needs more than {max_n} nodes on one axis; "
                f"a larger tol, a smaller region or a smoother kernel (Smoothed) will do"
            )
    while high - low > 1:
        middle = (low + high) // 2
        if (rule := meets(middle)) is None:
            low = middle
        else:
            high, found = middle, rule
    return found


def _frequency_scale(axis: Axis) -> float:
    """The inverse of the gap at which the kernel has fallen by half."""
    gap = 2.0**-40
    while gap < 2.0**60 and float(axis.profile(np.array([gap]))[0]) > 0.5:
        gap *= 2.0**0.5
    return 1.0 / gap


def _median_frequency(density: Profile, edges: Floats = _NONE) -> float:
    omega = _scan(edges)
    mass = np.cumsum(np.abs(density(omega)) * np.gradient(omega))
    return float(omega[np.searchsorted(mass, 0.5 * mass[-1])])


# --- transforms between profile and density -----------------------------------------------------
class CosineTransform:
    """The integral of function(t) cos(t * at) over the real line, for an even function.

    Light tails: Gauss-Legendre panels short enough for the fastest cosine. Heavy tails: the sum
    over half-waves, extrapolated. More than a few hundred points are read off a Chebyshev
    interpolant. What is made for one reach serves every smaller one. `edges` are panels known to
    hold all of the function, for one with peaks.
    """

    def __init__(self, function: Profile, edges: Floats = _NONE) -> None:
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


_FASTEST = 1e6  # radians that a cosine may turn through on the panels


def _light_transform(function: Profile, reach: float, edges: Floats) -> Profile | None:
    cutoff = _cutoff(function, 0, edges)
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
    """Panels up to the cut-off, at least sixteen, on which a cosine turns through 8 at most."""
    pieces = max(16, int(np.ceil(cutoff * reach / 8)))
    return np.union1d(np.linspace(0.0, cutoff, pieces + 1), edges[edges < cutoff])


def _heavy_transform(function: Profile, edges: Floats) -> Profile:
    scale = _median_frequency(function, edges)
    bulk = _end_of_peaks(function, edges)
    if np.any(function(_scan(edges)) < 0):
        raise ValueError(
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
            raise ValueError(
                f"a gap of {at:g} is too far for this spectrum, which has peaks at frequencies "
                f"of up to {bulk:g}; standardise X"
            )
        # The half-waves begin where there are no more peaks; what is before is summed as it is.
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


def _end_of_peaks(function: Profile, edges: Floats) -> float:
    """Where a function begins to fall as smoothly as a power does; 0 for one that always falls."""
    if not len(edges) or np.all(np.diff(function(legendre(edges)[0])) <= 0):
        return 0.0
    shorter = np.flatnonzero(np.diff(edges) < 0.4 * edges[1:])  # than an octave
    return float(edges[1 + shorter.max(initial=0)])


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


def convolution(one: Axis, two: Axis) -> Profile:
    """The density of the sum of two frequencies, on panels that both densities are smooth on."""
    (left, f), (right, g) = (
        (axis.edges if len(axis.edges) else search(axis.density).edges, axis.density)
        for axis in (one, two)
    )
    rows = max(1, 2**20 // (POINTS * (2 * len(left) + len(right))))

    def some(omega: Floats) -> Floats:
        moved = [np.abs(omega[:, None] - left), omega[:, None] + left]
        ends = np.concatenate([np.tile(right, (len(omega), 1)), *moved], axis=1)
        ends = np.sort(np.minimum(ends, right[-1]), axis=1)
        middle, radius = (ends[:, 1:] + ends[:, :-1]) / 2, (ends[:, 1:] - ends[:, :-1]) / 2
        found = np.zeros(len(omega))
        for x, w in zip(*legendre(np.array([-1.0, 1.0])), strict=True):
            v = middle + radius * x
            both = f(np.abs(omega[:, None] - v)) + f(omega[:, None] + v)
            found += w * (radius * g(v) * both).sum(axis=1)
        return found

    def density(omega: Floats) -> Floats:
        parts = np.array_split(np.abs(omega), len(omega) // rows + 1)
        return np.concatenate([some(part) for part in parts])

    return density


def quantile_table(density: Profile, edges: Floats = _NONE) -> tuple[Floats, Floats]:
    """The distribution function of a symmetric density, tabulated on omega = s tan(theta)."""
    scale = _median_frequency(density, edges)
    theta = np.linspace(0.0, np.pi / 2, 2**15 + 1)[:-1]
    if len(edges):
        within = np.linspace(edges[:-1], edges[1:], 256, endpoint=False)
        theta = np.union1d(theta, np.arctan(within / scale))
    omega = scale * np.tan(theta)
    area = density(omega) / np.cos(theta) ** 2
    cumulative = np.concatenate([[0.0], np.cumsum((area[1:] + area[:-1]) * np.diff(theta))])
    return 0.5 + 0.5 * cumulative / cumulative[-1], omega
