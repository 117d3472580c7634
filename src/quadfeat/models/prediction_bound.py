"""Bounds on the difference between predictions of a grid and of the exact kernel."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .._typing import Floats


@dataclass(frozen=True, eq=False)
class PredictionBound:
    """|f - f~| for kernel ridge regression f with the exact kernel, and the fit f~ of a grid.

    With |k - k~| <= e for all pairs of rows, b = W (y - f~(x)) / alpha the dual coefficients of the
    fit and S the smoother of the exact kernel, f - f~ = (I - S) g for g(x) = sum_i (k - k~)(x, x_i)
    b_i: a ridge residual. |g| <= e |b|_1 and |b|_1 <= sqrt(n RSS) / alpha, n the sum of weights. A
    row of S has an l1 norm of at most sqrt(n k(0) / alpha) / 2, as sqrt(t) / (t + alpha) is at most
    1 / (2 sqrt(alpha)); with an intercept, 1 + sqrt(n k(0) / alpha). The product of both is
    `proven`, up to the rounding of the sums. It is loose: it assumes that all errors have the worst
    sign.

    `estimated` is three standard deviations of the contribution of noise in the targets. Up to
    aliases E = K - K~ is positive semi-definite, because a grid omits a part of the spectrum. Then
    noise of variance s^2 changes f - f~ at training rows by at most s^2 times the difference of
    leverages with and without E, whose mean is at most e / alpha: s sqrt(e / alpha).

    Attributes
    ----------
    proven : float, or (t,) for t targets: no prediction differs by more
    estimated : float, or (t,): what to expect; not proven
    kernel_error : float, the certificate of the grid over the box of training rows and X
    """

    proven: Any
    estimated: Any
    kernel_error: float

    def __repr__(self) -> str:
        proven, estimated = (
            np.array2string(np.asarray(value), precision=3)
            for value in (self.proven, self.estimated)
        )
        return (
            f"PredictionBound(proven {proven}, estimated {estimated}, "
            f"kernel error {self.kernel_error:.3g})"
        )


@dataclass(frozen=True, eq=False)
class FitSize:
    """The numbers of a fit that the bound needs.

    Parameters
    ----------
    weight : float, the sum of the weights
    noise : (t,), variance of the noise of a row of weight 1
    squares : (t,), weighted sums of squared residuals
    residual : (t,), norms of the solver's residuals
    alpha : float
    intercept : bool
    """

    weight: float
    noise: Floats
    squares: Floats
    residual: Floats
    alpha: float
    intercept: bool

    def bound(self, kernel_error: float, at_zero: float) -> PredictionBound:
        """The bound for a kernel error relative to k(0) = `at_zero`."""
        error, alpha = kernel_error * at_zero, self.alpha
        smoother = np.sqrt(self.weight * at_zero / alpha)
        rows = 2 + smoother if self.intercept else 1 + smoother / 2
        dual = np.sqrt(self.weight * self.squares) / alpha
        length = (2 if self.intercept else 1) * np.sqrt(at_zero)  # of centred features, at most
        proven = error * dual * rows + length * self.residual / alpha
        estimated = 3 * np.sqrt(self.noise * error / alpha)
        return PredictionBound(proven, estimated, kernel_error)
