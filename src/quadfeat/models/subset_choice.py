"""The subsets of an ANOVA kernel by the targets, and what there is to tell about them."""

from __future__ import annotations

import warnings

import numpy as np

from .._typing import Floats, Matrix
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..kernels.subsets import Anova
from ..learning.subsets import RESAMPLES, LearnedSubsets
from ..learning.unrestricted import unexplained_by_all
from .tuning import Tried

_NOTHING = 0.98  # of the variance: subsets that leave more unexplained explain nothing
_CLEARLY = 0.85  # of what subsets leave unexplained: a kernel that leaves less is clearly better,
_TELLING = 0.01  # and if it explains so much more of the variance: less is nobody's loss


def choose_subsets(
    kernel: Anova, X: Matrix, Y: Floats, weight: Floats
) -> tuple[Kernel, list[Tried]]:
    """The kernel with what it learns, and the rows of `tuning_`: one for each family and subset.

    The score of a family of kernels, where the base was open, is the unexplained share of the
    variance of rows that are left out of a fit of few landmarks.
    The score of a subset is the share of resamples that left it out. The last rows have the share
    of the variance of validation rows that all subsets leave unexplained, and, for comparison, that
    of a Gaussian kernel of all columns at once. Warns where no subset explains anything, and where
    the kernel of all columns explains clearly more.
    """
    rows = np.asarray(X, dtype=np.float64)
    learned, found, families = kernel.learned_anova(rows, Y, weight)
    judge = "unexplained share of the variance of rows left out, by few landmarks"
    lowest = min(families.values(), default=0.0)
    tried = [
        Tried("kernel", name, score, judge, chosen=score == lowest)
        for name, score in families.items()
    ]
    if found is None:
        return learned, tried
    judge = f"share of {RESAMPLES} resamples of {found.n_rows} rows that left it out"
    tried += [
        Tried("subset", ", ".join(map(str, subset)), 1 - share, judge, chosen=True)
        for subset, share in zip(found.subsets, found.chosen, strict=True)
    ]
    judge = "unexplained share of the variance of validation rows"
    tried.append(Tried("subsets", "those above", found.unexplained, judge, chosen=True))
    every = unexplained_by_all(Gaussian(), rows, Y, weight)
    if every is not None:
        tried.append(Tried("subsets", "all columns at once", every, judge))
    _warn(found, every, kernel.order)
    return learned, tried


def _warn(found: LearnedSubsets, every: float | None, order: int) -> None:
    beyond = "" if every is None else f", and a Gaussian kernel of all columns {every:.0%}"
    left = f"{found.unexplained:.0%} of the variance of validation rows unexplained{beyond}"
    least = min(_CLEARLY * found.unexplained, found.unexplained - _TELLING)
    if max(found.chosen) <= 0.5 or found.unexplained > _NOTHING:
        warnings.warn(
            f"subsets of up to {order} columns explain nothing, and their effects mean nothing: "
            f"they leave {left}",
            stacklevel=2,
        )
    elif every is not None and every < least:
        warnings.warn(
            f"subsets of up to {order} columns leave {left}: effects do not tell the whole; a "
            f"larger order, or Gaussian('learned') without Anova, predicts better",
            stacklevel=2,
        )
