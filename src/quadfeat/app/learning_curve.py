"""Score against rows: a fitted model refitted on fewer rows, to tell whether more would help."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.base import clone

from .rows import RowBlock
from .scores import Score
from .study import encoded_rows, predictions

_MOST_ROWS = 8000  # of a refit
_FEWEST = 50
_SECONDS = 15.0  # refits that would end later are left out


def learning_curve(
    model: Any, train: RowBlock, test: RowBlock, n_train: int, score: Callable[[Any], Score]
) -> tuple[tuple[int, float], ...]:
    """(rows, score on the held-out rows) of refits on fewer rows, few rows first.

    Encoder, kernel and kind of map are those of the model; what is fitted again is the map, the
    penalty and the coefficients. So small refits look slightly better than fits from scratch.

    Parameters
    ----------
    train : training rows, or a sample of them
    test : held-out rows
    n_train : int, rows that the model was fitted on
    score : function of predictions for the held-out rows
    """
    began = time.perf_counter()
    most = min(len(train), n_train // 2, _MOST_ROWS)
    sizes = [most >> shift for shift in (3, 2, 1, 0) if most >> shift >= _FEWEST]
    order = np.random.default_rng(0).permutation(len(train))
    points: list[tuple[int, float]] = []
    X_test = encoded_rows(model, test.X)
    for size in sizes:
        if points and time.perf_counter() - began > _SECONDS / 3:
            break  # the next takes about as long as all before
        chosen = np.zeros(len(train), dtype=bool)
        chosen[order[:size]] = True
        some = train.at(chosen)
        if hasattr(model, "classes_") and len(np.unique(some.y)) < len(model.classes_):
            continue
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                refitted = _refit(model, some)
                points.append((size, score(predictions(refitted, X_test)).value))
        except ValueError:  # of a map that refuses few rows
            continue
    return tuple(points)


def _refit(model: Any, some: RowBlock) -> Any:
    fitted = getattr(model.features_, "map_", model.features_)
    features = clone(fitted).set_params(kernel=fitted.kernel_)
    fixed: dict[str, Any] = {"features": features, "encoder": None, "checkpoint": None}
    fixed |= {"verbose": False} | ({"loss": model.loss_} if hasattr(model, "loss_") else {})
    encoded = hasattr(model, "encoder_")
    X = model.encoder_.encode_training(some.X) if encoded else encoded_rows(model, some.X)
    return clone(model).set_params(**fixed).fit(X, some.y, some.weight)


def gain(points: tuple[tuple[int, float], ...], n_train: int, score: float) -> float | None:
    """How much the score rose by the last doubling of the rows; None if not known."""
    if not points or points[-1][0] >= n_train:
        return None
    return float((score - points[-1][1]) / np.log2(n_train / points[-1][0]))
