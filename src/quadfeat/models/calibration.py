"""Scores to probabilities: a softmax whose temperature is fitted to leave-one-out scores."""

from __future__ import annotations

import numpy as np
from scipy.special import softmax

from .._typing import Floats
from .losses import Codes

_STEPS = 100
_PRIOR = 0.5  # weight of a prior for slope 0: a few correct rows do not prove certainty


def probabilities(scores: Floats, slope: float) -> Floats:
    """softmax(slope f), (n, classes); two classes share one score, as (-f / 2, f / 2).

    The class with the largest score has the largest probability.

    >>> probabilities(np.array([[0.0]]), 1.0)
    array([[0.5, 0.5]])
    """
    return np.asarray(softmax(slope * _per_class(scores), axis=1))


def _per_class(scores: Floats) -> Floats:
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


def fit_slope(scores: Floats, codes: Codes, weight: Floats, n: float) -> float:
    """The slope with the highest likelihood of the classes, given leave-one-out scores.

    Newton's method on a convex function of one variable, or bisection where it does not converge.

    Parameters
    ----------
    scores : (n, t)
    codes : (n,)
    weight : (n,), only ratios matter
    n : float, effective number of rows
    """
    f = _per_class(scores)
    mass = weight * (n / weight.sum())
    scale = float(np.abs(f).max()) or 1.0
    f = f / scale
    of_class = f[np.arange(len(f)), codes]
    slope = step = 0.0
    low, high = 0.0, np.inf  # the best slope is between these
    for _ in range(_STEPS):
        P = softmax(slope * f, axis=1)
        mean = (P * f).sum(axis=1)
        gradient = mass @ (mean - of_class) + _PRIOR * slope
        curvature = mass @ ((P * f**2).sum(axis=1) - mean**2) + _PRIOR
        low, high = (slope, high) if gradient < 0 else (low, slope)
        before, step = step, float(-gradient / curvature)
        # With many classes the curvature is small on both sides of where it matters: steps may go
        # far beyond the best slope, and as far back.
        back = step * before < 0 and abs(step) > abs(before) / 2
        if back or not low <= slope + step <= high:
            step = (low + high) / 2 - slope
        slope += step
        if abs(step) <= 1e-12 * max(slope, 1.0):
            break
    return max(slope, 1e-3) / scale


def log_losses(scores: Floats, codes: Codes, slope: float) -> Floats:
    """-log probability of the class of each row, (n,)."""
    P = probabilities(scores, slope)
    of_class = np.maximum(P[np.arange(len(P)), codes], np.finfo(float).tiny)
    return np.asarray(-np.log(of_class))


def log_loss(scores: Floats, codes: Codes, weight: Floats, n: float) -> float:
    """The mean -log probability of the classes, given leave-one-out scores, at the best slope."""
    losses = log_losses(scores, codes, fit_slope(scores, codes, weight, n))
    return float(np.average(losses, weights=weight))
