"""The coordinates of a map: those of its kernel after the kernel's change of coordinates."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._rows import corners, moved, row_blocks, sparse_rows
from .._typing import Floats, Matrix
from ..accuracy.region import Region
from ..numerics.linear_map import LinearMap

_BLOCK_BYTES = 2**22  # of rows before or after the change of coordinates, at a time


@dataclass(frozen=True, eq=False)
class Coordinates:
    """The linear map of a kernel with k(x, y) = inner(M x, M y), as in `Kernel.coordinates`.

    Parameters
    ----------
    n_axes : int, columns of the rows M x
    linear : LinearMap, or None where coordinates do not change
    """

    n_axes: int
    linear: LinearMap | None = None

    @classmethod
    def of(cls, matrix: Floats | None, d: int) -> Coordinates:
        """The coordinates M x of d columns; None for no change."""
        return cls(d) if matrix is None else cls(len(matrix), LinearMap(matrix))

    @property
    def name(self) -> str:
        """What to call the rows M x in messages."""
        return "X" if self.linear is None else "X @ metric.T"

    @property
    def factor(self) -> int:
        """Entries of the matrix that rows are multiplied by; 0 if there is none."""
        return 0 if self.linear is None else self.linear.matrix.size

    def rows(self, X: Matrix) -> Matrix:
        """M x for rows of X, in their precision; X itself where coordinates do not change."""
        return X if self.linear is None else self.linear(X)

    def blocks(self, X: Any, origin: Floats | None, dtype: Any) -> Iterator[tuple[int, Matrix]]:
        """The position of its first row and M (x - origin), for blocks of an array or CSR matrix.

        An array is one block where coordinates do not change; else blocks are small beside X.
        """
        size = sparse_rows(X)
        if self.linear is not None:
            widest = max(self.linear.matrix.shape) * X.dtype.itemsize
            size = min(size, max(256, _BLOCK_BYTES // widest))
        for start, rows in row_blocks(X, size):
            yield start, self.rows(moved(rows, origin, dtype))

    def spanning(self, X: Any) -> Matrix:
        """Two rows with the bounding box of M x over all rows of a sparse X, (2, n_axes)."""
        if self.linear is None:
            return np.asarray(corners(X))
        ends = [
            (image.min(axis=0), image.max(axis=0)) for _, image in self.blocks(X, None, X.dtype)
        ]
        low, high = zip(*ends, strict=True)
        return np.stack([np.min(low, axis=0), np.max(high, axis=0)])

    def region(self, region: Region) -> Region:
        """A region that holds M u for every gap u of a region."""
        return region if self.linear is None else region.transformed(self.linear.matrix)

    def nodes(self, nodes: Floats) -> Floats:
        """Frequencies (n, n_axes) in the space of X, (n, d): w . (M x) = (M' w) . x."""
        return nodes if self.linear is None else nodes @ self.linear.matrix


def is_part(X: Any, rows: Matrix) -> bool:
    """Whether dense `rows` are only some of the rows of a sparse X."""
    return sparse.issparse(X) and len(rows) < X.shape[0]
