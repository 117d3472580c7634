"""`KernelModel`, the base of both models: data in, the map, the ridge fit, checkpoints."""

from __future__ import annotations

import os
from abc import abstractmethod
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone, is_classifier
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted

from .._checks import check_plain, naming, require, validated, with_kernel_hint
from .._display.progress import steps
from .._display.showing import shown
from .._errors import NeedsEncoding
from .._rows import moved
from .._typing import Floats, Matrix
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.dask_source import AnySource, is_partitioned, partitions
from ..data.identity import parameters_fingerprint
from ..data.iterators import IteratorSource
from ..data.sampling import RowSample, SampledRows, is_table_of_counts
from ..data.sources import is_blocks, source
from ..data.summary import Summary, distinct_rows
from ..data.table_source import TableBlocks
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..numerics.blas import on_one_thread
from .centring import far_origin
from .cluster import lazily, open_stream
from .effects import ExplainedModel
from .encoding import EncodedModel
from .facts import ModelFacts
from .kernel_learning import choose_kernel, choose_width
from .map_choice import choose_map
from .parameters import DTYPES as DTYPES
from .parameters import ROWS, check_parameters
from .ridge import RidgeFit, Score, fit_ridge, ridge_sums
from .ridge_sums import NormalSums, narrowed
from .sample import Sample
from .stream import Encode, Rows, Stream
from .tuning import Tuning, with_rows

MEAN_ROWS = 2000  # rows of the sample for the mean of the targets
LEFT_OUT_FEATURES = 2**22  # a regressor computes leave-one-out errors of all rows up to this n p
_TUNING_ROWS = 10_000  # rows of the sample to choose a kernel on
_SAMPLE_WORK = 5e11  # multiply-adds for leave-one-out errors of the sample
_PREDICTED = 2**25  # bytes of features at a time when predicting


