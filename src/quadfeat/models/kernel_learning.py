"""Choice of a kernel by the targets: family, one length scale or one per column, or a metric."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from sklearn.base import clone

from .._display.progress import steps
from .._typing import Floats
from ..kernels.base import Kernel
from ..kernels.stationary import GammaKernel, Gaussian
from ..kernels.subsets import Anova
from ..learning.given import learned_kernel
from ..learning.task import ROWS, Task
from ..maps.base import FeatureMap
from .contenders import ONE, Contender, Field, contenders, refined
from .kernel_validation import MARGIN, MOST_COLUMNS, KernelValidation
from .sample import Sample
from .subset_choice import choose_subsets
from .tuning import Tried, marked

_FEW_ROWS = 1000  # with fewer rows likelihoods decide: too few to hold any out
_FEW_COLUMNS = 256  # columns of maps that compare scalings of one family
# Times the least error with few columns; more columns do not make up for this: on the tables of
# benchmarks/tables.py the kernel that won with all columns had at most 1.04.
_HOPELESS = 1.2
_TIE = 1e-3  # errors of equally simple kernels count as equal within this share
_WIDER = 0.02  # twice the columns must lower the squared error by this share: 1% of the RMSE
_ROWS_PER_COLUMN = 2  # to draw landmarks from, at least, when choosing the width
_MORE_LANDMARKS = 512  # to refine the best kernel on more rows
_FACTORS = (0.7, 1.4)  # factors of all length scales of the best kernel, tried last,
_MOST_STEPS = 4  # at most so often, while the error falls
# For the progress bar: time to score a kernel, relative to the time to learn one scale.
_FEW_COLUMNS_WORK, _COLUMNS_WORK = 0.3, 0.5
_MORE_WORK = 4.0  # to refine the best kernel and score it


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
    validation = KernelValidation(wide, sample, n_learned)
    n_others = len(sample.X) - len(validation.weight)
    widths = [widths[0], *(w for w in widths[1:] if _ROWS_PER_COLUMN * w <= n_others)]
    if len(sample.X) < _FEW_ROWS or len(widths) == 1:
        return widths[0], []
    kernel = Gaussian("scale") if features.kernel is None else features.kernel
    best, lowest = widths[0], np.empty(0)
    tried: list[Tried] = []
    text = f"squared error of {len(validation.weight)} validation rows"
    with steps("choosing the columns", [float(width) ** 2 for width in widths]) as step:
        for width in widths:
            errors = validation.errors(kernel, width)
            step.done()
            tried.append(Tried("n_components", float(width), validation.mean(errors), text))
            if len(tried) > 1 and not validation.is_clearly_lower(errors, lowest, _WIDER):
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
        validation = KernelValidation(features, sample, 0)
        losses = [validation.log_losses(each.kernel) for each in found]
        losses = [rows + per_number * k / len(rows) for rows, k in zip(losses, sizes, strict=True)]
        scores = np.array([validation.mean(rows) for rows in losses])
        order = np.argsort(sizes, kind="stable")
        best = int(order[validation.simplest_of_the_best([losses[i] for i in order])])
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
    validating = [_COLUMNS_WORK] * (n_families + 1) + [_MORE_WORK] + [_COLUMNS_WORK] * 3
    few = _FEW_COLUMNS_WORK * len(learning)
    with steps("choosing the kernel", [sum(learning), few + sum(validating)]) as parts:
        with steps("learning", learning) as step:
            found = contenders(field, task, step.done)
        parts.done()
        with steps("comparing kernels", [_FEW_COLUMNS_WORK] * len(found) + validating) as step:
            return _best_of(found, sample, KernelValidation(features, sample, n_learned, step.done))


def _best_of(
    found: list[Contender], sample: Sample, validation: KernelValidation
) -> tuple[Kernel, list[Tried]]:
    """The best kernel, with the best factor of its length scales, and all that were tried."""
    finals, few = _best_of_each_family(found, validation)
    most = _HOPELESS * min(few[each.name] for each in finals)
    hopeless = [each for each in finals if few[each.name] > most]
    finals = [each for each in finals if few[each.name] <= most]
    errors = [validation.errors(each.kernel, MOST_COLUMNS) for each in finals]
    best = validation.simplest_of_the_best(errors)
    best = _smoothest(finals, [validation.mean(each) for each in errors], best)
    start = finals[best]
    if start.scaling == ONE:  # with more rows length scales may differ
        others = [each for each in found if each.scaling != ONE]
        start = min(others, key=lambda each: few[each.name], default=start)
    learned = sample.without(validation.rows)
    more = refined(start, learned.task(len(learned.X), _MORE_LANDMARKS))
    if more is not None:
        finals.append(more)
        errors.append(validation.errors(more.kernel, MOST_COLUMNS))
        better = validation.is_clearly_lower(errors[-1], errors[best])
        if start is finals[best]:  # no less simple
            better = validation.mean(errors[-1]) < validation.mean(errors[best])
        best = len(finals) - 1 if better else best
    if validation.mean(errors[best]) > most:  # hopeless with many columns, too; others may not be
        finals, hopeless = finals + hopeless, []
        for each in finals[len(errors) :]:
            errors.append(validation.errors(each.kernel, MOST_COLUMNS))
            lower = validation.is_clearly_lower(errors[-1], errors[best])
            best = len(errors) - 1 if lower else best
    text = f"squared error of {len(validation.weight)} validation rows"
    tried = _table(finals, [validation.mean(each) for each in errors], best, text)
    text_of_few = f"{text}, {_FEW_COLUMNS} columns"
    tried = _table(hopeless, [few[each.name] for each in hopeless], -1, text_of_few) + tried
    kernel = finals[best].kernel
    assert isinstance(kernel, GammaKernel)
    factor, factors = _best_factor(validation, kernel, errors[best], text)
    return kernel.stretched(factor), tried + factors


def _best_of_each_family(
    found: list[Contender], validation: KernelValidation
) -> tuple[list[Contender], dict[str, float]]:
    """One scaling of each family after the simplest kernel, and mean errors with few columns."""
    finals = [found[0]]
    few: dict[str, float] = {}
    for family in dict.fromkeys(each.family for each in found):
        scalings = [each for each in found if each.family == family]
        errors = [validation.errors(each.kernel, _FEW_COLUMNS) for each in scalings]
        means = [validation.mean(error) for error in errors]
        few |= {each.name: mean for each, mean in zip(scalings, means, strict=True)}
        winner = scalings[validation.simplest_of_the_best(errors)]
        finals += [winner] if winner is not found[0] else []
    # Among kernels with equally many numbers rough ones come first: they are safe if rows are few.
    finals[1:] = sorted(finals[1:], key=lambda each: (each.n_learned, -found.index(each)))
    return finals, few


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
    validation: KernelValidation, kernel: GammaKernel, lowest: Floats, text: str
) -> tuple[float, list[Tried]]:
    """The factor of all length scales with the lowest error, in steps from 1, and all tried.

    Each step must be clearly better than the one before. The last one goes to the vertex of a
    parabola through the best and its neighbours, if that promises a gain; it must be clearly better
    than the factor 1 of the likelihood, or only better if another factor already is.
    """
    factor, tried = 1.0, [Tried("factor of length scales", 1.0, validation.mean(lowest), text)]
    for step in _FACTORS:
        for power in range(1, _MOST_STEPS + 1):
            value = step**power
            errors = validation.errors(kernel.stretched(value), MOST_COLUMNS)
            tried.append(Tried("factor of length scales", value, validation.mean(errors), text))
            if not validation.simplest_of_the_best([lowest, errors]):
                break
            lowest, factor = errors, value
        if factor != 1:
            break
    tried.sort(key=lambda each: float(each.value))
    vertex, gain = _vertex(tried, [each.value for each in tried].index(factor))
    if gain > MARGIN * validation.mean(lowest):
        errors = validation.errors(kernel.stretched(vertex), MOST_COLUMNS)
        tried.append(Tried("factor of length scales", vertex, validation.mean(errors), text))
        tried.sort(key=lambda each: float(each.value))
        lower = validation.mean(errors) < validation.mean(lowest)
        if lower if factor != 1 else validation.is_clearly_lower(errors, lowest):
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
    found: list[Contender], scores: Floats | list[float], best: int, what: str
) -> list[Tried]:
    rows = [
        Tried(
            "kernel",
            each.name,
            float(score),
            what,
            chosen=i == best,
            edge=each.scaling == ONE and each.learned.at_bound,
        )
        for i, (each, score) in enumerate(zip(found, scores, strict=True))
    ]
    return rows
