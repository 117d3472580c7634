"""Feature maps: scikit-learn transformers whose inner products are a kernel."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _engine, bounds, estimates, frames, grids
from ._blas import on_one_thread
from ._blocks import check_plain
from ._checks import (
    check_columns,
    check_count,
    check_declared,
    check_memory,
    generator,
    with_kernel_hint,
)
from ._reference import FourierPlan, KroneckerPlan
from .kernels import Gaussian, Group, Kernel
from .rules import Floats, Rule

Matrix = npt.NDArray[np.floating[Any]]

_SPARSE_BYTES = 2**26  # of rows that are made dense at a time


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """Rows of X in, features out; their inner products (with `signs_`) are the kernel.

    A final subclass stores its parameters and names a construction; this class owns `fit` and
    `transform`. After `fit`: `kernel_`, the kernel with its numbers resolved, and `signs_`, +1 or
    -1 per column (all +1 unless the rule is signed).
    """

    kernel: Kernel | None
    signs_: Floats
    # What is taken from every row before it is rounded to the precision of the features; set by a
    # model whose columns lie far from 0.
    _origin: Floats | None = None
    _most_columns: ClassVar[int] = 2**22

    def __init_subclass__(cls, **options: Any) -> None:
        super().__init_subclass__(**options)
        if "__init__" in vars(cls):
            cls.__init__ = with_kernel_hint(cls.__init__, "{}")  # type: ignore[method-assign]

    @on_one_thread
    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the kernel on X and build the map.

        Parameters
        ----------
        X : array or CSR matrix (n, d)
        y : ignored
        """
        check_plain("X", X, dates=True)
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self.__dict__.pop("_origin", None)
        self._check_parameters()
        _check_squares(X)
        rows = _dense_rows(X)
        kernel = Gaussian("scale") if self.kernel is None else self.kernel
        self.kernel_ = kernel.resolve(rows)
        self._groups = self.kernel_.groups(rows.shape[1])
        self._n_features_out = self._build_on(rows, X)
        return self

    def set_params(self, **params: Any) -> Self:
        """Set parameters; `kernel__gamma` and the like also where the kernel is the default."""
        if self.kernel is None and any(name.startswith("kernel__") for name in params):
            params.setdefault("kernel", Gaussian("scale"))
        return super().set_params(**params)

    def _check_parameters(self) -> None:
        """Refuse parameters that cannot work, before anything is computed."""
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
        """What the class has to say of its own parameters."""

    @abstractmethod
    def _build(self, X: Matrix) -> int:
        """Learn from X, set `signs_`, and return the number of columns."""

    def _build_on(self, rows: Matrix, X: Any) -> int:
        """`_build` on the rows made dense, for maps that must also know what X they are of."""
        return self._build(rows)

    @abstractmethod
    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        """Write the features of some rows into out."""

    @on_one_thread
    def transform(self, X: Any) -> Matrix:
        """The features of X, (n, n_columns), in the precision of X."""
        X = self._validated(X)
        n, p = X.shape[0], self._n_features_out
        check_memory(
            n * p * X.dtype.itemsize,
            f"transform of {n:,} rows into {p:,} columns",
            "transform_blocks yields them a few rows at a time",
        )
        out: Matrix = _engine.empty(n, p, X.dtype)
        self._write(X, out)
        return out

    def _write(self, X: Any, out: Matrix) -> None:
        """Write the features of rows, dense or CSR, into out, whose precision is that of both."""
        for start, rows in _row_blocks(X, _sparse_rows(X)):
            self._evaluate(moved(rows, self._origin, out.dtype), out[start : start + len(rows)])

    def transform_blocks(self, X: Any, rows: int | None = None) -> Iterator[Matrix]:
        """The features of X, `rows` rows at a time, each in the same reused buffer.

        A block is overwritten when the next is asked for: use it, or copy it. By default a block
        fits into the last cache, and is large enough for threads to share.
        """
        return self._blocks(self._validated(X), rows)

    def _blocks(self, X: Any, rows: int | None = None) -> Iterator[Matrix]:
        """`transform_blocks` of what was validated before."""
        p = self._n_features_out
        if rows is None:
            rows = int(np.clip(2**22 // (p * X.dtype.itemsize), 16, 4096))
        buffer: Matrix = np.empty((min(check_count("rows", rows), X.shape[0]), p), dtype=X.dtype)
        for start in range(0, X.shape[0], max(1, len(buffer))):
            block = X[start : start + len(buffer)]
            out = buffer[: block.shape[0]]
            self._write(block, out)
            yield out

    def approximate_kernel(self, X: Any, Y: Any = None) -> Matrix:
        """The kernel as these features see it: transform(X) @ diag(signs_) @ transform(Y).T."""
        left = self._features(self._validated(X))
        right = left if Y is None else self._features(self._validated(Y))
        return np.asarray((left * self.signs_.astype(left.dtype)) @ right.T)

    def _features(self, X: Any) -> Matrix:
        """The features of what was validated, whatever set_output asked to wrap them in."""
        blocks = [block.copy() for block in self._blocks(X)]
        return np.concatenate(blocks)

    @on_one_thread
    def certificate(
        self, X: Any = None, *, diameter: float | None = None, box: Any = None
    ) -> bounds.Certificate:
        """A proof: a bound of |k - k~| / k(0) for every pair of rows in a region.

        Parameters
        ----------
        X : array or CSR matrix, whose rows span the region; or
        diameter : float, the largest distance between rows
        box : one float per column, the largest gap on each axis

        Raises
        ------
        ValueError
            Where nothing below k(0) can be proven; `error` estimates what cannot be.
        """
        check_is_fitted(self)
        if X is not None:
            X = self._dense(X)
        region = bounds.Region.of(X, d=self.n_features_in_, diameter=diameter, box=box)
        found = self._certify(region, X)
        bounds.refuse_vacuous(found.value, self.n_features_in_)
        return found

    def _certify(self, region: bounds.Region, X: Floats | None) -> bounds.Certificate:
        raise ValueError(
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
    ) -> estimates.Estimate:
        """An estimate: how far the features are from the kernel on pairs that were drawn.

        Give rows that `fit` did not see. RMS, quantiles and the largest error seen, relative to
        k(0), each with an upper limit that holds with `confidence` for the population that the
        answer names: pairs of new rows while there are twice as many rows as pairs, else pairs of
        these rows.

        Limits of quantiles are order statistics. That of the RMS also needs a proven bound of
        every error in the population, which the answer gives as `bound`. For pairs of these rows
        that is a certificate or a residual, often as small as the errors. New rows may be far
        from all of these: for them it is 1 for expansions, 1 + sum |weights| / k(0) for Fourier
        maps, which is 2 where no weight is negative, and infinite for a map of one's own. So the
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
        X = self._dense(X)
        if Y is None:
            left, right, population = estimates.draw_pairs(len(X), n_pairs, rng)
            other = X
        else:
            other = self._dense(Y)
            left, right = (rng.integers(len(rows), size=n_pairs) for rows in (X, other))
            population = f"pairs of these {len(X)} and {len(other)} rows"
        at_zero = self.kernel_.at_zero(X.shape[1])
        errors = np.empty(n_pairs)
        # As many rows of features at a time as make 64 MB.
        size = max(1, 2**22 // self._n_features_out)
        for start in range(0, n_pairs, size):
            some = slice(start, start + size)
            x, y = X[left[some]], other[right[some]]
            approximate = np.einsum("ij,j,ij->i", self._features(x), self.signs_, self._features(y))
            errors[some] = (approximate - self.kernel_.at(x - y)) / at_zero
        anywhere = population == estimates.NEW_ROWS
        bound = self._largest_anywhere() if anywhere else self._largest_error(X, other)
        return estimates.estimate(
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

    def _dense(self, X: Any) -> Floats:
        X = self._validated(X)
        return np.asarray(X.toarray() if sparse.issparse(X) else X, dtype=np.float64)

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
        check_plain("X", X, dates=True)
        return validate_data(
            self, X, reset=False, accept_sparse="csr", dtype=[np.float64, np.float32]
        )

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


class FourierMap(FeatureMap):
    """A map of cosines and sines at the nodes of a quadrature rule: shift-invariant.

    After `fit`: `rule_`, the rule in the space of X. Subclasses name their construction in
    `_rules`.
    """

    _plan: FourierPlan | KroneckerPlan

    def _build(self, X: Matrix) -> int:
        self._made_rules = self._rules(X)
        self._plan, self.signs_ = _fourier_plan(self._groups, self._made_rules, X.shape[1])
        return self._plan.n_columns

    def _rules(self, X: Matrix) -> list[Rule]:
        """One rule per group of the kernel, on that group's own axes, for the `_build` above."""
        raise NotImplementedError

    @property
    def _group_rules(self) -> list[Rule]:
        return self._made_rules

    @property
    def rule_(self) -> Rule:
        """The quadrature rule in the space of X; its weights sum to k(0)."""
        check_is_fitted(self)
        d = self.n_features_in_
        size = sum(len(rule) for rule in self._group_rules)
        check_memory(8 * size * d, f"rule_ of {size} nodes", "transform does not need it")
        embedded = [
            grids.embed(rule, group.axes, d)
            for rule, group in zip(self._group_rules, self._groups, strict=True)
        ]
        return grids.concatenate(embedded, [group.weight for group in self._groups])

    def _made(self) -> Sequence[bounds.Made]:
        """What was made for each group, in the form that proves most."""
        return self._group_rules

    def _exact_degree(self) -> int | None:
        """The degree the rules are exact to, if they are."""
        return None

    def _certify(self, region: bounds.Region, X: Floats | None) -> bounds.Certificate:
        return bounds.certificate(self.kernel_, self._made(), region, degree=self._exact_degree())

    def _largest_anywhere(self) -> float:
        mass = sum(
            group.weight * float(np.abs(rule.weights).sum())
            for group, rule in zip(self._groups, self._group_rules, strict=True)
        )
        return 1.0 + mass / self.kernel_.at_zero(self.n_features_in_)

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        return self._largest_anywhere()

    def _proven_or(self, plain: float, X: Floats, Y: Floats) -> float:
        """The certificate over these rows, for maps that have a quick one, or a plain bound."""
        rows = np.concatenate([X, Y])
        try:
            return min(plain, self._certify(bounds.Region.of(rows), rows).value)
        except ValueError:
            return plain

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        self._check_angles(X)
        if isinstance(self._plan, FourierPlan):
            _engine.fourier(X, self._plan, out)
        else:
            _engine.kronecker(X, self._plan, out)

    def _check_angles(self, X: Matrix) -> None:
        """Angles so large that their cosine is noise come from data or gamma gone wrong."""
        largest = float(np.abs(X).max(initial=0.0))
        limit = 1.0 / float(np.finfo(X.dtype).eps)
        if largest * self._plan.largest_node <= limit:
            return
        # The largest value may be in a column that frequencies are small on, or that none reads.
        with np.errstate(over="ignore"):
            angle = self._plan.largest_angle(np.abs(X).max(axis=0).astype(np.float64))
        if not angle <= limit:
            raise ValueError(
                f"X has values up to {largest:g}, and an angle up to {angle:g} at the largest "
                f"frequencies (kernel_: {self.kernel_!r}), of which {X.dtype} leaves no digit; "
                f"standardise X, or use a smaller gamma"
            )


# --- from rules to plans ------------------------------------------------------------------------
def _fourier_plan(
    groups: Sequence[Group], group_rules: Sequence[Rule], d: int
) -> tuple[FourierPlan, Floats]:
    """The plan of cosine and sine columns, equal and mirrored nodes merged, and its signs."""
    sets: dict[tuple[int, float], int] = {}  # groups with one rule and weight share its nodes
    nodes, weights, middles, which = [], [], [], []
    for group, rule in zip(groups, group_rules, strict=True):
        key = (id(rule), group.weight)
        if key not in sets:
            sets[key] = len(sets)
            half = grids.fold(rule)
            zero = ~half.nodes.any(axis=1)
            used = ~zero & (half.weights != 0)
            nodes.append(half.nodes if used.all() else half.nodes[used])
            weights.append(group.weight * half.weights[used])
            middles.append(group.weight * float(half.weights[zero].sum()))
        which.append(sets[key])
    constant = sum(middles[i] for i in which)
    plan = FourierPlan.from_groups(
        d,
        [group.axes for group in groups],
        nodes,
        [np.sqrt(np.abs(own)) for own in weights],
        which,
        constant=float(np.sqrt(abs(constant))),
    )
    signs = [np.tile(np.sign(weights[i]), 2) for i in which]
    return plan, np.concatenate([*signs, [np.sign(constant)] * (constant != 0)])


def kronecker_plan(
    groups: Sequence[Group], axis_rules: Sequence[Sequence[Rule]], d: int
) -> KroneckerPlan:
    """The plan of full grids; groups share the features of the axes they share."""
    entries: list[tuple[int, Floats, Floats, float]] = []
    known: dict[tuple[int, int], int] = {}
    members = []
    for group, own in zip(groups, axis_rules, strict=True):
        for column, rule in zip(group.axes, own, strict=True):
            key = (int(column), id(rule))
            if key not in known:
                known[key] = len(entries)
                nodes, weights = rule.nodes[:, 0], rule.weights
                right, middle = nodes > 0, float(weights[nodes == 0].sum())
                amplitudes = np.sqrt(2 * weights[right])
                entries.append((int(column), nodes[right], amplitudes, middle**0.5))
        members.append([known[int(c), id(r)] for c, r in zip(group.axes, own, strict=True)])
    scale = np.sqrt([group.weight for group in groups])
    return KroneckerPlan.from_groups(d, entries, members, scale)


def moved(X: Matrix, origin: Floats | None, dtype: Any) -> Matrix:
    """Rows with the origin taken away in double precision, and then rounded."""
    centred = X if origin is None else np.asarray(X, dtype=np.float64) - origin
    return np.asarray(centred, dtype=dtype)


def _check_squares(X: Any) -> None:
    """Rows whose squares overflow have no distances, means of squares or kernel."""
    values = X.data if sparse.issparse(X) else X
    limit = float(np.sqrt(np.finfo(X.dtype).max)) / 1e6  # so that sums of squares do not either
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > limit:
        raise ValueError(
            f"X has values up to {largest:g}, and beyond {limit:.0e} their squares overflow in "
            f"{X.dtype}; standardise X, or leave such rows out"
        )


def _dense_rows(X: Any) -> Any:
    """X itself, or some rows of a sparse X: up to 10,000 or 512 MB, at least 200."""
    if not sparse.issparse(X):
        return np.asarray(X)
    n, d = X.shape
    return np.asarray(X[frames.drawn(n, max(200, min(10_000, 2**26 // d)))].toarray())


def corners(X: Any) -> Any:
    """The lowest and the highest corner, (2, d), of the box that all rows of a sparse X are in."""
    ends = X.min(axis=0), X.max(axis=0)
    return np.stack([np.ravel(end.toarray()) for end in ends])


def _sparse_rows(X: Any) -> int:
    """All rows of an array at once; of a sparse matrix, as many as make 64 MB when dense."""
    if not sparse.issparse(X):
        return max(1, X.shape[0])
    return max(1, _SPARSE_BYTES // (X.shape[1] * X.dtype.itemsize))


def _row_blocks(X: Any, rows: int) -> Iterator[tuple[int, Matrix]]:
    for start in range(0, X.shape[0], max(1, rows)):
        block = X[start : start + rows]
        yield start, block.toarray() if sparse.issparse(block) else block
