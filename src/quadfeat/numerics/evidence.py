"""The likelihood of targets under a kernel, by landmarks, with its derivatives."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular

from .._typing import Floats

_JITTER = 1e-6  # share of k(0), so that the Gram matrix of landmarks has a factor
_REFINEMENTS = 2  # refinements of the solution: without noise, that by the inverse is only rounding


@dataclass(frozen=True, eq=False)
class Evidence:
    """The negative log likelihood per row and target, and its derivatives; lower is better."""

    value: float
    by_cross: Floats  # (n, m), with respect to k(rows, landmarks)
    by_landmarks: Floats  # (m, m), with respect to k(landmarks, landmarks), symmetric
    by_log_noise: float


def evidence(
    cross: Floats, between: Floats, Y: Floats, root_weight: Floats, log_noise: float
) -> Evidence:
    """The restricted likelihood of a Gaussian process on landmarks, f = k(x, landmarks) a + b.

    With Z = cross L^-T, L L' = between, this is the likelihood of a ridge regression on the
    features Z (Quinonero-Candela and Rasmussen, 2005: deterministic training conditional), with
    each target's most likely variance of noise and a free intercept. Half the log determinant of
    Z'Z / noise + I, and (n - 1) / 2 times the log of the penalised squares. Cost O(n m^2).

    Parameters
    ----------
    cross : (n, m), the kernel between rows and landmarks
    between : (m, m), the kernel between landmarks, k(0) = 1
    Y : (n, t), targets
    root_weight : (n,), square roots of the weights of rows, which have mean 1
    log_noise : float, the log of the noise variance over that of the function
    """
    n, m = cross.shape
    freedom, noise, t = n - 1.0, float(np.exp(log_noise)), Y.shape[1]
    constant = root_weight / np.linalg.norm(root_weight)
    root = cholesky(between + _JITTER * np.eye(m), lower=True, check_finite=False)
    Z = solve_triangular(root, cross.T, lower=True, check_finite=False).T
    Z *= root_weight[:, None]
    Z -= np.outer(constant, constant @ Z)
    targets = Y * root_weight[:, None]
    targets -= np.outer(constant, constant @ targets)
    gram = Z.T @ Z
    gram[np.diag_indices(m)] += noise
    factor = cholesky(gram, lower=True, check_finite=False)
    inverse = _inverse(factor)
    v = inverse @ (Z.T @ targets)
    residual = targets - Z @ v
    for _ in range(_REFINEMENTS):
        v += inverse @ (Z.T @ residual - noise * v)
        residual = targets - Z @ v
    # targets'residual is the same number, but only rounding if there is no noise.
    squares = np.square(residual).sum(axis=0) + noise * np.square(v).sum(axis=0)
    squares = np.maximum(squares, np.finfo(float).tiny)
    value = freedom / 2 * np.log(squares / freedom).sum() + t * (
        np.log(factor.diagonal()).sum() - m / 2 * log_noise
    )
    by_noise = freedom / 2 * (np.square(v).sum(axis=0) / squares).sum() + t / 2 * (
        inverse.trace() - m / noise
    )
    # By Z: t Z inverse - residual (freedom / squares) v', orthogonal to the constant. By cross it
    # is that times L^-1; as Z Z' = cross between^-1 cross', a change of `between` acts like half of
    # one of `cross`, through Z'(by Z), with Z'Z inverse = I - noise inverse, Z'residual = noise v.
    inverse_root = solve_triangular(root, np.eye(m), lower=True, check_finite=False)
    pull = inverse_root.T @ (v * (freedom / squares))
    push = (t * inverse) @ inverse_root
    by_cross = Z @ push
    by_cross -= residual @ pull.T
    by_cross *= root_weight[:, None]
    half = t * inverse_root - noise * (push + v @ pull.T)
    by_landmarks = -0.5 * (inverse_root.T @ half)
    unit = n * t
    return Evidence(
        float(value / unit),
        by_cross / unit,
        (by_landmarks + by_landmarks.T) / (2 * unit),
        float(by_noise * noise / unit),
    )


def _inverse(factor: Floats) -> Floats:
    """(F F')^-1 of a lower triangular F."""
    lower, _ = lapack.dpotri(factor, lower=True)
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)
