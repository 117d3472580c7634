"""Score against rows and against columns of features: would more of them help?"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from sklearn.base import clone

from .predictions import encoded_rows, predictions
from .rows import RowBlock
from .scores import Score

_MOST_ROWS = 8000  # rows of a refit
_FEWEST = 50
_SECONDS = 15.0  # refits that would end later are skipped
_FEWEST_COLUMNS = 8


def learning_curve(
    model: Any, train: RowBlock, test: RowBlock, n_train: int, score: Callable[[Any], Score]
) -> tuple[tuple[int, float], ...]:
    """(rows, score on the held-out rows) of refits on fewer rows, few rows first.

    Encoder, kernel and kind of map are kept from the model; the map, the penalty and the
    coefficients are refitted. So small refits look slightly better than fits from scratch.

    Parameters
    ----------
    train : training rows, or a sample of them
    test : held-out rows
    n_train : int, rows that the model was fitted on
    score : function of predictions for the held-out rows
    """
    most = min(len(train), n_train // 2, _MOST_ROWS)
    sizes = [most >> shift for shift in (3, 2, 1, 0) if most >> shift >= _FEWEST]
    return _scored(
        model, test, score, [(size, partial(_refit, model, _some(train, size))) for size in sizes]
    )


def width_curve(
    model: Any, train: RowBlock, test: RowBlock, score: Callable[[Any], Score]
) -> tuple[tuple[int, float], ...]:
    """(columns of features, score on the held-out rows) of refits on the same rows, few first.

    The last but one refit has as many columns as the model, if time allows, and the last one twice
    as many. Encoder and kernel are kept from the model; all refits use the same rows, at most
    8,000, so that only their columns differ. Empty for a map without a parameter for the number of
    columns.

    Parameters
    ----------
    as `learning_curve`
    """
    asked = getattr(model.features_, "n_components", None)
    if not isinstance(asked, int):
        return ()
    widths = [w for w in (asked // 4, asked // 2, asked, 2 * asked) if w >= _FEWEST_COLUMNS]
    some = _some(train, _MOST_ROWS)
    fits = [(width, partial(_refit, model, some, width)) for width in widths]
    return _scored(model, test, score, fits)


def _some(train: RowBlock, size: int) -> RowBlock:
    """This number of random rows; larger samples contain the smaller ones."""
    chosen = np.zeros(len(train), dtype=bool)
    chosen[np.random.default_rng(0).permutation(len(train))[:size]] = True
    return train.at(chosen)


def _scored(
    model: Any,
    test: RowBlock,
    score: Callable[[Any], Score],
    fits: Sequence[tuple[int, Callable[[], Any]]],
) -> tuple[tuple[int, float], ...]:
    """(size, score) of refits with doubling sizes, as many as time allows."""
    began = time.perf_counter()
    points: list[tuple[int, float]] = []
    X_test = encoded_rows(model, test.X)
    for size, fit in fits:
        if points and time.perf_counter() - began > _SECONDS / 3:
            break  # the next takes about as long as all before, or twice as long
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                points.append((size, score(predictions(fit(), X_test)).value))
        except ValueError:  # the map needs more rows, or a class is missing
            continue
    return tuple(points)


def _refit(model: Any, some: RowBlock, width: int | None = None) -> Any:
    """A refit with the model's encoder, kernel and kind of map, or another width."""
    if hasattr(model, "classes_") and len(np.unique(some.y)) < len(model.classes_):
        raise ValueError("rows of some class are missing")
    fitted = getattr(model.features_, "map_", model.features_)
    features = clone(fitted) if width is None else clone(model.features)
    features.set_params(kernel=fitted.kernel_)
    if width is not None:
        features.set_params(n_components=width)
    fixed: dict[str, Any] = {"features": features, "encoder": None, "checkpoint": None}
    fixed |= {"verbose": False} | ({"loss": model.loss_} if hasattr(model, "loss_") else {})
    encoded = hasattr(model, "encoder_")
    X = model.encoder_.encode_training(some.X) if encoded else encoded_rows(model, some.X)
    return clone(model).set_params(**fixed).fit(X, some.y, some.weight)


def gain(points: tuple[tuple[int, float], ...], n_train: int, score: float) -> float | None:
    """The rise of the score in the last doubling; None if not known."""
    if not points or points[-1][0] >= n_train:
        return None
    return float((score - points[-1][1]) / np.log2(n_train / points[-1][0]))
