"""The kind of target: a number or a class; errors for targets that are neither."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.encoder_targets import is_labels
from ..data.tables import is_number

_MOST_CLASSES = 1000


def is_classification(y: Any, task: str, target: str, data: Any) -> bool:
    """Whether targets are classes; a ValueError for those that cannot be learned.

    Parameters
    ----------
    y : array (n,)
    task : "auto", "regression" or "classification"
    target, data : names, for messages
    """
    if not (is_labels(y) if task == "auto" else task == "classification"):
        if y.dtype.kind not in "biuf":
            _refuse_mixed(y, target)
            raise ValueError(
                f"the target {target!r} of {data} has text such as {str(y[0])!r}, which is not a "
                f"number; leave out --task regression"
            )
        _refuse_constant(y)
        return False
    _refuse_constant(y)
    n_classes = len(np.unique(y))
    if n_classes > _MOST_CLASSES or n_classes > max(2, len(y) // 2):
        _refuse_mixed(y, target)
        raise ValueError(
            f"the target {target!r} has {n_classes:,} different values in {len(y):,} rows, too "
            f"many for classes; name another column, or use --task regression for numbers"
        )
    return True


def _refuse_mixed(y: Any, target: str) -> None:
    """Raise an error for numbers mixed with text: neither classes nor a regression."""
    if y.dtype.kind in "biuf":
        return
    text = np.array([not is_number(str(each)) for each in y])
    if text.sum() > len(y) / 2:
        return
    such = "some text"  # in rows that are held out
    if text.any():
        such = f"text such as {str(y[text][0])!r} in {int(text.sum()):,} of {len(y):,} rows"
    raise ValueError(
        f"the target {target!r} has numbers, and {such}; leave these values empty or correct them"
    )


def _refuse_constant(y: Any) -> None:
    if (y == y[0]).all():
        raise ValueError(
            f"every row has the target {y[0].item()!r}, so there is nothing to learn; name "
            f"another column by --target"
        )
