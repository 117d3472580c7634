"""`RidgePath`: ridge regression for all penalties from one factorisation."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Floats, Matrix
from ..numerics.blas import product
from ..numerics.factorisations import Factors, Indefinite, Tridiagonal, norms
from .ridge_sums import RidgeSystem

MAX_PATH = 8192  # columns up to which one factorisation serves all penalties
MAX_LEVERAGE = 1 - 1e-12  # keeps 1 - leverage positive in spite of rounding
# For more penalties than this, and up to so many columns, leave-one-out predictions use all
# eigenvectors: then one matrix product replaces a solve for each penalty.
_FEW_ALPHAS, _EIGEN_COLUMNS = 4, 2048


class RidgePath:
    """Weights, degrees of freedom and leave-one-out predictions for any alpha.

    For maps without signs the Gram matrix is made tridiagonal once, G = Q T Q' (4/3 p^3); then
    every alpha takes O(p t) for the weights and O(p) for the degrees of freedom. Signed maps take
    one symmetric indefinite factorisation and inverse (p^3 each) per alpha.

    Parameters
    ----------
    system : RidgeSystem, not modified
    """

    def __init__(self, system: RidgeSystem) -> None:
        self._system, self.units = system, system.units
        self.signed = bool((system.signs < 0).any())
        self._factors: Factors
        if self.signed:
            self._factors = Indefinite(system.gram, system.signs)
        else:
            self._factors = Tridiagonal(system.gram)
        self._cross = self._factors.rotate(system.cross)

    @cached_property
    def _eigen(self) -> tuple[Floats, Floats, Floats]:
        """Eigenvalues (p,), eigenvectors (p, p), and the cross sums in their basis, (p, t)."""
        assert isinstance(self._factors, Tridiagonal)
        values, vectors = self._factors.eigen()
        return values, vectors, vectors.T @ self._system.cross

    def weights(self, alpha: float) -> Floats:
        """The weights v, (p, t)."""
        return self._factors.rotate_back(self._factors.solve(alpha, self._cross))

    def freedom(self, alpha: float) -> float:
        """The trace of the hat matrix; an intercept adds 1."""
        p = len(self._cross)
        return p - alpha * self._factors.trace(alpha) + self._system.intercept

    def squares(self, alpha: float) -> Floats:
        """The weighted sum of squared residuals of each target, (t,)."""
        solved = self._factors.solve(alpha, self._cross)
        explained = (solved * self._cross).sum(axis=0)
        penalty = (solved * self._factors.signs[:, None] * solved).sum(axis=0)
        total = self._system.target_square
        # A difference of nearly equal sums is known only up to their rounding error.
        return np.maximum(total - explained - alpha * penalty, np.finfo(float).eps * total)

    def evidence(self, alphas: Floats) -> Floats:
        """The restricted likelihood of each alpha as a variance; lower is better. Not if signed.

        exp(-2 log L / (n - m)) of the restricted likelihood L of weights v ~ N(0, s^2 / alpha I)
        and noise of variance s^2, each target with its own most likely s^2 (Patterson and Thompson,
        1971), m the number of intercepts: (y'y - c'v) / n times det(I + G / alpha)^(1 / (n - m)).
        Infinite if alpha is too small for the rounding.
        """
        return np.array([self._evidence(alpha) for alpha in alphas])

    def _evidence(self, alpha: float) -> float:
        system, p = self._system, len(self._cross)
        try:
            solved = self._factors.solve(alpha, self._cross)
            volume = self._factors.log_determinant(alpha) - p * np.log(alpha)
        except np.linalg.LinAlgError:
            return np.inf
        total = system.target_square
        left = np.maximum(total - (solved * self._cross).sum(axis=0), np.finfo(float).eps * total)
        mean = np.log(np.maximum(left / system.weight, np.finfo(float).tiny)).mean()
        return float(np.exp(mean + volume / max(system.n_rows - system.intercept, 1.0)))

    def loo_squares(
        self,
        Z: Matrix,
        Y: Floats,
        weight: Floats | None,
        alphas: Floats,
        units: Any = 1.0,
        left: Floats | None = None,
    ) -> Floats:
        """The weighted sum of squared leave-one-out residuals of these rows, exact, for each alpha.

        Squares of each target are divided by `units`, (t,); `left` is the part of each weight that
        is left out, by default all.
        """
        mass = np.ones(len(Z)) if weight is None else weight
        weight = weight if left is None else left
        return np.array(
            [
                np.inf if f is None else float((mass[:, None] * (Y - f) ** 2 / units).sum())
                for f in self.left_out(Z, Y, weight, alphas)
            ]
        )

    def left_out(
        self, Z: Matrix, Y: Floats, weight: Floats | None, alphas: Floats
    ) -> Iterator[Floats | None]:
        """Leave-one-out predictions for these rows, one alpha after another.

        A residual r of leverage h becomes r / (1 - w h) when its row is left out with all of its
        weight w: a remaining copy would reveal its value. None if alpha is too small for the
        rounding.
        """
        system = self._system
        rows = np.asarray(Z, dtype=np.float64) - system.feature_mean
        many = len(alphas) > _FEW_ALPHAS and len(self._cross) <= _EIGEN_COLUMNS
        fits = self._by_eigenvectors if many and not self.signed else self._by_solves
        for fit in fits(rows, alphas):
            if fit is None:
                yield None
                continue
            yield self._without_each(Y, fit[0] + system.target_mean, fit[1], weight)

    def left_out_once(
        self, Z: Matrix, Y: Floats, weight: Floats | None, alpha: float
    ) -> Floats | None:
        """`left_out` for one alpha: by a Cholesky factor, if that takes half the time."""
        system = self._system
        try:
            if self.signed:
                raise np.linalg.LinAlgError("an indefinite matrix has no Cholesky factor")
            damped: Floats = system.gram + alpha * np.eye(len(system.gram))
            root = np.asarray(np.linalg.cholesky(damped), dtype=np.float64).T
        except np.linalg.LinAlgError:
            return next(self.left_out(Z, Y, weight, np.array([alpha])))
        rows = np.asarray(Z, dtype=np.float64) - system.feature_mean
        fitted = rows @ self.weights(alpha) + system.target_mean
        return self._without_each(Y, fitted, norms(root, rows), weight)

    def _without_each(
        self, Y: Floats, fitted: Floats, leverage: Floats, weight: Floats | None
    ) -> Floats:
        """Leave-one-out predictions from those of the fit, and leverages without the intercept."""
        leverage = leverage + self._system.intercept_leverage
        if weight is not None:
            leverage *= weight
        if not self.signed:  # in signed maps a leverage may be above 1
            leverage = np.minimum(leverage, MAX_LEVERAGE)
        return np.asarray(Y - (Y - fitted) / (1 - leverage)[:, None])

    def _by_solves(self, rows: Floats, alphas: Floats) -> Iterator[tuple[Floats, Floats] | None]:
        """Fitted values (n, t) and leverages (n,) of centred rows, alpha by alpha."""
        rotated = self._factors.rotate(rows.T)
        for alpha in alphas:
            try:
                solved = self._factors.solve(alpha, rotated)
            except np.linalg.LinAlgError:
                yield None
                continue
            yield solved.T @ self._cross, np.einsum("ij,ij->j", rotated, solved)

    def _by_eigenvectors(
        self, rows: Floats, alphas: Floats
    ) -> Iterator[tuple[Floats, Floats] | None]:
        """`_by_solves` for many penalties."""
        values, vectors, cross = self._eigen
        solvable = values.min() + alphas > 0
        shrunk = np.zeros((len(values), len(alphas)))
        shrunk[:, solvable] = 1 / (values[:, None] + alphas[solvable])
        rotated = product(rows, vectors)
        leverages = np.square(rotated) @ shrunk
        for i in range(len(alphas)):
            fit = rotated @ (shrunk[:, i, None] * cross), leverages[:, i]
            yield fit if solvable[i] else None
