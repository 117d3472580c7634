"""`ToeplitzSums`, the sums of ridge regression on an equispaced grid, by non-uniform FFTs."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import prod
from typing import Any, Self

import numpy as np

from .._checks import require
from .._typing import Floats, Matrix, Modes
from ..maps.lattice import Lattice, reduced
from ..numerics.blas import on_one_thread
from ..numerics.nufft import modes_of_points
from .ridge_sums import NormalSums

_SUMS = ("generator", "cross", "feature_sum", "target_sum", "target_square")
_COMPLEX = ("generator", "cross", "feature_sum")


class ToeplitzSums:
    """The generating vector of Z'WZ, the modes of Z'WY, and the sums for centring.

    The sums of `NormalSums` for the features of a `Lattice`, before roots of weights are multiplied
    in. O(n + p log p) for each block of n rows, p modes; memory for 2^d p numbers.

    Parameters
    ----------
    steps : (d,), between the frequencies of each axis
    shape : modes of each axis
    n_targets : int, t

    Examples
    --------
    >>> sums = ToeplitzSums((1.0,), (3,), 1)  # frequencies -1, 0, 1
    >>> sums.add(np.array([[np.pi]]), np.array([[2.0]]))
    >>> sums.cross.real.round(6)
    array([[-2.,  2., -2.]])
    """

    def __init__(self, steps: Sequence[float], shape: Sequence[int], n_targets: int) -> None:
        self.steps: Floats = np.array(steps, dtype=np.float64)
        # T[m, k] = generator[m - k + n - 1]: differences of modes on each axis.
        self.generator: Modes = np.zeros([2 * n - 1 for n in shape], dtype=np.complex128)
        self.cross: Modes = np.zeros((n_targets, *shape), dtype=np.complex128)
        self.feature_sum: Modes = np.zeros(shape, dtype=np.complex128)
        self.target_sum: Floats = np.zeros(n_targets)
        self.target_square: Floats = np.zeros(n_targets)
        self.low: Floats = np.full(len(self.steps), np.inf)  # the bounding box of the rows
        self.high: Floats = np.full(len(self.steps), -np.inf)
        self.weight = 0.0
        self.weight_square = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """Modes of each axis."""
        return self.feature_sum.shape

    @on_one_thread
    def add(self, rows: Matrix, Y: Matrix, weight: Floats | None = None) -> None:
        """Add rows: columns of the lattice (n, d), targets (n, t), weights (n,)."""
        Y = np.asarray(Y, dtype=np.float64)
        weight = np.ones(len(rows)) if weight is None else np.asarray(weight, dtype=np.float64)
        weighted = Y.T * weight
        points, phase = reduced(rows, self.steps, self.shape)
        if phase is not None:
            strengths = np.concatenate([weight[None], weighted]) * phase
            modes = modes_of_points(points, strengths, self.shape)
            self.generator += _real_sums(points, weight[None], self.generator.shape)[0]
        else:
            wide = _real_sums(
                points, np.concatenate([weight[None], weighted]), self.generator.shape
            )
            self.generator += wide[0]
            centre = tuple(slice(n // 2, n // 2 + n) for n in self.shape)
            modes = wide[(slice(None), *centre)]
        self.feature_sum += modes[0]
        self.cross += modes[1:]
        self.target_sum += weighted.sum(axis=1)
        self.target_square += (weighted * Y.T).sum(axis=1)
        self.weight += float(weight.sum())
        self.weight_square += float(weight @ weight)
        used = rows[weight > 0]
        self.low = np.minimum(self.low, used.min(axis=0, initial=np.inf))
        self.high = np.maximum(self.high, used.max(axis=0, initial=-np.inf))

    @property
    def n_rows(self) -> float:
        """The effective number of rows, (sum w)^2 / sum w^2 (Kish, 1965)."""
        return self.weight**2 / self.weight_square

    def blank(self) -> Callable[[], ToeplitzSums]:
        """A function that returns empty sums of this shape; small enough to be sent."""
        steps = tuple(self.steps.tolist())
        return functools.partial(ToeplitzSums, steps, self.shape, len(self.cross))

    def merge(self, other: ToeplitzSums) -> None:
        """Add the sums of other rows; the order of merging affects rounding only."""
        for name in _SUMS:
            getattr(self, name).__iadd__(getattr(other, name))
        self.low, self.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        self.weight += other.weight
        self.weight_square += other.weight_square

    def state(self) -> dict[str, Any]:
        """Arrays from which `from_state` restores the sums to the bit; complex as two floats."""
        arrays = {name: getattr(self, name) for name in (*_SUMS, "steps", "low", "high")}
        for name in _COMPLEX:
            value = arrays[name]
            arrays[name] = value.view(np.float64).reshape(*value.shape, 2)
        counts = {name: np.array(getattr(self, name)) for name in ("weight", "weight_square")}
        return {**arrays, **counts}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The sums with this `state`; uses the arrays without copying."""
        sums = cls.__new__(cls)
        for name in (*_SUMS, "steps", "low", "high"):
            value = state[name]
            if name in _COMPLEX:
                value = np.ascontiguousarray(value).view(np.complex128)[..., 0]
            setattr(sums, name, value)
        sums.weight, sums.weight_square = float(state["weight"]), float(state["weight_square"])
        return sums

    def check(self) -> None:
        """Raise a ValueError if the arrays of loaded sums do not fit each other."""
        d, t = self.feature_sum.ndim, len(self.cross)
        wide = tuple(2 * n - 1 for n in self.shape)
        require(self.generator.shape == wide, "the generating vector is that of another grid")
        require(self.cross.shape[1:] == self.shape, "the cross sums are those of another grid")
        for name, size in (("steps", d), ("low", d), ("high", d), ("target_sum", t)):
            require(getattr(self, name).shape == (size,), f"{name} of the sums is not ({size},)")
        require(self.target_square.shape == (t,), "target_square of the sums has another length")
        squares = [*self.target_square, self.weight, self.weight_square]
        require(min(squares) >= 0, "a sum of squares or weights is negative")

    def fit(self, p: int, n_targets: int) -> bool:
        """Whether these sums can have this number of columns and targets."""
        return self.cross.shape[0] == n_targets and prod(self.shape) >= p

    def normal(self, lattice: Lattice) -> NormalSums:
        """The same sums for the columns of the map: p^2 numbers."""
        p, t = lattice.features.n_columns_, len(self.cross)
        roots = lattice.roots
        sums = NormalSums(0, t)
        sums.gram = _gram(self.generator, lattice)
        sums.cross = lattice.columns(self.cross * roots)
        sums.feature_sum = lattice.columns((self.feature_sum * roots)[None])[:, 0]
        assert sums.gram.shape == (p, p)
        sums.target_sum, sums.target_square = self.target_sum, self.target_square
        sums.weight, sums.weight_square = self.weight, self.weight_square
        return sums


