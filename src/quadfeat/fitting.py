"""Fits of streamed features: ridge from its sums, other losses by passes of L-BFGS."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .features import Matrix
from .lbfgs import LBFGS
from .losses import LOSSES, Loss, LossSums, Weights, curvature
from .rules import Floats
from .solvers import MAX_LEVERAGE, MAX_PATH, InPlaceCholesky, RidgePath, norms
from .streaming import LONGEST, Checkpoint, Piece, Stream, fold
from .sums import NormalSums, RidgeSystem
from .survey import effective_share
from .tuning import Tried, best, penalties

_CANCELLED = 1e-13  # share of the total squares below which those of the residuals are rounding
_MAX_PASSES = 1000
_FACTORED_TOLERANCE = 1e-6  # factors have no unique minimum whose digits would be worth a pass
_TRIAL_PASSES = 100  # of a fit that only tells whether an alpha is good
_NEARBY = 2.0  # ratio of penalties whose factors are taken for each other
_HELD_OUT = 5  # every fifth row of a sample judges the penalty


@dataclass(frozen=True, eq=False)
class Rows:
    """Some rows in memory: features, targets or codes, weights.

    Parameters
    ----------
    Z : (n, p)
    y : (n,) codes or (n, t) targets
    weight : (n,), of all copies of a row in the data, or None for 1
    share : (n,), the chance of each to be among these as a multiple of that of most, or None for 1
    group : (n,) codes 0, 1, ... of rows with equal x, which are left out together, or None where
        every row is on its own
    of_all : bool, whether they stand for all rows of a fit
    complete : bool, whether they are all distinct rows of it
    counts : bool, whether a weight counts observations, which are left out one at a time, and not
        copies, which go together
    """

    Z: Matrix
    y: Any
    weight: Floats | None
    share: Floats | None = None
    group: Any = None
    of_all: bool = True
    complete: bool = False
    counts: bool = False

    @property
    def left(self) -> Floats | None:
        """How much of each weight is left out at a time."""
        return (
            np.minimum(self.weight, 1.0) if self.counts and self.weight is not None else self.weight
        )

    @property
    def mass(self) -> Floats:
        """The weight of what each row stands for, (n,)."""
        weight = np.ones(len(self.Z)) if self.weight is None else self.weight
        return weight if self.share is None else weight / self.share

    def grouped(self) -> Rows:
        """One row per group: the mean of its targets (n, t), with its total weight."""
        if self.group is None:
            return self
        first = np.unique(self.group, return_index=True)[1]
        weight = np.ones(len(self.Z)) if self.weight is None else self.weight
        total = np.add.reduceat(weight, first)
        Y = np.add.reduceat(weight[:, None] * self.y, first) / total[:, None]
        share = None if self.share is None else self.share[first]
        return Rows(self.Z[first], Y, total, share, None, self.of_all, self.complete)

    def expanded(self, grouped: Floats) -> Floats:
        """Values of the groups, given to each of their rows."""
        return grouped if self.group is None else grouped[self.group]

    def pieces(self, label: str, start: int = 0) -> Iterator[Piece]:
        """A stream of pieces as long as products gain from."""
        for first in range(0, len(self.Z), LONGEST):
            some = self.where(slice(first, first + LONGEST))
            yield Piece(some.Z, some.y, some.weight, None)

    def where(self, chosen: Any) -> Rows:
        weight = None if self.weight is None else self.weight[chosen]
        return Rows(self.Z[chosen], self.y[chosen], weight, counts=self.counts)

    def targets(self, Y: Floats) -> Rows:
        """The same rows with other targets."""
        return replace(self, y=Y)


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
        works = 1.5 * _factor_raised(cholesky, penalties(system.scale, dtype)[0])  # one digit
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


# --- other losses ---------------------------------------------------------------------------------
def fit_loss(
    name: str,
    stream: Stream,
    checkpoint: Checkpoint,
    shape: tuple[int, int],
    *,
    alpha: float,
    rank: int | None,
    intercept: bool,
    tolerance: float,
    max_passes: int = _MAX_PASSES,
    curved: Curvature | None = None,
) -> tuple[Floats, Floats, int]:
    """W (p, t), b (t,) and the passes taken to the minimum of a loss over a stream.

    The first metric is the inverse of c Z'WZ + alpha I, c the loss's curvature; `curved` saves
    the pass that it takes. With a rank, the descent goes on from the truncated singular value
    decomposition of the full solution, on the factors, so its loss is below that of the
    truncated one.
    """
    if curved is None:
        curved = Curvature.of_stream(stream, checkpoint, shape[0], intercept=intercept)
    metric = curved.metric(name, shape[1], alpha)
    descent = _Descent(LOSSES[name], stream, checkpoint, alpha, tolerance, max_passes)
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
    low = Weights(*shape, rank=rank, intercept=intercept)
    descent.tolerance = max(tolerance, _FACTORED_TOLERANCE)
    theta = descent.run(f"rank {rank}", low, low.join([U, V], b), metric.factored(low, U, V))
    return *low.matrix(theta), descent.passes


class Curvature:
    """The curvature c Z'WZ + alpha I of any loss and alpha, in the memory of one gram.

    An intercept is the value at the mean row, b + m'W, which centred features do not change: the
    curvature falls apart into that of W, from the centred gram, and c times the total weight.
    """

    def __init__(self, cholesky: InPlaceCholesky, mean: Floats, weight: float) -> None:
        self._cholesky, self._mean, self._weight = cholesky, mean, weight

    @classmethod
    def of_stream(
        cls, stream: Stream, checkpoint: Checkpoint, n_columns: int, *, intercept: bool
    ) -> Curvature:
        """From a pass over a stream, or from what a checkpoint kept of it."""
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
        """From a ridge fit of the same rows, whose factor is overwritten."""
        if fit.cholesky is None:
            raise ValueError("the fit is of a signed map; other losses need features without signs")
        return cls(fit.cholesky, fit.system.feature_mean, fit.system.weight)

    def metric(self, name: str, n_scores: int, alpha: float) -> _Metric:
        """About the inverse for one loss and alpha, until the next is asked for.

        The factor of an alpha nearby, which is at hand, serves as well: a descent does not need
        the exact one, and p^3 is saved.
        """
        c = curvature(name, n_scores)
        if not 1 / _NEARBY <= self._cholesky.alpha * c / alpha <= _NEARBY:
            _factor_raised(self._cholesky, alpha / c)
        return _Metric(self._cholesky, self._mean, self._weight, c)


class _Metric:
    """The inverse of a loss's curvature, c times what a Cholesky factor is of."""

    def __init__(self, cholesky: InPlaceCholesky, mean: Floats, weight: float, c: float) -> None:
        self._cholesky, self._mean, self._mass, self._c = cholesky, mean, c * weight, c

    def full(self, weights: Weights) -> Callable[[Floats], Floats]:
        """The metric of a gradient in W and b."""

        def apply(gradient: Floats) -> Floats:
            (W,), b = weights.split(gradient)
            if not len(b):
                return weights.join([self._solve(W)], b)
            solved = self._solve(W - np.outer(self._mean, b))
            return weights.join([solved], b / self._mass - self._mean @ solved)

        return apply

    def factored(self, weights: Weights, U: Floats, V: Floats) -> Callable[[Floats], Floats]:
        """The metric of a gradient in the factors of W and b, taken at U and V."""
        half = self._cholesky.half(U)
        of_u = np.linalg.pinv(V.T @ V)
        of_v = np.linalg.pinv(self._c * (half.T @ half), hermitian=True)

        def apply(gradient: Floats) -> Floats:
            (dU, dV), b = weights.split(gradient)
            return weights.join([self._solve(dU) @ of_u, dV @ of_v], b / self._mass)

        return apply

    def _solve(self, B: Floats) -> Floats:
        return self._cholesky.solve(B) / self._c


