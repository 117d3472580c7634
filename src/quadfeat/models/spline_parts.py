"""Splines of one or two columns, with knots at quantiles of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np
from scipy.interpolate import BSpline

from .._typing import Floats

# Intervals of a column, by the number of columns: rows per interval, fewest and most intervals.
_INTERVALS = {1: (200, 8, 20), 2: (600, 4, 6)}


@dataclass(frozen=True, eq=False)
class Splines:
    """Products of B-splines of some columns: cubic, or linear on columns of few values.

    Parameters
    ----------
    columns : tuple of int
    knots : tuple of (k,), without the repeated ends
    degrees : tuple of int
    """

    columns: tuple[int, ...]
    knots: tuple[Floats, ...]
    degrees: tuple[int, ...]

    @classmethod
    def of(cls, rows: Floats, columns: Sequence[int]) -> Splines:
        """The splines of some columns, with knots at quantiles of these rows."""
        share, fewest, most = _INTERVALS[len(columns)]
        intervals = int(np.clip(len(rows) // share, fewest, most))
        knots, degrees = [], []
        for column in columns:
            values = np.unique(rows[:, column])
            few = len(values) <= intervals + 1
            if not few:
                levels = np.linspace(0, 1, intervals + 1)
                values = np.unique(np.quantile(rows[:, column], levels))
            knots.append(values)
            degrees.append(1 if few or len(values) < 5 else 3)
        return cls(tuple(columns), tuple(knots), tuple(degrees))

    def __call__(self, rows: Floats) -> Floats:
        """The values of all products, (n, q); beyond the knots the value at their end."""
        bases = [
            _basis(rows[:, column], knots, degree)
            for column, knots, degree in zip(self.columns, self.knots, self.degrees, strict=True)
        ]
        return reduce(_products, bases)


def _basis(x: Floats, knots: Floats, degree: int) -> Floats:
    if len(knots) < 2:
        return np.ones((len(x), 1))
    full = np.concatenate([[knots[0]] * degree, knots, [knots[-1]] * degree])
    inside = np.clip(x, knots[0], knots[-1])
    return np.asarray(BSpline.design_matrix(inside, full, degree).toarray())


def _products(left: Floats, right: Floats) -> Floats:
    return np.asarray((left[:, :, None] * right[:, None, :]).reshape(len(left), -1))
