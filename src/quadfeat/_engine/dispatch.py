"""Rows of X to features by the compiled core, or by `reference` if it is not installed.

Without the core the first call warns, once, and `engine_info` says why it is missing. For tests,
the environment variable ``QUADFEAT_ISA`` forces an instruction set (``baseline``, ``avx2``,
``avx512``) or `reference` (``numpy``).
"""

from __future__ import annotations

import importlib
import os
import warnings
import weakref
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Array, Matrix
from ..numerics.blas import product
from . import reference
from .pair_plan import PairPlan
from .plans import FourierPlan, KroneckerPlan, MercerBasis

_core: Any
try:
    _core = importlib.import_module("quadfeat._engine._core")
except ImportError as error:
    _core = None
    _reason = f"the compiled core is not installed ({error})"
else:
    _reason = ""


_packed: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = weakref.WeakKeyDictionary()
_warned = False
_LINE = 64  # bytes of a cache line


def fourier(X: Matrix, plan: FourierPlan, out: Matrix, n_threads: int | None = None) -> None:
    """Write the cosine and sine columns of `plan` for every row of X into `out`.

    Parameters
    ----------
    X : (n, d) float32 or float64, of any strides
    plan : FourierPlan
    out : (n, plan.n_columns), of the dtype of X, with contiguous rows
    n_threads : int or None
        None means `thread_count`. The bits do not depend on the number.
    """
    _run("Fourier", X, plan, out, n_threads)


def kronecker(X: Matrix, plan: KroneckerPlan, out: Matrix, n_threads: int | None = None) -> None:
    """Write the full-grid columns of `plan` for every row of X into `out`.

    Parameters
    ----------
    X : (n, d) float32 or float64, of any strides
    plan : KroneckerPlan
    out : (n, plan.n_columns), of the dtype of X, with contiguous rows
    n_threads : int or None
        None means `thread_count`. The bits do not depend on the number.
    """
    _run("Kronecker", X, plan, out, n_threads)


def pairs(X: Matrix, plan: PairPlan, out: Matrix, n_threads: int | None = None) -> None:
    """Write the kernel values of every row of X with every point of `plan` into `out`.

    Parameters
    ----------
    X : (n, d) float64, of any strides
    plan : PairPlan
    out : (n, points) float64, with contiguous rows
    n_threads : int or None
        None means `thread_count`. The bits do not depend on the number.
    """
    _run("Pairs", X, plan, out, n_threads)


def mercer(X: Matrix, basis: MercerBasis, out: Matrix, n_threads: int | None = None) -> None:
    """Write the Hermite-Mercer columns of `basis` for every row of X into `out`.

    Parameters
    ----------
    X : (n, d) float32 or float64, of any strides
    basis : MercerBasis
        The core evaluates expansions; NumPy multiplies blocks of rows with projections.
    out : (n, basis.n_columns), of the dtype of X, with contiguous rows
    n_threads : int or None
        None means `thread_count`. Without projections the answer has the same bits for any number.
    """
    isa = _isa()
    _check_mercer(X, basis, out)
    if isa == "numpy":
        _warn_once()
        reference.mercer(X, basis, out)
    else:
        _run_mercer(_core, isa, _native(X), basis, out, _threads(n_threads))


def empty(n: int, p: int, dtype: Any) -> Matrix:
    """An uninitialised (n, p) array for features, which starts on a cache line.

    Large NumPy arrays start 16 bytes after one, so half of all vector stores straddle two lines:
    1-3% of W1 of ``quadfeat bench``. The system clears every page of fresh memory, which costs
    about as much as the features: reuse arrays if you can. NumPy already requests huge pages; a
    separate mmap with huge pages was not measurably faster ("W2 fresh").

    >>> empty(2, 3, np.float32).shape
    (2, 3)
    """
    size = n * p * np.dtype(dtype).itemsize
    memory = np.empty(size + _LINE, dtype=np.uint8)
    start = -memory.__array_interface__["data"][0] % _LINE
    out: Matrix = memory[start : start + size].view(dtype).reshape(n, p)
    return out


