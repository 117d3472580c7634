"""Feature generation: the compiled engine where there is one, its NumPy twin elsewhere."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from .. import _reference
from .._reference import FourierPlan, KroneckerPlan

Matrix = npt.NDArray[np.floating[Any]]


def evaluate(X: Matrix, plan: FourierPlan | KroneckerPlan, out: Matrix) -> None:
    """Write the features of X into out."""
    if isinstance(plan, FourierPlan):
        _reference.fourier(X, plan, out)
    else:
        _reference.kronecker(X, plan, out)


def empty(shape: tuple[int, int], dtype: Any) -> Matrix:
    """An array for `transform` to fill."""
    return np.empty(shape, dtype=dtype)


def engine_info() -> dict[str, Any]:
    """What evaluates features here."""
    return {"engine": "numpy"}
