"""Kernel: what every kernel knows; sums, multiples and products of kernels."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Sequence
from functools import cached_property, reduce
from itertools import product
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils import check_array

from . import rules
from ._checks import check_positive
from .rules import Axis, Floats, Rule

Axes = npt.NDArray[np.intp]
Subsets = Sequence[Axes]


class Group(NamedTuple):
    """One term of a kernel: `weight` * `kernel` on the columns `axes`; the kernel has k(0) = 1."""

    axes: Axes
    kernel: Kernel
    weight: float


class Kernel(BaseEstimator):
    """A shift-invariant kernel with a known spectrum.

    To add one: store the parameters in `__init__`, write `profile` (k on one axis, k(0) = 1) and
    `density` (its spectrum, of mass 1). Everything else follows for the product over axes, and
    `quadfeat.testing.check_kernel` tells whether the two belong together.
    """

    moments: float = np.inf
    edges: Floats = np.zeros(0)  # frequencies that the panels of a density with peaks start from

    def __repr__(self) -> str:
        # scikit-learn's takes twice as long for every product inside another.
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
        levels, omega = rules.quantile_table(self.density, self.edges)
        return np.sign(q - 0.5) * np.interp(0.5 + np.abs(q - 0.5), levels, omega)

    def gauss(self, n: int) -> Rule:
        """The n-point Gauss rule of the density."""
        return rules.gauss(self.density, n, moments=self.moments, edges=self.edges)

    def axis(self, i: int) -> Axis:
        """The one-dimensional kernel of axis i: k is the product of these."""
        return self

    # --- all axes
    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        """This kernel with parameters that depend on the data made numbers, all of them checked."""
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
        """Uniform numbers (n, cube(d)) made into frequencies (n, d)."""
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

    def at_zero(self, d: int) -> float:
        """k(x, x)."""
        return float(sum(group.weight for group in self.groups(d)))

    def __call__(self, X: Any, Y: Any = None) -> Floats:
        """The exact Gram matrix, (len(X), len(Y)).

        A kernel with "scale" or "median" is that of the rows of X; for another Y it is refused.
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
        groups = resolved.groups(X.shape[1])
        if len(groups) == 1 and np.array_equal(groups[0].axes, np.arange(X.shape[1])):
            gram = groups[0].kernel._gram(X, Y)
            gram *= groups[0].weight
            return gram
        gram = np.zeros((len(X), len(Y)))
        for axes, kernel, weight in groups:
            gram += weight * kernel._gram(X[:, axes], Y[:, axes])
        return gram

    def _gram(self, X: Floats, Y: Floats) -> Floats:
        gram = np.ones((len(X), len(Y)))
        for i in range(X.shape[1]):
            gram *= self.axis(i).profile(np.abs(X[:, i, None] - Y[None, :, i]))
        return gram

    def at(self, gaps: Floats) -> Floats:
        """k at the rows of gaps (n, d): (n,)."""
        total = np.zeros(len(gaps))
        for axes, kernel, weight in self.groups(gaps.shape[1]):
            total += weight * kernel._at(gaps[:, axes])
        return total

    def _at(self, gaps: Floats) -> Floats:
        value = np.ones(len(gaps))
        for i in range(gaps.shape[1]):
            value *= self.axis(i).profile(np.abs(gaps[:, i]))
        return value

    def __add__(self, other: Kernel) -> Sum:
        return Sum(self, other) if isinstance(other, Kernel) else NotImplemented

    def __mul__(self, other: Any) -> Kernel:
        if isinstance(other, Kernel):
            return Product(self, other)
        return Scaled(self, other) if isinstance(other, Real) else NotImplemented

    def __rmul__(self, factor: float) -> Kernel:
        return self * factor


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


_MOST_PARTS = 250  # so that a chain of them is within the depth that Python can call


def _check_parts(made: Kernel, **parts: Any) -> None:
    """Whether what a kernel is made of are kernels, and not astronomically many."""
    for name, part in parts.items():
        if not isinstance(part, Kernel):
            raise TypeError(
                f"{name} of {type(made).__name__} must be a Kernel such as Gaussian(1.0), "
                f"got {part!r}"
            )
    if (size := _size(made, {})) > _MOST_PARTS:
        raise ValueError(
            f"a kernel may be made of {_MOST_PARTS} kernels, got one of {size:,}; write products "
            f"of equal ones as one, such as Gaussian(3 * gamma) for a cube, and sums as Anova"
        )


