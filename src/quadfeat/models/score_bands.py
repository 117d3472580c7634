"""Posterior deviations of the scores of a classifier, for the bands of its effects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy.special import softmax

from .._typing import Floats, Matrix
from ..data.checkpoint import Checkpoint
from ..numerics.factorisations import InPlaceCholesky, factor_raised, norms, precision_root
from .effects import ExplainedModel
from .ridge import Posterior, RidgeFit, noise_variance
from .ridge_path import MAX_PATH
from .ridge_sums import NormalSums
from .stream import Rows, Stream

# A posterior is averaged over penalties: decades around the chosen one, and between two of them.
# With k degrees of freedom log alpha has a standard deviation of about (2 / k)^(1/2), 0.2 decades
# for ten.
_REACH, _STEP = 4.0, 0.25


class CurvatureSums(NormalSums):
    """The curvature of the logistic loss of two classes: sums with weights w p (1 - p).

    Parameters
    ----------
    coefficients : (p,)
    intercept : float

    Attributes
    ----------
    coefficients : (p,)
    total, squares : float, the sums of w and of w^2
    """

    def __init__(self, coefficients: Floats, intercept: float) -> None:
        super().__init__(len(coefficients), 0)
        self.coefficients, self._intercept = coefficients, intercept
        self.total = self.squares = 0.0

    def add(self, Z: Matrix, Y: Any, weight: Floats | None = None) -> None:
        """Add rows: features (n, p), classes, which do not matter, and weights (n,)."""
        score = np.asarray(Z @ self.coefficients.astype(Z.dtype), dtype=np.float64)
        small = np.exp(-np.abs(score + self._intercept))
        plain = np.ones(len(Z)) if weight is None else weight
        self.total += float(plain.sum())
        self.squares += float(plain @ plain)
        super().add(Z, np.empty((len(Z), 0)), plain * (small / (1 + small) ** 2))

    def blank(self) -> Callable[[], NormalSums]:
        return functools.partial(CurvatureSums, self.coefficients, self._intercept)

    def merge(self, other: NormalSums) -> None:
        super().merge(other)
        if isinstance(other, CurvatureSums):
            self.total += other.total
            self.squares += other.squares


def logistic_posterior(
    stream: Stream, sums: CurvatureSums, alpha: float, *, intercept: bool, chosen: bool
) -> Posterior:
    """The normal distribution at the minimum of a logistic loss (Laplace's approximation).

    Its precision is the second derivative Z'VZ + alpha I, V = w p (1 - p), of features centred by
    the weights V if the intercept is free. Weights count as numbers of rows, up to a common factor.
    One more pass, and p^3 / 3; about 10 p^3 if alpha was chosen, see `averaged_root`.
    """
    stream.fold(sums, Checkpoint.none(), "curvature")
    p, curved = len(sums.feature_sum), sums.weight > 0
    # If scores are so large that no row has any curvature, only the prior is left.
    system = sums.system(intercept=intercept and curved, signs=np.ones(p), copy=False)
    unit = sums.squares / sums.total
    if chosen and curved:
        root = averaged_root(system.gram / unit, sums.coefficients, alpha / unit)
    else:
        cholesky = InPlaceCholesky(system.gram)
        factor_raised(cholesky, alpha)
        root = cholesky.root
        if unit != 1.0:
            root /= np.sqrt(unit)
    return Posterior(root, system.feature_mean, system.intercept_leverage * unit)


def averaged_root(gram: Floats, coefficients: Floats, alpha: float) -> Floats:
    """The root of a precision, (p, p), whose covariance accounts for the choice of alpha.

    A band for one alpha ignores the bias of a penalty chosen by a few validation rows: with a
    penalty ten times too large, 95% bands covered half of the truth. Take the normal likelihood
    that is tangent to the logistic one at its penalised maximum v, of cross products c = (G + alpha
    I) v. Then a penalty a has the likelihood

        L(a) = exp(c'(G + a I)^-1 c / 2) / det(I + G / a)^(1/2).

    The covariance is the mean squared distance from v over all a: the mean of (G + a I)^-1 + d d',
    d = (G + a I)^-1 c - v (Kass and Steffey, 1989), with a flat prior for the deviation a^(-1/2)
    of a coefficient. A flat prior for log a would let weak data remove an effect completely
    (Gelman, 2006).

    Parameters
    ----------
    gram : (p, p), of which the lower triangle is read
    coefficients : (p,)
    alpha : float
    """
    values, vectors = np.linalg.eigh(gram)
    values = np.maximum(values, 0.0)
    rotated = coefficients @ vectors
    lowest = 1e-7 * values.mean()  # smaller penalties are lost in the rounding of the gram
    alpha = max(alpha, lowest)
    cross = (values + alpha) * rotated
    alphas = alpha * 10.0 ** np.arange(-_REACH, _REACH + _STEP / 2, _STEP)
    alphas = alphas[alphas >= lowest][:, None]
    inverse = 1 / (values + alphas)
    likelihood = (cross**2 * inverse + np.log(alphas * inverse)).sum(axis=1) / 2
    chance = softmax(likelihood - np.log(alphas[:, 0]) / 2)
    moved = (np.sqrt(chance)[:, None] * (cross * inverse - rotated)) @ vectors.T
    covariance = (vectors * (chance @ inverse)) @ vectors.T
    return precision_root(covariance + moved.T @ moved)


class ScoreBands(ExplainedModel):
    """The posterior of a classifier with effects, from a ridge or a logistic fit.

    There is none for the squared hinge, which is not a likelihood, for the logistic loss of more
    than two classes, a low rank, signed maps, or maps of more than 8192 columns.
    """

    loss_: str
    rank: int | None
    alpha: Any
    alpha_: float
    fit_intercept: bool
    _posterior: Posterior
    _noise: Floats  # (t,)

    def _forget_posterior(self) -> None:
        for name in ("_posterior", "_noise"):
            self.__dict__.pop(name, None)

    def _keep_ridge_posterior(self, fit: RidgeFit, rows: Rows) -> None:
        """Keep what bands need of a fit; its factor is overwritten."""
        if self._tells_effects:
            noise, posterior = noise_variance(fit, rows), Posterior.of(fit)
            if posterior is not None:
                self._noise, self._posterior = noise, posterior

    def _keep_logistic_posterior(self, stream: Stream) -> None:
        one_score = self.coef_.shape[0] == 1 and self.coef_.shape[1] <= MAX_PATH
        if self.loss_ == "logistic" and one_score and self.rank is None and self._tells_effects:
            sums = CurvatureSums(self.coef_[0], float(self.intercept_[0]))
            self._posterior = logistic_posterior(
                stream,
                sums,
                self.alpha_,
                intercept=self.fit_intercept,
                chosen=isinstance(self.alpha, str),
            )
            self._noise = np.ones(1)

    @property
    def _has_deviations(self) -> bool:
        return hasattr(self, "_posterior")

    def _effect_deviation(self) -> Callable[[Floats], Floats]:
        if not self._has_deviations:
            raise ValueError(
                f"return_std=True needs a posterior, and loss={self.loss_!r} with "
                f"{len(self.coef_)} scores has none; use loss='ridge'"
            )
        root, noise = self._posterior.root, np.sqrt(self._noise)
        return lambda features: np.outer(np.sqrt(norms(root, features)), noise)
