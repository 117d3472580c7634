"""What every kernel is: k(x - y), its spectrum, and its groups of axes."""

from __future__ import annotations

import inspect
from math import ceil
from numbers import Real
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from .._errors import NoDensity, NoMoments, NotSeparable
from .._typing import Axes, Floats, Subsets
from ..numerics import panels
from ..rules import gauss
from ..rules.rule import Axis, Rule, axis_key

MOST_DERIVATIVES = 16  # of k, the highest with a bound
Stored = dict[str, str] | None


class Group(NamedTuple):
    """One term of a kernel: `weight` * `kernel` on the columns `axes`; the kernel has k(0) = 1."""

    axes: Axes
    kernel: Kernel
    weight: float


class Kernel(BaseEstimator):
    """A shift-invariant kernel with a known spectrum.

    To add one: store the parameters in `__init__`, write `profile` (k on one axis, k(0) = 1) and
    `density` (its spectrum, of mass 1). Everything else follows for the product over axes, and
    `quadfeat.testing.check_kernel` checks that the two are a Fourier pair.

    Attributes
    ----------
    moments : float
        Moments of the spectrum of an order below this are finite; inf by default.
    edges : (m,), frequencies that the panels of a density with peaks start from; none by default
    stored : dict or None
        What each parameter may be, by the names of `storage.kernels`; None if it cannot be saved.
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
        given = {name: repr(value) for name, value in self.get_params(deep=False).items()}
        changed = [
            f"{name}={text}" for name, text in given.items() if text != repr(defaults[name].default)
        ]
        return f"{type(self).__name__}({', '.join(changed)})"

    # --- one axis
    def profile(self, gap: Floats) -> Floats:
        """k(u) on one axis."""
        raise NotImplementedError(f"{type(self).__name__} does not factor over axes")

    def density(self, omega: Floats) -> Floats:
        """The spectral density on one axis."""
        raise NotImplementedError(f"{type(self).__name__} does not factor over axes")

    def quantile(self, q: Floats) -> Floats:
        """The inverse distribution function of the density."""
        levels, omega = panels.quantile_table(self.density, self.edges)
        return np.sign(q - 0.5) * np.interp(0.5 + np.abs(q - 0.5), levels, omega)

    def gauss(self, n: int) -> Rule:
        """The n-point Gauss rule of the density."""
        return gauss.gauss(self.density, n, moments=self.moments, edges=self.edges)

    def axis(self, i: int) -> Axis:
        """The one-dimensional kernel of axis i: k is the product of these.

        A kernel that is not such a product raises `NotSeparable`.
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

        By spectral moments: of even order directly, of odd order by Cauchy and Schwarz. Kernels
        that are smooth except at zero have closed forms.
        """
        bounds = self.spectral_moments() * (1 + 1e-9)
        bounds[1::2] = np.sqrt(bounds[:-1:2] * bounds[2::2])
        return bounds

    # --- all axes
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
        """Whether k depends on |u| alone (up to a scale per axis)."""
        return False

    @property
    def unimodal(self) -> bool:
        """Whether the density on every axis is known to fall with |omega|."""
        return False

    def cube(self, d: int) -> int:
        """How many uniform numbers `spectrum` turns into one frequency."""
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
            return self.spectrum(_open_uniform(n, self.cube(d), rng))
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

        "scale" and "median" are computed from X; a Y other than X is then refused.
        """
        X = check_array(X, dtype=np.float64)
        Y = X if Y is None else check_array(Y, dtype=np.float64)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}")
        resolved = self.resolve(X)
        if not same(self, resolved) and not np.array_equal(X, Y):
            raise ValueError(
                f"{self!r} depends on the rows it is given, so k(X, Y) would be another kernel "
                f"than k(Y, X); fix it first for the rows it is for, as in "
                f"kernel.resolve(X_train)(X, Y), or give it numbers"
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


def _gauss_rule(axis: Axis, n: int) -> Rule | None:
    """The Gauss rule of at most n nodes, exact for the moments; None if the tail is heavy."""
    try:
        return axis.gauss(n)
    except (NoMoments, NoDensity):
        return _gauss_rule(axis, n - 1) if n > 2 else None


def _numeric(axis: Axis) -> Kernel:
    assert isinstance(axis, Kernel)
    return axis


def _open_uniform(n: int, d: int, rng: np.random.Generator) -> Floats:
    """Uniform numbers in the open interval (0, 1), so that no quantile is infinite."""
    return 1.0 - rng.random((n, d)) * (1.0 - 2.0**-53)


def same(one: Any, other: Any) -> bool:
    """Whether two kernels, or parameters of theirs, are equal: arrays and sequences by value."""
    if isinstance(one, Kernel):
        if type(one) is not type(other):
            return False
        pairs = (kernel.get_params(deep=False) for kernel in (one, other))
        return all(map(same, *(parameters.values() for parameters in pairs)))
    if isinstance(one, list | tuple) and isinstance(other, list | tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return bool(np.array_equal(one, other))