def _real_sums(points: Floats, strengths: Floats, shape: Sequence[int]) -> Modes:
    """Modes of real strengths (t, n), (t, *shape) for odd shapes: two by one complex transform.

    Modes of real strengths at m and -m are conjugate, so those of a and b in a + i b can be
    separated.
    """
    t = len(strengths)
    sizes = np.abs(strengths).max(axis=1)
    exponents = np.frexp(np.where(sizes > 0, sizes, 1.0))[1]
    scaled = np.ldexp(strengths, -exponents[:, None])  # so that rounding loses neither
    paired = np.zeros((-(-t // 2), strengths.shape[1]), dtype=np.complex128)
    paired.real = scaled[::2]
    paired.imag[: t // 2] = scaled[1::2]
    modes = modes_of_points(points, paired, shape)
    mirrored = np.conj(np.flip(modes, axis=tuple(range(1, modes.ndim))))
    both = np.stack([(modes + mirrored) / 2, (modes - mirrored) / 2j], axis=1)
    sums = both.reshape(-1, *shape)[:t]
    return np.ldexp(1.0, exponents).reshape(-1, *[1] * len(shape)) * sums


def _gram(generator: Modes, lattice: Lattice) -> Floats:
    """U diag(roots) T diag(roots) U^H, (p, p)."""
    shape, size = lattice.shape, lattice.roots.size
    index = np.indices(shape).reshape(len(shape), -1)
    gaps = (index[i][:, None] - index[i][None, :] + n - 1 for i, n in enumerate(shape))
    flat = lattice.roots.reshape(-1)
    matrix = generator[tuple(gaps)] * np.outer(flat, flat)
    half = lattice.rotated(matrix.T.reshape(size, *shape))  # (U M)^T
    whole = lattice.rotated(np.conj(half.T).reshape(-1, *shape))
    return np.ascontiguousarray(whole.real)
