"""Which eigenfunctions to take: an expansion of the Gaussian kernel around the data.

The frame and the spread of the Gaussian they belong to, and the columns, are chosen on rows of the
data; the bound of every pair holds whatever is chosen.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .. import _engine
from .._engine.plans import Expansion, MercerBasis
from .._rows import BLOCK_ENTRIES, WIDE, drawn
from .._typing import Floats, Integers, Matrix
from ..kernels.base import Group, Kernel
from ..numerics import best_first
from ..numerics.best_first import largest_products
from ..numerics.principal_frame import (
    Frame,
    Moments,
    distances,
    frame,
    moments,
    nearness,
    wide_frame,
)


def residual(X: Matrix, basis: MercerBasis, at_zero: float) -> Floats:
    """r(x) = k(x, x) - |z(x)|^2 for the rows of X, (n,): 0 where the features are exact.

    Never negative but for rounding; |k(x, y) - z(x) . z(y)| <= sqrt(r(x) r(y)) for all x and y.
    """
    left = np.full(len(X), at_zero)
    rows = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
    for start in range(0, len(X), rows):
        some = X[start : start + rows]
        Z = np.empty((len(some), basis.n_columns), dtype=X.dtype)
        _engine.mercer(some, basis, Z)
        left[start : start + rows] -= np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    return left


# Multiples of the data's covariance that are tried for the Gaussian of the expansion.
SPREADS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)
MANY = 20_000  # rows, beyond which a thousand are not missed if others stand for them
_HELD_OUT = 1000
_LEARNERS = 4000  # rows that the mean squares of columns are of
_PAIRED = 500  # of these, for pairs with rows held out
_PAIR_VALUES = 2**24  # features of them, and kernel values of all groups, at most


@dataclass(frozen=True, eq=False)
class Framing:
    """What `hermite_mercer` learns of the data, whatever the number of columns.

    A frame for every group to choose the spread with, one to keep, and rows to choose on, which
    the former have not seen where that makes a difference; and rows to measure columns on.
    """

    trial: Sequence[Frame]
    final: Sequence[Frame]
    held_out: Floats
    learners: Floats  # rows that are not held out, at most `_LEARNERS`
    stand_for: Floats  # how many rows each of these stands for
    without_far: Framing | None = None  # the same without far rows, if there are any


def framing(kernel: Kernel, X: Matrix, weights: Floats | None = None) -> Framing:
    """The frames of X for every group of a kernel: one pass over X, d^3 for each frame.

    With `weights` (n,), rows of at most `WIDE` columns stand for so many, and none is seen that
    stands for 0. Where rows are far out, there are also frames without them.
    """
    n, d = X.shape
    if weights is not None and d > WIDE:
        raise ValueError(f"rows of {d} columns cannot be weighted, those of {WIDE} can")
    counts = np.ones(n) if weights is None else weights
    rows = np.flatnonzero(counts)
    near = nearness(distances(X, rows))
    whole = n >= MANY or weights is not None
    found = _framing(kernel, X, counts, whole=whole)
    if (near[rows] == 1).all():
        return found
    return replace(found, without_far=_framing(kernel, X, counts * near, whole=whole))


def _framing(kernel: Kernel, X: Matrix, counts: Floats, *, whole: bool) -> Framing:
    groups = kernel.groups(X.shape[1])
    scales = [_scale(group) for group in groups]
    n, d = X.shape
    out = drawn(n, min(_HELD_OUT, -(-n // 5)))
    rest = np.delete(np.arange(n), out)
    out, rest = out[counts[out] > 0], rest[counts[rest] > 0]
    held_out = np.asarray(X[out], dtype=np.float64)
    some = rest[drawn(len(rest), _LEARNERS)]
    learners = np.asarray(X[some], dtype=np.float64) if d <= WIDE else np.empty((0, d))
    measured = learners, counts[some]
    # Too few to split, or so many that it makes no difference.
    if n < 5 or whole:
        frames = _frames(groups, scales, X, counts, moments(X, counts) if d <= WIDE else None)
        return Framing(frames, frames, held_out, *measured)
    others = X[rest]
    seen = moments(others, counts[rest]) if d <= WIDE else None
    everything = None if seen is None else seen + moments(held_out, counts[out])
    trial = _frames(groups, scales, others, counts[rest], seen)
    final = _frames(groups, scales, X, counts, everything)
    return Framing(trial, final, held_out, *measured)


def hermite_mercer(kernel: Kernel, X: Matrix, p: int, learnt: Framing | None = None) -> MercerBasis:
    """The `p` largest eigenfunctions of the kernel under a Gaussian fitted to X, by group.

    The Gaussian kernel has eigenfunctions in closed form under N(mean, f * covariance): in the
    principal frame, products of Hermite functions, with eigenvalues that are products of
    geometric sequences (Zhu et al., 1998; Fasshauer and McCourt, 2012). The largest products over
    all groups are found best-first, every group keeping one where p allows. f is the one of
    `SPREADS` that errs least on rows held out from the covariance, by their residuals and by pairs
    with other rows; far rows do not count in the covariance if that errs less. Data is not
    Gaussian: of the 2 p largest, the p with the largest mean square on rows of X are taken instead
    where that errs less. The expansion holds for every f, mean, rotation and
    choice: data unlike X gives larger residuals, never a wrong bound. One pass over X, d^3 for the
    frame, O(p log p) for the products; deterministic. Fewer than p columns only where the data has
    no variance at all.

    Parameters
    ----------
    kernel : Kernel
        With its numbers resolved; Gaussian, or a sum of Gaussian kernels on groups of axes.
    X : (n, d)
        The data.
    p : int
        Columns.
    learnt : Framing, optional
        `framing` of these rows, or of more, where it is known.

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
    own = framing(kernel, X) if learnt is None else learnt
    left = _judge(kernel, own, p)

    def best(framing: Framing) -> tuple[float, float]:
        errors = [left(_expand(groups, scales, framing.trial, spread, p)) for spread in SPREADS]
        return min(errors), SPREADS[int(np.argmin(errors))]

    error, spread = best(own)
    if own.without_far is not None:
        less, other = best(own.without_far)
        # By the frames that are kept: a far row that is held out does no harm to those on trial.
        plain = left(_expand(groups, scales, own.final, spread, p))
        if left(_expand(groups, scales, own.without_far.final, other, p)) < plain:
            own, error, spread = own.without_far, less, other
    basis = _expand(groups, scales, own.final, spread, p, reflect=True)
    # Reflections, which save most of the cost, need a column of every direction.
    if not len(own.learners) or any(each.mixing is not None for each in basis.expansions):
        return basis
    fullest = _fullest(groups, scales, own.trial, spread, p, own)
    if left(fullest) >= error:
        return basis
    if own.trial is own.final:
        return fullest
    return _fullest(groups, scales, own.final, spread, p, own)


