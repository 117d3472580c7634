"""Products with multilevel Toeplitz matrices by FFTs, conjugate gradients, and log-determinants."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import fft, linalg

from .._typing import Floats, Modes

Product = Callable[[Modes], Modes]
_DELAY = 10  # steps over which the error of conjugate gradients is summed up


class Toeplitz:
    """The product with T[m, k] = generator[m - k], embedded into a circulant (Strang, 1986).

    Two FFTs of at least 2 n - 1 points on each axis per vector.

    Parameters
    ----------
    generator : (2 n_1 - 1, ..., 2 n_d - 1), complex; entry n - 1 is of the difference 0

    Examples
    --------
    >>> product = Toeplitz(np.array([3.0, 1.0, 2.0], complex))
    >>> product(np.array([[1.0, 10.0]], complex)).real  # [[1, 3], [2, 1]] @ [1, 10]
    array([[31., 12.]])
    """

    def __init__(self, generator: Modes) -> None:
        self._generator = generator
        self._shape = tuple((n + 1) // 2 for n in generator.shape)
        self._size = tuple(fft.next_fast_len(n) for n in generator.shape)
        self._axes = tuple(range(1, generator.ndim + 1))
        circulant = np.zeros(self._size, dtype=np.complex128)
        circulant[tuple(slice(n) for n in generator.shape)] = generator
        circulant = np.roll(circulant, [1 - n for n in self._shape], range(generator.ndim))
        self._symbol = fft.fftn(circulant)

    def marginal(self, axis: int) -> Modes:
        """The Toeplitz matrix (n, n) of differences along one axis, 0 on all others."""
        middle = [n // 2 for n in self._generator.shape]
        line = self._generator[(*middle[:axis], slice(None), *middle[axis + 1 :])]
        return linalg.toeplitz(line[middle[axis] :], line[middle[axis] :: -1])

    def __call__(self, modes: Modes) -> Modes:
        """T applied to each of (t, n_1, ..., n_d)."""
        wide = fft.fftn(modes, self._size, axes=self._axes)
        wide *= self._symbol
        whole = fft.ifftn(wide, axes=self._axes, overwrite_x=True)
        return whole[(slice(None), *(slice(n) for n in self._shape))]


class Preconditioner(Protocol):
    """A positive definite matrix close to the one of a system, with cheap powers."""

    def power(self, vectors: Modes, exponent: float) -> Modes:
        """The matrix to a power, times vectors (t, *shape)."""

    def log_determinant(self) -> float:
        """The log-determinant of the matrix."""

    def inverse_trace(self) -> float:
        """The trace of the inverse."""


@dataclass(frozen=True, eq=False)
class Diagonal:
    """The diagonal (*shape) of a matrix as its preconditioner (Jacobi)."""

    values: Floats

    def power(self, vectors: Modes, exponent: float) -> Modes:
        """As `Preconditioner.power`."""
        return vectors * self.values**exponent

    def log_determinant(self) -> float:
        """As `Preconditioner.log_determinant`."""
        return float(np.log(self.values).sum())

    def inverse_trace(self) -> float:
        """As `Preconditioner.inverse_trace`."""
        return float((1 / self.values).sum())


class Kronecker:
    """shift I + the Kronecker product of Hermitian matrices, one per axis, by their eigenvectors.

    Parameters
    ----------
    factors : (n_i, n_i) for each axis, positive semi-definite up to rounding
    shift : float, positive
    """

    def __init__(self, factors: Sequence[Modes], shift: float) -> None:
        pairs = [linalg.eigh(factor) for factor in factors]
        self._vectors = [vectors for _, vectors in pairs]
        self._products = functools.reduce(
            np.multiply.outer, [np.maximum(values, 0.0) for values, _ in pairs]
        )
        self._shift = shift

    def shifted(self, shift: float) -> Kronecker:
        """The same product with another shift."""
        other = copy(self)
        other._shift = shift
        return other

    def power(self, vectors: Modes, exponent: float) -> Modes:
        """As `Preconditioner.power`."""
        for axis, basis in enumerate(self._vectors, 1):
            vectors = np.moveaxis(np.tensordot(vectors, basis.conj(), (axis, 0)), -1, axis)
        vectors = vectors * (self._products + self._shift) ** exponent
        for axis, basis in enumerate(self._vectors, 1):
            vectors = np.moveaxis(np.tensordot(vectors, basis, (axis, 1)), -1, axis)
        return vectors

    def log_determinant(self) -> float:
        """As `Preconditioner.log_determinant`."""
        return float(np.log(self._products + self._shift).sum())

    def inverse_trace(self) -> float:
        """As `Preconditioner.inverse_trace`."""
        return float((1 / (self._products + self._shift)).sum())


@dataclass(frozen=True, eq=False)
class Solved:
    """The result of conjugate gradients.

    Parameters
    ----------
    solution : (t, *shape)
    steps : int
    error : float, the estimated error / the solution, both in the norm of the matrix; the largest
    residual : (t,), norms of the residuals
    """

    solution: Modes
    steps: int
    error: float
    residual: Floats


def conjugate_gradients(
    product: Product,
    right: Modes,
    near: Preconditioner,
    *,
    tolerance: float,
    most_steps: int,
    start: Modes | None = None,
) -> Solved:
    """Solve A x = b for a Hermitian positive definite A, preconditioned.

    Stops when the error in the norm of A, estimated by its decrease over the next 10 steps
    (Hestenes and Stiefel, 1952; Strakos and Tichy, 2002), is below `tolerance` times the solution.

    Parameters
    ----------
    product : A times vectors (t, *shape)
    right : (t, *shape)
    near : Preconditioner, close to A
    tolerance : float
    most_steps : int
    start : (t, *shape), a guess; None for 0
    """
    solution = np.zeros_like(right) if start is None else start.copy()
    residual = right - product(solution) if start is not None else right.copy()
    scaled = near.power(residual, -1.0)
    direction = scaled.copy()
    energy = dot(residual, scaled)
    falls: list[Floats] = []
    total = np.maximum(dot(right, solution), 0.0)  # squared norm of the solution, from below
    error = np.inf
    for _ in range(most_steps):
        image = product(direction)
        curvature = dot(direction, image)
        active = (energy > 0) & (curvature > 0)
        length = np.where(active, energy / np.where(active, curvature, 1.0), 0.0)
        solution += _times(length, direction)
        residual -= _times(length, image)
        falls.append(length * energy)
        total = total + falls[-1] if start is None else np.maximum(dot(right, solution), 0.0)
        scaled = near.power(residual, -1.0)
        before, energy = energy, dot(residual, scaled)
        recent = np.sum(falls[-_DELAY:], axis=0)
        error = float(np.sqrt(np.max(recent / np.where(total > 0, total, 1.0))))
        if (len(falls) >= _DELAY or not active.any()) and error <= tolerance:
            break
        ratio = np.where(before > 0, energy / np.where(before > 0, before, 1.0), 0.0)
        direction = scaled + _times(ratio, direction)
    return Solved(solution, len(falls), error, np.sqrt(dot(residual, residual)))


def log_determinant(
    product: Product, near: Preconditioner, probes: Modes, n_steps: int
) -> tuple[float, float]:
    """An estimate of log det A by stochastic Lanczos quadrature, and its standard error.

    It is that of the matrix after preconditioning, whose spectrum is narrow, plus that of the
    preconditioner (Ubaru, Chen and Saad, 2017).

    Parameters
    ----------
    product : A times vectors (t, *shape)
    near : Preconditioner, close to A
    probes : (t, *shape), of random signs (or unitary images of such)
    n_steps : int, of Lanczos' recurrence
    """
    alphas, betas = _lanczos(
        lambda v: near.power(product(near.power(v, -0.5)), -0.5), probes, n_steps
    )
    terms = []
    for alpha, beta, length in zip(alphas.T, betas.T, dot(probes, probes), strict=True):
        ended = np.flatnonzero(beta <= 1e-12 * np.abs(alpha).max())
        last = int(ended[0]) + 1 if len(ended) else len(alpha)
        values, vectors = linalg.eigh_tridiagonal(alpha[:last], beta[: last - 1])
        positive = np.maximum(values, np.finfo(float).eps * values.max())
        terms.append(length * float(vectors[0] ** 2 @ np.log(positive)))
    spread = float(np.std(terms, ddof=1) / np.sqrt(len(terms))) if len(terms) > 1 else np.inf
    return float(np.mean(terms) + near.log_determinant()), spread


def _lanczos(product: Product, start: Modes, n_steps: int) -> tuple[Floats, Floats]:
    """Diagonals (k, t) and off-diagonals (k, t) of the tridiagonal matrices of t vectors.

    Without reorthogonalisation: copies of converged eigenvalues share one weight.
    """
    before = np.zeros_like(start)
    now = start / _column(np.sqrt(dot(start, start)), start)
    off = np.zeros(len(start))
    alphas, betas = [], []
    for _ in range(n_steps):
        image = product(now) - _times(off, before)
        alpha = dot(now, image)
        image -= _times(alpha, now)
        off = np.sqrt(dot(image, image))
        alphas.append(alpha)
        betas.append(off)
        before, now = now, image / _column(np.where(off > 0, off, 1.0), image)
    return np.array(alphas), np.array(betas)


def dot(one: Modes, other: Modes) -> Floats:
    """The real parts of inner products of vectors (t, *shape), (t,)."""
    flat = one.reshape(len(one), -1), other.reshape(len(other), -1)
    return np.einsum("ij,ij->i", flat[0].conj(), flat[1]).real


def _column(numbers: Floats, like: Any) -> Floats:
    return numbers.reshape(-1, *[1] * (like.ndim - 1))


def _times(numbers: Floats, vectors: Modes) -> Modes:
    return _column(numbers, vectors) * vectors
