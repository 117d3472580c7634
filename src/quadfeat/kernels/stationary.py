"""Kernels given by a formula: Gaussian, Laplacian, Cauchy; and the base of kernels with a scale."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from math import factorial, prod
from typing import Any, ClassVar, Self

import numpy as np
from scipy import special, stats
from scipy.spatial.distance import cdist, pdist
from sklearn.base import clone

from .._checks import axes_of, check_positive
from .._typing import Axes, Floats, Subsets
from ..learning.given import learned_from
from ..numerics.distances import squared_distances
from ..numerics.linear_map import LinearMap
from ..rules import gauss
from ..rules.rule import Axis, Rule
from .base import MOST_DERIVATIVES, Kernel, Stored, WithMetric
from .radial import pair_blocks, radial_slope

LEARNED = ("tuned", "learned")  # words for gamma that need targets


class GammaKernel(Kernel):
    """A kernel whose scale is `gamma`: numbers, or a word for how to get them from data."""

    stored: ClassVar[Stored] = {"gamma": "gamma"}
    gamma: Any
    _metric = "sqeuclidean"  # gamma is the inverse of this distance

    def resolve(self, X: Floats, subsets: Subsets | None = None) -> Self:
        gamma: Any = self.gamma
        if isinstance(gamma, str):
            if gamma in LEARNED:
                raise ValueError(
                    f"gamma={gamma!r} is learned from targets: call fit(X, y) of a map or a model "
                    f"with this kernel, not part of a sum or product; without targets give gamma a "
                    f"number, 'scale' or 'median'"
                )
            if gamma not in ("scale", "median"):
                raise ValueError(
                    f"gamma must be a positive number, one per axis, 'scale', 'median', 'tuned' or "
                    f"'learned', got {gamma!r}"
                )
            subsets = subsets if subsets is not None else [np.arange(X.shape[1])]
            gamma = (self._scale if gamma == "scale" else self._median)(X, subsets)
        elif axes_of("gamma", gamma) == 0:
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
        """As in scikit-learn: 1 / (columns * variance), averaged over subsets."""
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
        single = copy(self)
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

    # --- what learning from targets needs
    @property
    def learns(self) -> bool:
        return isinstance(self.gamma, str) and self.gamma in LEARNED

    def learned(self, X: Any, y: Any) -> Kernel:
        kernel: Kernel = learned_from(self, X, y)
        return kernel

    @property
    def linear(self) -> bool:
        """Whether gamma is an inverse length, not the square of one."""
        return self._metric == "cityblock"

    def with_lengths(self, inverse: Floats | float) -> Self:
        """This kernel with length scales given by their inverses: (d,), or one for all axes.

        |u|^2 / 2 in length scales is gamma |u|^2; for `Laplacian` |u| is gamma |u|.
        """
        scaled = copy(self)
        scaled.gamma = inverse * 1.0 if self.linear else inverse**2 / 2
        return scaled

    def stretched(self, factor: float) -> Self:
        """This kernel with all length scales multiplied by a factor."""
        stretched = copy(self)
        stretched.gamma = self.gamma / (factor if self.linear else factor**2)
        return stretched

    def length_slopes(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        """sum_ab weights_ab d log k(x_a, y_b) / d log(inverse length scale of axis i), (d,).

        If the weights are the Gram matrix times the derivative of a value with respect to its
        entries, the result is the derivative of that value.
        """
        gamma = np.broadcast_to(np.asarray(self.gamma, dtype=np.float64), X.shape[1:])
        slopes = np.zeros(X.shape[1])
        for rows in pair_blocks(X, Y):
            for i, value in enumerate(gamma):
                gap = np.abs(X[rows, i, None] - Y[None, :, i])
                slopes[i] += np.vdot(weights[rows], self._log_slope(gap, value))
        return slopes

    def _log_slope(self, gap: Floats, gamma: float) -> Floats:
        """d log k / d log(1 / length scale) on one axis, at gaps that may be overwritten."""
        raise NotImplementedError

    def relative_slope(self, gap: Floats) -> Floats:
        """(dk/du) / k on one axis; 0 at a kink."""
        raise NotImplementedError

    def profile_slope(self, gap: Floats) -> Floats:
        return self.profile(gap) * self.relative_slope(gap)

    def group_derivatives(self, X: Floats, Y: Floats) -> Iterator[Floats]:
        gram = self.group_gram(X, Y)
        for i in range(X.shape[1]):
            axis = self.axis(i)
            assert isinstance(axis, GammaKernel)
            slope = axis.relative_slope(X[:, i, None] - Y[:, i])
            slope *= gram
            yield slope

    def pair_form(self, d: int) -> tuple[str, Floats] | None:
        """The engine's name for k(x, y), and inverse length scales (d,); None if it has none.

        The names are those of `_engine.pair_plan`.
        """
        return None

    def _columns(self, X: Floats) -> Floats:
        """A copy of X in units of length scales, for vectorised Gram matrices."""
        root = np.sqrt(self.gamma) if self._metric == "sqeuclidean" else np.asarray(self.gamma)
        return X * root


def square_slopes(X: Floats, Y: Floats, weights: Floats) -> Floats:
    """sum_ab weights_ab (x_ai - y_bi)^2, (d,), by matrix products."""
    return np.asarray(
        weights.sum(axis=1) @ X**2
        + weights.sum(axis=0) @ Y**2
        - 2 * np.einsum("ai,ai->i", X, weights @ Y)
    )


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


class Gaussian(WithMetric, GammaKernel):
    """exp(-gamma |u|^2), with the normal spectrum N(0, 2 gamma): subgaussian, rotation-invariant.

    With a `metric` M it is exp(-gamma |M u|^2), the kernel without one on rows M x. Maps,
    certificates and models are those of that kernel on these rows. It may be multiplied by a
    number; sums, products, `Anova` and `Convolution` need separate columns and refuse it.

    Parameters
    ----------
    gamma : float, array of one per axis, "scale", "median", "tuned" or "learned"
        "scale" is scikit-learn's 1 / (n_features * X.var()); "median" puts the median distance
        between rows at one length scale, gamma = 1 / (2 median^2). Both use the rows M x; with a
        metric gamma is one number. "tuned" and "learned" need the targets of `fit(X, y)`: one
        gamma, or one per axis, with the highest likelihood of a sample of 2,000 rows.
    metric : array (r, d), "learned" or None
        M, with a column for each column of X; r may be less than d, or more. "learned" takes the
        most likely M, from the targets; a gamma that is a word is then 0.5.

    Attributes
    ----------
    moments : float, inf: every moment of the spectrum is finite
    rotation_invariant : bool, True, up to a scale per axis; False with a metric
    mixes_axes : bool, whether there is a metric

    Examples
    --------
    >>> Gaussian(gamma=0.5)([[0.0]], [[2.0]])
    array([[0.13533528]])
    >>> Gaussian(gamma=0.5, metric=[[1.0, -1.0]])([[0.0, 0.0]], [[5.0, 3.0]])
    array([[0.13533528]])
    """

    stored: ClassVar[Stored] = {"gamma": "gamma", "metric": "metric"}

    def __init__(self, gamma: Any = 1.0, metric: Any = None) -> None:
        self.gamma = gamma
        self.metric = metric

    def with_metric(self, metric: Floats) -> Gaussian:
        """This kernel with one length scale, on rows M x."""
        return Gaussian(self.gamma, metric=metric)

    def profile(self, gap: Floats) -> Floats:
        self.refuse_axes()
        return np.exp(-self.gamma * gap**2)

    def relative_slope(self, gap: Floats) -> Floats:
        return -2 * self.gamma * gap

    def density(self, omega: Floats) -> Floats:
        self.refuse_axes()
        with np.errstate(over="ignore"):
            return np.exp(-(omega**2) / (4 * self.gamma)) / np.sqrt(4 * np.pi * self.gamma)

    def quantile(self, q: Floats) -> Floats:
        self.refuse_axes()
        return np.sqrt(2 * self.gamma) * special.ndtri(q)

    def gauss(self, n: int) -> Rule:
        self.refuse_axes()
        rule = gauss.gauss_hermite(n)
        return Rule(np.sqrt(2 * self.gamma) * rule.nodes, rule.weights)

    def sample(self, n: int, d: int, rng: np.random.Generator) -> Floats:
        inner, metric = self.coordinates(d)
        if metric is not None:  # w . (M x) = (M' w) . x
            return inner.sample(n, len(metric), rng) @ metric
        return rng.standard_normal((n, d)) * np.sqrt(2 * np.asarray(self.gamma))

    def spectral_moments(self) -> Floats:
        self.refuse_axes()
        n = np.arange(0, MOST_DERIVATIVES + 1, 2)
        row = np.zeros(MOST_DERIVATIVES + 1)
        row[::2] = [prod(range(1, p, 2)) * (2 * float(self.gamma)) ** (p / 2) for p in n]
        return row

    def subgaussian(self, d: int) -> float:
        longest = 1.0 if self.metric is None else float(np.linalg.norm(self.metric, 2))
        return longest * float(np.sqrt(2 * np.max(self.gamma)))

    def gaussian_scale(self, d: int) -> Floats | None:
        if self.metric is not None:
            return None
        return np.sqrt(np.broadcast_to(np.asarray(self.gamma, dtype=np.float64), (d,)))

    @property
    def rotation_invariant(self) -> bool:
        return self.metric is None

    def _columns(self, X: Floats) -> Floats:
        return super()._columns(X if self.metric is None else LinearMap(self.metric)(X))

    def pair_form(self, d: int) -> tuple[str, Floats] | None:
        return None if self.metric is not None else ("gaussian", self._columns(np.ones(d)))

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        square, near = squared_distances(self._columns(X), self._columns(Y))
        if not near.all():
            square[~near] = cdist(self._columns(X[~near]), self._columns(Y), "sqeuclidean")
        np.negative(square, out=square)
        return np.exp(square, out=square)

    def group_slope(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        slope = -2 * self.gamma * radial_slope(self.group_gram, X, Y, weights)
        return slope if self.metric is None else slope @ self.metric.T @ self.metric

    def group_at(self, gaps: Floats) -> Floats:
        return np.exp(-np.einsum("ij,ij->i", self._columns(gaps), self._columns(gaps)))

    def length_slopes(self, X: Floats, Y: Floats, weights: Floats) -> Floats:
        return -2 * square_slopes(self._columns(X), self._columns(Y), weights)


class Laplacian(GammaKernel):
    """exp(-gamma |u|_1), with a Cauchy spectrum on each axis: no moments, so no Gauss rule.

    Parameters
    ----------
    gamma : float, array of one per axis, "scale", "median", "tuned" or "learned"
        As in `Gaussian`, but "scale" is 1 / (n_features * X.std()) and "median" the inverse median
        distance, both in |.|_1.

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

    def relative_slope(self, gap: Floats) -> Floats:
        return -self.gamma * np.sign(gap)

    def density(self, omega: Floats) -> Floats:
        return self.gamma / (np.pi * (self.gamma**2 + omega**2))

    def quantile(self, q: Floats) -> Floats:
        return self.gamma * stats.cauchy.ppf(q)

    def derivative_bounds(self) -> Floats:
        return np.asarray(float(self.gamma) ** np.arange(MOST_DERIVATIVES + 1))

    def pair_form(self, d: int) -> tuple[str, Floats] | None:
        return "laplacian", self._columns(np.ones(d))

    def group_gram(self, X: Floats, Y: Floats) -> Floats:
        return np.exp(-cdist(self._columns(X), self._columns(Y), "cityblock"))

    def _log_slope(self, gap: Floats, gamma: float) -> Floats:
        gap *= -gamma
        return gap


class Cauchy(GammaKernel):
    """prod_i 1 / (1 + gamma u_i^2), with a Laplace spectrum on each axis: all moments exist.

    Parameters
    ----------
    gamma : float, array of one per axis, or a word, as of `Gaussian`

    Attributes
    ----------
    moments : float, inf: every moment of the spectrum is finite
    rotation_invariant : bool, False
    """

    def __init__(self, gamma: Any = 1.0) -> None:
        self.gamma = gamma

    def profile(self, gap: Floats) -> Floats:
        return 1.0 / (1.0 + self.gamma * gap**2)

    def relative_slope(self, gap: Floats) -> Floats:
        return -2 * self.gamma * gap / (1.0 + self.gamma * gap**2)

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

    def _log_slope(self, gap: Floats, gamma: float) -> Floats:
        square = gamma * gap**2
        return -2 * square / (1 + square)
