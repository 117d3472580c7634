"""What each family of kernels learns from targets, from simple to flexible."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ..kernels.base import Kernel
from ..kernels.matern import Matern
from ..kernels.stationary import GammaKernel, Gaussian, Laplacian
from ..learning.metric import learn_metric
from ..learning.scales import learn_scale, learn_scales
from ..learning.task import Learned, Task

# Kernels to choose among; products of one-dimensional ones, so that each has grids too.
FAMILIES = (Gaussian(), Matern(2.5, product=True), Matern(1.5, product=True), Laplacian())
_MOST_AXES = 32  # columns beyond which Matern kernels are slow to learn,
_MOST_ROUGH = 128  # and beyond which Laplacian ones are
_MOST_MIXED = 32  # columns, at most, of a metric

ONE = "one scale"
PER_COLUMN = "a scale per column"
METRIC = "a metric"


@dataclass(frozen=True, eq=False)
class Contender:
    """A kernel that was learned: its family, what was learned, and how many numbers that is."""

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

    def families(self, task: Task) -> tuple[GammaKernel, ...]:
        """Kernels to choose among for the columns of a task."""
        if not self.all_families or task.n_columns > _MOST_ROUGH:
            return FAMILIES[:1]
        return FAMILIES if task.n_columns <= _MOST_AXES else (FAMILIES[0], FAMILIES[-1])

    def with_metric(self, task: Task) -> bool:
        """Whether a metric is learned."""
        return self.metric and 1 < task.n_columns <= _MOST_MIXED

    def size(self, task: Task) -> int:
        """How many kernels are learned."""
        count = len(self.families(task))
        return (2 * count if task.n_columns > 1 else count) + self.with_metric(task)


def contenders(
    field: Field, task: Task, tick: Callable[[], None] = lambda: None
) -> list[Contender]:
    """What each family learns from a task, simple kernels first; `tick` is called after each."""
    d = task.n_columns
    found: list[Contender] = []

    def add(kind: GammaKernel, scaling: str, learned: Learned, n_learned: int) -> None:
        found.append(Contender(_name(kind), scaling, learned, n_learned))
        tick()

    first, *others = field.families(task)
    one = learn_scale(first, task)
    add(first, ONE, one, 1)
    for kind in others:
        add(kind, ONE, learn_scale(kind, task, start=one), 1)
    if d < 2:
        return found
    gaussian = learn_scales(first, task)
    add(first, PER_COLUMN, gaussian, d)
    for kind in others:
        add(kind, PER_COLUMN, learn_scales(kind, task, start=gaussian), d)
    if field.with_metric(task):
        add(first, METRIC, learn_metric(first, task, gaussian), d * (d + 1) // 2)
    return found


def _name(kernel: GammaKernel) -> str:
    return f"Matern {kernel.nu:g}" if isinstance(kernel, Matern) else type(kernel).__name__
