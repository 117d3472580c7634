"""Ridge regression from its sums: penalty, coefficients, noise."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats, Matrix
from ..data.checkpoint import Checkpoint
from ..numerics.factorisations import InPlaceCholesky, factor_raised, norms
from .ridge_path import MAX_LEVERAGE, MAX_PATH, RidgePath
from .ridge_sums import NormalSums, RidgeSystem
from .stream import Rows, Stream, fold
from .tuning import Tried, best, penalties

_CANCELLED = 1e-13  # share of the total squares below which those of the residuals are rounding


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """A solved ridge system."""

    coefficients: Floats  # (p, t)
    intercept: Floats  # (t,)
    alpha: float
    tried: list[Tried]
    system: RidgeSystem
    freedom: float | None  # degrees of freedom, where the path knows them
    cholesky: InPlaceCholesky | None  # of gram + alpha I; None for signed maps

    def left_out(self, rows: Rows) -> Floats:
        """What is predicted for rows of the fit when each x is left out in turn, (n, t)."""
        groups = rows.grouped()
        centred = np.asarray(groups.Z, dtype=np.float64) - self.system.feature_mean
        fitted = centred @ self.coefficients + self.system.target_mean
        if self.cholesky is None:
            return rows.expanded(fitted)
        leverage = (self.cholesky.norms(centred) + self.system.intercept_leverage)[:, None]
        if groups.left is not None:
            leverage *= groups.left[:, None]
        leverage = np.minimum(leverage, MAX_LEVERAGE)
        return rows.expanded(np.asarray(groups.y - (groups.y - fitted) / (1 - leverage)))


Judge = Callable[[Floats], float]  # of what is predicted for the rows of a sample; less is better


@dataclass(frozen=True, eq=False)
class Posterior:
    """What deviations of predictions need: (p, p) with the root L' of G + alpha I above.

    Both are of weights whose mean over the distinct rows is 1.
    """

    root: Floats
    feature_mean: Floats
    intercept_leverage: float

    @classmethod
    def of(cls, fit: RidgeFit) -> Posterior | None:
        """The posterior of a fit; None for signed maps and above 8192 columns."""
        if fit.cholesky is None or len(fit.coefficients) > MAX_PATH:
            return None
        system = fit.system
        root, unit = fit.cholesky.root, system.mean_weight
        if unit != 1.0:
            root /= np.sqrt(unit)
        return cls(root, system.feature_mean, system.intercept_leverage * unit)

    def deviations(self, Z: Matrix) -> Floats:
        """The deviation of f at rows of features, (n,), in units of the noise's."""
        centred = np.asarray(Z, dtype=np.float64) - self.feature_mean
        return np.sqrt(norms(self.root, centred) + self.intercept_leverage)


def ridge_sums(
    stream: Stream, checkpoint: Checkpoint, n_columns: int, n_targets: int
) -> NormalSums:
    """The sums of a whole stream, from its beginning or from where a checkpoint left off."""
    resumed = checkpoint.resume("sums")
    start, sums = 0, NormalSums(n_columns, n_targets)
    if resumed is not None:
        start, sums = resumed[0], NormalSums.from_state(resumed[1])
    fold(stream, sums, checkpoint, "sums", start=start)
    return sums


def fit_ridge(
    system: RidgeSystem,
    alpha: Any,
    dtype: Any,
    sample: Rows,
    judge: Judge | None = None,
) -> RidgeFit:
    """Choose alpha and solve; `system` is overwritten.

    Of several alphas the best is chosen by `judge`, from what is predicted for the rows of the
    sample when each is left out in turn, with all of its copies. Without one the squared error
    decides, or the likelihood of all rows where a sample would not stand for them. Above 8192
    columns an alpha takes a factorisation, and the sample always judges.
    """
    p, signed = len(system.gram), bool((system.signs < 0).any())
    alphas = penalties(system.scale, dtype) if isinstance(alpha, str) else np.atleast_1d(alpha)
    tried: list[Tried] = []
    path = freedom = None
    if len(alphas) > 1 and p > MAX_PATH and not signed:
        alpha, tried = _search_wide(system, alphas, sample, judge)
    elif len(alphas) > 1 or signed:
        path = RidgePath(system)
        if len(alphas) > 1:
            alpha, tried = _judge_path(path, alphas, sample, judge)
            freedom = path.freedom(alpha)
    alpha = float(alpha if tried else alphas[0])
    cholesky = None
    if signed and path is not None:
        coefficients = path.weights(alpha)
    else:
        cholesky = InPlaceCholesky(system.gram)
        _factor(cholesky, alpha, system, dtype)
        coefficients = cholesky.solve(system.cross)
    intercept = system.target_mean - system.feature_mean @ coefficients
    return RidgeFit(coefficients, intercept, alpha, tried, system, freedom, cholesky)


