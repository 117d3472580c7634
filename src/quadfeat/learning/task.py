"""Rows and targets to learn a kernel from, the result, and the search."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol, Self

import numpy as np
from scipy.optimize import minimize

from .._display.progress import steps as counted_steps
from .._typing import Floats, Mask

ROWS = 2000  # most rows of the sample to use
SUBSET_ROWS = 8000  # the same, for choosing subsets of columns
LANDMARKS = 256
LOG_LENGTHS = (-8.0, 4.0)  # bounds of the log inverse length scales, in units of the columns
LEFT_OUT = LOG_LENGTHS[0] - 1.0  # that of a dropped column: its factors are 1
_LOG_NOISE = (-18.0, 9.0)  # bounds of the log of noise by signal
_START_NOISE = float(np.log(0.1))
_FIRST_STEPS = 12  # iterations from each start; the best one continues
_STOP = 1e-6  # decrease per step, in nats per row and target


class Learner(Protocol):
    """The protocol of kernels that learn length scales: see `kernels.stationary.GammaKernel`."""

    gamma: Any

    @property
    def linear(self) -> bool: ...

    def with_lengths(self, inverse: Any) -> Self: ...

    def gram(self, X: Floats, Y: Floats) -> Floats: ...

    def length_slopes(self, X: Floats, Y: Floats, weights: Floats) -> Floats: ...


@dataclass(frozen=True, eq=False)
class Task:
    """Rows, targets and weights to learn a kernel from.

    Parameters
    ----------
    X : (n, d) float64, in random order: the first ones are landmarks
    Y : (n, t), targets of similar variance
    weight : (n,), positive
    """

    X: Floats
    Y: Floats
    weight: Floats
    n_landmarks: int = LANDMARKS

    @classmethod
    def of(
        cls,
        X: Floats,
        Y: Floats,
        weight: Floats,
        *,
        n_rows: int = ROWS,
        n_landmarks: int = LANDMARKS,
    ) -> Task:
        """The task for the first rows of a sample, without targets that are constant there."""
        X, Y, weight = X[:n_rows], Y[:n_rows], weight[:n_rows]
        varies = np.ptp(Y, axis=0) > 1e-12 * np.abs(Y).max(axis=0, initial=0.0)
        return cls(X, Y[:, varies], weight, n_landmarks)

    @property
    def can_learn(self) -> bool:
        """Whether rows and targets vary."""
        return bool(self.Y.shape[1] and self.columns.any() and len(self.X) > 2)

    def smaller(self) -> Task:
        """The first thousand rows and half of the landmarks, for a first search."""
        some = slice(ROWS // 2)
        return Task(self.X[some], self.Y[some], self.weight[some], self.n_landmarks // 2)

    @property
    def n_columns(self) -> int:
        """The number of columns that vary."""
        return int(self.columns.sum())

    @cached_property
    def columns(self) -> Mask:
        """Columns that vary."""
        return np.asarray(self.X.std(axis=0) > 1e-12 * np.abs(self.X).max(axis=0, initial=0.0))

    @cached_property
    def spread(self) -> Floats:
        """The standard deviation of each column; 1 for constant ones."""
        return np.where(self.columns, self.X.std(axis=0), 1.0)

    @cached_property
    def root_weight(self) -> Floats:
        return np.sqrt(self.weight / self.weight.mean())

    @cached_property
    def landmarks(self) -> Floats:
        return self.X[: self.n_landmarks]


@dataclass(frozen=True, eq=False)
class Learned:
    """A kernel with numbers, and details of its search.

    Parameters
    ----------
    kernel : Kernel
    value : float, the negative log likelihood per row and target; lower is better
    log_inverse : (d,) log inverse length scales in units of the columns, or one for all
    log_noise : float, log of noise over signal
    at_bound : bool, whether the one length scale, or the shortest, is at a bound
    """

    kernel: Any
    value: float
    log_inverse: Floats
    log_noise: float
    at_bound: bool

    @property
    def useful(self) -> Mask:
        """Columns that were not dropped, (d,)."""
        return np.asarray(self.log_inverse > LEFT_OUT)


@dataclass(frozen=True, eq=False)
class Minimum:
    """The lowest value, and its position."""

    value: float
    log_inverse: Floats
    log_noise: float


Objective = Callable[[Floats, float], tuple[float, Floats, float]]


def minimise(
    objective: Objective,
    starts: list[Floats],
    *,
    steps: int,
    log_noise: float = _START_NOISE,
    bounds: tuple[float | None, float | None] = LOG_LENGTHS,
) -> Minimum:
    """The minimum of L-BFGS-B from several starts: a few steps each, then the best continues."""
    limits = [bounds] * len(starts[0]) + [_LOG_NOISE]
    lowest = [(np.inf, np.append(starts[0], log_noise))]  # a failed line search may end elsewhere

    def function(values: Floats) -> tuple[float, Floats]:
        evaluated.done()
        try:
            found, slopes, by_noise = objective(values[:-1], float(values[-1]))
        except np.linalg.LinAlgError:
            return 1e10, np.zeros_like(values)
        if found < lowest[-1][0]:
            lowest.append((found, values.copy()))
        return found, np.append(slopes, by_noise)

    def run(values: Floats, steps: int) -> tuple[float, Floats]:
        options = {"maxiter": steps, "ftol": _STOP, "maxls": 10}
        result = minimize(
            function, values, jac=True, method="L-BFGS-B", bounds=limits, options=options
        )
        return float(result.fun), result.x

    tried = [np.append(start, log_noise) for start in starts]
    few = steps if len(tried) == 1 else _FIRST_STEPS
    # About one evaluation for each step.
    with counted_steps("learning the kernel", few * len(tried) + steps - few) as evaluated:
        found = [run(values, few) for values in tried]
        if steps > few:
            run(min(found, key=lambda pair: pair[0])[1], steps - few)
    value, where = lowest[-1]
    return Minimum(value, where[:-1], float(where[-1]))
