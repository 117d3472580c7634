"""Evaluation as short, obvious NumPy: it defines every answer the engine gives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Integers = npt.NDArray[np.int64]
Matrix = npt.NDArray[np.floating[Any]]

# A block of rows whose angles stay in the second-level cache.
_BLOCK_ENTRIES = 2**16


@dataclass(frozen=True, eq=False)
class FourierPlan:
    """Cosines, then sines, of each group's nodes; one last constant column if there is one.

    Group g looks at `axes[axes_ptr[g]:axes_ptr[g + 1]]` through the set of nodes `group_nodes[g]`,
    scaled by `group_scale[g]`; set s has nodes `nodes[s]` (m, axes) and `amplitudes[s]` (m,).
    """

    axes: Integers
    axes_ptr: Integers
    nodes: tuple[Floats, ...]
    amplitudes: tuple[Floats, ...]
    group_nodes: Integers
    group_scale: Floats
    constant: float
    n_features: int

    @classmethod
    def of(
        cls,
        *,
        axes: Sequence[npt.NDArray[np.intp]],
        node_sets: Sequence[Floats],
        amplitude_sets: Sequence[Floats],
        group_nodes: Sequence[int],
        group_scale: Floats,
        constant: float,
        n_features: int,
    ) -> FourierPlan:
        return cls(
            axes=np.concatenate(axes).astype(np.int64),
            axes_ptr=np.cumsum([0, *map(len, axes)]).astype(np.int64),
            nodes=tuple(node_sets),
            amplitudes=tuple(amplitude_sets),
            group_nodes=np.asarray(group_nodes, dtype=np.int64),
            group_scale=np.asarray(group_scale, dtype=np.float64),
            constant=constant,
            n_features=n_features,
        )

    @property
    def n_columns(self) -> int:
        return 2 * sum(len(self.nodes[s]) for s in self.group_nodes) + (self.constant != 0)

    @property
    def largest_node(self) -> float:
        """The largest sum of |frequency| over axes: times the largest |x|, it bounds the angle."""
        return max((float(np.abs(n).sum(axis=1).max(initial=0.0)) for n in self.nodes), default=0.0)


@dataclass(frozen=True, eq=False)
class KroneckerPlan:
    """The Kronecker product over a group's axes of their 1-D features [middle, cosines, sines].

    Entry t is one axis' features: column `entry_axis[t]`, positive nodes `entry_nodes[t]` with
    `entry_amplitudes[t]`, and `entry_middle[t]`, the amplitude of the zero node or 0. Group g is
    the product of the entries `group_entries[group_ptr[g]:group_ptr[g + 1]]`, the first slowest,
    times `group_scale[g]`. A group whose every axis has a middle begins with a constant: those
    are left out, and stand merged in one last column.
    """

    entry_axis: Integers
    entry_nodes: tuple[Floats, ...]
    entry_amplitudes: tuple[Floats, ...]
    entry_middle: Floats
    group_entries: Integers
    group_ptr: Integers
    group_scale: Floats
    n_features: int

    @classmethod
    def of(
        cls,
        *,
        axes: Sequence[npt.NDArray[np.intp]],
        axis_rules: Sequence[Sequence[tuple[Floats, Floats]]],
        group_scale: Floats,
        n_features: int,
    ) -> KroneckerPlan:
        """From each group's axes and their mirror-symmetric 1-D rules (nodes, weights)."""
        known: dict[tuple[int, bytes, bytes], int] = {}
        entries: list[tuple[int, Floats, Floats, float]] = []
        members = []
        for columns, group in zip(axes, axis_rules, strict=True):
            for column, (nodes, weights) in zip(columns, group, strict=True):
                key = (int(column), nodes.tobytes(), weights.tobytes())
                if key not in known:
                    known[key] = len(entries)
                    right, middle = nodes > 0, float(weights[nodes == 0].sum())
                    amplitudes = np.sqrt(2 * weights[right])
                    entries.append((int(column), nodes[right], amplitudes, middle**0.5))
                members.append(known[key])
        return cls(
            entry_axis=np.array([entry[0] for entry in entries], dtype=np.int64),
            entry_nodes=tuple(entry[1] for entry in entries),
            entry_amplitudes=tuple(entry[2] for entry in entries),
            entry_middle=np.array([entry[3] for entry in entries]),
            group_entries=np.array(members, dtype=np.int64),
            group_ptr=np.cumsum([0, *map(len, axes)]).astype(np.int64),
            group_scale=np.asarray(group_scale, dtype=np.float64),
            n_features=n_features,
        )

    def group(self, g: int) -> Integers:
        return self.group_entries[self.group_ptr[g] : self.group_ptr[g + 1]]

    @property
    def entry_size(self) -> Integers:
        sizes = [2 * len(nodes) for nodes in self.entry_nodes]
        return np.array(sizes, dtype=np.int64) + (self.entry_middle != 0)

    @property
    def constants(self) -> Floats:
        """The constant first column of each group, 0 where it has none."""
        n_groups = len(self.group_scale)
        products = [np.prod(self.entry_middle[self.group(g)]) for g in range(n_groups)]
        return np.asarray(self.group_scale * products)

    @property
    def n_columns(self) -> int:
        sizes, constants = self.entry_size, self.constants
        total = sum(int(np.prod(sizes[self.group(g)])) for g in range(len(constants)))
        left_out = int((constants != 0).sum())
        return total - left_out + (left_out > 0)

    @property
    def largest_node(self) -> float:
        return max((float(n.max(initial=0.0)) for n in self.entry_nodes), default=0.0)


