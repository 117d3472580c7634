"""Feature maps: scikit-learn transformers whose inner products are a kernel."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from math import comb
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.utils import Tags
from sklearn.utils.validation import check_is_fitted, validate_data

from . import _engine, _exact, grids, randomized, reweight, rules
from ._checks import check_choice, check_count, check_memory, generator
from ._reference import FourierPlan, KroneckerPlan
from .kernels import Gaussian, Group, Kernel
from .polish import MAX_PARAMETERS, polish
from .rules import Axis, Floats, Rule

Matrix = npt.NDArray[np.floating[Any]]


class FeatureMap(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """Rows of X in, features out; their inner products (with `signs_`) are the kernel.

    A final subclass stores its parameters and names a construction; this class owns `fit` and
    `transform`. After `fit`: `kernel_`, the kernel with its numbers resolved, and `signs_`, +1 or
    -1 per column (all +1 unless the rule is signed).
    """

    kernel: Kernel | None
    signs_: Floats

    def fit(self, X: Any, y: Any = None) -> Self:
        """Resolve the kernel on X and build the map.

        Parameters
        ----------
        X : array or CSR matrix (n, d)
        y : ignored
        """
        X = validate_data(self, X, accept_sparse="csr", dtype=[np.float64, np.float32])
        self._check()
        if not (self.kernel is None or isinstance(self.kernel, Kernel)):
            raise TypeError(
                f"kernel must be a Kernel such as Gaussian(gamma=0.5), or None, got {self.kernel!r}"
            )
        rows = _dense_rows(X)
        kernel = Gaussian("scale") if self.kernel is None else self.kernel
        self.kernel_ = kernel.resolve(rows)
        self._groups = self.kernel_.groups(rows.shape[1])
        self._n_features_out = self._build(rows)
        return self

    def _check(self) -> None:
        """Refuse parameters that cannot work, before anything is computed."""

    def _build(self, X: Matrix) -> int:
        """Learn from X, set `signs_`, and return the number of columns."""
        raise NotImplementedError

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        """Write the features of some rows into out."""
        raise NotImplementedError

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
        for start, rows in _row_blocks(X, _sparse_rows(X)):
            self._evaluate(rows, out[start : start + len(rows)])
        return out

    def transform_blocks(self, X: Any, rows: int | None = None) -> Iterator[Matrix]:
        """The features of X, `rows` rows at a time, each in the same reused buffer.

        A block is overwritten when the next is asked for: use it, or copy it. By default a block
        fits into the cache.
        """
        X = self._validated(X)
        p = self._n_features_out
        if rows is None:
            rows = int(np.clip(2**18 // (p * X.dtype.itemsize), 8, 4096))
        buffer: Matrix = np.empty((min(check_count("rows", rows), X.shape[0]), p), dtype=X.dtype)
        for _, block in _row_blocks(X, len(buffer)):
            out = buffer[: len(block)]
            self._evaluate(block, out)
            yield out

    def approximate_kernel(self, X: Any, Y: Any = None) -> Matrix:
        """The kernel as these features see it: transform(X) @ diag(signs_) @ transform(Y).T."""
        left = self._features(X)
        right = left if Y is None else self._features(Y)
        return np.asarray((left * self.signs_.astype(left.dtype)) @ right.T)

    def _features(self, X: Any) -> Matrix:
        """The plain array, whatever set_output asked transform to wrap it in."""
        blocks = [block.copy() for block in self.transform_blocks(X)]
        return np.concatenate(blocks)

    def _validated(self, X: Any) -> Any:
        check_is_fitted(self)
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
        """One rule per group of the kernel, on that group's own axes."""
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
        if largest * self._plan.largest_node > limit:
            raise ValueError(
                f"X has a value of {largest:g}, which times the largest frequency "
                f"{self._plan.largest_node:g} (kernel_: {self.kernel_!r}) leaves no digit of the "
                f"angle in {X.dtype}; standardise X, or use a smaller gamma"
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


def _kronecker_plan(
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


def _dense_rows(X: Any) -> Any:
    """X itself, or as many rows of a sparse X as a kernel needs to be resolved."""
    if not sparse.issparse(X):
        return np.asarray(X)
    step = max(1, X.shape[0] // 10_000)
    return np.asarray(X[::step].toarray())


def _sparse_rows(X: Any) -> int:
    """All rows of an array at once; of a sparse matrix, as many as make 64 MB when dense."""
    if not sparse.issparse(X):
        return max(1, X.shape[0])
    return max(1, 2**26 // (X.shape[1] * X.dtype.itemsize))


def _row_blocks(X: Any, rows: int) -> Iterator[tuple[int, Matrix]]:
    for start in range(0, X.shape[0], max(1, rows)):
        block = X[start : start + rows]
        yield start, block.toarray() if sparse.issparse(block) else block


def _budgets(n_components: int, n_groups: int) -> list[int]:
    """Columns for each group: an even number of at least two, as equal as they can be."""
    if n_groups == 1:
        return [n_components]
    if n_components < 2 * n_groups:
        raise ValueError(
            f"n_components={n_components} is less than two columns for each of the kernel's "
            f"{n_groups} groups; give at least {2 * n_groups}"
        )
    pairs, extra = divmod(n_components // 2, n_groups)
    return [2 * (pairs + (i < extra)) for i in range(n_groups)]


def _zero_rule(d: int) -> Rule:
    """What a single column can hold: the constant 1."""
    return Rule(np.zeros((1, d)), np.ones(1))


def _reaches(X: Matrix) -> Floats:
    """How far apart two rows can be on each axis."""
    with np.errstate(over="ignore"):
        return np.asarray(X.max(axis=0) - X.min(axis=0), dtype=np.float64)


class _AxisRules:
    """One-dimensional rules, each made once however many groups ask for it."""

    def __init__(self, kinds: Sequence[str], reaches: Floats) -> None:
        self._kinds = kinds  # in order of preference
        self._reaches = reaches
        self._made: dict[tuple[Any, ...], Rule | ValueError] = {}
        self._axes: list[Axis] = []  # keeps them alive, so that their ids stay theirs

    def __call__(self, axis: Axis, column: int, n: int) -> Rule:
        for kind in self._kinds:
            reach = 0.0 if kind == "gauss" else float(self._reaches[column])
            key = (id(axis), n, kind, reach)
            if key not in self._made:
                self._axes.append(axis)
                self._made[key] = self._make(axis, n, kind, reach)
            made = self._made[key]
            if isinstance(made, Rule):
                return made
            refusal = made
        raise refusal

    @staticmethod
    def _make(axis: Axis, n: int, kind: str, reach: float) -> Rule | ValueError:
        try:
            return rules.axis_rule(axis, n, kind=kind, reach=reach)
        except ValueError as refusal:  # a Gauss rule of a spectrum without the moments for it
            return refusal


# --- grids --------------------------------------------------------------------------------------
class DenseGrid(FourierMap):
    """Every node of the tensor grid: n_points**n_features of them, as many columns.

    Exact to degree 2 n_points - 1 on each axis with the Gauss rule; weights positive. For a few
    axes nothing is as accurate; the width is exponential in their number, so beyond about five
    use another map, or an `Anova` kernel with small subsets.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_points : int or one int per axis, default 5
    rule : "auto", "gauss", "equispaced" or "clenshaw-curtis"
        "auto" takes on each axis the rule that errs least over the spread of the data there.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> DenseGrid(Gaussian(0.5), n_points=12).fit_transform(X).shape
    (100, 144)
    """

    def __init__(
        self, kernel: Kernel | None = None, *, n_points: Any = 5, rule: str = "auto"
    ) -> None:
        self.kernel = kernel
        self.n_points = n_points
        self.rule = rule

    def _check(self) -> None:
        check_choice("rule", self.rule, ("auto", *rules.KINDS))
        counts = [self.n_points] if np.ndim(self.n_points) == 0 else list(self.n_points)
        for count in counts:
            check_count("n_points", count, example=5)

    def _build(self, X: Matrix) -> int:
        d = X.shape[1]
        counts = (
            np.broadcast_to(np.asarray(self.n_points), (d,))
            if np.ndim(self.n_points) == 0
            else np.asarray(self.n_points)
        )
        if len(counts) != d:
            raise ValueError(
                f"n_points has {len(counts)} numbers and X has {d} columns; give one number, or "
                f"one per column"
            )
        width = sum(float(np.prod(counts[group.axes].astype(float))) for group in self._groups)
        if width > 2**40:
            width = min(width, 1e300)
        check_memory(
            int(8 * width),
            f"n_points={self.n_points} on {max(len(g.axes) for g in self._groups)} axes makes "
            f"{width:.4g} columns: one row",
            "SubsampledGrid or SparseGrid(level=2) has a width of your choice",
        )
        make = _AxisRules((self.rule,), _reaches(X))
        self._axis_rules = [
            [
                make(group.kernel.axis(i), column, int(counts[column]))
                for i, column in enumerate(group.axes)
            ]
            for group in self._groups
        ]
        self._plan = _kronecker_plan(self._groups, self._axis_rules, d)
        self.signs_ = np.ones(self._plan.n_columns)
        return self._plan.n_columns

    @property
    def _group_rules(self) -> list[Rule]:
        return [grids.tensor(*axis) for axis in self._axis_rules]


class SparseGrid(FourierMap):
    """The Smolyak sparse grid of Gauss rules with 1, 2, 4, ... nodes on each axis.

    Its nodes number below 3^A C(d+A, A). Signed weights are the paper's: exact to degree
    2 level + 1, tiny error for small regions, useless for large ones, and columns with signs. By
    default non-negative weights are refitted on the same nodes by least squares over pairs of
    the data: no degree is promised, and the features serve any linear model.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    level : int, the total level A
    weights : "nonnegative" or "signed"
    """

    def __init__(
        self, kernel: Kernel | None = None, *, level: int = 2, weights: str = "nonnegative"
    ) -> None:
        self.kernel = kernel
        self.level = level
        self.weights = weights

    def _check(self) -> None:
        check_count("level", self.level, minimum=0, example=2)
        check_choice("weights", self.weights, ("nonnegative", "signed"))

    def _rules(self, X: Matrix) -> list[Rule]:
        for d in {len(group.axes) for group in self._groups}:
            size = grids.smolyak_size(d, self.level)
            check_memory(
                8 * size * d * len(self._groups),
                f"level={self.level} on {d} axes makes {size:.4g} nodes: the grid",
                f"level={max(0, self.level - 1)} is smaller, SubsampledGrid has any width",
            )
        made = [self._grid(group) for group in self._groups]
        if self.weights == "signed":
            return made
        if max(len(group.axes) for group in self._groups) > 5:
            warnings.warn(
                "a sparse grid with non-negative weights is a bad choice above 5 axes: its nodes "
                "lie on few of them; ReweightedGrid or SubsampledGrid will err less at this width",
                UserWarning,
                stacklevel=3,
            )
        pool = reweight.Pool(self._groups, made)
        rows = np.asarray(X[:: max(1, len(X) // 500)][:500], dtype=np.float64)
        fitted = reweight.refit(pool.phases(rows), self.kernel_(rows))
        return pool.rules(fitted.weights)

    def _grid(self, group: Group) -> Rule:
        def rule_of(i: int) -> Callable[[int], Rule]:
            axis = group.kernel.axis(i)
            made: dict[int, Rule] = {}

            def at(level: int) -> Rule:
                if level not in made:
                    made[level] = axis.gauss(2**level)
                return made[level]

            return at

        return grids.smolyak([rule_of(i) for i in range(len(group.axes))], self.level)


class SubsampledGrid(FourierMap):
    """Nodes drawn from the dense grid by their weights: any width, in any dimension.

    About as accurate as random Fourier features at the same width, and made of n_points values
    per axis. Where the whole grid fits into the width, it is taken whole. Equal draws are
    merged, so there may be fewer than `n_components` columns.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns
    n_points : int, nodes per axis: Gauss where the spectrum has the moments, else equispaced
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one each.
    random_state : int, RandomState or None
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        n_points: int = 5,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.n_points = n_points
        self.share_groups = share_groups
        self.random_state = random_state

    def _check(self) -> None:
        check_count("n_components", self.n_components, example=256)
        check_count("n_points", self.n_points, example=5)

    def _rules(self, X: Matrix) -> list[Rule]:
        make = _AxisRules(("gauss", "equispaced"), _reaches(X))
        rng = generator(self.random_state)

        def draw(group: Group, budget: int) -> Rule:
            axes = [
                make(group.kernel.axis(i), column, self.n_points)
                for i, column in enumerate(group.axes)
            ]
            if grids.tensor_size(axes) <= budget:
                return grids.tensor(*axes)
            return grids.subsample(axes, budget // 2, rng)

        return _per_group(self._groups, self.n_components, self.share_groups, draw)


def _per_group(
    groups: Sequence[Group],
    n_components: int,
    share: bool,
    draw: Callable[[Group, int], Rule],
) -> list[Rule]:
    """A rule for each group within its share of the columns, or one for all."""
    budgets = _budgets(n_components, len(groups))
    if not share:
        return [
            draw(group, budget) if budget > 1 else _zero_rule(len(group.axes))
            for group, budget in zip(groups, budgets, strict=True)
        ]
    if len({len(group.axes) for group in groups}) > 1:
        raise ValueError(
            "share_groups=True needs groups of one size, as a Convolution has; use "
            "share_groups=False"
        )
    shared = draw(groups[0], budgets[-1])
    return [shared] * len(groups)


class PolynomiallyExact(FourierMap):
    """Random nodes reweighted to integrate every polynomial up to `degree` exactly.

    The weights are the non-negative ones closest to uniform that are exact, so that small regions
    gain and large ones do not suffer. Where none exist at this width, the nearest non-negative
    ones are kept and a warning tells the degree met and the width that would do.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    degree : int
    n_components : int, columns; an odd one leaves one unused
    random_state : int, RandomState or None
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        degree: int = 2,
        n_components: int = 256,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.n_components = n_components
        self.random_state = random_state

    def _check(self) -> None:
        check_count("degree", self.degree, minimum=0, example=2)
        check_count("n_components", self.n_components, example=256)

    def _rules(self, X: Matrix) -> list[Rule]:
        rng = generator(self.random_state)
        short: list[tuple[int, Group, Floats]] = []

        def draw(group: Group, budget: int) -> Rule:
            nodes, basis, degrees = _candidates(group, self.degree, budget // 2, rng)
            exact = _exact.polynomially_exact_weights(basis, _moments(degrees), degrees)
            if not exact.feasible:
                short.append((exact.degree, group, basis))
            return Rule(nodes, exact.weights / exact.weights.sum())

        made = _per_group(self._groups, self.n_components, False, draw)
        if short:
            self._warn(*min(short, key=lambda entry: entry[0]), rng)
        return made

    def _warn(self, met: int, group: Group, basis: Floats, rng: np.random.Generator) -> None:
        """Tell the degree met, and the width at which these candidates and more would do."""
        unused = [basis]

        def more(n: int) -> Floats:
            known = unused.pop() if unused else basis[:, :0]
            fresh = max(0, n - known.shape[1])
            extra = _candidates(group, self.degree, fresh, rng)[1]
            return np.concatenate([known, extra], axis=1)

        enough = _exact.smallest_exact_count(more, np.eye(1, len(basis))[0])
        advice = "a smaller degree would do"
        if enough is not None:
            advice = f"n_components={2 * enough * len(self._groups)} would do"
        warnings.warn(
            f"no non-negative rule of n_components={self.n_components} columns is exact to "
            f"degree={self.degree}; the nearest one is exact to degree {met}; {advice}",
            UserWarning,
            stacklevel=5,
        )


def _candidates(
    group: Group, degree: int, n: int, rng: np.random.Generator
) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """`n` draws of the group's spectrum, its polynomials there, and their degrees."""
    d, even = len(group.axes), degree - degree % 2
    size = sum(comb(d + r - 1, r) for r in range(0, even + 1, 2))
    check_memory(
        8 * size * max(n, size),
        f"degree={degree} on {d} axes makes {size:,} conditions: their matrix",
        "a smaller degree, or an Anova kernel on subsets of axes, needs fewer",
    )
    # Polynomials orthonormal under each axis' spectrum, so that all means but the first are zero.
    made = [group.kernel.axis(i) for i in range(d)]
    nodes = group.kernel.sample(n, d, rng)
    if n >= d and even >= 2:
        nodes = _whitened(nodes, np.array([axis.gauss(2).nodes[1, 0] for axis in made]))
    axes = np.stack([rules.orthonormal(axis, nodes[:, i], even) for i, axis in enumerate(made)])
    return nodes, *_exact.even_basis(axes, even)


def _whitened(nodes: Floats, deviations: Floats) -> Floats:
    """Candidates stretched to have exactly the spectrum's second moments.

    Equal weights are then exact to degree 2, and few need to move for higher degrees.
    """
    unit = nodes / deviations
    values, vectors = np.linalg.eigh(unit.T @ unit / len(unit))
    return (unit @ (vectors / np.sqrt(values)) @ vectors.T) * deviations


def _moments(degrees: npt.NDArray[np.intp]) -> Floats:
    """The spectrum's means of polynomials orthonormal under it: 1 for the constant, else 0."""
    return np.eye(1, len(degrees))[0]


class ReweightedGrid(FourierMap):
    """The paper's data-dependent map: grid nodes weighted to fit the kernel on the data.

    Least squares over all pairs of `n_samples` points, weights non-negative, exactly
    `n_components` columns chosen from a pool; judged on rows it did not see, and never worse
    there than the pool's own weights at the same width. No degree and no certificate.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns
    pool : FourierMap or None
        Where the nodes come from; None is a `SubsampledGrid` twice as wide.
    n_samples : int, points; n_samples**2 pairs
    selection : "prune" or "l1"
        Drop the smallest weights and refit until the width is met, or the paper's l1 penalty
        bisected to it.
    polish : bool
        Move the nodes too, by least squares over fresh pairs; for kernels of one group. Up to ten
        times less error, for a second or more of fitting.
    random_state : int, RandomState or None
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        pool: FourierMap | None = None,
        n_samples: int = 500,
        selection: str = "prune",
        polish: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.pool = pool
        self.n_samples = n_samples
        self.selection = selection
        self.polish = polish
        self.random_state = random_state

    def _check(self) -> None:
        check_count("n_components", self.n_components, example=256)
        check_count("n_samples", self.n_samples, example=500)
        check_choice("selection", self.selection, ("prune", "l1"))
        if self.pool is not None and not isinstance(self.pool, FourierMap):
            raise TypeError(
                f"pool must be a Fourier map such as SubsampledGrid(n_components=512), or None, "
                f"got {self.pool!r}"
            )

    def _rules(self, X: Matrix) -> list[Rule]:
        rng = generator(self.random_state)
        order = rng.permutation(len(X))
        seen = X[order[: self.n_samples]].astype(np.float64)
        unseen = X[order[self.n_samples : 2 * self.n_samples]].astype(np.float64)
        gram, select = self.kernel_(seen), _SELECTIONS[self.selection]
        for pool in self._pools(X, rng):
            check_memory(
                24 * len(pool.costs) ** 2,
                f"reweighting a pool of {len(pool.costs)} nodes",
                "a narrower pool, or fewer n_components, will do",
            )
            system = reweight.all_pairs_system(pool.phases(seen), gram)
            chosen = select(system, pool.costs, self.n_components)
            spent = pool.costs[chosen.index[chosen.weights > 0]].sum()
            if spent >= self.n_components - 1 or len(pool.costs) > _LARGE_POOL:
                break
        weights = np.zeros(len(pool.costs))
        weights[chosen.index] = chosen.weights
        if len(unseen) > 1:
            plain = pool.plain_half(self.n_components, rng)
            phases = pool.phases(unseen)
            weights = reweight.keep_better(phases, self.kernel_(unseen), plain, weights)
        made = pool.rules(weights)
        return [self._polished(made[0], X, rng)] if self.polish else made

    def _polished(self, rule: Rule, X: Matrix, rng: np.random.Generator) -> Rule:
        if len(self._groups) > 1 or len(self._groups[0].axes) < X.shape[1]:
            raise ValueError(
                f"polish=True moves nodes in the space of all columns, and this kernel sums over "
                f"{len(self._groups)} groups of axes; use polish=False"
            )
        if rule.nodes.size + len(rule) > MAX_PARAMETERS:
            raise ValueError(
                f"polish=True would move {rule.nodes.size + len(rule)} numbers at once, and can "
                f"move {MAX_PARAMETERS}; use n_components="
                f"{2 * MAX_PARAMETERS // (rule.nodes.shape[1] + 1)} or fewer, or polish=False"
            )
        zero = ~rule.nodes.any(axis=1)
        if len(X) < 3 or zero.all():
            return rule
        rows = X if len(X) <= 20_000 else X[rng.choice(len(X), size=20_000, replace=False)]
        at_zero, group = float(rule.weights[zero].sum()), self._groups[0]

        def others(gaps: Floats) -> Floats:
            return group.kernel._at(gaps) - at_zero

        nodes, weights = polish(
            rule.nodes[~zero], rule.weights[~zero], others, rows.astype(np.float64), rng
        )
        return Rule(
            np.concatenate([nodes, rule.nodes[zero]]), np.concatenate([weights, rule.weights[zero]])
        )

    def _pools(self, X: Matrix, rng: np.random.Generator) -> Iterator[reweight.Pool]:
        """The user's pool; or grids of two, four and eight times the width, for as long as the
        best weights on one need fewer nodes than there are columns for."""
        if self.pool is not None:
            pool = clone(self.pool).set_params(kernel=self.kernel_)
            if "random_state" in pool.get_params() and pool.random_state is None:
                pool.set_params(random_state=int(rng.integers(2**31 - 1)))
            yield reweight.Pool(self._groups, pool.fit(X)._group_rules)
            return
        fewest = min(len(group.axes) for group in self._groups)
        for times in (2, 4, 8):
            width = max(times * self.n_components, 4 * len(self._groups))
            # Enough nodes per axis that the grid has more nodes than are drawn: 11 as in the
            # paper, or more on few axes.
            n_points = int(np.clip(np.ceil((2 * width) ** (1 / fewest)), 11, 128))
            grid = SubsampledGrid(
                self.kernel_,
                n_components=width,
                n_points=n_points,
                random_state=int(rng.integers(2**31 - 1)),
            )
            yield reweight.Pool(self._groups, grid.fit(X)._group_rules)


# Beyond this a pool is not doubled: the solver's cost grows with its cube.
_LARGE_POOL = 1500
_SELECTIONS = {"prune": reweight.prune, "l1": reweight.select_l1}


# --- peers --------------------------------------------------------------------------------------
class _Randomized(FourierMap):
    """A map whose rule is drawn: two columns per node."""

    n_components: int
    share_groups: bool
    random_state: Any

    def _check(self) -> None:
        check_count("n_components", self.n_components, example=256)

    def _draw(self) -> randomized.Draw:
        raise NotImplementedError

    def _pairs(self, budget: int) -> int:
        return budget // 2

    def _rules(self, X: Matrix) -> list[Rule]:
        rng, draw = generator(self.random_state), self._draw()

        def one(group: Group, budget: int) -> Rule:
            d, pairs = len(group.axes), self._pairs(budget)
            check_memory(8 * pairs * d, f"n_components={self.n_components}", "use fewer columns")
            return draw(group.kernel, pairs, d, rng) if pairs else _zero_rule(d)

        return _per_group(self._groups, self.n_components, self.share_groups, one)


class RandomFourier(_Randomized):
    """Random Fourier features in cosine and sine pairs (Rahimi and Recht, 2007).

    Unbiased, for every kernel, error ~ 1 / sqrt(n_components); the peer to beat.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns; an odd one leaves one unused, and 1 is the constant feature
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one each.
    random_state : int, RandomState or None
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.share_groups = share_groups
        self.random_state = random_state

    def _draw(self) -> randomized.Draw:
        return randomized.random


class OrthogonalFourier(_Randomized):
    """Random features along orthogonal directions, for rotation-invariant kernels.

    Less error than `RandomFourier` from a dozen axes on (Yu et al., 2016). `structured=True`
    makes the directions from Hadamard matrices in O(n log d).

    Parameters are those of `RandomFourier`, and `structured`.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        structured: bool = False,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.structured = structured
        self.share_groups = share_groups
        self.random_state = random_state

    def _draw(self) -> randomized.Draw:
        return randomized.structured if self.structured else randomized.orthogonal


class QuasiRandomFourier(_Randomized):
    """Features at a scrambled Sobol or Halton sequence of the spectrum, for every kernel.

    Less error than `RandomFourier` in few dimensions (Yang et al., 2014).

    Parameters are those of `RandomFourier`, and `sequence`: "sobol" or "halton" (the paper's).
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        sequence: str = "sobol",
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.sequence = sequence
        self.share_groups = share_groups
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        check_choice("sequence", self.sequence, ("sobol", "halton"))

    def _draw(self) -> randomized.Draw:
        return randomized.sobol if self.sequence == "sobol" else randomized.halton


class SphericalRadial(_Randomized):
    """Randomly rotated simplices, exact to degree 3 on the sphere, for the Gaussian kernel.

    Munkhoeva et al. (2018). Strong for small widths in few dimensions.

    Parameters are those of `RandomFourier`. A block takes 2 (d + 1) columns; an incomplete last
    block is weighted up, and the zero node, where it has weight, takes one column.
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.share_groups = share_groups
        self.random_state = random_state

    def _pairs(self, budget: int) -> int:
        return (budget - 1) // 2  # one column is the zero node's

    def _draw(self) -> randomized.Draw:
        return randomized.spherical_radial
