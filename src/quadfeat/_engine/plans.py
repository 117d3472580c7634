"""Plans: everything the engine needs to turn rows into features.

`check()` checks the rules of a plan and raises a ValueError for the first one that is broken. The
dispatcher calls it before packing a plan, storage after reading one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from .._checks import require
from .._typing import Floats, Integers, Matrix


@dataclass(frozen=True, eq=False)
class FourierPlan:
    """Groups of axes with nodes: one cosine and one sine column per group and node.

    Parameters
    ----------
    n_features : int
        Columns of X.
    axes : (axes_ptr[-1],) int64
        The axes of group g are ``axes[axes_ptr[g]:axes_ptr[g + 1]]``.
    axes_ptr : (G + 1,) int64
    group_nodes : (G,) int64
        The node set of group g; groups may share one.
    nodes : flat float64
        Angular frequencies; node set after node set, each row-major (nodes, axes of its groups).
    node_ptr : (S + 1,) int64
        Node set s has ``node_ptr[s + 1] - node_ptr[s]`` nodes.
    amplitudes : (node_ptr[-1],) float64
    constant : float
        The value of one more, last column; zero for no such column.
    """

    n_features: int
    axes: Integers
    axes_ptr: Integers
    group_nodes: Integers
    nodes: Floats
    node_ptr: Integers
    amplitudes: Floats
    constant: float = 0.0

    @classmethod
    def from_groups(
        cls,
        n_features: int,
        groups: Sequence[Sequence[int] | Integers],
        nodes: Sequence[Matrix],
        amplitudes: Sequence[Matrix],
        group_nodes: Sequence[int] | Integers | None = None,
        constant: float = 0.0,
    ) -> FourierPlan:
        """A plan from one tuple of axes per group and one (m, g) array of nodes per node set."""
        shared = np.arange(len(groups)) if group_nodes is None else np.asarray(group_nodes)
        return cls(
            n_features=int(n_features),
            axes=_join(groups, np.int64),
            axes_ptr=_offsets([len(group) for group in groups]),
            group_nodes=np.ascontiguousarray(shared, dtype=np.int64),
            nodes=_join([np.ravel(values) for values in nodes], np.float64),
            node_ptr=_offsets([len(values) for values in nodes]),
            amplitudes=_join(amplitudes, np.float64),
            constant=float(constant),
        )

    @classmethod
    def dense(cls, nodes: Matrix, amplitudes: Matrix, constant: float = 0.0) -> FourierPlan:
        """A plan with a single group: every node uses every axis.

        >>> from quadfeat._engine import fourier
        >>> plan = FourierPlan.dense(np.array([[np.pi, 0.0]]), np.array([2.0]))
        >>> out = np.empty((1, 2))
        >>> fourier(np.array([[1.0, 5.0]]), plan, out)
        >>> out.round(12) + 0.0
        array([[-2.,  0.]])
        """
        axes = [np.arange(nodes.shape[1])]
        return cls.from_groups(nodes.shape[1], axes, [nodes], [amplitudes], constant=constant)

    def check(self) -> None:
        """Raise a ValueError if the arrays do not fit together or are not finite."""
        _check_offsets("axes_ptr", self.axes_ptr, len(self.axes))
        _check_offsets("node_ptr", self.node_ptr, len(self.amplitudes))
        _check_lengths(self, group_nodes=len(self.axes_ptr) - 1)
        _check_indices("axes", self.axes, self.n_features)
        n_sets, lengths = len(self.node_ptr) - 1, np.diff(self.axes_ptr)
        _check_indices("group_nodes", self.group_nodes, n_sets)
        set_lengths = np.full(n_sets, -1, dtype=np.int64)
        set_lengths[self.group_nodes] = lengths
        same = set_lengths[self.group_nodes] == lengths
        require(bool(same.all()), "groups of different sizes share nodes")
        require(bool((set_lengths >= 0).all()), "a node set belongs to no group")
        counts = zip(np.diff(self.node_ptr).tolist(), set_lengths.tolist(), strict=True)
        _check_lengths(self, nodes=sum(nodes * axes for nodes, axes in counts))
        _check_finite(self, "nodes", "amplitudes", "constant")

    @cached_property
    def n_columns(self) -> int:
        """Columns of the output."""
        sizes = np.diff(self.node_ptr)
        return 2 * int(sizes[self.group_nodes].sum()) + (self.constant != 0)

    @cached_property
    def largest_node(self) -> float:
        """The largest sum of |frequency| over axes: times the largest |x|, it bounds an angle."""
        return max((_longest(nodes) for nodes, _ in self.node_sets()), default=0.0)

    @cached_property
    def mean_frequencies(self) -> Floats:
        """(n_features,): the sum of weight * |frequency| on each axis, over all nodes."""
        total, sets = np.zeros(self.n_features), self.node_sets()
        sums = [np.square(amplitudes) @ np.abs(nodes) for nodes, amplitudes in sets]
        for chosen, axes in zip(self.group_nodes, self.group_axes(), strict=True):
            total[axes] += sums[chosen]
        return total

    @property
    def n_groups(self) -> int:
        """Groups of axes."""
        return len(self.axes_ptr) - 1

    def group_axes(self) -> list[Integers]:
        """The axes of every group."""
        return np.split(self.axes, self.axes_ptr[1:-1])

    def largest_angle(self, reach: Matrix) -> float:
        """The largest angle of a row with |x_i| <= reach[i] (d,), at the cost of one row."""
        sets, groups = self.node_sets(), self.group_axes()
        angles = (
            (np.abs(sets[chosen][0]) @ reach[axes]).max(initial=0.0)
            for chosen, axes in zip(self.group_nodes, groups, strict=True)
        )
        return float(max(angles, default=0.0))

    def node_sets(self) -> list[tuple[Floats, Floats]]:
        """The nodes (m, g) and amplitudes (m,) of every node set."""
        lengths = np.zeros(len(self.node_ptr) - 1, dtype=np.int64)
        lengths[self.group_nodes] = np.diff(self.axes_ptr)
        start, sets = 0, []
        for first, last, length in zip(self.node_ptr[:-1], self.node_ptr[1:], lengths, strict=True):
            stop = start + (last - first) * length
            nodes = self.nodes[start:stop].reshape(last - first, length)
            sets.append((nodes, self.amplitudes[first:last]))
            start = stop
        return sets


@dataclass(frozen=True, eq=False)
class KroneckerPlan:
    """Groups of 1-D feature entries, each multiplied out: the full grids.

    Parameters
    ----------
    n_features : int
        Columns of X.
    entry_axis : (T,) int64
        The column of X that entry t reads.
    entry_ptr : (T + 1,) int64
        Its positive frequencies are ``entry_nodes[entry_ptr[t]:entry_ptr[t + 1]]``.
    entry_nodes, entry_amplitudes : flat float64
    entry_middle : (T,) float64
        The amplitude of the zero node; 0 if there is none. The features of an entry are the
        middle (if it is not zero), the cosines, the sines.
    group_ptr : (G + 1,) int64
        Group g multiplies out ``group_entries[group_ptr[g]:group_ptr[g + 1]]``, first slowest.
    group_entries : (group_ptr[-1],) int64
    group_scale : (G,) float64
        Multiplies every column of the group.

    Notes
    -----
    If all entries of a group have a middle, its first column is constant. These columns are
    replaced by a single last column, the root of the sum of their squares.
    """

    n_features: int
    entry_axis: Integers
    entry_ptr: Integers
    entry_nodes: Floats
    entry_amplitudes: Floats
    entry_middle: Floats
    group_ptr: Integers
    group_entries: Integers
    group_scale: Floats

    @classmethod
    def from_groups(
        cls,
        n_features: int,
        entries: Sequence[tuple[int, Matrix, Matrix, float]],
        groups: Sequence[Sequence[int] | Integers],
        group_scale: Matrix | None = None,
    ) -> KroneckerPlan:
        """A plan from (axis, nodes, amplitudes, middle) per entry and the entries of each group."""
        scale = np.ones(len(groups)) if group_scale is None else group_scale
        return cls(
            n_features=int(n_features),
            entry_axis=np.array([entry[0] for entry in entries], dtype=np.int64),
            entry_ptr=_offsets([len(entry[1]) for entry in entries]),
            entry_nodes=_join([entry[1] for entry in entries], np.float64),
            entry_amplitudes=_join([entry[2] for entry in entries], np.float64),
            entry_middle=np.array([entry[3] for entry in entries], dtype=np.float64),
            group_ptr=_offsets([len(group) for group in groups]),
            group_entries=_join(groups, np.int64),
            group_scale=np.ascontiguousarray(scale, dtype=np.float64),
        )

    def check(self) -> None:
        """Raise a ValueError if the arrays do not fit together or are not finite."""
        n_entries = len(self.entry_axis)
        _check_offsets("entry_ptr", self.entry_ptr, len(self.entry_nodes))
        _check_offsets("group_ptr", self.group_ptr, len(self.group_entries))
        _check_lengths(
            self,
            entry_ptr=n_entries + 1,
            entry_amplitudes=len(self.entry_nodes),
            entry_middle=n_entries,
            group_scale=len(self.group_ptr) - 1,
        )
        _check_indices("entry_axis", self.entry_axis, self.n_features)
        _check_indices("group_entries", self.group_entries, n_entries)
        require(bool((np.diff(self.group_ptr) > 0).all()), "a group has no entries")
        _check_finite(self, "entry_nodes", "entry_amplitudes", "entry_middle", "group_scale")

    @cached_property
    def n_columns(self) -> int:
        """Columns of the output."""
        widths = 2 * np.diff(self.entry_ptr) + (self.entry_middle != 0)
        dropped = [bool(np.all(self.entry_middle[group] != 0)) for group in self.groups()]
        total = sum(_product(widths[group].tolist()) for group in self.groups())
        return total - sum(dropped) + any(dropped)

    @cached_property
    def largest_node(self) -> float:
        """The largest frequency: times the largest |x|, it bounds an angle."""
        return float(self.entry_nodes.max(initial=0.0))

    def largest_angle(self, reach: Matrix) -> float:
        """The largest angle of a row with |x_i| <= reach[i] (d,), at the cost of one row."""
        columns = np.repeat(self.entry_axis, np.diff(self.entry_ptr))
        return float((self.entry_nodes * reach[columns]).max(initial=0.0))

    @cached_property
    def mean_frequencies(self) -> Floats:
        """(n_features,): the sum of weight * |frequency| on each axis, over all nodes."""
        total = np.zeros(self.n_features)
        for scale, entries in zip(self.group_scale, self.groups(), strict=True):
            for t in entries:
                some = slice(self.entry_ptr[t], self.entry_ptr[t + 1])
                mean = np.square(self.entry_amplitudes[some]) @ self.entry_nodes[some]
                total[self.entry_axis[t]] += scale**2 * mean
        return total

    @property
    def n_groups(self) -> int:
        """Groups of axes."""
        return len(self.group_ptr) - 1

    def group_axes(self) -> list[Integers]:
        """The axes of every group."""
        return [self.entry_axis[entries] for entries in self.groups()]

    def groups(self) -> list[Integers]:
        """The entries of every group."""
        return np.split(self.group_entries, self.group_ptr[1:-1])


@dataclass(frozen=True, eq=False)
class Expansion:
    """Eigenfunctions of one Gaussian kernel, as a plan: one multiply per feature.

    With t = (x[axes] - mean) @ rotation, the features are products over directions of Hermite
    functions sqrt(lambda_k) phi_k(t_i). Direction 0 has a table of these functions, every other
    direction one of their ratios to k = 0; `base` is the product of the k = 0 functions of all
    directions except 0. Column j is table[direction[j]][degree[j]] times column parent[j], or times
    the base where parent[j] is -1; parents come before their children.

    Table i has `sizes[i]` entries q_0, q_1, ... with q_{k+1} = sqrt(2 r / (k + 1)) t q_k
    - r sqrt(k / (k + 1)) q_{k-1} and r = `ratio[i]`; q_0 is 1, or, for direction 0,
    exp(-`envelope[0]` t^2). The base is `amplitude` * exp(-sum_{i>0} envelope[i] t_i^2 - rest),
    where rest = |scale * (x[axes] - mean)|^2 - sum_i `length[i]` t_i^2 is the squared distance
    from the span of the directions, and 0 if there are as many directions as axes.

    With `projection` (columns, q) the features are these columns times it.

    With `mixing` (r, m), allowed if there are as many directions as axes, t is (x[axes] - mean)
    * scale / sqrt(length) + ((x[axes] - mean) @ rotation) @ mixing: a rotation by r reflections,
    which costs 2 r m multiply-adds instead of m^2.
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
        """Columns of the output."""
        return len(self.parent) if self.projection is None else self.projection.shape[1]

    def check(self) -> None:
        """Raise a ValueError if the arrays do not fit together or are out of range."""
        a, m, columns = len(self.axes), len(self.sizes), len(self.parent)
        require(a > 0 and m > 0, "an expansion has no axes, or no directions")
        require(columns > 0, "an expansion has no columns")
        shapes = {
            "scale": (a,),
            "mean": (a,),
            "rotation": (a, m if self.mixing is None else len(self.mixing)),
            "envelope": (m,),
            "length": (m,),
            "ratio": (m,),
            "direction": (columns,),
            "degree": (columns,),
        }
        for name, shape in shapes.items():
            actual = getattr(self, name).shape
            require(actual == shape, f"{name} has shape {actual}, not {shape}")
        require(int(self.axes.min()) >= 0, f"axes holds {self.axes.min()}, which is negative")
        _check_finite(self, "mean", "scale", "rotation", "envelope", "length", "ratio", "amplitude")
        nonnegative = bool((self.envelope >= 0).all() and (self.ratio >= 0).all())
        require(nonnegative, "envelope and ratio must not be negative")
        if self.mixing is not None:
            require(
                a == m == self.mixing.shape[1] and 0 < len(self.mixing) <= a,
                f"a mixing of shape {self.mixing.shape} does not fit {a} axes and {m} directions",
            )
            _check_finite(self, "mixing")
            require(bool((self.length > 0).all()), "a direction has no length")
        if self.projection is not None:
            require(len(self.projection) == columns, "a projection does not fit its columns")
        self._check_columns()

    def _check_columns(self) -> None:
        wrong = np.flatnonzero((self.parent < -1) | (self.parent >= np.arange(len(self.parent))))
        if len(wrong):
            parent = self.parent[wrong[0]]
            raise ValueError(
                f"parent of column {wrong[0]} is {parent}, not a column before it or -1"
            )
        outside = self.sizes[(self.sizes < 1) | (self.sizes > _MOST_TERMS)]
        if len(outside):
            raise ValueError(f"sizes holds {outside[0]}, which is outside of [1, {_MOST_TERMS}]")
        _check_indices("direction", self.direction, len(self.sizes))
        tables = self.sizes[self.direction]
        wrong = np.flatnonzero((self.degree < 0) | (self.degree >= tables))
        if len(wrong):
            raise ValueError(
                f"degree holds {self.degree[wrong[0]]}, but direction {self.direction[wrong[0]]} "
                f"has a table of size {tables[wrong[0]]}"
            )


