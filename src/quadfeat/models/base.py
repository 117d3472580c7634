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

from .._checks import (
    check_choice,
    check_declared,
    check_not_negative,
    check_plain,
    check_positive,
    with_kernel_hint,
)
from .._rows import moved
from .._typing import Floats, Matrix
from ..data.base import Source
from ..data.blocks import Block
from ..data.checkpoint import Checkpoint
from ..data.dask_source import Partitions, is_collection
from ..data.identity import parameters_fingerprint
from ..data.sampling import Drawn, RowSample, is_table_of_counts
from ..data.sources import is_blocks, source
from ..data.summary import Once, Survey, distinct_rows, survey
from ..kernels.base import Kernel
from ..maps.base import FeatureMap
from .cluster import ClusterStream
from .kernel_learning import seeded, tune_bandwidth
from .ridge import Judge, RidgeFit, fit_ridge
from .ridge_sums import NormalSums, narrowed
from .stream import Encode, FeatureStream, Rows, Stream
from .tuning import Tried

DTYPES = ("float32", "float64")
_TUNING_ROWS = 5000  # of the sample, to choose a bandwidth on
_SAMPLE_WORK = 5e11  # multiply-adds to leave rows of the sample out in turn
_ORIGIN_ROWS = 200  # of the sample, to find where columns lie
# How many of its interquartile ranges a column may be from 0 before features lose digits by it:
# float32 then has 20 bits left for the differences, and float64 has 32.
_FAR = {"float32": 2.0**3, "float64": 2.0**20}
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
    _seen: RowSample  # of the same; files of version 0.1.0 have none
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
            for name in ("_sums", "_seen", "feature_names_in_", "_first_index"):
                self.__dict__.pop(name, None)
        if is_collection(X):
            return Partitions(X, y, sample_weight, dtype=self.dtype)
        if hasattr(X, "__next__") and y is None and sample_weight is None:
            return Once.of(X).astype(self.dtype)
        if _is_stream(X):
            known = {} if reset else self._columns()
            made = source(X, y, sample_weight, **known).astype(self.dtype)
            if reset and made.first_index is not None:
                self._first_index = made.first_index
            return made
        if y is None:
            raise ValueError(
                f"requires y to be passed, but the target y is None; {type(self).__name__} learns "
                f"from targets"
            )
        for name, values in (("X", X), ("y", y), ("sample_weight", sample_weight)):
            check_plain(name, values, dates=True)  # scikit-learn knows what to say of dates
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

    def _columns(self) -> dict[str, Any]:
        """What `source` is to know of the columns of the fit."""
        names = getattr(self, "feature_names_in_", None)
        return {
            "columns": self.n_features_in_ if names is None else list(names),
            "first_index": getattr(self, "_first_index", None),
        }

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
            self.features.check_parameters()
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
        if isinstance(data, Partitions):
            raise ValueError(
                "checkpoint is for fits on one machine; on a cluster the scheduler makes lost sums "
                "again, so leave checkpoint=None"
            )
        ignored = ("checkpoint", "checkpoint_interval", "verbose")
        chosen = {k: v for k, v in self.get_params(deep=True).items() if k not in ignored}
        identity = {"parameters": type(self).__name__ + parameters_fingerprint(chosen)}
        return Checkpoint(self.checkpoint, self.checkpoint_interval, identity)

    def _look(
        self, data: Source | Partitions | Once, checkpoint: Checkpoint, *, labels: bool
    ) -> Survey:
        if isinstance(data, Partitions):
            look = data.survey(labels=labels)
        else:
            seen = data.head if isinstance(data, Once) else data
            look = survey(seen, labels=labels, verbose=self.verbose)
        if checkpoint.active:
            # Every row has been read by now, so that all of them tell the data from other data.
            checkpoint.require("data", data.fingerprint)
        if data.columns is not None and not hasattr(self, "_sums"):
            self.feature_names_in_ = np.array(data.columns, dtype=object)
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
        rows = self._counting(look.drawn).X
        origin, dtype = self._origin(rows), self._precision(rows)
        distinct = moved(distinct_rows(rows), origin, dtype)
        if len(distinct) > 1 and not (distinct != distinct[0]).any():
            raise ValueError(
                f"the rows of X differ by less than {dtype} can tell; standardise X, or give it "
                f"as float64"
            )
        if features.kernel is None and len(distinct) > 1:
            drawn = self._counting(look.some(_TUNING_ROWS).drawn)
            y, weight = self._encoded(Block(drawn.X, drawn.y, drawn.weight))
            counts = is_table_of_counts(drawn.X, drawn.weight)
            group = None if counts else self._groups(drawn)
            tuned = Rows(drawn.X, self._ridge_targets(y), weight, drawn.share, group).grouped()
            kernel, self.tuning_ = tune_bandwidth(
                features,
                moved(tuned.Z, origin, dtype),
                distinct,
                tuned.y,
                tuned.mass,
                counts=counts,
                verbose=self.verbose,
            )
            features.set_params(kernel=kernel)
        self.features_ = features.fit(distinct)
        if origin is not None:
            self.features_.moved_to(origin)
        self.n_features_in_ = distinct.shape[1]

    def _precision(self, X: Matrix) -> Any:
        """The precision of features of these rows."""
        return np.dtype(X.dtype if self.dtype is None else self.dtype)

    def _origin(self, X: Matrix) -> Floats | None:
        """What to take from rows, in double precision: the median of columns that lie far from 0.

        Kernels see differences alone, and those of 1e8 + x lose x where 1e8 + x is rounded first.
        """
        if X.dtype == np.float32:
            return None
        some = X[:: -(-len(X) // _ORIGIN_ROWS)]
        low, middle, high = np.quantile(some, [0.25, 0.5, 0.75], axis=0, method="lower")
        far = np.abs(middle) > _FAR[self._precision(X).name] * (high - low)
        return np.where(far, middle, 0.0) if far.any() else None

    @abstractmethod
    def _encoded(self, block: Block) -> tuple[Any, Any]:
        """Targets as the sums want them, and weights."""

    def _ridge_targets(self, y: Any) -> Floats:
        return y

    def _counting(self, drawn: Drawn) -> Drawn:
        """The rows of a sample that have a weight after that of their class."""
        _, weight = self._encoded(Block(drawn.X, drawn.y, drawn.weight))
        if not (weight > 0).any():
            raise ValueError("class_weight leaves no row with a weight above zero")
        return drawn if (weight > 0).all() else drawn.at(weight > 0)

    def _groups(self, drawn: Drawn) -> Any:
        """Codes 0, 1, ... of rows that are left out together; None for every row on its own."""
        return None

    def _judge(self, sample: Rows) -> Judge | None:
        """What a penalty is judged by; None for the squared error."""
        return None

    def _n_left_out(self, p: int) -> int:
        """How many rows of p features are left out in turn, which takes some seconds at most."""
        return int(np.clip(_SAMPLE_WORK / p**2, 500, 5000))

    def _sample(self, look: Survey, *, whole: bool) -> Rows:
        """Rows of the sample with features, few enough to be left out in turn.

        All rows, if these are few: then the error that penalties are judged by is exact. `whole`
        tells whether the survey saw all rows of the fit.
        """
        p = self.features_.n_columns_
        look = look.some(self._n_left_out(p))
        drawn = self._counting(look.drawn)
        y, weight = self._encoded(Block(drawn.X, drawn.y, drawn.weight))
        Z = np.empty((len(drawn.X), p), dtype=self._precision(drawn.X))
        self.features_.write(drawn.X, Z)
        complete = whole and look.sample.complete
        counts = is_table_of_counts(drawn.X, drawn.weight)
        group = None if counts else self._groups(drawn)
        return Rows(Z, y, weight, drawn.share, group, whole, complete, counts)

    def _with_batches(self, sums: NormalSums, look: Survey) -> tuple[Survey, bool]:
        """Add the batches before to the sums of one more, and to the look at it.

        Returns whether the look is at all of them. What one batch has would judge for its own rows
        only, and knows nothing of copies in the others. The batches before stay as they were, so
        that a batch which cannot be solved with them is not kept.
        """
        limit = self._n_left_out(self.features_.n_columns_)
        if not hasattr(self, "_sums"):
            before = look.sample.limited(limit).blank()()
        else:
            sums.merge(self._sums)
            if not hasattr(self, "_seen"):
                return look, False
            before = self._seen.limited(limit)
        return look.joined(before, sums.n_rows), True

    def _keep_batches(self, sums: NormalSums, look: Survey, whole: bool) -> None:
        self._sums = sums
        if whole:
            self._seen = look.sample

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
        fit = fit_ridge(system, self.alpha, sample.Z.dtype, rows, self._judge(sample))
        self.alpha_ = fit.alpha
        self.tuning_ = [each for each in self.tuning_ if each.parameter != "alpha"] + fit.tried
        return fit

    # --- out --------------------------------------------------------------------------------------
    def _predicted_blocks(self, X: Any) -> Iterator[Matrix]:
        """The features of X, some rows at a time, in a reused buffer."""
        check_is_fitted(self)
        if _is_stream(X):
            made = source(X, **self._columns())
        else:
            check_plain("X", X, dates=True)
            made = source(
                validate_data(
                    self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
                )
            )
        p = self.features_.n_columns_
        for block in made.astype(self.dtype).blocks():
            dtype = self._precision(block.X)
            rows = int(np.clip(_PREDICTED // (p * dtype.itemsize), 64, 8192))
            buffer = np.empty((min(rows, len(block)), p), dtype=dtype)
            for first in range(0, len(block), rows):
                some = block.X[first : first + rows]
                Z = buffer[: some.shape[0]]
                self.features_.write(some, Z)
                yield Z

    def _scores(self, X: Any) -> Floats:
        """z'W + b, (n, t)."""
        nothing = np.empty((0, np.atleast_2d(self.coef_).shape[0]))
        return np.concatenate([nothing, *(self._scored(Z) for Z in self._predicted_blocks(X))])

    def _scored(self, Z: Matrix) -> Floats:
        W, unit = narrowed(np.atleast_2d(self.coef_).T, Z.dtype)
        return np.asarray(Z @ W, dtype=np.float64) * unit + np.atleast_1d(self.intercept_)

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def _is_stream(X: Any) -> bool:
    return isinstance(X, str | os.PathLike) or callable(X) or is_blocks(X)


MEAN_ROWS = 2000  # of the sample
JUDGED_FEATURES = 2**22
