"""The base class of kernels: k(x - y), its spectrum, and its groups of axes."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from math import ceil
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator, clone

from .._checks import check_gram, plain_rows
from .._errors import NoDensity, NoMoments, NotSeparable
from .._rows import BLOCK_ENTRIES
from .._typing import Axes, Floats, Subsets
from ..numerics import panels
from ..numerics.linear_map import LinearMap
from ..rules import gauss
from ..rules.rule import Axis, Rule, axis_key
from .facts import KernelFacts
from .metric import check_metric, short_text
from .radial import fall_length

MOST_DERIVATIVES = 16  # the highest derivative of k that has a bound
Stored = dict[str, str] | None


class Group(NamedTuple):
    """One term of a kernel: `weight` * `kernel` on the columns `axes`; the kernel has k(0) = 1."""

    axes: Axes
    kernel: Kernel
    weight: float


class Kernel(KernelFacts, BaseEstimator):
    """A shift-invariant kernel with a known spectrum.

    To add one: store the parameters in `__init__`, write `profile` (k on one axis, k(0) = 1) and
    `density` (its spectrum, of mass 1). Everything else follows for the product over axes, and
    `quadfeat.testing.check_kernel` checks that the two are a Fourier pair. Gradients are exact
    if you also write `profile_slope` (dk/du); without it they are central differences.

    Attributes
    ----------
    moments : float
        Moments of the spectrum of an order below this are finite; inf by default.
    edges : (m,), frequencies where the panels of a density with peaks start; none by default
    stored : dict or None
        The allowed types of each parameter, as named in `storage.kernels`; None if it cannot be
        saved.
    decreasing, rotation_invariant, unimodal : bool
        Whether k is known to fall with |u|, to depend on |u| alone, and its density to fall.
    noise : float, how far `profile` may be from the kernel, beyond its rounding
    """

    # The classes of sums, products and multiples, set by `composite`, which imports this file.
    _sum: ClassVar[type[Any]]
    _product: ClassVar[type[Any]]
    _scaled: ClassVar[type[Any]]

    stored: ClassVar[Stored] = None

    moments: float = np.inf
    edges: Floats = np.zeros(0)

    def __repr__(self) -> str:
        # scikit-learn's takes twice as long for every level of nesting.
        defaults = inspect.signature(type(self)).parameters
        given = {name: short_text(value) for name, value in self.get_params(deep=False).items()}
        changed = [
            f"{name}={text}" for name, text in given.items() if text != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # --- change of coordinates
    def coordinates(self, d: int) -> tuple[Kernel, Floats | None]:
        """The kernel `inner` and the matrix M (r, d) with k(x, y) = inner(M x, M y).

        For a resolved kernel on d columns; (self, None) if coordinates do not change. Maps use
        `inner` and the rows M x.
        """
        return self, None

    @property
    def mixes_axes(self) -> bool:
        """Whether `coordinates` has a matrix: such a kernel cannot be part of a sum or product."""
        return False

    # --- one axis
    def profile(self, gap: Floats) -> Floats:
        """k(u) on one axis."""
        raise NotImplementedError(f"{type(self).__name__} does not factor over axes")

    def density(self, omega: Floats) -> Floats:
        """The spectral density on one axis."""
        raise NotImplementedError(f"{type(self).__name__} does not factor over axes")

    def profile_slope(self, gap: Floats) -> Floats:
        """dk/du on one axis, for u > 0.

        By central differences, to 1e-12 of the steepest slope; this library's have closed forms.
        """
        step = 0.004 * fall_length(self.profile)
        near, far = (
            self.profile(gap + distance) - self.profile(np.abs(gap - distance))
            for distance in (step, 2 * step)
        )
        return np.asarray((8 * near - far) / (12 * step))

    def quantile(self, q: Floats) -> Floats:
        """The inverse distribution function of the density."""
        levels, omega = panels.quantile_table(self.density, self.edges)
        return np.sign(q - 0.5) * np.interp(0.5 + np.abs(q - 0.5), levels, omega)

    def gauss(self, n: int) -> Rule:
        """The n-point Gauss rule of the density."""
        return gauss.gauss(self.density, n, moments=self.moments, edges=self.edges)

    def axis(self, i: int) -> Axis:
        """The one-dimensional kernel of axis i: k is the product of these.

        Raises `NotSeparable` if the kernel is not a product over axes.
        """
        return self

    def axes(self, d: int) -> list[Axis]:
        """The kernels of all d axes; equal ones are one object, so that work on them is shared."""
        known: dict[Any, Axis] = {}
        return [known.setdefault(axis_key(axis), axis) for axis in map(self.axis, range(d))]

    # --- one axis: facts that proofs need
    @property
    def decreasing(self) -> bool:
        """Whether `profile` is known to fall with |u|."""
        return False

    @property
    def noise(self) -> float:
        """How far `profile` may be from the kernel, beyond its rounding."""
        return 1e-15

    def spectral_moments(self) -> Floats:
        """Moments of the density of order 0..16: inf where they do not exist, 0 for odd orders."""
        row = np.zeros(MOST_DERIVATIVES + 1)
        row[0], row[2::2] = 1.0, np.inf
        last = int(min(MOST_DERIVATIVES, 2 * ceil(min(self.moments, 99) / 2) - 2))
        if last > 0 and (rule := _gauss_rule(self, last // 2 + 1)) is not None:
            even = np.arange(0, min(last, 2 * len(rule) - 2) + 1, 2)
            row[even] = (rule.nodes**even).T @ rule.weights
        return row

    def derivative_bounds(self) -> Floats:
        """Bounds of |k^(p)(u)| over u > 0 for p = 0..16; inf where none is known.

        From spectral moments: of even order directly, of odd order by Cauchy and Schwarz. Kernels
        that are smooth except at zero have closed forms.
        """
        bounds = self.spectral_moments() * (1 + 1e-9)
        bounds[1::2] = np.sqrt(bounds[:-1:2] * bounds[2::2])
        return bounds

    # --- all axes
    @property
    def learns(self) -> bool:
        """Whether `fit` needs targets to learn parameters from."""
        return False

    def smooth(self) -> Kernel:
        """This kernel; Gaussian if its family is to be learned."""
        return self

    def learned(self, X: Any, y: Any) -> Kernel:
        """This kernel with the parameters that it learns from rows and targets."""
        return self

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        """This kernel with checked parameters; "scale" and "median" become numbers, from X."""
        return self

    def restrict(self, axes: Axes) -> Kernel:
        """This kernel on a subset of the axes."""
        return self

    def groups(self, d: int) -> list[Group]:
        """The terms this kernel sums over."""
        return [Group(np.arange(d), self, 1.0)]

    def subgaussian(self, d: int) -> float:
        """The least known b with E exp(t . w) <= exp(b^2 |t|^2 / 2); inf if there is none."""
        return np.inf

    def gaussian_scale(self, d: int) -> Floats | None:
        """sqrt(gamma) of each axis, (d,), if this is a Gaussian kernel; None for every other."""
        return None

    @property
    def rotation_invariant(self) -> bool:
        """Whether k depends on `|u|` alone (up to a scale per axis)."""
        return False

    @property
    def unimodal(self) -> bool:
        """Whether the density on every axis is known to fall with |omega|."""
        return False

    def cube(self, d: int) -> int:
        """The number of uniform numbers that `spectrum` turns into one frequency."""
        return d

    def spectrum(self, U: Floats) -> Floats:
        """Frequencies (n, d) from uniform numbers (n, cube(d))."""
        return np.column_stack(
            [_numeric(self.axis(i)).quantile(U[:, i]) for i in range(U.shape[1])]
        )

    def sample(self, n: int, d: int, rng: np.random.Generator) -> Floats:
        """Draw n frequencies (n, d) from the spectrum, a mixture when there are several groups."""
        groups = self.groups(d)
        if len(groups) == 1 and groups[0].kernel is self:
            # Uniform numbers in the open interval (0, 1), so that no quantile is infinite.
            return self.spectrum(1.0 - rng.random((n, self.cube(d))) * (1.0 - 2.0**-53))
        shares = np.array([group.weight for group in groups])
        choice = rng.choice(len(groups), size=n, p=shares / shares.sum())
        nodes = np.zeros((n, d))
        for which in np.unique(choice):
            rows, group = np.flatnonzero(choice == which), groups[which]
            nodes[np.ix_(rows, group.axes)] = group.kernel.sample(len(rows), len(group.axes), rng)
        return nodes

    def bends(self, d: int) -> Floats | None:
        """Bounds (d,) of the second derivatives along each axis, off the axis planes; or None."""
        try:
            bounds = np.array([axis.derivative_bounds()[2] for axis in self.axes(d)])
        except (NotSeparable, NotImplementedError):  # the second: a kernel without a density
            return None
        return bounds if np.isfinite(bounds).all() else None

    def at_zero(self, d: int) -> float:
        """k(x, x)."""
        return float(sum(group.weight for group in self.groups(d)))

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """The exact Gram matrix, (len(X), len(Y)).

        "scale" and "median" are computed from X; then a Y that differs from X raises an error.
        """
        X = plain_rows("X", X)
        Y = X if Y is None else plain_rows("Y", Y)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}")
        check_gram("the kernel", len(X), len(Y), 8 * len(X) * len(Y))
        resolved = self.resolve(X)
        if not same(self, resolved) and not np.array_equal(X, Y):
            raise ValueError(
                f"{self!r} depends on the rows it is given, and k(X, Y) would not be k(Y, X); fix "
                f"it first, as in kernel.resolve(X_train)(X, Y), or give it numbers"
            )
        return resolved.gram(X, Y)

    def gram(self, X: Floats, Y: Floats) -> Floats:
        """`self(X, Y)` of a resolved kernel and float64 rows: nothing is checked."""
        groups = self.groups(X.shape[1])
        if len(groups) == 1 and (
            groups[0].kernel is self or np.array_equal(groups[0].axes, np.arange(X.shape[1]))
        ):
            gram = groups[0].kernel.group_gram(X, Y)
            gram *= groups[0].weight
            return gram
        gram = np.zeros((len(X), len(Y)))
        for axes, kernel, weight in groups:
            gram += weight * kernel.group_gram(X[:, axes], Y[:, axes])
        return gram

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        """The Gram matrix of a kernel of one group; `__call__` sums these over groups."""
        gram = np.ones((len(X), len(Y)))
        for i in range(X.shape[1]):
            gram *= self.axis(i).profile(np.abs(X[:, i, None] - Y[None, :, i]))
        return gram

    def slope(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        """The gradient by x of sum_b weights[b, t] k(x, y_b) at the rows of X, (n, t, d).

        For a resolved kernel and float64 rows; nothing is checked. At a kink of k, as of
        `Laplacian` at a gap of 0 on an axis, that term counts as 0.

        Parameters
        ----------
        X : (n, d)
        Y : (m, d)
        weights : (m, t)

        Examples
        --------
        >>> from quadfeat import Gaussian
        >>> x, y = np.array([[1.0]]), np.array([[0.0]])
        >>> Gaussian(0.5).slope(x, y, np.ones((1, 1)))[0, 0].round(6)  # -x exp(-x^2 / 2)
        array([-0.606531])
        """
        total = np.zeros((len(X), weights.shape[1], X.shape[1]))
        for axes, kernel, weight in self.groups(X.shape[1]):
            total[:, :, axes] += weight * kernel.group_slope(X[:, axes], Y[:, axes], weights)
        return total

    def group_slope(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        """`slope` of a kernel of one group; `slope` sums these over groups."""
        slope = np.empty((len(X), weights.shape[1], X.shape[1]))
        size = BLOCK_ENTRIES // Y.size + 4  # `group_derivatives` may hold a matrix for every axis
        for start in range(0, len(X), size):
            some = slice(start, start + size)
            for i, derivative in enumerate(self.group_derivatives(X[some], Y)):
                slope[some, :, i] = derivative @ weights
        return slope

    def group_derivatives(self, X: Floats, Y: Floats) -> Iterator[Floats]:
        """dk(x, y) / dx_i of a kernel of one group, (n, m), for one axis i after the other."""
        axes = [_numeric(axis) for axis in self.axes(X.shape[1])]
        # Products of profiles of all later and all earlier axes: no division, profiles may be 0.
        after = [np.ones((len(X), len(Y)))]
        for i in range(len(axes) - 1, 0, -1):
            after.append(after[-1] * axes[i].profile(np.abs(X[:, i, None] - Y[:, i])))
        before = np.ones((len(X), len(Y)))
        for i, axis in enumerate(axes):
            gap = X[:, i, None] - Y[:, i]
            distance = np.abs(gap)
            yield before * axis.profile_slope(distance) * np.sign(gap) * after.pop()
            before *= axis.profile(distance)

    def at(self, gaps: Floats) -> Floats:
        """k at the rows of gaps (n, d): (n,)."""
        total = np.zeros(len(gaps))
        for axes, kernel, weight in self.groups(gaps.shape[1]):
            total += weight * kernel.group_at(gaps[:, axes])
        return total

    def group_at(self, gaps: Floats) -> Floats:
        """k at the rows of gaps for a kernel of one group, (n,); `at` sums these over groups."""
        value = np.ones(len(gaps))
        for i in range(gaps.shape[1]):
            value *= self.axis(i).profile(np.abs(gaps[:, i]))
        return value

    def __add__(self, other: Kernel) -> Kernel:
        if not isinstance(other, Kernel):
            return NotImplemented
        added: Kernel = self._sum(self, other)
        return added

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return self._product(self, other)
        return self._scaled(self, other) if isinstance(other, Real) else NotImplemented

    def __rmul__(self, factor: float) -> Kernel:
        return self * factor


class WithMetric(Kernel):
    """The part of a kernel with parameters `gamma` and `metric` that handles the metric.

    Must be the first base class. Methods that work on one axis call `refuse_axes`.
    """

    gamma: Any
    metric: Any

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        if self.metric is None:
            return super().resolve(X, subsets)
        if self.learns:
            raise ValueError(
                f"{self!r} learns from targets: call fit(X, y) of a map or a model with this kernel"
            )
        metric = check_metric(self.metric, X.shape[1])
        if np.ndim(self.gamma):
            raise ValueError(
                f"gamma must be one number, 'scale' or 'median' beside a metric, got "
                f"{np.size(self.gamma)} values; put the scales into the metric, as in "
                f"Gaussian(1.0, metric=metric * np.sqrt(gamma))"
            )
        resolved = super().resolve(LinearMap(metric)(X) if isinstance(self.gamma, str) else X)
        resolved.metric = metric
        return resolved

    @property
    def learns(self) -> bool:
        return super().learns or (isinstance(self.metric, str) and self.metric == "learned")

    def coordinates(self, d: int) -> tuple[Kernel, Floats | None]:
        if self.metric is None:
            return self, None
        inner = clone(self)
        inner.metric = None
        return inner, np.asarray(self.metric, dtype=np.float64)

    @property
    def mixes_axes(self) -> bool:
        return self.metric is not None

    def restrict(self, axes: Axes) -> Kernel:
        self.refuse_axes()
        return super().restrict(axes)

    def axis(self, i: int) -> Axis:
        self.refuse_axes()
        return super().axis(i)

    def refuse_axes(self) -> None:
        """Raise an error if the metric mixes the axes, for methods that work on one axis."""
        if self.metric is not None:
            raise NotSeparable(
                f"{self!r} does not factor over the columns of X, which its metric mixes; "
                f"coordinates(d) has the kernel that factors, and the matrix for its rows"
            )

    def cube(self, d: int) -> int:
        return d if self.metric is None else len(self.metric)

    def spectrum(self, U: Floats) -> Floats:
        inner, metric = self.coordinates(U.shape[1])
        return super().spectrum(U) if metric is None else inner.spectrum(U) @ metric


def _gauss_rule(axis: Axis, n: int) -> Rule | None:
    """The Gauss rule of at most n nodes, exact for the moments; None if the tail is heavy."""
    try:
        return axis.gauss(n)
    except (NoMoments, NoDensity):
        return _gauss_rule(axis, n - 1) if n > 2 else None


def _numeric(axis: Axis) -> Kernel:
    assert isinstance(axis, Kernel)
    return axis


def same(one: Any, other: Any) -> bool:
    """Whether two kernels, or two parameters, are equal: arrays and sequences by value."""
    if isinstance(one, Kernel):
        if type(one) is not type(other):
            return False
        pairs = (kernel.get_params(deep=False) for kernel in (one, other))
        return all(map(same, *(parameters.values() for parameters in pairs)))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other))
