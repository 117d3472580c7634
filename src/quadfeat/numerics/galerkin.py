"""Solutions of (G + alpha I) X = B in a growing subspace, for every alpha at once."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import linalg

from .._typing import Floats

_DEPENDENT = 1e-8  # a direction is dropped if no more than this share of it is new


class Space:
    """Orthogonal vectors V, and images G V of them under one or several symmetric matrices G.

    The Galerkin solution V y with V'(G + alpha I) V y = V'B is the best one in the space, in the
    norm of G + alpha I. With residuals as new vectors it is that of block conjugate gradients
    (O'Leary, 1980); because all vectors are kept, rounding does not slow it down, and vectors may
    come from different alphas or preconditioners.

    Parameters
    ----------
    n_columns : int, p
    n_matrices : int

    Attributes
    ----------
    vectors : (p, k)
    images : (matrices, p, k)
    grams : (matrices, k, k), V'G V
    overlap : (k, k), V'V: the identity up to the rounding of new vectors

    Examples
    --------
    >>> G = np.diag([1.0, 2.0, 3.0])
    >>> space = Space(3, 1)
    >>> new = space.outside(np.eye(3)[:, :2], np.float64)
    >>> space.extend(new, (G @ new)[None])
    >>> x, = Projected(space.grams[0], space.overlap, space.vectors.T @ np.ones((3, 1))).at(1.0).T
    >>> np.abs(space.vectors @ x).round(3)
    array([0.5  , 0.333, 0.   ])
    """

    def __init__(self, n_columns: int, n_matrices: int) -> None:
        self.vectors: Floats = np.empty((n_columns, 0))
        self.images: Floats = np.empty((n_matrices, n_columns, 0))
        self.grams: Floats = np.empty((n_matrices, 0, 0))
        self.overlap: Floats = np.empty((0, 0))

    @property
    def size(self) -> int:
        """Vectors, k."""
        return self.vectors.shape[1]

    def outside(self, directions: Floats, dtype: Any) -> Floats:
        """An orthonormal basis of the new part of directions (p, s), representable in a dtype.

        Vectors are rounded before they are multiplied by G, so that images match `vectors` up to
        the rounding of the product.
        """
        lengths = np.linalg.norm(directions, axis=0)
        directions = directions[:, lengths > 0] / lengths[lengths > 0]
        for _ in range(2):
            directions = directions - self.vectors @ (self.vectors.T @ directions)
            basis, triangle, _ = linalg.qr(directions, mode="economic", pivoting=True)
            directions = basis[:, np.abs(triangle.diagonal()) > _DEPENDENT]
        return np.asarray(directions.astype(dtype).astype(np.float64))

    def extend(self, vectors: Floats, images: Floats) -> None:
        """Add vectors (p, s) with their images (matrices, p, s)."""
        old = self.size
        self.vectors = np.concatenate([self.vectors, vectors], axis=1)
        self.images = np.concatenate([self.images, images], axis=2)
        self.overlap = _bordered(self.overlap[None], (self.vectors.T @ vectors)[None], old)[0]
        products = np.stack([self.vectors.T @ image for image in images])
        self.grams = _bordered(self.grams, products, old)

    def replace(self, combinations: Floats) -> None:
        """Keep only V C, for independent combinations C (k, s)."""
        basis = np.linalg.qr(combinations)[0]
        self.vectors = self.vectors @ basis
        self.images = self.images @ basis
        self.overlap = basis.T @ self.overlap @ basis
        self.grams = basis.T @ self.grams @ basis


def _bordered(square: Floats, columns: Floats, old: int) -> Floats:
    """Symmetric matrices (m, k, k) with further columns (m, k + s, s) and the same rows."""
    new = columns.shape[1]
    whole = np.empty((len(square), new, new))
    whole[:, :old, :old] = square
    whole[:, :, old:] = columns
    whole[:, old:, :old] = columns[:, :old].transpose(0, 2, 1)
    corner = columns[:, old:]
    whole[:, old:, old:] = (corner + corner.transpose(0, 2, 1)) / 2
    return whole


class Projected:
    """The equations (T + alpha M) y = c of a space, solved for any alpha.

    Parameters
    ----------
    gram : (k, k), T = V'G V
    overlap : (k, k), M = V'V
    right : (k, t), c = V'B
    """

    def __init__(self, gram: Floats, overlap: Floats, right: Floats) -> None:
        self._empty = not len(right)
        if not self._empty:
            values, self._vectors = linalg.eigh(gram, overlap)
            self._values = np.maximum(values, 0.0)
            self._right = self._vectors.T @ right
        self._shape = right.shape

    def at(self, alpha: float) -> Floats:
        """y, (k, t)."""
        if self._empty:
            return np.zeros(self._shape)
        return np.asarray(self._vectors @ (self._right / (self._values + alpha)[:, None]))

    def energy(self, alpha: float) -> Floats:
        """c'y, (t,): it rises to b'(G + alpha I)^-1 b as the space grows."""
        if self._empty:
            return np.zeros(self._shape[1])
        return np.asarray((self._right**2 / (self._values + alpha)[:, None]).sum(axis=0))
