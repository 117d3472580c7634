"""Mean and scatter of rows, their principal directions, and far rows."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .._rows import WIDE, drawn
from .._typing import Floats, Matrix

_BLOCK_ROWS = 4096
_SPREAD_ROWS = 1000  # rows for the standard deviations of columns
_TAIL = 0.01  # share of a column's values at each end that is clipped for its standard deviation
TYPICAL = 0.99  # share of rows that are typical
_FAR = 100.0  # times the 95% quantile of squared distances: rows beyond are far out
_FEW_ROWS = 20  # with fewer, correlations cannot be distinguished from chance


@dataclass(frozen=True, eq=False)
class Moments:
    """The number of rows (or their total weight), mean (d,), and scatter (d, d) around it."""

    n: float
    mean: Floats
    scatter: Floats

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of rows: exact, and stable where the means are large."""
        n = self.n + other.n
        gap = other.mean - self.mean
        between = np.outer(gap, gap) * (self.n * other.n / n)
        return Moments(n, self.mean + gap * (other.n / n), self.scatter + other.scatter + between)


def moments(X: Matrix, weights: Floats | None = None) -> Moments:
    """Mean and scatter in one pass over blocks of rows, in double precision.

    Each block is centred on its mean, and blocks are merged (Chan, Golub and LeVeque, 1983), so a
    large mean costs no digits. n d^2 multiply-adds. `weights` (n,) are row weights.
    """
    total: Moments | None = None
    for start in range(0, len(X), _BLOCK_ROWS):
        rows = slice(start, start + _BLOCK_ROWS)
        block = X[rows]
        if weights is None:
            n, mean = float(len(block)), block.mean(axis=0, dtype=np.float64)
            block = block - mean
        else:
            weight = weights[rows]
            n = float(weight.sum())
            if n == 0:
                continue
            mean = weight @ block / n
            block = (block - mean) * np.sqrt(weight)[:, None]
        part = Moments(n, mean, block.T @ block)
        total = part if total is None else total + part
    if total is None:
        raise ValueError("moments needs at least one row")
    return total


def distances(X: Matrix, rows: npt.NDArray[np.intp] | None = None) -> Floats:
    """Squared distance of each row from the medians, in deviations of the columns, (n,).

    Medians and winsorised deviations come from at most 1000 of all rows, or of `rows`, so that a
    few far rows do not matter. A column that hardly varies without its tails keeps its plain
    deviation.
    """
    known = np.arange(len(X)) if rows is None else rows
    sample = np.asarray(X[known[drawn(len(known), _SPREAD_ROWS)]], dtype=np.float64)
    low, middle, high = np.quantile(sample, [_TAIL, 0.5, 1 - _TAIL], axis=0)
    spread = np.clip(sample, low, high).std(axis=0)
    deviation = sample.std(axis=0)
    spread = np.where(spread > 1e-6 * deviation, spread, deviation)
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    blocks = (X[start : start + _BLOCK_ROWS] for start in range(0, len(X), _BLOCK_ROWS))
    scaled = ((block - middle) * inverse for block in blocks)
    return np.concatenate([np.einsum("ij,ij->i", block, block) for block in scaled])


def typical(distance: Floats) -> npt.NDArray[np.bool_]:
    """Which rows are typical by their `distances`: all except the outermost hundredth, or one."""
    return distance <= np.quantile(distance, TYPICAL, method="lower")


def nearness(distance: Floats) -> Floats:
    """Weights (n,): 1 for nearly all rows, 0 for those that are far out by their `distances`.

    Far out means beyond ten times the distance that a twentieth of the rows exceed. Shorter tails
    are part of the data: they dominate the error over all pairs.
    """
    limit = _FAR * float(np.quantile(distance, 0.95))
    return np.where((distance > limit) & (limit > 0), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Frame:
    """Orthonormal `directions` (d, m) through `mean` (d,), by falling `variance` (m,).

    Directions that are missing (m < d) have no variance.
    """

    mean: Floats
    directions: Floats
    variance: Floats


def frame(moment: Moments, scale: Floats) -> Frame:
    """The principal frame of the rows times `scale` (d,); `mean` stays in the units of the rows.

    If all correlations are within chance, the axes themselves are the directions: rotated ones
    would be no better, and cost a matrix product. Variances within rounding of zero are zero. d^3
    operations.
    """
    covariance = moment.scatter * np.multiply.outer(scale, scale) / moment.n
    if _uncorrelated(covariance, moment.n):
        variance = np.diag(covariance)
        order = np.argsort(-variance, kind="stable")
        axes = np.eye(len(variance))[:, order]
        return Frame(moment.mean, axes, _clean(variance[order], len(variance)))
    variance, directions = np.linalg.eigh(covariance)
    return Frame(moment.mean, signed(directions[:, ::-1]), _clean(variance[::-1], len(scale)))


def _uncorrelated(covariance: Floats, n: float) -> bool:
    """Whether the squared correlations sum to no more than for independent columns of n rows.

    Each is 1 / (n - 1) on average, with a variance of about 2 / n^2. Three deviations are allowed,
    both for the plain sum over pairs and for one weighted by the variances of both columns.
    """
    variance = np.diag(covariance)
    varies = _clean(variance, len(variance)) > 0
    pairs = varies.sum() * (varies.sum() - 1) / 2
    if pairs == 0 or n < _FEW_ROWS:
        return bool(pairs == 0)
    spread = np.sqrt(variance[varies])
    upper = np.triu_indices(len(spread), 1)
    squares = np.square(covariance[np.ix_(varies, varies)] / np.multiply.outer(spread, spread))
    shares = np.square(np.multiply.outer(spread, spread) / spread.max() ** 2)
    return all(
        weight @ squares[upper] <= weight.sum() / (n - 1) + 3 * np.sqrt(2 * (weight @ weight)) / n
        for weight in (np.ones(len(upper[0])), shares[upper])
    )


def wide_frame(X: Matrix, scale: Floats, weights: Floats) -> Frame:
    """The frame of very wide rows: the mean of all rows, directions from at most 2048 of them.

    `weights` (n,) are row weights.
    """
    mean: Floats = np.einsum("i,ij->j", weights, X) / weights.sum()
    sample = drawn(len(X), WIDE)
    rows, weight = X[sample], weights[sample]
    centred = (rows - mean) * scale * np.sqrt(weight)[:, None]
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    return Frame(mean, signed(directions.T), _clean(singular**2 / weight.sum(), len(rows)))


def _clean(variance: Floats, size: int) -> Floats:
    """Variances, with those within rounding of zero set to zero."""
    floor = 4 * size * np.finfo(float).eps * float(variance.max(initial=0.0))
    return np.where(variance > floor, variance, 0.0)


def signed(directions: Floats) -> Floats:
    """Eigenvectors with their sign fixed: the largest entry of each is positive."""
    return directions * signs(directions)


def signs(columns: Floats) -> Floats:
    """The sign of the largest entry of each column; of the first among those equal to rounding."""
    size = np.abs(columns)
    largest = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    return np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)


def principal(moment: Floats, p: int) -> tuple[Floats, Floats]:
    """The p largest eigenvalues, falling, and their eigenvectors."""
    values, vectors = np.linalg.eigh(moment)
    return values[::-1][:p], signed(vectors[:, ::-1][:, :p])
