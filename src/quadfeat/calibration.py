"""Scores to probabilities: a softmax with a temperature and an offset for each class."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import log_softmax, softmax

from .losses import Codes
from .rules import Floats

_STEPS = 100


@dataclass(frozen=True, eq=False)
class Calibration:
    """Probabilities softmax(slope f + offset); two classes share one score as (-f / 2, f / 2)."""

    slope: float
    offset: Floats

    @classmethod
    def none(cls, scores: Floats) -> Calibration:
        """The softmax of the scores as they are."""
        return cls(1.0, np.zeros(max(2, scores.shape[1])))

    def __call__(self, scores: Floats) -> Floats:
        return np.asarray(softmax(self.slope * _per_class(scores) + self.offset, axis=1))


def _per_class(scores: Floats) -> Floats:
    return np.hstack([-scores / 2, scores / 2]) if scores.shape[1] == 1 else scores


def calibrate(scores: Floats, codes: Codes, weight: Floats | None) -> Calibration:
    """The calibration with the most likely classes, for scores of rows that were left out.

    Offsets have a standard normal prior, and so does the logarithm of nothing else: with few rows
    of a class its offset stays near 0. Newton's method on a convex function of 1 + classes
    numbers, halving steps that go up.
    """
    f = _per_class(scores)
    rows, mass = np.arange(len(f)), np.ones(len(f)) if weight is None else weight
    f = f / (np.abs(f).max() or 1.0)
    scale = np.abs(_per_class(scores)).max() or 1.0
    hot = np.zeros_like(f)
    hot[rows, codes] = 1.0

    def value(theta: Floats) -> float:
        likely = log_softmax(theta[0] * f + theta[1:], axis=1)[rows, codes]
        return float(-mass @ likely + 0.5 * theta[1:] @ theta[1:] + 0.5e-4 * theta[0] ** 2)

    theta = np.zeros(1 + f.shape[1])
    for _ in range(_STEPS):
        P = softmax(theta[0] * f + theta[1:], axis=1)
        gap = mass[:, None] * (P - hot)
        slope = np.concatenate([[(gap * f).sum()], gap.sum(axis=0)])
        slope += np.concatenate([[1e-4 * theta[0]], theta[1:]])
        step = np.linalg.solve(_hessian(P, f, mass), slope)
        now, size = value(theta), 1.0
        while value(theta - size * step) > now and size > 1e-8:
            size /= 2
        theta = theta - size * step
        if slope @ step <= 1e-16 * max(now, 1e-300):
            break
    return Calibration(float(theta[0] / scale), theta[1:])


def _hessian(P: Floats, f: Floats, mass: Floats) -> Floats:
    weighted = mass[:, None] * P
    mean = (P * f).sum(axis=1)
    H = np.empty((1 + f.shape[1],) * 2)
    H[0, 0] = (weighted * f**2).sum() - mass @ mean**2 + 1e-4
    H[0, 1:] = H[1:, 0] = (weighted * (f - mean[:, None])).sum(axis=0)
    H[1:, 1:] = np.diag(weighted.sum(axis=0) + 1.0) - weighted.T @ P
    return H
