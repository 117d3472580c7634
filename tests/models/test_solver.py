"""Rows for FFTs: many at a time, in their order."""

from types import SimpleNamespace

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data.blocks import Block
from quadfeat.models import solver
from quadfeat.models.solver import LatticeModel

from .maps import equispaced


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


def test_predictions_of_many_blocks_are_those_of_all_rows(plane, monkeypatch):
    pytest.importorskip("finufft")
    X, y = plane
    model = qf.KernelRegressor(equispaced(), alpha=0.1, solver="toeplitz").fit(X, y)
    expected = model.predict(X)
    lattice = type(model._lattice_of_fit())
    monkeypatch.setattr(lattice, "rows_at_once", 20)
    for sizes in ([20, 20, 20, 20], [30, 30, 20], [7] * 11 + [3]):
        ends = np.cumsum(sizes)
        blocks = [X[end - n : end] for n, end in zip(sizes, ends, strict=True)]
        np.testing.assert_allclose(model.predict(lambda b=blocks: iter(b)), expected, atol=1e-9)


def test_ffts_are_cheaper_for_many_rows_and_many_columns():
    X = np.random.default_rng(0).uniform(size=(50, 2))
    for n_points, rows, cheaper in ((4, 100, False), (40, 10**6, True), (140, 10**5, True)):
        grid = qf.DenseGrid(qf.Gaussian(0.4), rule="equispaced", n_points=n_points).fit(X)
        assert solver._is_cheaper(grid.lattice(), rows) == cheaper
