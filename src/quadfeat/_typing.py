"""Names for types of arrays. Shapes are given in docstrings, beside the name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]
Matrix = npt.NDArray[np.floating[Any]]  # float32 or float64, as X is
Indices = npt.NDArray[np.intp]  # positions in an array
Integers = npt.NDArray[np.int64]  # positions of fixed size, for C++ and files
Mask = npt.NDArray[np.bool_]
Modes = npt.NDArray[np.complex128]  # coefficients of complex exponentials

Axes = Indices  # columns of X
Subsets = Sequence[Axes]
Profile = Callable[[Floats], Floats]  # a function of the gap or of the frequency, on one axis
