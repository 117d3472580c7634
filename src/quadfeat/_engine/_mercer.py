"""Hermite-Mercer features by the compiled core: packing, and the products with projections."""

from __future__ import annotations

import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from quadfeat._blas import product
from quadfeat._reference import Floats

_BLOCK_ENTRIES = 2**19

# What a basis or an expansion looks like to the core, by instruction set or "projection" and dtype.
_packed: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = weakref.WeakKeyDictionary()


def check(X: Floats, basis: Any, out: Floats) -> None:
    """Refuse what does not fit together; `basis` as in `quadfeat._engine.mercer`."""
    needed = max(int(np.max(each.axes)) for each in basis.expansions) + 1
    if X.ndim != 2 or X.shape[1] < needed:
        raise ValueError(
            f"X has shape {X.shape}, but the basis looks at column {needed - 1}: "
            f"give X at least {needed} columns."
        )
    if X.dtype not in (np.float32, np.float64) or out.dtype != X.dtype:
        raise TypeError(
            f"X and out must both be float32 or both float64, got {X.dtype} and {out.dtype}."
        )
    if out.shape != (len(X), basis.n_columns):
        raise ValueError(
            f"out has shape {out.shape}, but must have shape {(len(X), basis.n_columns)}."
        )


def run(core: Any, isa: str, X: Floats, basis: Any, out: Floats, threads: int) -> None:
    """Write the columns of `basis`; blocks of rows keep what is projected small."""
    whole = all(each.projection is None for each in basis.expansions)

    def pool(x: Floats, z: Floats) -> None:
        if whole:
            _expand(core, isa, x, basis, basis.expansions, z, threads)
            return
        stop = 0
        for each in basis.expansions:
            start, stop = stop, stop + each.n_columns
            own = z[:, start:stop]
            if each.projection is not None:
                own = np.empty((len(x), len(each.parent)), dtype=x.dtype)
            _expand(core, isa, x, each, (each,), own, threads)
            if each.projection is not None:
                _multiply(own, each, z[:, start:stop])

    if whole and basis.projection is None:
        pool(X, out)
        return
    widest = max(basis.n_pool, *(len(each.parent) for each in basis.expansions), 1)
    for some in _blocks(len(X), max(1, _BLOCK_ENTRIES // widest)):
        if basis.projection is None:
            pool(X[some], out[some])
        else:
            columns = np.empty((len(X[some]), basis.n_pool), dtype=X.dtype)
            pool(X[some], columns)
            _multiply(columns, basis, out[some])


def _blocks(n: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def _expand(
    core: Any, isa: str, X: Floats, owner: Any, expansions: Sequence[Any], out: Floats, threads: int
) -> None:
    """The columns of `expansions`; their plan is kept as long as `owner` lives."""
    cache = _packed.setdefault(owner, {})
    key = (isa, X.dtype.char)
    if key not in cache:
        cache[key] = pack(core, isa, expansions, X.dtype)
    plan, features = cache[key]
    plan.run(X[:, :features], out, threads)


def pack(core: Any, isa: str, expansions: Sequence[Any], dtype: Any) -> tuple[Any, int]:
    """The plan of the core for `expansions`, and how many columns of X it looks at."""
    features = 1 + max(int(np.max(each.axes)) for each in expansions)
    kind = core.Mercer32 if dtype == np.float32 else core.Mercer64
    fields: dict[str, Any] = {}
    for name, sort in _FIELDS.items():
        parts = [np.asarray(getattr(each, name), dtype=sort).ravel() for each in expansions]
        fields[name] = np.concatenate(parts)
    for name, cut in (("axes", "axes"), ("direction", "sizes"), ("column", "parent")):
        counts = [len(getattr(each, cut)) for each in expansions]
        fields[f"{name}_ptr"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    mixings = [np.empty((0, 0)) if each.mixing is None else each.mixing for each in expansions]
    fields["mixing"] = np.concatenate([np.ravel(mixing) for mixing in mixings])
    fields["reflections"] = np.array([len(mixing) for mixing in mixings], dtype=np.int64)
    return kind(isa=isa, n_features=features, **fields), features


_FIELDS = {
    "axes": np.int64,
    "scale": np.float64,
    "mean": np.float64,
    "rotation": np.float64,
    "envelope": np.float64,
    "length": np.float64,
    "ratio": np.float64,
    "sizes": np.int64,
    "amplitude": np.float64,
    "parent": np.int64,
    "direction": np.int64,
    "degree": np.int64,
}


def _multiply(left: Floats, owner: Any, out: Floats) -> None:
    """left @ owner.projection, which is rounded to the dtype once."""
    cache = _packed.setdefault(owner, {})
    key = ("projection", left.dtype.char)
    if key not in cache:
        cache[key] = np.ascontiguousarray(owner.projection, dtype=left.dtype)
    right: npt.NDArray[Any] = cache[key]
    # NumPy multiplies one row by another path than many, and the last bit differs.
    if len(left) == 1:
        out[:] = (np.concatenate([left, left]) @ right)[:1]
    else:
        product(left, right, out)
