"""Helpers of kernels: slopes of radial ones, loops over pairs of rows, the length of a profile."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._rows import BLOCK_ENTRIES
from .._typing import Floats, Profile

_PAIRS = 2**15  # pairs at a time in loops over axes


def radial_slope(
    factor: Callable[[Floats, Floats], Floats], X: Floats, Y: Floats, weights: Floats
) -> Floats:
    """sum_b weights[b, t] factor(x, y_b) (x - y_b) at the rows of X, (n, t, d).

    Uses two matrix products instead of a difference for every pair of rows and every axis: if the
    mean of Y is subtracted from the rows, sums of factor * x and factor * y cancel up to about
    rounding.

    Parameters
    ----------
    factor : of two sets of rows (n, d) and (m, d), (n, m)
    X, Y : (n, d), (m, d)
    weights : (m, t)
    """
    n, d = X.shape
    centre = Y.mean(axis=0)
    centred = Y - centre
    slope = np.empty((n, weights.shape[1], d))
    size = max(16, BLOCK_ENTRIES // len(Y))
    for start in range(0, n, size):
        some = slice(start, start + size)
        pairs = factor(X[some], Y)
        totals = pairs @ weights
        for t in range(weights.shape[1]):
            slope[some, t] = totals[:, t, None] * (X[some] - centre)
            slope[some, t] -= pairs @ (weights[:, t, None] * centred)
    return slope


def pair_blocks(X: Floats, Y: Floats) -> list[slice]:
    """Slices of X for loops over axes, small enough that pairs with all of Y stay in the cache."""
    size = max(1, _PAIRS // max(len(Y), 1))
    return [slice(start, start + size) for start in range(0, len(X), size)]


def fall_length(profile: Profile) -> float:
    """About the gap at which a profile has fallen to 0.9."""
    gaps = 2.0 ** np.arange(-260.0, 260.0)
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        fallen = profile(gaps) < 0.9
    return float(gaps[np.argmax(fallen)]) if fallen.any() else 1.0
