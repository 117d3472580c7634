"""`Sample`: the distinct rows on which kernels and maps are chosen."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._typing import Floats, Indices, Matrix
from ..learning.task import LANDMARKS, ROWS, Task


class Sample(NamedTuple):
    """Distinct rows to learn a kernel on, in random order.

    X (n, d), targets Y (n, t), weights of rows (n,); if `counts`, a weight is a number of
    observations; if `labels`, targets are signs of classes.
    """

    X: Matrix
    Y: Floats
    weight: Floats
    counts: bool
    labels: bool = False

    def at(self, rows: slice | Indices) -> Sample:
        """Some of the rows."""
        return self._replace(X=self.X[rows], Y=self.Y[rows], weight=self.weight[rows])

    def without(self, rows: slice) -> Sample:
        """The other rows."""
        return self.at(np.delete(np.arange(len(self.X)), rows))

    def task(self, n_rows: int = ROWS, n_landmarks: int = LANDMARKS) -> Task:
        """The first rows, for learning."""
        X = np.asarray(self.X, dtype=np.float64)
        return Task.of(X, self.Y, self.weight, n_rows=n_rows, n_landmarks=n_landmarks)
