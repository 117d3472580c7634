"""Ridge regression on a lattice: conjugate gradients with FFT products, from `ToeplitzSums`."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._checks import require
from .._typing import Floats, Matrix, Modes
from ..maps.lattice import Lattice
from ..numerics.toeplitz import (
    Diagonal,
    Kronecker,
    Preconditioner,
    Solved,
    Toeplitz,
    conjugate_gradients,
    dot,
    log_determinant,
)
from .prediction_bound import FitSize
from .ridge_sums import CANCELLED
from .toeplitz_sums import ToeplitzSums
from .tuning import Tried, best, penalties

TOLERANCE = 1e-8  # error of a solution, in the norm of its matrix
_MOST_STEPS = 5000
_LONGEST_AXIS = 512  # up to so many nodes the eigenvectors of an axis are cheap
_PROBES = 4  # random vectors, for log-determinants and traces
_LANCZOS = 25  # steps; 10 give four digits after preconditioning by marginals
_TUNING_TOLERANCE = 1e-4  # sums of squares have the square of this error
MOST_STD_ROWS = 1000
_STD_TOLERANCE = 1e-3  # a variance has the square of this error
_STD_WORK = 2**22  # modes of all rows that are solved at a time


class ToeplitzSystem:
    """The equations (R T R - W mu mu^H + alpha I) u = c of a ridge regression, in modes.

    R are the roots of the lattice, mu the mean of the modes (0 without an intercept). The
    preconditioner is the matrix for independent columns of X and a kernel that is a product over
    axes: a Kronecker product (20 steps instead of 3,400 by the diagonal for 1e7 uniform rows and
    alpha = 1 in 2 axes; 1,100 for an isotropic kernel). If an axis is long, it is the diagonal.

    Parameters
    ----------
    sums : ToeplitzSums, not modified
    lattice : Lattice
    intercept : bool
    distinct_share : float, effective number of distinct rows / that of all rows
    """

    def __init__(
        self, sums: ToeplitzSums, lattice: Lattice, *, intercept: bool, distinct_share: float
    ) -> None:
        self.lattice, self.intercept = lattice, intercept
        self.weight, self.n_rows = sums.weight, distinct_share * sums.n_rows
        self._toeplitz, self._roots = Toeplitz(sums.generator), lattice.roots
        self.target_square = sums.target_square
        self.target_mean = np.zeros(len(sums.cross))
        self.feature_mean: Modes = np.zeros_like(sums.feature_sum)
        cross = sums.cross
        if intercept:
            self.feature_mean = self._roots * sums.feature_sum / sums.weight
            self.target_mean = sums.target_sum / sums.weight
            cross = cross - np.multiply.outer(self.target_mean, sums.feature_sum)
            centred = self.target_square - self.target_mean * sums.target_sum
            constant = centred <= CANCELLED * self.target_square
            self.target_square = np.where(constant, 0.0, centred)
        self.cross = cross * self._roots
        diagonal = sums.weight * (self._roots**2 - np.abs(self.feature_mean) ** 2)
        self._diagonal = np.maximum(diagonal, 0.0)

    @property
    def size(self) -> int:
        """Modes."""
        return self._roots.size

    @property
    def scale(self) -> float:
        """The trace of the gram, the scale of penalties; 1 if it is 0."""
        return float(self._diagonal.sum()) or 1.0

    @property
    def mean_weight(self) -> float:
        """The mean weight of a distinct row, the unit of weights and penalties."""
        return self.weight / self.n_rows

    def product(self, alpha: float) -> Callable[[Modes], Modes]:
        """The matrix times vectors (t, *shape)."""
        mean = self.feature_mean[None]

        def multiply(vectors: Modes) -> Modes:
            image = self._roots * self._toeplitz(self._roots * vectors) + alpha * vectors
            if self.intercept:
                axes = tuple(range(1, vectors.ndim))
                share = (mean.conj() * vectors).sum(axis=axes, keepdims=True)
                image -= self.weight * share * mean
            return image

        return multiply

    @functools.cached_property
    def _marginals(self) -> Kronecker | None:
        if max(self.lattice.shape) > _LONGEST_AXIS:
            return None
        factors = [
            self._toeplitz.marginal(i) * np.outer(roots, roots) / (self.weight if i else 1.0)
            for i, roots in enumerate(self.lattice.axis_roots)
        ]
        return Kronecker(factors, 1.0)

    def near(self, alpha: float) -> Preconditioner:
        """The preconditioner."""
        if self._marginals is None:
            return Diagonal(self._diagonal + alpha)
        return self._marginals.shifted(alpha)

    def solve(
        self, alpha: float, right: Modes, tolerance: float = TOLERANCE, start: Modes | None = None
    ) -> Solved:
        """The solution for right-hand sides (t, *shape)."""
        return conjugate_gradients(
            self.product(alpha),
            right,
            self.near(alpha),
            tolerance=tolerance,
            most_steps=_MOST_STEPS,
            start=start,
        )

    @functools.cached_property
    def _probes(self) -> Modes:
        size = self.lattice.n_map_columns, _PROBES
        signs = np.random.default_rng(0).choice([-1.0, 1.0], size)
        return self.lattice.modes(signs)

    def evidence(self, alpha: float, solution: Modes) -> float:
        """`RidgePath.evidence`, with an estimated log-determinant."""
        determinant, _ = log_determinant(
            self.product(alpha), self.near(alpha), self._probes, _LANCZOS
        )
        # Modes that are not columns have weight 0, and so add log alpha.
        volume = determinant - self.size * np.log(alpha)
        total = self.target_square
        left = np.maximum(total - dot(self.cross, solution), np.finfo(float).eps * total)
        mean = np.log(np.maximum(left / self.weight, np.finfo(float).tiny)).mean()
        return float(np.exp(mean + volume / max(self.n_rows - self.intercept, 1.0)))

    def freedom(self, alpha: float) -> float:
        """The trace of the hat matrix, estimated from random vectors; an intercept adds 1."""
        near, probes = self.near(alpha), self._probes
        solved = self.solve(alpha, probes, _STD_TOLERANCE).solution
        # The trace of the preconditioner's inverse is known: only the difference is estimated.
        gap = float((dot(probes, solved) - dot(probes, near.power(probes, -1.0))).mean())
        columns = near.inverse_trace() + gap
        return self.size - alpha * columns + self.intercept

    def squares(self, alpha: float, solution: Modes) -> Floats:
        """The weighted sum of squared residuals of each target, (t,)."""
        total = self.target_square
        left = total - dot(self.cross, solution) - alpha * dot(solution, solution)
        return np.maximum(left, np.finfo(float).eps * total)


@dataclass(frozen=True, eq=False)
class ToeplitzFit:
    """A solved system: modes (t, *shape) of the coefficients, the penalty, and `tried`."""

    system: ToeplitzSystem
    alpha: float
    tried: list[Tried]
    solved: Solved

    @property
    def intercept(self) -> Floats:
        """(t,)"""
        mean = np.broadcast_to(self.system.feature_mean, self.solved.solution.shape)
        return self.system.target_mean - dot(mean, self.solved.solution)

    def noise(self) -> Floats:
        """RSS / (n - df) of each target, as `noise_variance`, df estimated."""
        system = self.system
        left = max(system.n_rows - system.freedom(self.alpha), 1.0)
        return system.squares(self.alpha, self.solved.solution) / (left * system.mean_weight)


def fit_toeplitz(system: ToeplitzSystem, alpha: Any) -> ToeplitzFit:
    """Choose alpha and solve; of several, the one with the highest estimated likelihood.

    By pattern search from the middle, because each alpha needs its own conjugate gradients.
    """
    word = isinstance(alpha, str)
    alphas = penalties(system.scale, np.float64) if word else np.atleast_1d(alpha)
    alphas = np.sort(alphas.astype(np.float64))
    solutions: dict[int, Solved] = {}
    scores: dict[int, float] = {}

    def score(i: int) -> float:
        if i not in scores:
            nearest = min(solutions, key=lambda j: abs(i - j), default=None)
            start = None if nearest is None else solutions[nearest].solution
            solutions[i] = system.solve(
                float(alphas[i]), system.cross, _TUNING_TOLERANCE, start=start
            )
            scores[i] = system.evidence(float(alphas[i]), solutions[i].solution)
        return scores[i]

    tried: list[Tried] = []
    chosen = float(alphas[0])
    if len(alphas) > 1:
        i, step = len(alphas) // 2, max(1, min(4, len(alphas) // 2))
        while step:
            beside = [j for j in (i - step, i + step) if 0 <= j < len(alphas)]
            lower = [j for j in beside if score(j) < score(i)]
            i, step = (min(lower, key=score), step) if lower else (i, step // 2)
        known = sorted(scores)
        values = np.array([scores[j] for j in known])
        ends = (float(alphas[0]), float(alphas[-1]))
        chosen, tried = best(alphas[known], values, "estimated likelihood", ends)
    position = int(np.flatnonzero(alphas == chosen)[0])
    start = solutions[position].solution if tried else None
    solved = system.solve(chosen, system.cross, start=start)
    if solved.error > TOLERANCE:
        warnings.warn(
            f"conjugate gradients stopped after {solved.steps} steps with an error of "
            f"{solved.error:.2g} of the solution, above {TOLERANCE:g}: alpha={chosen:.3g} is "
            f"small compared with the trace of the gram, {system.scale:.3g}; a larger alpha needs "
            f"fewer steps",
            ConvergenceWarning,
            stacklevel=2,
        )
    return ToeplitzFit(system, chosen, tried, solved)


@dataclass(frozen=True, eq=False)
class ToeplitzPosterior:
    """What standard deviations and bounds of predictions need: the sums and their solution.

    `sums` and `alpha` are those of the fit, `unit` is the mean weight of a distinct row, `squares`
    (t,) are those of the residuals, `residual` (t,) are the solver's residuals.
    """

    sums: ToeplitzSums
    alpha: float
    unit: float
    intercept: bool
    squares: Floats
    residual: Floats

    def check(self) -> None:
        """Raise a ValueError if the parts of a loaded posterior are out of range."""
        require(self.alpha > 0 and self.unit > 0, "a penalty or weight is not positive")
        t = (len(self.sums.cross),)
        require(self.squares.shape == self.residual.shape == t, "there is not one per target")

    def size(self, noise: Floats) -> FitSize:
        """The numbers for a bound of predictions; `noise` (t,) is that of a distinct row."""
        unit, weight = self.unit * noise, self.sums.weight
        return FitSize(weight, unit, self.squares, self.residual, self.alpha, self.intercept)

    def box(self, rows: Floats) -> Floats:
        """Sides of the box around training rows and these, in the columns of the lattice."""
        low = np.minimum(self.sums.low, rows.min(axis=0, initial=np.inf))
        return np.maximum(self.sums.high, rows.max(axis=0, initial=-np.inf)) - low

    def deviations(self, lattice: Lattice, rows: Matrix) -> Floats:
        """Standard deviation of f / that of the noise, at rows of the lattice's columns, (n,).

        A solve for each row, exact to about 1e-6.
        """
        system = ToeplitzSystem(self.sums, lattice, intercept=self.intercept, distinct_share=1.0)
        some = max(1, _STD_WORK // system.size)
        squares = [np.empty(0)]
        for start in range(0, len(rows), some):
            centred = lattice.features_of(rows[start : start + some]) - system.feature_mean
            solved = system.solve(self.alpha, centred, _STD_TOLERANCE)
            squares.append(dot(centred, solved.solution))
        leverage = 1 / system.weight if self.intercept else 0.0
        return np.sqrt(self.unit * (np.concatenate(squares) + leverage))