def _factor_raised(cholesky: InPlaceCholesky, alpha: float) -> float:
    """Factor for alpha, or for the least more that makes the sum positive definite; return that.

    What rounding may have taken from the smallest eigenvalues is given back. That depends on the
    precision of the features and on how many columns repeat each other; a factorisation tells.
    """
    trace = float(cholesky.diagonal.sum())
    shift = max(alpha, 1e-7 * trace / len(cholesky.diagonal))
    while True:
        try:
            cholesky.factor(shift)
        except np.linalg.LinAlgError:
            if not shift < trace:
                raise
            shift *= 10
        else:
            return shift


@dataclass(eq=False)
class _Descent:
    """Passes of L-BFGS over a stream, each of which a checkpoint can resume."""

    loss: Loss
    stream: Stream
    checkpoint: Checkpoint
    alpha: float
    tolerance: float
    max_passes: int
    passes: int = 0

    def run(
        self, stage: str, weights: Weights, start: Floats, metric: Callable[[Floats], Floats]
    ) -> Floats:
        """The parameters of the least loss."""
        descent = LBFGS(start, metric, tolerance=self.tolerance, max_passes=self.max_passes)
        block, resumed = self.checkpoint.resume(stage) or (0, None)
        if resumed is not None:
            descent.restore(resumed)
        while not descent.done:
            sums = LossSums(self.loss, weights, descent.trial)
            if resumed is not None:
                sums.restore(resumed)
            fold(self.stream, sums, self.checkpoint, stage, start=block, beside=descent.state)
            block, resumed = 0, None
            value, slope = weights.penalty(descent.trial, self.alpha)
            descent.tell(sums.value + value, sums.gradient + slope)
        self.passes += descent.passes
        if not descent.converged and self.max_passes == _MAX_PASSES:
            warnings.warn(
                f"the loss was not at its minimum after {descent.passes} passes (alpha="
                f"{self.alpha:g}); a larger alpha or standardised columns help",
                ConvergenceWarning,
                stacklevel=5,
            )
        return descent.best