def _judge(kernel: Kernel, learnt: Framing, p: int) -> Callable[[MercerBasis], float]:
    """How wrong a basis is: the mean square of its residuals, times that of its errors on pairs.

    Residuals are of the rows held out, pairs of one of these and one that is not. The residual
    alone is a bound that the outermost rows decide; pairs alone, which are what counts, know
    little of rows further out than any of these. Very wide rows are not kept to be paired with:
    for them the residual has to do.
    """
    held_out = learnt.held_out
    at_zero = kernel.at_zero(held_out.shape[1])
    n_groups = len(kernel.groups(held_out.shape[1]))
    most = _PAIR_VALUES // max(2 * p, len(held_out) * n_groups)
    some = drawn(len(learnt.learners), min(_PAIRED, max(32, most)))
    others, weights = learnt.learners[some], learnt.stand_for[some]
    exact = kernel.gram(held_out, others) if len(others) else None

    def features(rows: Matrix, basis: MercerBasis) -> Floats:
        Z = np.empty((len(rows), basis.n_columns))
        _engine.mercer(rows, basis, Z)
        return Z

    def error(basis: MercerBasis) -> float:
        right = features(others, basis)
        residuals = pairs = 0.0
        rows = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
        for start in range(0, len(held_out), rows):
            left = features(held_out[start : start + rows], basis)
            residuals += float(np.square(at_zero - np.einsum("ij,ij->i", left, left)).sum())
            if exact is not None:
                gap = left @ right.T - exact[start : start + rows]
                pairs += float(np.square(gap).sum(axis=0) @ weights)
        return residuals * (pairs if exact is not None else 1.0)

    return error


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


def _frames(
    groups: Sequence[Group],
    scales: Sequence[Floats],
    X: Matrix,
    weights: Floats,
    moment: Moments | None,
) -> list[Frame]:
    found = []
    for group, scale in zip(groups, scales, strict=True):
        axes = group.axes
        if moment is not None:
            own = Moments(moment.n, moment.mean[axes], moment.scatter[np.ix_(axes, axes)])
            found.append(frame(own, scale))
        elif len(axes) <= WIDE:
            found.append(frame(moments(X[:, axes], weights), scale))
        else:
            found.append(wide_frame(X[:, axes], scale, weights))
    return found


