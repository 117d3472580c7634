"""Errors of a map on random pairs of rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Self

import numpy as np

from .._typing import Floats, Indices, Matrix
from ..accuracy import estimate

_BLOCK_NUMBERS = 2**22  # of features at a time: 32 MB for each row of the pairs


class Pairs(NamedTuple):
    """Pairs X[left[i]], Y[right[i]], and the population they were drawn from."""

    X: Floats
    Y: Floats
    left: Indices
    right: Indices
    population: str

    @classmethod
    def within(cls, X: Floats, n_pairs: int, rng: np.random.Generator) -> Self:
        """Pairs of two rows of X."""
        left, right, population = estimate.draw_pairs(len(X), n_pairs, rng)
        return cls(X, X, left, right, population)

    @classmethod
    def between(cls, X: Floats, Y: Floats, n_pairs: int, rng: np.random.Generator) -> Self:
        """Pairs of a row of X and a row of Y."""
        left, right = (rng.integers(len(rows), size=n_pairs) for rows in (X, Y))
        return cls(X, Y, left, right, f"pairs of these {len(X)} and {len(Y)} rows")

    @property
    def of_new_rows(self) -> bool:
        """Whether they represent pairs of new rows too, not only of these rows."""
        return self.population == estimate.NEW_ROWS


def pair_errors(
    pairs: Pairs,
    at: Callable[[Floats], Floats],
    at_zero: float,
    features_of: Callable[[Floats], Matrix],
    signs: Floats,
) -> Floats:
    """(k~ - k) / k(0) of each pair, from k `at` gaps and the features of a map."""
    errors = np.empty(len(pairs.left))
    size = max(1, _BLOCK_NUMBERS // len(signs))
    for start in range(0, len(errors), size):
        some = slice(start, start + size)
        x, y = pairs.X[pairs.left[some]], pairs.Y[pairs.right[some]]
        approximate = np.einsum("ij,j,ij->i", features_of(x), signs, features_of(y))
        errors[some] = (approximate - at(x - y)) / at_zero
    return errors
