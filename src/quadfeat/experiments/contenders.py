"""The maps compared in Fig. 2, and their curves over runs."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats
from ..kernels.base import Kernel
from ..maps.base import FeatureMap
from ..maps.expansions import HermiteMercer
from ..maps.grids import SubsampledGrid
from ..maps.learned_grids import ReweightedGrid
from ..maps.random import QuasiRandomFourier, RandomFourier
from ..plotting import style
from .cell import Record, Table

N_POINTS = 11  # nodes per axis of the paper's grids: exact to degree 21
N_SAMPLES = 500  # points for reweighting in the paper


def _random(kernel: Kernel, columns: int, seed: int) -> FeatureMap:
    return RandomFourier(kernel, n_components=columns, random_state=seed)


def _halton(kernel: Kernel, columns: int, seed: int) -> FeatureMap:
    return QuasiRandomFourier(kernel, n_components=columns, sequence="halton", random_state=seed)


def _subsampled(kernel: Kernel | None, columns: int, seed: int | None) -> SubsampledGrid:
    return SubsampledGrid(kernel, n_components=columns, n_points=N_POINTS, random_state=seed)


def _reweighted(kernel: Kernel, columns: int, seed: int) -> FeatureMap:
    """New weights for the nodes of a subsampled grid of the same width; some become zero."""
    return ReweightedGrid(
        kernel,
        n_components=columns,
        pool=_subsampled(None, columns, None),
        n_samples=N_SAMPLES,
        random_state=seed,
    )


def _pruned(kernel: Kernel, columns: int, seed: int) -> FeatureMap:
    """Nodes chosen from a pool at least twice as wide, with new weights."""
    return ReweightedGrid(kernel, n_components=columns, n_samples=N_SAMPLES, random_state=seed)


def _hermite_mercer(kernel: Kernel, columns: int, seed: int) -> FeatureMap:
    return HermiteMercer(kernel, n_components=columns)


def _compressed(kernel: Kernel, columns: int, seed: int) -> FeatureMap:
    return HermiteMercer(kernel, n_components=columns, compress=True, random_state=seed)


# Functions of a kernel, a number of columns and a seed that return a map; named as in
# `plotting.style.STYLES`.
CONTENDERS: dict[str, Callable[[Kernel, int, int], FeatureMap]] = {
    "random": _random,
    "Halton": _halton,
    "subsampled": _subsampled,
    "reweighted": _reweighted,
    "pruned": _pruned,
    "Hermite-Mercer": _hermite_mercer,
    "compressed": _compressed,
}


class Curve(NamedTuple):
    """Mean and standard deviation of a quantity over runs, along x."""

    x: Floats
    mean: Floats
    deviation: Floats
    runs: Floats

    def up_to(self, x: float) -> Curve:
        kept = self.x <= x
        return Curve(*(part[kept] for part in self))

    def draw(self, ax: Any, name: str) -> None:
        """Draw the mean in the style of a map, in a band of one standard deviation."""
        low, high = self.mean - self.deviation, self.mean + self.deviation
        style.banded(ax, name, self.x, self.mean, low, high)

    def crossing(self, level: float) -> float:
        """The x at which a falling curve reaches a level, by log-log interpolation, or NaN."""
        log_x, log_y = np.log(self.x), np.log(self.mean)
        if len(log_x) < 2 or not log_y.min() <= np.log(level) <= log_y.max():
            return float("nan")
        order = np.argsort(log_y)
        return float(np.exp(np.interp(np.log(level), log_y[order], log_x[order])))


def table(
    caption: str, head: str, curves: dict[str, Curve], form: Callable[[float, float], str]
) -> Table:
    """Curves side by side, a row for each x; `form` writes a mean and its deviation."""
    at = sorted({float(x) for each in curves.values() for x in each.x})
    rows = []
    for x in at:
        row = [f"{x:,.0f}"]
        for each in curves.values():
            (where,) = np.nonzero(each.x == x)
            row.append(form(each.mean[where[0]], each.deviation[where[0]]) if len(where) else "")
        rows.append(row)
    return Table(caption, [head, *curves], rows)


def curve(records: Iterable[Record], x: str, y: str, **where: Any) -> Curve:
    """The curve of `y` along `x` through the records whose fields equal `where`."""
    values: dict[float, list[float]] = {}
    for record in records:
        if y in record and all(record.get(name) == value for name, value in where.items()):
            values.setdefault(record[x], []).append(record[y])
    at = sorted(values)
    return Curve(
        np.array(at, dtype=float),
        np.array([np.mean(values[place]) for place in at]),
        np.array(
            [np.std(values[place], ddof=1) if len(values[place]) > 1 else 0.0 for place in at]
        ),
        np.array([len(values[place]) for place in at], dtype=float),
    )
