"""Predictions of a fitted model for rows of a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.frame import frame


def predictions(model: Any, X: Any) -> Any:
    """Predictions, or probabilities of classes (n, k); for a squared hinge, scores."""
    if not hasattr(model, "classes_"):
        return model.predict(X)
    if hasattr(model, "predict_proba"):
        return model.predict_proba(X)
    scores = model.decision_function(X)
    if scores.ndim == 1:
        scores = np.column_stack([-scores, scores]) / 2
    shares = np.exp(scores - scores.max(axis=1, keepdims=True))
    return shares / shares.sum(axis=1, keepdims=True)


def encoded_rows(model: Any, X: Any) -> Any:
    """Rows as the input of a model's feature map."""
    if hasattr(model, "encoder_"):
        return model.encoder_.encode(X)[0]
    return frame(X).numbers() if hasattr(X, "filter") else X
