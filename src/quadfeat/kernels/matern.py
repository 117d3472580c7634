"""The Matern kernel, isotropic and as a product over axes."""

from __future__ import annotations

from collections.abc import Iterator
from math import e
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special, stats
from scipy.spatial.distance import cdist

from .._checks import check_flag, check_positive
from .._errors import NotSeparable
from .._typing import Floats, Subsets
from ..rules.rule import Axis
from .base import MOST_DERIVATIVES, Stored
from .radial import pair_blocks, radial_slope
from .stationary import GammaKernel, square_slopes


class Matern(GammaKernel):
    """The Matern kernel of smoothness `nu` and length scale 1 / sqrt(2 gamma).

    Isotropic (`product=False`) it depends on |u|, and its spectrum is the multivariate Student t
    with 2 nu degrees of freedom: it does not factor over axes, so it has no tensor grid, but in up
    to 3 axes a lattice, DenseGrid(rule="equispaced"). The product of one-dimensional ones
    (`product=True`) is another kernel, and has grids. nu=0.5 is the exponential
    kernel; as nu grows both tend to `Gaussian(gamma)`.

    Parameters
    ----------
    nu : float, the smoothness; 0.5, 1.5 and 2.5 have closed forms
    gamma : float, array of one per axis, or a word, as in `Gaussian`
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
        check_flag("product", self.product)
        check_positive("nu", self.nu, example="1.5")
        return super().resolve(X, subsets)

    def axis(self, i: int) -> Axis:
        if not self.product:
            raise NotSeparable(
                "the isotropic Matern kernel does not factor over axes, so it has no tensor grid; "
                "use Matern(nu, gamma, product=True), DenseGrid(rule='equispaced') in up to 3 "
                "axes, or RandomFourier, QuasiRandomFourier or OrthogonalFourier"
            )
        return super().axis(i)

    def profile(self, gap: Floats) -> Floats:
        return matern(np.sqrt(2 * self.gamma) * np.abs(gap), float(self.nu))

    def relative_slope(self, gap: Floats) -> Floats:
        scale = np.sqrt(2 * self.gamma)
        slope = matern_relative_slope(scale * np.abs(gap), float(self.nu))
        return scale * np.sign(gap) * slope

    def density(self, omega: Floats) -> Floats:
        scale = np.sqrt(2 * self.gamma)
        return np.asarray(stats.t.pdf(omega / scale, df=2 * self.nu)) / scale

    def frequency_scales(self, d: int) -> Floats:
        """Inverses of the length scales, (d,)."""
        return np.sqrt(2 * np.broadcast_to(np.asarray(self.gamma, dtype=np.float64), (d,)))

    def joint_density(self, omega: Floats) -> Floats:
        """The spectral density of the isotropic kernel at frequencies (n, d): Student's t, (n,)."""
        d, nu = omega.shape[1], float(self.nu)
        scales = self.frequency_scales(d)
        square = np.square(omega / scales).sum(axis=1)
        log = special.gammaln(nu + d / 2) - special.gammaln(nu) - d / 2 * np.log(2 * np.pi * nu)
        return np.exp(log - (nu + d / 2) * np.log1p(square / (2 * nu))) / scales.prod()

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
        # One chi-square for all axes of a draw makes it isotropic.
        chi = stats.chi2.ppf(U[:, -1:], df=2 * self.nu)
        normal = special.ndtri(U[:, :-1]) * np.sqrt(2 * np.asarray(self.gamma))
        return normal * np.sqrt(2 * self.nu / np.maximum(chi, np.finfo(float).tiny))

    def length_slopes(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        if self.product and self.nu in (0.5, 1.5, 2.5):
            root = np.sqrt(4 * self.nu * np.broadcast_to(self.gamma, X.shape[1:]))
            return product_length_slopes(X * root, Y * root, weights, float(self.nu))
        if self.product:
            return super().length_slopes(X, Y, weights)
        X, Y = (np.sqrt(2.0) * self._columns(rows) for rows in (X, Y))
        r = cdist(X, Y)
        slope = matern_relative_slope(r, float(self.nu))
        slope = np.divide(slope, r, out=np.zeros_like(r), where=r > 0)
        return square_slopes(X, Y, weights * slope)

    def _log_slope(self, gap: Floats, gamma: float) -> Floats:
        gap *= np.sqrt(2 * gamma)
        return gap * matern_relative_slope(gap, float(self.nu))

    def pair_form(self, d: int) -> tuple[str, Floats] | None:
        if self.nu not in (0.5, 1.5, 2.5):
            return None
        name = f"product of matern {self.nu}" if self.product else f"matern {self.nu}"
        scale = np.sqrt(4 * self.nu * np.broadcast_to(self.gamma, d))
        return ("laplacian" if self.product and self.nu == 0.5 else name), scale

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        if self.product and self.nu in (0.5, 1.5, 2.5):
            # One exponential for all axes instead of one for each.
            root = np.sqrt(4 * self.nu * np.broadcast_to(self.gamma, X.shape[1:]))
            return matern_product(X * root, Y * root, float(self.nu))
        if self.product:
            return super().group_gram(X, Y)
        root = np.sqrt(2.0)
        return matern(root * cdist(self._columns(X), self._columns(Y)), float(self.nu))

    def group_derivatives(self, X: Floats, Y: Floats) -> Iterator[Floats]:
        if self.product:
            yield from super().group_derivatives(X, Y)
            return
        slope = self._slope_over_distance(X, Y)
        for i, gamma in enumerate(np.broadcast_to(self.gamma, X.shape[1])):
            yield 2 * gamma * (X[:, i, None] - Y[:, i]) * slope

    def group_slope(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        if self.product:
            return super().group_slope(X, Y, weights)
        return 2 * self.gamma * radial_slope(self._slope_over_distance, X, Y, weights)

    def _slope_over_distance(self, X: Floats, Y: Floats) -> Floats:
        """k'(r) / r for the distances r of rows, (n, m), in length scales; 0 for r = 0."""
        r = np.sqrt(2.0) * cdist(self._columns(X), self._columns(Y))
        slope = matern(r, float(self.nu)) * matern_relative_slope(r, float(self.nu))
        return np.divide(slope, r, out=np.zeros_like(r), where=r > 0)

    def group_at(self, gaps: Floats) -> Floats:
        if self.product:
            return super().group_at(gaps)
        return matern(np.sqrt(2.0) * np.linalg.norm(self._columns(gaps), axis=1), float(self.nu))


def matern(distance: Floats, nu: float) -> Floats:
    """The Matern kernel of unit length scale at a distance."""
    # Far out the kernel is zero, but one of its factors overflows; if nu is so large that it is not
    # zero there, the Bessel function below overflows.
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
        # For large nu and small t the Bessel function overflows; there the kernel is near 1, or
        # close to its limit in nu, with an error of order 1 / nu.
        value = np.where(np.isfinite(value), value, np.exp(-(distance**2) / 2))
    return np.where(t < 1e-8, 1.0, value)


def matern_relative_slope(distance: Floats, nu: float) -> Floats:
    """k'(r) / k(r) of the Matern kernel of unit length scale at distances r > 0.

    With t = sqrt(2 nu) r, k is a multiple of t^nu K_nu(t), whose derivative is -t^nu K_{nu-1}(t).
    """
    rate = np.sqrt(2 * nu)
    t = np.minimum(rate * distance, 1e4)  # beyond, the kernel is 0
    if nu == 0.5:
        return np.full_like(t, -rate)
    if nu == 1.5:
        return -rate * (t / (1 + t))
    if nu == 2.5:
        return -rate * (t * (1 + t) / (3 + 3 * t + t**2))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
        # Near 0 and for large nu Bessel functions overflow; the limit in nu replaces the kernel.
        below, bessel = special.kve(nu - 1, t), special.kve(nu, t)
        return np.where(np.isfinite(bessel), -rate * below / bessel, -distance)


def matern_product(X: Floats, Y: Floats, nu: float) -> Floats:
    """The product of Matern kernels of nu = 1/2, 3/2 or 5/2, rows in units of sqrt(2 nu) scales."""
    gram = np.empty((len(X), len(Y)))
    columns = np.ascontiguousarray(Y.T)
    for rows in pair_blocks(X, Y):
        total = cdist(X[rows], Y, "cityblock")
        factor = gram[rows]
        np.exp(-total, out=factor)
        if nu == 0.5:
            continue
        t, term = np.empty_like(total), np.empty_like(total)
        with np.errstate(over="ignore", invalid="ignore"):
            for column, y in zip(X[rows].T, columns, strict=True):
                np.subtract(column[:, None], y, out=t)
                np.abs(t, out=t)
                if nu == 2.5:
                    np.multiply(t, 1 / 3, out=term)
                    term += 1
                    t *= term
                t += 1
                factor *= t
        factor[total > 700] = 0.0  # below 1e-290, where the polynomial may have overflowed
    return gram


def product_length_slopes(X: Floats, Y: Floats, weights: Floats, nu: float) -> Floats:
    """`GammaKernel.length_slopes` of `matern_product`: half the passes over pairs of rows.

    t k'(t) / k(t) is -t^2 / (1 + t) for nu = 3/2, -t^2 / (t + 2 + 1 / (1 + t)) for nu = 5/2.
    """
    slopes = np.zeros(X.shape[1])
    columns = np.ascontiguousarray(Y.T)
    for rows in pair_blocks(X, Y):
        some = weights[rows]
        t, below = np.empty_like(some), np.empty_like(some)
        for i, (column, y) in enumerate(zip(X[rows].T, columns, strict=True)):
            np.subtract(column[:, None], y, out=t)
            np.abs(t, out=t)
            if nu > 0.5:
                np.add(t, 1, out=below)
                if nu == 2.5:
                    np.reciprocal(below, out=below)
                    below += 2
                    below += t
                np.divide(t, below, out=below)  # before the square, which may overflow
                t *= below
            slopes[i] -= np.vdot(some, t)
    return slopes
