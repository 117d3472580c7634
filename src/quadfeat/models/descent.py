"""Fits of the squared hinge and logistic losses, by passes of L-BFGS over a stream."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._display.progress import steps
from .._typing import Floats
from ..data.checkpoint import Checkpoint
from ..numerics.factorisations import InPlaceCholesky, factor_raised
from ..numerics.lbfgs import LBFGS
from .losses import LOSSES, Loss, LossSums, Weights, curvature
from .ridge import RidgeFit, ridge_sums
from .stream import Stream
from .tuning import Tried, marked
from .validation import Split

_MAX_PASSES = 1000
_FACTORED_TOLERANCE = 1e-6  # factors have no unique minimum, so more digits are not worth a pass
_TRIAL_PASSES = 100  # passes of a fit that only scores an alpha
_NEARBY = 2.0  # reuse a factor if the penalties differ by less than this ratio


@dataclass(frozen=True, eq=False)
class Objective:
    """The objective: sum_i w_i loss(y_i, f_i) + alpha / 2 |W|^2.

    Parameters
    ----------
    loss : str, a name in `LOSSES`
    weights : Weights, the shape of W, its rank, and whether there is an intercept
    alpha : float
    """

    loss: str
    weights: Weights
    alpha: float


def fit_loss(
    objective: Objective,
    stream: Stream,
    checkpoint: Checkpoint,
    *,
    tolerance: float,
    max_passes: int = _MAX_PASSES,
    curved: Curvature | None = None,
    enough: float = 0.0,
) -> tuple[Floats, Floats, int]:
    """Minimise a loss over a stream: W (p, t), b (t,) and the number of passes.

    Warns if the passes end before the tolerance is reached, unless the predicted further decrease
    is less than the share `enough` of the loss.

    The first metric is the inverse of c Z'WZ + alpha I, c the loss's curvature; `curved` saves
    the pass that it takes. With a rank, the full solution is truncated by its singular value
    decomposition, and the descent continues on the factors, so the loss ends below that of the
    truncated solution.
    """
    low, alpha = objective.weights, objective.alpha
    shape, rank, intercept = low.shape, low.rank, low.intercept
    if curved is None:
        curved = Curvature.of_stream(stream, checkpoint, shape[0], intercept=intercept)
    metric = curved.metric(objective.loss, shape[1], alpha)
    descent = _Descent(
        LOSSES[objective.loss], stream, checkpoint, alpha, tolerance, max_passes, enough
    )
    full = Weights(*shape, rank=None, intercept=intercept)
    theta = checkpoint.lasting.get("full")
    if theta is None:
        start = np.zeros(shape[0] * shape[1] + shape[1] * intercept)
        theta = descent.run("descent", full, start, metric.full(full))
    if rank is None or rank >= min(shape):
        return *full.matrix(theta), descent.passes
    checkpoint.lasting["full"] = theta
    W, b = full.matrix(theta)
    left, values, right = np.linalg.svd(W, full_matrices=False)
    root = np.sqrt(np.maximum(values[:rank], values[0] * 1e-8))
    U, V = left[:, :rank] * root, right[:rank].T * root
    descent.tolerance = max(tolerance, _FACTORED_TOLERANCE)
    theta = descent.run(f"rank {rank}", low, low.join([U, V], b), metric.factored(low, U, V))
    return *low.matrix(theta), descent.passes


class Curvature:
    """The curvature c Z'WZ + alpha I of any loss and alpha, in the memory of one gram.

    Written in the score at the mean row, b + m'W, instead of b, the curvature is block-diagonal:
    that of W from the centred gram, and c times the total weight.
    """

    def __init__(self, cholesky: InPlaceCholesky, mean: Floats, weight: float) -> None:
        self._cholesky, self._mean, self._weight = cholesky, mean, weight

    @classmethod
    def of_stream(
        cls, stream: Stream, checkpoint: Checkpoint, n_columns: int, *, intercept: bool
    ) -> Curvature:
        """The curvature from one pass over a stream, or from the arrays of a checkpoint."""
        lasting = checkpoint.lasting
        if "gram" in lasting:
            gram, mean, weight = lasting["gram"].copy(), lasting["mean"], float(lasting["weight"])
        else:
            sums = ridge_sums(stream, checkpoint, n_columns, 0)
            system = sums.system(intercept=intercept, signs=np.ones(n_columns), copy=False)
            gram, mean, weight = system.gram, system.feature_mean, system.weight
            if checkpoint.active:
                lasting.update(gram=gram.copy(), mean=mean, weight=np.array(weight))
        return cls(InPlaceCholesky(gram), mean, weight)

    @classmethod
    def of_ridge(cls, fit: RidgeFit) -> Curvature:
        """The curvature from a ridge fit of the same rows; overwrites its factor."""
        if fit.cholesky is None:
            raise ValueError("the map has signs; other losses need features without signs")
        return cls(fit.cholesky, fit.system.feature_mean, fit.system.weight)

    def metric(self, name: str, n_scores: int, alpha: float) -> _Metric:
        """The approximate inverse for one loss and alpha; valid until the next call.

        The current factor is reused if its penalty differs by less than 2x: a descent does not need
        the exact inverse, and this saves a factorisation (p^3).
        """
        c = curvature(name, n_scores)
        if not 1 / _NEARBY <= self._cholesky.alpha * c / alpha <= _NEARBY:
            factor_raised(self._cholesky, alpha / c)
        return _Metric(self._cholesky, self._mean, self._weight, c)


class _Metric:
    """The inverse of a loss's curvature, which is c times the factored matrix."""

    def __init__(self, cholesky: InPlaceCholesky, mean: Floats, weight: float, c: float) -> None:
        self._cholesky, self._mean, self._mass, self._c = cholesky, mean, c * weight, c

    def full(self, weights: Weights) -> Callable[[Floats], Floats]:
        """The metric for a gradient in W and b."""

        def apply(gradient: Floats) -> Floats:
            (W,), b = weights.split(gradient)
            if not len(b):
                return weights.join([self._solve(W)], b)
            solved = self._solve(W - np.outer(self._mean, b))
            return weights.join([solved], b / self._mass - self._mean @ solved)

        return apply

    def factored(self, weights: Weights, U: Floats, V: Floats) -> Callable[[Floats], Floats]:
        """The metric for a gradient in the factors of W and b, at U and V."""
        half = self._cholesky.half(U)
        of_u = np.linalg.pinv(V.T @ V)
        of_v = np.linalg.pinv(self._c * (half.T @ half), hermitian=True)

        def apply(gradient: Floats) -> Floats:
            (dU, dV), b = weights.split(gradient)
            return weights.join([self._solve(dU) @ of_u, dV @ of_v], b / self._mass)

        return apply

    def _solve(self, B: Floats) -> Floats:
        return self._cholesky.solve(B) / self._c