def _factor(cholesky: InPlaceCholesky, alpha: float, system: RidgeSystem, dtype: Any) -> None:
    try:
        cholesky.factor(alpha)
    except np.linalg.LinAlgError:
        works = 1.5 * factor_raised(cholesky, penalties(system.scale, dtype)[0])  # one digit
        raise ValueError(
            f"alpha={alpha:g} is too small for {np.dtype(dtype)} features: the sums are not "
            f"positive definite to their rounding; {works:.1g} works"
        ) from None


def _judge_path(
    path: RidgePath, alphas: Floats, sample: Rows, judge: Judge | None
) -> tuple[float, list[Tried]]:
    if judge is None and not sample.of_all and not path.signed:
        return best(alphas, path.evidence(alphas), "likelihood")
    groups = sample.grouped()
    if judge is not None:
        found = path.left_out(groups.Z, groups.y, groups.left, alphas)
        scores = [np.inf if each is None else judge(sample.expanded(each)) for each in found]
        return best(alphas, np.array(scores), _judged_by(sample))
    squares = np.zeros(len(alphas))
    for first in range(0, len(groups.Z), 1024):
        some = groups.where(slice(first, first + 1024))
        squares += path.loo_squares(
            some.Z,
            some.y,
            some.weight,
            alphas,
            path.units,
            None if groups.left is None else some.left,
        )
    return best(alphas, squares / groups.mass.sum(), _judged_by(sample))


def _judged_by(sample: Rows) -> str:
    return "leave-one-out" if sample.complete else "leave-one-out of a sample"


def _search_wide(
    system: RidgeSystem, alphas: Floats, sample: Rows, judge: Judge | None
) -> tuple[float, list[Tried]]:
    """Downhill over the alphas from the middle; each takes a factorisation."""
    cholesky = InPlaceCholesky(system.gram)
    scores: dict[int, float] = {}

    def score(i: int) -> float:
        if i not in scores:
            try:
                cholesky.factor(float(alphas[i]))
            except np.linalg.LinAlgError:
                scores[i] = np.inf
                return np.inf
            fit = RidgeFit(
                cholesky.solve(system.cross), np.empty(0), 0.0, [], system, None, cholesky
            )
            found = fit.left_out(sample)
            squares = (np.square(found - sample.y) / system.units).sum(axis=1)
            square = float(np.average(squares, weights=sample.mass))
            scores[i] = square if judge is None else judge(found)
        return scores[i]

    i, step = len(alphas) // 2, 2
    while step:
        beside = [j for j in (i - step, i + step) if 0 <= j < len(alphas)]
        lower = [j for j in beside if score(j) < score(i)]
        i, step = (min(lower, key=score), step) if lower else (i, step // 2)
    np.fill_diagonal(system.gram, cholesky.diagonal)
    tried = sorted(scores)
    return best(alphas[tried], np.array([scores[j] for j in tried]), _judged_by(sample))


def noise_variance(fit: RidgeFit, sample: Rows) -> Floats:
    """RSS / (n - df) of each target: n counts distinct rows, df is the trace of the hat matrix.

    Weights count as multiples of their mean over distinct rows, so that copies of all rows change
    nothing. Up to 8192 columns exact; above, df is from the mean leverage of the sample. Where
    hardly a row is left to tell the noise from, it is the error of rows that are left out.
    """
    system, p = fit.system, len(fit.coefficients)
    explained = (fit.coefficients * (system.cross)).sum(axis=0)
    penalty = (fit.coefficients * system.signs[:, None] * fit.coefficients).sum(axis=0)
    squares = np.maximum(system.target_square - explained - fit.alpha * penalty, 0.0)
    freedom = fit.freedom
    if freedom is None and fit.cholesky is not None and p <= MAX_PATH:
        freedom = p - fit.alpha * fit.cholesky.inverse_trace() + system.intercept
    elif freedom is None and fit.cholesky is not None:
        centred = np.asarray(sample.Z, dtype=np.float64) - system.feature_mean
        leverage = fit.cholesky.norms(centred) + system.intercept_leverage
        freedom = system.weight * float(np.average(leverage, weights=sample.mass))
    elif freedom is None:
        freedom = RidgePath(system).freedom(fit.alpha)
    left = system.n_rows - freedom
    certain = squares > _CANCELLED * system.target_square  # not the rounding of a difference
    noise = squares / (max(left, 1.0) * system.mean_weight)
    if left < 1 or not certain.all():
        errors = np.square(fit.left_out(sample) - sample.y)
        seen = np.average(errors, axis=0, weights=sample.mass)
        noise = np.where(certain & (left >= 1), noise, seen)
    return np.asarray(noise)
