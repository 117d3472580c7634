"""The part that a kernel of all columns at once explains, to compare subsets with."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .families import unexplained_by
from .task import Learner, Task

_LANDMARKS = 128
_SCALES = (-1.0, -0.3, 0.4, 1.1)  # log inverse length scales, relative to one per typical distance
_LEAST_ROWS = 1200  # with fewer the comparison is mostly chance


def unexplained_by_all(kernel: Learner, X: Floats, Y: Floats, weight: Floats) -> float | None:
    """The leave-one-out squared error, divided by the variance of the targets.

    The best of four length scales, the same for all columns in units of their deviations together,
    on a thousand rows and 128 landmarks: a rough lower bound of what can be explained. None if rows
    or targets do not vary, or are too few.
    """
    task = Task.of(X, Y, weight).smaller()
    if not task.can_learn or len(X) < _LEAST_ROWS or task.Y.shape[1] < Y.shape[1]:
        return None
    spread = np.sqrt(np.sum(task.spread[task.columns] ** 2))
    kernels = (kernel.with_lengths(float(np.exp(log) / spread)) for log in _SCALES)
    return min(
        unexplained_by(k, task.X, task.Y, task.weight, n_landmarks=_LANDMARKS) for k in kernels
    )
