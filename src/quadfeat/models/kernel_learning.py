"""Choice of a kernel by the targets: family, one length scale or one per column, or a metric."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from sklearn.base import clone

from .._display.progress import steps
from .._typing import Floats, Indices, Matrix
from ..kernels.base import Kernel
from ..kernels.stationary import GammaKernel, Gaussian
from ..kernels.subsets import Anova
from ..learning.given import learned_kernel
from ..learning.task import LANDMARKS, ROWS, Task
from ..maps.base import FeatureMap
from .calibration import fit_slope, log_losses
from .contenders import ONE, Contender, Field, contenders, refined
from .ridge_path import RidgePath
from .ridge_sums import NormalSums
from .subset_choice import choose_subsets
from .tuning import Tried, marked, penalties

_FEW_ROWS = 1000  # with fewer rows likelihoods decide: too few to hold any out
_VALIDATION = 4000  # rows, at most
_BLOCK = 2048  # rows of features at a time
_COLUMNS = 1024  # columns, at most, of the maps that are compared
_FEW_COLUMNS = 256  # columns of maps that compare scalings of one family
_HOPELESS = 1.5  # times the least error with few columns; more columns do not make up for this
_MARGIN = 0.005  # a less simple kernel must be better by this share
_ERRORS = 1.5  # and standard errors
_TIE = 1e-3  # errors of equally simple kernels count as equal within this share
_WIDER = 0.02  # twice the columns must lower the squared error by this share: 1% of the RMSE
_ROWS_PER_COLUMN = 2  # to draw landmarks from, at least, when choosing the width
_MORE_LANDMARKS = 512  # to refine the best kernel on more rows
_FACTORS = (0.7, 1.4)  # factors of all length scales of the best kernel, tried last,
_MOST_STEPS = 4  # at most so often, while the error falls
# For the progress bar: time to score a kernel, relative to the time to learn one scale.
_FEW_COLUMNS_WORK, _COLUMNS_WORK = 0.3, 0.5
_MORE_WORK = 4.0  # to refine the best kernel and score it


class Sample(NamedTuple):
    """Distinct rows to learn a kernel on, in random order.

    X (n, d), targets Y (n, t), weights of rows (n,); if `counts`, a weight is a number of
    observations; if `labels`, targets are signs of classes.
    """

    X: Matrix
    Y: Floats
    weight: Floats
    counts: bool
    labels: bool = False

    def at(self, rows: slice | Indices) -> Sample:
        """Some of the rows."""
        return self._replace(X=self.X[rows], Y=self.Y[rows], weight=self.weight[rows])

    def without(self, rows: slice) -> Sample:
        """The other rows."""
        return self.at(np.delete(np.arange(len(self.X)), rows))

    def task(self, n_rows: int = ROWS, n_landmarks: int = LANDMARKS) -> Task:
        """The first rows, for learning."""
        X = np.asarray(self.X, dtype=np.float64)
        return Task.of(X, self.Y, self.weight, n_rows=n_rows, n_landmarks=n_landmarks)


def choose_kernel(
    features: FeatureMap, sample: Sample, *, all_families: bool
) -> tuple[Kernel, list[Tried]]:
    """The kernel for `features`, and all that were tried.

    A kernel such as Gaussian("learned") learns what it says. If no kernel is given, each kernel of
    `contenders` is learned on some rows by likelihood and scored on validation rows by the
    leave-one-out squared error of a ridge fit of `features`. With fewer than 1,000 rows all kernels
    are learned on all rows, and the likelihood decides, less log(n) / 2 per learned number
    (Schwarz, 1978), or more if the targets have heavy tails; a metric then has too many numbers.
    For classes it is the likelihood of leave-one-out probabilities, and a less simple kernel must
    be better by 1.5 standard errors: a normal likelihood is unbounded if classes are separable, and
    a label carries at most log(2).
    """
    task = sample.task()
    median = Gaussian("median").resolve(task.X)  # raises an error if distances underflow
    if isinstance(features.kernel, Anova):
        kernel = features.kernel if features.any_family else features.kernel.smooth()
        return choose_subsets(kernel, sample.X, sample.Y, sample.weight)
    if features.kernel is not None:
        return learned_kernel(features.kernel, task), []
    if not task.can_learn:
        return median, []
    many = len(sample.X) >= _FEW_ROWS
    field = Field(all_families, metric=many)
    if many:
        return _by_validation(features, sample, field)
    return _by_likelihood(features, sample, field)


def choose_width(
    features: FeatureMap, widths: Sequence[int], sample: Sample
) -> tuple[int, list[Tried]]:
    """The number of columns for `features` among increasing `widths`, and all that were tried.

    The first, unless more are clearly better: they must lower the leave-one-out squared error of
    validation rows by 2% and by 1.5 standard errors. The search ends at the first width that does
    not. It skips widths above half of the rows that landmarks are drawn from, and needs at least
    1,000 rows.
    """
    n_learned = min(ROWS, (3 * len(sample.X)) // 4)
    wide = clone(features).set_params(n_components=widths[-1])
    judge = _Judge(wide, sample, n_learned)
    n_others = len(sample.X) - len(judge.weight)
    widths = [widths[0], *(w for w in widths[1:] if _ROWS_PER_COLUMN * w <= n_others)]
    if len(sample.X) < _FEW_ROWS or len(widths) == 1:
        return widths[0], []
    kernel = Gaussian("scale") if features.kernel is None else features.kernel
    best, lowest = widths[0], np.empty(0)
    tried: list[Tried] = []
    text = f"squared error of {len(judge.weight)} validation rows"
    with steps("choosing the columns", [float(width) ** 2 for width in widths]) as step:
        for width in widths:
            errors = judge.errors(kernel, width)
            step.done()
            tried.append(Tried("n_components", float(width), judge.mean(errors), text))
            if len(tried) > 1 and not judge.is_clearly_lower(errors, lowest, _WIDER):
                break
            best, lowest = width, errors
    chosen = next(each for each in tried if each.value == best)
    return best, marked(tried, chosen)


def _by_likelihood(
    features: FeatureMap, sample: Sample, field: Field
) -> tuple[Kernel, list[Tried]]:
    task = sample.task()
    with steps("choosing the kernel", field.works(task.n_columns)) as learned:
        found = contenders(field, task, learned.done)
    family = found[0].family  # choosing another family is one more thing to learn
    sizes = np.array([each.n_learned + (each.family != family) for each in found])
    per_number = np.log(len(task.X)) / 2
    if sample.labels and np.abs(sample.Y).min() == 1:  # one label per row
        judge = _Judge(features, sample, 0)
        losses = [judge.log_losses(each.kernel) for each in found]
        losses = [rows + per_number * k / len(rows) for rows, k in zip(losses, sizes, strict=True)]
        scores = np.array([judge.mean(rows) for rows in losses])
        order = np.argsort(sizes, kind="stable")
        best = int(order[judge.simplest_of_the_best([losses[i] for i in order])])
        text = "leave-one-out log loss, and a penalty per learned number"
    else:
        values = np.array([each.learned.value for each in found])
        scores = values + _dispersion(task) * per_number / task.Y.size * sizes
        best = int(np.argmin(scores))  # among equals the first, which is the simplest
        text = f"negative log likelihood of {len(task.X)} rows, and a penalty per learned number"
    return found[best].kernel, _table(found, scores, best, text)


def _dispersion(task: Task) -> float:
    """The variance of a log likelihood relative to that of normal targets, at least 1.

    Computed from their fourth moment: with a rare class or outliers a few rows dominate the
    likelihood. Multiplying the penalty by this is usual for quasi-likelihoods (Burnham and
    Anderson, 2002).
    """
    weight = task.weight / task.weight.sum()
    centred = task.Y - weight @ task.Y
    kurtosis = (weight @ centred**4) / (weight @ centred**2) ** 2
    return max(1.0, float(np.mean(kurtosis - 1) / 2))


def _by_validation(
    features: FeatureMap, sample: Sample, field: Field
) -> tuple[Kernel, list[Tried]]:
    """The best kernel by validation error: first among scalings of a family, then among families.

    Scalings are compared with few columns, families with all of them. A less simple kernel must be
    better by half a percent and 1.5 standard errors. The best one is refined on all training rows.
    Finally shorter and longer length scales are tried: likelihoods come from few landmarks, and
    with more columns shorter length scales may be better.
    """
    n_learned = min(ROWS, (3 * len(sample.X)) // 4)
    task = sample.at(slice(n_learned)).task()
    learning = field.works(task.n_columns)
    n_families = len(field.families(task.n_columns))
    judging = [_COLUMNS_WORK] * (n_families + 1) + [_MORE_WORK] + [_COLUMNS_WORK] * 3
    few = _FEW_COLUMNS_WORK * len(learning)
    with steps("choosing the kernel", [sum(learning), few + sum(judging)]) as parts:
        with steps("learning", learning) as step:
            found = contenders(field, task, step.done)
        parts.done()
        with steps("judging", [_FEW_COLUMNS_WORK] * len(found) + judging) as step:
            return _judged(found, sample, _Judge(features, sample, n_learned, step.done))


def _judged(found: list[Contender], sample: Sample, judge: _Judge) -> tuple[Kernel, list[Tried]]:
    """The best kernel, with the best factor of its length scales, and all that were tried."""
    finals = [found[0]]
    few: dict[str, float] = {}  # mean errors with few columns
    for family in dict.fromkeys(each.family for each in found):
        relatives = [each for each in found if each.family == family]
        errors = [judge.errors(each.kernel, _FEW_COLUMNS) for each in relatives]
        few |= {each.name: judge.mean(error) for each, error in zip(relatives, errors, strict=True)}
        winner = relatives[judge.simplest_of_the_best(errors)]
        finals += [winner] if winner is not found[0] else []
    # Among kernels with equally many numbers rough ones come first: they are safe if rows are few.
    finals[1:] = sorted(finals[1:], key=lambda each: (each.n_learned, -found.index(each)))
    most = _HOPELESS * min(few[each.name] for each in finals)
    hopeless = [each for each in finals if few[each.name] > most]
    finals = [each for each in finals if few[each.name] <= most]
    errors = [judge.errors(each.kernel, _COLUMNS) for each in finals]
    best = judge.simplest_of_the_best(errors)
    best = _smoothest(finals, [judge.mean(each) for each in errors], best)
    start = finals[best]
    if start.scaling == ONE:  # with more rows length scales may differ
        others = [each for each in found if each.scaling != ONE]
        start = min(others, key=lambda each: few[each.name], default=start)
    learned = sample.without(judge.rows)
    more = refined(start, learned.task(len(learned.X), _MORE_LANDMARKS))
    if more is not None:
        finals.append(more)
        errors.append(judge.errors(more.kernel, _COLUMNS))
        better = judge.is_clearly_lower(errors[-1], errors[best])
        if start is finals[best]:  # no less simple
            better = judge.mean(errors[-1]) < judge.mean(errors[best])
        best = len(finals) - 1 if better else best
    if judge.mean(errors[best]) > most:  # hopeless with many columns, too; others may not be
        finals, hopeless = finals + hopeless, []
        for each in finals[len(errors) :]:
            errors.append(judge.errors(each.kernel, _COLUMNS))
            best = len(errors) - 1 if judge.is_clearly_lower(errors[-1], errors[best]) else best
    text = f"squared error of {len(judge.weight)} validation rows"
    tried = _table(finals, [judge.mean(each) for each in errors], best, text)
    text_of_few = f"{text}, {_FEW_COLUMNS} columns"
    tried = _table(hopeless, [few[each.name] for each in hopeless], -1, text_of_few) + tried
    kernel = finals[best].kernel
    assert isinstance(kernel, GammaKernel)
    factor, factors = _best_factor(judge, kernel, errors[best], text)
    return kernel.stretched(factor), tried + factors


def _smoothest(found: list[Contender], scores: list[float], best: int) -> int:
    """The last kernel that is as good as the best and learned as many numbers.

    Smooth kernels come last; maps of Gaussian kernels cost a hundredth per row.
    """
    equal = [
        i
        for i, (each, score) in enumerate(zip(found, scores, strict=True))
        if i >= best
        and each.n_learned == found[best].n_learned
        and score <= (1 + _TIE) * scores[best]
    ]
    return equal[-1]


def _best_factor(
    judge: _Judge, kernel: GammaKernel, lowest: Floats, text: str
) -> tuple[float, list[Tried]]:
    """The factor of all length scales with the lowest error, in steps from 1, and all tried.

    Each step must be clearly better than the one before. The last one goes to the vertex of a
    parabola through the best and its neighbours, if that promises a gain; it must be clearly better
    than the factor 1 of the likelihood, or only better if another factor already is.
    """
    factor, tried = 1.0, [Tried("factor of length scales", 1.0, judge.mean(lowest), text)]
    for step in _FACTORS:
        for power in range(1, _MOST_STEPS + 1):
            value = step**power
            errors = judge.errors(kernel.stretched(value), _COLUMNS)
            tried.append(Tried("factor of length scales", value, judge.mean(errors), text))
            if not judge.simplest_of_the_best([lowest, errors]):
                break
            lowest, factor = errors, value
        if factor != 1:
            break
    tried.sort(key=lambda each: float(each.value))
    vertex, gain = _vertex(tried, [each.value for each in tried].index(factor))
    if gain > _MARGIN * judge.mean(lowest):
        errors = judge.errors(kernel.stretched(vertex), _COLUMNS)
        tried.append(Tried("factor of length scales", vertex, judge.mean(errors), text))
        tried.sort(key=lambda each: float(each.value))
        lower = judge.mean(errors) < judge.mean(lowest)
        if lower if factor != 1 else judge.is_clearly_lower(errors, lowest):
            factor = vertex
    chosen = next(each for each in tried if each.value == factor)
    shortest, longest = (step**_MOST_STEPS for step in _FACTORS)
    return factor, marked(tried, chosen, (shortest, longest))


def _vertex(tried: list[Tried], best: int) -> tuple[float, float]:
    """The vertex of a parabola in the log factor through the best and its neighbours.

    Also the predicted gain: 0 if the parabola has no minimum or a neighbour is missing.
    """
    if not 0 < best < len(tried) - 1:
        return 1.0, 0.0
    at, scores = zip(
        *((np.log(float(t.value)), t.score) for t in tried[best - 1 : best + 2]), strict=True
    )
    curvature, slope, _ = np.polyfit(np.array(at) - at[1], scores, 2)
    step = -slope / (2 * curvature) if curvature > 0 else 0.0
    if not at[0] < at[1] + step < at[2]:
        return 1.0, 0.0
    return float(np.exp(at[1] + step)), float(-slope * step / 2)


def _table(
    found: list[Contender], scores: Floats | list[float], best: int, judge: str
) -> list[Tried]:
    rows = [
        Tried(
            "kernel",
            each.name,
            float(score),
            judge,
            chosen=i == best,
            edge=each.scaling == ONE and each.learned.at_bound,
        )
        for i, (each, score) in enumerate(zip(found, scores, strict=True))
    ]
    return rows


class _Judge:
    """Leave-one-out squared errors of a ridge fit, on rows that no kernel was learned from.

    `tick` is called after each kernel.
    """

    def __init__(
        self,
        features: FeatureMap,
        sample: Sample,
        n_learned: int,
        tick: Callable[[], None] = lambda: None,
    ) -> None:
        self._features, self._sample, self._tick = features, sample, tick
        self.rows = slice(n_learned, n_learned + _VALIDATION)
        # Landmarks among the validation rows would fit these better than new rows.
        self._others = sample.without(self.rows).X if n_learned else sample.X
        self.weight = sample.weight[self.rows]

    def mean(self, errors: Floats) -> float:
        """The weighted mean of errors."""
        return float(np.average(errors, weights=self.weight))

    def simplest_of_the_best(self, errors: list[Floats]) -> int:
        """The position of the lowest mean error; a later one must be clearly lower to win."""
        best = 0
        for i, other in enumerate(errors):
            best = i if self.is_clearly_lower(other, errors[best]) else best
        return best

    def is_clearly_lower(self, errors: Floats, others: Floats, margin: float = _MARGIN) -> bool:
        """Whether the mean of errors is lower than that of others, beyond chance."""
        gain = others - errors
        spread = np.sqrt(self.mean((gain - self.mean(gain)) ** 2) / len(gain))
        return self.mean(gain) > max(margin * self.mean(others), _ERRORS * spread)

    def errors(self, kernel: Kernel, columns: int) -> Floats:
        """Squared errors of the rows, summed over targets in their units, (n,)."""
        errors = self._errors(kernel, columns)
        self._tick()
        return errors

    def _errors(self, kernel: Kernel, columns: int) -> Floats:
        judged = self._sample.at(self.rows)
        predicted, units = self._left_out(kernel, columns)
        if predicted is None:
            return np.full(len(judged.X), np.inf)
        return np.asarray((np.square(judged.Y - predicted) / units).sum(axis=1))

    def log_losses(self, kernel: Kernel) -> Floats:
        """Log losses of the classes of the rows, (n,)."""
        judged = self._sample.at(self.rows)
        codes = (judged.Y[:, 0] > 0).astype(int) if judged.Y.shape[1] == 1 else judged.Y.argmax(1)
        scores, _ = self._left_out(kernel, _COLUMNS)
        if scores is None:
            return np.full(len(codes), np.inf)
        n = float(judged.weight.sum() ** 2 / np.square(judged.weight).sum())
        return log_losses(scores, codes, fit_slope(scores, codes, judged.weight, n))

    def _left_out(self, kernel: Kernel, columns: int) -> tuple[Floats | None, Floats]:
        """Predictions for the rows, None if no penalty can be solved, and the units of targets."""
        sample = self._sample
        fitted = self._features.lighter(kernel, columns).fit(self._others)
        sums = NormalSums(fitted.n_columns_, sample.Y.shape[1])
        judged, others = sample.at(self.rows), sample.without(self.rows)
        Z = _written(fitted, judged.X)
        for start in range(0, len(Z), _BLOCK):
            some = slice(start, start + _BLOCK)
            sums.add(Z[some], judged.Y[some], judged.weight[some])
        for start in range(0, len(others.X), _BLOCK):
            rows = others.at(slice(start, start + _BLOCK))
            sums.add(_written(fitted, rows.X), rows.Y, rows.weight)
        share = sums.weight / sums.n_rows if sample.counts else 1.0
        system = sums.system(intercept=True, signs=fitted.signs_, copy=False, distinct_share=share)
        alphas, path = penalties(system.scale, sample.X.dtype), RidgePath(system)
        weight = np.minimum(judged.weight, 1.0) if sample.counts else judged.weight
        if path.signed:  # it has no likelihood
            scores = path.loo_squares(Z, judged.Y, judged.weight, alphas, path.units)
        else:
            scores = path.evidence(alphas)
        best = float(alphas[int(np.argmin(scores))])
        return path.left_out_once(Z, judged.Y, weight, best), path.units


def _written(fitted: FeatureMap, X: Matrix) -> Matrix:
    Z = np.empty((len(X), fitted.n_columns_), dtype=X.dtype)
    fitted.write(X, Z)
    return Z
