"""Squared distances between rows, by one matrix product."""

from __future__ import annotations

import numpy as np

from .._typing import Floats, Mask

_NEAR = 16.0  # squared length scales


def squared_distances(X: Floats, Y: Floats) -> tuple[Floats, Mask]:
    """|x - y|^2 for rows in length scales, (n, m), and the rows of X for which it is accurate.

    |x|^2 + |y|^2 - 2 x . y is one matrix product, many times faster than differences, but its
    rounding is relative to the lengths: about 1e-14 for rows of X near the mean of Y, where exp(-|x
    - y|^2) is not small. X and Y are overwritten: copying wide rows takes as long as the product.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centre = Y.mean(axis=0)
        X -= centre
        Y -= centre
        x_square, y_square = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)
        square = X @ (-2.0 * Y.T)
        square += x_square[:, None]
        square += y_square
    np.maximum(square, 0.0, out=square)
    square[:, np.isinf(y_square)] = np.inf  # instead of NaN from inf - inf
    return square, x_square <= _NEAR
