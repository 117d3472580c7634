"""`TableEncoder`: tables with text, dates and gaps as arrays of numbers."""

from __future__ import annotations

import os
import warnings
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import check_choice, check_count, check_plain, require
from .._errors import UnseenValues
from .._typing import Floats
from .column_encoders import (
    ColumnEncoder,
    DateEncoder,
    NumberEncoder,
    OneHotEncoder,
    TargetMeanEncoder,
    TextEncoder,
)
from .column_kinds import KINDS, ColumnReport, advice, gaps_tell, kind_of
from .encoder_facts import EncoderFacts
from .encoder_targets import EncoderTargets, row_weights
from .frame import Column, Frame, frame, is_table
from .sampling import row_keys
from .wanted import listed

TASKS = ("auto", "regression", "classification")
TEXTS = ("hash", "refuse")


class TableEncoder(EncoderFacts, TransformerMixin, BaseEstimator):
    """Tables with text, dates and gaps in, arrays of numbers out, scaled for kernels.

    Numbers: minus their median, divided by the spread of the middle half of the rows, logarithmic
    beyond three spreads. Gaps become the median, with an indicator column if rows with gaps have
    different targets. Categories: one column each up to `max_one_hot` of them; more become their
    mean target, shrunk towards the mean of all rows (one column per class, if there are more than
    two). `fit_transform` uses means of the other folds, so that no row sees its target; folds
    depend on a hash of the row, so copies are in one fold. Dates: time, and cosine and sine of the
    time of year, week and day. Free text: hashed character n-grams along their leading directions.
    Constant columns, empty columns and ids are left out, with a warning: `report_` says why.

    Columns are found by name, in any order. Categories and gaps that training rows did not have are
    encoded as an average value, and counted in an `UnseenValues` warning.

    Parameters
    ----------
    columns : dict of column -> "number", "category", "date", "text" or "drop", or None
        Kinds of columns that would otherwise be read as something else.
    max_one_hot : int, most categories of a column that get one column each
        Few, because kernels learn a length scale per column for up to 32 columns. Without targets,
        or if categories do not predict them, up to 30 times as many; more are read as texts.
    text : "hash" or "refuse", what to do with free text
    text_columns : int, columns per column of free text
    n_folds : int, folds of the target means, at least 2
    task : "auto", "regression" or "classification"
        The kind of y; "auto": classes are text, booleans, or at most 20 different whole numbers.

    Attributes
    ----------
    encoders_ : list of column encoders, one per column that is used
    report_ : tuple of ColumnReport, one per column of X
    dropped_ : dict of column -> why it is left out
    inverse_ : array of str (n_outputs,), the column of X that each output column comes from
    n_features_in_ : int
    feature_names_in_ : array of str (n_features_in_,), the columns of X

    Examples
    --------
    >>> import pandas as pd
    >>> X = pd.DataFrame({"size": [1.0, 2.0, None, 4.0], "colour": ["red", "blue", "red", None]})
    >>> encoder = TableEncoder().fit(X)
    >>> encoder.get_feature_names_out().tolist()
    ['size', 'colour=blue', 'colour=red', 'colour is missing']
    >>> encoder.transform(X)[:, 1:]
    array([[0., 1., 0.],
           [1., 0., 0.],
           [0., 1., 0.],
           [0., 0., 1.]])
    """

    def __init__(
        self,
        *,
        columns: dict[str, str] | None = None,
        max_one_hot: int = 4,
        text: str = "hash",
        text_columns: int = 16,
        n_folds: int = 5,
        task: str = "auto",
    ) -> None:
        self.columns = columns
        self.max_one_hot = max_one_hot
        self.text = text
        self.text_columns = text_columns
        self.n_folds = n_folds
        self.task = task

    # --- fit --------------------------------------------------------------------------------------
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn kinds, scales and categories of the columns, and with y their target means.

        Parameters
        ----------
        X : pandas or polars DataFrame, Arrow table, or array (n, d)
        y : (n,) or (n, t), or None
        sample_weight : (n,) or None; a weight counts as copies of the row
        """
        self.check_parameters()
        table = self._frame(X, reset=True)
        self._learn(
            table, EncoderTargets.of(y, self.task, table.n_rows), sample_weight, table.n_rows
        )
        return self

    def fit_transform(self, X: Any, y: Any = None, sample_weight: Any = None) -> Any:
        """`fit`, then the encoded training rows, with target means of the other folds."""
        return self.fit(X, y, sample_weight)._wrapped_training(X)

    def _wrapped_training(self, X: Any) -> Any:
        return self.transform(X) if not self.cross_fitted else self.encode_training(X)

    def fit_sample(
        self, sample: Frame, y: Any, sample_weight: Any, n_rows: int, *, named: bool
    ) -> Self:
        """`fit` on a sample of the `n_rows` rows of a table, or of an array: not `named`."""
        self.check_parameters()
        self._set_names(sample)
        if not named:
            del self.feature_names_in_
        self._learn(sample, EncoderTargets.of(y, self.task, sample.n_rows), sample_weight, n_rows)
        return self

    def check_parameters(self) -> None:
        """Raise a ValueError or TypeError for a parameter out of range."""
        check_count("max_one_hot", self.max_one_hot, example=4)
        check_count("text_columns", self.text_columns, example=16)
        check_count("n_folds", self.n_folds, minimum=2, maximum=2**31, example=5)
        check_choice("text", self.text, TEXTS)
        check_choice("task", self.task, TASKS)
        if self.columns is not None and not isinstance(self.columns, dict):
            raise TypeError(
                f"columns must be a dict such as {{'zip': 'category'}}, or None, got "
                f"{self.columns!r}"
            )
        for name, kind in (self.columns or {}).items():
            check_choice(f"columns[{name!r}]", kind, KINDS)

    def _learn(
        self, table: Frame, targets: EncoderTargets | None, sample_weight: Any, n_rows: int
    ) -> None:
        if table.n_rows == 0:
            raise ValueError(
                "X has no rows: found array with 0 sample(s) (shape="
                f"({table.n_rows}, {len(table.names)})) while a minimum of 1 is required"
            )
        for name in self.columns or {}:
            if name not in table.names:
                raise ValueError(
                    f"columns names {name!r}, and X has no such column; it has "
                    f"{listed(table.names)}"
                )
        weight = row_weights(sample_weight, table.n_rows)
        used = weight > 0
        columns = {name: table.column(name).at(used) for name in table.names}
        weight = weight[used]
        Y = None if targets is None else targets.values[used]
        labels = () if targets is None else targets.labels
        folds = self._folds(columns)
        self.encoders_: list[ColumnEncoder] = []
        self._columns: list[str] = []
        reports = []
        for name, column in columns.items():
            kind, why = self._kind(name, column, n_rows)
            encoder: ColumnEncoder | None = None
            if kind != "drop":
                encoder = self._encoder(name, kind, column, Y, labels, weight, folds)
            if encoder is None and kind != "drop":
                kind = "drop"
                why = why or "its categories do not predict the target"
            if encoder is not None:
                self.encoders_.append(encoder)
                self._columns.append(name)
            reports.append(
                ColumnReport(
                    name,
                    kind,
                    why,
                    int(column.gaps.sum()),
                    len(np.unique(column.values[~column.gaps])),
                    0 if encoder is None else len(encoder.names(name)),
                )
            )
        self.report_ = tuple(reports)
        if not self.encoders_:
            rows = "1 sample" if table.n_rows == 1 else f"{table.n_rows} rows"
            reasons = "; ".join(f"{name!r} is {why}" for name, why in self.dropped_.items())
            raise ValueError(f"no column of X ({rows}) is left to learn from: {reasons}")
        for sentence in advice(reports):
            warnings.warn(sentence, UserWarning, stacklevel=3)

    def _kind(self, name: str, column: Column, n_rows: int) -> tuple[str, str]:
        given = (self.columns or {}).get(name)
        if given == "drop":
            return "drop", "as requested"
        kind, why = kind_of(name, column, n_rows)
        empty = kind == "drop" and not why.startswith("an id")
        if given is None or empty:
            return kind, why
        self._check_kind(name, column, given)
        return given, "as requested"

    def _check_kind(self, name: str, column: Column, kind: str) -> None:
        """Raise an error for a kind that would lose most values of a column."""
        if kind not in ("number", "date"):
            return
        read = column.as_number() if kind == "number" else column.as_date()
        lost = read.gaps & ~column.gaps
        if 2 * lost.sum() > (~column.gaps).sum():
            first = column.at(lost).as_text()
            raise ValueError(
                f"{name!r} is to be a {kind}, but most of its values are not, such as "
                f"{first.texts[int(first.values[0])]!r}; make it a category, or leave that out"
            )

    def _encoder(
        self,
        name: str,
        kind: str,
        column: Column,
        Y: Floats | None,
        labels: tuple[str, ...],
        weight: Floats,
        folds: Any,
    ) -> ColumnEncoder | None:
        if kind == "number":
            column = column.as_number()
            return NumberEncoder.of(column, weight, gaps_tell(column.gaps, Y, weight))
        if kind == "date":
            column = column.as_date()
            return DateEncoder.of(column, weight, gaps_tell(column.gaps, Y, weight))
        column = column.as_text()
        n_distinct = len(np.unique(column.values[~column.gaps]))
        if kind == "category" and n_distinct <= self.max_one_hot:
            return OneHotEncoder.of(column)
        if kind == "category" and Y is not None:
            return TargetMeanEncoder.of(column, Y, labels, weight, folds)
        if kind == "category" and n_distinct <= 30 * self.max_one_hot:
            return OneHotEncoder.of(column)
        if self.text == "refuse":
            raise ValueError(
                f"column {name!r} is free text ({n_distinct:,} different values), and "
                f"text='refuse'; write text='hash', or columns={{{name!r}: 'drop'}}"
            )
        return TextEncoder.of(column, self.text_columns)

    def _folds(self, columns: dict[str, Column]) -> Any:
        """The fold of each row, (n,): a hash of its values, so copies are in one fold."""
        values = [column.as_hashable() for column in columns.values()]
        return (row_keys(np.column_stack(values)) % np.uint64(self.n_folds)).astype(np.intp)

    # --- transform --------------------------------------------------------------------------------
    def transform(self, X: Any) -> Any:
        """The rows of X as numbers, (n, n_outputs), float64; warns about unseen values.

        Parameters
        ----------
        X : pandas or polars DataFrame, Arrow table, or array (n, d)
        """
        encoded, unseen = self.encode(X)
        warn_of_unseen(unseen, len(encoded))
        return encoded

    def encode(self, X: Any) -> tuple[Floats, Counter[str]]:
        """`transform`, and the number of unseen values in each column."""
        check_is_fitted(self)
        table = self._frame(X, reset=False)
        parts, unseen = [], Counter[str]()
        for name, encoder in zip(self._columns, self.encoders_, strict=True):
            raw = table.column(name)
            column = encoder.read(raw)
            lost = int((column.gaps & ~raw.gaps).sum())
            unseen[name] += encoder.unseen(column) or lost
            parts.append(encoder.encode(column))
        return np.hstack(parts), +unseen

    def encode_training(self, X: Any) -> Floats:
        """`transform` of the training rows, with target means of the other folds."""
        check_is_fitted(self)
        table = self._frame(X, reset=False)
        folds = None
        if self.cross_fitted:
            folds = self._folds({name: table.column(name) for name in self.feature_names})
        parts = []
        for name, encoder in zip(self._columns, self.encoders_, strict=True):
            column = encoder.read(table.column(name))
            if isinstance(encoder, TargetMeanEncoder):
                parts.append(encoder.encode_training(column, folds))
            else:
                parts.append(encoder.encode(column))
        return np.hstack(parts)

    @property
    def cross_fitted(self) -> bool:
        """Whether training rows are encoded differently from new ones."""
        return any(isinstance(encoder, TargetMeanEncoder) for encoder in self.encoders_)

    # --- names ------------------------------------------------------------------------------------
    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Names of the output columns, such as 'colour=red' or 'sold sine of year'."""
        check_is_fitted(self)
        if input_features is not None and list(input_features) != list(self.feature_names):
            raise ValueError("input_features is not equal to feature_names_in_; leave it out")
        pairs = zip(self._columns, self.encoders_, strict=True)
        return np.array([out for name, each in pairs for out in each.names(name)], dtype=object)

    @property
    def inverse_(self) -> Any:
        """The column of X that each output column comes from, array of str (n_outputs,)."""
        pairs = zip(self._columns, self.encoders_, strict=True)
        return np.array([name for name, each in pairs for _ in each.names(name)], dtype=object)

    def inverse(self, names: Sequence[str] | None = None) -> list[str]:
        """The column of X behind each of these output columns, by default of all."""
        origin = dict(zip(self.get_feature_names_out().tolist(), self.inverse_, strict=True))
        for name in names or ():
            if name not in origin:
                raise ValueError(
                    f"no output column is called {name!r}; there are {listed([*origin])}"
                )
        return [origin[name] for name in (origin if names is None else names)]

    def pooled(self, importances: Any) -> Floats:
        """Importances of the columns of X, (n_features_in_,), from those of output columns.

        The root of the sum of squares over the output columns of each, scaled to add up to 1.
        """
        moves = np.asarray(importances, dtype=np.float64)
        if moves.shape != self.inverse_.shape:
            raise ValueError(
                f"importances has shape {moves.shape}, and {len(self.inverse_)} columns come out"
            )
        total = {name: 0.0 for name in self.feature_names}
        for name, move in zip(self.inverse_, moves, strict=True):
            total[name] += float(move) ** 2
        out = np.sqrt(list(total.values()))
        return np.asarray(out / (out.sum() or 1.0))

    @property
    def dropped_(self) -> dict[str, str]:
        """Columns that are left out, and why."""
        return {each.name: each.why for each in self.report_ if each.kind == "drop"}

    @property
    def feature_names(self) -> tuple[str, ...]:
        """The columns of X; x0, x1, ... of an array."""
        return tuple(each.name for each in self.report_)

    def restored(self) -> None:
        """Check the attributes of a saved file; a ValueError if they do not fit together."""
        self.check_parameters()
        self.encoders_, self.report_ = list(self.encoders_), tuple(self.report_)
        self._columns = list(self._columns)
        require(len(self.report_) == self.n_features_in_, "the report is not one per column")
        require(len(self._columns) == len(self.encoders_) > 0, "a column has no encoder")
        known = set(self.feature_names)
        require(known >= set(self._columns), "an encoder has no column")
        require(len(known) == len(self.report_), "two columns have one name")

    # --- data in ----------------------------------------------------------------------------------
    def _frame(self, X: Any, *, reset: bool) -> Frame:
        if isinstance(X, str | os.PathLike):
            raise TypeError(
                f"X is the path {str(X)!r}; give a table, such as pandas.read_csv({str(X)!r}), or "
                f"fit a model to the file"
            )
        if sparse.issparse(X):
            raise TypeError(
                "X is a sparse matrix, which needs no encoder: sparse input is not supported; give "
                "a table, or X.toarray()"
            )
        if isinstance(X, dict):
            raise TypeError("X is a dict; give a table, such as pandas.DataFrame(X)")
        if not is_table(X):
            check_plain("X", X, dates=True)
            if not hasattr(X, "shape") and not hasattr(X, "__len__"):
                return frame(X)
            # scikit-learn's messages for data that is not a table.
            X = validate_data(
                self, X, reset=reset, dtype=None, ensure_all_finite=False, ensure_min_samples=1
            )
            return frame(X) if reset else replace(frame(X), names=self.feature_names)
        table = frame(X)
        if reset:
            self._set_names(table)
            return table
        for name in self._columns:
            if name not in table.names:
                raise ValueError(
                    f"X has no column {name!r}, which the encoder was fitted on; it has "
                    f"{listed(table.names)}"
                )
        return table

    def _set_names(self, table: Frame) -> None:
        self.n_features_in_ = len(table.names)
        self.feature_names_in_ = np.array(table.names, dtype=object)
        if not table.names:
            raise ValueError("X has no columns: 0 feature(s) while a minimum of 1 is required")

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.categorical = True
        tags.input_tags.string = True
        return tags


def warn_of_unseen(unseen: Counter[str], n_rows: int) -> None:
    """Warn with `UnseenValues` and their number, if there are any."""
    if unseen:
        parts = ", ".join(f"{count:,} in {name!r}" for name, count in unseen.most_common(5))
        more = f" and in {len(unseen) - 5} more columns" if len(unseen) > 5 else ""
        warnings.warn(
            f"values that training rows did not have are encoded as an average value: {parts}"
            f"{more}, of {n_rows:,} rows",
            UnseenValues,
            stacklevel=3,
        )
