"""Targets of a map as columns of numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats

_MOST_CLASSES = 100


def target_columns(y: Any, n: int) -> Floats:
    """Targets (n, t) to learn a kernel from: numbers unchanged, an indicator per class.

    Text, booleans, and whole numbers of at most 100 different values are classes; models know the
    kind of their targets and do not use this.
    """
    values = np.asarray(y)
    if values.ndim not in (1, 2) or len(values) != n:
        raise ValueError(f"y must have one row for each of the {n} rows of X, got {values.shape}")
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim == 1 and _is_label(values):
        labels, codes = np.unique(values, return_inverse=True)
        if len(labels) < 2:
            raise ValueError(f"y has one class, {labels[0]!r}; a kernel needs two to learn from")
        wanted = np.arange(len(labels) if len(labels) > 2 else 1)
        return np.where(codes[:, None] == wanted, 1.0, -1.0)
    numbers = values.astype(np.float64).reshape(n, -1)
    if not np.isfinite(numbers).all():
        raise ValueError("y has a missing or infinite value; leave those rows out")
    return numbers


def _is_label(values: Any) -> bool:
    if values.dtype.kind in "USOb":
        return True
    return values.dtype.kind in "iu" and len(np.unique(values)) <= _MOST_CLASSES
