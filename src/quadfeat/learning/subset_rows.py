"""Rows that subsets of columns are searched on, and sums over them of the terms of subsets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from .._typing import Floats, Indices, Mask
from ..numerics.diagonal_evidence import Squares
from .cosine_basis import CosineBasis, Subset, numbers_of, terms
from .screen import rank_cosines
from .task import SUBSET_ROWS

# Of fewer rows than this, tests would miss most effects.
_FEW_ROWS = 1000


@dataclass(frozen=True, eq=False)
class SubsetRows:
    """Rows, and the functions of their columns that every search uses.

    Parameters
    ----------
    basis : CosineBasis
    cosines : (d, n, k), of `basis`
    ranks : (d, n, k), of `rank_cosines`
    Y : (n, t), of mean 0 and deviation 1
    weight : (n,), of mean 1
    varying : (d,) bool, which columns vary
    """

    basis: CosineBasis
    cosines: Floats
    ranks: Floats
    Y: Floats
    weight: Floats
    varying: Mask
    _terms: dict[Subset, Floats] = field(default_factory=dict)

    @classmethod
    def of(cls, X: Floats, Y: Floats, weight: Floats) -> SubsetRows:
        """The first 8,000 rows: X (n, d) in an order at random, Y (n, t), positive weights (n,)."""
        X, Y, weight = X[:SUBSET_ROWS], Y[:SUBSET_ROWS], weight[:SUBSET_ROWS]
        basis, spread = CosineBasis.of(X), Y.std(axis=0)
        Y = (Y - np.average(Y, axis=0, weights=weight)) / np.where(spread > 0, spread, 1.0)
        varying = np.ptp(X, axis=0) > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        return cls(basis, basis.columns(X), rank_cosines(X), Y, weight / weight.mean(), varying)

    @property
    def few(self) -> bool:
        """Whether there are few rows."""
        return len(self.Y) < _FEW_ROWS

    def terms(self, subset: Subset) -> Floats:
        """The products of cosines of a subset, (n, k)."""
        if subset not in self._terms:
            self._terms[subset] = terms(self.cosines, [subset])
        return self._terms[subset]

    @cached_property
    def every(self) -> TermSums:
        """The sums of all rows."""
        return TermSums(self.terms, self.Y, self.weight)

    def some(self, rows: Indices) -> TermSums:
        """The sums of some of the rows."""
        return TermSums(lambda subset: self.terms(subset)[rows], self.Y[rows], self.weight[rows])


class TermSums:
    """Centred terms of subsets at rows, and their sums; those of a new subset are added to them.

    Parameters
    ----------
    terms : function, the terms (n, k) of a subset
    Y : (n, t)
    weight : (n,)
    """

    def __init__(self, terms: Callable[[Subset], Floats], Y: Floats, weight: Floats) -> None:
        self._terms, self._weight = terms, weight / weight.sum()
        self._root = np.sqrt(weight)[:, None]
        self.middle = self._weight @ Y  # (t,)
        self.target = Y - self.middle  # (n, t)
        self._columns: dict[Subset, slice] = {}
        self._Z = np.empty((len(Y), 0))  # centred, times the root of the weight
        self._gram, self._cross = np.empty((0, 0)), np.empty((0, Y.shape[1]))
        self._mean = np.empty(0)

    def of(self, subsets: Sequence[Subset]) -> Squares:
        """The sums of the terms of subsets, in this order."""
        self._add([subset for subset in subsets if subset not in self._columns])
        some = self._positions(subsets)
        squares = np.square(self._root * self.target).sum(axis=0)
        return Squares(
            self._gram[np.ix_(some, some)], self._cross[some], squares, float(len(self.target))
        )

    def mean(self, subsets: Sequence[Subset]) -> Floats:
        """The means of the terms of subsets, (p,)."""
        return self._mean[self._positions(subsets)]

    def residual(self, subsets: Sequence[Subset], coefficients: Floats) -> Floats:
        """Targets less `middle` and less the fit of some coefficients (p, t)."""
        every = np.zeros((self._Z.shape[1], coefficients.shape[1]))
        every[self._positions(subsets)] = coefficients
        return np.asarray(self.target - self._Z @ every / self._root)

    def _positions(self, subsets: Sequence[Subset]) -> Indices:
        found = [
            np.arange(each.start, each.stop) for each in map(self._columns.get, subsets) if each
        ]
        return np.concatenate(found) if found else np.empty(0, dtype=np.intp)

    def _add(self, subsets: Sequence[Subset]) -> None:
        if not subsets:
            return
        before, first = self._Z.shape[1], self._Z.shape[1]
        for subset in subsets:
            after = first + len(numbers_of(len(subset)))
            self._columns[subset], first = slice(first, after), after
        new = np.concatenate([self._terms(subset) for subset in subsets], axis=1)
        mean = self._weight @ new
        new -= mean
        new *= self._root
        self._Z = np.concatenate([self._Z, new], axis=1)
        gram = np.empty((first, first))
        gram[:before, :before] = self._gram
        gram[:, before:] = self._Z.T @ new
        gram[before:, :before] = gram[:before, before:].T
        self._gram = gram
        self._cross = np.concatenate([self._cross, new.T @ (self._root * self.target)])
        self._mean = np.concatenate([self._mean, mean])
