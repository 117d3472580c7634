"""Kernels by their formula on one axis, or by their spectrum: k(0) = 1, one group of axes."""

from __future__ import annotations

from numbers import Real
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy import special, stats
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone

from . import rules
from ._checks import check_positive
from ._kernel import Axes, Group, Kernel, ProductAxis, Subsets
from ._panels import search
from .rules import Axis, Floats, Rule


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

    def _columns(self, X: Floats) -> Floats:
        """A copy of X in length scales, for the vectorised Gram matrices."""
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
        square, near = _squared_distances(self._columns(X), self._columns(Y))
        if not near.all():
            square[~near] = cdist(self._columns(X[~near]), self._columns(Y), "sqeuclidean")
        np.negative(square, out=square)
        return np.exp(square, out=square)

    def _at(self, gaps: Floats) -> Floats:
        return np.exp(-np.einsum("ij,ij->i", self._columns(gaps), self._columns(gaps)))


_NEAR = 16.0  # squared length scales


def _squared_distances(X: Floats, Y: Floats) -> tuple[Floats, npt.NDArray[np.bool_]]:
    """|x - y|^2 for rows in length scales, (n, m), and which rows of X it is right for.

    |x|^2 + |y|^2 - 2 x . y is one matrix product, many times faster than differences, but it has
    the rounding of the lengths: about 1e-14 for rows of X near the mean of Y, where exp(-it) can be
    seen. X and Y are overwritten, because copies of wide rows take as long as the product.
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
    square[:, np.isinf(y_square)] = np.inf  # and not the difference of two infinities
    return square, x_square <= _NEAR


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


# --- made of other kernels ---------------------------------------------------------------------
class Spectral(Kernel):
    """The product kernel of your own spectrum: `density`, an even function of frequency.

    The kernel is its cosine transform, found numerically to about 1e-13. To find all of it, the
    density is searched for peaks; its mass over the real line must be 1, which tells whether any
    was missed.

    Parameters
    ----------
    density : function of an array of frequencies
    peaks : sequence of float, default None
        Frequencies at which the density is narrow. A peak is found without that unless it is
        thousands of times narrower than the frequency it is at.

    Examples
    --------
    >>> box = Spectral(lambda omega: 0.5 * (np.abs(omega) < 1))
    >>> box([[0.0]], [[np.pi]]).round(6) + 0.0  # sin(u) / u
    array([[0.]])
    """

    def __init__(self, density: Any, peaks: Any = None) -> None:
        self.density = density  # type: ignore[method-assign]
        self.peaks = peaks

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        resolved = type(self)(self.density, self.peaks)
        resolved._axis = self._searched()
        return resolved

    def axis(self, i: int) -> Axis:
        return getattr(self, "_axis", None) or self._searched()

    def _searched(self) -> SpectralAxis:
        return SpectralAxis(self.density, self.peaks)


class SpectralAxis(Kernel):
    """One axis of `Spectral`, searched."""

    def __init__(self, raw: Any, peaks: Any = None) -> None:
        self.raw = raw
        self.peaks = peaks
        if not callable(raw):
            raise TypeError(f"density must be a function of an array of frequencies, got {raw!r}")
        trial = self._raw(np.array([-1.25, 1.25, 0.0]))
        if abs(trial[0] - trial[1]) > 1e-12 * abs(trial[1]):
            raise ValueError(
                f"density must be even, got {trial[0]} at -1.25 and {trial[1]} at 1.25"
            )
        named = _check_peaks(peaks)
        ends = np.array([2.0**-60, 2.0**63])
        if np.any(self._raw(ends) * ends > rules.MASS_TOLERANCE):
            raise ValueError(
                "density must have a finite mass, but it grows near 0 or falls far out no faster "
                "than 1 / |omega|, or nearly so; 1 / (pi * (1 + omega**2)) would work"
            )
        found = search(self._raw, named)
        rules.check_mass(found.mass)
        self._mass, self.edges = found.mass, found.edges
        # A mass of 1 - m that was missed moves the kernel by up to 2 m.
        self.uncertainty = 2 * abs(found.mass - 1) + found.error
        self._transform = rules.CosineTransform(self._raw, self.edges)

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.raw, self.peaks)

    def _raw(self, omega: Floats) -> Floats:
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            values = np.asarray(self.raw(omega), dtype=np.float64)
        if values.shape != omega.shape or not np.all(values >= 0):
            seen = repr(values)
            if values.shape == omega.shape:
                first = np.argmin(values >= 0)
                seen = f"{values[first]} at {omega[first]:g}"
            raise ValueError(
                f"density must map an array of frequencies to as many non-negative numbers, "
                f"got {seen}"
            )
        return values

    def density(self, omega: Floats) -> Floats:
        return self._raw(omega) / self._mass

    def profile(self, gap: Floats) -> Floats:
        return self._transform(gap) / self._mass


def _check_peaks(peaks: Any) -> list[float]:
    given = [] if peaks is None else peaks
    if isinstance(given, str) or not np.iterable(given):
        raise TypeError(f"peaks must be a list of frequencies such as [20.0], got {peaks!r}")
    numbers = list(given)
    if any(isinstance(p, bool) or not isinstance(p, Real) for p in numbers):
        raise TypeError(f"peaks must be a list of frequencies such as [20.0], got {peaks!r}")
    if not all(abs(p) < np.inf for p in numbers):
        raise ValueError(f"peaks must be finite frequencies such as [20.0], got {peaks!r}")
    return [abs(float(p)) for p in numbers if p]  # there is a panel edge at 0 anyway


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
        # With g = N(0, 1 / width^2), E exp(t w) is exp(t^2 / (2 width^2)) times the ratio of f * g
        # at t / width^2 to f * g at 0. Where f falls with |w| so does f * g (Wintner, 1938), and
        # the ratio is at most 1; where f has two peaks it may be anything.
        if isinstance(self.kernel, Gaussian):
            return float(1 / np.hypot(1 / self.kernel.subgaussian(d), self.width))
        return 1.0 / self.width if self.kernel.unimodal else np.inf

    @property
    def unimodal(self) -> bool:
        return self.kernel.unimodal

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


_GONE = 38.7  # exp(-w^2 / 2) is 0 in doubles
_LEAST = 1e-4  # of a spectrum that has an error of 1e-16, so that what is left has one of 1e-12


class SmoothedAxis(Kernel):
    """One axis of `Smoothed`."""

    def __init__(self, base: Axis, width: float) -> None:
        self.base = base
        self.width = width
        if isinstance(base, Kernel) and not (base.unimodal or isinstance(base, ProductAxis)):
            # What is left of the spectrum may have any mass; all of it must have mass 1.
            whole = rules.CosineTransform(base.density, base.edges)(np.zeros(1))
            rules.check_mass(float(whole[0]))
        # exp(-width^2 w^2 / 2) is no number beyond: octaves up to there hold all there is.
        octaves = _GONE / width * 2.0 ** -np.arange(40.0)
        self.edges = np.union1d(base.edges[base.edges < octaves[0]], np.append(octaves, 0.0))
        self._transform = rules.CosineTransform(self._damped, self.edges)
        self._mass = float(self._transform(np.zeros(1))[0])
        if isinstance(base, ProductAxis) and self._mass < _LEAST:
            raise ValueError(
                f"width={width} leaves {self._mass:.2g} of the spectrum of a product, which is "
                f"known to rounding only; a smaller width, or smoothing its factors, will do"
            )

    def _damped(self, omega: Floats) -> Floats:
        return self.base.density(omega) * np.exp(-((self.width * omega) ** 2) / 2)

    def density(self, omega: Floats) -> Floats:
        return self._damped(omega) / self._mass

    def profile(self, gap: Floats) -> Floats:
        return self._transform(gap) / self._mass