@dataclass(frozen=True, eq=False)
class MercerBasis:
    """The columns of several expansions, one per group of the kernel, times `projection`.

    `projection` (columns, p) has orthonormal columns; None is the identity.
    """

    expansions: tuple[Expansion, ...]
    projection: Floats | None = None

    @property
    def n_pool(self) -> int:
        """Columns before the projection."""
        return sum(expansion.n_columns for expansion in self.expansions)

    @property
    def n_columns(self) -> int:
        """Columns of the output."""
        return self.n_pool if self.projection is None else self.projection.shape[1]

    def check(self) -> None:
        """Raise a ValueError if an expansion is wrong, or the projection does not fit."""
        require(len(self.expansions) > 0, "a basis is empty")
        for expansion in self.expansions:
            expansion.check()
        if self.projection is not None:
            require(len(self.projection) == self.n_pool, "a projection does not fit its columns")


_MOST_TERMS = 1 << 16  # steps of a recurrence: more could lift a zero from `lowest` in exp.hpp


def _longest(nodes: Floats) -> float:
    return float(np.linalg.norm(nodes, ord=1, axis=1).max(initial=0.0))


def _product(widths: list[int]) -> int:
    """The product, at most 2^62, so that a damaged file cannot overflow or blow it up."""
    product = 1
    for width in widths:
        product = min(product * width, 1 << 62)
    return product


