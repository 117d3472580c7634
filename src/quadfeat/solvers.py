"""Ridge regression from its sums: every penalty from one factorisation, and what it would cost.

The weights are v = (G + alpha S)^-1 c with G = Z'WZ, c = Z'WY and S = diag(signs). For S = I that
is ridge regression. For signed maps it is kernel ridge regression in the indefinite inner product
z'Sz: (Z S Z' + alpha I) a = y gives the predictor z'S Z'a, and Z'(Z S Z' + alpha I) a = Z'y says
that v = S Z'a solves (G + alpha S) v = Z'y.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import blas, cho_solve, lapack, solve_triangular

from ._blas import share
from .features import Matrix
from .rules import Floats
from .sums import RidgeSystem

MAX_PATH = 8192  # columns up to which a whole path comes from one factorisation
_PANEL = 1024
MAX_LEVERAGE = 1 - 1e-12  # what rounding may make 1 or more is below it
_FACTORED = 256  # rows of a factor at a time
_SHARED = 512  # columns of them that one thread makes


class RidgePath:
    """Weights, degrees of freedom and leverages for any alpha.

    For plain maps the Gram matrix is made tridiagonal once, G = Q T Q' (4/3 p^3); then every
    alpha takes O(p t) for the weights and O(p) for the degrees of freedom. Signed maps take one
    symmetric indefinite factorisation and inverse (p^3 each) per alpha.

    Parameters
    ----------
    system : RidgeSystem, which is left as it was
    """

    def __init__(self, system: RidgeSystem) -> None:
        self._system, self.units = system, system.units
        self.signed = bool((system.signs < 0).any())
        self._factors: _Factors = (_Indefinite if self.signed else _Tridiagonal)(system)
        self._cross = self._factors.rotate(system.cross)

    def weights(self, alpha: float) -> Floats:
        """v, (p, t)."""
        return self._factors.rotate_back(self._factors.solve(alpha, self._cross))

    def freedom(self, alpha: float) -> float:
        """The trace of the hat matrix; an intercept counts as one."""
        p = len(self._cross)
        return p - alpha * self._factors.trace(alpha) + self._system.intercept

    def squares(self, alpha: float) -> Floats:
        """The weighted sum of squared residuals of each target, (t,)."""
        solved = self._factors.solve(alpha, self._cross)
        explained = (solved * self._cross).sum(axis=0)
        penalty = (solved * self._factors.signs[:, None] * solved).sum(axis=0)
        total = self._system.target_square
        # The difference of nearly equal sums is known to their rounding only.
        return np.maximum(total - explained - alpha * penalty, np.finfo(float).eps * total)

    def evidence(self, alphas: Floats) -> Floats:
        """How unlikely each alpha makes the targets, on the scale of a variance; for plain maps.

        exp(-2 log L / (n - m)) of the restricted likelihood L of weights v ~ N(0, s^2 / alpha I)
        and noise of variance s^2, each target with its own most likely s^2 (Patterson and Thompson,
        1971), m the number of intercepts: (y'y - c'v) / n times det(I + G / alpha)^(1 / (n - m)).
        Infinite where alpha is too small for the rounding.
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
        """The weighted squares of exact leave-one-out residuals of these rows, one per alpha.

        `units` are those that the squares of each target are measured in, (t,); `left` is how much
        of each weight is left out, by default all.
        """
        mass = np.ones(len(Z)) if weight is None else weight
        weight = weight if left is None else left
        return np.array(
            [
                np.inf if found is None else float((mass[:, None] * (Y - found) ** 2 / units).sum())
                for found in self.left_out(Z, Y, weight, alphas)
            ]
        )

    def left_out(
        self, Z: Matrix, Y: Floats, weight: Floats | None, alphas: Floats
    ) -> Iterator[Floats | None]:
        """What is predicted for each of these rows when left out, for one alpha after another.

        A residual r of leverage h becomes r / (1 - w h) when its row is left out with all of its
        weight w: a copy that stays would tell its value. None where alpha is too small for the
        rounding.
        """
        system = self._system
        rows = np.asarray(Z, dtype=np.float64) - system.feature_mean
        rotated = self._factors.rotate(rows.T)
        for alpha in alphas:
            try:
                solved = self._factors.solve(alpha, rotated)
                fitted = solved.T @ self._cross + system.target_mean
            except np.linalg.LinAlgError:
                yield None
                continue
            leverage = np.einsum("ij,ij->j", rotated, solved) + system.intercept_leverage
            if weight is not None:
                leverage *= weight
            if not self.signed:  # where a leverage may be above 1
                leverage = np.minimum(leverage, MAX_LEVERAGE)
            yield Y - (Y - fitted) / (1 - leverage)[:, None]


