"""The predictions of a model along single columns, as numbers for the page to draw."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from ..data.frame import frame
from .predictions import predictions
from .rows import RowBlock

_CURVES, _CURVE_ROWS, _GRID, _CATEGORIES = 6, 100, 24, 8


def curves(
    model: Any, block: RowBlock, names: Sequence[str], predicted: Any
) -> tuple[tuple[dict[str, Any], ...], str]:
    """Predictions along the first columns of `names`, and what their values mean.

    For a model with effects, the effect of the column alone with its posterior deviation; for
    others partial dependence (Friedman, 2001) over some rows.
    """
    classes = getattr(model, "classes_", None)
    target, label = None, "mean prediction"
    if classes is not None:
        target = 1 if len(classes) == 2 else int(np.argmax(predicted.sum(axis=0)))
        label = f"probability of {classes[target]!s}"
    if sparse.issparse(block.X) or not names:
        return (), label
    effects = _Effects.of(model, target)
    table = frame(block.X)
    rows = np.random.default_rng(0).permutation(len(block))[: 1 if effects else _CURVE_ROWS]
    found = []
    for name in names[:_CURVES]:
        position = position_of(table.names, name)
        kind, number = _as_drawn(table.column(table.names[position]))
        values: list[Any] = _categories(number) if kind == "category" else _grid(number)
        if len(values) < 2:
            continue
        X = _with_column(block.X, rows, position, np.repeat([i for i, _ in values], len(rows)))
        x = [each for _, each in values]
        found.append({"name": name, "kind": kind, "x": x, "deviation": None})
        if effects is not None:
            found[-1] |= effects.at(X, table.names[position])
        else:
            every = predictions(model, X)
            every = every if target is None else every[:, target]
            means = every.reshape(len(values), len(rows)).mean(axis=1)
            found[-1]["value"] = means.tolist()
        if kind != "category":
            known = number.values[~number.gaps]
            counts, edges = np.histogram(known, bins=_GRID, range=(x[0], x[-1]))
            found[-1] |= {"counts": counts.tolist(), "edges": edges.tolist()}
    return tuple(found), label if effects is None else effects.label


@dataclass(frozen=True, eq=False)
class _Effects:
    """The effects of a model, by columns of its table; `target` is one of several classes."""

    model: Any
    subsets: tuple[tuple[int, ...], ...]
    columns: list[str]  # the column of the table behind each column of the map
    target: int | None

    @classmethod
    def of(cls, model: Any, target: int | None) -> _Effects | None:
        try:
            subsets = model.effects_.subsets
        except ValueError:  # the kernel has no subsets
            return None
        encoder = getattr(model, "encoder_", None)
        columns = getattr(model, "feature_names_in_", None) if encoder is None else encoder.inverse_
        d = model.features_.n_features_in_
        names = [f"column {i}" for i in range(d)] if columns is None else list(map(str, columns))
        several = target is not None and len(model.classes_) > 2
        return cls(model, subsets, names, target if several else None)

    @property
    def label(self) -> str:
        """The quantity that effects add up to."""
        if not hasattr(self.model, "classes_"):
            return "effect on the prediction"
        label = self.model.classes_[1 if self.target is None else self.target]
        return f"effect on the score of {label!s}"

    def at(self, X: Any, name: str) -> dict[str, Any]:
        """The sum of all effects of one column at rows, with its deviation if it is a single one.

        Parameters
        ----------
        X : rows that differ in this column only
        name : str, the column
        """
        alone = [
            i
            for i, subset in enumerate(self.subsets)
            if all(self.columns[axis] == name for axis in subset)
        ]
        deviation = None
        if hasattr(self.model, "classes_") or self.model.posterior is None:
            value = self.model.effects(X)
        else:
            value, spread = self.model.effects(X, return_std=True)
            if len(alone) == 1:
                deviation = spread[:, alone[0]].tolist()
        value = value if self.target is None else value[:, :, self.target]
        return {"value": value[:, alone].sum(axis=1).tolist(), "deviation": deviation}


def position_of(names: Sequence[str], name: str) -> int:
    """The position of a column; columns without names are called "column 3"."""
    return names.index(name) if name in names else int(name.rpartition(" ")[2])


def _as_drawn(column: Any) -> tuple[str, Any]:
    """The kind of plot for a column, and its values: numbers, dates as days, or texts."""
    if column.kind == "date":
        return "date", column.as_number()
    if column.kind != "text":
        return "number", column
    for kind, converted in (("number", column.as_number()), ("date", column.as_date())):
        if converted.gaps.sum() == column.gaps.sum():
            return kind, converted.as_number()
    return "category", column


def _grid(column: Any) -> list[tuple[int, float]]:
    """Values from small to large, all or evenly spaced ones, each with a row that has it."""
    known = np.flatnonzero(~column.gaps)
    order = known[np.argsort(column.values[known], kind="stable")]
    ordered = column.values[order]
    distinct = np.unique(ordered)
    if len(distinct) > _GRID:
        low, high = np.quantile(ordered, [0.01, 0.99])
        places = np.searchsorted(ordered, np.linspace(low, high, _GRID))
        distinct = np.unique(ordered[np.minimum(places, len(order) - 1)])
    rows = order[np.searchsorted(ordered, distinct)]
    return [(int(row), float(x)) for row, x in zip(rows, distinct, strict=True)]


def _categories(column: Any) -> list[tuple[int, str]]:
    """The most frequent texts, each with a row that has it."""
    codes, first, counts = np.unique(column.values, return_index=True, return_counts=True)
    order = np.argsort(-counts, kind="stable")[:_CATEGORIES]
    return [(int(first[i]), "(gap)" if codes[i] < 0 else column.texts[codes[i]]) for i in order]


def _with_column(X: Any, rows: Any, position: int, at: Any) -> Any:
    """Copies of `rows`, one after the other, whose column has the values of the rows `at`."""
    repeated = np.tile(rows, len(at) // len(rows))
    if hasattr(X, "filter"):
        values = X.column(position).take(at)
        return X.take(repeated).set_column(position, X.column_names[position], values)
    out = X[repeated]
    out[:, position] = X[at, position]
    return out
