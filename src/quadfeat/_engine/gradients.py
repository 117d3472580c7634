"""Gradients of z(x)'c with respect to x, from plans: engine features, and NumPy products."""

from __future__ import annotations

import weakref
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy import sparse

from .._typing import Floats, Integers, Matrix
from ..numerics.blas import product
from . import dispatch
from .plans import Expansion, FourierPlan, KroneckerPlan, MercerBasis
from .reference import coordinates, entry_features

_FACTOR_ENTRIES = 2**20  # entries of the matrix that multiplies features, for several outputs


def fourier_gradient(X: Matrix, plan: FourierPlan, coefficients: Floats, out: Matrix) -> None:
    """Write the gradients of z(x)'c for every row x of X and column c of `coefficients`.

    The derivative of a cosine column is minus the node times its sine column, and that of a sine
    column the node times its cosine column: a gradient is one product of the features.

    Parameters
    ----------
    X : (n, d) float32 or float64
    plan : FourierPlan
    coefficients : (plan.n_columns, t)
    out : (n, t, d)
    """
    Z = np.empty((len(X), plan.n_columns), dtype=X.dtype)
    dispatch.fourier(X, plan, Z)
    out[:] = 0
    sets, stop = plan.node_sets(), 0
    for axes, chosen in zip(plan.group_axes(), plan.group_nodes, strict=True):
        nodes = sets[chosen][0]
        start, stop = stop, stop + 2 * len(nodes)
        cosines, sines = np.split(coefficients[start:stop], 2)
        derived, both = np.concatenate([sines, -cosines]), np.concatenate([nodes, nodes])
        width = max(1, _FACTOR_ENTRIES // max(1, both.size))
        for first in range(0, coefficients.shape[1], width):
            some = slice(first, first + width)
            factor = derived[:, some, None] * both[:, None, :]
            _, outputs, n_axes = factor.shape
            gradient = product(
                Z[:, start:stop], factor.reshape(len(both), outputs * n_axes).astype(X.dtype)
            )
            out[:, some][:, :, axes] += gradient.reshape(len(X), outputs, n_axes)


def kronecker_gradient(X: Matrix, plan: KroneckerPlan, coefficients: Floats, out: Matrix) -> None:
    """Write the gradients of z(x)'c for every row x of X and column c of `coefficients`.

    The coefficients of a group are a tensor. Its sides are contracted with the 1-D features one by
    one, or with their derivatives along the axis of a derivative.

    Parameters
    ----------
    X : (n, d) float32 or float64
    plan : KroneckerPlan
    coefficients : (plan.n_columns, t)
    out : (n, t, d)
    """
    out[:] = 0
    tables = [entry_features(X, plan, t) for t in range(len(plan.entry_axis))]
    slopes = [_entry_slopes(table, plan, t) for t, table in enumerate(tables)]
    stop = 0
    for entries, scale in zip(plan.groups(), plan.group_scale, strict=True):
        # The constant column of a group is left out of its features, and has no derivative.
        constant = int(np.all(plan.entry_middle[entries] != 0))
        size = int(np.prod([tables[t].shape[1] for t in entries]))
        start, stop = stop, stop + size - constant
        for output, column in enumerate(scale * coefficients[start:stop].T):
            value = np.concatenate([np.zeros(constant), column]).astype(X.dtype)[None]
            derivatives: list[Matrix] = []
            for t in reversed(entries):
                derivatives = [_contracted(part, tables[t]) for part in derivatives]
                derivatives.append(_contracted(value, slopes[t]))
                value = _contracted(value, tables[t])
            for axis, part in zip(plan.entry_axis[entries[::-1]], derivatives, strict=True):
                out[:, output, axis] += part[:, 0]


def _entry_slopes(table: Matrix, plan: KroneckerPlan, t: int) -> Matrix:
    """The derivatives of the features of entry t."""
    nodes = plan.entry_nodes[plan.entry_ptr[t] : plan.entry_ptr[t + 1]].astype(table.dtype)
    cosines, sines = np.split(table[:, table.shape[1] - 2 * len(nodes) :], 2, axis=1)
    middle = np.zeros((len(table), table.shape[1] - 2 * len(nodes)), dtype=table.dtype)
    return np.concatenate([middle, -nodes * sines, nodes * cosines], axis=1)


def _contracted(tensor: Matrix, table: Matrix) -> Matrix:
    """The last side of a tensor (n, sides), or (1, sides) for all rows, times a table (n, side)."""
    sides = tensor.reshape(len(tensor), -1, table.shape[1])
    if len(tensor) == 1:
        return product(table, sides[0].T)
    return np.asarray(np.einsum("nij,nj->ni", sides, table))


def mercer_gradient(X: Matrix, basis: MercerBasis, coefficients: Floats, out: Matrix) -> None:
    """Write the gradients of z(x)'c for every row x of X and column c of `coefficients`.

    Parameters
    ----------
    X : (n, d) float32 or float64
    basis : MercerBasis
    coefficients : (basis.n_columns, t)
    out : (n, t, d)
    """
    out[:] = 0
    pool = coefficients if basis.projection is None else basis.projection @ coefficients
    stop = 0
    for expansion in basis.expansions:
        start, stop = stop, stop + expansion.n_columns
        columns = pool[start:stop]
        if expansion.projection is not None:
            columns = expansion.projection @ columns
        with np.errstate(over="ignore", under="ignore", invalid="ignore"):
            gradient = _expansion_gradient(X, expansion, columns)
        # If t overflows, all features are 0.
        out[:, :, expansion.axes] += np.where(np.isfinite(gradient), gradient, 0)


def _expansion_gradient(X: Matrix, expansion: Expansion, coefficients: Floats) -> Matrix:
    """The gradients by x[axes] of columns times coefficients (columns, t), (n, t, axes).

    Columns are a polynomial of t times exp(-sum_i envelope_i t_i^2 - rest), rest being 0 or
    |scale * (x - mean)|^2 - sum_i length_i t_i^2.
    """
    dtype, outputs = X.dtype, coefficients.shape[1]
    lowered = _lowered(expansion)
    Z = np.empty((len(X), lowered.basis.n_columns), dtype=dtype)
    dispatch.mercer(X, lowered.basis, Z)
    columns = np.ascontiguousarray(Z.T)  # in the layout that products with sparse matrices need
    centred = X[:, expansion.axes] - expansion.mean.astype(dtype)
    t = coordinates(centred, expansion)
    decay = expansion.envelope.copy()
    beyond = len(expansion.sizes) < len(expansion.axes)
    if beyond:
        decay -= expansion.length
    rotation, decay = expansion.rotation.astype(dtype), decay.astype(dtype)
    gradient = np.empty((len(X), outputs, len(expansion.axes)), dtype=dtype)
    for output in range(outputs):
        c = coefficients[:, output]
        values = c.astype(dtype) @ columns[: len(c)]
        by_t = lowered.derivatives(c, dtype) @ columns
        inner = by_t.T - 2 * decay * t * values[:, None]
        if expansion.mixing is None:
            total = product(inner, rotation.T)
        else:
            straight = (expansion.scale / np.sqrt(expansion.length)).astype(dtype)
            total = inner * straight + (inner @ expansion.mixing.astype(dtype).T) @ rotation.T
        if beyond:
            total -= 2 * (expansion.scale**2).astype(dtype) * centred * values[:, None]
        gradient[:, output] = total
    return gradient


class _Lowered(NamedTuple):
    """The columns of an expansion, and further columns for their derivatives.

    Besides the derivative of its exponential, that of column `column` by t[direction] is `factor`
    times column `target` of `basis`, whose first columns are those of the expansion.
    """

    basis: MercerBasis
    column: Integers
    target: Integers
    direction: Integers
    factor: Floats

    def derivatives(self, coefficients: Floats, dtype: np.dtype) -> sparse.csr_array:
        """The derivatives by t, (directions, columns of `basis`), of the sum of columns."""
        expansion = self.basis.expansions[0]
        values = (self.factor * coefficients[self.column]).astype(dtype)
        shape = len(expansion.sizes), len(expansion.parent)
        return sparse.csr_array((values, (self.direction, self.target)), shape=shape)


_known: weakref.WeakKeyDictionary[Expansion, _Lowered] = weakref.WeakKeyDictionary()


def _lowered(expansion: Expansion) -> _Lowered:
    """The columns that derivatives need: q_k' = sqrt(2 k ratio) q_{k-1} for the polynomials q."""
    if expansion in _known:
        return _known[expansion]
    chains: list[tuple[tuple[int, int], ...]] = []  # (direction, degree) of all factors
    table = np.column_stack([expansion.parent, expansion.direction, expansion.degree]).tolist()
    for parent, direction, degree in table:
        chains.append((*(chains[parent] if parent >= 0 else ()), (direction, degree)))
    places = {chain: j for j, chain in reversed(list(enumerate(chains)))}

    def place(chain: tuple[tuple[int, int], ...]) -> int:
        """The column of these factors, created from its parent if it does not exist."""
        if chain not in places:
            parent = place(chain[:-1]) if len(chain) > 1 else -1
            places[chain] = len(table)
            table.append([parent, *chain[-1]])
        return places[chain]

    terms = []
    for j, chain in enumerate(chains):
        for i, (direction, degree) in enumerate(chain):
            # Only direction 0 has a function of degree 0 other than 1.
            less = ((direction, degree - 1),) if degree > 1 or direction == 0 else ()
            if degree > 0:
                target = place((*chain[:i], *less, *chain[i + 1 :]))
                factor = np.sqrt(2 * degree * expansion.ratio[direction])
                terms.append((j, target, direction, factor))
    parents, directions, degrees = np.array(table, dtype=np.int64).T.copy()
    extended = replace(
        expansion, parent=parents, direction=directions, degree=degrees, projection=None
    )
    columns = [np.array(part) for part in zip(*terms, strict=True)] or [np.zeros(0, int)] * 4
    _known[expansion] = _Lowered(MercerBasis((extended,)), *columns)
    return _known[expansion]
