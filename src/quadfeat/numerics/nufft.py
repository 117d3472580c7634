"""Non-uniform fast Fourier transforms; the only caller of FINUFFT (Barnett et al., 2019).

FINUFFT is an extra. Each call runs on one thread, and rows are cut into chunks independently of the
number of threads: results have the same bits on every machine with one kind of CPU.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Sequence
from functools import cache
from math import prod
from typing import Any

import numpy as np

from .._typing import Floats, Modes
from .blas import share

# Relative to the root of the sum of squares. Spreading takes about twice as long per row as for
# 1e-9, and a ridge system of 1e7 rows keeps the digits that its penalty needs.
_ACCURACY = 1e-12
_CHUNK = 2**16  # rows of a transform, at least


@cache
def has_nufft() -> bool:
    """Whether FINUFFT is installed."""
    return importlib.util.find_spec("finufft") is not None


def chunk_rows(shape: Sequence[int]) -> int:
    """Rows of one transform: enough to make its FFT, of 2^d grid points per mode, a minor cost."""
    return max(_CHUNK, 2 ** len(shape) * prod(shape))


def modes_of_points(points: Floats, strengths: Modes, shape: Sequence[int]) -> Modes:
    """sum_i strengths[:, i] exp(i m . points[i]) for whole m (type 1), (t, *shape).

    The modes of an axis are -(n // 2), ..., (n - 1) // 2.

    Parameters
    ----------
    points : (n, d)
    strengths : (t, n), complex
    shape : modes of each axis, (d,)

    Examples
    --------
    >>> one = modes_of_points(np.array([[np.pi / 2]]), np.ones((1, 1), complex), (3,))
    >>> one.round(6) + 0
    array([[0.-1.j, 1.+0.j, 0.+1.j]])
    """
    rows = chunk_rows(shape)
    starts = range(0, len(points), rows)
    parts: dict[int, Modes] = {}

    def transform(start: int) -> None:
        some = slice(start, start + rows)
        plan = _plan(1, shape, len(strengths), points[some])
        parts[start] = plan.execute(np.ascontiguousarray(strengths[:, some])).reshape(-1, *shape)

    share(transform, starts)
    total = np.zeros((len(strengths), *shape), dtype=np.complex128)
    for start in starts:
        total += parts[start]
    return total


def values_at_points(points: Floats, modes: Modes) -> Modes:
    """sum_m modes[:, m] exp(-i m . points[i]) (type 2), (t, n); modes as in `modes_of_points`.

    >>> values_at_points(np.array([[np.pi]]), np.array([[0, 1, 2]], complex)).round(6) + 0
    array([[-1.+0.j]])
    """
    shape, rows = modes.shape[1:], chunk_rows(modes.shape[1:])
    modes = np.ascontiguousarray(modes)
    values = np.empty((len(modes), len(points)), dtype=np.complex128)

    def transform(start: int) -> None:
        some = slice(start, start + rows)
        plan = _plan(2, shape, len(modes), points[some])
        values[:, some] = plan.execute(modes).reshape(len(modes), -1)

    share(transform, range(0, len(points), rows))
    return values


def _plan(kind: int, shape: Sequence[int], n_transforms: int, points: Floats) -> Any:
    import finufft

    sign = 1 if kind == 1 else -1
    plan = finufft.Plan(
        kind, tuple(shape), n_transforms, _ACCURACY, sign, nthreads=1, upsampfac=2.0
    )
    plan.setpts(*(np.ascontiguousarray(column) for column in points.T))
    return plan
