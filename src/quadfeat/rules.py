"""Rules: nodes and weights that integrate against a spectrum; how to make them on one axis.

Every spectrum here is a symmetric probability measure on the frequency axis, and every rule has
mass 1, mirrors itself to the last bit, and counts its nodes with `n`.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import numpy.typing as npt

from . import _gauss

Floats = npt.NDArray[np.float64]
Profile = Callable[[Floats], Floats]

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


def gauss(density: Profile, n: int, *, moments: float = np.inf) -> Rule:
    """The `n`-point Gauss rule of a symmetric density: exact to degree 2n - 1, weights positive.

    The density is discretised on adaptive Gauss-Legendre panels, its recurrence found by the
    Stieltjes procedure and its nodes by Golub-Welsch with Newton's polish (Gautschi, 2004).
    Needs the moments up to order 2n - 2; a spectrum without them is refused, never cut off.
    """
    if n == 1:
        return mirrored(np.zeros(0), np.zeros(0), 1.0)
    order = 2 * n - 2
    if order >= moments or (cutoff := _cutoff(density, order)) is None:
        raise ValueError(
            f"a {n}-point Gauss rule needs spectral moments up to order {order}, and this "
            f"spectrum has a tail too heavy for them; use DenseGrid(rule='equispaced'), or make "
            f"the kernel subgaussian with Smoothed(kernel, width)"
        )

    def weighted(omega: Floats) -> Floats:
        return density(omega) * (omega / cutoff) ** order

    panels = _panels(weighted, _panels(density, np.linspace(0.0, cutoff, 17)))
    omega, mass = _legendre(panels)
    return discrete_gauss(omega, mass * density(omega), n)


def _cutoff(density: Profile, order: int) -> float | None:
    """Where omega**order * density has fallen by 1e-20; None if that is far out in the tail."""
    omega = 2.0 ** np.arange(-60.0, 120.0, 0.125)
    with np.errstate(divide="ignore", over="ignore", under="ignore"):
        log = np.log(density(omega)) + (order + 1) * np.log(omega)
        mass = np.cumsum(density(omega) * omega)
    if not np.isfinite(mass[-1]) or mass[-1] <= 0:
        raise ValueError("density must be positive somewhere and finite away from zero")
    median = omega[np.searchsorted(mass, 0.5 * mass[-1])]
    reached = np.flatnonzero(log > log.max() - 46.0)[-1]
    if reached + 1 >= len(omega) or omega[reached + 1] > _HEAVY * median * (order + 1):
        return None
    return float(omega[reached + 1])


_LEGENDRE = 24


def _legendre(edges: Floats) -> tuple[Floats, Floats]:
    """Nodes and weights of the Gauss-Legendre rule on each panel between `edges`."""
    x, w = np.polynomial.legendre.leggauss(_LEGENDRE)
    middle, radius = (edges[1:] + edges[:-1]) / 2, (edges[1:] - edges[:-1]) / 2
    return (middle[:, None] + radius[:, None] * x).ravel(), (radius[:, None] * w).ravel()


def _panels(function: Profile, edges: Floats) -> Floats:
    """`edges` with panels halved until halving one more time changes no integral."""
    for _ in range(60):
        middle = (edges[1:] + edges[:-1]) / 2
        finer = np.insert(edges, np.arange(1, len(edges)), middle)
        whole, halves = (
            (function(nodes) * weights).reshape(-1, _LEGENDRE).sum(axis=1)
            for nodes, weights in (_legendre(edges), _legendre(finer))
        )
        change = np.abs(whole - halves.reshape(-1, 2).sum(axis=1))
        split = change > 1e-16 * np.abs(whole).sum()
        if not split.any() or len(edges) > 4096:
            return edges
        edges = np.sort(np.concatenate([edges, middle[split]]))
    return edges


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


def _median_frequency(density: Profile) -> float:
    omega = 2.0 ** np.arange(-60.0, 120.0, 0.125)
    mass = np.cumsum(density(omega) * omega)
    return float(omega[np.searchsorted(mass, 0.5 * mass[-1])])


# --- transforms between profile and density -----------------------------------------------------
class CosineTransform:
    """The integral of function(t) cos(t * at) over the real line, for an even function.

    Light tails: Gauss-Legendre panels short enough for the fastest cosine. Heavy tails: the sum
    over half-waves, extrapolated. More than a few hundred points are read off a Chebyshev
    interpolant. What is made for one reach serves every smaller one.
    """

    def __init__(self, function: Profile) -> None:
        self._function = function
        self._reach = -1.0

    def __call__(self, at: Floats) -> Floats:
        at = np.abs(at)
        largest = float(at.max(initial=0.0))
        if largest > self._reach:
            self._reach = 2.0 ** np.ceil(np.log2(largest)) if largest > 0 else 0.0
            light = _light_transform(self._function, self._reach)
            self._direct = light or _heavy_transform(self._function)
            self._series: Profile | None = None
        if at.size <= 400:
            return self._direct(at.ravel()).reshape(at.shape)
        if self._series is None:
            self._series = _interpolant(self._direct, self._reach)
        return self._series(at.ravel()).reshape(at.shape)


def _interpolant(function: Profile, reach: float) -> Profile:
    """A Chebyshev series as good as the function on [0, reach], or the function itself."""
    for degree in (64, 128, 256, 512):
        series = np.polynomial.Chebyshev.interpolate(function, degree, [0.0, reach])
        if np.abs(series.coef[-4:]).max() < 1e-15 * degree * np.abs(series.coef).max():
            return series
    return function


def _light_transform(function: Profile, reach: float) -> Profile | None:
    cutoff = _cutoff(function, 0)
    if cutoff is None or cutoff * reach > 1e6:
        return None
    pieces = max(16, int(np.ceil(cutoff * reach / 8)))
    nodes, weights = _legendre(_panels(function, np.linspace(0.0, cutoff, pieces + 1)))
    mass = 2 * weights * function(nodes)
    rows = max(1, 2**22 // len(nodes))

    def transform(at: Floats) -> Floats:
        parts = np.array_split(at, len(at) // rows + 1)
        return np.concatenate([np.cos(np.outer(part, nodes)) @ mass for part in parts])

    return transform


def _heavy_transform(function: Profile) -> Profile:
    scale = _median_frequency(function)

    def on_angles(theta: Floats) -> Floats:
        return scale * function(scale * np.tan(theta)) / np.cos(theta) ** 2

    def one(at: float) -> float:
        if at == 0.0:
            theta, weights = _legendre(_panels(on_angles, np.linspace(0.0, np.pi / 2, 17)))
            return 2 * float(weights @ on_angles(theta))
        zeros = np.concatenate([[0.0], (np.arange(_TAIL + 1) + 0.5) * np.pi / at])
        nodes, weights = _legendre(_panels(lambda t: function(t) * np.cos(at * t), zeros))
        integrals = np.bincount(
            np.searchsorted(zeros, nodes) - 1,
            weights=weights * function(nodes) * np.cos(at * nodes),
        )
        return 2 * float(integrals[0] - _alternating(np.abs(integrals[1:])))

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


def quantile_table(density: Profile) -> tuple[Floats, Floats]:
    """The distribution function of a symmetric density, tabulated on omega = s tan(theta)."""
    theta = np.linspace(0.0, np.pi / 2, 2**15 + 1)[:-1]
    omega = _median_frequency(density) * np.tan(theta)
    area = density(omega) / np.cos(theta) ** 2
    cumulative = np.concatenate([[0.0], np.cumsum(area[1:] + area[:-1])])
    return 0.5 + 0.5 * cumulative / cumulative[-1], omega
