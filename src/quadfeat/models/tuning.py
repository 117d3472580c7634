"""Penalties to try, and which one is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats

_TIE = 1e-3  # scores that differ by less count as equal


@dataclass(frozen=True)
class Tried:
    """One value of a parameter and its score (lower is better); `judge` says what the score is."""

    parameter: str
    value: float
    score: float
    judge: str


def penalties(scale: float, dtype: Any) -> Floats:
    """Alphas in steps of half a decade, from the trace of the gram down to its rounding error.

    The rounding error of float32 products is about 3e-9 of the trace (an estimate).
    """
    lowest = -8.0 if np.dtype(dtype) == np.float32 else -12.0
    return np.asarray(scale * 10.0 ** np.arange(lowest, 0.25, 0.5))


def best(alphas: Floats, scores: Floats, judge: str) -> tuple[float, list[Tried]]:
    """The largest alpha whose score is within a thousandth of the lowest, and all tried.

    Scores of the smallest alphas often differ by rounding only, which must not decide.
    """
    if not np.isfinite(scores).any():
        raise ValueError(
            f"no alpha can be judged: the largest, {alphas.max():g}, is too small for the rounding "
            f"of the sums; give a larger alpha"
        )
    tried = [
        Tried("alpha", float(alpha), float(score), judge)
        for alpha, score in zip(alphas, scores, strict=True)
    ]
    return float(alphas[scores <= (1 + _TIE) * scores.min()].max()), tried
