"""Move the nodes of a rule, and refit its weights, to lower the error over pairs of the data."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._display.progress import counted
from .._typing import Floats, Matrix
from ..numerics import principal_frame
from ..numerics.lbfgs import LBFGS

# A step costs about pairs * parameters^2 multiply-adds; beyond this many parameters the steps
# together take more than two seconds.
MAX_PARAMETERS = 1300
_WORK = 6e9  # multiply-adds of all steps together, unless `steps` is given
_DESCENT_ROWS = 800
_DESCENT_ROUNDS = 2
# Factors up to 1 + this / sqrt(rows), as measured with breast cancer (five columns, 380 rows) and
# the swiss roll: half of it is too little for a few hundred rows with heavy tails, and factors up
# to 1.5 double the error for thousands of evenly spread rows.
_OUTWARD = 8.0


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

    Levenberg-Marquardt on all m (d + 1) numbers, on new pairs at every step to avoid overfitting.
    It returns the best step on separate validation pairs, so the result is not worse there than the
    start. Weights stay non-negative (they are squares), the zero node stays zero, and the map stays
    shift-invariant. Polynomial exactness is lost. For up to `MAX_PARAMETERS` numbers; use `descend`
    beyond.

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
        Default: between 6 and 40, by their cost.
    """
    m, d = nodes.shape
    size = m * (d + 1)
    n_pairs = int(np.clip(4 * size, 4000, 20_000))
    if steps is None:
        steps = int(np.clip(_WORK / (n_pairs * size**2), 6, 40))
    validation_gaps = _gaps(X, 2 * n_pairs, rng)
    validation_values = kernel(validation_gaps)
    roots = np.sqrt(np.maximum(weights, 1e-3 * weights.mean()))
    best = nodes, weights, _error(nodes, weights, validation_gaps, validation_values)
    dtype = _precision(best[2], weights)
    damping = 1e-3
    for _ in counted("moving the nodes", steps):
        gaps = _gaps(X, n_pairs, rng)
        values = kernel(gaps)
        hessian, slope = _normal_equations(nodes, roots, gaps.astype(dtype), values.astype(dtype))
        before = _error(nodes, roots**2, gaps, values)
        diagonal = np.maximum(hessian.diagonal(), 1e-12 * hessian.diagonal().max())
        for _ in range(6):
            damped = hessian + np.diag(damping * diagonal)
            try:
                step = np.linalg.solve(damped, -slope)
            except np.linalg.LinAlgError:
                damping *= 10
                continue
            moved = nodes + step[m:].reshape(m, d), roots + step[:m]
            if _error(moved[0], moved[1] ** 2, gaps, values) < before:
                (nodes, roots), damping = moved, damping / 4
                break
            damping *= 4
        error = _error(nodes, roots**2, validation_gaps, validation_values)
        if error < best[2]:
            best = nodes, roots**2, error
    return best[0], best[1]


