"""Factorisations of symmetric matrices, and solves with them: Cholesky, tridiagonal, indefinite."""

from __future__ import annotations

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg import blas, cho_solve, eigh_tridiagonal, lapack, solve_triangular
from scipy.linalg import eigh as scipy_eigh

from .._typing import Floats, Indices, Matrix
from .blas import share

# Relative to a unit diagonal: a hundred times the rounding of a Gram matrix of 1,000 columns, so
# that rounding in the null space of a rank-deficient system is damped, not amplified.
ROUNDING_RIDGE = 1e-12


def cholesky(gram: Floats) -> Floats:
    """The lower factor of gram + ridge, with the ridge raised until the matrix is definite."""
    ridge, diagonal = ROUNDING_RIDGE, np.diagonal(gram).copy()
    while True:
        damped = gram.copy()
        np.fill_diagonal(damped, diagonal + ridge)
        # A symmetric matrix in C order is its own transpose in Fortran order: no second copy.
        factor, info = lapack.dpotrf(damped.T, lower=1, overwrite_a=1, clean=0)
        if info == 0:
            lower: Floats = factor
            return lower
        ridge *= 100
        if ridge > 1e-2 * diagonal.max():  # no rounding is that large
            raise ValueError("gram is not positive semi-definite: the minimum is unbounded below")


def plain_cholesky(gram: Floats) -> Floats:
    """The lower factor of a gram; the damped one of `cholesky` if it is not definite."""
    factor, info = lapack.dpotrf(gram, lower=1, clean=0)
    return np.asarray(factor) if info == 0 else cholesky(gram)


def cholesky_solve(factor: Floats, b: Floats) -> Floats:
    """(L L')^-1 b for a lower factor L, as `cholesky` returns it."""
    return np.asarray(lapack.dpotrs(factor, b, lower=1)[0])


def pivoted_inverse_root(gram: Floats, tolerance: float) -> tuple[Indices, Floats]:
    """Rows that span a gram to `tolerance`, (r,), and U^-1 (r, r) for their gram U'U.

    Pivoted Cholesky: the row with the largest remaining diagonal first.
    """
    factor, order, rank, _ = lapack.dpstrf(gram, tol=tolerance)
    return order[:rank] - 1, np.ascontiguousarray(triangular_inverse(factor[:rank, :rank]))


_TRACED = 256  # columns of an inverse at a time
_FACTORED = 256  # rows of a factor per step
_SHARED = 512  # columns of these rows per call of a thread


class Factors(ABC):
    """Solves with gram + alpha diag(signs) in rotated coordinates."""

    signs: Floats

    def rotate(self, B: Floats) -> Floats:
        return B

    def rotate_back(self, B: Floats) -> Floats:
        return B

    @abstractmethod
    def solve(self, alpha: float, B: Floats) -> Floats:
        """The solution; a LinAlgError if the matrix is singular up to rounding."""

    @abstractmethod
    def trace(self, alpha: float) -> float:
        """tr(diag(signs) (gram + alpha diag(signs))^-1)."""

    def log_determinant(self, alpha: float) -> float:
        """log det (gram + alpha I)."""
        raise np.linalg.LinAlgError("an indefinite inner product has no likelihood")


class Tridiagonal(Factors):
    """A positive semi-definite gram, reduced once to tridiagonal form: O(p) per alpha."""

    def __init__(self, gram: Floats) -> None:
        p = len(gram)
        self.signs = np.ones(p)
        lwork = int(lapack.dsytrd_lwork(p, lower=1)[0])
        full = np.array(gram, order="F")
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
        # Each diagonal entry of the inverse combines the pivots from the top and from the bottom.
        diagonal = self._d + alpha
        down, _ = self._pivots(diagonal, self._e)
        up = self._pivots(diagonal[::-1], self._e[::-1])[0][::-1]
        return float((1 / (down + up - diagonal)).sum())

    def log_determinant(self, alpha: float) -> float:
        return float(np.log(self._pivots(self._d + alpha, self._e)[0]).sum())

    def eigen(self) -> tuple[Floats, Floats]:
        """Eigenvalues (p,) and eigenvectors (p, p) of the gram, as columns."""
        values, vectors = eigh_tridiagonal(self._d, self._e, lapack_driver="stevd")
        return values, self.rotate_back(vectors)

    @staticmethod
    def _pivots(diagonal: Floats, beside: Floats) -> tuple[Floats, Floats]:
        if len(diagonal) == 1:
            pivots, multipliers, info = diagonal, beside, int(diagonal[0] <= 0)
        else:
            pivots, multipliers, info = lapack.dpttrf(diagonal, beside)
        _raise_if(info, "dpttrf")
        return pivots, multipliers


