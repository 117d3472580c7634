"""Sources of arrays and DataFrames."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_plain, naming
from .._errors import NeedsEncoding
from .base import Source
from .blocks import Form, Names
from .wanted import Batch, Wanted


# --- arrays -------------------------------------------------------------------------------------
def array_source(
    X: Any, y: Any, weight: Any, rows: int, width: int | None, name: str = "X"
) -> Source:
    """An array, memory map or sparse matrix, sliced a block at a time."""
    X = X.tocsr() if sparse.issparse(X) else (X if hasattr(X, "shape") else np.asarray(X))
    check_plain(name, X)
    if X.ndim != 2:
        raise ValueError(f"{name} must have two dimensions (rows, columns), got shape {X.shape}")
    n = X.shape[0]
    y, weight = checked_vector("y", y, n), checked_vector("sample_weight", weight, n)

    def read(first: int) -> Iterator[Batch]:
        for start in range(first, n, rows):
            some = slice(start, start + rows)
            yield Batch(
                X[some], None if y is None else y[some], None if weight is None else weight[some]
            )

    return Source(
        name, n, rows, Names("column"), read, Form(X.shape[1] if width is None else width)
    )


def frame_source(X: Any, y: Any, weight: Any, rows: int, columns: Any) -> Source:
    """A pandas or polars DataFrame, converted to numbers a block at a time."""
    names = [str(name) for name in X.columns]
    chosen = Wanted(columns=columns).choose(Path("X"), names)
    part = X if chosen == names else X[chosen]
    dtype = frame_dtype(part)
    y, weight = checked_vector("y", y, len(X)), checked_vector("sample_weight", weight, len(X))

    def rows_of(start: int, stop: int) -> Any:
        some = part.iloc[start:stop] if hasattr(part, "iloc") else part[start:stop]
        return frame_numbers(some, chosen, dtype, start)

    def read(first: int) -> Iterator[Batch]:
        for start in range(first, len(part), rows):
            stop = start + rows
            yield Batch(
                rows_of(start, stop),
                None if y is None else y[start:stop],
                None if weight is None else weight[start:stop],
            )

    width = columns if isinstance(columns, int) else len(chosen)
    return Source("X", len(part), rows, Names("column", chosen), read, Form(width))


def frame_dtype(frame: Any) -> Any:
    """float32 if every column is float32 or float16, else float64."""
    types = [str(kind).lower() for kind in frame.dtypes]
    narrow = all(kind in ("float32", "float16") for kind in types)
    return np.float32 if narrow and types else np.float64


def frame_numbers(frame: Any, names: Sequence[str], dtype: Any, row: int) -> Any:
    """The columns of a DataFrame as an array (n, d); `row` is its first row, for messages."""
    X = np.empty((len(frame), len(names)), dtype=dtype)
    for j, name in enumerate(names):
        column = frame.iloc[:, j] if hasattr(frame, "iloc") else frame.to_series(j)
        check_plain(f"column {name!r}", column)
        try:
            X[:, j] = np.asarray(column, dtype=dtype)
        except (TypeError, ValueError) as error:
            raise NeedsEncoding(
                f"column {name!r} has a value that is not a number in rows {row} to "
                f"{row + len(frame)}: {error}"
            ) from None
    return X


def checked_vector(name: str, value: Any, n: int) -> Any:
    """Targets or weights as an array with n rows; None stays None."""
    if value is None:
        return None
    if isinstance(value, str):
        raise TypeError(f"{name}={value!r} names a column, which only a file has; give an array")
    with naming(name):
        value = value if isinstance(value, np.ndarray) else np.asarray(value)
    check_plain(name, value, dates=True)
    if value.ndim == 0 or len(value) != n:
        raise ValueError(f"{name} has shape {value.shape} and X has {n} rows")
    return value
