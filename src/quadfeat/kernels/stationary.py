"""Kernels by their formula: Gaussian, Laplacian, Cauchy, Matern."""

from __future__ import annotations

from math import e, factorial, prod
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy import special, stats
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone

from .._checks import check_positive
from .._errors import NotSeparable
from .._typing import Axes, Floats, Subsets
from ..rules import gauss
from ..rules.rule import Axis, Rule
from .base import MOST_DERIVATIVES, Kernel, Stored


class _GammaKernel(Kernel):
    """A kernel whose scale is `gamma`: a number, one per axis, "scale" or "median"."""

    stored: ClassVar[Stored] = {"gamma": "gamma"}
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
        """As scikit-learn: 1 / (columns * variance), averaged over subsets."""
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
        sample = rng.choice(len(subsets), size=min(len(subsets), 16), replace=False)
        distance = np.concatenate([pdist(rows[:, subsets[i]], self._metric) for i in sample])
        if not np.isfinite(distance).all():
            raise ValueError("gamma='median' needs distances that do not overflow; standardise X")
        if not distance.any() and (rows != rows[0]).any():
            raise ValueError("gamma='median' needs distances that do not underflow; standardise X")
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

    @property
    def unimodal(self) -> bool:
        return True

    @property
    def decreasing(self) -> bool:
        return True

    @property
    def noise(self) -> float:
        return 0.0

    def _columns(self, X: Floats) -> Floats:
        """A copy of X in length scales, for the vectorised Gram matrices."""
        root = np.sqrt(self.gamma) if self._metric == "sqeuclidean" else np.asarray(self.gamma)
        return X * root


def _check_gamma(gamma: Any) -> float:
    """`gamma` as a positive float whose square neither overflows nor underflows."""
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

    Attributes
    ----------
    moments : float, inf: every moment of the spectrum is finite
    rotation_invariant : bool, True, up to a scale per axis

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
        rule = gauss.gauss_hermite(n)
        return Rule(np.sqrt(2 * self.gamma) * rule.nodes, rule.weights)

    def sample(self, n: int, d: int, rng: np.random.Generator) -> Floats:
        return rng.standard_normal((n, d)) * np.sqrt(2 * np.asarray(self.gamma))

    def spectral_moments(self) -> Floats:
        n = np.arange(0, MOST_DERIVATIVES + 1, 2)
        row = np.zeros(MOST_DERIVATIVES + 1)
        row[::2] = [prod(range(1, p, 2)) * (2 * float(self.gamma)) ** (p / 2) for p in n]
        return row

    def subgaussian(self, d: int) -> float:
        return float(np.sqrt(2 * np.max(self.gamma)))

    def gaussian_scale(self, d: int) -> Floats | None:
        return np.sqrt(np.broadcast_to(np.asarray(self.gamma, dtype=np.float64), (d,)))

    @property
    def rotation_invariant(self) -> bool:
        return True

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        square, near = _squared_distances(self._columns(X), self._columns(Y))
        if not near.all():
            square[~near] = cdist(self._columns(X[~near]), self._columns(Y), "sqeuclidean")
        np.negative(square, out=square)
        return np.exp(square, out=square)

    def group_at(self, gaps: Floats) -> Floats:
        return np.exp(-np.einsum("ij,ij->i", self._columns(gaps), self._columns(gaps)))


_NEAR = 16.0  # squared length scales


