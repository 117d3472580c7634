"""Rows of X: blocks of them, reproducible samples, sparse rows as dense arrays."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from math import isfinite
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from ._typing import Floats, Matrix

# With more columns than this no covariance is stored or diagonalised; principal directions are
# computed from this many rows.
WIDE = 2048


def drawn(n: int, count: int) -> npt.NDArray[np.intp]:
    """Positions of at most `count` of n rows, drawn with a fixed seed, in order.

    Not every k-th row: rows may come in a cycle.
    """
    return np.sort(np.random.default_rng(0).permutation(n)[:count])


def spread_rows(X: Matrix, n: int) -> Floats:
    """At most `n` rows of X, drawn as `drawn` does, in double precision."""
    return np.asarray(X[drawn(len(X), n)], dtype=np.float64)


BLOCK_ENTRIES = 2**19
_SPARSE_BYTES = 2**26  # of sparse rows converted to dense at a time


def moved(X: Matrix, origin: Floats | None, dtype: Any) -> Matrix:
    """X minus `origin`, subtracted in double precision and then rounded to `dtype`."""
    centred = X if origin is None else np.asarray(X, dtype=np.float64) - origin
    return np.asarray(centred, dtype=dtype)


def as_array(X: Any) -> Any:
    """The memory of a torch tensor as an array; anything else unchanged."""
    return X.numpy() if type(X).__module__ == "torch" else X


def same_kind(X: Any, out: Matrix) -> Any:
    """`out`, as a torch tensor on the same memory if X is a torch tensor."""
    if type(X).__module__ == "torch":
        return sys.modules["torch"].from_numpy(out)
    return out


def has_finite_sum(X: Matrix) -> bool:
    """Whether the sum is finite, which implies that every entry is; the converse need not hold."""
    with np.errstate(over="ignore", invalid="ignore"):
        return isfinite(X.sum())


def dense_rows(X: Any) -> Any:
    """X itself, or some rows of a sparse X: up to 10,000 or 512 MB, at least 200."""
    if not sparse.issparse(X):
        return np.asarray(X)
    n, d = X.shape
    return np.asarray(X[drawn(n, max(200, min(10_000, 2**26 // d)))].toarray())


def corners(X: Any) -> Any:
    """The least and the largest value of each column of a sparse X, (2, d)."""
    ends = X.min(axis=0), X.max(axis=0)
    return np.stack([np.ravel(end.toarray()) for end in ends])


def sparse_rows(X: Any) -> int:
    """Rows per block: all of an array; of a sparse matrix, 64 MB of dense rows."""
    if not sparse.issparse(X):
        return max(1, X.shape[0])
    return max(1, _SPARSE_BYTES // (X.shape[1] * X.dtype.itemsize))


def row_blocks(X: Any, rows: int) -> Iterator[tuple[int, Matrix]]:
    """The position of its first row and the dense block, for each `rows` rows of X."""
    for start in range(0, X.shape[0], max(1, rows)):
        block = X[start : start + rows]
        yield start, block.toarray() if sparse.issparse(block) else block
