"""The likelihood of targets under a kernel, by landmarks, with its derivatives."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.linalg import cholesky, lapack, solve_triangular

from .._typing import Floats

_JITTER = 1e-6  # share of k(0), so that the Gram matrix of landmarks has a factor
_REFINEMENTS = 2  # refinements of the solution: without noise, that by the inverse is only rounding


class Evidence:
    """The restricted likelihood of a Gaussian process on landmarks, f = k(x, landmarks) a + b.

    With Z = cross L^-T, L L' = between, this is the likelihood of a ridge regression on the
    features Z (Quinonero-Candela and Rasmussen, 2005: deterministic training conditional), with
    each target's most likely variance of noise and a free intercept. Half the log determinant of
    Z'Z / noise + I, and (n - 1) / 2 times the log of the penalised squares. Cost O(n m^2), and as
    much again for the derivatives, which are computed when they are asked for.

    Parameters
    ----------
    cross : (n, m), the kernel between rows and landmarks
    between : (m, m), the kernel between landmarks, k(0) = 1
    Y : (n, t), targets
    root_weight : (n,), square roots of the weights of rows, which have mean 1
    log_noise : float, the log of the noise variance over that of the function

    Attributes
    ----------
    value : float, the negative log likelihood per row and target; lower is better
    by_cross : (n, m), its derivatives with respect to k(rows, landmarks)
    by_landmarks : (m, m), with respect to k(landmarks, landmarks), symmetric
    by_log_noise : float
    """

    def __init__(
        self, cross: Floats, between: Floats, Y: Floats, root_weight: Floats, log_noise: float
    ) -> None:
        n, m = cross.shape
        self._freedom, self._noise, t = n - 1.0, float(np.exp(log_noise)), Y.shape[1]
        self._unit, self._root_weight, noise = n * t, root_weight, self._noise
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
        value = self._freedom / 2 * np.log(squares / self._freedom).sum() + t * (
            np.log(factor.diagonal()).sum() - m / 2 * log_noise
        )
        self.value = float(value / self._unit)
        self._root, self._Z, self._inverse = root, Z, inverse
        self._v, self._residual, self._squares = v, residual, squares

    @property
    def by_cross(self) -> Floats:
        return self._by_grams[0]

    @property
    def by_landmarks(self) -> Floats:
        return self._by_grams[1]

    @property
    def by_log_noise(self) -> float:
        m, t = self._v.shape
        norms = np.square(self._v).sum(axis=0) / self._squares
        by_noise = self._freedom / 2 * norms.sum() + t / 2 * (
            self._inverse.trace() - m / self._noise
        )
        return float(by_noise * self._noise / self._unit)

    @cached_property
    def _by_grams(self) -> tuple[Floats, Floats]:
        # By Z: t Z inverse - residual (freedom / squares) v', orthogonal to the constant. By cross
        # it is that times L^-1; as Z Z' = cross between^-1 cross', a change of `between` acts like
        # half of one of `cross`, through Z'(by Z), with Z'Z inverse = I - noise inverse,
        # Z'residual = noise v.
        m, t = self._v.shape
        inverse_root = solve_triangular(self._root, np.eye(m), lower=True, check_finite=False)
        pull = inverse_root.T @ (self._v * (self._freedom / self._squares))
        push = (t * self._inverse) @ inverse_root
        by_cross = self._Z @ push
        by_cross -= self._residual @ pull.T
        by_cross *= self._root_weight[:, None]
        half = t * inverse_root - self._noise * (push + self._v @ pull.T)
        by_landmarks = -0.5 * (inverse_root.T @ half)
        by_landmarks += by_landmarks.T
        return by_cross / self._unit, by_landmarks / (2 * self._unit)


def _inverse(factor: Floats) -> Floats:
    """(F F')^-1 of a lower triangular F."""
    lower, _ = lapack.dpotri(factor, lower=True)
    return np.asarray(np.tril(lower) + np.tril(lower, -1).T)
