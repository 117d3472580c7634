"""Rows multiplied by a matrix: the change of coordinates of a kernel with a metric."""

from __future__ import annotations

from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from .._rows import has_finite_sum
from .._typing import Floats
from .blas import product

Real = TypeVar("Real", bound=np.floating[Any])


class LinearMap:
    """Rows x -> M x, in the precision of the rows; columns are scaled if M is diagonal.

    Images that overflow become the largest number: a far row is then far away, not NaN.

    Parameters
    ----------
    matrix : (r, d)

    Examples
    --------
    >>> LinearMap(np.array([[1.0, 1.0]]))(np.array([[1.0, 2.0], [3.0, 4.0]]))
    array([[3.],
           [7.]])
    """

    def __init__(self, matrix: npt.ArrayLike) -> None:
        self.matrix: Floats = np.asarray(matrix, dtype=np.float64)
        self._scale = _diagonal(self.matrix)

    def __call__(self, X: npt.NDArray[Real]) -> npt.NDArray[Real]:
        """The images of rows (n, d), a new array (n, r)."""
        image: npt.NDArray[Real]
        with np.errstate(over="ignore", invalid="ignore"):
            if self._scale is not None:
                image = X * self._scale.astype(X.dtype)
            else:
                image = product(X, self.matrix.astype(X.dtype, copy=False).T)
        if not has_finite_sum(image):
            np.nan_to_num(image, copy=False, nan=float(np.finfo(image.dtype).max))
        return image


def _diagonal(matrix: Floats) -> Floats | None:
    """The diagonal of a diagonal matrix, else None."""
    if matrix.shape[0] != matrix.shape[1]:
        return None
    diagonal = np.diagonal(matrix).copy()
    return diagonal if np.count_nonzero(matrix) == np.count_nonzero(diagonal) else None
