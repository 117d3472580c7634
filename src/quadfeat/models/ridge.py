"""Ridge regression from its sums: choice of the penalty, coefficients, noise."""

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
from .stream import Rows, Stream, summed
from .tuning import Tried, best, penalties

_CANCELLED = 1e-13  # below this share of the total, squares of residuals are rounding error


@dataclass(frozen=True, eq=False)
class RidgeFit:
    """A solved ridge system."""

    coefficients: Floats  # (p, t)
    intercept: Floats  # (t,)
    alpha: float
    tried: list[Tried]
    system: RidgeSystem
    freedom: float | None  # degrees of freedom, if the path knows them
    cholesky: InPlaceCholesky | None  # of gram + alpha I; None for signed maps

    def left_out(self, rows: Rows) -> Floats:
        """Leave-one-out predictions for rows of the fit, (n, t); without all rows of equal x."""
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


Score = Callable[[Floats], float]  # of leave-one-out predictions; lower is better


@dataclass(frozen=True, eq=False)
class Posterior:
    """The arrays for standard deviations of predictions; weights have mean 1 over distinct rows.

    `root` (p, p) has the Cholesky factor L' of G + alpha I in its upper triangle.
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

    def check(self) -> None:
        """Raise a ValueError if the parts of a loaded posterior do not fit each other."""
        p = len(self.feature_mean)
        if self.root.shape != (p, p):
            raise ValueError("the root of the posterior does not fit its mean")
        if not (self.root.diagonal() > 0).all():
            raise ValueError("the root of the posterior is singular")
        if not self.intercept_leverage >= 0:
            raise ValueError("a leverage is negative")

    def deviations(self, Z: Matrix) -> Floats:
        """Standard deviation of f / standard deviation of the noise, at rows of features, (n,)."""
        centred = np.asarray(Z, dtype=np.float64) - self.feature_mean
        return np.sqrt(norms(self.root, centred) + self.intercept_leverage)


def ridge_sums(
    stream: Stream, checkpoint: Checkpoint, n_columns: int, n_targets: int
) -> NormalSums:
    """The sums of a whole stream, resumed from the checkpoint if it has any."""
    return summed(stream, checkpoint, NormalSums(n_columns, n_targets), "sums")


def fit_ridge(
    system: RidgeSystem,
    alpha: Any,
    dtype: Any,
    sample: Rows,
    score: Score | None = None,
) -> RidgeFit:
    """Choose alpha and solve; `system` is overwritten.

    Of several alphas it takes the one with the lowest `score` of leave-one-out predictions for the
    sample; copies of a row are left out together. Without a score it uses the squared error, or the
    likelihood of all rows if the sample does not represent them. Above 8192 columns each alpha
    needs a factorisation, and the sample always decides.
    """
    p, signed = len(system.gram), bool((system.signs < 0).any())
    alphas = penalties(system.scale, dtype) if isinstance(alpha, str) else np.atleast_1d(alpha)
    tried: list[Tried] = []
    path = freedom = None
    if len(alphas) > 1 and p > MAX_PATH and not signed:
        alpha, tried = _search_wide(system, alphas, sample, score)
    elif len(alphas) > 1 or signed:
        path = RidgePath(system)
        if len(alphas) > 1:
            alpha, tried = _best_on_path(path, alphas, sample, score)
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


def _best_on_path(
    path: RidgePath, alphas: Floats, sample: Rows, score: Score | None
) -> tuple[float, list[Tried]]:
    if score is None and not sample.of_all and not path.signed:
        return best(alphas, path.evidence(alphas), "likelihood")
    groups = sample.grouped()
    if score is not None:
        predictions = path.left_out(groups.Z, groups.y, groups.left, alphas)
        scores = [np.inf if f is None else score(sample.expanded(f)) for f in predictions]
        return best(alphas, np.array(scores), _criterion(sample))
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
    return best(alphas, squares / groups.mass.sum(), _criterion(sample))


def _criterion(sample: Rows) -> str:
    return "leave-one-out" if sample.complete else "leave-one-out of a sample"


def _search_wide(
    system: RidgeSystem, alphas: Floats, sample: Rows, score: Score | None
) -> tuple[float, list[Tried]]:
    """Pattern search over the alphas from the middle; each needs a factorisation."""
    cholesky = InPlaceCholesky(system.gram)
    scores: dict[int, float] = {}

    def score_of(i: int) -> float:
        if i not in scores:
            try:
                cholesky.factor(float(alphas[i]))
            except np.linalg.LinAlgError:
                scores[i] = np.inf
                return np.inf
            fit = RidgeFit(
                cholesky.solve(system.cross), np.empty(0), 0.0, [], system, None, cholesky
            )
            predicted = fit.left_out(sample)
            squares = (np.square(predicted - sample.y) / system.units).sum(axis=1)
            square = float(np.average(squares, weights=sample.mass))
            scores[i] = square if score is None else score(predicted)
        return scores[i]

    i, step = len(alphas) // 2, 2
    while step:
        beside = [j for j in (i - step, i + step) if 0 <= j < len(alphas)]
        lower = [j for j in beside if score_of(j) < score_of(i)]
        i, step = (min(lower, key=score_of), step) if lower else (i, step // 2)
    np.fill_diagonal(system.gram, cholesky.diagonal)
    tried = sorted(scores)
    ends = (float(alphas.min()), float(alphas.max()))
    return best(alphas[tried], np.array([scores[j] for j in tried]), _criterion(sample), ends)


def residual_squares(fit: RidgeFit) -> Floats:
    """The weighted sum of squared residuals of each target, (t,)."""
    system = fit.system
    explained = (fit.coefficients * system.cross).sum(axis=0)
    penalty = (fit.coefficients * system.signs[:, None] * fit.coefficients).sum(axis=0)
    return np.asarray(np.maximum(system.target_square - explained - fit.alpha * penalty, 0.0))


def noise_variance(fit: RidgeFit, sample: Rows) -> Floats:
    """RSS / (n - df) of each target: n counts distinct rows, df is the trace of the hat matrix.

    Weights are divided by their mean over distinct rows, so that copying all rows changes nothing.
    Exact up to 8192 columns; above, df is estimated from the mean leverage of the sample. If n - df
    is below 1 or RSS is rounding error, it is the leave-one-out error of the sample.
    """
    system, p = fit.system, len(fit.coefficients)
    squares = residual_squares(fit)
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
    certain = squares > _CANCELLED * system.target_square  # not rounding error
    noise = squares / (max(left, 1.0) * system.mean_weight)
    if left < 1 or not certain.all():
        errors = np.square(fit.left_out(sample) - sample.y)
        left_out = np.average(errors, axis=0, weights=sample.mass)
        noise = np.where(certain & (left >= 1), noise, left_out)
    return np.asarray(noise)