def thread_count() -> int:
    """Threads used by default: the CPUs of this process, at most ``OMP_NUM_THREADS``.

    joblib sets that variable in its workers, so nested parallelism does not oversubscribe.
    """
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(available, int(asked))) if asked.isdigit() else available


def engine_info() -> dict[str, Any]:
    """The engine that computes features on this machine.

    Returns
    -------
    dict
        ``engine`` ("c++" or "numpy"), ``isa`` in use, ``isas`` that could be used, ``threads``,
        ``compiler``, and the ``reason`` when the engine is "numpy".
    """
    isa = _isa()
    compiled = isa != "numpy"
    return {
        "engine": "c++" if compiled else "numpy",
        "isa": isa if compiled else None,
        "isas": _core.isas() if _core is not None else [],
        "threads": thread_count(),
        "compiler": _core.compiler if _core is not None else None,
        "reason": "" if compiled else _reason or "QUADFEAT_ISA=numpy",
    }


def _isa() -> str:
    if _core is None:
        return "numpy"
    forced = os.environ.get("QUADFEAT_ISA", "")
    return forced or _core.isas()[0]


def _warn_once() -> None:
    """Warn once per process that the core is missing, unless QUADFEAT_ISA=numpy asks for NumPy."""
    global _warned
    if _core is not None or _warned or os.environ.get("QUADFEAT_ISA") == "numpy":
        return
    _warned = True
    warnings.warn(
        f"quadfeat runs on NumPy, several times slower than its C++ engine: {_reason}. To get the "
        "engine, install a C++17 compiler (g++ or clang++) and run `pip install "
        "--force-reinstall --no-binary quadfeat quadfeat`. QUADFEAT_ISA=numpy in the environment "
        "silences this.",
        UserWarning,
        stacklevel=4,
    )


def _run(shape: str, X: Matrix, plan: Any, out: Matrix, n_threads: int | None) -> None:
    isa = _isa()
    if isa == "numpy":
        _warn_once()
        getattr(reference, shape.lower())(X, plan, out)
        return
    threads = _threads(n_threads)
    reference.check(X, plan, out)
    X = _native(X)
    _pack(shape, plan, X.dtype, isa).run(X, out, threads)


def _threads(n_threads: int | None) -> int:
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"n_threads={n_threads} must be at least 1, or None for all CPUs.")
    return thread_count() if n_threads is None else n_threads


def _native(X: Matrix) -> Matrix:
    """X as the core can read it: aligned, in the byte order of the machine."""
    if X.flags.aligned and X.dtype.isnative:
        return X
    return np.require(X, X.dtype.newbyteorder("="), "A")


def _pack(shape: str, plan: Any, dtype: Any, isa: str) -> Any:
    """The plan in the layout of the core, packed once per plan, dtype and instruction set."""
    cache = _packed.setdefault(plan, {})
    key = (isa, dtype.char)
    if key not in cache:
        plan.check()
        fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
        cache[key] = getattr(_core, f"{shape}{8 * dtype.itemsize}")(isa=isa, **fields)
    return cache[key]


_BLOCK_ENTRIES = 2**19  # entries of the columns before a projection
# Packed bases and expansions by (instruction set, dtype), and rounded projections by
# ("projection", dtype).
_packed_mercer: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = (
    weakref.WeakKeyDictionary()
)


def _check_mercer(X: Matrix, basis: Any, out: Matrix) -> None:
    """Raise an error if the shapes or dtypes of X and out do not fit the basis."""
    needed = max(int(np.max(expansion.axes)) for expansion in basis.expansions) + 1
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


