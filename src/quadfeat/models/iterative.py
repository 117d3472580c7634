"""Ridge regression without the gram: each step is a pass over the rows that extends a subspace."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._typing import Floats, Matrix
from ..data.checkpoint import Checkpoint
from ..data.sampling import Keys, SampledRows, row_keys
from ..maps.base import FeatureMap
from ..numerics.blas import product
from ..numerics.factorisations import InPlaceCholesky, factor_raised
from ..numerics.galerkin import Projected, Space
from .iterative_sums import ImageSums, IterativeSystem, TargetSums
from .ridge_sums import NormalSums, narrowed
from .stream import Rows, Stream
from .tuning import Tried, best, penalties

Score = Callable[[Floats], float]  # of predictions for the held-out rows; lower is better

_MOST_PASSES = 100
_NEAR_ROWS, _NEAR_BYTES = 4096, 2**30  # limits of the preconditioner
_SPACE = 2**25  # numbers in the vectors of the subspace; there are three arrays of that size
_HELD_OUT, _MOST_HELD = 5, 3000  # at most every fifth x of the sample, and at most about so many
_FEWEST = 10  # distinct x
# How far the objective may be above its minimum, as a share of the squared error of held-out rows
# (or of the objective, if that is larger): while alpha is chosen, and at the end. On MNIST
# accuracies do not change below 0.1.
_CHOICE = 1e-1
_TOLERANCE = {"float32": 1e-2, "float64": 1e-8}
# This share of the squares of the targets may remain too: rounding does not allow less.
_ROUNDING = {"float32": 1e-6, "float64": 1e-13}
_BUFFER = 2**25  # bytes of features of held-out rows at a time
_CRITERION = "held-out rows"
_TIE = 0.01  # scores within this count as equal; larger alphas need fewer steps


@dataclass(frozen=True, eq=False)
class HeldOut:
    """Validation rows for the choice of alpha; afterwards they become training rows.

    Parameters
    ----------
    X : (h, d)
    rows : Rows, their targets and weights, without features
    keys : sorted keys of their x; all rows with an equal x are held out too
    targets : (h, t), those of a ridge regression
    """

    X: Matrix
    rows: Rows
    keys: Keys
    targets: Floats


def which_held_out(X: Matrix) -> Any:
    """Which rows of a sample are held out, (n,) bool: all or none of those with equal x."""
    keys = row_keys(X)
    distinct = np.unique(keys)
    if len(distinct) < _FEWEST:
        raise ValueError(
            f"solver='iterative' holds rows out, so it needs at least {_FEWEST} distinct rows of "
            f"X, and there are {len(distinct)}; solver='products' takes any number"
        )
    step = max(_HELD_OUT, len(distinct) // _MOST_HELD)
    return np.isin(keys, distinct[::step])


class RowPreconditioner:
    """About (Z'Z + s I)^-1 for m rows Z that represent all rows, by Woodbury's formula.

    Directions that the rows do not span have eigenvalues up to about trace / m; s = alpha + trace /
    (4 m) lies among them: after 14 steps the error was .003 instead of .28 with s = alpha (MNIST,
    1536 columns). With all rows s = alpha. A factor is reused for s within a factor of 2.

    Parameters
    ----------
    Z : (m, p) centred features, each times the root of its share of the weight; kept
    every : bool, whether these are all rows
    """

    def __init__(self, Z: Matrix, *, every: bool) -> None:
        sums = NormalSums(len(Z), 0)
        sums.add(Z.T, np.empty((Z.shape[1], 0)))
        self._Z, self._cholesky = Z, InPlaceCholesky(sums.gram)
        self._more = 0.0 if every else float(self._cholesky.diagonal.sum()) / (4 * len(Z))
        self._shift = 0.0  # of the factor

    def __call__(self, alpha: float, vectors: Floats) -> Floats:
        """The matrix times vectors (p, t)."""
        wanted = alpha + self._more
        if not self._shift / 2 < wanted < 2 * self._shift:
            self._shift = factor_raised(self._cholesky, wanted)
        narrow, unit = narrowed(vectors, self._Z.dtype)
        inner = self._cholesky.solve(product(self._Z, narrow).astype(np.float64))
        back = product(self._Z.T, inner.astype(self._Z.dtype)) * unit
        return np.asarray((vectors - back) / self._shift)


@dataclass(frozen=True, eq=False)
class IterativeFit:
    """The result of the iterative solver.

    Parameters
    ----------
    coefficients : (p, t)
    intercept : (t,)
    alpha : float
    tried : list of Tried
    left_out : (h, t), predictions for the held-out rows by a fit to all others
    n_passes : int
    """

    coefficients: Floats
    intercept: Floats
    alpha: float
    tried: list[Tried]
    left_out: Floats
    n_passes: int


class IterativeRidge:
    """A ridge regression that reads the rows once per step.

    Parameters
    ----------
    stream : Stream, of targets (n, t) and a column that marks held-out rows
    features : FeatureMap, fitted
    held_out : HeldOut
    intercept : bool
    dtype : of the features
    """

    def __init__(
        self,
        stream: Stream,
        features: FeatureMap,
        held_out: HeldOut,
        *,
        intercept: bool,
        dtype: Any,
    ) -> None:
        self._stream, self._features, self._held_out = stream, features, held_out
        self._dtype = np.dtype(dtype)
        sums = TargetSums(features.n_columns_, held_out.targets.shape[1])
        stream.fold(sums, Checkpoint.none(), "sums")
        self._training, self._whole = (
            IterativeSystem.of(sums, n_groups, intercept=intercept) for n_groups in (1, 2)
        )
        self._means = sums.means(intercept=intercept)
        self._space = Space(features.n_columns_, 2)
        self._scores = np.empty((len(held_out.X), 0))  # centred features times vectors
        self._before = np.zeros_like(self._whole.cross)  # the last solution but one
        self._error = np.zeros(held_out.targets.shape[1])  # squared, of held-out rows
        self._n_passes = 1

    def fit(
        self, alpha: Any, sample: SampledRows, score: Score | None, *, every: bool
    ) -> IterativeFit:
        """Choose alpha on the held-out rows, then continue with all rows.

        Parameters
        ----------
        alpha : float, several, or "auto"
        sample : SampledRows, for the preconditioner
        score : function of predictions for the held-out rows, None for the squared error
        every : bool, whether the sample has all rows
        """
        near = self._preconditioner(sample, every=every)
        word = isinstance(alpha, str)
        alphas = penalties(self._training.scale, np.float32) if word else np.atleast_1d(alpha)
        alphas = np.sort(alphas.astype(np.float64))
        chosen, tried, left_out = 0, list[Tried](), np.empty(0)

        def score_all(projected: Projected) -> int:
            """Score all alphas; the next one to solve is the one below the best."""
            nonlocal chosen, tried, left_out
            solutions = [self._predicted(projected.at(value)) for value in alphas]
            if len(alphas) > 1:
                scores = np.array([self._score(each, score) for each in solutions])
                value, tried = best(alphas, scores, _CRITERION, tie=_TIE)
                chosen = int(np.flatnonzero(alphas == value)[0])
            left_out = solutions[chosen]
            self._error = np.average(
                np.square(left_out - self._held_out.targets),
                axis=0,
                weights=self._held_out.rows.mass,
            )
            # A smaller alpha needs more steps, so the best one so far may only be the best one
            # solved.
            return max((chosen if self._space.size else len(alphas) // 2) - 1, 0)

        self._solved(self._training, near, alphas, score_all, _CHOICE)
        value = alphas[[chosen]]
        tolerance = _TOLERANCE[self._dtype.name]
        y, gap = self._solved(self._whole, near, value, lambda _: 0, tolerance)
        if gap > tolerance:
            warnings.warn(
                f"the iterative solver stopped after {self._n_passes} passes; its objective is "
                f"above the minimum by about {gap:.2g} of the squared error, more than "
                f"{tolerance:g}: alpha={value[0]:.3g} is small compared with the trace of the "
                f"gram, {self._whole.scale:.3g}; a larger alpha needs fewer passes",
                ConvergenceWarning,
                stacklevel=2,
            )
        coefficients = self._space.vectors @ y
        intercept = self._whole.target_mean - self._whole.feature_mean @ coefficients
        return IterativeFit(
            coefficients, intercept, float(value[0]), tried, left_out, self._n_passes
        )

    def _preconditioner(self, sample: SampledRows, *, every: bool) -> RowPreconditioner:
        p = len(self._means[0])
        m = min(_NEAR_ROWS, max(1, p // 2), max(1, _NEAR_BYTES // (p * self._dtype.itemsize)))
        every = every and len(sample.X) <= m
        sample = sample if len(sample.X) <= m else sample.at(slice(m))
        mass = sample.weight / sample.share
        Z = np.empty((len(sample.X), p), dtype=self._dtype)
        self._features.write(sample.X, Z)
        Z -= self._whole.feature_mean.astype(Z.dtype)
        Z *= np.sqrt(mass * (self._whole.weight / mass.sum())).astype(Z.dtype)[:, None]
        return RowPreconditioner(Z, every=every)

    def _solved(
        self,
        system: IterativeSystem,
        near: RowPreconditioner,
        alphas: Floats,
        choose: Callable[[Projected], int],
        tolerance: float,
    ) -> tuple[Floats, float]:
        """Extend the subspace until the chosen alpha is solved: y (k, t), and its error."""
        energies: list[Floats] = []
        limit = self._n_passes + _MOST_PASSES // 2
        while True:
            space = self._space
            right = space.vectors.T @ system.cross
            projected = Projected(system.gram(space), space.overlap, right)
            chosen = choose(projected)
            alpha = float(alphas[chosen])
            y = projected.at(alpha)
            solution = space.vectors @ y
            residual = system.cross - system.image(space, y) - alpha * solution
            energies.append(np.array([projected.energy(value) for value in alphas]))
            gap = self._gap(system, [each[chosen] for each in energies], residual, alpha)
            if gap <= tolerance or self._n_passes >= limit:
                return y, gap
            if not self._grown(np.hstack([near(alpha, residual), residual]), solution):
                return y, gap

    def _gap(
        self, system: IterativeSystem, energies: list[Floats], residual: Floats, alpha: float
    ) -> float:
        """How far the objective is above its minimum, as a share; the largest over targets.

        The energy r'(G + alpha I)^-1 r of the residual is at most r'r / alpha; it is also the total
        gain of all further steps, extrapolated from the last two.
        """
        square = system.target_square
        left = np.maximum(square - energies[-1], _ROUNDING[self._dtype.name] * square)
        left = np.maximum(left, system.weight * self._error)
        gap = (residual**2).sum(axis=0) / alpha
        if len(energies) > 2:
            gained, before = (energies[i] - energies[i - 1] for i in (-1, -2))
            rate = np.clip(gained / np.where(before > 0, before, 1.0), 0.2, 0.9)
            gap = np.minimum(gap, np.maximum(gained, 0.0) * rate / (1 - rate))
        return float((gap / np.where(left > 0, left, 1.0)).max())

    def _grown(self, directions: Floats, solution: Floats) -> bool:
        """Add directions (p, s) to the subspace by a pass over the rows; False if none is new."""
        space = self._space
        new = space.outside(directions, self._dtype)
        if not new.shape[1]:
            return False
        kept = 2 * solution.shape[1] + new.shape[1]
        if space.vectors.size + new.size > _SPACE and space.size > kept:
            # Conjugate gradients continue from the last two solutions; the last vectors help.
            last = np.eye(space.size)[:, -new.shape[1] :]
            solutions = space.vectors.T @ np.hstack([solution, self._before])
            space.replace(np.hstack([solutions, last]))
            self._scores = np.empty((len(self._scores), 0))
        sums = ImageSums(new, self._means)
        self._stream.fold(sums, Checkpoint.none(), "iterative")
        self._before = solution
        space.extend(new, sums.centred)
        self._n_passes += 1
        return True

    def _predicted(self, y: Floats) -> Floats:
        """Predictions (h, t) for the held-out rows from the equations of the training rows."""
        known, space = self._scores.shape[1], self._space
        if known < space.size:
            vectors, X = space.vectors[:, known:], self._held_out.X
            moved = self._training.feature_mean @ vectors
            narrow = vectors.astype(self._dtype)
            rows = max(1, _BUFFER // (len(vectors) * self._dtype.itemsize))
            Z = np.empty((rows, len(vectors)), dtype=self._dtype)
            parts = [np.empty((0, len(moved)))]
            for first in range(0, len(X), rows):
                some = X[first : first + rows]
                self._features.write(some, Z[: len(some)])
                parts.append(product(Z[: len(some)], narrow) - moved)
            self._scores = np.hstack([self._scores, np.concatenate(parts)])
        return np.asarray(self._training.target_mean + self._scores @ y)

    def _score(self, predicted: Floats, score: Score | None) -> float:
        if score is not None:
            return score(predicted)
        squares = np.square(predicted - self._held_out.targets) / self._training.units
        return float(np.average(squares.sum(axis=1), weights=self._held_out.rows.mass))
