"""Gradients of z(x)'c with respect to x: the part that all maps share."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from .._checks import check_memory
from .._rows import BLOCK_ENTRIES, moved, row_blocks, sparse_rows
from .._typing import Floats, Matrix
from ..numerics.blas import on_one_thread
from .coordinates import Coordinates

_LARGE = 2**20  # bytes; larger results are checked against free memory


class Differentiable(ABC):
    """The methods of a map that differentiate its features with respect to the rows."""

    n_columns_: int
    n_features_in_: int
    _origin: Floats | None
    _coordinates: Coordinates

    @abstractmethod
    def _validated(self, X: Any) -> Any:
        """X as an array of floats or a CSR matrix, after scikit-learn's checks."""

    @on_one_thread
    def gradient(self, X: Any, coefficients: Any) -> Matrix:
        """The gradient of z(x)'c with respect to x at every row of X, in closed form.

        A column that the kernel ignores has a gradient of 0. Where the kernel of `Landmarks` has a
        kink, such as that of `Laplacian` in the columns of a landmark, that landmark counts as 0.

        Parameters
        ----------
        X : array or CSR matrix (n, d)
        coefficients : (n_columns_,), c; or (n_columns_, t), one c per column

        Returns
        -------
        array (n, d), or (n, t, d), in the precision of X

        Examples
        --------
        >>> from quadfeat import DenseGrid, Gaussian
        >>> X = np.array([[0.5], [1.0]])
        >>> features = DenseGrid(Gaussian(0.5), n_points=9).fit(X)
        >>> features.gradient(X, features.transform([[0.0]])[0]).round(4)  # -x exp(-x^2 / 2)
        array([[-0.4412],
               [-0.6065]])
        """
        X = self._validated(X)
        c = _checked(coefficients, self.n_columns_)
        shape = (X.shape[0], c.reshape(len(c), -1).shape[1], self.n_features_in_)
        n_bytes = int(np.prod(shape, dtype=object)) * X.dtype.itemsize
        if n_bytes > _LARGE:
            check_memory(n_bytes, f"gradients of {shape[0]:,} rows", "give fewer rows at a time")
        out: Matrix = np.empty(shape, dtype=X.dtype)
        self.write_gradient(X, c.reshape(len(c), -1), out)
        return out[:, 0] if c.ndim == 1 else out

    def write_gradient(self, X: Any, coefficients: Floats, out: Matrix) -> None:
        """Write gradients of rows into `out`, some rows at a time; nothing is checked.

        Parameters
        ----------
        X : array or CSR matrix (n, d), validated
        coefficients : (n_columns_, t)
        out : (n, t, d), float32 or float64; features are computed in its precision
        """
        size = max(16, BLOCK_ENTRIES // self.n_columns_)
        for start, rows in row_blocks(X, min(size, sparse_rows(X))):
            some = out[start : start + len(rows)]
            inner = self._coordinates.rows(moved(rows, self._origin, out.dtype))
            if self._coordinates.linear is None:
                self._differentiate(inner, coefficients, some)
            else:  # the gradient by x of f(M x) is M' times that of f
                by_inner = np.empty((*some.shape[:2], self._coordinates.n_axes), dtype=out.dtype)
                self._differentiate(inner, coefficients, by_inner)
                some[:] = self._coordinates.nodes(by_inner)

    def _differentiate(self, X: Matrix, coefficients: Floats, out: Matrix) -> None:
        """Write the gradients of some rows, in the coordinates of `_evaluate`, into out."""
        raise NotImplementedError(f"{type(self).__name__} has no gradients")


def _checked(coefficients: Any, n_columns: int) -> Floats:
    """Coefficients as float64, (p,) or (p, t); an error if they do not fit the columns."""
    try:
        c = np.asarray(coefficients, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise TypeError(f"coefficients must be numbers, got {coefficients!r}"[:200]) from None
    if c.ndim not in (1, 2) or len(c) != n_columns:
        raise ValueError(
            f"coefficients must have one row per column of the features, as ({n_columns},) or "
            f"({n_columns}, t), got an array of shape {c.shape}"
        )
    if not np.isfinite(c).all():
        raise ValueError("coefficients has a missing or infinite value; 0.0 leaves a column out")
    return c
