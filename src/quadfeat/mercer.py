"""Hermite-Mercer features: bases of eigenfunctions of Gaussian kernels, and their values.

Features z with k(x, y) - z(x) . z(y) positive semi-definite, so that the residual
r(x) = k(x, x) - |z(x)|^2 bounds the error of every pair: |k(x, y) - z(x) . z(y)| is at most
sqrt(r(x) r(y)) by Cauchy and Schwarz, for any data, seen or not.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from . import _engine
from .rules import Floats

Matrix = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

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
