"""Fits, predictions and features of files, block by block: the work behind the command."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .._progress import progress
from ..data.base import Source
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.sources import source
from ..data.summary import SummaryBuilder, distinct_rows
from ..data.writers import sink
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..models.base import fit_keeping_checkpoint
from ..models.classifier import KernelClassifier
from ..models.regressor import KernelRegressor

_MOST_CLASSES = 20  # different whole numbers in the first block that still count as labels


@dataclass(frozen=True)
class FitOptions:
    """What `quadfeat fit` was asked for, beside the two files.

    Attributes
    ----------
    target, weight : columns of the file, or None
    task : "auto", "regression" or "classification"
    width : int, columns of features
    loss : "auto" or "ridge", or for classes "squared_hinge" or "logistic"
    alpha : the penalty, or "auto": chosen on held-out rows
    checkpoint : file to resume from, or None
    """

    target: Any = None
    weight: str | None = None
    task: str = "auto"
    width: int = 1024
    loss: str = "auto"
    alpha: Any = "auto"
    checkpoint: Path | None = None


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
    path: Path, options: FitOptions
) -> tuple[KernelRegressor | KernelClassifier, Checkpoint]:
    """A model fitted to a file, and its checkpoint.

    The checkpoint is still on the disk: the caller removes it after saving the model, so that one
    of the two always exists.
    """
    target, weight, loss = options.target, options.weight, options.loss
    features = KernelFeatures(n_components=options.width, random_state=0)
    task = options.task
    if task == "auto":
        task = task_of(source(path, target, weight))
    common: dict[str, Any] = {
        "alpha": options.alpha,
        "checkpoint": options.checkpoint,
        "verbose": True,
    }
    if task == "regression":
        if loss not in ("auto", "ridge"):
            raise ValueError(f"loss={loss!r} is for classes, and this target is a number")
        model: Any = KernelRegressor(features, **common)
    else:
        model = KernelClassifier(features, loss=loss, **common)
    fitted = fit_keeping_checkpoint(model, path, target, weight)
    return model, fitted


def fit_map(
    path: Path, target: Any = None, weight: str | None = None, *, width: int
) -> KernelFeatures:
    """A map of all columns but `target` and `weight`, fitted on a sample of the rows."""
    data = source(path, target, weight)
    builder = SummaryBuilder(labels=False)
    for block in progress(data.blocks(), total=data.n_rows, label="reading", verbose=True):
        builder.add(Block(block.X, np.zeros(len(block))), data.name)
    features = KernelFeatures(Gaussian("median"), n_components=width, random_state=0)
    features.fit(distinct_rows(builder.summary(data.name).drawn.X))
    if data.columns is not None:
        features.feature_names_in_ = np.array(data.columns, dtype=object)
    if data.first_index is not None:
        features.first_index = data.first_index
    return features


def predict_file(model: Any, path: Path, out: Path, *, probabilities: bool, std: bool) -> int:
    """Write the predictions of a model for every row of a file; return the number of rows."""
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


def transform_file(fitted: Any, path: Path, out: Path) -> int:
    """Write the features of every row of a file; return the number of rows."""
    if isinstance(fitted, Kernel):
        raise ValueError("a kernel has no features; give a map, or a model, which has one")
    features: FeatureMap = fitted if isinstance(fitted, FeatureMap) else fitted.features_
    names = [f"z{i}" for i in range(features.n_columns_)]
    return _mapped(fitted, features.features_of, path, out, names)


def _mapped(
    fitted: Any, function: Callable[[Any], Any], path: Path, out: Path, names: Sequence[str]
) -> int:
    """Write a function of every block of rows to a file; return the number of rows."""
    columns = getattr(fitted, "feature_names_in_", None)
    data = source(
        path,
        columns=fitted.n_features_in_ if columns is None else list(columns),
        first_index=getattr(fitted, "_first_index", None),
    )
    blocks = progress(data.blocks(), total=data.n_rows, label=f"writing {out.name}", verbose=True)
    count = 0
    with sink(out, names) as opened, warnings.catch_warnings():
        # Columns were matched by name in `source`; the blocks are plain arrays.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        for block in blocks:
            opened.write(function(block.X))
            count += len(block)
    return count
