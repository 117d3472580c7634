"""Cosines on the range of columns: kernels of few columns as ridge regressions of few terms."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import product
from typing import Any

import numpy as np

from .._typing import Floats, Indices, Integers

Subset = tuple[int, ...]

_TAILS = 0.005  # share of rows at each end that count as the end of the range
_MARGIN = 1.5  # interval of the cosines, in ranges of the column, which is its middle
# For a subset of 1, 2, 3 columns: products of cosines whose numbers sum to at most this.
_MOST = {1: 12, 2: 8, 3: 6}
LARGEST = max(_MOST)
_STEP = 1e-4  # step of the differences for slopes of log densities


@cache
def numbers_of(size: int) -> Integers:
    """Numbers of the cosines in the products of a subset, (m, size), from 1.

    >>> numbers_of(3)[:2].tolist(), len(numbers_of(1)), len(numbers_of(2))
    ([[1, 1, 1], [1, 1, 2]], 12, 28)
    """
    most = _MOST[size]
    every = product(range(1, most + 1), repeat=size)
    found = np.array([numbers for numbers in every if sum(numbers) <= most])
    found.flags.writeable = False  # because it is cached
    return found


@dataclass(frozen=True, eq=False)
class CosineBasis:
    """Cosines of every column: kernels as the prior variances of their coefficients.

    On an interval that holds the range of a column, cos(omega_j (x - start)) are eigenfunctions of
    the Laplacian, and a stationary kernel is approximately sum_j D_j cos cos with D_j its
    spectral density at omega_j (Solin and Sarkka, 2020). A product of kernels has products of
    cosines. So length scales and weights only change a diagonal, and one Gram matrix of rows serves
    all of them. Rows beyond the range count as its end.

    Parameters
    ----------
    start, period : (d,), the start of a column's interval, and twice its length
    low, high : (d,), the range
    """

    start: Floats
    period: Floats
    low: Floats
    high: Floats

    @classmethod
    def of(cls, X: Floats) -> CosineBasis:
        """The basis for the columns of X; ranges without the outermost 0.5% of rows."""
        low, high = np.quantile(X, [_TAILS, 1 - _TAILS], axis=0)
        tight = high - low <= 1e-9 * np.ptp(X, axis=0)  # most rows are equal
        low, high = np.where(tight, X.min(axis=0), low), np.where(tight, X.max(axis=0), high)
        half = np.where(high > low, (high - low) / 2, 1.0)
        return cls((low + high) / 2 - _MARGIN * half, 4 * _MARGIN * half, low, high)

    @cached_property
    def half_range(self) -> Floats:
        """Half the range of each column: the unit of length scales."""
        return self.period / (4 * _MARGIN)

    def columns(self, X: Floats) -> Floats:
        """The cosines of all columns, (d, cosines, n)."""
        angle = (np.clip(X, self.low, self.high) - self.start) * (2 * np.pi / self.period)
        cosines = np.empty((X.shape[1], _MOST[1], len(X)))
        for column, out in enumerate(cosines):
            np.cos(np.multiply.outer(np.arange(1, _MOST[1] + 1), angle[:, column]), out=out)
        return cosines

    def log_densities(self, unit: Any, columns: Indices, log_inverse: Floats) -> Floats:
        """log D_j of a kernel on some columns, (columns, cosines).

        Parameters
        ----------
        unit : Kernel, of length scale 1
        columns : (m,)
        log_inverse : (m,), log inverse length scales in units of `half_range`
        """
        # The spectrum of k(u / l) is l times that of k at l omega; 2 pi by half the interval.
        length = (self.half_range[columns] * np.exp(-log_inverse))[:, None]
        return _log_density(unit, length * self._frequencies(columns)) + np.log(
            length * 8 * np.pi / self.period[columns, None]
        )

    def density_slopes(self, unit: Any, columns: Indices, log_inverse: Floats) -> Floats:
        """The derivatives of `log_densities` by the log inverse length scales."""
        length = (self.half_range[columns] * np.exp(-log_inverse))[:, None]
        omega = length * self._frequencies(columns)
        ahead, behind = (_log_density(unit, omega * np.exp(step)) for step in (_STEP, -_STEP))
        return np.asarray((behind - ahead) / (2 * _STEP) - 1.0)

    def _frequencies(self, columns: Indices) -> Floats:
        j = np.arange(1, _MOST[1] + 1)
        return np.multiply.outer(2 * np.pi / self.period[columns], j)


def _log_density(unit: Any, omega: Floats) -> Floats:
    return np.asarray(np.log(np.maximum(unit.density(omega), 1e-300)))


def terms(cosines: Floats, subset: Subset) -> Floats:
    """The products of cosines of a subset, (k, n)."""
    numbers = numbers_of(len(subset)) - 1
    found = cosines[subset[0]][numbers[:, 0]]
    for position, column in enumerate(subset[1:], start=1):
        found *= cosines[column][numbers[:, position]]
    return found


def owners(subsets: Sequence[Subset]) -> Integers:
    """The position of the subset that each term belongs to, (p,)."""
    sizes = [len(numbers_of(len(subset))) for subset in subsets]
    return np.repeat(np.arange(len(subsets)), sizes)
