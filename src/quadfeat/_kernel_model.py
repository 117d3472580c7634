"""What both kernel models share: data in blocks, the map, the penalty, checkpoints."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import Tags
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from ._checks import (
    check_choice,
    check_declared,
    check_not_negative,
    check_positive,
    check_unmasked,
    with_kernel_hint,
)
from .data import Block, Source, _is_blocks, source
from .distributed import ClusterStream, Partitions, is_collection
from .features import FeatureMap, Matrix
from .fitting import Judge, RidgeFit, Rows, fit_ridge
from .kernels import Kernel
from .rules import Floats
from .streaming import (
    Checkpoint,
    Encode,
    FeatureStream,
    Stream,
    evaluate,
    parameters_fingerprint,
)
from .sums import NormalSums
from .survey import Once, Survey, survey
from .tuning import Tried, seeded, tune_bandwidth

DTYPES = ("float32", "float64")
_TUNING_ROWS = 10_000  # of the sample, to choose a bandwidth on
_SAMPLE_WORK = 5e11  # multiply-adds to leave rows of the sample out in turn
_PREDICTED = 2**25  # bytes of features at a time when predicting


class KernelModel(BaseEstimator, ABC):
    """What both models share: data in blocks, the map, the penalty, checkpoints."""

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
    tuning_: list[Tried]
    n_features_in_: int
    _sums: NormalSums  # of the batches of partial_fit
    _target_rules: ClassVar[dict[str, Any]] = {}  # what scikit-learn is to check of y

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            hinted = with_kernel_hint(cls.__init__, "KernelFeatures({})")
            cls.__init__ = hinted  # type: ignore[method-assign]

    # --- data in ----------------------------------------------------------------------------------
    def _source(
        self, X: Any, y: Any, sample_weight: Any, *, reset: bool = True
    ) -> Source | Partitions | Once:
        if reset:
            # A fit forgets the batches and the columns of those before it.
            for name in ("_sums", "feature_names_in_"):
                self.__dict__.pop(name, None)
        if is_collection(X):
            parts = Partitions(X, y, sample_weight, dtype=self.dtype)
            if reset and parts.columns is not None:
                self.feature_names_in_ = np.array(parts.columns, dtype=object)
            return parts
        if hasattr(X, "__next__") and y is None and sample_weight is None:
            return Once.of(X).astype(self.dtype)
        if _is_stream(X):
            columns = None if reset else self._columns()
            made = source(X, y, sample_weight, columns=columns).astype(self.dtype)
            if reset and made.columns is not None:
                self.feature_names_in_ = np.array(made.columns, dtype=object)
            return made
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; {type(self).__name__} learns "
                f"from targets"
            )
        check_unmasked(X=X, y=y, sample_weight=sample_weight)
        X, y = validate_data(
            self,
            X,
            y,
            accept_sparse="csr",
            dtype=[np.float64, np.float32],
            reset=reset,
            **self._target_rules,
        )
        if sample_weight is not None:
            sample_weight = _check_sample_weight(
                sample_weight, X, dtype=np.float64, ensure_non_negative=True
            )
        return source(X, self._checked_target(y), sample_weight).astype(self.dtype)

    def _checked_target(self, y: Any) -> Any:
        return y

    def _columns(self) -> Any:
        names = getattr(self, "feature_names_in_", None)
        return self.n_features_in_ if names is None else list(names)

    def _check(self) -> None:
        check_declared(self)
        if isinstance(self.features, Kernel):
            raise TypeError(
                f"features must be a feature map, and {self.features!r} is a kernel: write "
                f"{type(self).__name__}(KernelFeatures({self.features!r}))"
            )
        if not (self.features is None or isinstance(self.features, FeatureMap)):
            raise TypeError(
                f"features must be a feature map such as KernelFeatures(n_components=1024), or "
                f"None, got {self.features!r}"
            )
        if self.features is not None:
            self.features._check_parameters()
        if isinstance(self.alpha, str):
            check_choice("alpha", self.alpha, ("auto",))
        else:
            values = np.atleast_1d(self.alpha).tolist()
            if not values:
                raise ValueError("alpha is empty; give a number such as 1.0, several, or 'auto'")
            for value in values:
                check_positive("alpha", value)
        if self.dtype is not None:
            check_choice("dtype", self.dtype, DTYPES)
        if not (self.checkpoint is None or isinstance(self.checkpoint, str | os.PathLike)):
            raise TypeError(
                f"checkpoint must be a path such as 'fit.checkpoint', or None, got "
                f"{self.checkpoint!r}"
            )
        check_not_negative("checkpoint_interval", self.checkpoint_interval, example="60.0")

    def _opened_checkpoint(self, data: Source | Partitions | Once) -> Checkpoint:
        if self.checkpoint is None:
            return Checkpoint(None, 0.0, {})
        ignored = ("checkpoint", "checkpoint_interval", "verbose")
        chosen = {k: v for k, v in self.get_params(deep=True).items() if k not in ignored}
        identity = {
            "data": data.fingerprint,
            "parameters": type(self).__name__ + parameters_fingerprint(chosen),
        }
        return Checkpoint(self.checkpoint, self.checkpoint_interval, identity)

    def _look(
        self, data: Source | Partitions | Once, checkpoint: Checkpoint, *, labels: bool
    ) -> Survey:
        if isinstance(data, Partitions):
            return data.survey(labels=labels)
        seen = data.head if isinstance(data, Once) else data
        look = survey(seen, labels=labels, verbose=self.verbose)
        if checkpoint.active:
            # A stream is known by its first block alone before it is read.
            checkpoint.require("rows", look.fingerprint)
        return look

    def _stream(
        self, data: Source | Partitions | Once, look: Survey, encode: Encode, *, keep: bool = False
    ) -> Stream:
        if isinstance(data, Partitions):
            return ClusterStream(data, self.features_, encode)
        if isinstance(data, Once):
            return FeatureStream(data.whole, self.features_, encode, verbose=self.verbose)
        return FeatureStream(
            data, self.features_, encode, n_rows=look.n_rows, keep=keep, verbose=self.verbose
        )

    # --- the map ----------------------------------------------------------------------------------
    def _fit_map(self, look: Survey) -> None:
        """Fit the map on the sample, with a bandwidth of our choice where there is no kernel."""
        self.tuning_ = []
        if look.n_rows == 1 and isinstance(self.alpha, str):
            raise ValueError("1 sample is too few to choose alpha by; give alpha a number")
        features = seeded(self.features)
        distinct = look.distinct_rows()
        if features.kernel is None and len(distinct) > 1:
            some = look.some(_TUNING_ROWS)
            Y, weight = self._encoded(Block(some.X, some.y, some.weight))
            kernel, self.tuning_ = tune_bandwidth(
                features, some.X, distinct, self._ridge_targets(Y), weight, verbose=self.verbose
            )
            features.set_params(kernel=kernel)
        self.features_ = features.fit(distinct)
        self.n_features_in_ = distinct.shape[1]

    @abstractmethod
    def _encoded(self, block: Block) -> tuple[Any, Any]:
        """Targets as the sums want them, and weights."""

    def _ridge_targets(self, y: Any) -> Floats:
        return y

    def _judge(self, sample: Rows) -> Judge | None:
        """What a penalty is judged by; None for the squared error."""
        return None

    def _sample(self, look: Survey) -> Rows:
        """Rows of the sample with features, few enough to be left out in turn."""
        p = self.features_._n_features_out
        some = look.some(int(np.clip(_SAMPLE_WORK / p**2, 500, 5000)))
        y, weight = self._encoded(Block(some.X, some.y, some.weight))
        Z = np.empty((len(some.X), p), dtype=some.X.dtype)
        evaluate(self.features_, some.X, Z)
        return Rows(Z, y, weight)

    def _add(self, sums: NormalSums) -> None:
        """Keep the sums of one more batch, which were made whole."""
        if hasattr(self, "_sums"):
            self._sums.merge(sums)
        else:
            self._sums = sums

    # --- ridge ------------------------------------------------------------------------------------
    def _solve(
        self, sums: NormalSums, sample: Rows, stream: Stream | None, *, copy: bool
    ) -> RidgeFit:
        system = sums.system(intercept=self.fit_intercept, signs=self.features_.signs_, copy=copy)
        rows = Rows(sample.Z, self._ridge_targets(sample.y), sample.weight)
        fit = fit_ridge(system, self.alpha, sample.Z.dtype, rows, stream, self._judge(sample))
        self.alpha_ = fit.alpha
        self.tuning_ = [each for each in self.tuning_ if each.parameter != "alpha"] + fit.tried
        return fit

    # --- out --------------------------------------------------------------------------------------
    def _predicted_blocks(self, X: Any) -> Iterator[Matrix]:
        """The features of X, some rows at a time, in a reused buffer."""
        check_is_fitted(self)
        if _is_stream(X):
            made = source(X, columns=self._columns())
        else:
            check_unmasked(X=X)
            made = source(
                validate_data(
                    self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
                )
            )
        p = self.features_._n_features_out
        for block in made.astype(self.dtype).blocks():
            dtype = block.X.dtype
            rows = int(np.clip(_PREDICTED // (p * dtype.itemsize), 64, 8192))
            buffer = np.empty((min(rows, len(block)), p), dtype=dtype)
            for first in range(0, len(block), rows):
                some = block.X[first : first + rows]
                Z = buffer[: some.shape[0]]
                evaluate(self.features_, some, Z)
                yield Z

    def _scores(self, X: Any) -> Floats:
        """z'W + b, (n, t)."""
        nothing = np.empty((0, np.atleast_2d(self.coef_).shape[0]))
        return np.concatenate([nothing, *(self._scored(Z) for Z in self._predicted_blocks(X))])

    def _scored(self, Z: Matrix) -> Floats:
        W = np.atleast_2d(self.coef_).T.astype(Z.dtype)
        return np.asarray(Z @ W, dtype=np.float64) + np.atleast_1d(self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_stream(X: Any) -> bool:
    return isinstance(X, str | os.PathLike) or callable(X) or _is_blocks(X)
