"""The meaning of the output columns of a `TableEncoder`: original units, and categories."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from .._typing import Floats
from .column_encoders import (
    DateEncoder,
    NumberEncoder,
    OneHotEncoder,
    TargetMeanEncoder,
    expanded,
)
from .encoder import TableEncoder

_MOST_NAMED = 20  # up to so many categories are shown by name, more by their mean target
_DAYS = 365.2425  # days of a year


class EncodedUnit(NamedTuple):
    """Encoded columns that represent one column of the table, or one property of it.

    Parameters
    ----------
    name : str
    columns : tuple of int
    labels : tuple of str, the categories; empty for a number
    values : (categories, columns), the encoded values of each category
    in_units : function of encoded numbers that gives them in the units of the table; for dates, the
        year
    """

    name: str
    columns: tuple[int, ...]
    labels: tuple[str, ...] = ()
    values: Floats = np.empty((0, 1))
    in_units: Callable[[Floats], Floats] = np.asarray


def encoded_units(encoder: TableEncoder) -> list[EncodedUnit]:
    """The units of the output columns of a fitted encoder, in order.

    Up to 20 categories are one unit, whether they have a column each or are encoded by mean
    targets. A number is one unit, and its indicator of gaps is another.

    >>> import pandas as pd
    >>> table = pd.DataFrame({"size": [1.0, 2.0, 6.0], "colour": ["red", "blue", "green"]})
    >>> units = encoded_units(TableEncoder().fit(table))
    >>> [(unit.name, unit.columns, unit.labels) for unit in units]
    [('size', (0,), ()), ('colour', (1, 2, 3), ('blue', 'green', 'red'))]
    """
    units: list[EncodedUnit] = []
    names, origins = encoder.get_feature_names_out().tolist(), encoder.inverse_.tolist()
    first = 0
    for each in encoder.encoders_:
        origin = origins[first]
        last = first + len(each.names(origin))
        units += _units(each, origin, names[first:last], first)
        first = last
    return units


def _units(encoder: Any, origin: str, names: list[str], first: int) -> list[EncodedUnit]:
    every = tuple(range(first, first + len(names)))
    if isinstance(encoder, OneHotEncoder):
        labels = _labels(encoder)
        values = np.eye(len(labels))[:, len(labels) - len(names) :]  # of two, the second only
        return [EncodedUnit(origin, every, labels, values)]
    if isinstance(encoder, TargetMeanEncoder) and len(encoder.values) <= _MOST_NAMED:
        labels = _labels(encoder)
        return [EncodedUnit(origin, every, labels, encoder.means[: len(labels)])]
    units = []
    for name, column in zip(names, every, strict=True):
        if name == f"{origin} is missing":
            units.append(EncodedUnit(name, (column,), ("no", "yes"), np.array([[0.0], [1.0]])))
        elif name == origin and isinstance(encoder, NumberEncoder | DateEncoder):
            units.append(EncodedUnit(name, (column,), in_units=_in_units(encoder)))
        else:
            units.append(EncodedUnit(name, (column,)))
    return units


def _labels(encoder: OneHotEncoder | TargetMeanEncoder) -> tuple[str, ...]:
    return (*map(str, encoder.values), *["missing"] * encoder.had_gaps)


def _in_units(encoder: NumberEncoder | DateEncoder) -> Callable[[Floats], Floats]:
    def plain(z: Floats) -> Floats:
        return encoder.centre + encoder.spread * expanded(z)

    if isinstance(encoder, NumberEncoder):
        return plain
    return lambda z: 1970 + plain(z) / _DAYS
