"""Fits, predictions and features from file to file, in blocks: what the command does."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._progress import progress
from ..data.base import Source
from ..data.blocks import Block
from ..data.sources import source
from ..data.summary import Tally, distinct_rows
from ..data.writers import sink
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..models.classifier import KernelClassifier
from ..models.regressor import KernelRegressor
from ..storage import save

_MOST_CLASSES = 20  # different whole numbers in the first block that are still taken for labels


def task_of(data: Source) -> str:
    """ "classification" for text, or at most 20 different whole numbers in the first block."""
    block = next(data.blocks(), None)
    if block is None:
        raise ValueError(f"{data.name} has no rows")
    if block.y is None:
        raise ValueError(f"{data.name} has no target; name its column")
    labels = np.asarray(block.y)
    if labels.ndim == 1 and labels.dtype.kind in "UOb":
        return "classification"
    whole = labels.ndim == 1 and bool((labels == np.round(labels)).all())
    few = whole and len(np.unique(labels)) <= _MOST_CLASSES
    return "classification" if few else "regression"


def fit_model(
    path: Path,
    out: Path,
    target: Any,
    *,
    weight: str | None,
    task: str,
    width: int,
    loss: str,
    alpha: Any,
    checkpoint: Path | None,
) -> KernelRegressor | KernelClassifier:
    """Save a model of a file, with everything that is not given chosen on held-out rows.

    The checkpoint is removed when the model is on the disk, so that one of them is always there.
    """
    features = KernelFeatures(n_components=width, random_state=0)
    if task == "auto":
        task = task_of(source(path, target, weight))
    common: dict[str, Any] = {"alpha": alpha, "checkpoint": checkpoint, "verbose": True}
    if task == "regression":
        if loss != "ridge":
            raise ValueError(f"loss={loss!r} is for classes, and this target is a number")
        model: Any = KernelRegressor(features, **common)
    else:
        model = KernelClassifier(features, loss=loss, **common)
    fitted = model._fit(path, target, weight)
    save(model, out)
    fitted.remove()
    return model


def fit_map(
    path: Path, out: Path, target: Any = None, weight: str | None = None, *, width: int
) -> KernelFeatures:
    """Save a map of the columns of a file but these two, learned from a sample of its rows."""
    data = source(path, target, weight)
    tally = Tally(labels=False)
    for block in progress(data.blocks(), total=data.n_rows, label="reading", verbose=True):
        tally.add(Block(block.X, np.zeros(len(block))), data.name)
    features = KernelFeatures(Gaussian("median"), n_components=width, random_state=0)
    features.fit(distinct_rows(tally.survey(data.name).drawn.X))
    if data.columns is not None:
        features.feature_names_in_ = np.array(data.columns, dtype=object)
    if data.first_index is not None:
        features.first_index = data.first_index
    save(features, out)
    return features


def predict_file(model: Any, path: Path, out: Path, *, probabilities: bool, std: bool) -> int:
    """Write what a model says of every row of a file; how many rows."""
    if isinstance(model, FeatureMap | Kernel):
        raise ValueError(
            f"a {type(model).__name__} predicts nothing; give a model fitted to a target"
        )
    if probabilities and std:
        raise ValueError("probabilities have no deviations; ask for --proba or for --std")
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise ValueError("this model has no probabilities; logistic and ridge classifiers have")
        names = [f"probability_{label}" for label in model.classes_]
        return _mapped(model, model.predict_proba, path, out, names)
    regression = isinstance(model, KernelRegressor)
    targets = [""] if np.ndim(model.coef_) == 1 or not regression else range(len(model.coef_))
    names = [f"prediction{target}" for target in targets]
    if not std:
        return _mapped(model, model.predict, path, out, names)
    if not regression:
        raise ValueError("deviations are those of a regression; a classifier has probabilities")
    names += [f"deviation{target}" for target in targets]
    return _mapped(model, lambda X: _with_deviations(model, X), path, out, names)


def _with_deviations(model: KernelRegressor, X: Any) -> Any:
    return np.column_stack(model.predict(X, return_std=True))


def transform_file(made: Any, path: Path, out: Path) -> int:
    """Write the features of every row of a file; how many rows."""
    if isinstance(made, Kernel):
        raise ValueError("a kernel has no features; give a map, or a model, which has one")
    features: FeatureMap = made if isinstance(made, FeatureMap) else made.features_
    names = [f"z{i}" for i in range(features.n_columns_)]
    return _mapped(made, features.features_of, path, out, names)


def _mapped(
    made: Any, function: Callable[[Any], Any], path: Path, out: Path, names: Sequence[str]
) -> int:
    """A function of every block of rows into a file; how many rows."""
    columns = getattr(made, "feature_names_in_", None)
    data = source(
        path,
        columns=made.n_features_in_ if columns is None else list(columns),
        first_index=getattr(made, "_first_index", None),
    )
    blocks = progress(data.blocks(), total=data.n_rows, label=f"writing {out.name}", verbose=True)
    count = 0
    with sink(out, names) as opened, warnings.catch_warnings():
        # Columns have been found by their names, which the plain arrays of blocks do not have.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for block in blocks:
            opened.write(function(block.X))
            count += len(block)
    return count
