"""Grids along principal directions: mirrored, pruned to their largest weights, rotation-free."""

import numpy as np
import pytest

from quadfeat.constructions import framed_grid
from quadfeat.kernels.stationary import Gaussian
from quadfeat.rules import grids

from .expansion_laws import DATA, EPS


@pytest.mark.parametrize("n", [1, 2, 7, 64, 101])
@pytest.mark.parametrize("name", ["roll", "cancer5", "line", "wine"])
def test_a_framed_grid_is_mirrored_to_the_last_bit_and_fits_its_columns(name, n):
    X = DATA[name]
    grid = framed_grid.framed_grid(Gaussian("median").resolve(X), X, n)
    rule = grid.unframed
    np.testing.assert_array_equal(rule.nodes, -rule.nodes[::-1])
    np.testing.assert_array_equal(rule.weights, rule.weights[::-1])
    assert (rule.weights > 0).all()
    assert abs(rule.weights.sum() - 1) < 10 * EPS
    assert len(rule) <= n
    assert len(grids.fold(rule)) == (len(rule) + 1) // 2
    assert 0 <= grid.omitted <= 1


def test_pruning_keeps_the_largest_weights_and_errs_by_twice_what_it_omits():
    axes = [Gaussian(1.0).gauss(n) for n in (5, 4, 3)]
    full, pruned = grids.tensor(*axes), framed_grid._pruned(axes, 30)
    kept = np.sort(full.weights)[::-1][:30]
    np.testing.assert_allclose(
        np.sort(pruned.rule.weights)[::-1] * (1 - pruned.omitted), kept, rtol=1e-12
    )
    assert abs(pruned.omitted - (1 - kept.sum())) < 1e-14
    gaps = np.random.default_rng(0).normal(size=(2000, 3)) * 2
    assert np.abs(pruned.rule(gaps) - full(gaps)).max() <= 2 * pruned.omitted + 100 * EPS


def test_a_framed_grid_does_not_notice_a_rotation():
    X = DATA["roll"] * [1.0, 0.4, 0.1]
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    first, second = (
        framed_grid.framed_grid(Gaussian(0.5), rows, 48).unframed for rows in (X, X @ turn)
    )
    gaps = X[:100] - X[100:200]
    np.testing.assert_allclose(first(gaps), second(gaps @ turn), atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 3, 8, 33])
def test_a_framed_grid_errs_by_twice_what_it_omits_of_the_grid_of_its_axes(n):
    grid = framed_grid.framed_grid(Gaussian(0.5), DATA["roll"], n)
    gaps = np.random.default_rng(0).normal(size=(500, len(grid.axes))) * 2
    whole = np.prod([axis(gaps[:, i : i + 1]) for i, axis in enumerate(grid.axes)], axis=0)
    assert np.abs(grid.rule(gaps) - whole).max() <= 2 * grid.omitted + 100 * EPS


@pytest.mark.parametrize("gamma", [0.05, 0.5, [0.5, 0.1]])
def test_a_framed_grid_of_enough_columns_is_the_kernel(gamma):
    X = np.random.default_rng(0).normal(size=(200, 2)) @ [[1.0, 0.5], [0.0, 0.3]]
    kernel, gaps = Gaussian(gamma), X[:100] - X[100:]
    rule = framed_grid.framed_grid(kernel.resolve(X), X, 400).unframed
    assert np.abs(rule(gaps) - kernel.resolve(X).at(gaps)).max() <= 1e-7


@pytest.mark.parametrize("name, n", [("roll", 30), ("cancer5", 64), ("line", 12)])
def test_grids_without_a_zero_node_use_every_one_of_an_even_number_of_columns(name, n):
    X = DATA[name]
    gaps = X[:200] - X[200:400]
    whole = [
        len(grid.rule)
        for grid, _ in framed_grid._framed_candidates(gaps, n)
        if np.prod(grid.counts) >= n
    ]
    assert len(whole) > 5
    assert set(whole) == {n}


def test_a_single_direction_gets_a_quarter_more_nodes_at_a_time(monkeypatch):
    """From 1 to 100: one at a time to 8, then 11 steps; after that at most 8 finer grids."""
    tried = []
    best = framed_grid._GapRules._best
    monkeypatch.setattr(
        framed_grid._GapRules, "_best", lambda self, n: [tried.append(n), best(self, n)][1]
    )
    list(framed_grid._framed_candidates(DATA["line"][:50] - DATA["line"][50:100], 100))
    assert 100 in tried
    assert len(set(tried)) < 50


def test_rows_too_far_apart_for_any_grid_are_refused(rng):
    X = rng.normal(size=(50, 2))
    with pytest.raises(ValueError, match=r"length scales of Gaussian\(gamma=.*standardise X"):
        framed_grid.framed_grid(Gaussian(1e40), X, 24)
