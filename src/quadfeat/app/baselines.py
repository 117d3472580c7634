"""Models to compare with: linear models, gradient boosting and the maps of scikit-learn."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression, RidgeClassifierCV, RidgeCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler
from threadpoolctl import threadpool_limits

from .._typing import Floats
from ..data.column_kinds import kind_of
from ..data.encoder import TableEncoder
from ..data.frame import Column, Frame, frame
from ..kernels.stationary import Gaussian
from .predictions import predictions

_BINS = 254  # most categories of a column for gradient boosting
_ONE_HOT = 30
_SMALL = 10_000  # with fewer rows threads cost more than they gain
_MEDIAN_ROWS = 2000  # for the scale of a kernel map
_FACTORS = (0.25, 1.0, 4.0)  # factors of its gamma
_PENALTIES = np.logspace(-6, 2, 9)
MEAN, LINEAR, BOOSTING = "the mean", "linear model", "gradient boosting"
MAJORITY = "most frequent class"


def _threads(n_rows: int) -> Any:
    """One thread for few rows: threads of gradient boosting then wait longer than they work."""
    return threadpool_limits(1 if n_rows < _SMALL else None)


@dataclass(frozen=True, eq=False)
class Fitted:
    """A fitted model and the encoding of its rows; calling it predicts, or gives shares (n, k).

    `threaded`: few rows are predicted on one thread.
    """

    model: Any
    encoding: Callable[[Any], Any] | None = None
    threaded: bool = False

    def __call__(self, rows: Any) -> Any:
        X = rows if self.encoding is None else self.encoding(rows)
        with _threads(X.shape[0]) if self.threaded else nullcontext():
            return predictions(self.model, X)

    @property
    def labels(self) -> Any:
        """The classes, in the order of the columns of shares; None for a regression."""
        return getattr(self.model, "classes_", None)


def linear(X: Any, y: Any, weight: Any, *, classes: bool) -> Fitted:
    """A linear model of scaled numbers, one-hot categories and target means."""
    if sparse.issparse(X):
        model: Any = make_pipeline(MaxAbsScaler(), _linear(classes))
        weights = {f"{model.steps[-1][0]}__sample_weight": weight}
        return Fitted(model.fit(X, y, **weights))
    encoder = TableEncoder(max_one_hot=_ONE_HOT, task="classification" if classes else "regression")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        Z = encoder.fit_transform(X, y, weight)
        model = _linear(classes).fit(Z, y, sample_weight=weight)
    return Fitted(model, _Encoding(encoder))


def _linear(classes: bool) -> Any:
    return LogisticRegression(max_iter=200) if classes else RidgeCV(np.logspace(-3, 4, 15))


def boosting(X: Any, y: Any, weight: Any, *, classes: bool) -> Fitted | None:
    """Gradient boosting with its own treatment of categories and gaps; None for sparse rows."""
    if sparse.issparse(X):
        return None
    coding = _Coding(frame(X))
    kind: Any = HistGradientBoostingClassifier if classes else HistGradientBoostingRegressor
    model = kind(categorical_features=coding.categorical, random_state=0)
    with _threads(len(y)):
        model.fit(coding(X), y, sample_weight=weight)
    return Fitted(model, coding, threaded=True)


def has_lightgbm() -> bool:
    """Whether LightGBM is installed; it is not a dependency."""
    return find_spec("lightgbm") is not None


def lightgbm(X: Any, y: Any, weight: Any, *, classes: bool) -> Fitted | None:
    """LightGBM at its defaults, on the columns of `boosting`; None for sparse rows."""
    import lightgbm as package

    if sparse.issparse(X):
        return None
    coding = _Coding(frame(X))
    kind: Any = package.LGBMClassifier if classes else package.LGBMRegressor
    model = kind(random_state=0, verbose=-1)
    categorical = np.flatnonzero(coding.categorical).tolist()
    model.fit(coding(X), y, sample_weight=weight, categorical_feature=categorical)
    return Fitted(model, coding)


def kernel_map(kind: Any, width: int, X: Any, y: Any, weight: Any, *, classes: bool) -> Fitted:
    """A kernel map of scikit-learn with ridge on our encoding of the columns.

    The scale is the median distance times a factor; factor and penalty have the least leave-one-out
    error.

    Parameters
    ----------
    kind : Nystroem or RBFSampler
    """
    if sparse.issparse(X):
        encoding, Z = None, X
    else:
        encoder = TableEncoder(task="classification" if classes else "regression")
        encoding, Z = _Encoding(encoder), encoder.fit_transform(X, y, weight)
    dense = Z[:_MEDIAN_ROWS]
    gamma = Gaussian("median").resolve(dense.toarray() if sparse.issparse(Z) else dense).gamma
    best: Any = None
    for factor in _FACTORS:
        features = kind(gamma=factor * gamma, n_components=min(width, len(y)), random_state=0)
        ridge: Any = (RidgeClassifierCV if classes else RidgeCV)(_PENALTIES)
        ridge.fit(features.fit_transform(Z), y, sample_weight=weight)
        if best is None or ridge.best_score_ > best[-1].best_score_:
            best = features, ridge
    return Fitted(make_pipeline(*best), encoding)


@dataclass(frozen=True, eq=False)
class _Encoding:
    encoder: TableEncoder

    def __call__(self, rows: Any) -> Floats:
        return self.encoder.encode(rows)[0]


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

    def __call__(self, rows: Any) -> Floats:
        """(n, d), NaN for gaps."""
        table = frame(rows)
        return np.column_stack([self._coded(name, table.column(name)) for name in self._kinds])

    def _coded(self, name: str, column: Column) -> Floats:
        if name in self._places:
            column = column.as_text()
            places = [self._places[name].get(text, np.nan) for text in column.texts]
            return np.array([*places, np.nan])[column.values]
        if self._kinds[name] == "date":
            column = column.as_date()
        return np.asarray(column.as_number().values, dtype=np.float64)


def timed(build: Callable[[], Fitted | None]) -> tuple[Fitted | None, float]:
    """A fitted baseline, and the seconds that it took."""
    began = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", UserWarning)
        return build(), time.perf_counter() - began
