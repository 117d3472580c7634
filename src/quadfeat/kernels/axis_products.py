"""Sums of products of one-dimensional kernels; each factor is evaluated once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from .._typing import Floats

_BLOCK = 2**14  # pairs of rows at a time: the values of some twenty axes fit into a cache

Profile = Callable[[Floats], Floats]


@dataclass
class _Branch:
    """A weight, and the factors it is multiplied with, by axis."""

    weight: float = 0.0
    below: dict[int, _Branch] = field(default_factory=dict)

    def times(self, factor: Floats, factors: Mapping[int, Floats]) -> Floats:
        """factor (weight + the sum of all branches below)."""
        if not self.below:
            return self.weight * factor
        total = self.sum_below(factors)
        if self.weight:
            total += self.weight
        total *= factor
        return total

    def sum_below(self, factors: Mapping[int, Floats]) -> Floats:
        terms = (branch.times(factors[axis], factors) for axis, branch in self.below.items())
        total = next(terms)
        for term in terms:
            total += term
        return total


def sum_of_products(
    X: Floats,
    Y: Floats,
    profiles: Mapping[int, Profile],
    products: Iterable[tuple[list[int], float]],
) -> Floats:
    """sum_S w_S prod_{i in S} k_i(x_i - y_i), (n, m): every k_i once, common factors once.

    Parameters
    ----------
    X, Y : (n, d) and (m, d)
    profiles : k_i of positive gaps, by axis
    products : axes S and weight w_S of each product

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [1.0, 2.0]])
    >>> profile = lambda gap: 1.0 / (1.0 + gap)
    >>> sum_of_products(X, X[:1], {0: profile, 1: profile}, [([0], 1.0), ([0, 1], 3.0)])
    array([[4.],
           [1.]])
    """
    root = _Branch()
    for axes, weight in products:
        branch = root
        for axis in axes:
            branch = branch.below.setdefault(axis, _Branch())
        branch.weight += weight
    columns = {axis: np.ascontiguousarray(Y[:, axis]) for axis in profiles}
    gram = np.empty((len(X), len(Y)))
    step = max(1, _BLOCK // max(len(Y), 1))
    for start in range(0, len(X), step):
        rows = X[start : start + step]
        factors = {}
        for axis, profile in profiles.items():
            gap = np.subtract.outer(rows[:, axis], columns[axis])
            factors[axis] = profile(np.abs(gap, out=gap))
        gram[start : start + step] = root.sum_below(factors)
    return gram