class _Factors(ABC):
    """Solves with gram + alpha diag(signs) in rotated coordinates."""

    signs: Floats

    def rotate(self, B: Floats) -> Floats:
        return B

    def rotate_back(self, B: Floats) -> Floats:
        return B

    @abstractmethod
    def solve(self, alpha: float, B: Floats) -> Floats:
        """The solution; a LinAlgError where the matrix is singular to rounding."""

    @abstractmethod
    def trace(self, alpha: float) -> float:
        """tr(diag(signs) (gram + alpha diag(signs))^-1)."""

    def log_determinant(self, alpha: float) -> float:
        """log det (gram + alpha I)."""
        raise np.linalg.LinAlgError("an indefinite inner product has no likelihood")


class _Tridiagonal(_Factors):
    def __init__(self, system: RidgeSystem) -> None:
        p = len(system.gram)
        self.signs = system.signs
        lwork = int(lapack.dsytrd_lwork(p, lower=1)[0])
        full = np.array(system.gram, order="F")
        full, self._d, self._e, self._tau, info = lapack.dsytrd(
            full, lower=1, lwork=lwork, overwrite_a=1
        )
        _raise_if(info, "dsytrd")
        # Below the first subdiagonal lie the reflectors, in the layout of a QR factorisation.
        self._reflectors = np.asfortranarray(full[1:, :-1])

    def rotate(self, B: Floats) -> Floats:
        return self._reflect("T", B)

    def rotate_back(self, B: Floats) -> Floats:
        return self._reflect("N", B)

    def _reflect(self, trans: str, B: Floats) -> Floats:
        out = np.array(B, order="F")
        if len(out) < 2:
            return out
        below = np.asfortranarray(out[1:])
        arguments = ("L", trans, self._reflectors, self._tau, below)
        lwork = int(lapack.dormqr(*arguments, lwork=-1)[1][0])
        out[1:], _, info = lapack.dormqr(*arguments, lwork=lwork, overwrite_c=1)
        _raise_if(info, "dormqr")
        return out

    def solve(self, alpha: float, B: Floats) -> Floats:
        pivots, multipliers = self._pivots(self._d + alpha, self._e)
        if len(pivots) == 1:
            return np.asarray(B / pivots[0])
        solved, info = lapack.dpttrs(pivots, multipliers, B)
        _raise_if(info, "dpttrs")
        return np.asarray(solved)

    def trace(self, alpha: float) -> float:
        # Pivots from the top and from the bottom meet in each diagonal entry of the inverse.
        diagonal = self._d + alpha
        down, _ = self._pivots(diagonal, self._e)
        up = self._pivots(diagonal[::-1], self._e[::-1])[0][::-1]
        return float((1 / (down + up - diagonal)).sum())

    def log_determinant(self, alpha: float) -> float:
        return float(np.log(self._pivots(self._d + alpha, self._e)[0]).sum())

    @staticmethod
    def _pivots(diagonal: Floats, beside: Floats) -> tuple[Floats, Floats]:
        if len(diagonal) == 1:
            pivots, multipliers, info = diagonal, beside, int(diagonal[0] <= 0)
        else:
            pivots, multipliers, info = lapack.dpttrf(diagonal, beside)
        _raise_if(info, "dpttrf")
        return pivots, multipliers


