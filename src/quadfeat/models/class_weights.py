"""The factor of the row weights of each class."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.class_weight import compute_class_weight

from .._checks import check_choice
from .._typing import Floats
from ..data.summary import Summary


def class_factors(class_weight: Any, classes: Any, summary: Summary) -> Floats | None:
    """The factor of the row weights of each class, (n_classes,), or None."""
    if class_weight is None:
        return None
    if isinstance(class_weight, str):
        check_choice("class_weight", class_weight, ("balanced",))
        totals = dict(zip(summary.classes.tolist(), summary.class_weights, strict=True))
        weight = np.array([totals.get(name, 0.0) for name in classes.tolist()])
        share = weight * np.count_nonzero(weight) / weight.sum()
        return np.divide(1.0, share, out=np.ones_like(share), where=share > 0)
    factors = np.asarray(
        compute_class_weight(class_weight, classes=classes, y=classes), dtype=np.float64
    )
    for name, factor in zip(classes.tolist(), factors.tolist(), strict=True):
        if not 0 <= factor < np.inf:
            raise ValueError(
                f"class_weight of {name!r} must be a number such as 2.0, not below 0, got "
                f"{factor:g}"
            )
    if not factors.any():
        raise ValueError(
            f"class_weight={class_weight!r} gives every class of y the weight 0; give one "
            f"of them a weight such as 1.0"
        )
    return factors