class Indefinite(Factors):
    """A gram with signed columns: one factorisation per alpha, the last one cached."""

    def __init__(self, gram: Floats, signs: Floats) -> None:
        self._gram, self.signs = gram, signs
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
    """gram + alpha I = L L' in the memory of the gram.

    The lower triangle keeps the gram and the upper one holds L', so no alpha needs a second (p, p)
    array. p^3 / 3 multiply-adds per alpha.

    Parameters
    ----------
    gram : (p, p) C-ordered, lower triangle; its upper triangle and diagonal are overwritten
    """

    def __init__(self, gram: Floats) -> None:
        self._gram = gram
        self.diagonal = gram.diagonal().copy()  # of the gram, without alpha
        self.alpha = np.inf  # of the factor; inf before there is one

    def factor(self, alpha: float) -> None:
        """Factor for this alpha; a LinAlgError if the sum is not positive definite to rounding.

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
            columns = slice(first, first + _SHARED)
            above = gram[: rows.start, rows].T @ gram[: rows.start, columns]
            gram[rows, columns] = np.linalg.solve(lower, gram[columns, rows].T - above)

        share(finish, range(rows.stop, len(gram), _SHARED))

    def solve(self, B: Floats) -> Floats:
        """(gram + alpha I)^-1 B."""
        return np.asarray(cho_solve((self._gram.T, True), B, check_finite=False))

    def half(self, B: Floats) -> Floats:
        """L'B."""
        return np.asarray(blas.dtrmm(1.0, self._gram.T, B, lower=1, trans_a=1))

    def inverse_trace(self) -> float:
        """tr (gram + alpha I)^-1: p^3 / 6 multiply-adds, without a second (p, p) array."""
        total, p = 0.0, len(self._gram)
        for first in range(0, p, _TRACED):
            # Columns of L^-1 are zero above the diagonal.
            rest = self._gram[first:, first:]
            total += float(norms(rest, np.eye(min(_TRACED, p - first), p - first)).sum())
        return total

    def norms(self, rows: Floats) -> Floats:
        """z'(gram + alpha I)^-1 z of each row z, (n,)."""
        return norms(self._gram, rows)

    @property
    def root(self) -> Floats:
        """(p, p) with L' in its upper triangle; the lower one is something else."""
        return self._gram


def norms(root: Floats, rows: Floats) -> Floats:
    """|L^-1 z|^2 of each row z, (n,), for the upper triangle L' of root."""
    half = solve_triangular(root.T, rows.T, lower=True, check_finite=False)
    return np.einsum("ij,ij->j", half, half)


def triangular_inverse(root: Floats) -> Floats:
    """The inverse of the upper triangle of `root`, whose lower triangle is not read, (p, p)."""
    inverse, info = lapack.dtrtri(np.triu(root))
    _raise_if(info, "dtrtri")
    return np.asarray(inverse)


def precision_root(covariance: Floats) -> Floats:
    """The upper triangle R with (R'R)^-1 = covariance, (p, p), as in `norms`; p^3."""
    # From the last row to the first, the factor of a covariance is upper triangular: R^-1.
    lower: Floats = np.linalg.cholesky(covariance[::-1, ::-1]).astype(np.float64, copy=False)
    return triangular_inverse(lower[::-1, ::-1])


def _raise_if(info: int, routine: str) -> None:
    if info != 0:
        raise np.linalg.LinAlgError(f"{routine} stopped with info {info}")


def factor_raised(cholesky: InPlaceCholesky, alpha: float) -> float:
    """Factor for alpha, raised tenfold until the sum is positive definite; return the value used.

    This makes up for rounding of the smallest eigenvalues, which depends on the precision of the
    features and on the number of repeated columns.
    """
    trace = float(cholesky.diagonal.sum())
    shift = max(alpha, 1e-7 * trace / len(cholesky.diagonal))
    while True:
        try:
            cholesky.factor(shift)
        except np.linalg.LinAlgError:
            if not shift < trace:
                raise
            shift *= 10
        else:
            return shift


def generalised_eigenvectors(A: Floats, B: Floats) -> Floats:
    """The v of A v = w B v, as columns by falling w; A symmetric, B positive definite."""
    return np.asarray(scipy_eigh(A, B)[1][:, ::-1])
