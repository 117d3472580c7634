"""Targets and weights for a `TableEncoder`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import check_plain
from .._typing import Floats
from .blocks import not_finite

MOST_LABELS = 20  # different whole numbers that still count as classes
_MOST_MEANS = 10  # most classes with a column of means: the most frequent ones


@dataclass(frozen=True, eq=False)
class EncoderTargets:
    """Targets as numbers (n, t): indicators of classes, or the targets themselves, standardised."""

    values: Floats
    labels: tuple[str, ...]

    @classmethod
    def of(cls, y: Any, task: str, n_rows: int) -> EncoderTargets | None:
        """The targets of n rows; a ValueError if some are missing or not of the task's kind."""
        if y is None:
            return None
        if isinstance(y, str):
            raise TypeError(f"y={y!r} names a column, which only a file has; give an array")
        y = np.asarray(y)
        check_plain("y", y, dates=True)
        if y.ndim not in (1, 2) or len(y) != n_rows:
            raise ValueError(f"y has shape {y.shape} and X has {n_rows} rows; give one per row")
        missing = not_finite(y)
        if missing is not None and missing.any():
            row = int(np.argwhere(missing)[0][0])
            raise ValueError(f"y is missing or infinite (NaN or inf) in row {row}; leave it out")
        if is_labels(y) if task == "auto" else task == "classification":
            return cls._of_classes(y.ravel() if y.size == n_rows else y[:, 0])
        try:
            values = y.reshape(n_rows, -1).astype(np.float64)
        except (TypeError, ValueError):
            raise ValueError(
                f"y has values such as {y.ravel()[0]!r}, which are not numbers; for classes write "
                f"task='classification'"
            ) from None
        names = ("",) if values.shape[1] == 1 else tuple(map(str, range(values.shape[1])))
        spread = values.std(axis=0)
        return cls((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0), names)

    @classmethod
    def _of_classes(cls, y: Any) -> EncoderTargets:
        classes, codes = np.unique(y.astype(str) if y.dtype.kind == "O" else y, return_inverse=True)
        if len(classes) <= 2:
            return cls((codes == len(classes) - 1)[:, None].astype(np.float64), ("",))
        order = np.argsort(-np.bincount(codes), kind="stable")[:_MOST_MEANS]
        values = (codes[:, None] == order).astype(np.float64)
        return cls(values, tuple(str(classes[i]) for i in order))


def is_labels(y: Any) -> bool:
    """Whether targets are classes: text, booleans, or at most 20 different whole numbers."""
    y = np.asarray(y)
    if y.dtype.kind in "UOSb":
        return True
    if y.ndim != 1 or y.dtype.kind not in "iuf":
        return False
    return bool((y == np.round(y)).all()) and len(np.unique(y)) <= MOST_LABELS


def row_weights(sample_weight: Any, n: int) -> Floats:
    """Checked weights of n rows; 1 if none are given."""
    if sample_weight is None:
        return np.ones(n)
    try:
        weight = np.asarray(sample_weight, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise ValueError("sample_weight must be numbers, one per row") from None
    if weight.shape != (n,):
        raise ValueError(f"sample_weight has shape {weight.shape} and X has {n} rows")
    if not (np.isfinite(weight).all() and (weight >= 0).all() and (weight > 0).any()):
        raise ValueError("sample_weight must be finite and not negative, and not every weight zero")
    return weight
