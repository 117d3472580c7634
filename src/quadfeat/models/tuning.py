"""Penalties that are tried, and which one is best."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats

_TIE = 1e-3  # scores that differ by less are equal


@dataclass(frozen=True)
class Tried:
    """One value of a parameter and its score: less is better."""

    parameter: str
    value: float
    score: float
    judge: str


def penalties(scale: float, dtype: Any) -> Floats:
    """Half decades of alpha below the trace of the gram, down to what its rounding leaves.

    By the size of their rounding (an estimate), float32 products leave about 3e-9 of the trace.
    """
    lowest = -8.0 if np.dtype(dtype) == np.float32 else -12.0
    return np.asarray(scale * 10.0 ** np.arange(lowest, 0.25, 0.5))


def best(alphas: Floats, scores: Floats, judge: str) -> tuple[float, list[Tried]]:
    """The largest alpha whose score is the least, to a thousandth, and what was tried.

    Scores of the smallest alphas often differ by their rounding only, which must not decide.
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
