"""Rules drawn at random: for the random feature maps, and as pools of candidates to reweight.

Each node also represents its mirror image (a cosine and a sine column); weights are equal unless
said otherwise.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.stats import qmc

from .._typing import Floats
from ..kernels.base import Kernel
from ..rules.rule import Rule

Draw = Callable[[Kernel, int, int, np.random.Generator], Rule]


def _equal(nodes: Floats) -> Rule:
    return Rule(nodes, np.full(len(nodes), 1.0 / len(nodes)))


def random(kernel: Kernel, n: int, d: int, rng: np.random.Generator) -> Rule:
    """`n` independent draws: unbiased, error ~ n^(-1/2) (Rahimi and Recht, 2007)."""
    return _equal(kernel.sample(n, d, rng))


def orthogonal(kernel: Kernel, n: int, d: int, rng: np.random.Generator) -> Rule:
    """Draws of a rotation-invariant spectrum in blocks of d mutually orthogonal directions.

    Each node alone is distributed as the spectrum, so the rule is unbiased; orthogonality lowers
    its variance (Yu et al., 2016). Directions are orthogonal before any scale per axis.
    """
    _require_rotation_invariant(kernel, "OrthogonalFourier()")
    blocks = [_haar(min(d, n - first), d, rng) for first in range(0, n, d)]
    return _equal(_with_radii(np.concatenate(blocks), kernel, rng))


def structured(kernel: Kernel, n: int, d: int, rng: np.random.Generator) -> Rule:
    """Orthogonal directions from Hadamard matrices and random signs: H D1 H D2 H D3.

    Computed in O(n log d); the directions are nearly, not exactly, uniform (Yu et al., 2016). If d
    is not a power of two, padded directions are cut to d axes and scaled to unit length: they are
    then nearly orthogonal. Below 16 axes there are too few sign patterns: directions are those of
    `orthogonal`.
    """
    _require_rotation_invariant(kernel, "OrthogonalFourier(structured=True)")
    if d < 16:
        return orthogonal(kernel, n, d, rng)
    size = 1 << (d - 1).bit_length()
    blocks = []
    for first in range(0, n, size):
        block = np.eye(min(size, n - first), size)
        for _ in range(3):
            block = _hadamard(block * rng.choice([-1.0, 1.0], size=size))
        length = np.linalg.norm(block[:, :d], axis=1, keepdims=True)
        blocks.append(block[:, :d] / np.maximum(length, np.finfo(float).tiny))
    return _equal(_with_radii(np.concatenate(blocks), kernel, rng))


def sobol(kernel: Kernel, n: int, d: int, rng: np.random.Generator) -> Rule:
    """A scrambled Sobol sequence pushed through the spectrum's quantiles (Yang et al., 2014)."""
    engine = qmc.Sobol(kernel.cube(d), scramble=True, rng=rng)
    return _pushed(kernel, engine.random_base2(max(0, n - 1).bit_length())[:n])


def halton(kernel: Kernel, n: int, d: int, rng: np.random.Generator) -> Rule:
    """A scrambled Halton sequence pushed through the spectrum's quantiles; the paper's is plain."""
    return _pushed(kernel, qmc.Halton(kernel.cube(d), scramble=True, rng=rng).random(n))


def spherical_radial(kernel: Kernel, n: int, d: int, rng: np.random.Generator) -> Rule:
    """Randomly rotated simplices of degree (3, 3) for a Gaussian (Munkhoeva et al., 2018).

    A block of d + 1 nodes with radius rho ~ chi(d + 2) has weights d / ((d + 1) rho^2), and the
    zero node takes the rest of mass 1. That rest is zero on average and negative half of the time;
    if it is negative, it is dropped and the other weights are scaled to mass 1.
    """
    if not kernel.rotation_invariant or not np.isfinite(kernel.subgaussian(d)):
        raise ValueError(
            f"SphericalRadial integrates the normal spectrum of Gaussian(gamma), got {kernel!r}; "
            f"RandomFourier and QuasiRandomFourier take any kernel"
        )
    scale = np.sqrt(2 * np.asarray(kernel.get_params()["gamma"]))
    simplex = _simplex(d)
    n_blocks = -(-n // (d + 1))
    nodes, weights = [], []
    for _ in range(n_blocks):
        radius = np.sqrt(rng.chisquare(d + 2))
        nodes.append(radius * simplex @ _haar(d, d, rng))
        weights.append(np.full(d + 1, d / ((d + 1) * radius**2)))
    mass = np.concatenate(weights)[:n] / n_blocks
    # An incomplete last block gets the mass of a whole one.
    last = n - (n_blocks - 1) * (d + 1)
    mass[-last:] *= (d + 1) / last
    directions = np.concatenate(nodes)[:n] * scale
    rest = 1.0 - mass.sum()
    if rest <= 0:
        return Rule(directions, mass / mass.sum())
    return Rule(np.vstack([directions, np.zeros(d)]), np.append(mass, rest))


def _require_rotation_invariant(kernel: Kernel, name: str) -> None:
    if not kernel.rotation_invariant:
        raise ValueError(
            f"{name} needs a rotation-invariant kernel (Gaussian, or Matern with product=False), "
            f"got {kernel!r}; RandomFourier and QuasiRandomFourier take any kernel"
        )


def _with_radii(directions: Floats, kernel: Kernel, rng: np.random.Generator) -> Floats:
    """Directions of unit length with the lengths of independent draws of the spectrum.

    A gamma per axis stretches the axes afterwards, as it stretches the spectrum.
    """
    n, d = directions.shape
    gamma = np.asarray(kernel.get_params()["gamma"], dtype=np.float64)
    unit = kernel if gamma.ndim == 0 else type(kernel)(**{**kernel.get_params(), "gamma": 0.5})
    stretch = 1.0 if gamma.ndim == 0 else np.sqrt(2 * gamma)
    radii = np.linalg.norm(unit.sample(n, d, rng), axis=1)
    return directions * radii[:, None] * stretch


def _haar(n: int, d: int, rng: np.random.Generator) -> Floats:
    """The first n <= d rows of a rotation (or reflection) distributed uniformly."""
    q, r = np.linalg.qr(rng.standard_normal((d, n)))
    return np.asarray((q * np.sign(np.diag(r))).T)


def _hadamard(rows: Floats) -> Floats:
    """Each row times the orthonormal Hadamard matrix, by the fast Walsh-Hadamard transform."""
    n, size = rows.shape
    half = 1
    while half < size:
        pairs = rows.reshape(n, -1, 2, half)
        rows = np.stack([pairs[:, :, 0] + pairs[:, :, 1], pairs[:, :, 0] - pairs[:, :, 1]], axis=2)
        rows = rows.reshape(n, size)
        half *= 2
    return rows / np.sqrt(size)


def _simplex(d: int) -> Floats:
    """The d + 1 unit vertices of a regular simplex in d dimensions, (d + 1, d)."""
    # Helmert's contrasts: column k compares vertex k + 1 with the mean of those before it.
    k = np.arange(1, d + 1)
    contrasts = np.triu(np.ones((d + 1, d))) - np.eye(d + 1, d, -1) * k
    return contrasts * np.sqrt((d + 1) / (d * k * (k + 1)))


def _pushed(kernel: Kernel, cube: Floats) -> Rule:
    """Points of the unit cube mapped to frequencies; clipped so that quantiles stay finite."""
    return _equal(kernel.spectrum(np.clip(cube, 2.0**-54, 1 - 2.0**-53)))
