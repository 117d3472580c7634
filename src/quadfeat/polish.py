"""Nodes moved, and weights refitted, to lower the error over pairs of the data."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from .rules import Floats

# A step costs about pairs * parameters^2 multiply-adds; beyond this many parameters it takes
# more than a second.
MAX_PARAMETERS = 2000
_WORK = 6e9  # multiply-adds of the steps together where none are asked for


def polish(
    nodes: Floats,
    weights: Floats,
    kernel: Callable[[Floats], Floats],
    X: Floats,
    rng: np.random.Generator,
    *,
    steps: int | None = None,
) -> tuple[Floats, Floats]:
    """Cosine nodes (m, d) and weights (m,) with less mean squared error over pairs of rows of X.

    Levenberg-Marquardt on all m (d + 1) numbers, on fresh pairs at every step so that none is
    learnt by heart; the best step on pairs never used for one is returned, so the result is not
    worse there than the start. Weights stay non-negative (they are squares), the zero node stays
    zero, and the map stays shift-invariant. Polynomial exactness is lost. Worth it up to
    `MAX_PARAMETERS` numbers.

    Parameters
    ----------
    nodes : (m, d)
        Frequencies, one of each mirrored pair.
    weights : (m,)
        k~(u) = sum of weights * cos(nodes . u).
    kernel : callable
        k of gaps (n, d), such as `Kernel.at`.
    X : (n, d)
        The data.
    rng : Generator
        Draws the pairs.
    steps : int, optional
        Between 6 and 40 without it, by their cost.
    """
    m, d = nodes.shape
    size = m * (d + 1)
    n_pairs = int(np.clip(4 * size, 4000, 20_000))
    if steps is None:
        steps = int(np.clip(_WORK / (n_pairs * size**2), 6, 40))
    judge = _gaps(X, 2 * n_pairs, rng)
    truth = kernel(judge)
    roots = np.sqrt(np.maximum(weights, 1e-3 * weights.mean()))
    best = nodes, weights, _error(nodes, weights, judge, truth)
    damping = 1e-3
    for _ in range(steps):
        gaps = _gaps(X, n_pairs, rng)
        values = kernel(gaps)
        hessian, slope, before = _normal_equations(nodes, roots, gaps, values)
        diagonal = np.maximum(hessian.diagonal(), 1e-12 * hessian.diagonal().max())
        for _ in range(6):
            damped = hessian + np.diag(damping * diagonal)
            try:
                step = cho_solve(cho_factor(damped, overwrite_a=True), -slope)
            except LinAlgError:
                damping *= 10
                continue
            moved = nodes + step[m:].reshape(m, d), roots + step[:m]
            if _error(moved[0], moved[1] ** 2, gaps, values) < before:
                (nodes, roots), damping = moved, damping / 4
                break
            damping *= 4
        error = _error(nodes, roots**2, judge, truth)
        if error < best[2]:
            best = nodes, roots**2, error
    return best[0], best[1]


def _gaps(X: Floats, count: int, rng: np.random.Generator) -> Floats:
    left, right = rng.integers(len(X), size=(2, count))
    return np.asarray((X[left] - X[right])[left != right])


def _error(nodes: Floats, weights: Floats, gaps: Floats, values: Floats) -> float:
    return float(np.mean((np.cos(gaps @ nodes.T) @ weights - values) ** 2))


def _normal_equations(
    nodes: Floats, roots: Floats, gaps: Floats, values: Floats
) -> tuple[Floats, Floats, float]:
    """J'J and J'e of the errors e in (roots, nodes), and the mean of e^2."""
    phases = gaps @ nodes.T
    cosines = np.cos(phases)
    error = cosines @ roots**2 - values
    turning = np.sin(phases) * -(roots**2)
    slopes = np.concatenate(
        [cosines * (2 * roots), np.einsum("ij,ik->ijk", turning, gaps).reshape(len(gaps), -1)],
        axis=1,
    )
    return slopes.T @ slopes, error @ slopes, float(np.mean(error**2))
