"""The leave-one-out error of a kernel, which compares families of kernels."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from scipy.linalg import cholesky, eigh, solve_triangular

from .._typing import Floats

# At most so many rows and landmarks, and at most half of the rows as landmarks. With 512 landmarks
# and 8,000 rows the same families are chosen, or others as good, for six times the work.
_ROWS, _LANDMARKS = 2000, 256
_PENALTIES = 10.0 ** np.arange(-9.0, -0.75, 0.5)  # relative to the trace of the Gram matrix
_JITTER = 1e-8  # share of the mean diagonal entry, for nearly equal landmarks


class WithGram(Protocol):
    def gram(self, X: Floats, Y: Floats) -> Floats: ...


def unexplained_by(
    kernel: WithGram,
    X: Floats,
    Y: Floats,
    weight: Floats,
    *,
    n_landmarks: int = _LANDMARKS,
) -> float:
    """The leave-one-out squared error, divided by the variance of the targets.

    A ridge fit of the first 2,000 rows with 256 of them as landmarks and the best of 17 penalties;
    the error is over the other rows, each left out exactly (r / (1 - w h) for a residual r, a
    weight w and a leverage h). Even few landmarks detect roughness that the few cosines of a subset
    search miss.

    Parameters
    ----------
    X : (n, d), in random order
    Y : (n, t)
    weight : (n,), positive
    n_landmarks : int
    """
    some = slice(_ROWS)
    X, Y, weight = X[some], Y[some], weight[some] / weight[some].mean()
    p = min(n_landmarks, len(X) // 2)
    if p < 1:
        return 1.0
    cross = kernel.gram(X, X[:p])
    between = cross[:p] + _JITTER * cross[:p].trace() / p * np.eye(p)
    factor = cholesky(between, lower=True)
    Z = solve_triangular(factor, cross.T, lower=True).T
    Z = Z - np.average(Z, axis=0, weights=weight)
    target = Y - np.average(Y, axis=0, weights=weight)
    variance = np.average(target**2, axis=0, weights=weight)
    root = np.sqrt(weight)[:, None]
    scaled = root * Z
    values, vectors = eigh(scaled.T @ scaled)
    values = np.maximum(values, 0.0)
    rotated, cross_sums = Z @ vectors, vectors.T @ (scaled.T @ (root * target))
    others, total = slice(p, None), weight.sum()
    judged, target, weight = rotated[others], target[others], weight[others]
    alphas = _PENALTIES * values.sum()
    shrunk = 1 / (values[:, None] + alphas)  # (p, penalties)
    leverage = np.square(judged) @ shrunk + 1 / total
    left = np.maximum(1 - weight[:, None] * leverage, 1e-12)
    errors = np.zeros(len(alphas))
    for y, sums, spread in zip(target.T, cross_sums.T, variance, strict=True):
        fitted = judged @ (shrunk * sums[:, None])
        squares = np.square((y[:, None] - fitted) / left)
        errors += weight @ squares / (weight.sum() * (spread if spread > 0 else 1.0))
    return float(errors.min() / target.shape[1])
