"""Rows for FFTs: many at a time, in their order."""

from types import SimpleNamespace

import numpy as np
import pytest

from quadfeat.data.blocks import Block
from quadfeat.models.solver import LatticeModel


def taken(sizes, rows_at_once):
    """The pieces of rows that blocks of these sizes are joined to."""
    X = np.arange(2.0 * sum(sizes)).reshape(-1, 2)
    blocks = [Block(part) for part in np.split(X, np.cumsum(sizes)[:-1])]
    lattice = SimpleNamespace(
        n_columns_=2, rows_at_once=rows_at_once, write=lambda X, out: np.copyto(out, X)
    )
    model = SimpleNamespace(_predicted_rows=lambda X: iter(blocks), _precision=lambda X: X.dtype)
    pieces = list(LatticeModel._lattice_rows(model, X, lattice))
    np.testing.assert_array_equal(np.concatenate(pieces), X)
    return [len(piece) for piece in pieces]


@pytest.mark.parametrize(
    ("sizes", "lengths"),
    [([1] * 8, [3, 3, 2]), ([2] * 5, [4, 4, 2]), ([5, 1, 1, 1], [5, 3]), ([2], [2])],
)
def test_blocks_are_joined_until_there_are_enough_rows(sizes, lengths):
    assert taken(sizes, 3) == lengths
