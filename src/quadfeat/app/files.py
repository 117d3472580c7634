"""Fits, predictions and features of files, block by block, for the command."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._display.progress import progress
from .._display.showing import showing
from .._errors import NeedsEncoding, UnseenValues
from ..data.blocks import Block
from ..data.encoder import warn_of_unseen
from ..data.sources import source
from ..data.summary import SummaryBuilder, distinct_rows
from ..data.table_files import is_table_file, open_table, table_of_array
from ..data.writers import sink
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..models.regressor import KernelRegressor


def fit_map(
    path: Path, target: Any = None, weight: str | None = None, *, width: int
) -> KernelFeatures:
    """A map of all columns but `target` and `weight`, fitted on a sample of the rows."""
    builder = SummaryBuilder(labels=False)
    features = KernelFeatures(Gaussian("median"), n_components=width, random_state=0)
    try:
        data = source(path, target, weight)
        with showing("KernelFeatures"):
            for block in progress(data.blocks(), total=data.n_rows, label="reading the rows"):
                builder.add(Block(block.X, np.zeros(len(block))), data.name)
            features.fit(distinct_rows(builder.summary(data.name).drawn.X))
    except NeedsEncoding as error:
        raise ValueError(
            f"{error}; --map-only takes columns of numbers: leave the others out, or fit a model "
            f"with --target, which encodes them"
        ) from None
    if data.columns is not None:
        features.feature_names_in_ = np.array(data.columns, dtype=object)
    if data.first_index is not None:
        features.first_index = data.first_index
    return features


def predict_file(
    model: Any,
    path: Path,
    out: Path,
    *,
    probabilities: bool,
    std: bool,
    keep: Sequence[str] | None = None,
) -> int:
    """Write the predictions of a model for every row of a file; return the number of rows.

    Columns `keep` of the file are written as well, by default the ids that the model leaves out.
    """
    if isinstance(model, FeatureMap | Kernel):
        raise ValueError(
            f"a {type(model).__name__} makes no predictions; give a model fitted to a target"
        )
    if probabilities and std:
        raise ValueError("probabilities have no deviations; use either --proba or --std")
    kept = _kept(model, path, out, keep)
    if probabilities:
        if not hasattr(model, "predict_proba"):
            raise ValueError("this model has no probabilities; logistic and ridge classifiers have")
        names = [f"probability_{label}" for label in model.classes_]
        if out.suffix.lower() == ".npy":  # numbers only
            return _mapped(model, model.predict_proba, path, out, names)
        names = ["prediction", *names]
        return _mapped(model, lambda X: _with_probabilities(model, X), path, out, names, kept)
    regression = isinstance(model, KernelRegressor)
    targets = [""] if np.ndim(model.coef_) == 1 or not regression else range(len(model.coef_))
    names = [f"prediction{target}" for target in targets]
    if not std:
        return _mapped(model, model.predict, path, out, names, kept)
    if not regression:
        raise ValueError("deviations are those of a regression; a classifier has probabilities")
    names += [f"deviation{target}" for target in targets]
    return _mapped(model, lambda X: _with_deviations(model, X), path, out, names, kept)


def _kept(model: Any, path: Path, out: Path, keep: Sequence[str] | None) -> list[str]:
    """The columns of a file that are written beside predictions."""
    if keep is None:
        if out.suffix.lower() == ".npy" or not (hasattr(model, "encoder_") and is_table_file(path)):
            return []
        ids = [each.name for each in model.encoder_.report_ if each.is_id]
        return [name for name in ids if name in open_table(path).columns]
    if keep and not is_table_file(path):
        raise ValueError(
            f"--keep {keep[0]}: {path} has no named columns to keep; give a CSV or Parquet file"
        )
    return list(dict.fromkeys(keep))


def _with_deviations(model: KernelRegressor, X: Any) -> Any:
    return np.column_stack(model.predict(X, return_std=True))


def _with_probabilities(model: Any, X: Any) -> Any:
    """The likeliest class of each row, and the probability of every class."""
    probability = model.predict_proba(X)
    out = np.empty((len(probability), 1 + len(model.classes_)), dtype=object)
    out[:, 0] = model.classes_[probability.argmax(axis=1)]
    out[:, 1:] = probability
    return out


def transform_file(fitted: Any, path: Path, out: Path) -> int:
    """Write the features of every row of a file; return the number of rows."""
    if isinstance(fitted, Kernel):
        raise ValueError("a kernel has no features; give a map, or a model, which has one")
    features: FeatureMap = fitted if isinstance(fitted, FeatureMap) else fitted.features_
    names = [f"z{i}" for i in range(features.n_columns_)]

    def features_of(X: Any) -> Any:
        encoded = fitted.encoder_.encode(X)[0] if hasattr(fitted, "encoder_") else X
        return features.features_of(encoded)

    return _mapped(fitted, features_of, path, out, names)


def _mapped(
    fitted: Any,
    function: Callable[[Any], Any],
    path: Path,
    out: Path,
    names: Sequence[str],
    kept: Sequence[str] = (),
) -> int:
    """Write a function of every block of rows to a file; return the number of rows."""
    blocks = _tables(path, kept) if kept else _blocks(fitted, path)
    count, unseen = 0, Counter[str]()
    with (
        sink(out, names, kept) as opened,
        warnings.catch_warnings(record=True) as caught,
        showing(f"writing {out.name}"),
    ):
        # Columns were matched by name; blocks of numbers are plain arrays.
        warnings.filterwarnings("ignore", "X does not have valid feature names")
        warnings.filterwarnings("always", category=UnseenValues)
        for X, n_rows in blocks:
            if hasattr(fitted, "encoder_"):
                unseen.update(fitted.encoder_.encode(X)[1])
            opened.write(function(X), X)
            count += n_rows
    for each in caught:
        if not issubclass(each.category, UnseenValues):
            warnings.warn_explicit(each.message, each.category, each.filename, each.lineno)
    warn_of_unseen(unseen, count)
    return count


def _tables(path: Path, kept: Sequence[str] = ()) -> Iterator[tuple[Any, int]]:
    """Blocks of a file's rows as tables, which have the columns `kept`."""
    file = open_table(path)
    for name in kept:
        file.require(name)
    for table in file.tables():
        yield table, table.num_rows


def _blocks(fitted: Any, path: Path) -> Iterator[tuple[Any, int]]:
    """Blocks of rows, as tables if the model was fitted to one with text, dates or gaps."""
    if path.suffix.lower() == ".npy" and hasattr(fitted, "encoder_"):
        for table in table_of_array(path).tables():
            yield table, table.num_rows
        return
    if hasattr(fitted, "encoder_") and is_table_file(path):
        yield from _tables(path)
        return
    columns = getattr(fitted, "feature_names_in_", None)
    if not is_table_file(path):
        columns = None
    data = source(
        path,
        columns=fitted.n_features_in_ if columns is None else list(columns),
        first_index=getattr(fitted, "_first_index", None),
    )
    for block in progress(data.blocks(), total=data.n_rows, label="rows"):
        yield block.X, len(block)
