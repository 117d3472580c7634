"""Sums, multiples and products of kernels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property, reduce
from itertools import product
from math import comb
from typing import Any, ClassVar, NamedTuple, Self

import numpy as np

from .._checks import check_positive
from .._errors import NoDensity, NotSeparable
from .._typing import Axes, Floats, Profile, Subsets
from ..numerics.cosine_transform import CosineTransform
from ..numerics.panels import POINTS, legendre, search
from ..rules import gauss
from ..rules.rule import Axis, Rule
from .base import Group, Kernel, Stored, _numeric
from .metric import refuse_metric


def convolution(one: Axis, two: Axis) -> Profile:
    """The density of the sum of two frequencies, integrated where both densities are smooth."""
    (left, f), (right, g) = (
        (axis.edges if len(axis.edges) else search(axis.density).edges, axis.density)
        for axis in (one, two)
    )
    rows = max(1, 2**20 // (POINTS * (2 * len(left) + len(right))))

    def at(omega: Floats) -> Floats:
        moved = [np.abs(omega[:, None] - left), omega[:, None] + left]
        ends = np.concatenate([np.tile(right, (len(omega), 1)), *moved], axis=1)
        ends = np.sort(np.minimum(ends, right[-1]), axis=1)
        middle, radius = (ends[:, 1:] + ends[:, :-1]) / 2, (ends[:, 1:] - ends[:, :-1]) / 2
        total = np.zeros(len(omega))
        for x, w in zip(*legendre(np.array([-1.0, 1.0])), strict=True):
            v = middle + radius * x
            both = f(np.abs(omega[:, None] - v)) + f(omega[:, None] + v)
            total += w * (radius * g(v) * both).sum(axis=1)
        return total

    def density(omega: Floats) -> Floats:
        parts = np.array_split(np.abs(omega), len(omega) // rows + 1)
        return np.concatenate([at(part) for part in parts])

    return density


_MOST_PARTS = 250  # a chain of so many stays within Python's recursion limit


def _check_parts(whole: Kernel, **parts: Any) -> None:
    """Raise an error for parts that are not kernels, and for more than 250 parts."""
    for name, part in parts.items():
        if not isinstance(part, Kernel):
            raise TypeError(
                f"{name} of {type(whole).__name__} must be a Kernel such as Gaussian(1.0), "
                f"got {part!r}"
            )
    if (size := _size(whole, {})) > _MOST_PARTS:
        raise ValueError(
            f"a kernel may be made of {_MOST_PARTS} kernels, got one of {size:,}; write products "
            f"of equal ones as one, such as Gaussian(3 * gamma) for a cube, and sums as Anova"
        )


def _size(kernel: Kernel, known: dict[int, int], depth: int = 0) -> int:
    """The number of kernels in a kernel; one that is used twice counts twice."""
    if id(kernel) not in known:
        parts = [part for part in vars(kernel).values() if isinstance(part, Kernel)]
        deep = depth > _MOST_PARTS  # already too many parts
        known[id(kernel)] = 1 if deep else sum(_size(p, known, depth + 1) for p in parts) or 1
    return known[id(kernel)]


class Sum(Kernel):
    """left + right: the groups of both."""

    stored: ClassVar[Stored] = {"left": "kernel", "right": "kernel"}

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        _check_parts(self, left=self.left, right=self.right)
        refuse_metric(self, self.left, self.right)
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
        raise NotSeparable("a sum of kernels does not factor over axes; ask its groups")


class Scaled(Kernel):
    """factor * kernel, so that k(0) = factor * kernel(0)."""

    stored: ClassVar[Stored] = {"kernel": "kernel", "factor": "positive"}

    def __init__(self, kernel: Kernel, factor: Any) -> None:
        self.kernel = kernel
        self.factor = factor

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        _check_parts(self, kernel=self.kernel)
        factor = check_positive("factor", self.factor, example="0.5")
        return type(self)(self.kernel.resolve(X, subsets), factor)

    def coordinates(self, d: int) -> tuple[Kernel, Floats | None]:
        inner, matrix = self.kernel.coordinates(d)
        return (self, None) if matrix is None else (Scaled(inner, self.factor), matrix)

    @property
    def mixes_axes(self) -> bool:
        return self.kernel.mixes_axes

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
        raise NotSeparable("a scaled kernel has k(0) != 1; ask its groups for the factors")


class Product(Kernel):
    """left * right: each group of the one times each group of the other.

    Its spectrum is the convolution of the two spectra, so a frequency is the sum of two.
    """

    stored: ClassVar[Stored] = {"left": "kernel", "right": "kernel"}

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        _check_parts(self, left=self.left, right=self.right)
        refuse_metric(self, self.left, self.right)
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
        raise NotSeparable("a product of kernels does not factor over axes; ask its groups")


class _Placed(NamedTuple):
    """A kernel of one group, and the positions of its axes among those of the product."""

    kernel: Kernel
    axes: Axes


class _ProductTerm(Kernel):
    """The product of two kernels of one group, which may have different axes."""

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

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        (left, first), (right, second) = self.left, self.right
        return left.group_gram(X[:, first], Y[:, first]) * right.group_gram(
            X[:, second], Y[:, second]
        )

    def group_derivatives(self, X: Floats, Y: Floats) -> Iterator[Floats]:
        parts = [(kernel, X[:, axes], Y[:, axes]) for kernel, axes in (self.left, self.right)]
        grams = [kernel.group_gram(x, y) for kernel, x, y in parts]
        left, right = (kernel.group_derivatives(x, y) for kernel, x, y in parts)
        for i in range(X.shape[1]):
            derivative = np.zeros((len(X), len(Y)))
            if i in self.left.axes:
                derivative += next(left) * grams[1]
            if i in self.right.axes:
                derivative += grams[0] * next(right)
            yield derivative

    def group_at(self, gaps: Floats) -> Floats:
        return self.left.kernel.group_at(gaps[:, self.left.axes]) * self.right.kernel.group_at(
            gaps[:, self.right.axes]
        )


class ProductAxis(Kernel):
    """The product of two kernels of one axis: its spectrum is the convolution of theirs."""

    def __init__(self, left: Axis, right: Axis) -> None:
        self.left = left
        self.right = right
        self._transform = CosineTransform(self.profile)

    @property
    def moments(self) -> float:  # type: ignore[override]  # a constant for the other kernels
        return min(self.left.moments, self.right.moments)

    @property
    def edges(self) -> Floats:  # type: ignore[override]
        left, right = self.left.edges, self.right.edges
        if not len(left) or not len(right):
            return np.union1d(left, right)
        # Peaks at p and q give one at p + q and one at |p - q|.
        p, q = (ends[1:][np.diff(ends) < 0.4 * ends[1:]] for ends in (left, right))
        sums, gaps = p[:, None] + q, np.abs(p[:, None] - q)
        return np.unique(np.concatenate([left, right, sums.ravel(), gaps.ravel()]))

    @property
    def decreasing(self) -> bool:
        return self.left.decreasing and self.right.decreasing

    @property
    def noise(self) -> float:
        return self.left.noise + self.right.noise

    def derivative_bounds(self) -> Floats:
        left, right = self.left.derivative_bounds(), self.right.derivative_bounds()
        return np.array(
            [
                sum(comb(n, i) * left[i] * right[n - i] for i in range(n + 1))
                for n in range(len(left))
            ]
        )

    def profile(self, gap: Floats) -> Floats:
        return self.left.profile(gap) * self.right.profile(gap)

    def profile_slope(self, gap: Floats) -> Floats:
        left, right = _numeric(self.left), _numeric(self.right)
        return left.profile_slope(gap) * right.profile(gap) + left.profile(
            gap
        ) * right.profile_slope(gap)

    def density(self, omega: Floats) -> Floats:
        if len(self.edges) and omega.size:
            return self._convolution(np.ravel(omega)).reshape(omega.shape)
        return np.maximum(self._transform(omega) / (2 * np.pi), 0.0)

    @cached_property
    def _convolution(self) -> Profile:
        # A profile computed as an integral has an absolute rounding error, even where it is tiny.
        if isinstance(self.left, ProductAxis) or isinstance(self.right, ProductAxis):
            raise NoDensity(
                "a product of three or more kernels, one of which is Smoothed or Spectral, has "
                "no density to make this rule from; use rule='gauss' or RandomFourier, or smooth "
                "the product as a whole: Smoothed(k1 * k2 * k3, width)"
            )
        return convolution(self.left, self.right)

    def gauss(self, n: int) -> Rule:
        # The sums of the nodes of two n-point Gauss rules have the right moments below 2n, so the
        # Gauss rule of that discrete measure is the Gauss rule of the convolution.
        left, right = self.left.gauss(n), self.right.gauss(n)
        nodes = np.add.outer(left.nodes[:, 0], right.nodes[:, 0]).ravel()
        return gauss.discrete_gauss(nodes, np.outer(left.weights, right.weights).ravel(), n)


def multiplied(axes: Iterable[Axis]) -> Axis:
    """The product of kernels of one axis."""
    return reduce(ProductAxis, axes)


Kernel._sum, Kernel._product, Kernel._scaled = Sum, Product, Scaled
