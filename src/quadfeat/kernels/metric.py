"""The metric of a kernel, k(x - y) = k0(M (x - y)): its checks, and kernels that refuse it."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats

_LARGEST = 1e150  # the square of this does not overflow
_LONG = 8  # values printed one by one, at most


def check_metric(metric: Any, d: int) -> Floats:
    """`metric` as a float64 array (r, d), after its checks."""
    wanted = f"metric must be a 2-D array with a column for each of the {d} columns of X"
    works = f"such as np.eye({d}), or 'learned'"
    try:
        if np.asarray(metric).dtype.kind not in "iuf":
            raise TypeError
        # A copy: a parameter that is changed later must not change the fitted map.
        matrix = np.array(metric, dtype=np.float64, order="C")
    except (TypeError, ValueError):  # texts, objects, rows of unequal length
        shown = f"{metric!r}"[:60]
        raise TypeError(f"{wanted}, {works}, or None, got {shown}") from None
    if matrix.ndim == 1 and len(matrix) == d:
        raise ValueError(
            f"{wanted}, {works}, got the shape {matrix.shape}; np.diag(metric) scales each column, "
            f"and np.atleast_2d(metric) is one direction"
        )
    if matrix.ndim != 2 or matrix.shape[0] == 0 or matrix.shape[1] != d:
        given = f"the shape {matrix.shape}" if matrix.ndim else repr(metric)
        raise ValueError(f"{wanted}, {works}, got {given}")
    if not np.isfinite(matrix).all():
        bad = float(matrix[~np.isfinite(matrix)][0])
        raise ValueError(f"metric must hold finite numbers, {works}, got {bad}")
    largest = float(np.abs(matrix).max())
    if largest == 0:
        raise ValueError(f"metric must not be all zero, {works}: every kernel value would be 1")
    if not 1 / _LARGEST <= largest <= _LARGEST:
        raise ValueError(
            f"metric must have its largest entry between {1 / _LARGEST:g} and {_LARGEST:g}, got "
            f"{largest:g}; standardise X"
        )
    return matrix


def refuse_metric(whole: Any, *parts: Any) -> None:
    """Raise an error if a part has a metric, for kernels that work on separate columns."""
    for part in parts:
        if getattr(part, "mixes_axes", False):  # a part may not be a kernel
            raise ValueError(
                f"{type(whole).__name__} cannot hold {part!r}: a metric mixes the columns of X; "
                f"leave the metric out and give X @ metric.T instead of X"
            )


def short_text(parameter: Any) -> str:
    """`repr`; of arrays on one line, and of long ones and long lists only their size and range."""
    if isinstance(parameter, list) and len(parameter) > _LONG:
        return f"<{len(parameter)} values>"
    if isinstance(parameter, np.ndarray) and parameter.ndim == 1 and len(parameter) > _LONG:
        return f"<{len(parameter)} values, {parameter.min():.3g} to {parameter.max():.3g}>"
    if not isinstance(parameter, np.ndarray):
        return repr(parameter)
    if parameter.ndim == 2 and parameter.size > 16:
        return f"<array {parameter.shape[0]} x {parameter.shape[1]}>"
    return " ".join(repr(parameter).split())
