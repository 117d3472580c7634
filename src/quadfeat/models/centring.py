"""The origin for columns that lie far from 0, subtracted before rows are rounded."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats, Matrix

_ROWS = 200  # rows of the sample for the median of each column
# A column whose median is further from 0 than this many interquartile ranges is centred, since its
# features would lose digits. At the limit, differences have 20 bits left in float32, 32 in float64.
_FAR = {"float32": 2.0**3, "float64": 2.0**20}


def far_origin(X: Matrix, dtype: Any) -> Floats | None:
    """The vector to subtract from rows in double precision: the median of columns far from 0.

    Kernels depend on differences only, and if 1e8 + x is rounded first, x is lost. Rows that are
    in single precision already are moved as well, for angles are rounded after them. None if no
    column is far.
    """
    some = np.asarray(X[:: -(-len(X) // _ROWS)], dtype=np.float64)
    low, middle, high = np.quantile(some, [0.25, 0.5, 0.75], axis=0, method="lower")
    far = np.abs(middle) > _FAR[np.dtype(dtype).name] * (high - low)
    return np.where(far, middle, 0.0) if far.any() else None
