"""Feature maps: scikit-learn transformers whose inner products are a kernel."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, ClassVar, Self

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
    check_gram,
    check_memory,
    check_plain,
    check_squares,
    naming,
    require,
    with_kernel_hint,
)
from .._display.showing import shown
from .._errors import NoLattice
from .._rows import as_array, dense_rows, has_finite_sum, same_kind
from .._typing import Floats, Matrix
from ..kernels.base import Group, Kernel
from ..kernels.stationary import Gaussian
from ..numerics.blas import on_one_thread, one_thread
from .coordinates import Coordinates, is_part
from .facts import MapFacts
from .gradients import Differentiable
from .lattice import Lattice
from .measured import Measured

# For maps whose width is a parameter.
COLUMNS: Mapping[str, Constraint] = {"n_components": partial(check_count, example=256)}
_PRECISIONS = [np.dtype(np.float64), np.dtype(np.float32)]
_SMALL = 2**20  # bytes of features; smaller outputs skip the check of free memory
# Up to this many rows times entries of a factor BLAS uses one thread by itself: OpenBLAS uses
# several from 9216 on (interface/gemv.c). Setting its threads takes as long as one row.
_UNTHREADED = 2**13
# Kernel errors by the rounding of far rows, from which on a map warns: three digits are left. They
# are at most the rounding of an angle, summed with the weights of nodes, and a fifth of it seen.
FAR_ROUNDING = 2.0**-10


class FeatureMap(
    MapFacts,
    Differentiable,
    ClassNamePrefixFeaturesOutMixin,
    TransformerMixin,
    Measured,
    BaseEstimator,
):
    """Rows of X in, features out; their inner products (with `signs_`) are the kernel.

    A final subclass stores its parameters, and names a construction in `_build` and `_evaluate`.
    This class owns `fit` and `transform`, and the change of coordinates of a kernel with a metric:
    subclasses see the inner kernel `_kernel`, its `_groups`, and rows with `_n_axes` columns.

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
    _kernel: Kernel  # for rows in the coordinates of `_build` and `_evaluate`
    _groups: list[Group]
    _coordinates: Coordinates
    _origin: Floats | None = None
    _constraints: ClassVar[Mapping[str, Constraint]] = {}  # of all parameters except flags
    any_family: ClassVar[bool] = False  # whether the map also suits kernels that are not smooth
    _most_columns: ClassVar[int] = 2**22  # limit for `n_components` and `max_components`

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = with_kernel_hint(cls.__init__, "{}")  # type: ignore[method-assign]

    @shown
    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the kernel on X and build the map.

        Parameters
        ----------
        X : array or CSR matrix (n, d)
        y : targets (n,) or (n, t) for a kernel that learns, such as Gaussian("learned"): numbers,
            or classes (text, booleans, whole numbers of at most 100 values); ignored by others
        """
        X = as_array(X)
        check_plain("X", X, dates=True)
        X = validate_data(self, X, accept_sparse="csr", dtype=_PRECISIONS)
        self.check_parameters()
        kernel = self._chosen_kernel()
        if not kernel.learns:
            return self._fit_validated(X)
        check_squares("X", X)
        return self._fit_validated(X, kernel.learned(X, y))

    @on_one_thread
    def _fit_validated(self, X: Any, learned: Kernel | None = None) -> Self:
        """`fit` on rows that were validated: an array of floats, or a CSR matrix."""
        self.n_features_in_ = X.shape[1]
        self.__dict__.pop("_origin", None)
        self.check_parameters()
        check_squares("X", X)
        rows = dense_rows(X)
        self.kernel_ = (learned or self._chosen_kernel()).resolve(rows)
        self._set_coordinates()
        inner = self._coordinates.rows(rows)
        if inner is not rows:
            check_squares(self._coordinates.name, inner)

        def spanning() -> Matrix:
            return self._coordinates.spanning(X) if is_part(X, rows) else inner

        self.n_columns_ = self._build_on(inner, spanning)
        return self

    def _chosen_kernel(self) -> Kernel:
        """The given kernel, or the default; Gaussian if its family is to be learned."""
        if self.kernel is None:
            return Gaussian("scale")
        is_open = isinstance(self.kernel, Kernel) and not self.any_family
        return self.kernel.smooth() if is_open else self.kernel

    def _set_coordinates(self) -> None:
        """Set the inner kernel and its groups, which follow from `kernel_` and the columns."""
        self._kernel, matrix = self.kernel_.coordinates(self.n_features_in_)
        self._coordinates = Coordinates.of(matrix, self.n_features_in_)
        self._groups = self._kernel.groups(self._n_axes)

    @property
    def _n_axes(self) -> int:
        """The number of columns of rows in the coordinates of `_kernel`."""
        return self._coordinates.n_axes

    def _seen_from(self, kernel: Kernel, d: int) -> Self:
        """This map, fitted on rows M x with the inner kernel, as a map of rows with d columns."""
        if kernel.mixes_axes:
            self.kernel, self.kernel_ = kernel, clone(kernel)
            self.n_features_in_ = d
            self._set_coordinates()
        return self

    def restored(self) -> None:
        """Rebuild the derived attributes of a loaded map, after those of the file have been set.

        Raises a ValueError if they do not fit together. `kernel_` must be resolved.
        """
        self._check()
        d = self.n_features_in_
        self._set_coordinates()
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
        """The number of columns, under scikit-learn's name."""
        return self.n_columns_

    def set_params(self, **params: Any) -> Self:
        """Set parameters; those of the default kernel too, such as `kernel__gamma`."""
        if self.kernel is None and any(name.startswith("kernel__") for name in params):
            params.setdefault("kernel", Gaussian("scale"))
        return super().set_params(**params)

    def check_parameters(self) -> None:
        """Raise an error for parameters that cannot work; `fit` calls this first."""
        check_declared(self)
        self._check()
        for name in ("n_components", "max_components"):
            value, maker = getattr(self, name, None), type(self).__name__
            widest = value[-1] if isinstance(value, tuple | list) else value
            check_columns(name, widest, self._most_columns, maker)
        if not isinstance(self._chosen_kernel(), Kernel):
            raise TypeError(
                f"kernel must be a Kernel such as Gaussian(gamma=0.5), or None, got {self.kernel!r}"
            )

    def _check(self) -> None:
        """Check the parameters of the class: `_constraints`, and what a subclass adds."""
        check_constraints(self, self._constraints)

    @property
    def origin(self) -> Floats | None:
        """The vector subtracted from every row, (n_features_in_,), or None."""
        return self._origin

    def moved_to(self, origin: Floats) -> Self:
        """Subtract `origin` from rows before they are rounded to the precision of the features.

        For models of columns far from 0. Rows given to `fit` must already be moved.
        """
        self._origin = origin
        return self

    @property
    def first_index(self) -> int | None:
        """The first column number of the svmlight file that X came from; None for other sources."""
        return getattr(self, "_first_index", None)

    @first_index.setter
    def first_index(self, index: int) -> None:
        self._first_index = index

    @abstractmethod
    def _build(self, X: Matrix) -> int:
        """Build the map from X, set `signs_`, and return the number of columns."""

    def _build_on(self, rows: Matrix, spanning: Callable[[], Matrix]) -> int:
        """`_build` on dense rows; `spanning` returns rows with the bounding box of a sparse X."""
        return self._build(rows)

    @abstractmethod
    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        """Write the features of some rows into out."""

    def transform(self, X: Any) -> Matrix:
        """The features of X, (n, n_columns), in the precision of X; of a torch tensor a tensor."""
        given, X = X, self._validated(as_array(X))
        n, p = X.shape[0], self.n_columns_
        n_bytes = n * p * X.dtype.itemsize
        if n_bytes > _SMALL:
            check_memory(
                n_bytes,
                f"transform of {n:,} rows into {p:,} columns",
                "transform_blocks yields them a few rows at a time",
            )
        out: Matrix = _engine.empty(n, p, X.dtype)
        if n * max(self._largest_factor(), self._coordinates.factor) <= _UNTHREADED:
            self.write(X, out)
        else:
            with one_thread():
                self.write(X, out)
        return same_kind(given, out)

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
        for start, rows in self._coordinates.blocks(X, self._origin, out.dtype):
            self._evaluate(rows, out[start : start + len(rows)])

    def lattice(self) -> Lattice:
        """The columns as complex exponentials on a lattice; `NoLattice` where they are none."""
        raise NoLattice(f"{type(self).__name__} is not a DenseGrid")

    def lighter(self, kernel: Kernel, most_columns: int) -> FeatureMap:
        """An unfitted map of the same kind for another kernel, of at most so many columns.

        For searches that fit many maps, for example to choose a bandwidth.
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
        return self._written(self.write, X, rows)

    def _inner_blocks(self, X: Matrix) -> Iterator[Matrix]:
        """`transform_blocks` of rows that are moved and in the coordinates of `_kernel`."""
        return self._written(self._evaluate, X, None)

    def _written(self, write: Callable[..., None], X: Any, rows: int | None) -> Iterator[Matrix]:
        p = self.n_columns_
        if rows is None:
            rows = int(np.clip(2**22 // (p * X.dtype.itemsize), 16, 4096))
        buffer: Matrix = np.empty((min(check_count("rows", rows), X.shape[0]), p), dtype=X.dtype)
        for start in range(0, X.shape[0], max(1, len(buffer))):
            block = X[start : start + len(buffer)]
            out = buffer[: block.shape[0]]
            with one_thread():  # as in `transform`: with more threads the last bits may differ
                write(block, out)
            yield out

    def approximate_kernel(self, X: Any, Y: Any = None) -> Matrix:
        """The kernel as these features see it: transform(X) @ diag(signs_) @ transform(Y).T."""
        X = self._validated(X)
        if Y is None:
            Y = X
        else:
            with naming("Y"):
                Y = self._validated(Y)
        n, m, p = X.shape[0], Y.shape[0], self.n_columns_
        entries = n * m + (n if Y is X else n + m) * p
        check_gram("approximate_kernel", n, m, entries * X.dtype.itemsize)
        return self._approximate_gram(X, Y)

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
            and has_finite_sum(X)
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def warn_far(name: str, dtype: Any) -> None:
    """Warn that rounding leaves less than three digits of the kernel of rows far from 0."""
    warnings.warn(
        f"{name} lies so far from 0 that {dtype} leaves less than three digits of the kernel; "
        f"subtract the median of each column, before X is rounded to {dtype}",
        stacklevel=2,
    )
