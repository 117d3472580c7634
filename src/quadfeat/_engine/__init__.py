"""Rows of X to features at the speed of the machine: the compiled twin of `quadfeat._reference`.

The compiled core is optional. Without it `fourier` and `kronecker` are the NumPy twins and `mercer`
is the twin that it is given; the first call warns once, and `engine_info` says why.
``QUADFEAT_ISA`` forces an instruction set (``baseline``, ``avx2``, ``avx512``) or the NumPy twin
(``numpy``), for tests.
"""

from __future__ import annotations

import importlib
import os
import warnings
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np

from quadfeat import _reference
from quadfeat._engine import _mercer
from quadfeat._reference import Floats, FourierPlan, KroneckerPlan

_core: Any
try:
    _core = importlib.import_module("quadfeat._engine._core")
except ImportError as error:
    _core = None
    _reason = f"the compiled core is not installed ({error})"
else:
    _reason = ""

__all__ = ["empty", "engine_info", "fourier", "kronecker", "mercer", "thread_count"]

_packed: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = weakref.WeakKeyDictionary()
_warned = False
_LINE = 64  # bytes of a cache line


def fourier(X: Floats, plan: FourierPlan, out: Floats, n_threads: int | None = None) -> None:
    """Write the cosine and sine columns of `plan` for every row of X into `out`.

    Parameters
    ----------
    X : (n, d) float32 or float64, of any strides
    plan : FourierPlan
    out : (n, plan.n_columns), of the dtype of X, with contiguous rows
    n_threads : int or None
        None means `thread_count`. The answer has the same bits for any number.
    """
    _run("Fourier", X, plan, out, n_threads)


def kronecker(X: Floats, plan: KroneckerPlan, out: Floats, n_threads: int | None = None) -> None:
    """Write the full-grid columns of `plan` for every row of X into `out`.

    Parameters
    ----------
    X : (n, d) float32 or float64, of any strides
    plan : KroneckerPlan
    out : (n, plan.n_columns), of the dtype of X, with contiguous rows
    n_threads : int or None
        None means `thread_count`. The answer has the same bits for any number.
    """
    _run("Kronecker", X, plan, out, n_threads)


def mercer(
    X: Floats,
    basis: Any,
    out: Floats,
    n_threads: int | None = None,
    *,
    twin: Callable[[Floats, Any, Floats], None],
) -> None:
    """Write the Hermite-Mercer columns of `basis` for every row of X into `out`.

    Parameters
    ----------
    X : (n, d) float32 or float64, of any strides
    basis : MercerBasis
        Known by its attributes `expansions`, `projection`, `n_pool` and `n_columns`. Expansions run
        in the core; projections are products of blocks of rows by NumPy.
    out : (n, basis.n_columns), of the dtype of X, with contiguous rows
    n_threads : int or None
        None means `thread_count`. Without projections the answer has the same bits for any number.
    twin : callable
        ``twin(X, basis, out)`` defines the answer, and gives it where there is no compiled core.
    """
    isa = _isa()
    _mercer.check(X, basis, out)
    if isa == "numpy":
        _warn_once()
        twin(X, basis, out)
    else:
        _mercer.run(_core, isa, _native(X), basis, out, _threads(n_threads))


def empty(n: int, p: int, dtype: Any) -> Floats:
    """An uninitialised (n, p) array for features, which starts on a cache line.

    NumPy's own large arrays start 16 bytes after one, so that half of all vector stores straddle
    two lines: 1-3% of W1 of ``quadfeat bench``. The system clears every page of fresh memory,
    which costs about as much as the features. NumPy already asks for huge pages, and a mapping of
    our own that does so too was not measurably faster ("W2 fresh"). Whoever can reuse an array
    should.

    >>> empty(2, 3, np.float32).shape
    (2, 3)
    """
    size = n * p * np.dtype(dtype).itemsize
    memory = np.empty(size + _LINE, dtype=np.uint8)
    start = -memory.__array_interface__["data"][0] % _LINE
    out: Floats = memory[start : start + size].view(dtype).reshape(n, p)
    return out


def thread_count() -> int:
    """Threads used by default: what ``OMP_NUM_THREADS`` says, within the CPUs of this process.

    joblib sets that variable in its workers, so nested parallelism does not oversubscribe.
    """
    if hasattr(os, "sched_getaffinity"):
        available = len(os.sched_getaffinity(0))
    else:
        available = os.cpu_count() or 1
    asked = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    return max(1, min(available, int(asked))) if asked.isdigit() else available


def engine_info() -> dict[str, Any]:
    """What evaluates features here.

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
    """Tell the user, once per process, that the core is missing; not if the twin was asked for."""
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


def _run(shape: str, X: Floats, plan: Any, out: Floats, n_threads: int | None) -> None:
    isa = _isa()
    if isa == "numpy":
        _warn_once()
        getattr(_reference, shape.lower())(X, plan, out)
        return
    threads = _threads(n_threads)
    _reference._check(X, plan, out)
    X = _native(X)
    _pack(shape, plan, X.dtype, isa).run(X, out, threads)


def _threads(n_threads: int | None) -> int:
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"n_threads={n_threads} must be at least 1, or None for all CPUs.")
    return thread_count() if n_threads is None else n_threads


def _native(X: Floats) -> Floats:
    """X as the core can read it: aligned, in the byte order of the machine."""
    if X.flags.aligned and X.dtype.isnative:
        return X
    return np.require(X, X.dtype.newbyteorder("="), "A")


def _pack(shape: str, plan: Any, dtype: Any, isa: str) -> Any:
    """The plan in the layout of the core, made once per plan, dtype and instruction set."""
    cache = _packed.setdefault(plan, {})
    key = (isa, dtype.char)
    if key not in cache:
        fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
        cache[key] = getattr(_core, f"{shape}{8 * dtype.itemsize}")(isa=isa, **fields)
    return cache[key]
