"""Length scales of a kernel from targets, by the likelihood of a sample."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .._typing import Floats
from ..numerics.evidence import Evidence
from .task import LEFT_OUT, LOG_LENGTHS, Learned, Learner, Minimum, Objective, Task, minimise

_STARTS = (0.0, 1.0)  # log inverse length scales, relative to one length scale per typical distance
_FIRST_STEPS = 50  # on fewer rows
_LAST_STEPS = 6  # on all rows, from the result of fewer, for one length scale,
_STEPS = 30  # and for one per column
_REVIVED = -2.0  # useless columns are reset to this log inverse length scale, once


def learn_scale(kernel: Learner, task: Task, *, start: Learned | None = None) -> Learned:
    """One length scale for all columns, with the highest likelihood.

    First searched on fewer rows, from three starts or from another kernel, `start`; then refined on
    all rows.
    """
    spread = float(np.sqrt(np.mean(task.spread[task.columns] ** 2))) if task.columns.any() else 1.0

    def scaled(theta: Floats) -> Learner:
        return kernel.with_lengths(float(np.exp(theta[0])) / spread)

    def objective(task: Task) -> Objective:
        def value(theta: Floats, log_noise: float) -> tuple[float, Floats, float]:
            found, slopes, by_noise = _value(scaled(theta), task, log_noise)
            return found, slopes.sum(keepdims=True), by_noise

        return value

    first = _first(kernel, task)
    if start is None:
        starts = [np.array([first + shift]) for shift in (-1.0, *_STARTS)]
        best = minimise(objective(task.smaller()), starts, steps=_FIRST_STEPS)
    else:  # the same number of length scales between typical rows
        starts = [first + start.log_inverse[:1] - _first(start.kernel, task)]
        best = minimise(
            objective(task.smaller()), starts, steps=_FIRST_STEPS, log_noise=start.log_noise
        )
    best = minimise(
        objective(task), [best.log_inverse], steps=_LAST_STEPS, log_noise=best.log_noise
    )
    theta = best.log_inverse
    return Learned(
        scaled(theta),
        best.value,
        np.broadcast_to(theta, task.X.shape[1:]),
        best.log_noise,
        bool(np.isclose(theta[0], LOG_LENGTHS).any()),
    )


def learn_scales(
    kernel: Learner, task: Task, *, start: Learned | None = None, steps: int = _STEPS
) -> Learned:
    """One length scale per column, with the highest posterior density.

    The prior of each inverse length scale r, in units of the column's standard deviation, is
    exp(-r): a useless column gets a length scale of thousands of deviations. The search has two
    starts, equal for all columns, on fewer rows; then it goes on with all of them, and with useless
    columns back in. Or it goes on from `start`, without the columns dropped there. Finally columns
    are dropped while each costs less than one unit of log likelihood (Akaike, 1974).
    """
    d = task.X.shape[1]
    useful = task.columns if start is None else task.columns & start.useful
    kept = np.flatnonzero(useful if useful.any() else task.columns)
    spread = task.spread[kept]
    fewer = Task(task.X[:, kept], task.Y, task.weight, task.n_landmarks)

    def scaled(theta: Floats) -> Learner:
        return kernel.with_lengths(np.exp(theta) / spread)

    def objective(task: Task) -> Objective:
        def value(theta: Floats, log_noise: float) -> tuple[float, Floats, float]:
            found, slopes, by_noise = _value(scaled(theta), task, log_noise)
            prior = np.exp(theta) / len(task.X)
            return found + float(prior.sum()), slopes + prior, by_noise

        return value

    if start is None:
        starts = [np.full(len(kept), _first(kernel, task) + shift) for shift in _STARTS]
        first = minimise(objective(fewer.smaller()), starts, steps=_FIRST_STEPS)
        # A dropped column has no slope any more, and with all rows it may matter.
        theta, log_noise = np.maximum(first.log_inverse, _REVIVED), first.log_noise
    else:
        theta, log_noise = start.log_inverse[kept], start.log_noise
    best = minimise(objective(fewer), [theta], steps=steps, log_noise=log_noise)

    def value(theta: Floats) -> float:
        found = _evidence(scaled(theta), fewer, best.log_noise)[0].value
        return found + float(np.exp(theta).sum()) / len(fewer.X)

    best = _without_useless(best, value, task.Y.size)
    log_inverse = np.full(d, LEFT_OUT)
    log_inverse[kept] = best.log_inverse
    return Learned(
        kernel.with_lengths(np.exp(log_inverse) / task.spread),
        best.value,
        log_inverse,
        best.log_noise,
        bool(best.log_inverse.size and np.isclose(best.log_inverse.max(), LOG_LENGTHS).any()),
    )


def _without_useless(best: Minimum, value: Callable[[Floats], float], n_values: int) -> Minimum:
    """The minimum without as many of the columns with the longest length scales as possible."""
    order = np.argsort(best.log_inverse, kind="stable")
    fewer = best
    fewest, most = 0, len(order) - 1  # bounds of the number of columns to drop
    while fewest < most:
        count = (fewest + most + 1) // 2
        theta = best.log_inverse.copy()
        theta[order[:count]] = LEFT_OUT
        found = value(theta)
        if found <= best.value + count / n_values:
            fewest, fewer = count, Minimum(found, theta, best.log_noise)
        else:
            most = count - 1
    return fewer


def _first(kernel: Learner, task: Task) -> float:
    """The log inverse length scale that puts typical rows about one length scale apart."""
    d = max(int(task.columns.sum()), 1)
    return -np.log(d) if kernel.linear else -0.5 * np.log(d)


def _value(kernel: Learner, task: Task, log_noise: float) -> tuple[float, Floats, float]:
    """The evidence and its derivatives by the log inverse length scales and the log noise."""
    result, cross, between = _evidence(kernel, task, log_noise)
    cross *= result.by_cross
    between *= result.by_landmarks
    slopes = kernel.length_slopes(task.X, task.landmarks, cross)
    slopes += kernel.length_slopes(task.landmarks, task.landmarks, between)
    return result.value, slopes, result.by_log_noise


def _evidence(kernel: Learner, task: Task, log_noise: float) -> tuple[Evidence, Floats, Floats]:
    """The evidence, and the kernel between rows and landmarks and between landmarks."""
    cross, between = (kernel.gram(X, task.landmarks) for X in (task.X, task.landmarks))
    return Evidence(cross, between, task.Y, task.root_weight, log_noise), cross, between
