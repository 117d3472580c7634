"""The encoder of a table, as a graph: one input per column of numbers or texts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import Floats
from ..data.column_encoders import (
    DateEncoder,
    NumberEncoder,
    OneHotEncoder,
    TargetMeanEncoder,
    compressed,
)
from ..data.encoder import TableEncoder
from ..data.frame import MISSING, Column
from .graph import Graph, Value, joined

_FARTHEST = 1e300  # limit of a scaled number, as in `NumberEncoder`


def encoded(graph: Graph, encoder: TableEncoder) -> Value:
    """The result of `encoder.transform` in double precision, (n, n_outputs).

    Inputs have the names of the columns of the table and shape (n,): doubles for numbers, NaN for
    gaps; texts for categories, "" for gaps. Dates and free text are refused.
    """
    names = [column.name for column in encoder.report_ if column.kind != "drop"]
    parts = []
    for name, each in zip(names, encoder.encoders_, strict=True):
        if isinstance(each, NumberEncoder):
            parts += _number(graph.column(name, "wide"), each)
        elif isinstance(each, OneHotEncoder | TargetMeanEncoder):
            parts.append(_category(graph.column(name, "text"), each))
        else:
            kind = "a date" if isinstance(each, DateEncoder) else "free text"
            raise ValueError(
                f"column {name!r} is {kind}, and only numbers, booleans and categories can be "
                f"exported; fit with encoder=TableEncoder(columns={{{name!r}: 'drop'}}), or "
                f"convert it to numbers first"
            )
    rows = joined(parts)
    rows.width = len(encoder.get_feature_names_out())
    return rows


def _number(x: Value, encoder: NumberEncoder) -> list[Value]:
    """The formula of `NumberEncoder.encode`, column by column."""
    gaps = x.graph.add("IsNaN", x, kind="bool")
    z = (x - encoder.centre) / encoder.spread
    near: Value = np.minimum(np.maximum(z, -_FARTHEST), _FARTHEST)
    known = x.graph.constant(0.0, "wide").when(gaps, near)
    formula: Callable[[Any], Any] = compressed  # of numbers, and of symbols
    columns: list[Value] = [formula(known)]
    if encoder.indicator:
        columns.append(gaps.to("wide"))
    return [column.reshape(-1, 1) for column in columns]


def _category(text: Value, encoder: OneHotEncoder | TargetMeanEncoder) -> Value:
    """Rows of a table by the position of the text among the categories."""
    k = len(encoder.values)
    positions = dict.fromkeys(sorted(MISSING), k)
    positions.update({value: i for i, value in enumerate(encoder.values)})
    codes = text.graph.add("Lookup", text, kind="index", positions=positions, default=k + 1)
    return text.graph.constant(_outcomes(encoder), "wide").at(codes)


def _outcomes(encoder: OneHotEncoder | TargetMeanEncoder) -> Floats:
    """(k + 2, t): the outputs of every category, of a gap, and of an unknown category."""
    k = len(encoder.values)
    unknown = "\0".join(["", *encoder.values])  # longer than any of them
    every = Column("text", np.array([*range(k), -1, k]), (*encoder.values, unknown))
    return encoder.encode(every)
