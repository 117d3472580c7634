"""Checks of the parameters of both models."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._checks import (
    check_choice,
    check_declared,
    check_not_negative,
    check_path,
    check_positive,
    naming,
)
from ..data.encoder import TableEncoder
from ..kernels.base import Kernel
from ..maps.base import FeatureMap

DTYPES = ("float32", "float64")
ROWS: dict[str, Any] = {  # scikit-learn's checks of an array X
    "accept_sparse": "csr",
    "dtype": [np.float64, np.float32],
    "gaps": "arrays must have no gaps: give a DataFrame, whose gaps are encoded, or fit with "
    "encoder=TableEncoder()",
}


def check_parameters(model: Any) -> None:
    """Raise a ValueError or TypeError for a parameter out of range."""
    check_declared(model)
    if isinstance(model.features, Kernel):
        raise TypeError(
            f"features must be a feature map, and {model.features!r} is a kernel: write "
            f"{type(model).__name__}(KernelFeatures({model.features!r}))"
        )
    if not (model.features is None or isinstance(model.features, FeatureMap)):
        raise TypeError(
            f"features must be a feature map such as KernelFeatures(n_components=1024), or "
            f"None, got {model.features!r}"
        )
    if model.features is not None:
        model.features.check_parameters()
    if not (model.encoder is None or isinstance(model.encoder, TableEncoder)):
        raise TypeError(f"encoder must be TableEncoder(...), or None, got {model.encoder!r}")
    if isinstance(model.alpha, str):
        check_choice("alpha", model.alpha, ("auto",))
    else:
        with naming("alpha"):
            values = np.atleast_1d(model.alpha).tolist()
        if not values:
            raise ValueError("alpha is empty; give a number such as 1.0, several, or 'auto'")
        for value in values:
            check_positive("alpha", value)
    if model.dtype is not None:
        check_choice("dtype", model.dtype, DTYPES)
    if model.checkpoint is not None:
        check_path("checkpoint", model.checkpoint)
    check_not_negative("checkpoint_interval", model.checkpoint_interval, example="60.0")
