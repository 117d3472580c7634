"""Subsets of columns for a sparse ANOVA kernel, its weights and length scales, from targets.

A subset is added if the residual of the others depends on it (`screen`), and kept if it lowers the
error of validation rows. The search is repeated on resamples; the subsets that most of them choose
are taken, and their shares are reported.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from .._display.progress import steps
from .._typing import Floats, Indices
from .cosine_basis import Subset, numbers_of
from .pruning import Validation
from .screen import screen
from .subset_prior import Start, SubsetPrior
from .subset_rows import SubsetRows

RESAMPLES = 5
_VALIDATION = 4  # one row in so many of each resample
_ROUNDS = 8  # most rounds of adding subsets
_ADDED = 8  # most subsets per round
_MOST_TERMS = 900  # most products of cosines, over all subsets
_FEW_PASSED = 10.0  # useless main effects that pass with few rows: pruning drops them
_STEPS = 40
_FEW_STEPS = 4  # iterations while subsets are still added, if some are new to all resamples
_PRUNING_STEPS = 8


@dataclass(frozen=True, eq=False)
class LearnedSubsets:
    """The result of a search.

    Parameters
    ----------
    subsets : tuple of tuples of columns, sorted by size, with all parts of each
    weights : (m,), the prior variance of each subset, of mean 1
    inverse : (d,), inverse length scales
    chosen : tuple of float, the share of resamples that chose each subset; if most of them chose
        none, the main effects of all columns are taken
    unexplained : float, squared error of validation rows over the variance of the targets
    n_rows : int
    """

    subsets: tuple[Subset, ...]
    weights: Floats
    inverse: Floats
    chosen: tuple[float, ...]
    unexplained: float
    n_rows: int


def closure(subsets: Iterable[Subset]) -> list[Subset]:
    """Subsets and all parts of them, small ones first.

    >>> closure([(0, 2), (1,)])
    [(0,), (1,), (2,), (0, 2)]
    """
    every = {
        part for s in subsets for size in range(1, len(s) + 1) for part in combinations(s, size)
    }
    return sorted(every, key=lambda subset: (len(subset), subset))


def learn_subsets(base: Any, rows: SubsetRows, *, order: int, tied: bool | None) -> LearnedSubsets:
    """Choose subsets of up to `order` columns, then learn weights and length scales for them.

    Parameters
    ----------
    base : Kernel with a density on each axis
    rows : SubsetRows
    order : int, 1 to 3
    tied : bool or None, whether all columns have one length scale; None leaves `base` as it is
    """
    prior = SubsetPrior(base, rows.basis, tied)
    n, found, errors = len(rows.Y), list[list[Subset]](), list[float]()
    rng = np.random.default_rng(0)
    start = prior.start()
    with steps("choosing the subsets", RESAMPLES) as resampled:
        for _ in range(RESAMPLES):
            shuffled = rng.permutation(n)
            part = n // _VALIDATION
            resample = _Resample(prior, rows, shuffled[:part])
            subsets, error, start = resample.choose(order, start)
            found.append(subsets)
            errors.append(error)
            resampled.done()
    counts: dict[Subset, int] = {}
    for subset in (subset for subsets in found for subset in subsets):
        counts[subset] = counts.get(subset, 0) + 1
    most = [subset for subset, count in counts.items() if 2 * count > RESAMPLES]
    # A target that no subset explains still needs a kernel: the main effects of all columns.
    taken = closure(most) or [(i,) for i in np.flatnonzero(rows.distinct).tolist()]
    weights, inverse = _weights_and_lengths(prior, rows, taken, start)
    shares = tuple(counts.get(subset, 0) / RESAMPLES for subset in taken)
    return LearnedSubsets(tuple(taken), weights, inverse, shares, float(np.mean(errors)), n)


def learn_weights(
    base: Any, rows: SubsetRows, *, subsets: Sequence[Subset], tied: bool | None
) -> tuple[Floats, Floats]:
    """The weights (m,), of mean 1, and inverse length scales (d,) for given subsets."""
    prior = SubsetPrior(base, rows.basis, tied)
    return _weights_and_lengths(prior, rows, subsets, prior.start())


def _weights_and_lengths(
    prior: SubsetPrior, rows: SubsetRows, subsets: Sequence[Subset], start: Start
) -> tuple[Floats, Floats]:
    """The most likely weights (m,), of mean 1, and inverse length scales (d,), on all rows."""
    found = prior.most_likely(rows.every(subsets), subsets, start.at(subsets), _STEPS)
    weights = np.exp(np.clip(found.log_weights - found.log_weights.max(), -9.0, 0.0))
    return weights / weights.mean(), np.exp(found.log_inverse) / rows.basis.half_range


class _Resample:
    """One search for subsets: by forward steps on training rows, pruned on validation rows."""

    def __init__(self, prior: SubsetPrior, rows: SubsetRows, validation: Indices) -> None:
        self._prior, self._rows, self._validation = prior, rows, validation
        self._training = rows.training(validation)

    def choose(self, order: int, start: Start) -> tuple[list[Subset], float, Start]:
        """The subsets, and their error divided by the variance of the targets.

        The search for weights and length scales starts at `start` from another resample; the third
        result is where this one ended.
        """
        prior, rows, training = self._prior, self._rows, self._training
        subsets: list[Subset] = []
        residual, sizes = training.target, range(1, order + 1)
        tried: set[Subset] = set()
        for _ in range(_ROUNDS):
            new = self._candidates(residual, sizes, tried | set(subsets))
            new = _affordable(subsets, new)
            if not new:
                break
            tried |= set(new)
            subsets = closure([*subsets, *new])
            squares, found = training.of(subsets), start.at(subsets)
            if not start.knows(subsets):
                found = prior.most_likely(squares, subsets, found, _FEW_STEPS)
            start = start.after(subsets, found)
            ridge = prior.ridge(squares, found, subsets)
            residual = training.residual(subsets, ridge.coefficients)
        if not subsets:
            return [], 1.0, start
        found = prior.most_likely(squares, subsets, found, _PRUNING_STEPS)
        some = self._validation
        judge = Validation(
            training.left_out(subsets),
            rows.Y[some] - training.middle,
            rows.weight[some],
            few=rows.few,
        )
        kept, error = judge.pruned(subsets, prior.ridge(squares, found, subsets))
        return kept, error / rows.Y.shape[1], start.after(subsets, found)

    def _candidates(
        self, residual: Floats, sizes: Iterable[int], known: Collection[Subset]
    ) -> list[Subset]:
        """The clearest subsets of the smallest size for which any passes the screen."""
        for size in sizes:
            chance = _FEW_PASSED if size == 1 and self._rows.few else None
            passed = screen(
                self._rows.ranks,
                residual,
                self._training.weight,
                size,
                known,
                passed_by_chance=chance,
            )
            passed = [each for each in passed if self._rows.distinct[list(each.subset)].all()]
            if passed:
                most = len(self._rows.ranks) if size == 1 else _ADDED
                return [each.subset for each in passed[:most]]
        return []


def _affordable(subsets: list[Subset], new: list[Subset]) -> list[Subset]:
    """As many new subsets as the limit on terms allows."""
    kept: list[Subset] = []
    for subset in new:
        every = closure([*subsets, *kept, subset])
        if sum(len(numbers_of(len(each))) for each in every) > _MOST_TERMS:
            break
        kept.append(subset)
    return kept