def fourier(X: Matrix, plan: FourierPlan, out: Matrix) -> None:
    """Write the features of X (n, d) into out (n, plan.n_columns)."""
    for rows in _blocks(len(X), plan.n_columns):
        column = 0
        for g, which in enumerate(plan.group_nodes):
            axes = plan.axes[plan.axes_ptr[g] : plan.axes_ptr[g + 1]]
            nodes, m = plan.nodes[which].astype(X.dtype), len(plan.nodes[which])
            amplitude = (plan.group_scale[g] * plan.amplitudes[which]).astype(X.dtype)
            angles = _product(X[rows][:, axes], nodes)
            out[rows, column : column + m] = amplitude * np.cos(angles)
            out[rows, column + m : column + 2 * m] = amplitude * np.sin(angles)
            column += 2 * m
        if plan.constant != 0:
            out[rows, column] = plan.constant


def kronecker(X: Matrix, plan: KroneckerPlan, out: Matrix) -> None:
    """Write the features of X (n, d) into out (n, plan.n_columns)."""
    constants = plan.constants
    for rows in _blocks(len(X), plan.n_columns):
        entries = [_entry(X[rows], plan, t) for t in range(len(plan.entry_axis))]
        column = 0
        for g, constant in enumerate(constants):
            n = len(out[rows])
            product = np.full((n, 1), plan.group_scale[g], dtype=X.dtype)
            for t in plan.group(g):
                product = (product[:, :, None] * entries[t][:, None, :]).reshape(n, -1)
            product = product[:, 1:] if constant != 0 else product
            out[rows, column : column + product.shape[1]] = product
            column += product.shape[1]
        if constants.any():
            out[rows, column] = np.linalg.norm(constants)


def _entry(X: Matrix, plan: KroneckerPlan, t: int) -> Matrix:
    """One axis' features [middle, cosines, sines]."""
    angles = X[:, plan.entry_axis[t], None] * plan.entry_nodes[t].astype(X.dtype)
    amplitudes = plan.entry_amplitudes[t].astype(X.dtype)
    columns = [amplitudes * np.cos(angles), amplitudes * np.sin(angles)]
    if plan.entry_middle[t] != 0:
        columns.insert(0, np.full((len(X), 1), plan.entry_middle[t], dtype=X.dtype))
    return np.concatenate(columns, axis=1)


def _product(rows: Matrix, nodes: Matrix) -> Matrix:
    # NumPy multiplies one row by another path than many, and the last bit differs.
    if len(rows) == 1:
        return (np.concatenate([rows, rows]) @ nodes.T)[:1]
    return rows @ nodes.T


def _blocks(n: int, columns: int) -> list[slice]:
    size = max(1, _BLOCK_ENTRIES // max(1, columns))
    return [slice(start, min(n, start + size)) for start in range(0, n, size)]
