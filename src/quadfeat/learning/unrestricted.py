"""How much a kernel of all columns at once explains: what subsets are compared with."""

from __future__ import annotations

import numpy as np

from .._typing import Floats
from .scales import learn_scale
from .task import Learner, Task

_VALIDATION = 2000  # rows, at most


def unexplained_by_all(kernel: Learner, X: Floats, Y: Floats, weight: Floats) -> float | None:
    """The squared error of validation rows by the variance of targets, with one length scale.

    The length scale and the fit come from a thousand rows and 128 landmarks: a rough lower bound of
    what is there to explain. None where rows or targets do not vary, or are too few.
    """
    task = Task.of(X, Y, weight).smaller()
    n = len(task.X)
    rows, target = X[n : n + _VALIDATION], Y[n : n + _VALIDATION]
    if not task.can_learn or len(rows) < 200 or task.Y.shape != (n, Y.shape[1]):
        return None
    learned = learn_scale(kernel, task)
    cross = learned.kernel.gram(task.X, task.landmarks)
    between = learned.kernel.gram(task.landmarks, task.landmarks)
    mean = np.average(task.Y, axis=0, weights=task.weight)
    w = task.root_weight[:, None]
    system = (w * cross).T @ (w * cross) + np.exp(learned.log_noise) * between
    system[np.diag_indices(len(system))] += 1e-6
    found = np.linalg.solve(system, (w * cross).T @ (w * (task.Y - mean)))
    error = target - mean - learned.kernel.gram(rows, task.landmarks) @ found
    return float(np.mean(np.square(error) / np.var(Y, axis=0)))