def _size(kernel: Kernel, known: dict[int, int], depth: int = 0) -> int:
    """Of how many kernels a kernel is made; one that is named twice is counted twice."""
    if id(kernel) not in known:
        parts = [part for part in vars(kernel).values() if isinstance(part, Kernel)]
        deep = depth > _MOST_PARTS  # far enough: it has as many parts
        known[id(kernel)] = 1 if deep else sum(_size(p, known, depth + 1) for p in parts) or 1
    return known[id(kernel)]


# --- sums and products -------------------------------------------------------------------------
class Sum(Kernel):
    """left + right: the groups of both."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        _check_parts(self, left=self.left, right=self.right)
        return type(self)(self.left.resolve(X, subsets), self.right.resolve(X, subsets))

    def restrict(self, axes: Axes) -> Kernel:
        return Sum(self.left.restrict(axes), self.right.restrict(axes))

    def groups(self, d: int) -> list[Group]:
        return self.left.groups(d) + self.right.groups(d)

    def subgaussian(self, d: int) -> float:
        return max(self.left.subgaussian(d), self.right.subgaussian(d))

    @property
    def unimodal(self) -> bool:
        return self.left.unimodal and self.right.unimodal

    def axis(self, i: int) -> Axis:
        raise ValueError("a sum of kernels does not factor over axes; ask its groups")


class Scaled(Kernel):
    """factor * kernel, so that k(0) = factor * kernel(0)."""

    def __init__(self, kernel: Kernel, factor: Any) -> None:
        self.kernel = kernel
        self.factor = factor

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        _check_parts(self, kernel=self.kernel)
        factor = check_positive("factor", self.factor, example="0.5")
        return type(self)(self.kernel.resolve(X, subsets), factor)

    def restrict(self, axes: Axes) -> Kernel:
        return Scaled(self.kernel.restrict(axes), self.factor)

    def groups(self, d: int) -> list[Group]:
        return [g._replace(weight=self.factor * g.weight) for g in self.kernel.groups(d)]

    def subgaussian(self, d: int) -> float:
        return self.kernel.subgaussian(d)

    @property
    def unimodal(self) -> bool:
        return self.kernel.unimodal

    def axis(self, i: int) -> Axis:
        raise ValueError("a scaled kernel has k(0) != 1; ask its groups for the factors")


class Product(Kernel):
    """left * right: each group of the one times each group of the other.

    Its spectrum is the convolution of theirs, so a frequency is the sum of two.
    """

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        _check_parts(self, left=self.left, right=self.right)
        return type(self)(self.left.resolve(X, subsets), self.right.resolve(X, subsets))

    def restrict(self, axes: Axes) -> Kernel:
        return Product(self.left.restrict(axes), self.right.restrict(axes))

    def groups(self, d: int) -> list[Group]:
        return [
            Group(
                axes := np.union1d(one.axes, two.axes),
                _ProductTerm(
                    _Placed(one.kernel, np.searchsorted(axes, one.axes)),
                    _Placed(two.kernel, np.searchsorted(axes, two.axes)),
                ),
                one.weight * two.weight,
            )
            for one, two in product(self.left.groups(d), self.right.groups(d))
        ]

    def subgaussian(self, d: int) -> float:
        return float(np.hypot(self.left.subgaussian(d), self.right.subgaussian(d)))

    @property
    def unimodal(self) -> bool:
        # The convolution of two symmetric unimodal densities is one (Wintner, 1938).
        return self.left.unimodal and self.right.unimodal

    def axis(self, i: int) -> Axis:
        raise ValueError("a product of kernels is asked for its groups, which factor over axes")


class _Placed(NamedTuple):
    """A one-group kernel and where its axes lie among those of the product."""

    kernel: Kernel
    axes: Axes


class _ProductTerm(Kernel):
    """The product of two one-group kernels, which may look at different axes."""

    def __init__(self, left: _Placed, right: _Placed) -> None:
        self.left = left
        self.right = right

    @property
    def _d(self) -> int:
        return int(max(self.left.axes.max(), self.right.axes.max())) + 1

    def axis(self, i: int) -> Axis:
        return multiplied(
            placed.kernel.axis(int(np.flatnonzero(placed.axes == i)[0]))
            for placed in (self.left, self.right)
            if i in placed.axes
        )

    def subgaussian(self, d: int) -> float:
        left, right = (part.kernel.subgaussian(len(part.axes)) for part in (self.left, self.right))
        return float(np.hypot(left, right))

    @property
    def unimodal(self) -> bool:
        return self.left.kernel.unimodal and self.right.kernel.unimodal

    def cube(self, d: int) -> int:
        return self.left.kernel.cube(len(self.left.axes)) + self.right.kernel.cube(
            len(self.right.axes)
        )

    def spectrum(self, U: Floats) -> Floats:
        split = self.left.kernel.cube(len(self.left.axes))
        nodes = np.zeros((len(U), self._d))
        nodes[:, self.left.axes] += self.left.kernel.spectrum(U[:, :split])
        nodes[:, self.right.axes] += self.right.kernel.spectrum(U[:, split:])
        return nodes

    def _gram(self, X: Floats, Y: Floats) -> Floats:
        (left, some), (right, others) = self.left, self.right
        return left._gram(X[:, some], Y[:, some]) * right._gram(X[:, others], Y[:, others])

    def _at(self, gaps: Floats) -> Floats:
        return self.left.kernel._at(gaps[:, self.left.axes]) * self.right.kernel._at(
            gaps[:, self.right.axes]
        )


class ProductAxis(Kernel):
    """The product of two kernels of one axis: its spectrum is the convolution of theirs."""

    def __init__(self, left: Axis, right: Axis) -> None:
        self.left = left
        self.right = right
        self._transform = rules.CosineTransform(self.profile)

    @property
    def moments(self) -> float:  # type: ignore[override]  # a constant for the other kernels
        return min(self.left.moments, self.right.moments)

    @property
    def edges(self) -> Floats:  # type: ignore[override]
        left, right = self.left.edges, self.right.edges
        if not len(left) or not len(right):
            return np.union1d(left, right)
        # Peaks at p and q make one at p + q and one at |p - q|.
        p, q = (some[1:][np.diff(some) < 0.4 * some[1:]] for some in (left, right))
        sums, gaps = p[:, None] + q, np.abs(p[:, None] - q)
        return np.unique(np.concatenate([left, right, sums.ravel(), gaps.ravel()]))

    def profile(self, gap: Floats) -> Floats:
        return self.left.profile(gap) * self.right.profile(gap)

    def density(self, omega: Floats) -> Floats:
        if len(self.edges) and omega.size:
            return self._convolution(np.ravel(omega)).reshape(omega.shape)
        return np.maximum(self._transform(omega) / (2 * np.pi), 0.0)

    @cached_property
    def _convolution(self) -> rules.Profile:
        # A profile that is known as an integral has the rounding of one, however far it falls.
        if isinstance(self.left, ProductAxis) or isinstance(self.right, ProductAxis):
            raise ValueError(
                "a product of three or more kernels, one of which is Smoothed or Spectral, has "
                "no density to make this rule from; use rule='gauss' or RandomFourier, or smooth "
                "the product as a whole: Smoothed(k1 * k2 * k3, width)"
            )
        return rules.convolution(self.left, self.right)

    def gauss(self, n: int) -> Rule:
        # The sums of the nodes of two n-point Gauss rules have all moments below 2n right, so
        # the Gauss rule of that discrete measure is the Gauss rule of the convolution.
        left, right = self.left.gauss(n), self.right.gauss(n)
        nodes = np.add.outer(left.nodes[:, 0], right.nodes[:, 0]).ravel()
        return rules.discrete_gauss(nodes, np.outer(left.weights, right.weights).ravel(), n)


def multiplied(axes: Iterable[Axis]) -> Axis:
    """The product of kernels of one axis."""
    return reduce(ProductAxis, axes)