def _squared_distances(X: Floats, Y: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """|x - y|^2 for rows in length scales, (n, m), and which rows of X it is right for.

    |x|^2 + |y|^2 - 2 x . y is one matrix product, many times faster than differences, but rounds
    like the lengths: by about 1e-14 for rows of X near the mean of Y, where exp(-|x - y|^2) is not
    small. X and Y are overwritten: copying wide rows takes as long as the product.
    """
    with np.errstate(over="ignore", invalid="ignore"):
        centre = Y.mean(axis=0)
        X -= centre
        Y -= centre
        x_square, y_square = np.einsum("ij,ij->i", X, X), np.einsum("ij,ij->i", Y, Y)
        square = X @ (-2.0 * Y.T)
        square += x_square[:, None]
        square += y_square
    np.maximum(square, 0.0, out=square)
    square[:, np.isinf(y_square)] = np.inf  # not the NaN of inf - inf
    return square, x_square <= _NEAR


class Laplacian(_GammaKernel):
    """exp(-gamma |u|_1), with a Cauchy spectrum on each axis: no moments, so no Gauss rule.

    Parameters
    ----------
    gamma : float, array of one per axis, "scale" or "median"
        "scale" is 1 / (n_features * X.std()), "median" the inverse median distance, both in |.|_1.

    Attributes
    ----------
    moments : float, 1: the spectrum has no second moment
    rotation_invariant : bool, False
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

    def derivative_bounds(self) -> Floats:
        return np.asarray(float(self.gamma) ** np.arange(MOST_DERIVATIVES + 1))

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        return np.exp(-cdist(self._columns(X), self._columns(Y), "cityblock"))


class Cauchy(_GammaKernel):
    """prod_i 1 / (1 + gamma u_i^2), with a Laplace spectrum on each axis: all moments exist.

    Parameters
    ----------
    gamma : float, array of one per axis, "scale" or "median", as of `Gaussian`

    Attributes
    ----------
    moments : float, inf: every moment of the spectrum is finite
    rotation_invariant : bool, False
    """

    def __init__(self, gamma: Any = 1.0) -> None:
        self.gamma = gamma

    def profile(self, gap: Floats) -> Floats:
        return 1.0 / (1.0 + self.gamma * gap**2)

    def density(self, omega: Floats) -> Floats:
        scale = np.sqrt(self.gamma)
        return np.exp(-np.abs(omega) / scale) / (2 * scale)

    def quantile(self, q: Floats) -> Floats:
        return np.sqrt(self.gamma) * stats.laplace.ppf(q)

    def spectral_moments(self) -> Floats:
        row = np.zeros(MOST_DERIVATIVES + 1)
        n = np.arange(0, MOST_DERIVATIVES + 1, 2)
        row[::2] = [factorial(p) * float(self.gamma) ** (p / 2) for p in n]
        return row


class Matern(_GammaKernel):
    """The Matern kernel of smoothness `nu` and length scale 1 / sqrt(2 gamma).

    Isotropic (`product=False`) it depends on |u|, and its spectrum is the multivariate Student t
    with 2 nu degrees of freedom: it does not factor over axes, so it has no grid. The product of
    one-dimensional ones (`product=True`) is another kernel, and has. nu=0.5 is the exponential
    kernel; as nu grows both tend to `Gaussian(gamma)`.

    Parameters
    ----------
    nu : float, the smoothness; 0.5, 1.5 and 2.5 have closed forms
    gamma : float, array of one per axis, "scale" or "median", as of `Gaussian`
    product : bool, the product of one-dimensional kernels instead of the isotropic one

    Attributes
    ----------
    moments : float, 2 nu
    rotation_invariant : bool, whether it is the isotropic kernel
    """

    stored: ClassVar[Stored] = {"nu": "positive", "gamma": "gamma", "product": "flag"}

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
            raise NotSeparable(
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
    def noise(self) -> float:
        if self.nu in (0.5, 1.5, 2.5):
            return 0.0
        return 1e-13 if self.nu <= 20 else np.inf

    def derivative_bounds(self) -> Floats:
        if self.nu not in (0.5, 1.5, 2.5):
            return super().derivative_bounds()
        p = np.arange(MOST_DERIVATIVES + 1)
        rate = np.sqrt(4 * self.nu * float(self.gamma)) ** p
        if self.nu == 0.5:
            return np.asarray(rate)
        if self.nu == 1.5:  # |s + 1 - p| exp(-s)
            return np.asarray(rate * np.maximum(1, p - 1))
        # |1 + s + s^2 / 3 - p (1 + 2 s / 3) + p (p - 1) / 3| exp(-s)
        constant, linear = 1 - p + p * (p - 1) / 3, 1 - 2 * p / 3
        return np.asarray(rate * (np.abs(constant) + np.abs(linear) / e + 4 / (3 * e**2)))

    def bends(self, d: int) -> Floats | None:
        if self.product:
            return super().bends(d)
        if self.nu <= 1:
            return None
        return np.broadcast_to(2 * np.asarray(self.gamma) * self.nu / (self.nu - 1), (d,))

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

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        if self.product:
            return super().group_gram(X, Y)
        root = np.sqrt(2.0)
        return _matern(root * cdist(self._columns(X), self._columns(Y)), float(self.nu))

    def group_at(self, gaps: Floats) -> Floats:
        if self.product:
            return super().group_at(gaps)
        return _matern(np.sqrt(2.0) * np.linalg.norm(self._columns(gaps), axis=1), float(self.nu))


def _matern(distance: Floats, nu: float) -> Floats:
    """The Matern kernel of unit length scale at a distance."""
    # Far out the kernel is zero, but a factor of it overflows; for nu so large that it is not zero
    # there, the Bessel function below overflows.
    t = np.minimum(np.sqrt(2 * nu) * distance, 1e4)
    if nu == 0.5:
        return np.exp(-t)
    if nu == 1.5:
        return (1 + t) * np.exp(-t)
    if nu == 2.5:
        return (1 + t + t**2 / 3) * np.exp(-t)
    # SciPy's Bessel functions are for doubles.
    distance, t = distance.astype(np.float64), t.astype(np.float64)
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        log = (1 - nu) * np.log(2) - special.gammaln(nu) + nu * np.log(t)
        value = np.exp(log - t) * special.kve(nu, t)
        # For large nu and small t the Bessel function overflows where the kernel is near 1 or
        # given by its limit in nu, whose error is of order 1 / nu.
        value = np.where(np.isfinite(value), value, np.exp(-(distance**2) / 2))
    return np.where(t < 1e-8, 1.0, value)
