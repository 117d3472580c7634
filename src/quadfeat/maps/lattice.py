"""The lattice of an equispaced grid: its columns as complex exponentials at whole frequencies."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import Any, Protocol

import numpy as np

from .._engine.plans import FourierPlan
from .._errors import NoLattice
from .._typing import Axes, Floats, Integers, Matrix, Modes
from ..numerics.nufft import chunk_rows, values_at_points
from ..rules.rule import Rule

MOST_AXES = 3
_MOST_ROWS = 2**21  # at a time
_UNEVEN = 1e-9  # of a step: tolerance for nodes off the lattice


class Gridded(Protocol):
    """The methods of a map that its lattice uses."""

    n_columns_: int

    def proven_error(self, box: Floats) -> float:
        """A certificate for gaps up to `box` on the axes of the lattice."""

    def coordinate_blocks(self, X: Any, dtype: Any) -> Iterator[tuple[int, Matrix]]:
        """Position of the first row, and rows in the kernel's coordinates, for blocks of X."""


@dataclass(frozen=True, eq=False)
class Lattice:
    """The features of an equispaced grid of one group, written as modes.

    With t = step * x on the axes of the group, mode m (one whole number per axis; halves on an axis
    with an even number of nodes) is phi_m(x) = roots[m] exp(i m . t), and the columns are z = U phi
    for a unitary matrix U that combines m and -m to a cosine and a sine. So

        sum_i w_i z_i z_i' = U R T R U^H,  R = diag(roots),  T[m, k] = sum_i w_i exp(i (m - k) . t)

    with a Toeplitz matrix T, and z(x)'v = sum_m roots[m] u[m] exp(-i m . t) for u = U^H v. Modes
    are arrays (..., *shape), real columns arrays (p, t).

    Parameters
    ----------
    features : the fitted map
    axes : (d,), columns used, in the coordinates of the map's kernel
    steps : (d,), between nodes
    roots : (*shape), roots of the weights; the squares sum to k(0)
    axis_roots : vectors (n_i,) whose outer product the roots are, or resemble for an isotropic
        kernel: their squares are the marginals of the weights
    right : (m,), flat positions of the modes of cosines and sines; None for a tensor grid, whose
        columns are products over axes
    constant : bool, whether the zero mode is a column, the last
    """

    features: Gridded
    axes: Axes
    steps: Floats
    roots: Floats
    axis_roots: list[Floats]
    right: Integers | None
    constant: bool

    @classmethod
    def of_tensor(
        cls, features: Gridded, axes: Axes, rules: Sequence[Rule], weight: float
    ) -> Lattice:
        """The lattice of a tensor grid: a rule for each axis, and the weight of its group."""
        steps = np.array([_step(rule) for rule in rules])
        if any(len(rule) % 2 and rule.weights[len(rule) // 2] == 0 for rule in rules):
            raise NoLattice("an axis has no weight at frequency 0")
        lines = [np.sqrt(rule.weights) for rule in rules]
        lines[0] = lines[0] * np.sqrt(weight)
        roots = functools.reduce(np.multiply.outer, lines)
        return cls(features, axes, steps, roots, lines, None, all(len(rule) % 2 for rule in rules))

    @classmethod
    def of_nodes(cls, features: Gridded, axes: Axes, steps: Floats, plan: FourierPlan) -> Lattice:
        """The lattice of nodes that are whole multiples of the steps."""
        nodes, amplitudes = plan.node_sets()[0]
        index = np.rint(nodes / steps).astype(np.int64)
        half = np.abs(index).max(axis=0, initial=0)
        roots = np.zeros(tuple(2 * half + 1))
        right = np.ravel_multi_index(tuple((index + half).T), roots.shape)
        flat = roots.reshape(-1)
        flat[right] = flat[::-1][right] = amplitudes / np.sqrt(2.0)
        flat[len(flat) // 2] = plan.constant
        lines = [
            np.sqrt(np.square(np.moveaxis(roots, i, 0)).reshape(n, -1).sum(axis=1))
            for i, n in enumerate(roots.shape)
        ]
        lines[1:] = [line / np.linalg.norm(line) for line in lines[1:]]
        return cls(features, axes, steps, roots, lines, right, plan.constant != 0)

    @property
    def shape(self) -> tuple[int, ...]:
        """Modes of each axis."""
        return self.roots.shape

    @property
    def n_columns_(self) -> int:
        """Columns that `write` writes: the axes of the group."""
        return len(self.axes)

    @property
    def n_map_columns(self) -> int:
        """Columns of the map, p."""
        return self.features.n_columns_

    @property
    def rows_at_once(self) -> int:
        """The number of rows that a stream should gather: enough for several transforms."""
        return min(8 * chunk_rows([2 * n - 1 for n in self.shape]), _MOST_ROWS)

    def write(self, X: Any, out: Matrix) -> None:
        """Write the columns of the group into out (n, d); streams use it like a map's `write`."""
        for start, rows in self.features.coordinate_blocks(X, out.dtype):
            out[start : start + len(rows)] = rows[:, self.axes]

    def values(self, rows: Matrix, modes: Modes) -> Floats:
        """z(x)'v at rows that `write` wrote, (n, t), for modes u = U^H v (t, *shape)."""
        points, phase = reduced(rows, self.steps, self.shape)
        values = values_at_points(points, modes * self.roots)
        return np.ascontiguousarray((values if phase is None else values / phase).real.T)

    def features_of(self, rows: Matrix) -> Modes:
        """The modes of rows that `write` wrote, (n, *shape): phi_m = roots[m] exp(i m . t)."""
        parts = self.roots.astype(np.complex128)[None]
        for i, (step, n) in enumerate(zip(self.steps, self.shape, strict=True)):
            angles = np.outer(rows[:, i], step * (np.arange(n) - (n - 1) / 2))
            shape = [1 + (n - 1) * (j == i) for j in range(len(self.shape))]
            parts = parts * np.exp(1j * angles).reshape(len(rows), *shape)
        return parts

    def columns(self, modes: Modes) -> Floats:
        """v = U u: real columns (p, t) of modes (t, *shape) whose mirror images are conjugate."""
        return np.ascontiguousarray(self.rotated(modes).real.T)

    def rotated(self, modes: Modes) -> Modes:
        """U u for any modes (t, *shape), (t, p)."""
        if self.right is not None:
            flat = modes.reshape(len(modes), -1)
            one, other = flat[:, self.right], flat[:, ::-1][:, self.right]
            last = [flat[:, flat.shape[1] // 2, None]] if self.constant else []
            return np.concatenate([*_pair(one, other), *last], axis=1)
        for axis, n in enumerate(self.shape, 1):
            left, middle, right = np.split(modes, [n // 2, n - n // 2], axis=axis)
            modes = np.concatenate([middle, *_pair(right, np.flip(left, axis))], axis=axis)
        flat = modes.reshape(len(modes), -1)
        return np.roll(flat, -1, axis=1) if self.constant else flat

    def modes(self, columns: Floats) -> Modes:
        """u = U^H v: modes (t, *shape) of real columns (p, t)."""
        rows = columns.T
        if self.right is not None:
            m = len(self.right)
            flat = np.zeros((len(rows), prod(self.shape)), dtype=np.complex128)
            one, other = _unpair(rows[:, :m], rows[:, m : 2 * m])
            flat[:, self.right], flat[:, ::-1][:, self.right] = one, other
            if self.constant:
                flat[:, flat.shape[1] // 2] = rows[:, -1]
            return flat.reshape(-1, *self.shape)
        values = np.roll(rows, 1, axis=1) if self.constant else rows
        modes = values.reshape(-1, *self.shape).astype(np.complex128)
        for axis, n in enumerate(self.shape, 1):
            cuts = [n % 2, n % 2 + n // 2]
            middle, cosine, sine = np.split(modes, cuts, axis=axis)
            right, left = _unpair(cosine, sine)
            modes = np.concatenate([np.flip(left, axis), middle, right], axis=axis)
        return modes


def reduced(rows: Matrix, steps: Floats, shape: Sequence[int]) -> tuple[Floats, Modes | None]:
    """Points step * x within the periods of the modes, and exp(i t / 2) over even axes, if any.

    FINUFFT takes whole frequencies, and points within three periods lose no digits. The half
    frequencies of an even number of nodes are whole ones times that phase.
    """
    periods = np.array([2 - n % 2 for n in shape])
    points = np.remainder(np.asarray(rows, dtype=np.float64) * steps, 2 * np.pi * periods)
    even = [i for i, n in enumerate(shape) if n % 2 == 0]
    return points, np.exp(0.5j * points[:, even].sum(axis=1)) if even else None


def _pair(one: Modes, other: Modes) -> tuple[Modes, Modes]:
    return (one + other) / np.sqrt(2.0), (one - other) / (1j * np.sqrt(2.0))


def _unpair(cosine: Any, sine: Any) -> tuple[Modes, Modes]:
    return (cosine + 1j * sine) / np.sqrt(2.0), (cosine - 1j * sine) / np.sqrt(2.0)


def _step(rule: Rule) -> float:
    """The distance between the nodes of a rule; `NoLattice` if they are not equispaced."""
    nodes: Floats = rule.nodes[:, 0]
    if len(nodes) == 1:
        return 1.0
    step = float(nodes[-1] - nodes[0]) / (len(nodes) - 1)
    even = step * (np.arange(len(nodes)) - (len(nodes) - 1) / 2)
    if np.abs(nodes - even).max() > _UNEVEN * step:
        raise NoLattice("its nodes are not equispaced on every axis; use rule='equispaced'")
    return step
