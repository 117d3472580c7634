"""Kernels known by their values only, without a spectrum: for `Landmarks`."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

import numpy as np

from .._typing import Floats
from .base import Kernel, Stored


class GivenKernel(Kernel):
    """A kernel without a spectrum: only `gram` and `diagonal` are known, and it may be any kernel.

    Only `Landmarks` has features for it, without residual, certificate or gradient.
    """

    @abstractmethod
    def diagonal(self, X: Floats) -> Floats:
        """k(x, x) of every row, (n,)."""

    def at_zero(self, d: int) -> float:
        raise TypeError(
            f"{self!r} is known by its values only: residual, error and certificate need a kernel "
            f"of quadfeat, such as Gaussian(0.5)"
        )

    def slope(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        raise NotImplementedError(f"{self!r} has no gradients")


class FunctionKernel(GivenKernel):
    """The kernel of a function of two rows, as scikit-learn's `pairwise_kernels` calls it.

    Parameters
    ----------
    function : of two rows (d,), (d,), symmetric and positive semi-definite; returns a number
    """

    def __init__(self, function: Any) -> None:
        self.function = function

    def diagonal(self, X: Floats) -> Floats:
        return np.array([float(self.function(x, x)) for x in X])

    def gram(self, X: Floats, Y: Floats) -> Floats:
        values = np.array([[float(self.function(x, y)) for y in Y] for x in X])
        if not np.isfinite(values).all():
            raise ValueError(f"kernel must return finite numbers, and {self.function!r} does not")
        return values.reshape(len(X), len(Y))


class Precomputed(GivenKernel):
    """Rows are kernel values with all rows of the fit; points are rows of the identity matrix."""

    stored: ClassVar[Stored] = {}

    def diagonal(self, X: Floats) -> Floats:
        return np.diagonal(X).copy()

    def gram(self, X: Floats, Y: Floats) -> Floats:
        return X[:, self.positions(Y)].astype(np.float64)

    @staticmethod
    def positions(points: Floats) -> Any:
        """The positions of points among the rows of the fit."""
        return np.argmax(points, axis=1)
