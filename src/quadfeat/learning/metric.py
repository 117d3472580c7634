"""A whole metric of the Gaussian kernel from targets, by the likelihood of a sample."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from .._typing import Floats, Mask
from ..numerics.evidence import Evidence
from .task import Learned, Learner, Task, minimise

_STEPS = 60
_LOSS = 1e-3  # nats per row and target that dropping directions may cost


class MetricLearner(Learner, Protocol):
    """A kernel that also takes a metric: see `kernels.stationary.Gaussian`."""

    def with_metric(self, metric: Floats) -> Any: ...


def learn_metric(
    kernel: MetricLearner,
    task: Task,
    start: Learned,
    *,
    columns: Mask | None = None,
    steps: int = _STEPS,
) -> Learned:
    """The kernel of length scale 1 on rows M x with the most likely M, searched from `start`.

    `start` has a length scale per column, or a metric. Every entry of M is free, or those of the
    given columns: the derivative with respect to M costs no more than that for length scales. Then
    directions are dropped while this costs no likelihood.
    """
    kept = np.flatnonzero(task.columns if columns is None else task.columns & columns)
    X, landmarks = (rows[:, kept] / task.spread[kept] for rows in (task.X, task.landmarks))
    d, plain = len(kept), kernel.with_lengths(1.0)

    def value(entries: Floats, log_noise: float) -> tuple[float, Floats, float]:
        M = entries.reshape(-1, d)
        left, right = X @ M.T, landmarks @ M.T
        cross, between = plain.gram(left, right), plain.gram(right, right)
        result = Evidence(cross, between, task.Y, task.root_weight, log_noise)
        cross *= result.by_cross
        between *= result.by_landmarks
        scatter = _scatter(X, landmarks, cross) + _scatter(landmarks, landmarks, between)
        return result.value, -(M @ scatter).ravel(), result.by_log_noise

    if start.kernel.metric is None:
        first = np.diag(np.exp(start.log_inverse[kept]))
    else:
        first = np.sqrt(2 * start.kernel.gamma) * start.kernel.metric[:, kept] * task.spread[kept]
    best = minimise(
        value,
        [first.ravel()],
        steps=steps,
        log_noise=start.log_noise,
        bounds=(None, None),
    )
    _, sizes, directions = np.linalg.svd(best.log_inverse.reshape(-1, d), full_matrices=False)
    M = sizes[:, None] * directions
    rank = len(M)
    while rank > 1:
        fewer = (3 * rank) // 4
        if value(M[:fewer].ravel(), best.log_noise)[0] > best.value + _LOSS:
            break
        rank = fewer
    full = np.zeros((rank, task.X.shape[1]))
    full[:, kept] = M[:rank] / task.spread[kept]
    return Learned(
        plain.with_metric(full), best.value, start.log_inverse, best.log_noise, at_bound=False
    )


def _scatter(X: Floats, Y: Floats, weights: Floats) -> Floats:
    """sum_ab weights_ab (x_a - y_b)(x_a - y_b)', (d, d)."""
    mixed = X.T @ (weights @ Y)
    return np.asarray(
        (X.T * weights.sum(axis=1)) @ X + (Y.T * weights.sum(axis=0)) @ Y - mixed - mixed.T
    )
