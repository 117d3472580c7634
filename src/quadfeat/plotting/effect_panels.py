"""The panels of a model's effects: effects drawn together, and their values on axes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from .._typing import Floats, Indices, Mask

TIMES = "\N{MULTIPLICATION SIGN}"
_LINE, _SIDE = 120, 32  # points of a curve, and on each side of a map
_BINS = 30
_FEW = 12  # up to so many values a column has a bar for each
_INNER = (0.005, 0.995)  # a column is drawn between these quantiles


@dataclass(frozen=True, eq=False)
class Panel:
    """Effects that are drawn together: all effects of the same columns of the user's table.

    Parameters
    ----------
    units : tuple of EncodedUnit; of two, the first is on the x-axis
    numbers : list of int, the positions of the effects in `effects_.subsets`
    share : float, the sum of their shares
    """

    units: tuple[Any, ...]
    numbers: list[int]
    share: float

    @property
    def name(self) -> str:
        return f" {TIMES} ".join(unit.name for unit in self.units)

    def turned(self, first: str) -> Panel:
        """The panel with the unit of this name on the x-axis."""
        units = sorted(self.units, key=lambda unit: unit.name != first)
        return Panel(tuple(units), self.numbers, self.share)


def panels_of(model: Any) -> list[Panel]:
    """All panels of a fitted model."""
    summary, units = model.effects_, model.effect_units()
    owner = {column: i for i, unit in enumerate(units) for column in unit.columns}
    groups: dict[tuple[int, ...], list[int]] = {}
    for number, subset in enumerate(summary.subsets):
        groups.setdefault(tuple(sorted({owner[c] for c in subset})), []).append(number)
    return [
        _as_on_maps(
            Panel(tuple(units[i] for i in key), numbers, float(summary.shares[numbers].sum()))
        )
        for key, numbers in groups.items()
    ]


def chosen_panels(model: Any, effects: Sequence[Any] | None, n_effects: int) -> list[Panel]:
    """The panels named by `effects`, or those with the largest shares."""
    panels = panels_of(model)
    if effects is None:
        order = np.argsort([-abs(panel.share) for panel in panels], kind="stable")
        return [panels[i] for i in order[:n_effects]]
    return [_named(model.effects_, panels, effect) for effect in effects]


def _named(summary: Any, panels: list[Panel], effect: Any) -> Panel:
    """The panel of an effect: a name, numbers of columns, or names of one or two columns."""
    known: dict[Any, Panel] = {}
    for panel in panels:
        for number in panel.numbers:
            known[summary.names[number]] = known[frozenset(summary.subsets[number])] = panel
        known[frozenset(unit.name for unit in panel.units)] = panel
        known[panel.name] = known[panel.name.replace(f" {TIMES} ", " x ")] = panel
    if isinstance(effect, str):
        key: Any = effect
    else:
        key = frozenset(np.atleast_1d(np.array(effect, dtype=object)).tolist())
    if key not in known:
        names = ", ".join(repr(panel.name.replace(TIMES, "x")) for panel in panels[:8])
        raise ValueError(f"effects has {effect!r}, and the model has {names}")
    found = known[key]
    if isinstance(effect, str) or np.ndim(effect) == 0:
        return found
    (first, *_) = effect
    units = [unit for unit in found.units if first == unit.name or first in unit.columns]
    return found.turned(units[0].name) if units else found


def _as_on_maps(panel: Panel) -> Panel:
    """Longitude goes to the right, and latitude up."""
    for unit in panel.units:
        name = unit.name.lower()
        if name.startswith(("lon", "lng")) and len(panel.units) == 2:
            other = next(each for each in panel.units if each is not unit)
            return panel.turned(unit.name) if other.name.lower().startswith("lat") else panel
    return panel


@dataclass(frozen=True, eq=False)
class _Axis:
    """The values of a unit at which effects are drawn.

    Parameters
    ----------
    columns : list of int
    values : (k, columns), as the map sees them
    at : (k,), their positions in the drawing
    labels : list of str, one for each value; empty for numbers
    """

    columns: list[int]
    values: Floats
    at: Floats
    labels: list[str]

    @classmethod
    def of(cls, unit: Any, rows: Floats, points: int) -> _Axis:
        columns = list(unit.columns)
        if unit.labels:
            return cls(columns, unit.values, np.arange(float(len(unit.labels))), list(unit.labels))
        x = np.unique(rows[:, columns[0]])
        if len(x) <= _FEW:
            labels = [f"{value:.4g}" for value in unit.in_units(x)]
            return cls(columns, x[:, None], np.arange(float(len(x))), labels)
        low, high = np.quantile(rows[:, columns[0]], _INNER)
        x = np.linspace(low, high, points)
        return cls(columns, x[:, None], unit.in_units(x), [])

    def nearest(self, rows: Floats) -> Indices:
        """The position of the value nearest to each row; -1 beyond the ends of numbers."""
        values = rows[:, self.columns]
        found = cdist(values, self.values, "sqeuclidean").argmin(axis=1)
        if self.labels:
            return found
        beyond = (values[:, 0] < self.values[0]) | (values[:, 0] > self.values[-1])
        return np.where(beyond, -1, found)


def record_of(model: Any, panel: Panel, rows: Floats, target: int) -> dict[str, Any]:
    """The record of a panel for `EffectsDisplay`; rows are from `model.background`."""
    record = {
        "name": panel.name,
        "columns": [unit.name for unit in panel.units],
        "share": panel.share,
    }
    if len(panel.units) == 1:
        return record | _curve_or_bars(model, panel, rows, target)
    return record | (_map(model, panel, rows, target) if len(panel.units) == 2 else {})


def _curve_or_bars(model: Any, panel: Panel, rows: Floats, target: int) -> dict[str, Any]:
    (unit,) = panel.units
    axis = _Axis.of(unit, rows, _LINE)
    at = np.tile(rows[:1], (len(axis.values), 1))
    at[:, axis.columns] = axis.values
    value, deviation = model.effect(panel.numbers, at)
    record = {
        "x": axis.at,
        "value": value[:, target],
        "deviation": None if deviation is None else deviation[:, target],
    }
    if axis.labels:
        counts = np.bincount(axis.nearest(rows), minlength=len(axis.labels))
        return record | {"labels": axis.labels, "counts": counts}
    x = axis.values[:, 0]
    counts, edges = np.histogram(rows[:, axis.columns[0]], bins=_BINS, range=(x[0], x[-1]))
    return record | {"counts": counts, "edges": unit.in_units(edges)}


def _map(model: Any, panel: Panel, rows: Floats, target: int) -> dict[str, Any]:
    x, y = (_Axis.of(unit, rows, _SIDE) for unit in panel.units)
    at = np.tile(rows[:1], (len(y.at) * len(x.at), 1))
    at[:, x.columns] = np.tile(x.values, (len(y.at), 1))
    at[:, y.columns] = np.repeat(y.values, len(x.at), axis=0)
    value, _ = model.effect(panel.numbers, at)
    return {
        "x": x.at,
        "y": y.at,
        "x_labels": x.labels,
        "y_labels": y.labels,
        "value": value[:, target].reshape(len(y.at), len(x.at)),
        "seen": _seen(x, y, rows),
    }


def _seen(x: _Axis, y: _Axis, rows: Floats) -> Mask:
    """Which points of a grid have two rows nearby, (len(y), len(x))."""
    places = y.nearest(rows), x.nearest(rows)
    inside = (places[0] >= 0) & (places[1] >= 0)
    count = np.zeros((len(y.at), len(x.at)), dtype=np.int64)
    np.add.at(count, (places[0][inside], places[1][inside]), 1)
    reach = [0 if axis.labels else 1 for axis in (y, x)]
    padded = np.pad(count, [(r, r) for r in reach])
    near = [
        padded[a : a + count.shape[0], b : b + count.shape[1]]
        for a in range(2 * reach[0] + 1)
        for b in range(2 * reach[1] + 1)
    ]
    return np.asarray(sum(near) > 1)
