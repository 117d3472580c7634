"""Drop subsets that do not help on validation rows from a fit, one by one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

import numpy as np

from .._typing import Floats
from ..numerics.diagonal_evidence import Ridge
from .cosine_basis import Subset, numbers_of

_ERRORS = 1.0  # a subset must lower the error of validation rows by so many standard errors
# With few rows nearly all main effects are tried, and kept unless they raise the error: a missing
# one costs more than a useless one with a small weight.
_FEW_ERRORS = -0.5
_LEAST_GAIN = 5e-4  # a subset must also lower that error by this share
_NEAR = 3.0  # subsets this many standard errors above are rescored only when no others are left


class Validation:
    """Validation rows, and a fit on other rows.

    Parameters
    ----------
    Z : (n, p), terms of all subsets
    target : (n, t)
    weight : (n,), positive
    few : bool, whether the fit had few rows
    """

    def __init__(self, Z: Floats, target: Floats, weight: Floats, *, few: bool) -> None:
        self._Z, self._target, self._few = Z, target, few
        self._weight = weight / weight.sum()

    def pruned(self, subsets: Sequence[Subset], ridge: Ridge) -> tuple[list[Subset], float]:
        """The subsets that help on these rows, and the mean squared error of the fit with them.

        Drops the one with the lowest score first, while there is a useless one that is not part of
        another.
        """
        fit = _Fit(subsets, ridge, self._Z, self._target)
        kept = list(range(len(subsets)))
        larger = [
            {j for j, other in enumerate(subsets) if set(subset) < set(other)} for subset in subsets
        ]
        scores: dict[int, float] = {}
        enough = _FEW_ERRORS if self._few else _ERRORS
        while True:
            free = [i for i in kept if not larger[i]]
            near = [i for i in free if scores.get(i, -np.inf) < enough + _NEAR]
            for some in (near, [i for i in free if i not in near]):
                found = self._scores(fit, some)
                scores |= found
                worst = min(some, key=lambda i: (scores[i], -i), default=None)
                if worst is not None and scores[worst] < enough:
                    break
            else:
                return [subsets[i] for i in kept], float(self._weight @ fit.squares)
            fit.leave_out(worst)
            kept.remove(worst)
            for others in larger:
                others.discard(worst)

    def _scores(self, fit: _Fit, some: Iterable[int]) -> dict[int, float]:
        """The rise of the error without each of some subsets, in standard errors."""
        square, scores = fit.squares, {}
        least = _LEAST_GAIN * float(self._weight @ square)
        for i in some:
            gain = fit.squares_without(i) - square
            mean = float(self._weight @ gain)
            spread = float(np.sqrt(self._weight @ (gain - mean) ** 2))
            scores[i] = mean / (spread / np.sqrt(len(gain)) + 1e-300)
            if not self._few and mean < least:
                scores[i] = -np.inf  # of equal columns the last one is dropped first
        return scores


class _Fit:
    """The errors of a fit on other rows, as subsets are dropped from it one by one.

    Without the terms g of a subset, coefficients change by C_g (C_gg)^-1 w_g, with C the inverse of
    the penalised Gram matrix: exactly a fit without them. Z C is kept with C, so that the errors
    without a subset need only the terms of that subset.
    """

    def __init__(self, subsets: Sequence[Subset], ridge: Ridge, Z: Floats, target: Floats) -> None:
        sizes = np.array([len(numbers_of(len(subset))) for subset in subsets])
        owner = np.repeat(np.arange(len(subsets)), sizes)[ridge.used]
        ends = np.searchsorted(owner, np.arange(len(subsets) + 1)).tolist()
        self._terms = [slice(a, b) for a, b in pairwise(ends)]
        self._w, self._C = ridge.coefficients[ridge.used], ridge.covariance()
        Z = Z[:, ridge.used]
        self._ZC = Z @ self._C
        self._error = target - Z @ self._w

    @property
    def squares(self) -> Floats:
        """The squared error of each row, summed over targets, (n,)."""
        return np.asarray(np.square(self._error).sum(axis=1))

    def squares_without(self, i: int) -> Floats:
        """The squared errors of the fit without one more subset."""
        return np.asarray(np.square(self._error_without(i)).sum(axis=1))

    def _error_without(self, i: int) -> Floats:
        g = self._terms[i]
        solved = np.linalg.solve(self._C[g, g], self._w[g])
        return np.asarray(self._error + self._ZC[:, g] @ solved)

    def leave_out(self, i: int) -> None:
        """Drop a subset."""
        g = self._terms[i]
        self._error = self._error_without(i)
        both = np.linalg.solve(self._C[g, g], np.column_stack([self._w[g], self._C[g]]))
        t = self._w.shape[1]
        self._w = self._w - self._C[:, g] @ both[:, :t]
        self._ZC -= self._ZC[:, g] @ both[:, t:]
        self._C -= self._C[:, g] @ both[:, t:]
        # They are zero up to rounding, and no longer used.
