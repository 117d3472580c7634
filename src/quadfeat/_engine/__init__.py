"""Rows of X to features at the speed of the machine: the compiled twin of `quadfeat._reference`.

The compiled core is optional. Without it, `fourier` and `kronecker` are the NumPy twins, and
`engine_info` says why. ``QUADFEAT_ISA`` forces an instruction set (``baseline``, ``avx2``,
``avx512``) or the NumPy twin (``numpy``), for tests.
"""

from __future__ import annotations

import importlib
import os
import weakref
from typing import Any

import numpy as np

from quadfeat import _reference
from quadfeat._reference import Floats, FourierPlan, KroneckerPlan

_core: Any
try:
    _core = importlib.import_module("quadfeat._engine._core")
except ImportError as error:
    _core = None
    _reason = f"the compiled core is not installed ({error})"
else:
    _reason = ""

__all__ = ["empty", "engine_info", "fourier", "kronecker", "thread_count"]

_packed: weakref.WeakKeyDictionary[Any, dict[tuple[str, str], Any]] = weakref.WeakKeyDictionary()


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


def empty(n: int, p: int, dtype: Any) -> Floats:
    """An uninitialised (n, p) array for features that are to be kept.

    The system clears every page of fresh memory, which costs about as much as the features. NumPy
    already asks for huge pages, and a mapping of our own that does so too was not measurably
    faster ("W2 fresh" of ``benchmarks/speed.py``). Whoever can reuse an array should.

    >>> empty(2, 3, np.float32).shape
    (2, 3)
    """
    return np.empty((n, p), dtype=dtype)


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


def _run(shape: str, X: Floats, plan: Any, out: Floats, n_threads: int | None) -> None:
    isa = _isa()
    if isa == "numpy":
        getattr(_reference, shape.lower())(X, plan, out)
        return
    if n_threads is not None and n_threads < 1:
        raise ValueError(f"n_threads={n_threads} must be at least 1, or None for all CPUs.")
    _reference._check(X, plan, out)
    if not (X.flags.aligned and X.dtype.isnative):
        X = np.require(X, X.dtype.newbyteorder("="), "A")
    threads = thread_count() if n_threads is None else n_threads
    _pack(shape, plan, X.dtype, isa).run(X, out, threads)


def _pack(shape: str, plan: Any, dtype: Any, isa: str) -> Any:
    """The plan in the layout of the core, made once per plan, dtype and instruction set."""
    cache = _packed.setdefault(plan, {})
    key = (isa, dtype.char)
    if key not in cache:
        fields = {name: getattr(plan, name) for name in plan.__dataclass_fields__}
        cache[key] = getattr(_core, f"{shape}{8 * dtype.itemsize}")(isa=isa, **fields)
    return cache[key]
