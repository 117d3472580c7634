"""Kernels: k(x - y), its spectrum, and which groups of axes it sums over.

A kernel with one group is the product over axes of one-dimensional kernels (or, for `Matern`, an
isotropic one) with k(0) = 1. ANOVA, convolution and sums are lists of such groups with weights.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import comb
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt
from scipy import special, stats
from scipy.spatial.distance import cdist, pdist
from sklearn.base import BaseEstimator, clone
from sklearn.utils import check_array, check_random_state

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

    # --- one axis
    def profile(self, gap: Floats) -> Floats:
        """k(u) on one axis."""
        raise NotImplementedError(f"{type(self).__name__} does not factor over axes")

    def density(self, omega: Floats) -> Floats:
        """The spectral density on one axis."""
        raise NotImplementedError(f"{type(self).__name__} does not factor over axes")

    def quantile(self, q: Floats) -> Floats:
        """The inverse distribution function of the density."""
        levels, omega = rules.quantile_table(self.density)
        return np.sign(q - 0.5) * np.interp(0.5 + np.abs(q - 0.5), levels, omega)

    def gauss(self, n: int) -> Rule:
        """The n-point Gauss rule of the density."""
        return rules.gauss(self.density, n, moments=self.moments)

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
        """The exact Gram matrix, (len(X), len(Y))."""
        X = check_array(X, dtype=np.float64)
        Y = X if Y is None else check_array(Y, dtype=np.float64)
        if X.shape[1] != Y.shape[1]:
            raise ValueError(f"X has {X.shape[1]} columns and Y has {Y.shape[1]}")
        gram = np.zeros((len(X), len(Y)))
        for axes, kernel, weight in self.resolve(X).groups(X.shape[1]):
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


# --- kernels with a gamma ----------------------------------------------------------------------
class _GammaKernel(Kernel):
    """A kernel whose scale is `gamma`: a number, one per axis, "scale" or "median"."""

    gamma: Any
    _metric = "sqeuclidean"  # gamma is the inverse of this distance

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        gamma: Any = self.gamma
        if isinstance(gamma, str):
            if gamma not in ("scale", "median"):
                raise ValueError(
                    f"gamma must be a positive number, one per axis, 'scale' or 'median', "
                    f"got {gamma!r}"
                )
            subsets = subsets if subsets is not None else [np.arange(X.shape[1])]
            gamma = (self._scale if gamma == "scale" else self._median)(X, subsets)
        elif np.ndim(gamma) == 0:
            gamma = _check_gamma(gamma)
        else:
            gamma = np.array([_check_gamma(value) for value in np.ravel(gamma)])
            if len(gamma) != X.shape[1]:
                raise ValueError(
                    f"gamma has {len(gamma)} values and X has {X.shape[1]} columns; "
                    f"give one number, or one per column"
                )
        resolved = clone(self)
        resolved.gamma = gamma
        return resolved

    def _scale(self, X: Floats, subsets: Subsets) -> float:
        """As scikit-learn: 1 / (columns * variance), of a group on average."""
        columns = float(np.mean([len(axes) for axes in subsets]))
        mean, spread = _column_moments(X)
        with np.errstate(over="ignore", invalid="ignore"):
            variance = float(np.mean([spread[axes].mean() + mean[axes].var() for axes in subsets]))
        if not np.isfinite(variance):
            raise ValueError(
                "gamma='scale' needs the variance of X, which overflows; standardise X, or give "
                "gamma a number"
            )
        square = self._metric == "sqeuclidean"
        return 1.0 / (columns * (variance if square else variance**0.5)) if variance > 0 else 1.0

    def _median(self, X: Floats, subsets: Subsets) -> float:
        """The gamma at which the median distance between rows is one length scale."""
        rng = np.random.default_rng(0)
        rows = X[rng.choice(len(X), size=min(len(X), 1000), replace=False)]
        some = rng.choice(len(subsets), size=min(len(subsets), 16), replace=False)
        distance = np.concatenate([pdist(rows[:, subsets[i]], self._metric) for i in some])
        if not np.isfinite(distance).all():
            raise ValueError("gamma='median' needs distances that do not overflow; standardise X")
        middle = np.median(distance[distance > 0]) if (distance > 0).any() else 0.5
        return float(1.0 / (2.0 * middle) if self._metric == "sqeuclidean" else 1.0 / middle)

    def restrict(self, axes: Axes) -> Kernel:
        if np.ndim(self.gamma) == 0:
            return self
        restricted = clone(self)
        restricted.gamma = np.asarray(self.gamma)[axes]
        return restricted

    def axis(self, i: int) -> Axis:
        if np.ndim(self.gamma) == 0:
            return self
        single = clone(self)
        single.gamma = float(self.gamma[i])
        return single

    def _columns(self, X: Floats) -> Floats:
        """X in length scales, for the vectorised Gram matrices."""
        root = np.sqrt(self.gamma) if self._metric == "sqeuclidean" else np.asarray(self.gamma)
        return X * root


def _check_gamma(gamma: Any) -> float:
    """A positive number whose square and root are numbers too."""
    if check_positive("gamma", gamma) > 1e150 or gamma < 1e-150:
        raise ValueError(f"gamma must be between 1e-150 and 1e150, got {gamma!r}; standardise X")
    return float(gamma)


def _column_moments(X: Floats) -> tuple[Floats, Floats]:
    """Mean and variance of each column in double precision, without a copy of X."""
    blocks = [X[start : start + 4096] for start in range(0, len(X), 4096)]
    with np.errstate(over="ignore", invalid="ignore"):
        mean = sum(block.sum(axis=0, dtype=np.float64) for block in blocks) / len(X)
        square = sum(((block - mean) ** 2).sum(axis=0) for block in blocks) / len(X)
    return mean, square


class Gaussian(_GammaKernel):
    """exp(-gamma |u|^2), with the normal spectrum N(0, 2 gamma): subgaussian, rotation-invariant.

    Parameters
    ----------
    gamma : float, array of one per axis, "scale" or "median"
        "scale" is scikit-learn's 1 / (n_features * X.var()); "median" puts the median distance
        between rows at one length scale, gamma = 1 / (2 median^2).

    Examples
    --------
    >>> Gaussian(gamma=0.5)([[0.0]], [[2.0]])
    array([[0.13533528]])
    """

    def __init__(self, gamma: Any = 1.0) -> None:
        self.gamma = gamma

    def profile(self, gap: Floats) -> Floats:
        return np.exp(-self.gamma * gap**2)

    def density(self, omega: Floats) -> Floats:
        with np.errstate(over="ignore"):
            return np.exp(-(omega**2) / (4 * self.gamma)) / np.sqrt(4 * np.pi * self.gamma)

    def quantile(self, q: Floats) -> Floats:
        return np.sqrt(2 * self.gamma) * special.ndtri(q)

    def gauss(self, n: int) -> Rule:
        rule = rules.gauss_hermite(n)
        return Rule(np.sqrt(2 * self.gamma) * rule.nodes, rule.weights)

    def sample(self, n: int, d: int, rng: np.random.Generator) -> Floats:
        return rng.standard_normal((n, d)) * np.sqrt(2 * np.asarray(self.gamma))

    def subgaussian(self, d: int) -> float:
        return float(np.sqrt(2 * np.max(self.gamma)))

    @property
    def rotation_invariant(self) -> bool:
        return True

    def _gram(self, X: Floats, Y: Floats) -> Floats:
        return np.exp(-cdist(self._columns(X), self._columns(Y), "sqeuclidean"))

    def _at(self, gaps: Floats) -> Floats:
        return np.exp(-np.einsum("ij,ij->i", self._columns(gaps), self._columns(gaps)))


class Laplacian(_GammaKernel):
    """exp(-gamma |u|_1), with a Cauchy spectrum on each axis: no moments, so no Gauss rule.

    `gamma` is a number, one per axis, "scale" (1 / (n_features * X.std())) or "median" (the
    inverse median distance).
    """

    moments = 1.0
    _metric = "cityblock"

    def __init__(self, gamma: Any = 1.0) -> None:
        self.gamma = gamma

    def profile(self, gap: Floats) -> Floats:
        return np.exp(-self.gamma * np.abs(gap))

    def density(self, omega: Floats) -> Floats:
        return self.gamma / (np.pi * (self.gamma**2 + omega**2))

    def quantile(self, q: Floats) -> Floats:
        return self.gamma * stats.cauchy.ppf(q)

    def _gram(self, X: Floats, Y: Floats) -> Floats:
        return np.exp(-cdist(self._columns(X), self._columns(Y), "cityblock"))


class Cauchy(_GammaKernel):
    """prod_i 1 / (1 + gamma u_i^2), with a Laplace spectrum on each axis: all moments exist."""

    def __init__(self, gamma: Any = 1.0) -> None:
        self.gamma = gamma

    def profile(self, gap: Floats) -> Floats:
        return 1.0 / (1.0 + self.gamma * gap**2)

    def density(self, omega: Floats) -> Floats:
        scale = np.sqrt(self.gamma)
        return np.exp(-np.abs(omega) / scale) / (2 * scale)

    def quantile(self, q: Floats) -> Floats:
        return np.sqrt(self.gamma) * stats.laplace.ppf(q)


class Matern(_GammaKernel):
    """The Matern kernel of smoothness `nu` and length scale 1 / sqrt(2 gamma).

    Isotropic (`product=False`) it depends on |u|, and its spectrum is the multivariate Student t
    with 2 nu degrees of freedom: it does not factor over axes, so it has no grid. The product of
    one-dimensional ones (`product=True`) is another kernel, and has. nu=0.5 is the exponential
    kernel; as nu grows both tend to `Gaussian(gamma)`.
    """

    def __init__(self, nu: float = 1.5, gamma: Any = 1.0, product: bool = False) -> None:
        self.nu = nu
        self.gamma = gamma
        self.product = product

    @property
    def moments(self) -> float:  # type: ignore[override]  # a constant for the other kernels
        return 2.0 * self.nu

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        check_positive("nu", self.nu, example="1.5")
        return super().resolve(X, subsets)

    def axis(self, i: int) -> Axis:
        if not self.product:
            raise ValueError(
                "the isotropic Matern kernel does not factor over axes, so it has no grid; use "
                "Matern(nu, gamma, product=True), or RandomFourier, QuasiRandomFourier or "
                "OrthogonalFourier"
            )
        return super().axis(i)

    def profile(self, gap: Floats) -> Floats:
        return _matern(np.sqrt(2 * self.gamma) * np.abs(gap), float(self.nu))

    def density(self, omega: Floats) -> Floats:
        scale = np.sqrt(2 * self.gamma)
        return np.asarray(stats.t.pdf(omega / scale, df=2 * self.nu)) / scale

    def quantile(self, q: Floats) -> Floats:
        return np.sqrt(2 * self.gamma) * special.stdtrit(2 * self.nu, q)

    @property
    def rotation_invariant(self) -> bool:
        return not self.product

    def cube(self, d: int) -> int:
        return d if self.product else d + 1

    def spectrum(self, U: Floats) -> Floats:
        if self.product:
            return super().spectrum(U)
        # One chi-square for all axes of a draw: that is what makes it isotropic.
        chi = stats.chi2.ppf(U[:, -1:], df=2 * self.nu)
        normal = special.ndtri(U[:, :-1]) * np.sqrt(2 * np.asarray(self.gamma))
        return normal * np.sqrt(2 * self.nu / np.maximum(chi, np.finfo(float).tiny))

    def _gram(self, X: Floats, Y: Floats) -> Floats:
        if self.product:
            return super()._gram(X, Y)
        root = np.sqrt(2.0)
        return _matern(root * cdist(self._columns(X), self._columns(Y)), float(self.nu))

    def _at(self, gaps: Floats) -> Floats:
        if self.product:
            return super()._at(gaps)
        return _matern(np.sqrt(2.0) * np.linalg.norm(self._columns(gaps), axis=1), float(self.nu))


def _matern(distance: Floats, nu: float) -> Floats:
    """The Matern kernel of unit length scale at a distance."""
    t = np.sqrt(2 * nu) * distance
    if nu == 0.5:
        return np.exp(-t)
    if nu == 1.5:
        return (1 + t) * np.exp(-t)
    if nu == 2.5:
        return (1 + t + t**2 / 3) * np.exp(-t)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        log = (1 - nu) * np.log(2) - special.gammaln(nu) + nu * np.log(t)
        value = np.exp(log - t) * special.kve(nu, t)
        # For large nu and small t the Bessel function overflows where the kernel is near 1 or
        # given by its limit in nu, whose error is of order 1 / nu.
        value = np.where(np.isfinite(value), value, np.exp(-(distance**2) / 2))
    return np.where(t < 1e-8, 1.0, value)


# --- made of other kernels ---------------------------------------------------------------------
class Spectral(Kernel):
    """The product kernel of your own spectrum: `density`, an even function of frequency.

    It need not be normalised. The kernel is its cosine transform, found numerically to about 1e-13.

    >>> box = Spectral(lambda omega: (np.abs(omega) < 1).astype(float))
    >>> box([[0.0]], [[np.pi]]).round(6) + 0.0  # sin(u) / u
    array([[0.]])
    """

    def __init__(self, density: Any) -> None:
        self.density = density  # type: ignore[method-assign]

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        SpectralAxis(self.density)
        return self

    def axis(self, i: int) -> Axis:
        return SpectralAxis(self.density)


class SpectralAxis(Kernel):
    """One axis of `Spectral`, with the density normalised."""

    def __init__(self, raw: Any) -> None:
        self.raw = raw
        if not callable(raw):
            raise TypeError(f"density must be a function of an array of frequencies, got {raw!r}")
        trial = np.asarray(raw(np.array([-1.25, 1.25, 0.0])), dtype=np.float64)
        if trial.shape != (3,) or np.isnan(trial).any() or (trial < 0).any():
            raise ValueError(
                "density must map an array of frequencies to as many non-negative numbers, "
                f"got {trial!r} at [-1.25, 1.25, 0]"
            )
        if abs(trial[0] - trial[1]) > 1e-12 * abs(trial[1]):
            raise ValueError(
                f"density must be even, got {trial[0]} at -1.25 and {trial[1]} at 1.25"
            )
        self._transform = rules.CosineTransform(self._raw)
        self._mass = float(self._transform(np.zeros(1))[0])

    def _raw(self, omega: Floats) -> Floats:
        return np.asarray(self.raw(omega), dtype=np.float64)

    def density(self, omega: Floats) -> Floats:
        return self._raw(omega) / self._mass

    def profile(self, gap: Floats) -> Floats:
        return self._transform(gap) / self._mass


class Smoothed(Kernel):
    """`kernel` convolved on every axis with a Gaussian of standard deviation `width`.

    The paper's way to make any product kernel subgaussian: the spectrum is multiplied by
    exp(-width^2 w^2 / 2) and scaled back to mass 1, so all moments exist and Gauss rules with
    them. `introduced_error` tells how far the smoothed kernel is from the original.
    """

    def __init__(self, kernel: Kernel, width: float = 0.25) -> None:
        self.kernel = kernel
        self.width = width

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        if not isinstance(self.kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel such as Laplacian(1.0), got {self.kernel!r}")
        width = check_positive("width", self.width, example="0.25")
        return type(self)(self.kernel.resolve(X, subsets), width)

    def restrict(self, axes: Axes) -> Kernel:
        return Smoothed(self.kernel.restrict(axes), self.width)

    def axis(self, i: int) -> Axis:
        return SmoothedAxis(self.kernel.axis(i), self.width)

    def groups(self, d: int) -> list[Group]:
        inner = self.kernel.groups(d)
        if len(inner) == 1 and inner[0].kernel is self.kernel:
            return super().groups(d)
        return [Group(g.axes, Smoothed(g.kernel, self.width), g.weight) for g in inner]

    def subgaussian(self, d: int) -> float:
        # f(w) exp(-width^2 w^2 / 2) is tilted most when f * Gaussian peaks at zero, as it does
        # for symmetric unimodal f: then b = 1 / width, or better if f is subgaussian itself.
        if isinstance(self.kernel, Spectral):
            return np.inf
        inner = self.kernel.subgaussian(d)
        if isinstance(self.kernel, Gaussian):
            return float(1 / np.hypot(1 / inner, self.width))
        return 1.0 / self.width

    def introduced_error(self, diameter: float, d: int = 1) -> float:
        """The largest |kernel - smoothed| over gaps of up to `diameter` on each of `d` axes.

        Seen on a fine mesh of one axis, times d: for a product, errors at most add up.
        """
        gap = np.linspace(0.0, check_positive("diameter", diameter), 2001)
        per_axis = [
            np.abs(self.axis(i).profile(gap) - self.kernel.axis(i).profile(gap)).max()
            for i in range(d)
        ]
        return float(min(1.0, sum(per_axis)))


class SmoothedAxis(Kernel):
    """One axis of `Smoothed`."""

    def __init__(self, base: Axis, width: float) -> None:
        self.base = base
        self.width = width
        self._transform = rules.CosineTransform(self._damped)
        self._mass = float(self._transform(np.zeros(1))[0])

    def _damped(self, omega: Floats) -> Floats:
        return self.base.density(omega) * np.exp(-((self.width * omega) ** 2) / 2)

    def density(self, omega: Floats) -> Floats:
        return self._damped(omega) / self._mass

    def profile(self, gap: Floats) -> Floats:
        return self._transform(gap) / self._mass


class Sum(Kernel):
    """left + right: the groups of both."""

    def __init__(self, left: Kernel, right: Kernel) -> None:
        self.left = left
        self.right = right

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        return type(self)(self.left.resolve(X, subsets), self.right.resolve(X, subsets))

    def restrict(self, axes: Axes) -> Kernel:
        return Sum(self.left.restrict(axes), self.right.restrict(axes))

    def groups(self, d: int) -> list[Group]:
        return self.left.groups(d) + self.right.groups(d)

    def subgaussian(self, d: int) -> float:
        return max(self.left.subgaussian(d), self.right.subgaussian(d))

    def axis(self, i: int) -> Axis:
        raise ValueError("a sum of kernels does not factor over axes; ask its groups")


class Scaled(Kernel):
    """factor * kernel, so that k(0) = factor * kernel(0)."""

    def __init__(self, kernel: Kernel, factor: Any) -> None:
        self.kernel = kernel
        self.factor = factor

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        factor = check_positive("factor", self.factor, example="0.5")
        return type(self)(self.kernel.resolve(X, subsets), factor)

    def restrict(self, axes: Axes) -> Kernel:
        return Scaled(self.kernel.restrict(axes), self.factor)

    def groups(self, d: int) -> list[Group]:
        return [g._replace(weight=self.factor * g.weight) for g in self.kernel.groups(d)]

    def subgaussian(self, d: int) -> float:
        return self.kernel.subgaussian(d)

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
        found = [
            placed.kernel.axis(int(np.flatnonzero(placed.axes == i)[0]))
            for placed in (self.left, self.right)
            if i in placed.axes
        ]
        return found[0] if len(found) == 1 else ProductAxis(*found)

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
    """The product of two kernels of one axis."""

    def __init__(self, left: Axis, right: Axis) -> None:
        self.left = left
        self.right = right
        self._transform = rules.CosineTransform(self.profile)

    @property
    def moments(self) -> float:  # type: ignore[override]  # a constant for the other kernels
        return min(self.left.moments, self.right.moments)

    def profile(self, gap: Floats) -> Floats:
        return self.left.profile(gap) * self.right.profile(gap)

    def density(self, omega: Floats) -> Floats:
        return np.maximum(self._transform(omega) / (2 * np.pi), 0.0)

    def gauss(self, n: int) -> Rule:
        # The sums of the nodes of two n-point Gauss rules have all moments below 2n right, so
        # the Gauss rule of that discrete measure is the Gauss rule of the convolution.
        left, right = self.left.gauss(n), self.right.gauss(n)
        nodes = np.add.outer(left.nodes[:, 0], right.nodes[:, 0]).ravel()
        return rules.discrete_gauss(nodes, np.outer(left.weights, right.weights).ravel(), n)


class AxisKernels(Kernel):
    """The product of a different one-dimensional kernel for each axis."""

    def __init__(self, kernels: Sequence[Kernel]) -> None:
        self.kernels = kernels

    def axis(self, i: int) -> Axis:
        return self.kernels[i].axis(0)

    def subgaussian(self, d: int) -> float:
        return max(kernel.subgaussian(1) for kernel in self.kernels)


# --- sums over groups of axes --------------------------------------------------------------------
class _SubsetKernel(Kernel):
    """A weighted sum of one base kernel over subsets of the axes."""

    base: Any

    def _subsets(self) -> list[Axes]:
        raise NotImplementedError

    def _weights(self) -> Floats:
        return np.ones(self.size)

    @property
    def rank(self) -> int:
        """The size of the largest subset (the paper's r)."""
        return max(len(subset) for subset in self._subsets())

    @property
    def degree(self) -> int:
        """In how many subsets the busiest axis is (the paper's Delta)."""
        return int(np.unique(np.concatenate(self._subsets()), return_counts=True)[1].max())

    @property
    def size(self) -> int:
        """The number of subsets (the paper's m)."""
        return len(self._subsets())

    def groups(self, d: int) -> list[Group]:
        groups = []
        for axes, weight in zip(self._subsets(), self._weights(), strict=True):
            if isinstance(self.base, Kernel):
                inner = self.base.restrict(axes).groups(len(axes))
            else:
                kernel = AxisKernels([self.base[i] for i in axes])
                inner = [Group(np.arange(len(axes)), kernel, 1.0)]
            groups += [Group(axes[g.axes], g.kernel, float(weight * g.weight)) for g in inner]
        return groups

    def subgaussian(self, d: int) -> float:
        return max(group.kernel.subgaussian(len(group.axes)) for group in self.groups(d))

    def axis(self, i: int) -> Axis:
        raise ValueError("a sum over subsets of axes does not factor over axes; ask its groups")


class Anova(_SubsetKernel):
    """The paper's sparse ANOVA kernel: sum over subsets S of prod_{i in S} k1(x_i - y_i).

    k(x, x) is the sum of the weights, by default the number of subsets.

    Parameters
    ----------
    base : Kernel or list of one Kernel per axis
        The kernel of each subset. "scale" and "median" look at the subsets' own axes and give one
        gamma for all of them.
    subsets : sequence of sequences of column numbers
    weights : sequence of positive numbers, one per subset; default all 1

    Examples
    --------
    >>> kernel = Anova(Gaussian(1.0), [[0, 1], [1, 2]])
    >>> kernel([[0.0, 0.0, 0.0]])
    array([[2.]])
    >>> kernel.rank, kernel.degree, kernel.size
    (2, 2, 2)
    """

    def __init__(self, base: Any, subsets: Any, weights: Any = None) -> None:
        self.base = base
        self.subsets = subsets
        self.weights = weights

    @classmethod
    def random(
        cls,
        n_features: int,
        n_subsets: int,
        size: int,
        random_state: Any = None,
        *,
        base: Kernel | None = None,
    ) -> Anova:
        """`n_subsets` distinct random subsets of `size` of `n_features` axes, as in the paper."""
        if not 1 <= size <= n_features:
            raise ValueError(f"size must be between 1 and n_features={n_features}, got {size}")
        if not 1 <= n_subsets <= comb(n_features, size):
            raise ValueError(
                f"n_subsets must be between 1 and {comb(n_features, size)}, the number of subsets "
                f"of {size} of {n_features} axes, got {n_subsets}"
            )
        rng = check_random_state(random_state)
        found: dict[tuple[int, ...], None] = {}
        while len(found) < n_subsets:
            found[tuple(sorted(rng.choice(n_features, size=size, replace=False).tolist()))] = None
        return cls(Gaussian("scale") if base is None else base, [list(s) for s in found])

    def _subsets(self) -> list[Axes]:
        return [np.asarray(subset, dtype=np.intp) for subset in self.subsets]

    def _weights(self) -> Floats:
        if self.weights is None:
            return super()._weights()
        return np.array([check_positive("weights", weight) for weight in self.weights])

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        d = X.shape[1]
        own = self._subsets()
        _check_subsets(own, d)
        if len(self._weights()) != len(own):
            raise ValueError(f"weights has {len(self.weights)} values for {len(own)} subsets")
        if isinstance(self.base, Kernel):
            return type(self)(self.base.resolve(X, own), self.subsets, self.weights)
        if not isinstance(self.base, Sequence) or isinstance(self.base, str):
            raise TypeError(f"base must be a Kernel such as Gaussian(1.0), got {self.base!r}")
        if len(self.base) != d:
            raise ValueError(
                f"base has {len(self.base)} kernels and X has {d} columns; give one kernel, "
                f"or one per column"
            )
        base = [kernel.resolve(X[:, i : i + 1]) for i, kernel in enumerate(self.base)]
        return type(self)(base, self.subsets, self.weights)


def _check_subsets(subsets: list[Axes], d: int) -> None:
    if not subsets:
        raise ValueError("subsets is empty; give at least one subset such as [0]")
    seen = set()
    for subset in subsets:
        if subset.ndim != 1 or len(subset) == 0:
            raise ValueError(f"subsets has an empty one, {subset.tolist()}; [0] would work")
        if subset.min() < 0 or subset.max() >= d:
            raise ValueError(
                f"subsets has {subset.tolist()}, but X has {d} columns: axes go from 0 to {d - 1}"
            )
        if len(np.unique(subset)) < len(subset):
            raise ValueError(f"subsets has {subset.tolist()}, which repeats an axis")
        key = tuple(np.sort(subset).tolist())
        if key in seen:
            raise ValueError(f"subsets has {subset.tolist()} twice; use weights instead")
        seen.add(key)


class Convolution(_SubsetKernel):
    """One sub-kernel per window of a series, an image or an image with channels.

    `shape` is (length,), (height, width) or (height, width, channels); X has one column per entry,
    in C order. `window` and `stride` are one number, or one per direction. `base` defaults to
    `Gaussian("scale")` on the windows' own axes.

    >>> Convolution((28, 28), 5).size
    576
    """

    def __init__(
        self, shape: Any, window: Any, stride: Any = 1, base: Kernel | None = None
    ) -> None:
        self.shape = shape
        self.window = window
        self.stride = stride
        self.base = base

    def _subsets(self) -> list[Axes]:
        shape, window, stride = self._geometry()
        plane = shape[:2]
        index = np.arange(int(np.prod(shape))).reshape(*plane, -1)
        starts = [range(0, n - w + 1, s) for n, w, s in zip(plane, window, stride, strict=True)]
        return [
            index[tuple(slice(a, a + w) for a, w in zip(corner, window, strict=True))].ravel()
            for corner in product(*starts)
        ]

    def _geometry(self) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]]:
        """shape, and window and stride with one number per direction; checked."""
        shape = tuple(np.atleast_1d(self.shape).tolist())
        if not 1 <= len(shape) <= 3 or not all(isinstance(n, int) and n > 0 for n in shape):
            raise ValueError(
                f"shape must be (length,), (height, width) or (height, width, channels), "
                f"got {self.shape!r}"
            )
        directions = min(len(shape), 2)
        both = []
        for name, value in (("window", self.window), ("stride", self.stride)):
            numbers = tuple(np.atleast_1d(value).tolist())
            numbers = numbers * directions if len(numbers) == 1 else numbers
            if len(numbers) != directions or not all(isinstance(n, int) and n > 0 for n in numbers):
                raise ValueError(
                    f"{name} must be a positive whole number or {directions} of them, got {value!r}"
                )
            both.append(numbers)
        window, stride = both
        if any(w > n for w, n in zip(window, shape[:2], strict=True)):
            raise ValueError(f"window={self.window!r} does not fit into shape={self.shape!r}")
        return shape, window, stride

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        shape, _, _ = self._geometry()
        if int(np.prod(shape)) != X.shape[1]:
            raise ValueError(
                f"shape={self.shape!r} means {int(np.prod(shape))} columns, but X has {X.shape[1]}"
            )
        base = Gaussian("scale") if self.base is None else self.base
        if not isinstance(base, Kernel):
            raise TypeError(f"base must be a Kernel such as Gaussian(0.1), got {base!r}")
        resolved = base.resolve(X, self._subsets())
        return type(self)(self.shape, self.window, self.stride, resolved)
