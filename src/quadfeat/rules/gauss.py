"""Gauss rules of any symmetric spectrum with enough moments."""

from __future__ import annotations

import numpy as np

from .._checks import check_count
from .._errors import NoMoments
from .._typing import Floats, Profile
from ..numerics import gauss as _gauss
from ..numerics.panels import NO_EDGES, check_mass, find_cutoff, legendre, refined
from .rule import Axis, Rule, zero_rule

_MOST_NODES = 100_000  # nodes of a rule that takes seconds


def gauss_hermite(n: int) -> Rule:
    """The `n`-point Gauss rule of the standard normal: exact to degree 2n - 1, weights positive.

    Nodes are exact to 1 ULP and weights to a relative 5e-14 up to n = 2000; from n = 389 on,
    weights too small for a double are exactly 0.

    >>> rule = gauss_hermite(3)
    >>> round(float(rule.weights @ rule.nodes[:, 0] ** 4), 12)  # the fourth moment of N(0, 1)
    3.0
    """
    nodes, weights = _gauss.gauss_hermite(check_count("n", n, maximum=_MOST_NODES, example=5))
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
    # The Gauss rule with degree + 1 nodes has the moments of the spectrum, so the same polynomials.
    rule = axis.gauss(degree + 1)
    beta = _recurrence(rule.nodes[:, 0], rule.weights, degree + 1)
    root = np.sqrt(np.concatenate([[0.0], beta]))
    values = np.ones((degree + 1, len(x)))
    for k in range(degree):
        before = values[k - 1] if k else 0.0
        values[k + 1] = (x * values[k] - root[k] * before) / root[k + 1]
    return values


def gauss(density: Profile, n: int, *, moments: float = np.inf, edges: Floats = NO_EDGES) -> Rule:
    """The `n`-point Gauss rule of a symmetric density: exact to degree 2n - 1, weights positive.

    The density is discretised on adaptive Gauss-Legendre panels; the recurrence comes from the
    Stieltjes procedure and the nodes from Golub-Welsch, polished by Newton (Gautschi, 2004).
    Needs the moments up to order 2n - 2: raises `NoMoments` for a spectrum without them, and never
    cuts the tail off. `edges` are panels that contain the mass of a density with peaks; that mass
    must be 1.
    """
    if n == 1:
        return zero_rule(1)
    order = 2 * n - 2
    if order >= moments or (cutoff := find_cutoff(density, order, edges)) is None:
        raise NoMoments(
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