def _offsets(counts: Sequence[int]) -> Integers:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def _join(parts: Sequence[Any], dtype: Any) -> Any:
    if len(parts) == 1:  # one group: do not copy what may be most of the memory
        return np.ascontiguousarray(parts[0], dtype=dtype)
    return np.concatenate([np.asarray(part, dtype=dtype) for part in parts] or [np.empty(0, dtype)])


def _check_offsets(name: str, offsets: Integers, total: int) -> None:
    rises = len(offsets) > 0 and bool((np.diff(offsets) >= 0).all())
    require(
        rises and offsets[0] == 0 and offsets[-1] == total,
        f"{name} does not cut {total} entries: it must rise from 0 to {total}",
    )


def _check_indices(name: str, values: Integers, count: int) -> None:
    outside = values[(values < 0) | (values >= count)]
    if len(outside):
        raise ValueError(f"{name} holds {outside[0]}, an index outside of [0, {count})")


def _check_lengths(plan: Any, **lengths: int) -> None:
    for name, length in lengths.items():
        actual = len(getattr(plan, name))
        require(actual == length, f"{name} has {actual} values, not {length}")


def _check_finite(plan: Any, *names: str) -> None:
    for name in names:
        require(bool(np.isfinite(getattr(plan, name)).all()), f"{name} must be finite")
