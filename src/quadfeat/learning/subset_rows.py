"""Rows for the search of subsets, and sums of the terms of subsets over them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from .._typing import Floats, Indices, Mask
from ..numerics.diagonal_evidence import Squares
from .cosine_basis import CosineBasis, Subset, numbers_of, terms
from .screen import rank_cosines
from .task import SUBSET_ROWS

# With fewer rows tests would miss most effects.
_FEW_ROWS = 1000


@dataclass(frozen=True, eq=False)
class SubsetRows:
    """Rows, and the functions of their columns for all searches.

    Parameters
    ----------
    basis : CosineBasis
    cosines : (d, k, n), of `basis`
    ranks : (d, n, k), of `rank_cosines`
    Y : (n, t), of mean 0 and deviation 1
    weight : (n,), of mean 1
    distinct : (d,) bool, columns that vary and do not repeat an earlier one
    """

    basis: CosineBasis
    cosines: Floats
    ranks: Floats
    Y: Floats
    weight: Floats
    distinct: Mask

    @classmethod
    def of(cls, X: Floats, Y: Floats, weight: Floats) -> SubsetRows:
        """The first 8,000 rows: X (n, d) in random order, Y (n, t), positive weights (n,)."""
        X, Y, weight = X[:SUBSET_ROWS], Y[:SUBSET_ROWS], weight[:SUBSET_ROWS]
        basis, spread = CosineBasis.of(X), Y.std(axis=0)
        Y = (Y - np.average(Y, axis=0, weights=weight)) / np.where(spread > 0, spread, 1.0)
        first = {column.tobytes(): i for i, column in reversed(list(enumerate(X.T)))}
        distinct = np.isin(np.arange(X.shape[1]), list(first.values()))
        distinct &= np.ptp(X, axis=0) > 1e-12 * np.abs(X).max(axis=0, initial=0.0)
        return cls(basis, basis.columns(X), rank_cosines(X), Y, weight / weight.mean(), distinct)

    @property
    def few(self) -> bool:
        """Whether there are few rows."""
        return len(self.Y) < _FEW_ROWS

    @cached_property
    def sums(self) -> TermSums:
        """The sums of the terms of subsets over all rows."""
        share, root = self.weight / self.weight.sum(), np.sqrt(self.weight)

        def weighted(subset: Subset) -> Floats:
            found = terms(self.cosines, subset)
            found -= (found @ share)[:, None]
            return np.multiply(found, root, out=found)

        return TermSums(weighted, self._beside)

    @property
    def _beside(self) -> Floats:
        beside = np.column_stack([self.Y, np.ones(len(self.Y))])
        return np.asarray(beside * np.sqrt(self.weight)[:, None])

    def every(self, subsets: Sequence[Subset]) -> Squares:
        """The sums of the terms of subsets over all rows."""
        cross, squares = self.sums.cross(subsets), self.weight @ np.square(self.Y)
        return Squares(self.sums.gram(subsets), cross[:, :-1], squares, float(len(self.Y)))

    def training(self, validation: Indices) -> TrainingRows:
        """All rows except some."""
        return TrainingRows(self, validation)


class TermSums:
    """Terms of subsets at rows, and their products; new subsets are added to them.

    Parameters
    ----------
    terms : function, the terms (k, n) of a subset, times the roots of the weights
    beside : (n, q), also multiplied with the terms
    """

    def __init__(self, terms: Callable[[Subset], Floats], beside: Floats) -> None:
        self._terms, self._beside = terms, beside
        self._parts: list[tuple[slice, Floats]] = []
        self._columns: dict[Subset, slice] = {}
        self._gram, self._cross = np.empty((0, 0)), np.empty((0, beside.shape[1]))

    def gram(self, subsets: Sequence[Subset]) -> Floats:
        """The products of the terms of subsets with each other, (p, p)."""
        some = self._positions(subsets)
        return np.asarray(self._gram[np.ix_(some, some)])

    def cross(self, subsets: Sequence[Subset]) -> Floats:
        """The products of the terms of subsets with `beside`, (p, q)."""
        some = self._positions(subsets)
        return np.asarray(self._cross[some])

    def at(self, subset: Subset) -> Floats:
        """The terms of a subset, (k, n)."""
        self._add([subset])
        columns = self._columns[subset]
        part, found = next((p, Z) for p, Z in self._parts if p.start <= columns.start < p.stop)
        return found[columns.start - part.start : columns.stop - part.start]

    def times(self, subsets: Sequence[Subset], coefficients: Floats) -> Floats:
        """The sum of terms times coefficients (p, t), (n, t)."""
        some = self._positions(subsets)
        every = np.zeros((len(self._cross), coefficients.shape[1]))
        every[some] = coefficients
        return np.asarray(sum(Z.T @ every[part] for part, Z in self._parts))

    def _positions(self, subsets: Sequence[Subset]) -> Indices:
        self._add(subsets)
        found = [
            np.arange(each.start, each.stop) for each in map(self._columns.get, subsets) if each
        ]
        return np.concatenate(found) if found else np.empty(0, dtype=np.intp)

    def _add(self, subsets: Sequence[Subset]) -> None:
        subsets = [subset for subset in subsets if subset not in self._columns]
        if not subsets:
            return
        before, last = len(self._cross), len(self._cross)
        for subset in subsets:
            first, last = last, last + len(numbers_of(len(subset)))
            self._columns[subset] = slice(first, last)
        new = np.empty((last - before, len(self._beside)))
        for subset in subsets:
            columns = self._columns[subset]
            new[columns.start - before : columns.stop - before] = self._terms(subset)
        self._parts.append((slice(before, last), new))
        gram = np.empty((last, last))
        gram[:before, :before] = self._gram
        for part, Z in self._parts:
            gram[part, before:] = Z @ new.T
        gram[before:, :before] = gram[:before, before:].T
        self._gram = gram
        self._cross = np.concatenate([self._cross, new @ self._beside])


class TrainingRows:
    """All rows except validation rows; their sums are those of all rows minus those of validation.

    Parameters
    ----------
    rows : SubsetRows
    validation : (m,), positions of rows
    """

    def __init__(self, rows: SubsetRows, validation: Indices) -> None:
        self._rows, self._validation = rows, validation
        self.weight = rows.weight.copy()  # (n,), 0 for validation
        self.weight[validation] = 0.0
        self.middle = np.average(rows.Y, axis=0, weights=self.weight)  # (t,)
        self.target = rows.Y - self.middle  # (n, t)
        self._others = TermSums(
            lambda subset: rows.sums.at(subset)[:, validation], rows._beside[validation]
        )

    def of(self, subsets: Sequence[Subset]) -> Squares:
        """The sums of the terms of subsets, in this order."""
        gram, cross = self._rows.sums.gram(subsets), self._cross(subsets)
        gram -= self._others.gram(subsets)
        sums, squares = cross[:, -1], self.weight @ np.square(self.target)
        gram -= np.multiply.outer(sums, sums / self.weight.sum())
        cross = cross[:, :-1] - np.multiply.outer(sums, self.middle)
        return Squares(gram, cross, squares, float(np.count_nonzero(self.weight)))

    def _cross(self, subsets: Sequence[Subset]) -> Floats:
        return self._rows.sums.cross(subsets) - self._others.cross(subsets)

    def residual(self, subsets: Sequence[Subset], coefficients: Floats) -> Floats:
        """`target` minus the fit of some coefficients (p, t), (n, t)."""
        root = np.sqrt(self._rows.weight)[:, None]
        left = self.target - self._rows.sums.times(subsets, coefficients) / root
        return np.asarray(left - np.average(left, axis=0, weights=self.weight))

    def left_out(self, subsets: Sequence[Subset]) -> Floats:
        """The terms of subsets at validation rows, minus their means at all others, (m, p)."""
        mean = self._cross(subsets)[:, -1] / self.weight.sum()
        Z = np.concatenate([self._others.at(subset) for subset in subsets])
        return np.asarray((Z / np.sqrt(self._rows.weight[self._validation])).T - mean)
