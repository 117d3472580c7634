"""`train`: from a file to a model, its score on held-out rows, and the scores of baselines."""

from __future__ import annotations

import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..data.checkpoint import Checkpoint
from ..data.column_kinds import plain_report
from ..data.frame import frame
from ..data.table_source import TableBlocks
from ..models.base import fit_keeping_checkpoint
from ..models.classifier import KernelClassifier
from ..models.regressor import KernelRegressor
from . import baselines
from .contenders import default_widths, encoder_for, untrained
from .holdout import HoldOut, hold_out
from .kernel_words import in_words
from .predictions import encoded_rows, predictions
from .rows import TEST_ROWS, RowBlock, RowStream, collected, dropped, open_rows
from .scores import Score, accuracy, auroc, r2
from .summary import Contender, FitSummary
from .targets import is_classification

_BASELINE_ROWS = 50_000  # training rows of the baselines, at most
_MAP_ROWS = 2000


@dataclass(frozen=True)
class TrainOptions:
    """The options of `quadfeat fit`.

    Attributes
    ----------
    target, weight : columns of the file, or None
    task : "auto", "regression" or "classification"
    width : int, columns of features; None for the default of the task, or twice as many if
        validation rows gain by it
    loss : "auto" or "ridge", or for classes "squared_hinge" or "logistic"
    alpha : the penalty, or "auto"
    checkpoint : file to resume from, or None
    test, group, time : a file to score on; columns to hold out whole groups or the last rows by
    kinds : kinds of columns, as `TableEncoder` takes them
    verbose : bool, whether to show progress on stderr
    compared : bool, whether to also fit a linear model and gradient boosting
    """

    target: str | None
    weight: str | None = None
    task: str = "auto"
    width: int | None = None
    loss: str = "auto"
    alpha: Any = "auto"
    checkpoint: Path | None = None
    test: Path | None = None
    group: str | None = None
    time: str | None = None
    kinds: dict[str, str] | None = None
    verbose: bool = True
    compared: bool = True

    def split(self) -> dict[str, str]:
        """The given options for held-out rows and weights."""
        asked = {"test": self.test, "group": self.group, "time": self.time, "weight": self.weight}
        return {name: str(value) for name, value in asked.items() if value is not None}


@dataclass(frozen=True)
class Trained:
    """A fitted model, its checkpoint (still on the disk) and the summary of the fit.

    `sample` are training rows, up to 50,000; `test` are the held-out rows, and `judge` scores
    predictions for them.
    """

    model: KernelRegressor | KernelClassifier
    checkpoint: Checkpoint
    summary: FitSummary
    sample: RowBlock
    test: RowBlock
    judge: Judge


def train(path: Path, options: TrainOptions, command: str = "") -> Trained:
    """A model fitted to a file and scored on held-out rows."""
    began = time.perf_counter()
    stream = open_rows(path, options.target, options.weight, options.group, options.time)
    split = hold_out(stream, options.test, options.group, options.time, options.target)
    test = collected(split.test(), TEST_ROWS)
    some = collected(split.train(), _BASELINE_ROWS)
    if len(some) < 2:
        raise ValueError(f"{path} has {len(some)} training rows; give at least 2, better 100")
    classes = is_classification(some.y, options.task, options.target or "y", path)
    if not classes and options.loss not in ("auto", "ridge"):
        raise ValueError(f"loss={options.loss!r} is for classes, and this target is a number")
    loss: dict[str, Any] = {"loss": options.loss} if classes else {}
    model = untrained(
        options.width or default_widths(split.n_train, classes=classes),
        classes=classes,
        encoder=encoder_for(some, options.kinds, classes=classes),
        alpha=options.alpha,
        checkpoint=options.checkpoint,
        verbose=options.verbose,
        **loss,
    )
    notes: list[str] = []
    started = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        checkpoint = fit_keeping_checkpoint(
            model, _blocks_of(split, some, encoded=model.encoder is not None)
        )
    notes += list(dict.fromkeys(str(each.message) for each in caught if _is_told(each)))
    fit_seconds = time.perf_counter() - started
    group = test.key if options.group else None
    judge = Judge(some, test, group, classes, getattr(model, "classes_", None))
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        predicted = predictions(model, test.X)
        if classes and split.outside:
            notes += judge.unknown_labels()
    notes += list(dict.fromkeys(str(each.message) for each in caught if _is_told(each)))
    summary = FitSummary(
        data=str(path),
        target=str(options.target or "y"),
        task="classification" if classes else "regression",
        command=command,
        n_train=split.n_train,
        n_test=len(test),
        n_without_target=stream.without_target,
        held_out=split.how,
        inputs=_inputs(model, some),
        score=judge.score(predicted),
        more_scores=judge.more(predicted),
        contenders=tuple(judge.contenders(dropped(options.kinds))) if options.compared else (),
        importances=_importances(model, stream),
        kernel=in_words(model.features_.kernel_),
        map=type(getattr(model.features_, "map_", model.features_)).__name__,
        n_columns=model.features_.n_columns_,
        alpha=float(model.alpha_),
        loss=getattr(model, "loss_", ""),
        map_error=_map_error(model, test),
        scaled=hasattr(model, "encoder_"),
        notes=tuple(notes),
        seconds=time.perf_counter() - began,
        fit_seconds=fit_seconds,
        split=options.split(),
        fingerprint=stream.fingerprint(),
    )
    return Trained(model, checkpoint, summary, some, test, judge)


