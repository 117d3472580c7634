"""The models that are compared on a table: quadfeat's as `fit` builds them, and scikit-learn's."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.kernel_approximation import Nystroem, RBFSampler

from ..data.encoder import TableEncoder
from ..data.frame import frame
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..maps.chooser import KernelFeatures
from ..models.classifier import KernelClassifier
from ..models.regressor import KernelRegressor
from . import baselines
from .rows import RowBlock

# adult: AUROC .920 in 26 s of CPU; 1024 features take twice as long. Numbers have cheaper fits, and
# gain: 1024 instead of 512 take 3.4% off the RMSE of california_housing, and more off that of bike.
_WIDTHS = {"classes": 512, "numbers": 1024}
# Twice as many are used if they predict validation rows better and the products of features with
# themselves take at most so many multiply-adds (some seconds): up to 47,000 rows of numbers,
# 190,000 of classes.
_MOST_WORK = 2e11
DEFAULT, HALF, TWICE = "quadfeat", "half the width", "twice the width"
_SCALING_ROWS = 2000  # training rows and validation rows, to choose the scaling
_SCALING_WIDTH = 128
_MOST_MIXED = 32  # most columns for learning a metric


def default_width(*, classes: bool) -> int:
    """The default number of features."""
    return _WIDTHS["classes" if classes else "numbers"]


def default_widths(n_rows: int, *, classes: bool) -> int | tuple[int, int]:
    """The default for `KernelFeatures` and this number of rows: it may choose twice as many."""
    width = default_width(classes=classes)
    return (width, 2 * width) if n_rows * (2 * width) ** 2 <= _MOST_WORK else width


def untrained(width: Any, *, classes: bool, kernel: Kernel | None = None, **options: Any) -> Any:
    """An unfitted model as in `quadfeat fit`; `options` are those of its constructor.

    `width` are the columns of its features, or several to choose among.
    """
    features = KernelFeatures(kernel, n_components=width, random_state=0)
    return (KernelClassifier if classes else KernelRegressor)(features, **options)


def encoder_for(
    some: RowBlock, kinds: dict[str, str] | None, *, classes: bool
) -> TableEncoder | None:
    """The encoder of a model for these training rows; None leaves the choice to the model.

    Columns of numbers without gaps are scaled if that helps to predict validation rows.
    """
    if kinds is not None:
        return TableEncoder(columns=kinds)
    scales = is_numeric(some) and len(some) >= 20 and _scaling_helps(some, classes)
    return TableEncoder() if scales else None


def is_numeric(some: RowBlock) -> bool:
    """Whether the table is numbers without gaps, which models take directly."""
    return not sparse.issparse(some.X) and frame(some.X).is_numeric()


def _scaling_helps(some: RowBlock, classes: bool) -> bool:
    """Whether validation rows are predicted better with scaled columns, by a small model."""
    order = np.random.default_rng(1).permutation(len(some))
    n = min(_SCALING_ROWS, (2 * len(some)) // 3)
    chosen = [np.zeros(len(some), dtype=bool) for _ in range(2)]
    chosen[0][order[:n]] = True
    chosen[1][order[n : 2 * n]] = True
    train, validation = (some.at(rows) for rows in chosen)
    if classes and len(np.unique(train.y)) < 2:
        return True
    losses = []
    options: dict[str, Any] = {"loss": "ridge"} if classes else {}
    for encoder in (None, TableEncoder()):
        model = untrained(
            _SCALING_WIDTH, classes=classes, encoder=encoder, verbose=False, **options
        )
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                model.fit(train.X, train.y, train.weight)
                if classes:
                    codes = np.searchsorted(model.classes_, validation.y)
                    known = np.isin(validation.y, model.classes_)
                    shares = model.predict_proba(validation.X)[known]
                    picked = shares[np.arange(len(shares)), codes[known]]
                    losses.append(-float(np.log(np.maximum(picked, 1e-12)).mean()))
                else:
                    losses.append(
                        float(np.square(model.predict(validation.X) - validation.y).mean())
                    )
        except ValueError:
            losses.append(np.inf)
    return losses[1] < losses[0]


# --- contenders of `quadfeat compare` -------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class TrainingRows:
    """The training rows of a fold.

    `encoder` is chosen once for all of our models, in `encoder_seconds`, which count for each.
    """

    rows: RowBlock
    classes: bool
    encoder: TableEncoder | None
    encoder_seconds: float


Fit = Callable[[TrainingRows], baselines.Fitted]


@dataclass(frozen=True)
class Candidate:
    """A contender: its name, a few words about it, whether it is ours, and how to fit it.

    `fit` raises a ValueError with the reason for rows that it cannot use.
    """

    name: str
    what: str
    ours: bool
    fit: Fit


def candidates(width: int, widths: Any = None) -> tuple[Candidate, ...]:
    """All contenders; the first is the model of `quadfeat fit`, with `widths` to choose among."""
    half, twice = max(1, width // 2), 2 * width
    tuned, learned, metric = Gaussian("tuned"), Gaussian("learned"), Gaussian(metric="learned")
    first = partial(_ours, widths or width)
    peers: list[tuple[str, str, Fit]] = [
        ("Nystroem", "scikit-learn's, and ridge", partial(_kernel_map, Nystroem, width)),
        ("RBFSampler", "scikit-learn's, and ridge", partial(_kernel_map, RBFSampler, width)),
        (baselines.LINEAR, "ridge, or logistic regression", _baseline(baselines.linear)),
        (baselines.BOOSTING, "scikit-learn's", _baseline(baselines.boosting)),
    ]
    if baselines.has_lightgbm():
        peers.append(("LightGBM", "with its defaults", _baseline(baselines.lightgbm)))
    own: list[tuple[str, str, Fit]] = [
        (DEFAULT, f"as quadfeat fit, {_told(widths or width)} features", first),
        ("one scale", "Gaussian('tuned')", partial(_ours, width, kernel=tuned)),
        ("scale per column", "Gaussian('learned')", partial(_ours, width, kernel=learned)),
        ("metric", "Gaussian(metric='learned')", partial(_ours, width, kernel=metric)),
        (HALF, f"as quadfeat fit --width {half}", partial(_ours, half)),
        (TWICE, f"as quadfeat fit --width {twice}", partial(_ours, twice)),
    ]
    return tuple(
        Candidate(name, what, ours, fit)
        for ours, table in ((True, own), (False, peers))
        for name, what, fit in table
    )


def _told(widths: Any) -> str:
    return " or ".join(map(str, np.atleast_1d(widths).tolist()))


def _ours(width: Any, given: TrainingRows, kernel: Gaussian | None = None) -> baselines.Fitted:
    rows = given.rows
    if kernel is not None and isinstance(kernel.metric, str):
        _check_metric(given)
    model = untrained(width, classes=given.classes, kernel=kernel, encoder=given.encoder)
    return baselines.Fitted(model.fit(rows.X, rows.y, rows.weight))


def _check_metric(given: TrainingRows) -> None:
    rows = given.rows
    n_columns = rows.X.shape[1]
    if given.encoder is not None or not (sparse.issparse(rows.X) or is_numeric(rows)):
        encoder = TableEncoder() if given.encoder is None else clone(given.encoder)
        n_columns = len(encoder.fit(rows.X, rows.y).inverse_)
    if n_columns > _MOST_MIXED:
        raise ValueError(f"is for up to {_MOST_MIXED} columns, and these are {n_columns}")


def _kernel_map(kind: Any, width: int, given: TrainingRows) -> baselines.Fitted:
    rows = given.rows
    return baselines.kernel_map(kind, width, rows.X, rows.y, rows.weight, classes=given.classes)


def _baseline(build: Callable[..., baselines.Fitted | None]) -> Fit:
    def fit(given: TrainingRows) -> baselines.Fitted:
        rows = given.rows
        fitted = build(rows.X, rows.y, rows.weight, classes=given.classes)
        if fitted is None:
            raise ValueError("does not take sparse rows")
        return fitted

    return fit
