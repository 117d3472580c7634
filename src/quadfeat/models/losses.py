"""Losses of linear scores of features, summed block by block with their gradients.

Every loss is sum_i w_i loss(y_i, f_i) + alpha / 2 |W|^2 with f = z'W + b and b free, so alpha is
1 / C of scikit-learn's LinearSVC and LogisticRegression. Classes are codes 0, 1, ...; two classes
share one score.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from .._typing import Floats, Matrix
from ..numerics.blas import product
from .ridge_sums import narrowed

Codes = npt.NDArray[np.intp]
Loss = Callable[[Floats, Codes], tuple[Floats, Floats]]


def indicators(codes: Codes, n_scores: int) -> Floats:
    """+1 for the class of a row and -1 elsewhere, (n, n_scores); one column for two classes."""
    if n_scores == 1:
        return np.where(codes[:, None] > 0, 1.0, -1.0)
    signs = np.full((len(codes), n_scores), -1.0)
    signs[np.arange(len(codes)), codes] = 1.0
    return signs


def squared_hinge(scores: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """max(0, 1 - y f)^2 summed over one class against the rest: values (n,), slopes (n, t)."""
    signs = indicators(codes, scores.shape[1])
    short = np.maximum(0.0, 1.0 - signs * scores)
    return np.einsum("ij,ij->i", short, short), -2.0 * signs * short


def logistic(scores: Floats, codes: Codes) -> tuple[Floats, Floats]:
    """-log of the softmax probability of the class: values (n,), slopes (n, t)."""
    if scores.shape[1] == 1:
        signs = 2.0 * codes - 1.0
        margin = signs * scores[:, 0]
        # exp of a negative number only, so that nothing overflows.
        small = np.exp(-np.abs(margin))
        value = np.log1p(small) + np.maximum(0.0, -margin)
        slope = -signs * np.where(margin > 0, small, 1.0) / (1.0 + small)
        return value, slope[:, None]
    rows = np.arange(len(codes))
    shifted = scores - scores.max(axis=1, keepdims=True)
    slope = np.exp(shifted)
    total = slope.sum(axis=1, keepdims=True)
    value = np.log(total[:, 0]) - shifted[rows, codes]
    slope /= total
    slope[rows, codes] -= 1.0
    return value, slope


LOSSES: dict[str, Loss] = {"squared_hinge": squared_hinge, "logistic": logistic}


def curvature(name: str, n_scores: int) -> float:
    """The approximate second derivative of a loss at scores of 0."""
    if name == "squared_hinge":
        return 2.0
    return 0.25 if n_scores == 1 else (n_scores - 1) / n_scores**2


class Weights:
    """The layout of weights W (p, t) and an intercept b (t,) in one vector of parameters.

    Parameters
    ----------
    n_columns, n_scores : int, p and t
    rank : int or None
        If r, W = U V' with U (p, r) and V (t, r).
    intercept : bool
    """

    def __init__(self, n_columns: int, n_scores: int, *, rank: int | None, intercept: bool) -> None:
        self.shape, self.rank, self.intercept = (n_columns, n_scores), rank, intercept

    def split(self, theta: Floats) -> tuple[list[Floats], Floats]:
        """The factors of W, [W] or [U, V], and b, as views of theta."""
        (p, t), r = self.shape, self.rank
        shapes = [(p, t)] if r is None else [(p, r), (t, r)]
        factors, start = [], 0
        for shape in shapes:
            stop = start + shape[0] * shape[1]
            factors.append(theta[start:stop].reshape(shape))
            start = stop
        return factors, theta[start:]

    def join(self, factors: list[Floats], b: Floats) -> Floats:
        """The vector of parameters of these factors and this intercept."""
        return np.concatenate([*(part.ravel() for part in factors), b if self.intercept else b[:0]])

    def matrix(self, theta: Floats) -> tuple[Floats, Floats]:
        """W and b; b is 0 if there is no intercept."""
        factors, b = self.split(theta)
        W = factors[0] if self.rank is None else factors[0] @ factors[1].T
        return W, b if self.intercept else np.zeros(self.shape[1])

    def penalty(self, theta: Floats, alpha: float) -> tuple[float, Floats]:
        """alpha / 2 |W|^2 and its gradient; for W = U V' it is tr(U'U V'V), without W."""
        factors, b = self.split(theta)
        if self.rank is None:
            (W,) = factors
            return 0.5 * alpha * float((W * W).sum()), self.join([alpha * W], np.zeros_like(b))
        U, V = factors
        uu, vv = U.T @ U, V.T @ V
        slopes = [alpha * (U @ vv), alpha * (V @ uu)]
        return 0.5 * alpha * float((uu * vv).sum()), self.join(slopes, np.zeros_like(b))


class LossSums:
    """A loss and its gradient at one point theta, summed over streamed rows.

    Products are in the precision of the features, sums in float64; merged like `NormalSums`.
    """

    def __init__(self, loss: Loss, weights: Weights, theta: Floats) -> None:
        self._loss, self._weights, self._theta = loss, weights, theta
        self.value = 0.0
        self.gradient: Floats = np.zeros_like(theta)

    def add(self, Z: Matrix, codes: Codes, weight: Floats | None = None) -> None:
        """Add rows: features (n, p), classes (n,), weights (n,)."""
        factors, b = self._weights.split(self._theta)
        narrow = [part.astype(Z.dtype) for part in factors]
        inner = product(Z, narrow[0])
        scores = np.asarray(inner if len(narrow) == 1 else inner @ narrow[1].T, dtype=np.float64)
        value, slope = self._loss(scores + b if len(b) else scores, codes)
        unit: Any = 1.0
        if weight is not None:
            _, unit = narrowed(weight, Z.dtype)
            value, slope = value * weight, slope * (weight / unit)[:, None]
        self.value += float(value.sum())
        slopes = slope.astype(Z.dtype)
        if len(narrow) == 1:
            parts = [product(Z.T, slopes)]
        else:
            parts = [product(Z.T, slopes @ narrow[1]), slopes.T @ inner]
        self.gradient += unit * self._weights.join(parts, slope.sum(axis=0))

    def blank(self) -> Callable[[], LossSums]:
        """A function that returns empty sums of this loss at this point."""
        return functools.partial(LossSums, self._loss, self._weights, self._theta)

    def merge(self, other: LossSums) -> None:
        """Add the sums of other rows at the same point."""
        self.value += other.value
        self.gradient += other.gradient

    def state(self) -> dict[str, Any]:
        """Arrays for `restore`."""
        return {"value": np.array(self.value), "gradient": self.gradient}

    def restore(self, state: dict[str, Any]) -> Self:
        """Continue from the arrays of `state`."""
        self.value, self.gradient = float(state["value"]), state["gradient"].copy()
        return self