def _is_told(warning: Any) -> bool:
    return issubclass(warning.category, UserWarning) and "feature names" not in str(warning.message)


def _blocks_of(split: HoldOut, some: RowBlock, *, encoded: bool) -> Any:
    """The training rows, for `fit`: as tables, or as a function that returns blocks of numbers."""
    weighted = some.weight is not None

    def tables() -> Iterator[Any]:
        for block in split.train():
            yield block.X, block.y, block.weight

    if hasattr(some.X, "filter") or encoded:
        return TableBlocks("the training rows", split.n_train, tables)

    def blocks() -> Iterator[Any]:
        for block in split.train():
            yield (block.X, block.y, block.weight) if weighted else (block.X, block.y)

    return blocks


class Judge:
    """Scores of predictions on the held-out rows."""

    def __init__(self, some: RowBlock, test: RowBlock, group: Any, classes: bool, labels: Any):
        self._some, self._test, self._group, self._classes = some, test, group, classes
        self._labels = labels
        weight = some.weight
        if classes:
            names, codes = np.unique(some.y, return_inverse=True)
            self._majority = names[np.argmax(np.bincount(codes, weight))]
        else:
            self._mean = float(np.average(some.y.astype(np.float64), weights=weight))

    @property
    def _binary(self) -> bool:
        return self._classes and len(self._labels) == 2

    def unknown_labels(self) -> list[str]:
        """A note if test rows have labels that no training row has."""
        unknown = ~np.isin(self._test.y, self._labels)
        if not unknown.any():
            return []
        label = self._test.y[unknown][0].item()
        return [f"{int(unknown.sum()):,} test rows have labels not learned, such as {label!r}"]

    def score(self, predicted: Any) -> Score:
        y = self._test.y
        if not self._classes:
            return r2(y.astype(np.float64), predicted, self._mean, self._group)
        if self._binary and len(np.unique(y)) == 2:
            return auroc(y == self._labels[1], predicted[:, 1], self._group)
        right = self._labels[np.argmax(predicted, axis=1)] == y
        return accuracy(right, float(np.mean(y == self._majority)), self._group)

    def more(self, predicted: Any) -> dict[str, float]:
        y = self._test.y
        if not self._classes:
            errors = y.astype(np.float64) - predicted
            return {
                "RMSE": float(np.sqrt(np.mean(errors**2))),
                "mean absolute error": float(np.abs(errors).mean()),
            }
        known = np.isin(y, self._labels)
        codes = np.searchsorted(self._labels, y[known])
        picked = predicted[known][np.arange(int(known.sum())), codes]
        right = self._labels[np.argmax(predicted, axis=1)] == y
        loss = -float(np.log(np.maximum(picked, 1e-12)).mean()) if len(picked) else np.nan
        return {"accuracy": float(right.mean()), "log loss": loss}

    def contenders(self, left_out: Sequence[str] = ()) -> Iterator[Contender]:
        """The mean, a linear model and gradient boosting, without some columns."""
        n = len(self._test)
        some, test = (block.without(left_out) for block in (self._some, self._test))
        if self._classes:
            flat = np.tile((self._labels == self._majority).astype(float), (n, 1))
            yield Contender(baselines.MAJORITY, self.score(flat), 0.0)
        else:
            yield Contender(baselines.MEAN, self.score(np.full(n, self._mean)), 0.0)
        for name, build in (
            (baselines.LINEAR, baselines.linear),
            (baselines.BOOSTING, baselines.boosting),
        ):
            try:
                fitted = partial(build, some.X, some.y, some.weight, classes=self._classes)
                predict, seconds = baselines.timed(fitted)
                if predict is not None:
                    yield Contender(name, self.score(predict(test.X)), seconds)
            except ValueError:  # data that only quadfeat takes
                continue


def _inputs(model: Any, some: RowBlock) -> Any:
    """How each column was encoded; in a table of plain numbers each is used directly."""
    if hasattr(model, "encoder_"):
        return model.encoder_.report_
    if sparse.issparse(some.X) or not hasattr(model, "feature_names_in_"):
        return ()
    return plain_report(frame(some.X))


def _importances(model: Any, stream: RowStream) -> tuple[tuple[str, float], ...]:
    shares = getattr(model, "feature_importances_", np.empty(0))
    names = getattr(model, "feature_names_in_", None)
    names = [f"column {i}" for i in range(len(shares))] if names is None else list(names)
    order = np.argsort(-shares, kind="stable")
    return tuple((names[i], float(shares[i])) for i in order)


def _map_error(model: Any, test: RowBlock) -> float:
    """The RMS error of the kernel over pairs of some held-out rows."""
    rows = np.zeros(len(test), dtype=bool)
    rows[:_MAP_ROWS] = True
    some = test.at(rows)
    if len(some) < 2:
        return float("nan")
    X = encoded_rows(model, some.X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return float(model.features_.error(X, n_pairs=10_000).rms)
