"""Columns of a Hermite-Mercer expansion: which products of Hermite functions, and their plan.

Under N(mean, f * covariance) the Gaussian kernel has eigenfunctions in closed form: in principal
coordinates, products of Hermite functions (Zhu et al., 1998; Fasshauer and McCourt, 2012).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from .._engine.plans import Expansion, MercerBasis
from .._typing import Floats, Integers
from ..kernels.base import Group
from ..numerics import best_first
from ..numerics.principal_frame import Frame


@dataclass(frozen=True, eq=False)
class Expander:
    """Builds bases of a sum of Gaussian kernels, one group of axes after the other.

    Parameters
    ----------
    groups : the groups of the kernel
    scales : sqrt(gamma) of each group's axes, (axes,)
    frames : the principal frame of each group, of rows times its scale
    spread : float
        f: the eigenfunctions are those under a Gaussian of f times the covariance.
    """

    groups: Sequence[Group]
    scales: Sequence[Floats]
    frames: Sequence[Frame]
    spread: float

    def by_eigenvalue(self, p: int, *, reflect: bool = False) -> MercerBasis:
        """The p columns with the largest eigenvalues, over all groups."""
        return self._basis(self.columns(p), reflect=reflect)

    def by_mean_square(self, p: int, mean_squares: Callable[[MercerBasis], Floats]) -> MercerBasis:
        """Of the 2 p columns with the largest eigenvalues, the p with the largest mean squares.

        No column is taken without its parent, and every group keeps one if p allows.
        """
        candidates = self.columns(2 * p)
        sizes = [len(columns) for columns in candidates]
        ends = np.cumsum(sizes)[:-1]
        squares = np.split(mean_squares(self._basis(candidates)), ends)
        values = np.concatenate(list(map(_at_most_of_parents, candidates, squares)))
        kept = np.zeros(len(values), dtype=bool)
        kept[best_first.largest(values, np.repeat(np.arange(len(sizes)), sizes), p)] = True
        return self._basis(list(map(_only, candidates, np.split(kept, ends))))

    def columns(self, p: int) -> list[Integers]:
        """The p largest eigenvalues as columns of each group: parent, direction, degree, (n, 3).

        Every group has a column if p allows. A column is its parent's times the Hermite
        function of `degree` along `direction`; parent -1 is the group's constant factor.
        """
        # Eigenvalues are 2 / (B + 1) * ((B - 1) / (B + 1))^k.
        shapes = [_shape(frame, self.spread) for frame in self.frames]
        with np.errstate(divide="ignore"):
            ratios = [np.log((B - 1) / (B + 1)) for B in shapes]
        roots = [
            float(np.log(group.weight) + np.log(2 / (B + 1)).sum())
            for group, B in zip(self.groups, shapes, strict=True)
        ]
        products = best_first.largest_products(roots, ratios, p)
        # Stop as soon as the groups without a column need the rest of p.
        enough = len(roots) + np.cumsum(products.axis >= 0) >= p
        taken = int(np.argmax(enough)) + 1 if enough.any() else len(enough)
        group, parent, axis, factor = (column[:taken] for column in products[1:])
        by_group = np.argsort(group, kind="stable")
        counts = np.bincount(group, minlength=len(roots))
        starts = np.cumsum(counts) - counts
        place = np.empty(taken, dtype=np.int64)  # of a product among the columns of its group
        place[by_group] = np.arange(taken) - np.repeat(starts, counts)
        # Direction 0 always multiplies the constant factor: its table holds the whole function.
        parent = np.where(axis > 0, place[parent], -1)
        table = np.column_stack([parent, np.maximum(axis, 0), factor]).astype(np.int64)
        columns = np.split(table[by_group], starts[1:])
        without = sorted(np.flatnonzero(counts == 0), key=lambda g: -roots[g])
        for empty in without[: p - taken]:
            columns[empty] = np.array([[-1, 0, 0]])
        return columns

    def _basis(self, columns: Sequence[Integers], *, reflect: bool = False) -> MercerBasis:
        """The basis of these columns of each group; groups without any are left out."""
        expand = _reflected if reflect else _expansion
        groups = zip(self.groups, self.scales, self.frames, columns, strict=True)
        return MercerBasis(
            tuple(
                expand(group, scale, frame, self.spread, some)
                for group, scale, frame, some in groups
                if len(some)
            )
        )


def _at_most_of_parents(columns: Integers, values: Floats) -> Floats:
    """The values of a group's columns, each limited to that of its parent."""
    limited = values.copy()
    for j, parent in enumerate(columns[:, 0]):
        if parent >= 0:
            limited[j] = min(limited[j], limited[parent])
    return limited


def _only(columns: Integers, kept: npt.NDArray[np.bool_]) -> Integers:
    """Some of a group's columns, including every parent, with parents renumbered."""
    place = np.append(np.cumsum(kept) - 1, -1)  # the last for parent -1
    return np.column_stack([place[columns[:, 0]], columns[:, 1:]])[kept]


def _shape(frame: Frame, spread: float) -> Floats:
    """B = sqrt(1 + 8 s^2) of every direction, which determines everything for k = exp(-u^2)."""
    return np.asarray(np.sqrt(1 + 8 * spread * frame.variance))


def _expansion(
    group: Group, scale: Floats, frame: Frame, spread: float, columns: Integers
) -> Expansion:
    """The engine's plan for `columns` (parent, direction, degree) of one group."""
    parent, direction, degree = columns.T
    shape = _shape(frame, spread)
    used = int(direction.max()) + 1
    # Directions with degree 0 only are treated as if they had no variance: together they contribute
    # exp(-distance^2), however many they are. If they are many, the distance is a difference of
    # squares; if they are few, it is explicit, without cancellation.
    m = frame.directions.shape[1]
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
        mean=frame.mean,
        rotation=np.ascontiguousarray(scale[:, None] * frame.directions[:, :m] * stretch),
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
    group: Group, scale: Floats, frame: Frame, spread: float, columns: Integers
) -> Expansion:
    """`_expansion`, with rows rotated by a few reflections if that is cheaper and as good.

    Often only the first r directions occur in products or in degrees above 1, and every other
    direction has a single column, of degree 1. If no direction is left out, rotating these
    directions hardly changes the span of their columns. So r reflections, Q = 1 - Y T Y' (Schreiber
    and Van Loan, 1989), make the first r directions principal, up to signs, and the others any that
    are orthogonal to them.
    """
    parent, direction, degree = columns.T
    d = len(frame.mean)
    r = int(direction[(degree > 1) | (parent > 0)].max(initial=0)) + 1
    axes_themselves = np.count_nonzero(frame.directions) == d
    if int(direction.max()) + 1 < d or 3 * r > d or axes_themselves:
        return _expansion(group, scale, frame, spread, columns)
    Y, T = _compact_reflections(frame.directions[:, :r])
    mixing = -T @ Y.T
    directions = np.eye(d) + Y @ mixing
    variance = np.einsum("ij,i->j", np.square(frame.directions.T @ directions), frame.variance)
    turned = Frame(frame.mean, directions, variance)
    expansion = _expansion(group, scale, turned, spread, columns)
    return replace(
        expansion,
        rotation=np.ascontiguousarray(scale[:, None] * Y),
        mixing=np.ascontiguousarray(mixing / np.sqrt(expansion.length)),
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