def _expand(
    groups: Sequence[Group],
    scales: Sequence[Floats],
    frames: Sequence[Frame],
    spread: float,
    p: int,
    *,
    reflect: bool = False,
) -> MercerBasis:
    plans = _plans(groups, frames, spread, p)
    return _made(groups, scales, frames, spread, plans, reflect=reflect)


def _made(
    groups: Sequence[Group],
    scales: Sequence[Floats],
    frames: Sequence[Frame],
    spread: float,
    plans: Sequence[Integers],
    *,
    reflect: bool = False,
) -> MercerBasis:
    parts = zip(groups, scales, frames, plans, strict=True)
    make = _reflected if reflect else _expansion
    return MercerBasis(
        tuple(make(own, scale, each, spread, plan) for own, scale, each, plan in parts if len(plan))
    )


def _fullest(
    groups: Sequence[Group],
    scales: Sequence[Floats],
    frames: Sequence[Frame],
    spread: float,
    p: int,
    learnt: Framing,
) -> MercerBasis:
    """Of the 2 p largest columns, the p with the largest mean square on the learners.

    No column is taken without its parent, and every group keeps one where p allows.
    """
    plans = _plans(groups, frames, spread, 2 * p)
    sizes = [len(plan) for plan in plans]
    ends = np.cumsum(sizes)[:-1]
    squares = _mean_squares(_made(groups, scales, frames, spread, plans), learnt)
    own_squares = zip(plans, np.split(squares, ends), strict=True)
    values = np.concatenate([_at_most_of_parents(plan, own) for plan, own in own_squares])
    kept = np.zeros(len(values), dtype=bool)
    kept[best_first.largest(values, np.repeat(np.arange(len(plans)), sizes), p)] = True
    some = [_only(plan, own) for plan, own in zip(plans, np.split(kept, ends), strict=True)]
    return _made(groups, scales, frames, spread, some)


def _plans(
    groups: Sequence[Group], frames: Sequence[Frame], spread: float, p: int
) -> list[Integers]:
    """The p largest columns of all groups: parent, direction and degree, (columns, 3) for each."""
    # Eigenvalues are 2 / (B + 1) * ((B - 1) / (B + 1))^k.
    shapes = [_shape(each, spread) for each in frames]
    with np.errstate(divide="ignore"):
        ratios = [np.log((B - 1) / (B + 1)) for B in shapes]
    roots = [
        float(np.log(group.weight) + np.log(2 / (B + 1)).sum())
        for group, B in zip(groups, shapes, strict=True)
    ]

    found = largest_products(roots, ratios, p)
    # Every group keeps a column where p allows: the others stop where just these are left.
    enough = len(groups) + np.cumsum(found.axis >= 0) >= p
    taken = int(np.argmax(enough)) + 1 if enough.any() else len(enough)
    group, parent, axis, factor = (each[:taken] for each in found[1:])
    by_group = np.argsort(group, kind="stable")
    counts = np.bincount(group, minlength=len(groups))
    starts = np.cumsum(counts) - counts
    place = np.empty(taken, dtype=np.int64)
    place[by_group] = np.arange(taken) - np.repeat(starts, counts)
    # Direction 0 is always multiplied onto the base: its table holds the whole function.
    columns = np.column_stack([np.where(axis > 0, place[parent], -1), np.maximum(axis, 0), factor])
    plans = np.split(columns[by_group].astype(np.int64), starts[1:])
    waiting = sorted(np.flatnonzero(counts == 0), key=lambda g: -roots[g])
    for empty in waiting[: p - taken]:
        plans[empty] = np.array([[-1, 0, 0]])
    return plans


def _mean_squares(basis: MercerBasis, learnt: Framing) -> Floats:
    """Of every column over the learners, in the order of the columns."""
    total = np.zeros(basis.n_columns)
    rows = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
    for start in range(0, len(learnt.learners), rows):
        some = slice(start, start + rows)
        Z = np.empty((len(learnt.learners[some]), basis.n_columns))
        _engine.mercer(learnt.learners[some], basis, Z)
        total += np.einsum("ij,ij,i->j", Z, Z, learnt.stand_for[some])
    return total / learnt.stand_for.sum()


