"""Errors of candidate maps on validation rows, which they were not fitted on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._typing import Floats, Indices, Mask, Matrix
from ..kernels.base import Kernel
from ..numerics import principal_frame
from .base import FeatureMap
from .expansions import ExpansionMap, HermiteMercer, Landmarks
from .fourier import FourierMap
from .report import Trial, refused

_VALIDATION_ROWS = 1000  # at most


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Validation rows, the weights of all pairs and of typical pairs, and the exact kernel."""

    rows: Matrix
    pairs: Floats
    typical: Floats
    exact: Floats
    at_zero: float

    @classmethod
    def of(cls, kernel: Kernel, rows: Matrix, weights: Floats, typical: Mask) -> ValidationRows:
        """A pair's weight is the product of its rows' weights; no row is paired with itself."""

        def pairs(weights: Floats) -> Floats:
            product = np.multiply.outer(weights, weights)
            if len(product) > 1:
                np.fill_diagonal(product, 0.0)
            return product

        inner = pairs(weights * typical) if typical.sum() > 1 else pairs(weights)
        double = rows.astype(np.float64)
        exact = kernel.gram(double, double)
        return cls(rows, pairs(weights), inner, exact, kernel.at_zero(rows.shape[1]))

    @cached_property
    def _totals(self) -> tuple[float, float]:
        return float(self.pairs.sum()), float(self.typical.sum())

    def errors(self, approximate: Matrix) -> tuple[float, float, float]:
        """RMS and largest error of all pairs, and RMS of typical pairs, relative to k(0).

        `approximate`, a map's approximate kernel of these rows, is overwritten if it is in double
        precision: allocating memory takes longer than the arithmetic.
        """
        double = approximate.dtype == np.float64
        error = np.subtract(approximate, self.exact, out=approximate if double else None)
        error /= self.at_zero
        squares = np.square(error, out=error)
        weighted = squares * self.pairs
        rms = np.sqrt(weighted.sum() / self._totals[0])
        typical = np.sqrt(np.multiply(squares, self.typical, out=weighted).sum() / self._totals[1])
        largest = np.sqrt(np.multiply(squares, self.pairs > 0, out=weighted).max())
        return float(rms), float(largest), float(typical)


@dataclass(frozen=True, eq=False)
class Split:
    """Rows of X divided into training rows and validation rows.

    Parameters
    ----------
    X : (n, d)
    held_out : validation rows; none if X has fewer than 20 rows
    weights : how many rows of X each validation row represents
    row_weights : (n,), how many rows each training row represents; 0 for validation rows
    typical : (n,), which rows are not among the outermost 1%
    order : training rows, the first of which are a sample by row weight
    """

    X: Matrix
    held_out: Indices
    weights: Floats
    row_weights: Floats
    typical: Mask
    order: Indices

    @classmethod
    def of(cls, X: Matrix, rng: np.random.Generator) -> Split:
        """A random split that samples the outermost rows more densely."""
        distance = principal_frame.distances(X)
        held_out, weights, row_weights = split_rows(distance, rng)
        typical = principal_frame.typical(distance)
        return cls(X, held_out, weights, row_weights, typical, weighted_order(row_weights, rng))

    @property
    def any_held_out(self) -> bool:
        """Whether validation rows differ from the training rows."""
        return len(self.held_out) > 0

    def training(self, count: int) -> Matrix:
        """At most `count` training rows, in the order of X."""
        return self.X[np.sort(self.order[:count])]

    def validation(self, kernel: Kernel) -> ValidationRows:
        """The rows held out, or all rows if there are too few."""
        rows = self.held_out if self.any_held_out else np.arange(len(self.X))
        return ValidationRows.of(kernel, self.X[rows], self.weights, self.typical[rows])

    def again(self, size: int, most: int, rng: np.random.Generator) -> tuple[Indices, Indices]:
        """A smaller split: `size` typical validation rows, and at most `most` of all others.

        The outermost rows are all used for training. The validation rows are a plain sample of the
        typical ones, by weight: with any other sample, errors would be underestimated.
        """
        inner = self.typical[self.held_out]
        chance = self.weights[inner] / self.weights[inner].sum()
        size = min(len(chance), size)
        last = np.sort(rng.choice(self.held_out[inner], size, replace=False, p=chance))
        rest = rng.permutation(np.delete(np.arange(len(self.X)), last))[:most]
        return last, np.sort(rest)


