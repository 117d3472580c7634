"""Posterior deviations of the scores of a classifier, for the bands of its effects."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from .._typing import Floats, Matrix
from ..data.checkpoint import Checkpoint
from ..numerics.factorisations import InPlaceCholesky, factor_raised, norms
from .effects import ExplainedModel
from .ridge import Posterior, RidgeFit, noise_variance
from .ridge_path import MAX_PATH
from .ridge_sums import NormalSums
from .stream import Rows, Stream


class CurvatureSums(NormalSums):
    """The curvature of the logistic loss of two classes: sums with weights w p (1 - p).

    Parameters
    ----------
    coefficients : (p,)
    intercept : float

    Attributes
    ----------
    total, squares : float, the sums of w and of w^2
    """

    def __init__(self, coefficients: Floats, intercept: float) -> None:
        super().__init__(len(coefficients), 0)
        self._coefficients, self._intercept = coefficients, intercept
        self.total = self.squares = 0.0

    def add(self, Z: Matrix, Y: Any, weight: Floats | None = None) -> None:
        """Add rows: features (n, p), classes, which do not matter, and weights (n,)."""
        score = np.asarray(Z @ self._coefficients.astype(Z.dtype), dtype=np.float64)
        small = np.exp(-np.abs(score + self._intercept))
        plain = np.ones(len(Z)) if weight is None else weight
        self.total += float(plain.sum())
        self.squares += float(plain @ plain)
        super().add(Z, np.empty((len(Z), 0)), plain * (small / (1 + small) ** 2))

    def blank(self) -> Callable[[], NormalSums]:
        return functools.partial(CurvatureSums, self._coefficients, self._intercept)

    def merge(self, other: NormalSums) -> None:
        super().merge(other)
        if isinstance(other, CurvatureSums):
            self.total += other.total
            self.squares += other.squares


def logistic_posterior(stream: Stream, sums: CurvatureSums, alpha: float) -> Posterior:
    """The normal distribution at the minimum of a logistic loss (Laplace's approximation).

    Its precision is the second derivative Z'VZ + alpha I, V = w p (1 - p), of features centred by
    the weights V: the intercept is free. Weights count as numbers of rows, up to a common factor.
    One more pass, and p^3 / 3.
    """
    stream.fold(sums, Checkpoint.none(), "curvature")
    p = len(sums.feature_sum)
    # Scores so large that no row has any curvature leave the prior.
    system = sums.system(intercept=sums.weight > 0, signs=np.ones(p), copy=False)
    cholesky = InPlaceCholesky(system.gram)
    factor_raised(cholesky, alpha)
    root, unit = cholesky.root, sums.squares / sums.total
    if unit != 1.0:
        root /= np.sqrt(unit)
    return Posterior(root, system.feature_mean, system.intercept_leverage * unit)


class ScoreBands(ExplainedModel):
    """The posterior of a classifier that has effects: of the ridge fit, or of a logistic one.

    A squared hinge is no likelihood and has none; nor have more than two classes with the logistic
    loss, a low rank, signed maps, or maps of more than 8192 columns.
    """

    loss_: str
    rank: int | None
    alpha_: float
    _posterior: Posterior
    _noise: Floats  # (t,)

    def _forget_posterior(self) -> None:
        for name in ("_posterior", "_noise"):
            self.__dict__.pop(name, None)

    def _keep_ridge_posterior(self, fit: RidgeFit, rows: Rows) -> None:
        """Keep what bands need of a fit, whose factor is not used any more."""
        if self._tells_effects:
            noise, posterior = noise_variance(fit, rows), Posterior.of(fit)
            if posterior is not None:
                self._noise, self._posterior = noise, posterior

    def _keep_logistic_posterior(self, stream: Stream) -> None:
        one_score = self.coef_.shape[0] == 1 and self.coef_.shape[1] <= MAX_PATH
        if self.loss_ == "logistic" and one_score and self.rank is None and self._tells_effects:
            sums = CurvatureSums(self.coef_[0], float(self.intercept_[0]))
            self._posterior = logistic_posterior(stream, sums, self.alpha_)
            self._noise = np.ones(1)

    @property
    def _has_deviations(self) -> bool:
        return hasattr(self, "_posterior")

    def _effect_deviation(self) -> Callable[[Floats], Floats]:
        if not self._has_deviations:
            raise ValueError(
                f"return_std=True needs a posterior, which loss={self.loss_!r} with "
                f"{len(self.coef_)} scores has not; loss='ridge' has one"
            )
        root, noise = self._posterior.root, np.sqrt(self._noise)
        return lambda features: np.outer(np.sqrt(norms(root, features)), noise)