class KernelModel(ModelFacts, EncodedModel, ExplainedModel, BaseEstimator):
    """The base of both models: data in, the map, the ridge fit, checkpoints.

    `fit` and `partial_fit` both run `_fit`. A subclass defines the encoding of targets and what to
    do with a fitted ridge system.
    """

    features: FeatureMap | None
    alpha: Any
    fit_intercept: bool
    dtype: str | None
    checkpoint: Any
    checkpoint_interval: float
    verbose: bool
    features_: FeatureMap
    coef_: Floats
    intercept_: Any
    alpha_: float
    tuning_: Tuning
    n_features_in_: int
    _sums: NormalSums  # of the batches of partial_fit
    _seen: RowSample  # sample of the same batches; missing in files of version 0.1.0
    _target_rules: ClassVar[dict[str, Any]] = {}  # scikit-learn's checks of y
    _learns_labels: ClassVar[bool]

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            hinted = with_kernel_hint(cls.__init__, "KernelFeatures({})")
            cls.__init__ = hinted  # type: ignore[method-assign]

    # --- the fit ----------------------------------------------------------------------------------
    @shown
    @on_one_thread
    def _fit(
        self, X: Any, y: Any, sample_weight: Any, *, batch: bool = False, classes: Any = None
    ) -> Checkpoint:
        """`fit`, or `partial_fit` if `batch`; returns the checkpoint, which the caller removes.

        `classes` are the labels given to the first `partial_fit`; None takes those of y.
        """
        self._check()
        first = not (batch and hasattr(self, "_sums"))
        try:
            data = self._source(X, y, sample_weight, reset=first)
            checkpoint, summary = self._first_pass(data, batch=batch)
        except NeedsEncoding:
            known = first and not is_partitioned(X)
            tables = TableBlocks.of(X, y, sample_weight) if known else None
            if tables is None:
                raise
            data = self._fit_encoder(tables)
            checkpoint, summary = self._first_pass(data, batch=batch)
        if first:
            self._begin(summary, classes)
        self._fit_rows(data, summary, checkpoint, batch=batch)
        self._set_importances(self._weighted(summary.drawn).X)
        return checkpoint

    def _first_pass(self, data: AnySource, *, batch: bool) -> tuple[Checkpoint, Summary]:
        checkpoint = Checkpoint.none() if batch else self._opened_checkpoint(data)
        return checkpoint, self._summarised(data, checkpoint)

    @abstractmethod
    def _begin(self, summary: Summary, classes: Any) -> None:
        """Set what depends on the sample: the map, classes, the centre of the targets."""

    def _fit_rows(
        self, data: AnySource, summary: Summary, checkpoint: Checkpoint, *, batch: bool
    ) -> None:
        """Fit the coefficients; here by ridge regression."""
        sums = self._summed(data, summary, checkpoint)
        if batch:
            summary = self._with_batches(sums, summary)
        self._finish(sums, self._sample(summary), summary.distinct_share, copy=batch)
        if batch:
            self._keep_batches(sums, summary)

    def _summed(self, data: AnySource, summary: Summary, checkpoint: Checkpoint) -> Any:
        """The sums of all rows; here those of a ridge regression on any map."""
        stream = self._stream(data, summary, self._encoded_for_ridge)
        return ridge_sums(stream, checkpoint, self.features_.n_columns_, self._n_outputs)

    @property
    @abstractmethod
    def _n_outputs(self) -> int:
        """Columns of targets, t."""

    @abstractmethod
    def _finish(self, sums: NormalSums, sample: Rows, distinct_share: float, *, copy: bool) -> None:
        """Solve for the coefficients and set the fitted attributes."""

    # --- data in ----------------------------------------------------------------------------------
    def _source(self, X: Any, y: Any, sample_weight: Any, *, reset: bool) -> AnySource:
        if reset:
            # `fit` forgets earlier batches and their columns.
            for name in ("_sums", "_seen", "feature_names_in_", "_first_index", "encoder_"):
                self.__dict__.pop(name, None)
        if is_partitioned(X):
            return partitions(X, y, sample_weight, dtype=self.dtype)
        if (encoded := self._encoded_source(X, y, sample_weight)) is not None:
            return encoded
        if hasattr(X, "__next__") and y is None and sample_weight is None:
            return IteratorSource.of(X).astype(self.dtype)
        if _is_stream(X):
            known = {} if reset else self._columns()
            data = source(X, y, sample_weight, **known).astype(self.dtype)
            if reset and data.first_index is not None:
                self._first_index = data.first_index
            return data
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; {type(self).__name__} learns "
                f"from targets"
            )
        for name, values in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            check_plain(name, values, dates=True)  # scikit-learn reports dates
        X, y = validated(self, X, y, **ROWS, reset=reset, **self._target_rules)
        if sample_weight is not None:
            with naming("sample_weight"):
                sample_weight = _check_sample_weight(
                    sample_weight, X, dtype=np.float64, ensure_non_negative=True
                )
        return source(X, self._checked_target(y), sample_weight).astype(self.dtype)

    def _checked_target(self, y: Any) -> Any:
        return y

    def _columns(self) -> dict[str, Any]:
        """Arguments of `source` with the columns of the fit."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "columns": self.n_features_in_ if names is None else list(names),
            "first_index": getattr(self, "_first_index", None),
        }

    def _check(self) -> None:
        check_parameters(self)

    def _opened_checkpoint(self, data: AnySource) -> Checkpoint:
        if self.checkpoint is None:
            return Checkpoint.none()
        if data.on_workers:
            raise ValueError(
                "checkpoint is for fits on one machine; on a cluster the scheduler recomputes "
                "lost sums, so leave checkpoint=None"
            )
        ignored = ("checkpoint", "checkpoint_interval", "verbose")
        chosen = {k: v for k, v in self.get_params(deep=True).items() if k not in ignored}
        identity = {"parameters": type(self).__name__ + parameters_fingerprint(chosen)}
        return Checkpoint(self.checkpoint, self.checkpoint_interval, identity)

    def _summarised(self, data: AnySource, checkpoint: Checkpoint) -> Summary:
        summary = data.summary(labels=self._learns_labels)
        if checkpoint.active:
            # Every row has been read by now, so the fingerprint covers all of them.
            checkpoint.require("data", data.fingerprint)
        if data.columns is not None and not hasattr(self, "_sums"):
            self.feature_names_in_ = np.array(data.columns, dtype=object)
        return summary

    def _stream(
        self, data: AnySource, summary: Summary, encode: Encode, *, keep: bool = False
    ) -> Stream:
        n_rows = summary.n_rows if summary.of_all else None
        return open_stream(data, self.features_, encode, n_rows=n_rows, keep=keep)

    # --- the map ----------------------------------------------------------------------------------
    def _fit_map(self, summary: Summary) -> None:
        """Fit the map on the sample; choose or learn its kernel if it is not fixed."""
        self.tuning_ = Tuning()
        if summary.n_rows == 1 and isinstance(self.alpha, str):
            raise ValueError("1 sample is too few to choose alpha; give alpha a number")
        features = _seeded(self.features)
        rows = self._weighted(summary.drawn).X
        dtype = self._precision(rows)
        origin = far_origin(rows, dtype)
        distinct = moved(distinct_rows(rows), origin, dtype)
        if len(distinct) > 1 and not (distinct != distinct[0]).any():
            raise ValueError(
                f"the rows of X differ by less than {dtype} resolves; standardise X, or give it "
                f"as float64"
            )
        learns = getattr(features.kernel, "learns", features.kernel is None) and len(distinct) > 1
        widths = getattr(features, "widths", ())
        if widths:
            features.set_params(n_components=widths[0])
        if learns or widths:
            sample = self._choice_sample(summary, origin, dtype)
        if learns:
            every = isinstance(features, KernelFeatures)  # others work best with Gaussians
            kernel, tried = choose_kernel(features, sample, all_families=every)
            features.set_params(kernel=kernel)
            self.tuning_ += tried
        if widths:
            width, tried = choose_width(features, widths, sample)
            features.set_params(n_components=width)
            self.tuning_ += tried
        draw = partial(self._choice_sample, summary, origin, dtype)
        n_rows = summary.n_rows if summary.of_all else 0
        self.features_, tried = choose_map(features.fit(distinct), distinct, draw, n_rows)
        self.tuning_ += tried
        if origin is not None:
            self.features_.moved_to(origin)
        self.n_features_in_ = self._n_input_columns(distinct.shape[1])

    def _choice_sample(self, summary: Summary, origin: Any, dtype: Any) -> Sample:
        """The rows used to choose kernel and width."""
        drawn = self._weighted(summary.some(_TUNING_ROWS).drawn)
        y, weight = self._encoded(Block(drawn.X, drawn.y, drawn.weight))
        counts = is_table_of_counts(drawn.X, drawn.weight)
        group = None if counts else self._groups(drawn)
        rows = Rows(drawn.X, self._ridge_targets(y), weight, drawn.share, group).grouped()
        X = moved(rows.Z, origin, dtype)
        return Sample(X, rows.y, rows.mass, counts, labels=is_classifier(self))

    def _precision(self, X: Matrix) -> Any:
        """The dtype of the features of these rows."""
        return np.dtype(X.dtype if self.dtype is None else self.dtype)

    @abstractmethod
    def _encoded(self, block: Block) -> tuple[Any, Any]:
        """Targets (numbers less their centre, or codes of classes) and weights of a block."""

    def _ridge_targets(self, y: Any) -> Floats:
        """Encoded targets as targets of a ridge regression, (n, t)."""
        return y

    def _encoded_for_ridge(self, block: Block) -> tuple[Any, Any]:
        y, weight = self._encoded(block)
        return self._ridge_targets(y), weight

    def _weighted(self, drawn: SampledRows) -> SampledRows:
        """The rows of a sample whose weight, times that of their class, is positive."""
        _, weight = self._encoded(Block(drawn.X, drawn.y, drawn.weight))
        if not (weight > 0).any():
            raise ValueError("class_weight leaves no row with a weight above zero")
        return drawn if (weight > 0).all() else drawn.at(weight > 0)

    def _groups(self, drawn: SampledRows) -> Any:
        """Codes 0, 1, ... of rows that are left out together; None if each is left out alone."""
        return None

    def _score(self, sample: Rows) -> Score | None:
        """The score that chooses the penalty; None for the squared error."""
        return None

    def _n_left_out(self, p: int) -> int:
        """The number of rows of p features for leave-one-out errors, for some seconds of work."""
        return int(np.clip(_SAMPLE_WORK / p**2, 500, 5000))

    def _sample(self, summary: Summary) -> Rows:
        """Features of the sampled rows, few enough for leave-one-out errors.

        All rows if there are few: the leave-one-out error is then exact.
        """
        p = self.features_.n_columns_
        summary = summary.some(self._n_left_out(p))
        drawn = self._weighted(summary.drawn)
        y, weight = self._encoded(Block(drawn.X, drawn.y, drawn.weight))
        Z = np.empty((len(drawn.X), p), dtype=self._precision(drawn.X))
        self.features_.write(drawn.X, Z)
        complete = summary.of_all and summary.sample.complete
        counts = is_table_of_counts(drawn.X, drawn.weight)
        group = None if counts else self._groups(drawn)
        return Rows(Z, y, weight, drawn.share, group, summary.of_all, complete, counts)

    def _with_batches(self, sums: NormalSums, summary: Summary) -> Summary:
        """Add the earlier batches to the sums of a new one; the summary of all batches.

        The sample of a batch represents only the rows of this batch, and misses copies in other
        batches. `_sums` and `_seen` do not change, so a batch whose system cannot be solved is not
        kept.
        """
        limit = self._n_left_out(self.features_.n_columns_)
        if not hasattr(self, "_sums"):
            before = summary.sample.limited(limit).blank()()
        else:
            sums.merge(self._sums)
            if not hasattr(self, "_seen"):
                return replace(summary, of_all=False)
            before = self._seen.limited(limit)
        return summary.joined(before, sums.n_rows)

    def _keep_batches(self, sums: NormalSums, summary: Summary) -> None:
        self._sums = sums
        if summary.of_all:
            self._seen = summary.sample

    # --- ridge ------------------------------------------------------------------------------------
    def _solve(
        self, sums: NormalSums, sample: Rows, distinct_share: float, *, copy: bool
    ) -> RidgeFit:
        system = sums.system(
            intercept=self.fit_intercept,
            signs=self.features_.signs_,
            copy=copy,
            distinct_share=sums.weight / sums.n_rows if sample.counts else distinct_share,
        )
        rows = sample.targets(self._ridge_targets(sample.y))
        with steps("solving for the coefficients", None):
            fit = fit_ridge(system, self.alpha, sample.Z.dtype, rows, self._score(sample))
        self.alpha_ = fit.alpha
        self.tuning_ = with_rows(self.tuning_, "alpha", fit.tried)
        return fit

    # --- out --------------------------------------------------------------------------------------
    def _predicted_rows(self, X: Any) -> Iterator[Block]:
        """X in blocks, after the checks of `predict`."""
        check_is_fitted(self)
        if (encoded := self._encoded_to_predict(X)) is not None:
            return encoded.astype(self.dtype).blocks()
        if _is_stream(X):
            data = source(X, **self._columns())
        else:
            check_plain("X", X, dates=True)
            data = source(validated(self, X, **ROWS, reset=False))
        return data.astype(self.dtype).blocks()

    def _predicted_blocks(self, X: Any) -> Iterator[Matrix]:
        """The features of X, some rows at a time, in a reused buffer."""
        p = self.features_.n_columns_
        for block in self._predicted_rows(X):
            dtype = self._precision(block.X)
            rows = int(np.clip(_PREDICTED // (p * dtype.itemsize), 64, 8192))
            buffer = np.empty((min(rows, len(block)), p), dtype=dtype)
            for first in range(0, len(block), rows):
                some = block.X[first : first + rows]
                Z = buffer[: some.shape[0]]
                self.features_.write(some, Z)
                yield Z

    gradient, effects = lazily(ExplainedModel.gradient), lazily(ExplainedModel.effects)

    def _scores(self, X: Any) -> Floats:
        """z'W + b, (n, t)."""
        nothing = np.empty((0, np.atleast_2d(self.coef_).shape[0]))
        return np.concatenate([nothing, *(self._scored(Z) for Z in self._predicted_blocks(X))])

    def _scored(self, Z: Matrix) -> Floats:
        W, unit = narrowed(np.atleast_2d(self.coef_).T, Z.dtype)
        return np.asarray(Z @ W, dtype=np.float64) * unit + np.atleast_1d(self.intercept_)

    def restored(self) -> None:
        """Check the attributes of a saved file; a ValueError if they do not fit together."""
        self._check()
        self.tuning_ = Tuning(self.tuning_)  # a file holds a plain list
        require(hasattr(self.features_, "n_features_in_"), "the map is not fitted")
        d, p = self.features_.n_features_in_, self.features_.n_columns_
        given = self._n_input_columns(d)
        require(self.n_features_in_ == given, "the map has other columns")
        names = getattr(self, "feature_names_in_", range(given))
        require(len(names) == given, "feature_names_in_ is not one per column")
        moves = getattr(self, "feature_importances_", np.zeros(given))
        require(len(moves) == given, "feature_importances_ is not one per column")
        if hasattr(self, "_seen"):
            require(self._seen.n_columns == d, "the sample has other columns")
        n_scores = self._check_restored(p)
        if hasattr(self, "_sums"):
            require(self._sums.fit(p, n_scores), "the sums are those of another map")

    @abstractmethod
    def _check_restored(self, p: int) -> int:
        """The number of scores, after checking that loaded coefficients fit a map of p columns."""

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_stream(X: Any) -> bool:
    return isinstance(X, str | os.PathLike) or callable(X) or is_blocks(X)


def fit_keeping_checkpoint(
    model: KernelModel, X: Any, y: Any = None, sample_weight: Any = None
) -> Checkpoint:
    """`model.fit`, without removing its checkpoint: remove it when the model is saved.

    At every moment the checkpoint or the saved model is on the disk.
    """
    return model._fit(X, y, sample_weight)


def _seeded(features: FeatureMap | None) -> FeatureMap:
    """An unfitted copy of a map; a random state of None becomes 0, so that fits repeat."""
    copy = KernelFeatures() if features is None else clone(features)
    if "random_state" in copy.get_params() and copy.get_params()["random_state"] is None:
        copy.set_params(random_state=0)
    return copy
