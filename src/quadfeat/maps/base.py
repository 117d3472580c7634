"""Feature maps: scikit-learn transformers whose inner products are a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from functools import partial
from math import isfinite
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from scipy import sparse
from sklearn.base import (
    BaseEstimator,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    clone,
)
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from .. import _engine
from .._checks import (
    Constraint,
    check_columns,
    check_constraints,
    check_count,
    check_declared,
    check_memory,
    check_plain,
    generator,
    require,
    with_kernel_hint,
)
from .._errors import NoCertificate
from .._rows import dense_rows, moved, row_blocks, sparse_rows
from .._typing import Floats, Indices, Matrix
from ..accuracy import certificate, estimate
from ..accuracy.certificate import Certificate
from ..accuracy.estimate import Estimate
from ..accuracy.region import Region
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..numerics.blas import on_one_thread, one_thread

# The constraint of maps whose width is a parameter.
COLUMNS: Mapping[str, Constraint] = {"n_components": partial(check_count, example=256)}
_PRECISIONS = [np.dtype(np.float64), np.dtype(np.float32)]
_SMALL = 2**20  # bytes of features, below which the memory of the machine is not looked up
# Rows times entries of a factor, up to which BLAS uses one thread without being told to: OpenBLAS
# uses several from 9216 on (interface/gemv.c). Setting its threads takes as long as one row.
_UNTHREADED = 2**13


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Rows of X in, features out; their inner products (with `signs_`) are the kernel.

    A final subclass stores its parameters, and names a construction in `_build` and `_evaluate`.
    This class owns `fit` and `transform`.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), +1 or -1 per column; all +1 unless the rule has negative weights
    n_columns_ : int, columns of the features
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    kernel: Kernel | None
    kernel_: Kernel
    signs_: Floats
    n_columns_: int
    n_features_in_: int
    _origin: Floats | None = None
    _constraints: ClassVar[Mapping[str, Constraint]] = {}  # of parameters, beside the flags
    _most_columns: ClassVar[int] = 2**22  # that `n_components` and `max_components` may ask for

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = with_kernel_hint(cls.__init__, "{}")  # type: ignore[method-assign]

    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the kernel on X and build the map.

        Parameters
        ----------
        X : array or CSR matrix (n, d)
        y : ignored
        """
        check_plain("X", X, dates=True)
        return self._fit_validated(validate_data(self, X, accept_sparse="csr", dtype=_PRECISIONS))

    @on_one_thread
    def _fit_validated(self, X: Any) -> Self:
        """`fit` on rows that were validated: an array of floats, or a CSR matrix."""
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("_origin", None)
        self.check_parameters()
        _check_squares(X)
        rows = dense_rows(X)
        kernel = Gaussian("scale") if self.kernel is None else self.kernel
        self.kernel_ = kernel.resolve(rows)
        self._groups = self.kernel_.groups(rows.shape[1])
        self.n_columns_ = self._build_on(rows, X)
        return self

    def restored(self) -> None:
        """Rebuild what follows from the attributes of a saved file, after these have been set.

        Raises a ValueError if they do not fit together. `kernel_` must be resolved.
        """
        self._check()
        d = self.n_features_in_
        self._groups = self.kernel_.groups(d)
        names = getattr(self, "feature_names_in_", None)
        require(names is None or len(names) == d, "feature_names_in_ is not one name per column")
        require(self._origin is None or len(self._origin) == d, "the origin has other columns")
        columns = self._restored_columns()
        require(self.signs_.shape == (columns,), f"{len(self.signs_)} signs for {columns} columns")
        require(bool(np.isin(self.signs_, (-1.0, 0.0, 1.0)).all()), "signs are not -1, 0 or 1")
        self.n_columns_ = columns

    def _restored_columns(self) -> int:
        """The number of columns, after checking that the parts of a loaded map fit together."""
        return len(self.signs_)

    @property
    def _n_features_out(self) -> int:
        """The name by which scikit-learn asks for the number of columns."""
        return self.n_columns_

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the default kernel too, such as `kernel__gamma`."""
        if self.kernel is None and any(name.startswith("kernel__") for name in params):
            params.setdefault("kernel", Gaussian("scale"))
        return super().set_params(**params)

    def check_parameters(self) -> None:
        """Refuse parameters that cannot work, before anything is computed; `fit` calls it."""
        check_declared(self)
        self._check()
        for name in ("n_components", "max_components"):
            most, maker = self._most_columns, type(self).__name__
            check_columns(name, getattr(self, name, None), most, maker)
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise TypeError(
                f"kernel must be a Kernel such as Gaussian(gamma=0.5), or None, got {self.kernel!r}"
            )

    def _check(self) -> None:
        """Check the parameters of the class: `_constraints`, and what a subclass adds."""
        check_constraints(self, self._constraints)

    @property
    def origin(self) -> Floats | None:
        """What is subtracted from every row, (n_features_in_,); None for nothing."""
        return self._origin

    def moved_to(self, origin: Floats) -> Self:
        """Subtract `origin` from rows before they are rounded to the precision of the features.

        For models of columns far from 0. Rows given to `fit` must have been moved before.
        """
        self._origin = origin
        return self

    @property
    def first_index(self) -> int | None:
        """What the columns of the svmlight file that X came from count from; None for others."""
        return getattr(self, "_first_index", None)

    @first_index.setter
    def first_index(self, index: int) -> None:
        self._first_index = index

    @abstractmethod
    def _build(self, X: Matrix) -> int:
        """Build the map from X, set `signs_`, and return the number of columns."""

    def _build_on(self, rows: Matrix, X: Any) -> int:
        """`_build` on dense rows; a map may also look at X, which may be sparse and have more."""
        return self._build(rows)

    @abstractmethod
    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        """Write the features of some rows into out."""

    def transform(self, X: Any) -> Matrix:
        """The features of X, (n, n_columns), in the precision of X."""
        X = self._validated(X)
        n, p = X.shape[0], self.n_columns_
        n_bytes = n * p * X.dtype.itemsize
        if n_bytes > _SMALL:
            check_memory(
                n_bytes,
                f"transform of {n:,} rows into {p:,} columns",
                "transform_blocks yields them a few rows at a time",
            )
        out: Matrix = _engine.empty(n, p, X.dtype)
        if n * self._largest_factor() <= _UNTHREADED:
            self.write(X, out)
        else:
            with one_thread():
                self.write(X, out)
        return out

    def _largest_factor(self) -> float:
        """Entries of the largest matrix that rows are multiplied by; infinite if not known."""
        return np.inf

    def write(self, X: Any, out: Matrix) -> None:
        """Write the features of rows into `out`, for loops that reuse their memory.

        Nothing is checked: `transform` is for rows from outside.

        Parameters
        ----------
        X : array or CSR matrix (n, d), validated
        out : (n, n_columns_), float32 or float64; features are computed in its precision
        """
        for start, rows in row_blocks(X, sparse_rows(X)):
            self._evaluate(moved(rows, self._origin, out.dtype), out[start : start + len(rows)])

    def lighter(self, kernel: Kernel, most_columns: int) -> FeatureMap:
        """An unfitted map of the same kind for another kernel, of at most so many columns.

        For searches that fit many maps, such as that of a bandwidth.
        """
        copy = clone(self).set_params(kernel=kernel)
        if "n_components" in copy.get_params():
            copy.set_params(n_components=min(copy.n_components or 256, most_columns))
        return copy

    def transform_blocks(self, X: Any, rows: int | None = None) -> Iterator[Matrix]:
        """The features of X, `rows` rows at a time, in one reused buffer.

        The next block overwrites a block: use it, or copy it. By default a block fits into the
        last-level cache, and is large enough for threads to share.
        """
        return self._blocks(self._validated(X), rows)

    def _blocks(self, X: Any, rows: int | None = None) -> Iterator[Matrix]:
        """`transform_blocks` of validated rows."""
        p = self.n_columns_
        if rows is None:
            rows = int(np.clip(2**22 // (p * X.dtype.itemsize), 16, 4096))
        buffer: Matrix = np.empty((min(check_count("rows", rows), X.shape[0]), p), dtype=X.dtype)
        for start in range(0, X.shape[0], max(1, len(buffer))):
            block = X[start : start + len(buffer)]
            out = buffer[: block.shape[0]]
            self.write(block, out)
            yield out

    def approximate_kernel(self, X: Any, Y: Any = None) -> Matrix:
        """The kernel as these features see it: transform(X) @ diag(signs_) @ transform(Y).T."""
        X = self._validated(X)
        return self._approximate_gram(X, X if Y is None else self._validated(Y))

    def _approximate_gram(self, X: Any, Y: Any) -> Matrix:
        """`approximate_kernel` of validated rows."""
        left = self.features_of(X)
        right = left if Y is X else self.features_of(Y)
        return np.asarray((left * self.signs_.astype(left.dtype)) @ right.T)

    def features_of(self, X: Any) -> Matrix:
        """The features of validated rows as a plain array, whatever `set_output` says."""
        out: Matrix = np.empty((X.shape[0], self.n_columns_), dtype=X.dtype)
        self.write(X, out)
        return out

    @on_one_thread
    def certificate(
        self, X: Any = None, *, diameter: float | None = None, box: Any = None
    ) -> Certificate:
        """A proven bound of |k - k~| / k(0) for every pair of rows in a region.

        Parameters
        ----------
        X : array or CSR matrix, whose rows span the region; or
        diameter : float, the largest distance between rows
        box : one float per column, the largest gap on each axis

        Raises
        ------
        ValueError
            Where nothing below k(0) can be proven; `error` gives an estimate.
        """
        check_is_fitted(self)
        if X is not None:
            X = self.dense_rows(X)
        region = Region.of(X, d=self.n_features_in_, diameter=diameter, box=box)
        proven = self._certify(region, X)
        certificate.refuse_vacuous(proven.value, self.n_features_in_)
        return proven

    def _certify(self, region: Region, X: Floats | None) -> Certificate:
        raise NoCertificate(
            f"nothing is proven about {type(self).__name__}; error(X) estimates, and DenseGrid and "
            f"HermiteMercer have certificates"
        )

    @on_one_thread
    def error(
        self,
        X: Any,
        Y: Any = None,
        n_pairs: int = 100_000,
        confidence: float = 0.95,
        *,
        random_state: Any = 0,
    ) -> Estimate:
        """An estimate of |k - k~| / k(0) from random pairs; give rows that `fit` did not see.

        RMS, quantiles and the largest error, each with an upper limit that holds with
        `confidence` for the population that the answer names: pairs of new rows if there are at
        least twice as many rows as pairs, else pairs of these rows.

        Limits of quantiles are order statistics. The limit of the RMS also needs a proven bound of
        every error in the population, which the answer gives as `bound`. For pairs of these rows
        that is a certificate or a residual, often as small as the errors. New rows may be far
        from all of these: for them it is 1 for expansions, 1 + sum |weights| / k(0) for Fourier
        maps, which is 2 where no weight is negative, and infinite for a user's own map. So the
        RMS of n pairs of new rows is never limited to less than 2.9 bound / sqrt(n) at 95%.

        Parameters
        ----------
        X : array (n, d)
        Y : array (m, d) or None: pairs of a row of X and a row of Y, or of two rows of X
        n_pairs : int
        confidence : float
        random_state : int, RandomState or None, to draw the pairs
        """
        rng = generator(random_state)
        check_count("n_pairs", n_pairs, minimum=2, example=100_000)
        X = self.dense_rows(X)
        if Y is None:
            return self._error_of_pairs(X, n_pairs, confidence, rng)
        Y = self.dense_rows(Y)
        left, right = (rng.integers(len(rows), size=n_pairs) for rows in (X, Y))
        pairs = _Pairs(X, Y, left, right, f"pairs of these {len(X)} and {len(Y)} rows")
        return self._estimated(pairs, confidence)

    def _error_of_pairs(
        self, X: Floats, n_pairs: int, confidence: float, rng: np.random.Generator
    ) -> Estimate:
        """`error` on pairs of validated float64 rows."""
        left, right, population = estimate.draw_pairs(len(X), n_pairs, rng)
        return self._estimated(_Pairs(X, X, left, right, population), confidence)

    def _estimated(self, pairs: _Pairs, confidence: float) -> Estimate:
        X, Y, left, right, population = pairs
        at_zero = self.kernel_.at_zero(X.shape[1])
        errors = np.empty(len(left))
        # As many rows of features at a time as make 64 MB.
        size = max(1, 2**22 // self.n_columns_)
        for start in range(0, len(left), size):
            some = slice(start, start + size)
            x, y = X[left[some]], Y[right[some]]
            approximate = np.einsum(
                "ij,j,ij->i", self.features_of(x), self.signs_, self.features_of(y)
            )
            errors[some] = (approximate - self.kernel_.at(x - y)) / at_zero
        new_rows = population == estimate.NEW_ROWS
        bound = self._largest_anywhere() if new_rows else self._largest_error(X, Y)
        return estimate.estimate(
            errors,
            confidence=confidence,
            bound=max(bound, float(np.abs(errors).max())),
            population=population,
        )

    def _largest_anywhere(self) -> float:
        """A proven bound of the error, relative to k(0), on pairs of any rows at all."""
        return np.inf

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        """A proven bound of the error, relative to k(0), on pairs of a row of X and one of Y."""
        lengths = [
            max(float(np.square(Z).sum(axis=1).max()) for Z in self._blocks(rows)) ** 0.5
            for rows in (X, Y)
        ]
        return 1.0 + lengths[0] * lengths[1] / self.kernel_.at_zero(X.shape[1])

    def dense_rows(self, X: Any) -> Floats:
        """X after the checks of `transform`, as a dense float64 array."""
        X = self._validated(X)
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def _validated(self, X: Any) -> Any:
        """X as an array of floats or a CSR matrix, after scikit-learn's checks."""
        if self._passes_as_it_is(X):
            return X
        check_is_fitted(self)
        check_plain("X", X, dates=True)
        return validate_data(self, X, reset=False, accept_sparse="csr", dtype=_PRECISIONS)

    def _passes_as_it_is(self, X: Any) -> bool:
        """Whether X is a plain array that scikit-learn's checks, 100 us a call, would return."""
        known = vars(self)
        return (
            type(X) is np.ndarray
            and X.ndim == 2
            and X.dtype in _PRECISIONS
            and X.shape[0] > 0
            and X.shape[1] == known.get("n_features_in_")
            and "n_columns_" in known
            and "feature_names_in_" not in known
            and _has_finite_sum(X)
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class _Pairs(NamedTuple):
    """Pairs X[left[i]], Y[right[i]], and the population that they were drawn from."""

    X: Floats
    Y: Floats
    left: Indices
    right: Indices
    population: str


def _has_finite_sum(X: Matrix) -> bool:
    """Whether the sum is finite, and so every entry; entries may be finite where it is not."""
    with np.errstate(over="ignore", invalid="ignore"):
        return isfinite(X.sum())


def _check_squares(X: Any) -> None:
    """Refuse rows whose squares overflow: distances and variances would be infinite."""
    values = X.data if sparse.issparse(X) else X
    limit = float(np.sqrt(np.finfo(X.dtype).max)) / 1e6  # so that sums of squares do not either
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > limit:
        raise ValueError(
            f"X has values up to {largest:g}, and beyond {limit:.0e} their squares overflow in "
            f"{X.dtype}; standardise X, or leave such rows out"
        )
