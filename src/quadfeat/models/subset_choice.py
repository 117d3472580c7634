"""The choice of subsets of an ANOVA kernel by the targets, and its entries of `tuning_`."""

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

_NOTHING = 0.98  # share of the variance: subsets that leave more unexplained explain nothing
_CLEARLY = 0.85  # a kernel is clearly better if it leaves less than this share of it
_TELLING = 0.01  # if it also explains this much more of the variance


def choose_subsets(
    kernel: Anova, X: Matrix, Y: Floats, weight: Floats
) -> tuple[Kernel, list[Tried]]:
    """The learned kernel, and the entries of `tuning_`: one for each family and subset.

    If no base was given, the score of a family is the share of the variance that leave-one-out
    predictions of a fit of few landmarks leave unexplained. The score of a subset is the share of
    resamples that left it out. The last entries are the share of the variance of validation rows
    that all subsets leave unexplained and, for comparison, the share that a Gaussian kernel of all
    columns at once leaves. Warns if no subset explains anything, or if the kernel of all columns
    explains clearly more.
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
            f"subsets of up to {order} columns leave {left}: effects miss a part of the target; a "
            f"larger order, or Gaussian('learned') without Anova, predicts better",
            stacklevel=2,
        )
