"""Landmarks: Nystroem features of well-chosen points, an expansion of every kernel around the data.

As with `mercer`, k(x, y) - z(x) . z(y) is positive semi-definite, and the residual bounds errors.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from weakref import WeakKeyDictionary

import numpy as np

from .._engine import PairPlan, pairs
from .._rows import spread_rows
from .._typing import Floats, Integers, Matrix
from ..kernels.base import Kernel
from ..kernels.given import GivenKernel, Precomputed
from ..kernels.stationary import GammaKernel
from ..numerics import principal_frame
from ..numerics.blas import product
from ..numerics.factorisations import pivoted_inverse_root, triangular_inverse
from ..numerics.principal_frame import signs

_SIGN_ROWS = 100
_MOST_ROWS = 20_000  # rows for compressing given points
_BLOCK_ENTRIES = 2**19
_PIVOT_BLOCK = 128
_PIVOT_WORK = 20_000_000  # rows times points at most, but never fewer than 4 rows per point
_TRIANGLE = 64  # least number of columns in one block of a triangular product


@dataclass(frozen=True, eq=False)
class LandmarkBasis:
    """Features k(x, points) @ projection: `points` (m, d), `projection` (m, p)."""

    points: Floats
    projection: Floats

    @property
    def n_columns(self) -> int:
        return self.projection.shape[1]

    @cached_property
    def triangular(self) -> bool:
        """Whether the projection is upper triangular, so that half of the product is skipped."""
        size, columns = self.projection.shape
        return size == columns and not np.tril(self.projection, -1).any()

    @property
    def parts(self) -> Iterator[tuple[slice, int]]:
        """Blocks of feature columns, and how many of the first points each block depends on."""
        size, columns = self.projection.shape
        width = max(_TRIANGLE, columns // 8) if self.triangular else columns
        for first in range(0, columns, width):
            last = min(first + width, columns)
            yield slice(first, last), last if self.triangular else size


@dataclass(frozen=True, eq=False)
class PointDraw:
    """Rows, and the positions of those drawn as points, in the order of drawing."""

    rows: Floats
    pivots: Integers


def draw(
    kernel: Kernel, X: Matrix, p: int, rng: np.random.Generator, *, compress: bool = False
) -> PointDraw:
    """Draw the points of `landmarks`, not yet moved; the first p are those without `compress`."""
    size = 2 * p if compress else p
    count = min(len(X), max(1000, 4 * size, min(20 * p, _PIVOT_WORK // p)))
    rows = np.asarray(X[rng.choice(len(X), count, replace=False)], dtype=np.float64)
    return PointDraw(rows, _pivots(kernel, rows, size, rng))


def landmarks(
    kernel: Kernel,
    X: Matrix,
    p: int,
    rng: np.random.Generator,
    *,
    compress: bool = False,
) -> LandmarkBasis:
    """Nystroem features of well-chosen points, for every kernel: at most `p` columns.

    Points are drawn from up to 20 p rows by randomly pivoted Cholesky (Chen, Epperly, Tropp and
    Webber, 2023), which never draws a row in the span of others, and moved once to the mean of the
    rows nearest to them. With p points the kernel is exact on them. `compress` draws 2 p and
    projects them to the p principal directions of the features of those rows. A fit costs O(rows
    p^2), a row p kernel values and p^2 / 2 multiply-adds (twice and four times that with
    `compress`). Fewer columns than p if X has fewer distinct rows. The residual law holds.

    Parameters
    ----------
    kernel : Kernel
        With its numbers resolved.
    X : (n, d)
        The data.
    p : int
        Columns.
    rng : Generator
        Draws the rows and the points.
    compress : bool
        Whether to draw a pool of 2 p points.

    Examples
    --------
    >>> from quadfeat import Gaussian
    >>> X = np.repeat(np.eye(3), 5, axis=0)
    >>> landmarks(Gaussian(1.0), X, 8, np.random.default_rng(0)).points.shape
    (3, 3)
    """
    drawn = draw(kernel, X, p, rng, compress=compress)
    return landmarks_of(kernel, drawn, p, compress=compress)


def landmarks_of(
    kernel: Kernel, drawn: PointDraw, p: int, *, compress: bool = False
) -> LandmarkBasis:
    """`landmarks` from points already drawn by `draw`, with or without `compress`."""
    rows, pivots = drawn.rows, drawn.pivots[: 2 * p if compress else p]
    basis = _orthonormal(kernel, _nearest_means(kernel, rows, rows[pivots]))
    return _compressed(kernel, rows, basis, p) if compress else basis


def landmarks_at(
    kernel: Kernel, X: Matrix, points: Floats, p: int, *, compress: bool = False
) -> LandmarkBasis:
    """`landmarks` at given points (m, d), not moved; points in the span of others are dropped.

    `compress` projects them to the p principal directions of the features of up to 20,000 rows.
    """
    basis = _orthonormal(kernel, points)
    return _compressed(kernel, spread_rows(X, _MOST_ROWS), basis, p) if compress else basis


def landmarks_among(
    gram: Floats, p: int, rng: np.random.Generator, *, compress: bool = False
) -> LandmarkBasis:
    """`landmarks` from kernel values of all rows with each other, (n, n).

    Points are rows, not moved, and stored as rows of the identity matrix: k(x, points) is then a
    part of the kernel values of x with all n rows.
    """
    size = min(2 * p if compress else p, len(gram))
    pivots = _pivots_of(lambda some: gram[some], np.diagonal(gram).copy(), size, rng)
    corner = gram[np.ix_(pivots, pivots)]
    kept, inverse = pivoted_inverse_root(corner, _tolerance(corner, float(corner.diagonal().max())))
    points = np.eye(len(gram))[pivots[kept]]
    basis = LandmarkBasis(points, inverse)
    return _compressed(Precomputed(), gram, basis, p) if compress else basis


def _compressed(kernel: Kernel, rows: Floats, basis: LandmarkBasis, p: int) -> LandmarkBasis:
    """The features of a basis on the p principal directions of those of some rows."""
    Z = _gram(kernel, rows, basis.points) @ basis.projection
    directions = principal_frame.principal(Z.T @ Z / len(Z), p)[1]
    # Rounding may change the order of the points, so signs are fixed by features of rows.
    directions *= signs(Z[:_SIGN_ROWS] @ directions)
    projection = basis.projection @ directions
    return LandmarkBasis(basis.points, np.ascontiguousarray(projection))


def evaluate(X: Matrix, kernel: Kernel, basis: LandmarkBasis, out: Matrix) -> None:
    """Write the features of X (n, d) into out (n, p); computed in double precision."""
    of_kernel, plan = _plans.get(basis, (None, None))
    if of_kernel is not kernel:
        plan = _pair_plan(kernel, basis.points)
        _plans[basis] = kernel, plan
    rows = max(1, _BLOCK_ENTRIES // len(basis.points))
    for start in range(0, len(X), rows):
        some = slice(start, start + rows)
        x = np.asarray(X[some], dtype=np.float64)
        gram = kernel.gram(x, basis.points) if plan is None else _paired(x, plan)
        for columns, used in basis.parts:
            left, right = gram[:, :used], basis.projection[:used, columns]
            if out.dtype == np.float64:
                product(left, right, out[some, columns])
            else:
                out[some, columns] = product(left, right)


# A plan is packed once per basis, because rows may come one by one.
_plans: WeakKeyDictionary[LandmarkBasis, tuple[Kernel, PairPlan | None]] = WeakKeyDictionary()


def _pair_plan(kernel: Kernel, points: Floats) -> PairPlan | None:
    """The plan of k(., points); None if the engine lacks the kernel."""
    form = kernel.pair_form(points.shape[1]) if isinstance(kernel, GammaKernel) else None
    return None if form is None else PairPlan.of(*form, points)


def _paired(X: Floats, plan: PairPlan) -> Floats:
    gram: Floats = np.empty((len(X), plan.n_columns))
    pairs(X, plan, gram)
    return gram


def _gram(kernel: Kernel, X: Floats, points: Floats) -> Floats:
    """k(X, points), by the engine if it has the kernel."""
    plan = _pair_plan(kernel, points)
    return kernel.gram(X, points) if plan is None else _paired(X, plan)


def _pivots(kernel: Kernel, X: Floats, size: int, rng: np.random.Generator) -> Integers:
    """At most `size` rows of X, as `_pivots_of` draws them."""
    if isinstance(kernel, GivenKernel):
        diagonal = kernel.diagonal(X)
    else:
        diagonal = np.full(len(X), kernel.at_zero(X.shape[1]))
    return _pivots_of(lambda some: _gram(kernel, X, X[some]).T, diagonal, size, rng)


def _pivots_of(
    gram: Callable[[Integers], Floats], residual: Floats, size: int, rng: np.random.Generator
) -> Integers:
    """At most `size` rows, each drawn with probability proportional to its residual so far.

    A block is drawn at once, and each of its rows is kept with a probability given by its residual
    after the rows kept before it: the same distribution as one by one, with matrix products
    (Epperly, Tropp and Webber, 2024).
    """
    size = min(size, len(residual))
    floor = 1e-10 * residual.max()  # smaller residuals are mostly rounding
    factors = np.empty((size, len(residual)))
    drawn: Integers = np.empty(0, dtype=np.int64)
    while len(drawn) < size:
        total = np.cumsum(np.where(residual > floor, residual, 0.0))
        if total[-1] == 0:
            break
        some = np.searchsorted(total, rng.random(_PIVOT_BLOCK) * total[-1], side="right")
        before = factors[: len(drawn)]
        columns = gram(some) - product(before.T, before[:, some]).T
        kept = _kept(columns[:, some], residual[some], floor, rng)[: size - len(drawn)]
        corner = np.linalg.cholesky(columns[np.ix_(kept, some[kept])])
        new = factors[len(drawn) : len(drawn) + len(kept)]
        # A product with the inverse takes a tenth of the time of a general solve for as many
        # right-hand sides.
        np.matmul(triangular_inverse(corner.T).T, columns[kept], out=new)
        residual = residual - np.einsum("ij,ij->j", new, new)
        drawn = np.concatenate([drawn, some[kept]])
        residual[drawn] = 0.0
    return drawn


def _kept(gram: Floats, before: Floats, floor: float, rng: np.random.Generator) -> Integers:
    """The rows of a block to keep, from their residuals `before` it and the residual `gram`."""
    gram, kept = gram.copy(), []
    for i, chance in enumerate(rng.random(len(gram))):
        if gram[i, i] > max(floor, chance * before[i]):
            kept.append(i)
            gram -= np.multiply.outer(gram[:, i], gram[i] / gram[i, i])
    return np.array(kept or [0], dtype=np.int64)


def _nearest_means(kernel: Kernel, X: Floats, points: Floats) -> Floats:
    """Each point moved to the mean of the rows it is most similar to; one step of k-means."""
    similar = _gram(kernel, X, points)
    nearest = np.argmax(similar, axis=1)
    seen = similar[np.arange(len(X)), nearest] > 0  # if all underflow, none is nearest
    order = np.argsort(np.where(seen, nearest, len(points)), kind="stable")[: seen.sum()]
    used, first, counts = np.unique(nearest[order], return_index=True, return_counts=True)
    moved = points.copy()
    if len(used):
        moved[used] = np.add.reduceat(X[order], first) / counts[:, None]
    return moved


def _orthonormal(kernel: Kernel, points: Floats) -> LandmarkBasis:
    """Features whose kernel is exact on the points; points in the span of others are dropped."""
    gram = _gram(kernel, points, points)
    largest = float(gram.diagonal().max() if isinstance(kernel, GivenKernel) else gram[0, 0])
    kept, inverse = pivoted_inverse_root(gram, _tolerance(gram, largest))
    return LandmarkBasis(points[kept], inverse)


def _tolerance(gram: Floats, largest: float) -> float:
    """The residual below which a point is in the span of others, up to rounding."""
    return len(gram) * float(np.finfo(float).eps) * largest