def _run_mercer(core: Any, isa: str, X: Matrix, basis: Any, out: Matrix, threads: int) -> None:
    """Write the columns of `basis`, in blocks of rows if there are projections."""
    plain = all(expansion.projection is None for expansion in basis.expansions)

    def pool(x: Matrix, z: Matrix) -> None:
        if plain:
            _expand(core, isa, x, basis, basis.expansions, z, threads)
            return
        stop = 0
        for expansion in basis.expansions:
            start, stop = stop, stop + expansion.n_columns
            columns = z[:, start:stop]
            if expansion.projection is not None:
                columns = np.empty((len(x), len(expansion.parent)), dtype=x.dtype)
            _expand(core, isa, x, expansion, (expansion,), columns, threads)
            if expansion.projection is not None:
                _multiply(columns, expansion, z[:, start:stop])

    if plain and basis.projection is None:
        pool(X, out)
        return
    widest = max(basis.n_pool, *(len(expansion.parent) for expansion in basis.expansions), 1)
    for some in _row_slices(len(X), max(1, _BLOCK_ENTRIES // widest)):
        if basis.projection is None:
            pool(X[some], out[some])
        else:
            columns = np.empty((len(X[some]), basis.n_pool), dtype=X.dtype)
            pool(X[some], columns)
            _multiply(columns, basis, out[some])


def _row_slices(n: int, rows: int) -> Iterator[slice]:
    return (slice(start, min(start + rows, n)) for start in range(0, n, rows))


def _expand(
    core: Any, isa: str, X: Matrix, owner: Any, expansions: Sequence[Any], out: Matrix, threads: int
) -> None:
    """Write the columns of `expansions`; their packed plan is cached as long as `owner` lives."""
    cache = _packed_mercer.setdefault(owner, {})
    key = (isa, X.dtype.char)
    if key not in cache:
        cache[key] = _pack_mercer(core, isa, expansions, X.dtype)
    plan, features = cache[key]
    plan.run(X[:, :features], out, threads)


def _pack_mercer(core: Any, isa: str, expansions: Sequence[Any], dtype: Any) -> tuple[Any, int]:
    """`expansions` in the layout of the core, and the number of columns of X they need."""
    for expansion in expansions:
        expansion.check()
    kind = core.Mercer32 if dtype == np.float32 else core.Mercer64
    fields = mercer_fields(expansions)
    return kind(isa=isa, **fields), fields["n_features"]


def mercer_fields(expansions: Sequence[Any]) -> dict[str, Any]:
    """The arrays of `expansions`, joined, with the offsets that separate them."""
    fields: dict[str, Any] = {"n_features": 1 + max(int(np.max(e.axes)) for e in expansions)}
    for name, kind in _MERCER_FIELDS.items():
        parts = [np.asarray(getattr(e, name), dtype=kind).ravel() for e in expansions]
        fields[name] = np.concatenate(parts)
    for name, counted in (("axes", "axes"), ("direction", "sizes"), ("column", "parent")):
        counts = [len(getattr(e, counted)) for e in expansions]
        fields[f"{name}_ptr"] = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    mixings = [np.empty((0, 0)) if e.mixing is None else e.mixing for e in expansions]
    fields["mixing"] = np.concatenate([np.ravel(mixing) for mixing in mixings])
    fields["reflections"] = np.array([len(mixing) for mixing in mixings], dtype=np.int64)
    return fields


_MERCER_FIELDS = {
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


def _multiply(left: Matrix, owner: Any, out: Matrix) -> None:
    """Write left @ owner.projection; the projection is rounded to the dtype once."""
    cache = _packed_mercer.setdefault(owner, {})
    key = ("projection", left.dtype.char)
    if key not in cache:
        cache[key] = np.ascontiguousarray(owner.projection, dtype=left.dtype)
    right: npt.NDArray[Any] = cache[key]
    # BLAS multiplies a single row with other code, whose last bit differs.
    if len(left) == 1:
        out[:] = (np.concatenate([left, left]) @ right)[:1]
    else:
        product(left, right, out)


def fill(out: Matrix, value: float, n_threads: int | None = None) -> None:
    """Write one value into all of `out`, as fast as the engine writes features."""
    isa = _isa()
    if isa == "numpy":
        out.fill(value)
    else:
        _core.write(isa, out, value, _threads(n_threads))


def touched(n: int, columns: int, dtype: Any) -> Array:
    """An array from `empty`, filled with zeros so that all its pages are mapped."""
    out = empty(n, columns, dtype)
    out.fill(0)
    return out
