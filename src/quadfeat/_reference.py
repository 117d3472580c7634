"""Evaluation as short, obvious NumPy: it defines every answer of the compiled engine.

A plan is a frozen bundle of arrays, made once by ``fit``. `fourier` and `kronecker` evaluate one
for the rows of X; they work in the dtype of X, a block of rows at a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating[Any]]
Indices = NDArray[np.int64]
Doubles = NDArray[np.float64]

_BLOCK_ELEMENTS = 1 << 18  # of the temporaries of one group, which then stay in the cache


@dataclass(frozen=True, eq=False)
class FourierPlan:
    """Groups of axes, each with nodes: one cosine and one sine column per node.

    Parameters
    ----------
    n_features : int
        Columns of X.
    axes : (axes_ptr[-1],) int64
        The axes of group g are ``axes[axes_ptr[g]:axes_ptr[g + 1]]``.
    axes_ptr : (G + 1,) int64
    group_nodes : (G,) int64
        Which node set group g uses; groups may share one.
    nodes : flat float64
        Angular frequencies; node set after node set, each row-major (nodes, axes of its groups).
    node_ptr : (S + 1,) int64
        Node set s has ``node_ptr[s + 1] - node_ptr[s]`` nodes.
    amplitudes : (node_ptr[-1],) float64
    constant : float
        A last column filled with it, unless it is zero.
    """

    n_features: int
    axes: Indices
    axes_ptr: Indices
    group_nodes: Indices
    nodes: Doubles
    node_ptr: Indices
    amplitudes: Doubles
    constant: float = 0.0

    @classmethod
    def from_groups(
        cls,
        n_features: int,
        groups: Sequence[Sequence[int] | Indices],
        nodes: Sequence[Floats],
        amplitudes: Sequence[Floats],
        group_nodes: Sequence[int] | Indices | None = None,
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
    def dense(cls, nodes: Floats, amplitudes: Floats, constant: float = 0.0) -> FourierPlan:
        """A plan with a single group: every node looks at every axis.

        >>> plan = FourierPlan.dense(np.array([[np.pi, 0.0]]), np.array([2.0]))
        >>> out = np.empty((1, 2))
        >>> fourier(np.array([[1.0, 5.0]]), plan, out)
        >>> out.round(12) + 0.0
        array([[-2.,  0.]])
        """
        axes = [np.arange(nodes.shape[1])]
        return cls.from_groups(nodes.shape[1], axes, [nodes], [amplitudes], constant=constant)

    @cached_property
    def n_columns(self) -> int:
        """Columns of the output."""
        sizes = np.diff(self.node_ptr)
        return 2 * int(sizes[self.group_nodes].sum()) + (self.constant != 0)

    @cached_property
    def largest_node(self) -> float:
        """The largest sum of |frequency| over axes: times the largest |x|, it bounds an angle."""
        return max((_longest(nodes) for nodes, _ in self.node_sets()), default=0.0)

    def largest_angle(self, reach: Floats) -> float:
        """The largest angle of a row with |x_i| <= reach[i] (d,); costs what the row does."""
        sets, own = self.node_sets(), np.split(self.axes, self.axes_ptr[1:-1])
        angles = (
            (np.abs(sets[chosen][0]) @ reach[axes]).max(initial=0.0)
            for chosen, axes in zip(self.group_nodes, own, strict=True)
        )
        return float(max(angles, default=0.0))

    def node_sets(self) -> list[tuple[Doubles, Doubles]]:
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
    Where all entries of a group have a middle, its first column is a constant and is left out. One
    last column, the root of the sum of their squares, stands for all that were left out.
    """

    n_features: int
    entry_axis: Indices
    entry_ptr: Indices
    entry_nodes: Doubles
    entry_amplitudes: Doubles
    entry_middle: Doubles
    group_ptr: Indices
    group_entries: Indices
    group_scale: Doubles

    @classmethod
    def from_groups(
        cls,
        n_features: int,
        entries: Sequence[tuple[int, Floats, Floats, float]],
        groups: Sequence[Sequence[int] | Indices],
        group_scale: Floats | None = None,
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

    @cached_property
    def n_columns(self) -> int:
        """Columns of the output."""
        widths = 2 * np.diff(self.entry_ptr) + (self.entry_middle != 0)
        dropped = [bool(np.all(self.entry_middle[group] != 0)) for group in self.groups()]
        total = sum(int(np.prod(widths[group])) for group in self.groups())
        return total - sum(dropped) + any(dropped)

    @cached_property
    def largest_node(self) -> float:
        """The largest frequency: times the largest |x|, it bounds an angle."""
        return float(self.entry_nodes.max(initial=0.0))

    def largest_angle(self, reach: Floats) -> float:
        """The largest angle of a row with |x_i| <= reach[i] (d,); costs what the row does."""
        columns = np.repeat(self.entry_axis, np.diff(self.entry_ptr))
        return float((self.entry_nodes * reach[columns]).max(initial=0.0))

    def groups(self) -> list[Indices]:
        """The entries of every group."""
        return np.split(self.group_entries, self.group_ptr[1:-1])


def fourier(X: Floats, plan: FourierPlan, out: Floats, n_threads: int | None = None) -> None:
    """Write ``amplitude * cos(x . node)`` and ``amplitude * sin(x . node)`` for every row of X.

    Parameters
    ----------
    X : (n, d) float32 or float64
    plan : FourierPlan
    out : (n, plan.n_columns), of the dtype of X
        Group by group the cosine columns, then the sine columns.
    n_threads : int or None
        Ignored: NumPy decides.
    """
    _check(X, plan, out)
    sets = [(nodes.T.astype(X.dtype), scale.astype(X.dtype)) for nodes, scale in plan.node_sets()]
    widest = max((len(amplitudes) for _, amplitudes in sets), default=1)
    for x, z in _blocks(X, out, widest):
        column = 0
        for group, chosen in enumerate(plan.group_nodes):
            axes = plan.axes[plan.axes_ptr[group] : plan.axes_ptr[group + 1]]
            nodes, amplitudes = sets[chosen]
            angles = x[:, axes] @ nodes
            for function in (np.cos, np.sin):
                columns = z[:, column : column + len(amplitudes)]
                function(angles, out=columns)
                columns *= amplitudes
                column += len(amplitudes)
        z[:, column:] = plan.constant


def kronecker(X: Floats, plan: KroneckerPlan, out: Floats, n_threads: int | None = None) -> None:
    """Write the products of 1-D features of every group for every row of X.

    Parameters
    ----------
    X : (n, d) float32 or float64
    plan : KroneckerPlan
    out : (n, plan.n_columns), of the dtype of X
    n_threads : int or None
        Ignored: NumPy decides.
    """
    _check(X, plan, out)
    groups = plan.groups()
    dropped = [bool(np.all(plan.entry_middle[group] != 0)) for group in groups]
    left_out = [
        scale * np.prod(plan.entry_middle[group])
        for group, scale, drop in zip(groups, plan.group_scale, dropped, strict=True)
        if drop
    ]
    widths = 2 * np.diff(plan.entry_ptr) + (plan.entry_middle != 0)
    widest = max((int(np.prod(widths[group])) for group in groups), default=1)
    for x, z in _blocks(X, out, widest):
        table = [_entry(x, plan, t) for t in range(len(plan.entry_axis))]
        column = 0
        for group, scale, drop in zip(groups, plan.group_scale, dropped, strict=True):
            product = np.full((len(x), 1), scale, dtype=x.dtype)
            for t in group:
                product = (product[:, :, None] * table[t][:, None, :]).reshape(len(x), -1)
            width = product.shape[1] - drop
            z[:, column : column + width] = product[:, int(drop) :]
            column += width
        if left_out:
            z[:, column] = np.sqrt(np.sum(np.square(left_out)))


def _entry(x: Floats, plan: KroneckerPlan, t: int) -> Floats:
    """The 1-D features of entry t: its middle, its cosines, its sines."""
    chosen = slice(plan.entry_ptr[t], plan.entry_ptr[t + 1])
    angles = x[:, plan.entry_axis[t], None] * plan.entry_nodes[chosen].astype(x.dtype)
    amplitudes = plan.entry_amplitudes[chosen].astype(x.dtype)
    parts = [amplitudes * np.cos(angles), amplitudes * np.sin(angles)]
    if plan.entry_middle[t] != 0:
        parts.insert(0, np.full((len(x), 1), plan.entry_middle[t], dtype=x.dtype))
    return np.concatenate(parts, axis=1)


def _check(X: Floats, plan: FourierPlan | KroneckerPlan, out: Floats) -> None:
    if X.ndim != 2 or X.shape[1] != plan.n_features:
        raise ValueError(
            f"X has shape {X.shape}, but the plan is for {plan.n_features} columns: "
            f"give X of shape (n, {plan.n_features})."
        )
    if X.dtype not in (np.float32, np.float64) or out.dtype != X.dtype:
        raise TypeError(
            f"X and out must both be float32 or both float64, got {X.dtype} and {out.dtype}."
        )
    if out.shape != (len(X), plan.n_columns):
        raise ValueError(
            f"out has shape {out.shape}, but must have shape {(len(X), plan.n_columns)}."
        )


def _blocks(X: Floats, out: Floats, widest: int) -> Iterator[tuple[Floats, Floats]]:
    """Blocks of rows of X and out; a block of one row is doubled, so that BLAS takes one path."""
    rows = max(2, _BLOCK_ELEMENTS // max(1, widest))
    for start in range(0, len(X), rows):
        x, z = X[start : start + rows], out[start : start + rows]
        if len(x) > 1:
            yield x, z
        else:
            pair = np.empty((2, out.shape[1]), dtype=out.dtype)
            yield np.concatenate([x, x]), pair
            z[:] = pair[:1]


def _longest(nodes: Doubles) -> float:
    return float(np.linalg.norm(nodes, ord=1, axis=1).max(initial=0.0))


def _offsets(counts: Sequence[int]) -> Indices:
    return np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64)


def _join(parts: Sequence[Any], dtype: Any) -> Any:
    if len(parts) == 1:  # one group: no second copy of what may be most of the memory
        return np.ascontiguousarray(parts[0], dtype=dtype)
    return np.concatenate([np.asarray(part, dtype=dtype) for part in parts] or [np.empty(0, dtype)])