class _Indefinite(_Factors):
    def __init__(self, system: RidgeSystem) -> None:
        self._gram, self.signs = system.gram, system.signs
        self._alpha, self._factor = -1.0, (np.empty(0), np.empty(0))

    def solve(self, alpha: float, B: Floats) -> Floats:
        if alpha != self._alpha:
            matrix = np.array(self._gram, order="F")
            matrix[np.diag_indices_from(matrix)] += alpha * self.signs
            factor, pivots, info = lapack.dsytrf(matrix, lower=1, overwrite_a=1)
            _raise_if(info, "dsytrf")
            self._alpha, self._factor = alpha, (factor, pivots)
        solved, info = lapack.dsytrs(*self._factor, B, lower=1)
        _raise_if(info, "dsytrs")
        return np.asarray(solved)

    def trace(self, alpha: float) -> float:
        inverse = self.solve(alpha, np.eye(len(self._gram)))
        return float(self.signs @ inverse.diagonal())


class InPlaceCholesky:
    """gram + alpha I = L L' in the memory of the gram alone.

    The lower triangle keeps the gram and the upper one holds L', so that another alpha can follow
    without a second (p, p) array. p^3 / 3 multiply-adds each.

    Parameters
    ----------
    gram : (p, p) C-ordered, lower triangle; its upper triangle and diagonal are overwritten
    """

    def __init__(self, gram: Floats) -> None:
        self._gram = gram
        self.diagonal = gram.diagonal().copy()  # of the gram, without alpha
        self.alpha = np.inf  # of the factor; of none, so far

    def factor(self, alpha: float) -> None:
        """Factor for this alpha; a LinAlgError where it is too small for the rounding.

        By panels of rows of L': on two threads, OpenBLAS 0.3.30 crashes in dpotrf of 28,800.
        """
        gram = self._gram
        self.alpha = np.inf
        for start in range(0, len(gram), _FACTORED):
            stop = min(start + _FACTORED, len(gram))
            above, below = gram[:start, start:stop], np.tril(gram[start:stop, start:stop], -1)
            corner = below + below.T + np.diag(self.diagonal[start:stop] + alpha)
            lower = np.linalg.cholesky(corner - above.T @ above)
            gram[start:stop, start:stop] = below + lower.T
            self._finish(slice(start, stop), lower)
        self.alpha = alpha

    def _finish(self, rows: slice, lower: Matrix) -> None:
        """The rows of L' to the right of their corner."""
        gram = self._gram

        def finish(first: int) -> None:
            some = slice(first, first + _SHARED)
            rest = gram[some, rows].T - gram[: rows.start, rows].T @ gram[: rows.start, some]
            gram[rows, some] = np.linalg.solve(lower, rest)

        share(finish, range(rows.stop, len(gram), _SHARED))

    def solve(self, B: Floats) -> Floats:
        """(gram + alpha I)^-1 B."""
        return np.asarray(cho_solve((self._gram.T, True), B, check_finite=False))

    def half(self, B: Floats) -> Floats:
        """L'B."""
        return np.asarray(blas.dtrmm(1.0, self._gram.T, B, lower=1, trans_a=1))

    def inverse_trace(self) -> float:
        """tr (gram + alpha I)^-1, for p^3 multiply-adds and no memory of that size."""
        p = len(self._gram)
        return sum(
            float(self.norms(np.eye(min(_PANEL, p - first), p, first)).sum())
            for first in range(0, p, _PANEL)
        )

    def norms(self, rows: Floats) -> Floats:
        """z'(gram + alpha I)^-1 z of each row z, (n,)."""
        return norms(self._gram, rows)

    @property
    def root(self) -> Floats:
        """(p, p) with L' in its upper triangle; the lower one is not part of it."""
        return self._gram


def norms(root: Floats, rows: Floats) -> Floats:
    """|L^-1 z|^2 of each row z, (n,), for the upper triangle L' of root."""
    half = solve_triangular(root.T, rows.T, lower=True, check_finite=False)
    return np.einsum("ij,ij->j", half, half)


def _raise_if(info: int, routine: str) -> None:
    if info != 0:
        raise np.linalg.LinAlgError(f"{routine} stopped with info {info}")
