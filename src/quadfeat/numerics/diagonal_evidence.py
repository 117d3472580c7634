"""The likelihood of a ridge regression with a prior variance for each coefficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from scipy.linalg import cho_solve, cholesky, lapack

from .._typing import Floats, Indices

_NEGLIGIBLE = 1e-8  # prior variance of a coefficient, over that of its estimate from data alone


@dataclass(frozen=True, eq=False)
class Squares:
    """Centred sums of a regression: gram (p, p), cross (p, t), targets (t,), n observations."""

    gram: Floats
    cross: Floats
    targets: Floats
    n: float

    def at(self, kept: Indices) -> Squares:
        """The sums of a subset of the coefficients."""
        return Squares(self.gram[np.ix_(kept, kept)], self.cross[kept], self.targets, self.n)


class DiagonalEvidence(NamedTuple):
    """The negative log likelihood and its derivatives by the log variances (p,)."""

    value: float
    slopes: Floats


class Ridge:
    """The fit of coefficients whose prior variances are `variances` times that of the noise.

    With D the variances and B = I + D^1/2 G D^1/2, the likelihood with the most likely variance of
    noise of each target is t / 2 log det B + (n - 1) / 2 sum log(y'y - c'(G + D^-1)^-1 c).
    Coefficients with D_j G_jj below 1e-8 count as 0: each changes the likelihood and its
    derivatives by less than 1e-8 per observation. Cost O(p^3) for the p others, `used`.
    """

    def __init__(self, squares: Squares, variances: Floats) -> None:
        self.used = variances * squares.gram.diagonal() > _NEGLIGIBLE
        if not self.used.all():
            squares, variances = squares.at(np.flatnonzero(self.used)), variances[self.used]
        self._squares, self._root = squares, np.sqrt(variances)
        inner = squares.gram * self._root
        inner *= self._root[:, None]
        inner[np.diag_indices(len(inner))] += 1.0
        self._factor = cholesky(inner, lower=True, overwrite_a=True, check_finite=False)
        self._scaled = cho_solve(
            (self._factor, True), self._root[:, None] * squares.cross, check_finite=False
        )

    @property
    def coefficients(self) -> Floats:
        """(p, t)"""
        every = np.zeros((len(self.used), self._scaled.shape[1]))
        every[self.used] = self._root[:, None] * self._scaled
        return every

    @property
    def noise(self) -> Floats:
        """The most likely variance of the noise of each target, (t,)."""
        return self._penalised() / (self._squares.n - 1)

    def _penalised(self) -> Floats:
        explained = (self._squares.cross * self._root[:, None] * self._scaled).sum(axis=0)
        total = self._squares.targets
        return np.maximum(total - explained, 1e-12 * total + np.finfo(float).tiny)

    def covariance(self) -> Floats:
        """(G + D^-1)^-1 of the coefficients that are `used`."""
        half = self._inverse_factor() * self._root
        return np.asarray(half.T @ half)

    def _inverse_factor(self) -> Floats:
        return np.asarray(lapack.dtrtri(self._factor, lower=1)[0])

    def evidence(self) -> DiagonalEvidence:
        """The negative log likelihood, and its derivatives by the log variances."""
        squares, t = self._penalised(), self._squares.cross.shape[1]
        freedom = self._squares.n - 1
        value = t * np.log(self._factor.diagonal()).sum() + freedom / 2 * np.log(squares).sum()
        kept = np.square(self._inverse_factor()).sum(axis=0)  # the diagonal of B^-1
        pull = (np.square(self._scaled) * (freedom / squares)).sum(axis=1)
        slopes = np.zeros(len(self.used))
        slopes[self.used] = (t * (1 - kept) - pull) / 2
        return DiagonalEvidence(float(value), slopes)
