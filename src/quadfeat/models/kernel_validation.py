"""Errors of kernels on rows that they were not learned from."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Floats, Matrix
from ..kernels.base import Kernel
from ..maps.base import FeatureMap
from .calibration import fit_slope, log_losses
from .ridge_path import RidgePath
from .ridge_sums import NormalSums
from .sample import Sample
from .tuning import penalties

MOST_ROWS = 4000  # validation rows
MOST_COLUMNS = 1024  # columns of the maps that are compared
MARGIN = 0.005  # a less simple kernel must be better by this share
_ERRORS = 1.5  # and standard errors
_BLOCK = 2048  # rows of features at a time


class KernelValidation:
    """Leave-one-out squared errors of a ridge fit, on rows that no kernel was learned from.

    Parameters
    ----------
    features : FeatureMap, whose kind and seed the compared maps have
    sample : Sample
    n_learned : int, rows of the sample that kernels were learned from; up to 4,000 after them are
        the validation rows. With 0 all rows are both
    tick : function that is called after each kernel
    """

    def __init__(
        self,
        features: FeatureMap,
        sample: Sample,
        n_learned: int,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._features, self._sample, self._tick = features, sample, tick
        self.rows = slice(n_learned, n_learned + MOST_ROWS)
        # Landmarks among the validation rows would fit these better than new rows.
        self._others = sample.without(self.rows).X if n_learned else sample.X
        self.weight = sample.weight[self.rows]

    def mean(self, errors: Floats) -> float:
        """The weighted mean of errors."""
        return float(np.average(errors, weights=self.weight))

    def simplest_of_the_best(self, errors: list[Floats]) -> int:
        """The position of the lowest mean error; a later one must be clearly lower to win."""
        best = 0
        for i, other in enumerate(errors):
            best = i if self.is_clearly_lower(other, errors[best]) else best
        return best

    def is_clearly_lower(self, errors: Floats, others: Floats, margin: float = MARGIN) -> bool:
        """Whether the mean of errors is lower than that of others, beyond chance."""
        gain = others - errors
        spread = np.sqrt(self.mean((gain - self.mean(gain)) ** 2) / len(gain))
        return self.mean(gain) > max(margin * self.mean(others), _ERRORS * spread)

    def errors(self, kernel: Kernel, columns: int) -> Floats:
        """Squared errors of the rows, summed over targets in their units, (n,)."""
        errors = self._errors(kernel, columns)
        self._tick()
        return errors

    def _errors(self, kernel: Kernel, columns: int) -> Floats:
        held_out = self._sample.at(self.rows)
        predicted, units = self._left_out(kernel, columns)
        if predicted is None:
            return np.full(len(held_out.X), np.inf)
        return np.asarray((np.square(held_out.Y - predicted) / units).sum(axis=1))

    def log_losses(self, kernel: Kernel) -> Floats:
        """Log losses of the classes of the rows, (n,)."""
        held_out = self._sample.at(self.rows)
        codes = (
            (held_out.Y[:, 0] > 0).astype(int) if held_out.Y.shape[1] == 1 else held_out.Y.argmax(1)
        )
        scores, _ = self._left_out(kernel, MOST_COLUMNS)
        if scores is None:
            return np.full(len(codes), np.inf)
        n = float(held_out.weight.sum() ** 2 / np.square(held_out.weight).sum())
        return log_losses(scores, codes, fit_slope(scores, codes, held_out.weight, n))

    def _left_out(self, kernel: Kernel, columns: int) -> tuple[Floats | None, Floats]:
        """Predictions for the rows, None if no penalty can be solved, and the units of targets."""
        sample = self._sample
        fitted = self._features.lighter(kernel, columns).fit(self._others)
        sums = NormalSums(fitted.n_columns_, sample.Y.shape[1])
        held_out, others = sample.at(self.rows), sample.without(self.rows)
        Z = _written(fitted, held_out.X)
        for start in range(0, len(Z), _BLOCK):
            some = slice(start, start + _BLOCK)
            sums.add(Z[some], held_out.Y[some], held_out.weight[some])
        for start in range(0, len(others.X), _BLOCK):
            rows = others.at(slice(start, start + _BLOCK))
            sums.add(_written(fitted, rows.X), rows.Y, rows.weight)
        share = sums.weight / sums.n_rows if sample.counts else 1.0
        system = sums.system(intercept=True, signs=fitted.signs_, copy=False, distinct_share=share)
        alphas, path = penalties(system.scale, sample.X.dtype), RidgePath(system)
        weight = np.minimum(held_out.weight, 1.0) if sample.counts else held_out.weight
        if path.signed:  # it has no likelihood
            scores = path.loo_squares(Z, held_out.Y, held_out.weight, alphas, path.units)
        else:
            scores = path.evidence(alphas)
        best = float(alphas[int(np.argmin(scores))])
        return path.left_out_once(Z, held_out.Y, weight, best), path.units


def _written(fitted: FeatureMap, X: Matrix) -> Matrix:
    Z = np.empty((len(X), fitted.n_columns_), dtype=X.dtype)
    fitted.write(X, Z)
    return Z