def _at_most_of_parents(plan: Integers, values: Floats) -> Floats:
    """The values of a plan's columns, none larger than that of its parent."""
    limited = values.copy()
    for j, parent in enumerate(plan[:, 0]):
        if parent >= 0:
            limited[j] = min(limited[j], limited[parent])
    return limited


def _only(plan: Integers, kept: npt.NDArray[np.bool_]) -> Integers:
    """A plan of some of its columns, whose parents are among them."""
    place = np.append(np.cumsum(kept) - 1, -1)  # of parent -1, too
    return np.column_stack([place[plan[:, 0]], plan[:, 1:]])[kept]


def _shape(own: Frame, spread: float) -> Floats:
    """B = sqrt(1 + 8 s^2) of every direction, from which everything follows for k = exp(-u^2)."""
    return np.asarray(np.sqrt(1 + 8 * spread * own.variance))


def _expansion(
    group: Group, scale: Floats, own: Frame, spread: float, columns: Integers
) -> Expansion:
    """The plan of `columns` (parent, direction, degree) in a frame."""
    parent, direction, degree = columns.T
    shape = _shape(own, spread)
    used = int(direction.max()) + 1
    # Directions of degree 0 only are treated as if they had no variance: their factor is then
    # exp(-distance^2), whatever their number. It is a difference of squares where they are many,
    # and explicit, without cancellation, where they are few.
    m = own.directions.shape[1]
    if m < len(scale) or len(scale) > used + 64:
        m = used
    sizes = np.ones(m, dtype=np.int64)
    np.maximum.at(sizes, direction, degree + 1)
    B = np.where(sizes > 1, shape[:m], 1.0)
    flat = sizes == 1
    stretch = np.sqrt(4 * B / np.where(flat, 4.0, B * B - 1))
    return Expansion(
        axes=group.axes.astype(np.int64),
        scale=scale,
        mean=own.mean,
        rotation=np.ascontiguousarray(scale[:, None] * own.directions[:, :m] * stretch),
        envelope=np.where(flat, 1.0, (B - 1) / (2 * B)),
        length=stretch**-2,
        ratio=(B - 1) / (B + 1),
        sizes=sizes,
        amplitude=float(np.sqrt(group.weight * np.prod(2 * np.sqrt(B) / (1 + B)))),
        parent=np.ascontiguousarray(parent),
        direction=np.ascontiguousarray(direction),
        degree=np.ascontiguousarray(degree),
    )


def _reflected(
    group: Group, scale: Floats, own: Frame, spread: float, columns: Integers
) -> Expansion:
    """`_expansion`, in a frame that costs less to turn rows into where there is one as good.

    Directions beyond the first r may each be in one column of degree 1 alone. If none is left out,
    what these columns span hardly depends on how they are turned among themselves: r reflections,
    Q = 1 - Y T Y' (Schreiber and Van Loan, 1989), make the first r principal, up to signs, and the
    rest whatever is orthogonal to them.
    """
    parent, direction, degree = columns.T
    d = len(own.mean)
    r = int(direction[(degree > 1) | (parent > 0)].max(initial=0)) + 1
    axes_themselves = np.count_nonzero(own.directions) == d
    if int(direction.max()) + 1 < d or 3 * r > d or axes_themselves:
        return _expansion(group, scale, own, spread, columns)
    Y, T = _compact_reflections(own.directions[:, :r])
    mixing = -T @ Y.T
    directions = np.eye(d) + Y @ mixing
    variance = np.einsum("ij,i->j", np.square(own.directions.T @ directions), own.variance)
    turned = Frame(own.mean, directions, variance)
    made = _expansion(group, scale, turned, spread, columns)
    return replace(
        made,
        rotation=np.ascontiguousarray(scale[:, None] * Y),
        mixing=np.ascontiguousarray(mixing / np.sqrt(made.length)),
    )


def _compact_reflections(V: Floats) -> tuple[Floats, Floats]:
    """Y (d, r) and T (r, r) with V equal to the first columns of 1 - Y T Y', up to signs."""
    raw, tau = np.linalg.qr(V, mode="raw")
    Y = np.tril(raw.T, -1) + np.eye(*V.shape)
    T = np.zeros((len(tau), len(tau)))
    for j, factor in enumerate(tau):
        T[:j, j] = -factor * (T[:j, :j] @ (Y[:, :j].T @ Y[:, j]))
        T[j, j] = factor
    return Y, T