def descend(
    nodes: Floats,
    weights: Floats,
    gram: Callable[[Floats], Floats],
    X: Floats,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """Like `polish`, for any number of nodes: slower to converge, linear in their number.

    Limited-memory BFGS (Nocedal, 1980) over all pairs of n = 800 rows, in two rounds on different
    rows to avoid overfitting; it returns the round that is better on separate validation rows, or
    the start if that is better. A step costs 3 n^2 m + 2 n m d multiply-adds and two sines per row
    and node; a round has 75 steps, or as few as 10 for wide rows, for the same work. Weights stay
    non-negative and a zero node stays zero.

    Parameters
    ----------
    nodes : (m, d)
        Frequencies, one of each mirrored pair.
    weights : (m,)
        k~(u) = sum of weights * cos(nodes . u).
    gram : callable
        The kernel of all pairs of rows (n, d), (n, n), such as a `Kernel`.
    X : (n, d)
        The data.
    rng : Generator
        Draws the rows.
    """
    steps = max(10, round(75 / (1 + 2 * X.shape[1] / (3 * _DESCENT_ROWS))))
    order = rng.permutation(len(X))
    validation_rows, others = np.split(X[order], [min(_DESCENT_ROWS, len(X) // 8)])
    validation_gram = gram(validation_rows)
    m, d = nodes.shape
    point = np.concatenate([np.sqrt(weights), nodes.ravel()])
    start = _pairs_error(point, m, validation_rows, validation_gram)[0]
    best = point, start
    others = others.astype(_precision(start, weights))
    for _ in counted("moving the nodes", _DESCENT_ROUNDS):
        rows = others[rng.choice(len(others), min(_DESCENT_ROWS, len(others)), replace=False)]
        exact = gram(rows).astype(rows.dtype)
        descent = LBFGS(
            point.astype(rows.dtype), lambda slope: slope, tolerance=0.0, max_passes=steps
        )
        while not descent.done:
            descent.tell(*_pairs_error(descent.trial, m, rows, exact))
        point = descent.best
        error = _pairs_error(point, m, validation_rows, validation_gram)[0]
        if error < best[1]:
            best = point, error
    roots, nodes = np.split(best[0].astype(np.float64), [m])
    return nodes.reshape(m, d), roots**2


def _pairs_error(point: Floats, m: int, X: Floats, gram: Floats) -> tuple[float, Floats]:
    """The mean squared error over pairs of distinct rows, and its slope.

    `point` joins the roots (m,) of the weights and the nodes (m, d); X decides the precision.
    """
    roots, nodes = np.split(point.astype(X.dtype), [m])
    nodes = nodes.reshape(m, -1)
    phases = X @ nodes.T
    cosines, sines = np.cos(phases), np.sin(phases)
    features = np.concatenate([roots * cosines, roots * sines], axis=1)
    error = features @ features.T  # a matrix times its transpose: half the work
    error -= gram
    np.fill_diagonal(error, 0.0)
    scale = 1 / max(1, len(X) * (len(X) - 1))
    by_cosine, by_sine = np.split(error @ features, [m], axis=1)
    by_root = np.einsum("ij,ij->j", cosines, by_cosine) + np.einsum("ij,ij->j", sines, by_sine)
    by_phase = roots * (cosines * by_sine - sines * by_cosine)
    slope = 4 * scale * np.concatenate([by_root, (by_phase.T @ X).ravel()])
    return float(scale * np.vdot(error, error)), slope


def _precision(error: float, weights: Floats) -> Any:
    """Single, two to three times as fast, rounds far below errors of a ten-thousandth."""
    return np.float32 if error > 1e-8 * weights.sum() ** 2 else np.float64


def _gaps(X: Floats, count: int, rng: np.random.Generator) -> Floats:
    left, right = rng.integers(len(X), size=(2, count))
    return np.asarray((X[left] - X[right])[left != right])


def _error(nodes: Floats, weights: Floats, gaps: Floats, values: Floats) -> float:
    return float(np.mean((np.cos(gaps @ nodes.T) @ weights - values) ** 2))


def _normal_equations(
    nodes: Floats, roots: Floats, gaps: Floats, values: Floats
) -> tuple[Floats, Floats]:
    """J'J and J'e of the errors e in (roots, nodes); the gaps decide the precision."""
    roots, phases = roots.astype(gaps.dtype), gaps @ nodes.T.astype(gaps.dtype)
    cosines = np.cos(phases)
    error = cosines @ roots**2 - values
    turning = np.sin(phases) * -(roots**2)
    slopes = np.concatenate(
        [cosines * (2 * roots), np.einsum("ij,ik->ijk", turning, gaps).reshape(len(gaps), -1)],
        axis=1,
    )
    return (slopes.T @ slopes).astype(np.float64), (error @ slopes).astype(np.float64)


def outward(X: Matrix, rng: np.random.Generator) -> Floats:
    """At most 20,000 rows without far ones, each moved away from their mean by a random factor.

    New rows lie beyond the training rows, more so if these are few. With heavy tails the outermost
    rows dominate the error, and nodes fitted only to the training rows may be far off there. Far
    rows (`principal_frame.nearness`) are left out, because the nodes would fit only them.
    """
    some = X if len(X) <= 20_000 else X[rng.choice(len(X), size=20_000, replace=False)]
    most = 1.0 + min(0.5, _OUTWARD / np.sqrt(len(some)))
    some = some[principal_frame.nearness(principal_frame.distances(some)) == 1]
    mean = some.mean(axis=0, dtype=np.float64)
    moved: Floats = mean + rng.uniform(1.0, most, size=(len(some), 1)) * (some - mean)
    return moved
