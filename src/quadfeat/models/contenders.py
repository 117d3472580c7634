"""The kernels that each family learns from targets, from simple to flexible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import NamedTuple

import numpy as np

from ..kernels.base import Kernel
from ..kernels.matern import Matern
from ..kernels.stationary import GammaKernel, Gaussian, Laplacian
from ..learning.metric import learn_metric
from ..learning.scales import learn_scale, learn_scales
from ..learning.task import Learned, Task
from ..numerics.blas import share

# Kernels to choose among; all are products over axes, so that each has grids too.
FAMILIES = (Gaussian(), Matern(2.5, product=True), Matern(1.5, product=True), Laplacian())
_MOST_COLUMNS = 128  # with more columns only Gaussian kernels are learned
_MOST_USEFUL = 32  # most columns for Matern kernels and metrics
_NEXT_STEPS = 12  # of families that start from the first; more gain less than .001 nats per row
_REFINING_STEPS = 8  # 15 gain another .001 nats per row (california_housing) for twice the time
_TOLD_APART = 2.0  # length scales clearly differ if they gain so many times Schwarz's penalty
# For the progress bar, relative to the seconds for one scale: the time for a scale per column (of
# the first family, and of the others, which start from it) and for a metric.
_FIRST_WORK, _NEXT_WORK, _METRIC_WORK = 3.0, 1.8, 5.0

ONE = "one scale"
PER_COLUMN = "a scale per column"
METRIC = "a metric"
WHOLE_METRIC = "a metric of all columns"


@dataclass(frozen=True, eq=False)
class Contender:
    """A learned kernel: its family, what was learned, and how many numbers that is."""

    family: str
    scaling: str
    learned: Learned
    n_learned: int

    @property
    def name(self) -> str:
        """Such as "Laplacian, a scale per column"."""
        return f"{self.family}, {self.scaling}"

    @property
    def kernel(self) -> Kernel:
        return self.learned.kernel


@dataclass(frozen=True)
class Field:
    """Which kernels may compete: `all_families` or Gaussian ones only, with or without a metric."""

    all_families: bool
    metric: bool

    def families(self, n_columns: int) -> tuple[GammaKernel, ...]:
        """The kernels to choose among for this number of columns."""
        if not self.all_families or n_columns > _MOST_COLUMNS:
            return FAMILIES[:1]
        return FAMILIES if n_columns <= _MOST_USEFUL else (FAMILIES[0], FAMILIES[-1])

    def works(self, n_columns: int) -> list[float]:
        """Rough estimates of the time to learn each kernel, relative to the first.

        One for each kernel that may be learned.
        """
        alone = [1.0] * (len(self.families(n_columns)) - 1)
        if n_columns < 2:
            return [1.0, *alone]
        others = len(self.families(min(n_columns, _MOST_USEFUL))) - 1
        per_column = [_NEXT_WORK] * others
        return [1.0, _FIRST_WORK, *alone, *per_column, *[_METRIC_WORK] * (2 * self.metric)]


def contenders(
    field: Field, task: Task, tick: Callable[[], None] = lambda: None
) -> list[Contender]:
    """The kernels that each family learns from a task, simple ones first; calls `tick` after each.

    Gaussian kernels decide which columns are useful; the others then learn from these. If their
    length scales clearly differ, other families with one scale for all are not learned.
    """
    d = task.n_columns
    first, *others = field.families(d)
    gaussians = [_Job(first, ONE, 1, partial(learn_scale, first, task))]
    if d > 1:
        gaussians.append(_Job(first, PER_COLUMN, d, partial(learn_scales, first, task)))
    learned = _learned(gaussians, tick)
    one, gaussian = learned[0].learned, learned[-1].learned
    jobs = []
    gain = (one.value - gaussian.value) * task.Y.size
    if not (field.metric and gain > _TOLD_APART * d * np.log(len(task.X)) / 2):
        jobs += [_Job(kind, ONE, 1, partial(learn_scale, kind, task, start=one)) for kind in others]
    useful = int(gaussian.useful.sum())
    if d > 1:
        for kind in field.families(useful if useful <= _MOST_USEFUL else d)[1:]:
            learn = partial(learn_scales, kind, task, start=gaussian, steps=_NEXT_STEPS)
            jobs.append(_Job(kind, PER_COLUMN, d, learn))
        metric = partial(learn_metric, first, task, gaussian)
        if field.metric and 1 < useful <= _MOST_USEFUL:
            some = partial(metric, columns=gaussian.useful)
            jobs.append(_Job(first, METRIC, d + useful * (useful - 1) // 2, some))
        if field.metric and useful < d <= _MOST_USEFUL:  # some columns say little alone
            jobs.append(_Job(first, WHOLE_METRIC, d * (d + 1) // 2, metric))
    learned += _learned(jobs, tick)
    # A stable sort: kernels with one scale first, each kind in the order of families.
    return sorted(learned, key=lambda each: each.scaling != ONE)


class _Job(NamedTuple):
    """A kernel to be learned, and how many numbers it learns."""

    kind: GammaKernel
    scaling: str
    n_learned: int
    learn: Callable[[], Learned]


def _learned(jobs: list[_Job], tick: Callable[[], None]) -> list[Contender]:
    """The results of the jobs, which are independent and run in several threads."""
    found: dict[int, Contender] = {}

    def learn(number: int) -> None:
        job = jobs[number]
        found[number] = Contender(_name(job.kind), job.scaling, job.learn(), job.n_learned)
        tick()

    share(learn, range(len(jobs)))
    return [found[number] for number in range(len(jobs))]


def refined(contender: Contender, task: Task) -> Contender | None:
    """The kernel of a contender, refined on more rows; None if it has one length scale.

    Also None for a kernel of many columns, which would take long.
    """
    start = contender.learned
    if contender.scaling == ONE or start.useful.sum() > _MOST_USEFUL:
        return None
    if contender.scaling == PER_COLUMN:
        learned = learn_scales(start.kernel, task, start=start, steps=_REFINING_STEPS)
    else:
        columns = None if contender.scaling == WHOLE_METRIC else start.useful
        learned = learn_metric(FAMILIES[0], task, start, columns=columns, steps=_REFINING_STEPS)
    scaling = f"{contender.scaling} from {len(task.X):,} rows"
    return Contender(contender.family, scaling, learned, contender.n_learned)


def _name(kernel: GammaKernel) -> str:
    return f"Matern {kernel.nu:g}" if isinstance(kernel, Matern) else type(kernel).__name__
