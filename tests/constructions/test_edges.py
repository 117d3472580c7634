"""Constructions of parts that do not fit, and of data at the edge of the numbers."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.constructions import compression, landmarks
from quadfeat.constructions.framed_grid import framed_grid
from quadfeat.constructions.polished import polish
from quadfeat.constructions.polynomially_exact import (
    even_basis,
    polynomially_exact_weights,
)


def test_rows_too_far_apart_for_any_grid_are_refused(rng):
    X = rng.normal(size=(50, 2))
    with pytest.raises(ValueError, match=r"length scales of Gaussian\(gamma=.*standardise X"):
        framed_grid(qf.Gaussian(1e40), X, 24)


def test_a_basis_needs_polynomials_up_to_its_degree(rng):
    axes = np.ones((2, 3, 5))
    with pytest.raises(ValueError, match="axes has polynomials up to degree 2; need 3"):
        even_basis(axes, 3)


@pytest.mark.parametrize(
    ("basis", "moments", "degrees", "words"),
    [
        (np.ones(3), np.ones(1), np.zeros(1), r"need \(c, m\), \(c,\), \(c,\)"),
        (np.ones((1, 3)), np.ones(2), np.zeros(2), r"need \(c, m\), \(c,\), \(c,\)"),
        (np.ones((1, 3)), np.ones(1), np.zeros(2), r"need \(c, m\), \(c,\), \(c,\)"),
        (np.full((1, 3), 2.0), np.ones(1), np.zeros(1), "row 0 of basis must be the constant 1"),
        (np.ones((1, 3)), np.zeros(1), np.zeros(1), "row 0 of basis must be the constant 1"),
    ],
)
def test_moments_that_do_not_fit_the_basis_are_refused(basis, moments, degrees, words):
    with pytest.raises(ValueError, match=words):
        polynomially_exact_weights(basis, moments, degrees.astype(int))


def test_many_columns_are_compressed_one_group_at_a_time(rng, monkeypatch):
    """Joint directions are at least as good as those of single groups, and both are principal."""
    X = rng.normal(size=(200, 3))
    kernel = qf.Anova(qf.Gaussian(0.3), [[0, 1], [1, 2]])
    pool = qf.HermiteMercer(kernel, n_components=60).fit(X).basis_
    joint = compression.compress(pool, X, 16)
    assert joint.n_columns == 16
    monkeypatch.setattr(compression, "_JOINT", 20)
    apart = compression.compress(pool, X, 16)
    assert apart.n_columns == 16 and apart.projection is None
    assert all(each.projection is not None for each in apart.expansions)

    whole = compression._second_moments(X, pool)
    least = np.linalg.eigvalsh(whole)[-16:].sum()  # of any 16 directions
    kept = np.trace(compression._second_moments(X, apart))
    assert 0.5 * least < kept <= least * (1 + 1e-12)


def test_points_that_no_row_resembles_stay():
    points = np.array([[0.0], [1.0]])
    far = np.full((5, 1), 1e6)
    np.testing.assert_array_equal(landmarks._nearest_means(qf.Gaussian(1.0), far, points), points)
    near = np.array([[0.1], [0.3], [0.9]])
    moved = landmarks._nearest_means(qf.Gaussian(1.0), near, points)
    np.testing.assert_allclose(moved, [[0.2], [0.9]])


def test_more_steps_of_polishing_are_never_worse(rng):
    X, kernel = rng.normal(size=(200, 2)), qf.Gaussian(0.3)
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
