"""Hermite-Mercer eigenfunctions: an expansion of the Gaussian kernel around the data.

Features z with k(x, y) - z(x) . z(y) positive semi-definite, so that the residual
r(x) = k(x, x) - |z(x)|^2 bounds the error of every pair: |k(x, y) - z(x) . z(y)| is at most
sqrt(r(x) r(y)) by Cauchy and Schwarz, for any data, seen or not.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _engine
from .frames import WIDE, Frame, Moments, frame, largest_products, moments, wide_frame
from .kernels import AxisKernels, Gaussian, Group, Kernel
from .rules import Floats

Matrix = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

# Multiples of the data's covariance that are tried for the Gaussian of the expansion.
SPREADS = (0.35, 0.5, 0.7, 1.0, 1.4, 2.0, 2.8)

MANY = 20_000  # rows, beyond which a thousand are not missed if others stand for them

_HELD_OUT = 1000
_LEARNERS = 4000  # rows that the mean squares of columns are of
BLOCK_ENTRIES = 2**19


@dataclass(frozen=True, eq=False)
class Expansion:
    """Eigenfunctions of one Gaussian kernel, as a plan: one multiply per feature.

    With t = (x[axes] - mean) @ rotation, the features are products over directions of Hermite
    functions sqrt(lambda_k) phi_k(t_i). Direction 0 has a table of those functions themselves,
    every other direction one of their ratios to k = 0; `base` is the product of the k = 0
    functions of all directions but 0. Column j is table[direction[j]][degree[j]] times column
    parent[j], or times the base where parent[j] is -1; parents come before their children.

    Table i has `sizes[i]` entries q_0, q_1, ... with q_{k+1} = sqrt(2 r / (k + 1)) t q_k
    - r sqrt(k / (k + 1)) q_{k-1} and r = `ratio[i]`; q_0 is 1, or, for direction 0,
    exp(-`envelope[0]` t^2). The base is `amplitude` * exp(-sum_{i>0} envelope[i] t_i^2 - rest),
    where rest = |scale * (x[axes] - mean)|^2 - sum_i `length[i]` t_i^2 is the squared distance
    from the span of the directions, and 0 if there are as many directions as axes.

    With `projection` (columns, q) the features are those columns times it.

    With `mixing` (r, m), where directions are as many as axes, t is (x[axes] - mean) * scale
    / sqrt(length), with ((x[axes] - mean) @ rotation) @ mixing added: a rotation by r reflections,
    which is 2 r m multiply-adds instead of m^2.
    """

    axes: Integers  # (a,) columns of X
    scale: Floats  # (a,) sqrt(gamma)
    mean: Floats  # (a,)
    rotation: Floats  # (a, m), or (a, r)
    envelope: Floats  # (m,)
    length: Floats  # (m,)
    ratio: Floats  # (m,)
    sizes: Integers  # (m,)
    amplitude: float
    parent: Integers  # (columns,)
    direction: Integers  # (columns,)
    degree: Integers  # (columns,)
    projection: Floats | None = None
    mixing: Floats | None = None

    @property
    def n_columns(self) -> int:
        return len(self.parent) if self.projection is None else self.projection.shape[1]


@dataclass(frozen=True, eq=False)
class MercerBasis:
    """One expansion per group of the kernel that has columns; their columns times `projection`.

    `projection` (columns, p) has orthonormal columns; None is the identity.
    """

    expansions: tuple[Expansion, ...]
    projection: Floats | None = None

    @property
    def n_pool(self) -> int:
        """Columns before the projection."""
        return sum(each.n_columns for each in self.expansions)

    @property
    def n_columns(self) -> int:
        return self.n_pool if self.projection is None else self.projection.shape[1]


# --- evaluation -------------------------------------------------------------------------------
def evaluate(X: Matrix, basis: MercerBasis, out: Matrix) -> None:
    """Write the features of X (n, d) into out (n, columns), one expansion after another."""
    rows = max(1, BLOCK_ENTRIES // max(len(each.parent) for each in basis.expansions))
    for start in range(0, len(X), rows):
        some = slice(start, start + rows)
        if basis.projection is None:
            _pool(X[some], basis, out[some])
        else:
            pool = np.empty((len(X[some]), basis.n_pool), dtype=X.dtype)
            _pool(X[some], basis, pool)
            out[some] = _product(pool, basis.projection.astype(X.dtype))


def _pool(X: Matrix, basis: MercerBasis, out: Matrix) -> None:
    """Write the columns of all expansions, before the projection of the basis."""
    stop = 0
    for each in basis.expansions:
        start, stop = stop, stop + each.n_columns
        out[:, start:stop] = _features(X[:, each.axes], each)


def _features(X: Matrix, expansion: Expansion) -> Matrix:
    with np.errstate(over="ignore", under="ignore", invalid="ignore"):
        tables, base = _tables(X, expansion)
        offset = np.cumsum([0, *expansion.sizes[:-1]])
        factor = offset[expansion.direction] + expansion.degree
        columns = np.empty((len(expansion.parent), len(X)), dtype=X.dtype)
        for j, (parent, row) in enumerate(zip(expansion.parent, factor, strict=True)):
            np.multiply(base if parent < 0 else columns[parent], tables[row], out=columns[j])
        if expansion.projection is None:
            return columns.T
        return _product(columns.T, expansion.projection.astype(X.dtype))


def _tables(X: Matrix, expansion: Expansion) -> tuple[Matrix, Matrix]:
    """The tables of all directions under each other (sum of sizes, n), and the base (n,)."""
    dtype = X.dtype
    # The mean is subtracted before the product: a large one would cost the digits of t.
    centred = X - expansion.mean.astype(dtype)
    t = _product(centred, expansion.rotation.astype(dtype))
    if expansion.mixing is not None:
        straight = expansion.scale / np.sqrt(expansion.length)
        t = centred * straight.astype(dtype) + _product(t, expansion.mixing.astype(dtype))
    t = t.T
    squares = t * t
    exponent = expansion.envelope[1:].astype(dtype) @ squares[1:]
    if len(expansion.sizes) < len(expansion.axes):
        scaled = centred * expansion.scale.astype(dtype)
        rest = np.einsum("ij,ij->i", scaled, scaled) - expansion.length.astype(dtype) @ squares
        exponent = exponent + np.maximum(rest, 0)
    base = expansion.amplitude * np.exp(-np.where(np.isfinite(exponent), exponent, np.inf))
    tables = np.empty((int(expansion.sizes.sum()), len(X)), dtype=dtype)
    stop = 0
    for i, size in enumerate(expansion.sizes):
        start, stop = stop, stop + int(size)
        table = tables[start:stop]
        if i == 0:
            _hermite_functions(t[i], expansion.ratio[i], expansion.envelope[i], table)
        else:
            _hermite_ratios(t[i], expansion.ratio[i], expansion.envelope[i], table)
    return tables, base.astype(dtype)


def _hermite_functions(t: Matrix, ratio: float, envelope: float, table: Matrix) -> None:
    """q_k(t) with q_0 = exp(-envelope t^2), stable also where that underflows and q_k does not.

    What is carried is q_k / q_0; when it has grown, a power of two moves into the exponent.
    """
    exponent = -t.dtype.type(envelope) * t * t
    shrink, step = t.dtype.type(2.0**-40), t.dtype.type(40 * np.log(2.0))
    previous, current, factor = np.zeros_like(t), np.ones_like(t), np.exp(exponent)
    t = np.clip(t, -(2.0**40), 2.0**40)  # so that one step cannot overflow
    table[0] = factor
    for k, (rise, fall) in enumerate(_recurrence(ratio, len(table), t.dtype)):
        previous, current = current, rise * t * current - fall * previous
        large = np.abs(current) > 1 / shrink
        if large.any():
            previous[large] *= shrink
            current[large] *= shrink
            exponent[large] += step
            factor = np.exp(exponent)
        table[k + 1] = current * factor


def _hermite_ratios(t: Matrix, ratio: float, envelope: float, table: Matrix) -> None:
    """q_k(t) with q_0 = 1: polynomials, which only ever multiply columns that vanish faster."""
    # Beyond this limit the envelope, and so every such column, is 0; the polynomials stay finite.
    limit = np.sqrt(0.9 * np.log(np.finfo(t.dtype).max) / envelope)
    t = np.clip(t, -limit, limit).astype(t.dtype)
    table[0] = 1
    for k, (rise, fall) in enumerate(_recurrence(ratio, len(table), t.dtype)):
        table[k + 1] = rise * t * table[k]
        if k:
            table[k + 1] -= fall * table[k - 1]


def _recurrence(ratio: float, size: int, dtype: Any) -> Iterator[tuple[Any, Any]]:
    for k in range(size - 1):
        rise, fall = np.sqrt(2 * ratio / (k + 1)), ratio * np.sqrt(k / (k + 1))
        yield dtype.type(rise), dtype.type(fall)


def _product(left: Matrix, right: Matrix) -> Matrix:
    # NumPy multiplies one row by another path than many, and the last bit differs.
    if len(left) == 1:
        return np.asarray((np.concatenate([left, left]) @ right)[:1])
    return np.asarray(left @ right)


def residual(X: Matrix, basis: MercerBasis, at_zero: float) -> Floats:
    """r(x) = k(x, x) - |z(x)|^2 for the rows of X, (n,): 0 where the features are exact.

    Never negative but for rounding; |k(x, y) - z(x) . z(y)| <= sqrt(r(x) r(y)) for all x and y.
    """
    left = np.full(len(X), at_zero)
    rows = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
    for start in range(0, len(X), rows):
        some = X[start : start + rows]
        Z = np.empty((len(some), basis.n_columns), dtype=X.dtype)
        _engine.mercer(some, basis, Z, twin=evaluate)
        left[start : start + rows] -= np.einsum("ij,ij->i", Z, Z, dtype=np.float64)
    return left


# --- construction -----------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Framing:
    """What `hermite_mercer` learns of the data, whatever the number of columns.

    A frame for every group to choose the spread with, one to keep, and rows to choose on, which
    the former have not seen where that makes a difference; and rows to measure columns on.
    """

    trial: Sequence[Frame]
    final: Sequence[Frame]
    held_out: Matrix
    learners: Matrix  # rows that are not held out, at most `_LEARNERS`
    stand_for: Floats  # how many rows each of these stands for


def framing(kernel: Kernel, X: Matrix, weights: Floats | None = None) -> Framing:
    """The frames of X for every group of a kernel: one pass over X, d^3 for each frame.

    With `weights` (n,), rows of at most `WIDE` columns stand for so many, and none is seen that
    stands for 0.
    """
    groups = kernel.groups(X.shape[1])
    scales = [_scale(group) for group in groups]
    n, d = X.shape
    if weights is not None and d > WIDE:
        raise ValueError(f"rows of {d} columns cannot be weighted, those of {WIDE} can")
    counts = np.ones(n) if weights is None else weights
    step = max(5, n // _HELD_OUT)
    held_out = np.asarray(X[::step], dtype=np.float64)[counts[::step] > 0]
    rest = np.flatnonzero((np.arange(n) % step != 0) & (counts > 0))
    some = rest[np.linspace(0, len(rest) - 1, min(_LEARNERS, len(rest))).astype(np.intp)]
    learners = np.asarray(X[some], dtype=np.float64) if d <= WIDE else np.empty((0, d))
    measured = learners, counts[some]
    # Too few to split, or so many that it makes no difference.
    if n < step or n >= MANY or weights is not None:
        frames = _frames(groups, scales, X, moments(X, weights) if d <= WIDE else None)
        return Framing(frames, frames, held_out, *measured)
    others = X[rest]
    seen = moments(others) if d <= WIDE else None
    everything = None if seen is None else seen + moments(held_out)
    trial, final = _frames(groups, scales, others, seen), _frames(groups, scales, X, everything)
    return Framing(trial, final, held_out, *measured)


def hermite_mercer(kernel: Kernel, X: Matrix, p: int, learnt: Framing | None = None) -> MercerBasis:
    """The `p` largest eigenfunctions of the kernel under a Gaussian fitted to X, by group.

    The Gaussian kernel has eigenfunctions in closed form under N(mean, f * covariance): in the
    principal frame, products of Hermite functions, with eigenvalues that are products of
    geometric sequences (Zhu et al., 1998; Fasshauer and McCourt, 2012). The largest products over
    all groups are found best-first, every group keeping one where p allows. f is the one of
    `SPREADS` with the least mean squared residual on rows held out from the covariance. Data is
    not Gaussian: of the 2 p largest, the p with the largest mean square on rows of X are taken
    instead where that leaves less on the rows held out. The expansion holds for every f, mean,
    rotation and choice: data unlike X gives larger residuals, never a wrong bound. One pass over
    X, d^3 for the frame, O(p log p) for the products; deterministic. Fewer than p columns only
    where the data has no variance at all.

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
    >>> X = np.random.default_rng(0).normal(size=(200, 2))
    >>> basis = hermite_mercer(Gaussian(0.5), X, 100)
    >>> float(residual(X, basis, 1.0).mean()) < 1e-3
    True
    """
    groups = kernel.groups(X.shape[1])
    scales = [_scale(group) for group in groups]
    own = framing(kernel, X) if learnt is None else learnt
    at_zero = sum(group.weight for group in groups)
    errors = []
    for spread in SPREADS:
        basis = _expand(groups, scales, own.trial, spread, p)
        errors.append(float(np.mean(residual(own.held_out, basis, at_zero) ** 2)))
    spread, error = SPREADS[int(np.argmin(errors))], min(errors)
    basis = _expand(groups, scales, own.final, spread, p, reflect=True)
    # Reflections, which save most of the cost, need a column of every direction.
    if not len(own.learners) or any(each.mixing is not None for each in basis.expansions):
        return basis
    fullest = _fullest(groups, scales, own.trial, spread, p, own)
    if np.mean(residual(own.held_out, fullest, at_zero) ** 2) >= error:
        return basis
    if own.trial is own.final:
        return fullest
    return _fullest(groups, scales, own.final, spread, p, own)


def _scale(group: Group) -> Floats:
    """sqrt(gamma) per axis of a Gaussian kernel; an error for every other kernel."""
    kernel, d = group.kernel, len(group.axes)
    if isinstance(kernel, Gaussian):
        return np.sqrt(np.broadcast_to(np.asarray(kernel.gamma, dtype=np.float64), (d,)))
    if isinstance(kernel, AxisKernels):
        axes = [kernel.axis(i) for i in range(d)]
        gammas = [float(axis.gamma) for axis in axes if isinstance(axis, Gaussian)]
        if len(gammas) == d:
            return np.sqrt(gammas)
    raise ValueError(
        f"Hermite-Mercer features exist for Gaussian kernels and sums of them, not for "
        f"{kernel!r}; Landmarks works for every kernel"
    )


def _frames(
    groups: Sequence[Group], scales: Sequence[Floats], X: Matrix, moment: Moments | None
) -> list[Frame]:
    found = []
    for group, scale in zip(groups, scales, strict=True):
        axes = group.axes
        if moment is not None:
            own = Moments(moment.n, moment.mean[axes], moment.scatter[np.ix_(axes, axes)])
            found.append(frame(own, scale))
        elif len(axes) <= WIDE:
            found.append(frame(moments(X[:, axes]), scale))
        else:
            found.append(wide_frame(X[:, axes], scale))
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
    kept[largest(values, np.repeat(np.arange(len(plans)), sizes), p)] = True
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

    def drop(group: int, axis: int, index: int) -> float:
        return index * float(ratios[group][axis]) if axis < len(ratios[group]) else -np.inf

    # Columns of each group: parent, direction, degree.
    columns: list[list[tuple[int, int, int]]] = [[] for _ in groups]
    place: list[int] = []
    waiting = set(range(len(groups)))
    for product in largest_products(roots, drop):
        own = columns[product.group]
        # Direction 0 is always multiplied onto the base: its table holds the whole function.
        own.append(
            (place[product.parent], product.axis, product.factor)
            if product.axis > 0
            else (-1, 0, product.factor)
        )
        place.append(len(own) - 1)
        waiting.discard(product.group)
        if len(place) + len(waiting) >= p:
            break
    for group in sorted(waiting, key=lambda g: -roots[g])[: p - len(place)]:
        columns[group].append((-1, 0, 0))
    return [np.array(plan, dtype=np.int64).reshape(-1, 3) for plan in columns]


def _mean_squares(basis: MercerBasis, learnt: Framing) -> Floats:
    """Of every column over the learners, in the order of the columns."""
    total = np.zeros(basis.n_columns)
    rows = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
    for start in range(0, len(learnt.learners), rows):
        some = slice(start, start + rows)
        Z = np.empty((len(learnt.learners[some]), basis.n_columns))
        _engine.mercer(learnt.learners[some], basis, Z, twin=evaluate)
        total += np.einsum("ij,ij,i->j", Z, Z, learnt.stand_for[some])
    return total / learnt.stand_for.sum()


def _at_most_of_parents(plan: Integers, values: Floats) -> Floats:
    """The values of a plan's columns, none larger than that of its parent."""
    limited = values.copy()
    for j, parent in enumerate(plan[:, 0]):
        if parent >= 0:
            limited[j] = min(limited[j], limited[parent])
    return limited


def largest(values: Floats, owner: npt.NDArray[np.intp], p: int) -> npt.NDArray[np.intp]:
    """Positions of the p largest values, one of every owner among them where p allows."""
    order = np.argsort(-values, kind="stable")
    firsts = np.unique(owner[order], return_index=True)[1]
    return np.concatenate([order[np.sort(firsts)], np.delete(order, firsts)])[:p]


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