@dataclass(eq=False)
class _Descent:
    """Passes of L-BFGS over a stream, each of which a checkpoint can resume."""

    loss: Loss
    stream: Stream
    checkpoint: Checkpoint
    alpha: float
    tolerance: float
    max_passes: int
    enough: float
    passes: int = 0

    def run(
        self, stage: str, weights: Weights, start: Floats, metric: Callable[[Floats], Floats]
    ) -> Floats:
        """The parameters with the lowest loss."""
        descent = LBFGS(start, metric, tolerance=self.tolerance, max_passes=self.max_passes)
        block, resumed = self.checkpoint.resume(stage) or (0, None)
        if resumed is not None:
            descent.restore(resumed)
        with steps("minimising the loss", None) as passes:
            while not descent.done:
                sums = LossSums(self.loss, weights, descent.trial)
                if resumed is not None:
                    sums.restore(resumed)
                self.stream.fold(sums, self.checkpoint, stage, start=block, beside=descent.state)
                block, resumed = 0, None
                value, slope = weights.penalty(descent.trial, self.alpha)
                descent.tell(sums.value + value, sums.gradient + slope)
                passes.reached(descent.share_done)
        self.passes += descent.passes
        reached = descent.converged or descent.shortfall <= self.enough
        if not reached and self.max_passes == _MAX_PASSES:
            warnings.warn(
                f"the loss was not at its minimum after {descent.passes} passes (alpha="
                f"{self.alpha:g}); a larger alpha or standardised columns help",
                ConvergenceWarning,
                stacklevel=7,  # the line that calls `fit`
            )
        return descent.best


def _validation_loss(
    objective: Objective, split: Split, curved: Curvature, tolerance: float
) -> float:
    """The summed loss on the validation rows of a fit on the training rows."""
    weights, validation = objective.weights, split.validation
    W, b, _ = fit_loss(
        objective,
        split.training,
        Checkpoint.none(),
        tolerance=tolerance,
        max_passes=_TRIAL_PASSES,
        curved=curved,
    )
    sums = LossSums(LOSSES[objective.loss], weights, weights.join([W], b))
    sums.add(validation.Z, validation.y, validation.weight)
    return float(sums.value)


def tune_alpha(
    name: str,
    splits: Sequence[Split],
    n_scores: int,
    *,
    intercept: bool,
    alpha: float | None = None,
    tolerance: float = 1e-6,
) -> tuple[float, list[Tried]]:
    """The alpha with the lowest loss on the validation rows of all splits, fitted on the others.

    A penalty does not depend on the number of rows (it is an inverse prior variance), so the best
    one for a sample is used for all rows; it scales with the mean weight of a distinct x. If an
    alpha is given, it is the only one that is scored.
    """
    first = splits[0]
    weights = Weights(first.training.Z.shape[1], n_scores, rank=None, intercept=intercept)
    curved = [
        Curvature.of_stream(s.training, Checkpoint.none(), weights.shape[0], intercept=intercept)
        for s in splits
    ]
    total = sum(split.validation.mass.sum() for split in splits)
    tried: list[Tried] = []
    alphas = [first.scale * 10.0**exponent for exponent in range(1, -5, -1)]
    values = alphas if alpha is None else [alpha]
    works = [1.0 + i for i in range(len(values))]  # small penalties take more passes
    with steps("choosing the penalty", works) as scored:
        for value in values:
            objective = Objective(name, weights, value)
            losses = [
                _validation_loss(objective, split, curvature, tolerance)
                for split, curvature in zip(splits, curved, strict=True)
            ]
            mean = float(sum(losses) / total)
            tried.append(Tried("alpha", value, mean, f"mean {name} loss of validation rows"))
            scored.done()
            if mean > 1.02 * min(trial.score for trial in tried):
                break
    best = min(range(len(tried)), key=lambda i: tried[i].score)
    ends = None if alpha is not None else (alphas[0], alphas[-1])
    return (alphas[best] if alpha is None else alpha), marked(tried, tried[best], ends)
