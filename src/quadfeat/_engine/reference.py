"""Features in plain NumPy: these functions define what the compiled core must return."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from .._rows import BLOCK_ENTRIES
from .._typing import Matrix
from .pair_plan import PAIR_FORMS, PairPlan
from .plans import Expansion, FourierPlan, KroneckerPlan, MercerBasis

_BLOCK_ELEMENTS = 1 << 18  # entries of a temporary of one group: small enough for the cache


def fourier(X: Matrix, plan: FourierPlan, out: Matrix, n_threads: int | None = None) -> None:
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
    check(X, plan, out)
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


def kronecker(X: Matrix, plan: KroneckerPlan, out: Matrix, n_threads: int | None = None) -> None:
    """Write the products of 1-D features of every group for every row of X.

    Parameters
    ----------
    X : (n, d) float32 or float64
    plan : KroneckerPlan
    out : (n, plan.n_columns), of the dtype of X
    n_threads : int or None
        Ignored: NumPy decides.
    """
    check(X, plan, out)
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
        table = [entry_features(x, plan, t) for t in range(len(plan.entry_axis))]
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


def pairs(X: Matrix, plan: PairPlan, out: Matrix, n_threads: int | None = None) -> None:
    """Write the kernel values of every row of X with every point.

    Parameters
    ----------
    X : (n, d) float64
    plan : PairPlan
    out : (n, points) float64
    n_threads : int or None
        Ignored: NumPy decides.
    """
    check(X, plan, out)
    form = PAIR_FORMS[plan.form]
    nu = None if form in ("gaussian", "laplacian") else float(form.split()[-1])
    per_axis = form.startswith("product")
    points = (plan.points.reshape(-1, plan.n_features) * plan.scale).T
    for x, z in _blocks(X, out, plan.n_columns):
        total, factor = np.zeros_like(z), np.ones_like(z)
        with np.errstate(over="ignore", invalid="ignore"):
            for column, point in zip((x * plan.scale).T, points, strict=True):
                gap = np.abs(column[:, None] - point)
                total += gap if per_axis or form == "laplacian" else gap**2
                if per_axis:
                    factor *= _matern_factor(gap, nu)
        if nu is not None and not per_axis:
            total = np.minimum(np.sqrt(total), 1e4)
            factor = _matern_factor(total, nu)
        # Far out a product of factors may overflow.
        z[:] = np.where(total > 700, 0.0, factor) * np.exp(-total)


def _matern_factor(t: Matrix, nu: float | None) -> Matrix:
    """The polynomial that multiplies exp(-t) in a Matern kernel."""
    return np.ones_like(t) if nu == 0.5 else 1 + t + (t**2 / 3 if nu == 2.5 else 0)


def entry_features(x: Matrix, plan: KroneckerPlan, t: int) -> Matrix:
    """The 1-D features of entry t: its middle, its cosines, its sines."""
    chosen = slice(plan.entry_ptr[t], plan.entry_ptr[t + 1])
    angles = x[:, plan.entry_axis[t], None] * plan.entry_nodes[chosen].astype(x.dtype)
    amplitudes = plan.entry_amplitudes[chosen].astype(x.dtype)
    parts = [amplitudes * np.cos(angles), amplitudes * np.sin(angles)]
    if plan.entry_middle[t] != 0:
        parts.insert(0, np.full((len(x), 1), plan.entry_middle[t], dtype=x.dtype))
    return np.concatenate(parts, axis=1)


def check(X: Matrix, plan: FourierPlan | KroneckerPlan | PairPlan, out: Matrix) -> None:
    """Raise an error if the shapes or dtypes of X and out do not fit the plan."""
    if X.ndim != 2 or X.shape[1] != plan.n_features:
        raise ValueError(
            f"X has shape {X.shape}, but the plan is for {plan.n_features} columns: "
            f"give X of shape (n, {plan.n_features})."
        )
    double_only = isinstance(plan, PairPlan)
    if X.dtype not in (np.float64, *[np.float32] * (not double_only)) or out.dtype != X.dtype:
        kinds = "float64" if double_only else "float32 or both float64"
        raise TypeError(f"X and out must both be {kinds}, got {X.dtype} and {out.dtype}.")
    if out.shape != (len(X), plan.n_columns):
        raise ValueError(
            f"out has shape {out.shape}, but must have shape {(len(X), plan.n_columns)}."
        )


def _blocks(X: Matrix, out: Matrix, widest: int) -> Iterator[tuple[Matrix, Matrix]]:
    """Blocks of rows of X and out; a single row is doubled, so that BLAS runs the same code."""
    rows = max(2, _BLOCK_ELEMENTS // max(1, widest))
    for start in range(0, len(X), rows):
        x, z = X[start : start + rows], out[start : start + rows]
        if len(x) > 1:
            yield x, z
        else:
            pair = np.empty((2, out.shape[1]), dtype=out.dtype)
            yield np.concatenate([x, x]), pair
            z[:] = pair[:1]


def mercer(X: Matrix, basis: MercerBasis, out: Matrix) -> None:
    """Write the features of X (n, d) into out (n, columns), one expansion after another."""
    rows = max(1, BLOCK_ENTRIES // max(len(expansion.parent) for expansion in basis.expansions))
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
    for expansion in basis.expansions:
        start, stop = stop, stop + expansion.n_columns
        out[:, start:stop] = _features(X[:, expansion.axes], expansion)


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
    """The tables of all directions, stacked (sum of sizes, n), and the base (n,)."""
    dtype = X.dtype
    # Subtract the mean before the product: a large mean would cancel the digits of t.
    centred = X - expansion.mean.astype(dtype)
    t = coordinates(centred, expansion).T
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


def coordinates(centred: Matrix, expansion: Expansion) -> Matrix:
    """t, (n, m): centred rows along the directions of an expansion."""
    dtype = centred.dtype
    t = _product(centred, expansion.rotation.astype(dtype))
    if expansion.mixing is None:
        return t
    straight = expansion.scale / np.sqrt(expansion.length)
    return centred * straight.astype(dtype) + _product(t, expansion.mixing.astype(dtype))


def _hermite_functions(t: Matrix, ratio: float, envelope: float, table: Matrix) -> None:
    """q_k(t) with q_0 = exp(-envelope t^2), accurate even where q_0 underflows and q_k does not.

    The recurrence carries q_k / q_0; where that grows large, 2^40 moves into the exponent.
    """
    exponent = -t.dtype.type(envelope) * t * t
    shrink, step = t.dtype.type(2.0**-40), t.dtype.type(40 * np.log(2.0))
    previous, current, factor = np.zeros_like(t), np.ones_like(t), np.exp(exponent)
    t = np.clip(t, -(2.0**40), 2.0**40)  # so that one step cannot overflow
    table[0] = factor
    for k, (rise, fall) in enumerate(_hermite_recurrence(ratio, len(table), t.dtype)):
        previous, current = current, rise * t * current - fall * previous
        large = np.abs(current) > 1 / shrink
        if large.any():
            previous[large] *= shrink
            current[large] *= shrink
            exponent[large] += step
            factor = np.exp(exponent)
        table[k + 1] = current * factor


def _hermite_ratios(t: Matrix, ratio: float, envelope: float, table: Matrix) -> None:
    """q_k(t) with q_0 = 1: polynomials, which multiply columns that vanish faster."""
    # Beyond this limit the envelope and hence the columns are 0; clipping keeps q_k finite.
    limit = np.sqrt(0.9 * np.log(np.finfo(t.dtype).max) / envelope)
    t = np.clip(t, -limit, limit).astype(t.dtype)
    table[0] = 1
    for k, (rise, fall) in enumerate(_hermite_recurrence(ratio, len(table), t.dtype)):
        table[k + 1] = rise * t * table[k]
        if k:
            table[k + 1] -= fall * table[k - 1]


def _hermite_recurrence(ratio: float, size: int, dtype: Any) -> Iterator[tuple[Any, Any]]:
    for k in range(size - 1):
        rise, fall = np.sqrt(2 * ratio / (k + 1)), ratio * np.sqrt(k / (k + 1))
        yield dtype.type(rise), dtype.type(fall)


def _product(left: Matrix, right: Matrix) -> Matrix:
    # BLAS multiplies a single row with other code, whose last bit differs.
    if len(left) == 1:
        return np.asarray((np.concatenate([left, left]) @ right)[:1])
    return np.asarray(left @ right)