def try_candidate(
    name: str,
    candidate: FeatureMap,
    training: Matrix,
    shared_fits: dict[type, Any],
    validation: ValidationRows,
) -> Trial:
    """Fit a candidate on the training rows and measure its errors on the validation rows."""
    try:
        if isinstance(candidate, ExpansionMap):
            candidate._fit_sharing(training, shared_fits)
        else:
            candidate._fit_validated(training)
        approximate = candidate._approximate_gram(validation.rows, validation.rows)
    except ValueError as refusal:
        # A map may refuse a kernel, a width or an amount of memory; the report shows its message.
        return refused(name, str(refusal))
    rms, largest, typical = validation.errors(approximate)
    cost = cost_per_row(candidate)
    return Trial(name, candidate.n_columns_, rms, largest, cost, typical=typical)


def split_rows(distance: Floats, rng: np.random.Generator) -> tuple[Indices, Floats, Floats]:
    """Validation rows, their weights, and the weights of all rows for training.

    In heavy-tailed data the few outermost rows dominate the error of all pairs, and a plain sample
    may contain none of them: so the outermost half percent and five percent by `distance`, (n,),
    are sampled more densely, with smaller weights. The more of a stratum is held out, the more its
    training rows weigh; validation rows have weight 0 there.
    """
    n = len(distance)
    row_weights = np.ones(n)
    if n < 20:
        return np.arange(0), np.ones(n), row_weights
    ranked = np.argsort(-distance, kind="stable")
    cuts = [0, n // 200, n // 20, n]
    rows, weights = [], []
    for low, high, most in zip(cuts, cuts[1:], (100, 200, _VALIDATION_ROWS - 300), strict=False):
        stratum = ranked[low:high]
        count = min(len(stratum) // (2 if high < n else 4), most)
        if count:
            rows.append(rng.choice(stratum, size=count, replace=False))
            weights.append(np.full(count, len(stratum) / count))
            row_weights[stratum] = len(stratum) / (len(stratum) - count)
    row_weights[np.concatenate(rows)] = 0.0
    return np.concatenate(rows), np.concatenate(weights), row_weights


def weighted_order(weights: Floats, rng: np.random.Generator) -> Indices:
    """Rows of positive weight, ordered so that the first ones are a sample by weight.

    Rows are sorted by exponential times at the rate of their weights (Efraimidis and Spirakis,
    2006).
    """
    rows = np.flatnonzero(weights)
    return rows[np.argsort(rng.exponential(size=len(rows)) / weights[rows])]


def cost_per_row(fitted: FeatureMap) -> float:
    """About how many multiply-adds a row costs; a sine or exponential counts as ten."""
    p = fitted.n_columns_
    if isinstance(fitted, HermiteMercer):
        basis = fitted.basis_
        work = sum(
            np.count_nonzero(expansion.rotation) + len(expansion.parent)
            for expansion in basis.expansions
        )
        factors = [
            factor
            for expansion in basis.expansions
            for factor in (expansion.mixing, expansion.projection)
            if factor is not None
        ]
        factors += [] if basis.projection is None else [basis.projection]
        return float(work + sum(factor.size for factor in factors))
    if isinstance(fitted, Landmarks):
        product = p / 2 if fitted.basis_.triangular else p
        return float(len(fitted.basis_.points) * (fitted._n_axes + 10 + product))
    assert isinstance(fitted, FourierMap)
    return 10.0 * p + sum(rule.nodes.size for rule in fitted._rules_by_group)