def tune_alpha(
    name: str, sample: Rows, n_scores: int, *, intercept: bool
) -> tuple[float, list[Tried]]:
    """The alpha with the least loss on every fifth x of a sample, which the others fitted.

    A penalty does not depend on the number of rows (it is an inverse prior variance), so that of
    a sample serves all of them; it is measured by the mean weight of a distinct x. Rows of equal x
    are all among the validation rows or none of them is.
    """
    rows = Rows(sample.Z, sample.y, sample.mass, group=sample.group)
    group = np.arange(len(rows.Z)) if rows.group is None else rows.group
    judges = group % _HELD_OUT == _HELD_OUT - 1
    learners, judged = rows.where(~judges), rows.where(judges if judges.any() else ~judges)
    if sample.counts:  # a fifth of the observations of each x, where there are five
        fifth = np.where(rows.mass >= _HELD_OUT, rows.mass / _HELD_OUT, rows.mass * judges)
        judged, learners = (replace(rows, weight=each) for each in (fifth, rows.mass - fifth))
        judged, learners = (each.where(each.mass > 0) for each in (judged, learners))
    weights = Weights(sample.Z.shape[1], n_scores, rank=None, intercept=intercept)
    nothing = Checkpoint(None, 0.0, {})
    of_x: Floats = np.bincount(group, rows.weight).astype(float)
    unit = 1.0 if sample.counts else float(of_x.mean() / effective_share(of_x))
    lengths = np.square(rows.Z, dtype=np.float64).sum(axis=1)
    scale = unit * (float(lengths[np.unique(group, return_index=True)[1]].mean()) or 1.0)
    curved = Curvature.of_stream(learners, nothing, weights.shape[0], intercept=intercept)
    tried: list[Tried] = []
    for exponent in range(1, -5, -1):
        alpha = scale * 10.0**exponent
        W, b, _ = fit_loss(
            name,
            learners,
            nothing,
            weights.shape,
            alpha=alpha,
            rank=None,
            intercept=intercept,
            tolerance=1e-6,
            max_passes=_TRIAL_PASSES,
            curved=curved,
        )
        sums = LossSums(LOSSES[name], weights, weights.join([W], b))
        sums.add(judged.Z, judged.y, judged.weight)
        mean = sums.value / judged.mass.sum()
        tried.append(Tried("alpha", alpha, mean, f"mean {name} loss of validation rows"))
        if mean > 1.02 * min(each.score for each in tried):
            break
    return min(tried, key=lambda each: each.score).value, tried
