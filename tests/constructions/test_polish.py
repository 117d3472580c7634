"""Grids in the frame of the data, and nodes that are moved from there."""

import numpy as np
import pytest

from quadfeat.constructions import framed_grid
from quadfeat.constructions.polished import _pairs_error, descend, polish
from quadfeat.constructions.reweighted import approximate_gram
from quadfeat.kernels.stationary import Gaussian
from quadfeat.rules import grids

from .expansion_laws import DATA, EPS


# --- grids in the frame --------------------------------------------------------------------------
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


def test_polishing_lowers_the_error_of_unseen_pairs():
    X = DATA["roll"]
    kernel, rng = Gaussian("median").resolve(X), np.random.default_rng(0)
    rule = framed_grid.framed_grid(kernel, X[::2], 32).unframed
    nodes, weights = rule.nodes[16:], 2 * rule.weights[16:]
    better = polish(nodes, weights, kernel.at, X[::2], rng)
    gaps = X[1::2][:, None] - X[1::2]
    gaps = gaps[np.triu_indices(len(gaps), 1)]
    before, after = (
        np.mean((np.cos(gaps @ w.T) @ a - kernel.at(gaps)) ** 2)
        for w, a in ((nodes, weights), better)
    )
    assert after < before / 4
    assert (better[1] >= 0).all()


def test_descending_lowers_the_error_of_unseen_pairs_and_leaves_zero_where_it_is():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 30)) * np.linspace(1.5, 0.2, 30)
    kernel = Gaussian("median").resolve(X)
    nodes = np.sqrt(2 * kernel.gamma) * rng.normal(size=(60, 30))
    nodes[7] = 0
    weights = np.full(60, 1 / 60)
    better = descend(nodes, weights, kernel, X[::2], rng)
    exact, apart = kernel(X[1::2]), ~np.eye(400, dtype=bool)
    before, after = (
        np.mean((approximate_gram(X[1::2] @ w.T, a) - exact)[apart] ** 2)
        for w, a in ((nodes, weights), better)
    )
    assert after < before / 4
    assert (better[1] >= 0).all()
    assert not better[0][7].any()


def test_descending_below_single_precision_has_the_digits_of_double():
    X, kernel = np.random.default_rng(0).normal(size=(400, 1)), Gaussian(0.5)
    rule = framed_grid.framed_grid(kernel, X, 20).unframed
    start = rule.nodes[10:], 2 * rule.weights[10:]
    better = descend(*start, kernel, X, np.random.default_rng(0))
    before, after = (
        np.sqrt(np.mean((approximate_gram(X @ w.T, a) - kernel(X)) ** 2))
        for w, a in (start, better)
    )
    assert before < np.finfo(np.float32).eps
    assert after < before / 4


def test_descending_does_not_follow_rows_that_mislead():
    rng = np.random.default_rng(0)
    X, nodes, weights = rng.normal(size=(300, 4)), rng.normal(size=(30, 4)), np.full(30, 1 / 30)
    asked = []

    def gram(rows):  # true for the rows that judge, which come first
        asked.append(len(rows))
        return Gaussian(0.5)(rows) if len(asked) == 1 else np.zeros((len(rows), len(rows)))

    found = descend(nodes, weights, gram, X, rng)
    assert len(asked) > 1
    np.testing.assert_array_equal(found[0], nodes)
    np.testing.assert_allclose(found[1], weights, rtol=2 * EPS)


def test_descending_from_no_error_stays():
    nodes, weights = np.array([[0.5, 0.5], [1.0, 0.0]]), np.array([0.25, 0.75])
    found = descend(nodes, weights, Gaussian(1.0), np.zeros((50, 2)), np.random.default_rng(0))
    np.testing.assert_array_equal(found[0], nodes)
    np.testing.assert_allclose(found[1], weights, rtol=2 * EPS)


def test_the_slope_of_the_pairs_error_is_its_derivative():
    rng = np.random.default_rng(0)
    X, point, step = rng.normal(size=(20, 3)), rng.normal(size=5 * 4), rng.normal(size=5 * 4)
    gram = Gaussian(0.3)(X)
    slope = _pairs_error(point, 5, X, gram)[1] @ step
    h = 1e-5
    ends = [_pairs_error(point + sign * h * step, 5, X, gram)[0] for sign in (-1, 1)]
    # Central differences err by h^2 of the third derivative, and by rounding / h.
    assert abs((ends[1] - ends[0]) / (2 * h) - slope) < 1e-6 * abs(slope) + 1e-8
