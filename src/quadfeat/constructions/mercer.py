"""Hermite-Mercer features: an expansion of the Gaussian kernel around the data.

The principal coordinates, the spread of the Gaussian and the columns are chosen on rows of the
data. The error bound of a pair from the residuals of its two rows holds for every choice.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from .._engine import dispatch
from .._engine.plans import MercerBasis
from .._rows import BLOCK_ENTRIES, WIDE, drawn
from .._typing import Floats, Matrix
from ..kernels.base import Group, Kernel
from ..numerics import principal_frame
from ..numerics.principal_frame import Frame, Moments, distances, moments, nearness
from .expander import Expander


def residual(X: Matrix, basis: MercerBasis, at_zero: float) -> Floats:
    """r(x) = k(x, x) - |z(x)|^2 for the rows of X, (n,): 0 where the features are exact.

    Never negative except for rounding; |k(x, y) - z(x) . z(y)| <= sqrt(r(x) r(y)) for all x and y.
    """
    residuals = np.full(len(X), at_zero)
    rows = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
    for start in range(0, len(X), rows):
        block = X[start : start + rows]
        Z = np.empty((len(block), basis.n_columns), dtype=X.dtype)
        dispatch.mercer(block, basis, Z)
        residuals[start : start + rows] -= np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    return residuals


# Multiples of the data's covariance to try for the Gaussian of the expansion.
SPREADS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
MANY = 20_000  # from so many rows on, the frames for choosing are also those of the result
_VALIDATION_ROWS = 1000
_TRAINING_ROWS = 4000  # most rows for the mean squares of columns
_PAIRED = 500  # most training rows to pair with validation rows
_PAIR_VALUES = 2**24  # most features of paired rows and kernel values of all groups


@dataclass(frozen=True, eq=False)
class FittedFrames:
    """The fit of `hermite_mercer` for any number of columns: principal frames, and some rows.

    `training_frames`, one per group, are for choosing the spread and the columns: fitted without
    the validation rows, unless there are too few or too many rows for that to matter. `frames`,
    fitted on all rows, are for the returned basis.
    """

    training_frames: Sequence[Frame]
    frames: Sequence[Frame]
    validation_rows: Floats
    training_rows: Floats  # at most `_TRAINING_ROWS`; none if they are wider than `WIDE`
    row_weights: Floats  # of the training rows
    without_far_rows: FittedFrames | None = None  # the fit without far rows, if there are any


def fit_frames(kernel: Kernel, X: Matrix, weights: Floats | None = None) -> FittedFrames:
    """Fit the frames of every group of a kernel to X: one pass over X, d^3 for each frame.

    `weights` (n,) are row weights, for rows of at most `WIDE` columns; rows of weight 0 are not
    used. If some rows are far out, frames are also fitted without them.
    """
    n, d = X.shape
    if weights is not None and d > WIDE:
        raise ValueError(f"rows of {d} columns cannot be weighted, only up to {WIDE}")
    row_weights = np.ones(n) if weights is None else weights
    rows = np.flatnonzero(row_weights)
    near = nearness(distances(X, rows))
    split = 5 <= n < MANY and weights is None
    fitted = _fit_frames(kernel, X, row_weights, split=split)
    if (near[rows] == 1).all():
        return fitted
    without = _fit_frames(kernel, X, row_weights * near, split=split)
    return replace(fitted, without_far_rows=without)


def _fit_frames(kernel: Kernel, X: Matrix, weights: Floats, *, split: bool) -> FittedFrames:
    groups = kernel.groups(X.shape[1])
    n, d = X.shape
    validation = drawn(n, min(_VALIDATION_ROWS, -(-n // 5)))
    training = np.delete(np.arange(n), validation)
    validation, training = validation[weights[validation] > 0], training[weights[training] > 0]
    validation_rows = np.asarray(X[validation], dtype=np.float64)
    some = training[drawn(len(training), _TRAINING_ROWS)]
    training_rows = np.asarray(X[some], dtype=np.float64) if d <= WIDE else np.empty((0, d))
    rows = validation_rows, training_rows, weights[some]
    if not split:
        total = moments(X, weights) if d <= WIDE else None
        frames = _frames(groups, X, weights, total)
        return FittedFrames(frames, frames, *rows)
    others, total = X[training], None
    partial = moments(others, weights[training]) if d <= WIDE else None
    if partial is not None:
        total = partial + moments(validation_rows, weights[validation])
    training_frames = _frames(groups, others, weights[training], partial)
    return FittedFrames(training_frames, _frames(groups, X, weights, total), *rows)


def _frames(
    groups: Sequence[Group], X: Matrix, weights: Floats, total: Moments | None
) -> list[Frame]:
    """The frame of every group, from the moments of all columns if known."""
    frames = []
    for group in groups:
        axes, scale = group.axes, _scale(group)
        if total is not None:
            partial = Moments(total.n, total.mean[axes], total.scatter[np.ix_(axes, axes)])
            frames.append(principal_frame.frame(partial, scale))
        elif len(axes) <= WIDE:
            frames.append(principal_frame.frame(moments(X[:, axes], weights), scale))
        else:
            frames.append(principal_frame.wide_frame(X[:, axes], scale, weights))
    return frames


def _scale(group: Group) -> Floats:
    """sqrt(gamma) per axis of a Gaussian kernel; an error for every other kernel."""
    kernel = group.kernel
    scale = kernel.gaussian_scale(len(group.axes))
    if scale is not None:
        return scale
    raise ValueError(
        f"Hermite-Mercer features exist for Gaussian kernels and sums of them, not for "
        f"{kernel!r}; Landmarks works for every kernel"
    )


def hermite_mercer(
    kernel: Kernel, X: Matrix, p: int, fitted: FittedFrames | None = None
) -> MercerBasis:
    """The `p` largest eigenfunctions of the kernel under a Gaussian fitted to X, by group.

    The Gaussian kernel has eigenfunctions in closed form under N(mean, f * covariance): in
    principal coordinates, products of Hermite functions, with eigenvalues that are products of
    geometric sequences (Zhu et al., 1998; Fasshauer and McCourt, 2012). The largest products over
    all groups are found best-first; every group keeps one if p allows. f is the one of `SPREADS`
    with the least error on validation rows, which are not in the covariance: the mean square of
    their residuals times the mean square error of their pairs with training rows. The covariance
    leaves far rows out if that lowers the error. Because data are not Gaussian, the p of the 2 p
    largest eigenfunctions with the largest mean square on training rows are used if that lowers the
    error. The expansion is valid for every f, mean, rotation and choice: data unlike X gives larger
    residuals, never a wrong bound. One pass over X, d^3 for the frame, O(p log p) for the products;
    deterministic. Fewer than p columns only if the data has no variance at all.

    Parameters
    ----------
    kernel : Kernel
        With its numbers resolved; Gaussian, or a sum of Gaussian kernels on groups of axes.
    X : (n, d)
        The data.
    p : int
        Columns.
    fitted : FittedFrames, optional
        `fit_frames` of these rows, or of more, if already computed.

    Examples
    --------
    >>> import quadfeat as qf
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> basis = hermite_mercer(qf.Gaussian(0.5), X, 100)
    >>> basis.n_columns
    100
    """
    groups = kernel.groups(X.shape[1])
    scales = [_scale(group) for group in groups]
    chosen = fit_frames(kernel, X) if fitted is None else fitted
    error = _validation_error(kernel, chosen, p)

    def expander(frames: Sequence[Frame], spread: float) -> Expander:
        return Expander(groups, scales, frames, spread)

    def best(frames: Sequence[Frame]) -> tuple[float, float]:
        errors = [error(expander(frames, spread).by_eigenvalue(p)) for spread in SPREADS]
        return min(errors), SPREADS[int(np.argmin(errors))]

    least, spread = best(chosen.training_frames)
    if chosen.without_far_rows is not None:
        near = chosen.without_far_rows
        near_least, near_spread = best(near.training_frames)
        # Compare the frames of all rows: the others miss a far row among the validation rows.
        all_rows = error(expander(chosen.frames, spread).by_eigenvalue(p))
        if error(expander(near.frames, near_spread).by_eigenvalue(p)) < all_rows:
            chosen, least, spread = near, near_least, near_spread
    basis = expander(chosen.frames, spread).by_eigenvalue(p, reflect=True)
    # Reflections, which save most of the cost, need a column of every direction.
    reflected = any(expansion.mixing is not None for expansion in basis.expansions)
    if reflected or not len(chosen.training_rows):
        return basis
    squares = partial(mean_squares, rows=chosen.training_rows, weights=chosen.row_weights)
    by_square = expander(chosen.training_frames, spread).by_mean_square(p, squares)
    if error(by_square) >= least:
        return basis
    if chosen.training_frames is chosen.frames:
        return by_square
    return expander(chosen.frames, spread).by_mean_square(p, squares)


def mean_squares(basis: MercerBasis, rows: Matrix, weights: Floats) -> Floats:
    """The weighted mean square of every column over some rows, in the order of the columns."""
    total = np.zeros(basis.n_columns)
    size = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
    for start in range(0, len(rows), size):
        block = rows[start : start + size]
        Z = np.empty((len(block), basis.n_columns))
        dispatch.mercer(block, basis, Z)
        total += np.einsum("ij,ij,i->j", Z, Z, weights[start : start + size])
    return total / weights.sum()


def _validation_error(
    kernel: Kernel, fitted: FittedFrames, p: int
) -> Callable[[MercerBasis], float]:
    """The error of a basis: the sum of its squared residuals, times that of its pair errors.

    Residuals are those of validation rows; pairs are a validation row and a training row. Residuals
    alone are a bound dominated by the outermost rows. Pairs alone, the error that matters, say
    little about rows farther out. Very wide rows have no training rows for pairs, so only the
    residuals count.
    """
    validation_rows = fitted.validation_rows
    at_zero = kernel.at_zero(validation_rows.shape[1])
    n_groups = len(kernel.groups(validation_rows.shape[1]))
    most = _PAIR_VALUES // max(2 * p, len(validation_rows) * n_groups)
    some = drawn(len(fitted.training_rows), min(_PAIRED, max(32, most)))
    others, weights = fitted.training_rows[some], fitted.row_weights[some]
    exact = kernel.gram(validation_rows, others) if len(others) else None

    def features(rows: Matrix, basis: MercerBasis) -> Floats:
        Z = np.empty((len(rows), basis.n_columns))
        dispatch.mercer(rows, basis, Z)
        return Z

    def error(basis: MercerBasis) -> float:
        right = features(others, basis)
        residuals = pairs = 0.0
        size = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
        for start in range(0, len(validation_rows), size):
            left = features(validation_rows[start : start + size], basis)
            residuals += float(np.square(at_zero - np.einsum("ij,ij->i", left, left)).sum())
            if exact is not None:
                gap = left @ right.T - exact[start : start + size]
                pairs += float(np.square(gap).sum(axis=0) @ weights)
        return residuals * (pairs if exact is not None else 1.0)

    return error
