"""What a model is compared with: the mean, a linear model and gradient boosting of scikit-learn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_limits

from .._typing import Floats
from ..data.column_kinds import kind_of
from ..data.encoder import TableEncoder
from ..data.frame import Column, Frame, frame

_BINS = 254  # categories of a column that gradient boosting takes
_ONE_HOT = 30
_SMALL = 10_000  # rows below which threads cost more than they bring
MEAN, LINEAR, BOOSTING = "the mean", "linear model", "gradient boosting"
MAJORITY = "most frequent class"

Predict = Callable[[Any], Floats]  # predictions, or probabilities of classes (n, k)


def linear(X: Any, y: Any, weight: Any, *, classes: bool) -> Predict:
    """A linear model of scaled numbers, one-hot categories and target means."""
    if sparse.issparse(X):
        model: Any = make_pipeline(MaxAbsScaler(), _linear(classes))
        weights = {f"{model.steps[-1][0]}__sample_weight": weight}
        model.fit(X, y, **weights)
        return model.predict_proba if classes else model.predict
    encoder = TableEncoder(max_one_hot=_ONE_HOT, task="classification" if classes else "regression")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = encoder.fit_transform(X, y, weight)
        model = _linear(classes).fit(Z, y, sample_weight=weight)
    predict = model.predict_proba if classes else model.predict
    return lambda rows: predict(encoder.encode(rows)[0])


def _linear(classes: bool) -> Any:
    return LogisticRegression(max_iter=200) if classes else RidgeCV(np.logspace(-3, 4, 15))


def boosting(X: Any, y: Any, weight: Any, *, classes: bool) -> Predict | None:
    """Gradient boosting with its own treatment of categories and gaps; None for sparse rows."""
    if sparse.issparse(X):
        return None
    coding = _Coding(frame(X))
    kind: Any = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(categorical_features=coding.categorical, random_state=0)
    with threadpool_limits(1 if len(y) < _SMALL else None):
        model.fit(coding.numbers(frame(X)), y, sample_weight=weight)
    predict = model.predict_proba if classes else model.predict
    return lambda rows: predict(coding.numbers(frame(rows)))


class _Coding:
    """Categories as codes: the 254 most frequent ones; others, and gaps, are missing."""

    def __init__(self, table: Frame) -> None:
        kinds = {name: kind_of(name, table.column(name), table.n_rows) for name in table.names}
        self._kinds = {name: kind for name, (kind, why) in kinds.items() if kind != "drop"} or {
            name: "number" for name in table.names
        }
        self._places: dict[str, dict[str, int]] = {}
        for name, kind in self._kinds.items():
            if kind in ("category", "text"):
                column = table.column(name).as_text()
                counts = np.bincount(column.values[~column.gaps], minlength=len(column.texts))
                top = np.argsort(-counts, kind="stable")[:_BINS]
                self._places[name] = {column.texts[i]: place for place, i in enumerate(top)}
        self.categorical = np.array([name in self._places for name in self._kinds])

    def numbers(self, table: Frame) -> Floats:
        """(n, d), NaN for gaps."""
        return np.column_stack([self._coded(name, table.column(name)) for name in self._kinds])

    def _coded(self, name: str, column: Column) -> Floats:
        if name in self._places:
            column = column.as_text()
            places = [self._places[name].get(text, np.nan) for text in column.texts]
            return np.array([*places, np.nan])[column.values]
        if self._kinds[name] == "date":
            column = column.as_date()
        return np.asarray(column.as_number().values, dtype=np.float64)


def timed(build: Callable[[], Predict | None]) -> tuple[Predict | None, float]:
    """A fitted baseline, and the seconds that it took."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return build(), time.perf_counter() - began
