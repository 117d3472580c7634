"""Nodes that are moved to lower the error over pairs of the data."""

import numpy as np
import pytest

from quadfeat.constructions import framed_grid
from quadfeat.constructions.polished import _pairs_error, descend, outward, polish
from quadfeat.constructions.reweighted import approximate_gram
from quadfeat.kernels.stationary import Gaussian

from .expansion_laws import DATA, EPS


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


@pytest.mark.parametrize(("m", "n_pairs"), [(50, 4000), (260, 4160)])
def test_a_step_fits_new_pairs_and_is_judged_by_twice_as_many_others(m, n_pairs):
    """Four pairs for each of 4 m numbers, at least 4000; a row is not paired with itself."""
    rng, taken = np.random.default_rng(0), []
    X, nodes = rng.normal(size=(5000, 3)), rng.normal(size=(m, 3))

    def kernel(gaps):
        taken.append(gaps)
        return Gaussian(0.5).at(gaps)

    polish(nodes, np.full(m, 1 / m), kernel, X, rng, steps=2)
    most = [2 * n_pairs, n_pairs, n_pairs]
    assert [len(gaps) <= n for gaps, n in zip(taken, most, strict=True)] == [True] * 3
    # One pair in 5000 is of a row with itself; five standard errors more are left out.
    assert all(
        len(gaps) > n - n / 5000 - 5 * np.sqrt(n / 5000) - 1
        for gaps, n in zip(taken, most, strict=True)
    )
    assert len(np.unique(np.concatenate(taken), axis=0)) > 0.999 * sum(map(len, taken))


def test_more_steps_of_polishing_are_never_worse(rng):
    X, kernel = rng.normal(size=(200, 2)), Gaussian(0.3)
    nodes = rng.normal(size=(8, 2))
    weights = np.full(8, 1 / 8)
    results = [
        polish(nodes, weights, kernel.at, X, np.random.default_rng(0), steps=steps)
        for steps in (1, 6)
    ]
    pairs = np.random.default_rng(1).integers(200, size=(2, 4000))
    gaps = X[pairs[0]] - X[pairs[1]]
    errors = [
        np.sqrt(np.mean((np.cos(gaps @ nodes.T) @ weights - kernel.at(gaps)) ** 2))
        for nodes, weights in results
    ]
    assert errors[1] < errors[0]


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


def test_the_pairs_error_is_the_mean_over_pairs_of_distinct_rows():
    rng = np.random.default_rng(0)
    X, roots, nodes = rng.normal(size=(20, 3)), rng.uniform(size=5), rng.normal(size=(5, 3))
    gram = Gaussian(0.3)(X)
    off = ~np.eye(20, dtype=bool)
    found = np.cos((X[:, None] - X) @ nodes.T) @ roots**2
    exact = np.mean((found - gram)[off] ** 2)
    point = np.concatenate([roots, nodes.ravel()])
    assert _pairs_error(point, 5, X, gram)[0] == pytest.approx(exact, rel=1e-12)
    assert _pairs_error(point, 5, X[:1], gram[:1, :1])[0] == 0


def test_up_to_20000_rows_are_all_moved_outward_in_their_order():
    X = np.random.default_rng(0).normal(size=(20_000, 1))
    factors = (outward(X, np.random.default_rng(1)) - X.mean(axis=0)) / (X - X.mean(axis=0))
    most = 1 + 8 / np.sqrt(20_000)
    # The gap to the mean has a rounding error of eps times the mean, which few gaps are below.
    assert 1 - 1e-9 < factors.min() < 1.001
    assert most - 0.001 < factors.max() < most + 1e-9


def test_of_more_rows_than_20000_so_many_are_moved_outward():
    X = np.arange(20_001.0)[:, None]
    assert outward(X, np.random.default_rng(1)).shape == (20_000, 1)
