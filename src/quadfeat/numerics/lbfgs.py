"""L-BFGS that requests one value and gradient at a time; its state can be stored."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import numpy as np

from .._typing import Floats

_PAIRS = (10, 100)  # fewest and most pairs of a step and a gradient change to keep
_PAIR_VALUES = 10**6  # most numbers in the pairs, if more than the fewest are kept
_DECREASE = 1e-4  # a step must reach this share of the predicted decrease
_ROUNDING = 64 * float(np.finfo(float).eps)
_STALLED = 1e-9  # a stall with a predicted decrease below this share of the value has converged
_SHORTEST = 1e-6  # at smaller steps the cause is noise in the gradient, not the direction


class LBFGS:
    """Minimises a smooth function whose value and gradient each take a pass over the data.

    Compute value and gradient at `trial`, pass them to `tell`, and repeat until `done`. The first
    metric is the caller's `precondition`, scaled as Nocedal (1980) does; steps are halved, or cut
    to the minimum of a parabola, until the decrease is enough (Armijo). `state` holds everything,
    so a run that was stored and restored ends with the same bits.

    Parameters
    ----------
    start : (m,) array
    precondition : function of a (m,) gradient, about the inverse Hessian times it
    tolerance : float
        Done when the decrease predicted by the quadratic model is below this share of the value.
    max_passes : int, the most calls of `tell`
    """

    def __init__(
        self,
        start: Floats,
        precondition: Callable[[Floats], Floats],
        *,
        tolerance: float,
        max_passes: int,
    ) -> None:
        self._precondition, self._tolerance, self._max_passes = precondition, tolerance, max_passes
        self._memory = int(np.clip(_PAIR_VALUES // max(len(start), 1), *_PAIRS))
        self.trial = start.copy()
        self.best = start.copy()
        self.value = np.inf
        self.passes = 0
        self.done = False
        self.converged = False
        self._share_done = self._first = 0.0
        self._gradient: Floats = np.zeros_like(start)
        self._direction: Floats = np.zeros_like(start)
        self._slope = 0.0
        self._step = 1.0
        self._steps: list[Floats] = []
        self._changes: list[Floats] = []

    @property
    def shortfall(self) -> float:
        """The decrease that the quadratic model still predicts, as a share of the value."""
        return -0.5 * self._slope / max(abs(self.value), np.finfo(float).tiny)

    @property
    def share_done(self) -> float:
        """The share of the passes that are done, an estimate that only grows.

        The progress of the logarithm of the predicted decrease towards the tolerance, to the power
        1.5 because it falls faster at the start; or the share of `max_passes`, if that is larger.
        """
        return self._share_done

    def tell(self, value: float, gradient: Floats) -> None:
        """Take the value and gradient at `trial`; set the next `trial`, or `done`."""
        self.passes += 1
        if self.passes == 1 or self._is_lower(value, gradient):
            self._accept(value, gradient)
        else:
            self._shorten(value)
        if self.passes >= self._max_passes:
            self.done = True
        self._share_done = 1.0 if self.done else max(self._share_done, self._way())
        self.trial = self.best + self._step * self._direction

    def _way(self) -> float:
        """The progress, by the predicted decrease and by the number of passes."""
        self._first = max(self._first, self.shortfall)
        way = 0.0
        if 0 < self._tolerance < self.shortfall < self._first:
            way = np.log(self._first / self.shortfall) / np.log(self._first / self._tolerance)
        return max(float(way) ** 1.5, self.passes / self._max_passes)

    def _is_lower(self, value: float, gradient: Floats) -> bool:
        if value <= self.value + _DECREASE * self._step * self._slope:
            return True
        # If values differ only by rounding, slopes still decide (Hager and Zhang 2005).
        level = value <= self.value + _ROUNDING * abs(self.value)
        return level and float(gradient @ self._direction) <= (2 * _DECREASE - 1) * self._slope

    def _accept(self, value: float, gradient: Floats) -> None:
        step, change = self.trial - self.best, gradient - self._gradient
        curved = step @ change > 1e-14 * (change @ change) ** 0.5 * (step @ step) ** 0.5
        if self.passes > 1 and curved and change @ change > np.finfo(change.dtype).tiny:
            self._steps = [*self._steps, step][-self._memory :]
            self._changes = [*self._changes, change][-self._memory :]
        self.best, self.value, self._gradient = self.trial, value, gradient
        self._direction = -self._metric(gradient)
        self._slope = float(self._direction @ gradient)
        self._step = 1.0
        if -0.5 * self._slope <= self._tolerance * abs(value):
            self.done = self.converged = True

    def _shorten(self, value: float) -> None:
        excess = value - self.value - self._step * self._slope
        tenth = 0.1 * self._step
        parabola = -0.5 * self._slope * self._step**2 / excess if np.isfinite(excess) else tenth
        # Before the first pair and without a preconditioner, only the parabola gives the scale of a
        # step.
        least = tenth if self._steps else 0.0
        self._step = float(np.clip(parabola, least, 0.5 * self._step))
        if self._steps and self._step < _SHORTEST:
            self.done = True
            noise = max(1e3 * self._tolerance, _STALLED)
            self.converged = -0.5 * self._slope <= noise * abs(self.value)

    def _metric(self, gradient: Floats) -> Floats:
        """The two loops of Nocedal (1980)."""
        q, kept = gradient.copy(), []
        for step, change in zip(reversed(self._steps), reversed(self._changes), strict=True):
            share = (step @ q) / (step @ change)
            q -= share * change
            kept.append(share)
        r = self._precondition(q)
        if self._steps:
            step, change = self._steps[-1], self._changes[-1]
            r = r * ((step @ change) / (change @ self._precondition(change)))
        for step, change, share in zip(self._steps, self._changes, reversed(kept), strict=True):
            r = r + (share - (change @ r) / (step @ change)) * step
        return r

    def state(self) -> dict[str, Any]:
        """All arrays that `restore` needs."""
        numbers = [self.value, self._slope, self._step, self.passes, self.done, self.converged]
        return {
            "numbers": np.array(numbers, dtype=np.float64),
            "vectors": np.stack([self.trial, self.best, self._gradient, self._direction]),
            "pairs": np.array([*self._steps, *self._changes]).reshape(-1, len(self.best)),
        }

    def restore(self, state: dict[str, Any]) -> Self:
        """Continue from a `state`, with the preconditioner of this object."""
        self.value, self._slope, self._step = (float(x) for x in state["numbers"][:3])
        self.passes = int(state["numbers"][3])
        self.done, self.converged = (bool(x) for x in state["numbers"][4:])
        self.trial, self.best, self._gradient, self._direction = state["vectors"].copy()
        half = len(state["pairs"]) // 2
        self._steps, self._changes = list(state["pairs"][:half]), list(state["pairs"][half:])
        return self
