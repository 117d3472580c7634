"""Laws of polynomially exact weights: exact, nearest to uniform, and feasible where possible."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.optimize

from quadfeat.constructions import polynomially_exact

EPS = np.finfo(np.float64).eps


def _hermite(nodes, degree):
    """Orthonormal polynomials of N(0, 1) at the nodes: (d, degree + 1, m)."""
    values = [np.ones_like(nodes), nodes]
    for n in range(1, degree):
        values.append((nodes * values[n] - math.sqrt(n) * values[n - 1]) / math.sqrt(n + 1))
    return np.stack(values[: degree + 1]).transpose(2, 0, 1)


def _normal(m, d, degree, seed):
    nodes = np.random.default_rng(seed).normal(size=(m, d))
    basis, degrees = polynomially_exact.even_basis(_hermite(nodes, degree), degree)
    return nodes, basis, (degrees == 0).astype(float), degrees


def _moment(powers):
    """E prod w_i^p_i under N(0, I)."""
    return math.prod(0 if p % 2 else math.prod(range(p - 1, 0, -2)) for p in powers)


@pytest.mark.parametrize(
    ("d", "degree", "m"),
    [(1, 2, 20), (2, 4, 100), (3, 2, 60), (4, 4, 400), (6, 2, 120), (6, 4, 900)],
)
def test_weights_integrate_every_monomial_of_the_degree(d, degree, m):
    nodes, basis, moments, degrees = _normal(m, d, degree, seed=0)
    assert len(basis) == sum(math.comb(d + r - 1, r) for r in range(0, degree + 1, 2))
    result = polynomially_exact.polynomially_exact_weights(basis, moments, degrees)
    assert result.feasible
    assert result.degree == degree
    assert (result.weights >= 0).all()
    mirrored, half = np.concatenate([nodes, -nodes]), np.tile(result.weights / 2, 2)
    for powers in itertools.product(range(degree + 2), repeat=d):
        if sum(powers) <= degree + 1:
            exact = _moment(powers)
            error = half @ np.prod(mirrored**powers, axis=1) - exact
            assert abs(error) <= 1e-12 * max(1, exact), powers


@pytest.mark.parametrize(("d", "degree", "m"), [(6, 2, 100), (5, 2, 40), (4, 4, 200)])
def test_exact_weights_are_the_nearest_to_uniform(d, degree, m):
    dropped = []
    for seed in range(12):
        _, basis, moments, degrees = _normal(m, d, degree, seed)
        result = polynomially_exact.polynomially_exact_weights(basis, moments, degrees)
        if not result.feasible:
            continue
        a = result.weights
        used = a > 0
        dropped.append(m - used.sum())
        dual = np.linalg.lstsq(basis[:, used].T, a[used] - 1 / m, rcond=None)[0]
        # a = max(0, 1/m + V'y): stationary on the nodes used, of the right sign on the others.
        np.testing.assert_allclose(a, np.maximum(0, 1 / m + dual @ basis), rtol=0, atol=1e-13)
    assert len(dropped) >= 5
    assert 0 < np.median(dropped) < m / 2  # the sign constraint matters, for a part of the weights


def test_feasibility_agrees_with_linear_programming():
    found = []
    for seed in range(60):
        rng = np.random.default_rng(seed)
        d, degree = int(rng.integers(1, 5)), int(rng.choice([2, 4]))
        constraints = len(_normal(1, d, degree, 0)[1])
        m = int(constraints * rng.uniform(1, 6))
        _, basis, moments, degrees = _normal(m, d, degree, seed)
        ours = polynomially_exact.polynomially_exact_weights(basis, moments, degrees)
        theirs = scipy.optimize.linprog(np.zeros(m), A_eq=basis, b_eq=moments, method="highs")
        assert ours.feasible == (theirs.status == 0), seed
        assert (ours.residual <= 1e-11) == ours.feasible
        found.append(ours.feasible)
    assert 10 < sum(found) < 50  # both answers were tested


def test_where_no_exact_rule_exists_the_nearest_is_kept_and_said():
    for d, degree, m in [(2, 2, 4), (4, 4, 60), (10, 2, 60)]:
        _, basis, moments, degrees = _normal(m, d, degree, seed=3)
        result = polynomially_exact.polynomially_exact_weights(basis, moments, degrees)
        assert not result.feasible
        assert result.degree < degree
        assert (result.weights >= 0).all()
        met = degrees <= result.degree
        # To the solver's tolerance of 1e-13 relative to a row's absolute terms, themselves about 1.
        assert np.abs(basis[met] @ result.weights - moments[met]).max() <= 1e-12
        assert result.residual == np.abs(basis @ result.weights - moments).max() > 1e-6
        heavy = np.where(met, 1e4, 1.0)
        nearest = scipy.optimize.nnls(basis * heavy[:, None], moments * heavy)[0]
        error = np.linalg.norm(basis @ result.weights - moments)
        # The last step on the ladder of softness may gain 2%.
        assert error <= 1.03 * np.linalg.norm(basis @ nearest - moments)


def test_the_smallest_exact_count_is_a_threshold():
    moments = (np.arange(16) == 0).astype(float)
    for seed in range(3):
        pool, taken = _normal(4096, 5, 2, seed)[1], [0]

        def columns(n, pool=pool, taken=taken):
            taken[0] += n
            return pool[:, taken[0] - n : taken[0]]

        count = polynomially_exact.smallest_exact_count(columns, moments, relative_accuracy=0.0)
        assert count is not None
        for n in (count, count + 1):
            assert polynomially_exact._exact(pool[:, :n], moments, 1e-12) is not None
        assert polynomially_exact._exact(pool[:, : count - 1], moments, 1e-12) is None
    assert polynomially_exact.smallest_exact_count(columns, moments, max_work=0.0) is None


def test_a_basis_needs_polynomials_up_to_its_degree(rng):
    axes = np.ones((2, 3, 5))
    with pytest.raises(ValueError, match="axes has polynomials up to degree 2; need 3"):
        polynomially_exact.even_basis(axes, 3)


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
        polynomially_exact.polynomially_exact_weights(basis, moments, degrees.astype(int))


def test_figure_1a_exact_weights_win_in_small_balls_and_lose_little_in_large_ones():
    d, m = 25, 1000
    nodes, basis, moments, degrees = _normal(m, d, 2, seed=0)
    result = polynomially_exact.polynomially_exact_weights(basis, moments, degrees)
    assert result.feasible
    assert np.count_nonzero(result.weights) > 800  # a vertex would have 326
    rng = np.random.default_rng(1)
    for radius, ratio in ((0.1, 1 / 50), (4.0, 1.4)):
        u = rng.normal(size=(10_000, d))
        u *= radius * rng.random((10_000, 1)) ** (1 / d) / np.linalg.norm(u, axis=1, keepdims=True)
        exact = np.exp(-0.5 * (u**2).sum(axis=1))
        ours = np.abs(np.cos(u @ nodes.T) @ result.weights - exact).max()
        plain = np.abs(np.cos(u @ rng.normal(size=(d, m))).mean(axis=1) - exact).max()
        assert ours <= ratio * plain
