"""Kernels, random regions and rules, and the largest error that a search finds."""

import numpy as np

from quadfeat.accuracy.region import Region
from quadfeat.kernels.matern import Matern
from quadfeat.kernels.stationary import Cauchy, Gaussian, Laplacian
from quadfeat.rules import interval, rule

KERNELS = [
    Gaussian,
    Cauchy,
    Laplacian,
    lambda gamma: Matern(0.5, gamma, product=True),
    lambda gamma: Matern(1.5, gamma, product=True),
    lambda gamma: Matern(2.5, gamma, product=True),
]


def points(region, n, rng):
    """Gaps of the region: inside, on its boundary, along axes and diagonals."""
    d, widths = len(region.box), np.minimum(region.box, region.diameter)
    U = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    U /= np.maximum(np.linalg.norm(U, axis=1, keepdims=True), 1e-300)
    U *= region.diameter * np.minimum(1.0, 1.3 * rng.random((n, 1)) ** (1 / d))
    t = np.linspace(0.0, region.diameter, 65)[:, None]
    lines = [t * np.eye(d)[i] for i in range(d)]
    lines += [t * (np.arange(d) < j) / np.sqrt(j) for j in range(2, d + 1)]
    U = np.clip(np.concatenate([U, *lines]), -widths, widths)
    return U * (1 - 1e-15)


def grid_error(kernel, axes, U):
    q = np.ones(len(U))
    for i, axis in enumerate(axes):
        q *= np.cos(np.outer(U[:, i], axis.nodes[:, 0])) @ axis.weights
    return np.abs(kernel.at(U) - q)


def rule_error(kernel, rule, U):
    return np.abs(kernel.at(U) - rule(U))


def climb(error, region, rng, rounds=50):
    """The largest error a random search with shrinking steps finds."""
    U = points(region, 2000, rng)
    U = U[np.argsort(-error(U))[:40]]
    widths = np.minimum(region.box, region.diameter)
    for i in range(rounds):
        V = np.repeat(U, 20, axis=0)
        V = V + region.diameter * 0.2 * 0.82**i * rng.normal(size=V.shape)
        length = np.linalg.norm(V, axis=1, keepdims=True)
        V = np.clip(V * np.minimum(1.0, region.diameter / length), -widths, widths)
        U = np.concatenate([U, V])
        U = U[np.argsort(-error(U))[:40]]
    return float(error(U[:1])[0])


def random_region(d, rng):
    diameter = float(np.exp(rng.uniform(np.log(0.05), np.log(10.0))))
    kind = rng.integers(3)
    if kind == 0:
        return Region.of(d=d, diameter=diameter)
    box = diameter * rng.uniform(0.05, 1.0, size=d)
    return Region.of(box=box) if kind == 1 else Region.of(diameter=diameter, box=box)


def random_rule(kernel, n, rng):
    """A one-dimensional rule of any kind, good or bad: certificates owe nothing to its quality."""
    axis = kernel.axis(0)
    kind = rng.integers(4)
    if kind == 0 and isinstance(kernel, Gaussian | Cauchy):
        return axis.gauss(n)
    scale = interval.frequency_scale(axis)
    if kind == 1:
        return interval.clenshaw_curtis(axis.density, n, scale * rng.uniform(2, 10))
    if kind == 2:
        half = np.sort(scale * rng.uniform(0.1, 5, size=n))
        return rule.mirrored(half, rng.random(n) + 1e-3)
    return interval.equispaced(axis.density, n, scale * rng.uniform(0.2, 1.5))
