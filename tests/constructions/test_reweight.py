"""Laws of non-negative weights: optimality, closed forms, budgets, exactness."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest
import scipy.optimize

import quadfeat as qf
from quadfeat.constructions import polynomially_exact, reweighted
from quadfeat.constructions.reweighted import System
from quadfeat.numerics import nnls

EPS = np.finfo(np.float64).eps


def test_bad_budgets_and_costs_are_named():
    eye, ones = np.eye(2), np.ones(2)
    system = System(eye, ones, 1.0)
    with pytest.raises(ValueError, match="costs must be 1 or 2"):
        reweighted.prune(system, np.array([1, 3]), 2)
    with pytest.raises(ValueError, match="budget=1 buys no node"):
        reweighted.select_l1(system, np.array([2, 2]), 1)
    with pytest.raises(ValueError, match="keep=1"):
        reweighted.prune(system, np.array([2, 2]), 2, keep=1.0)


def _points(n, m, d, seed):
    """Phases of n points under m nodes (node 0 is zero) and their Gaussian kernel."""
    rng = np.random.default_rng(seed)
    X, nodes = rng.normal(size=(n, d)), rng.normal(size=(m, d))
    nodes[0] = 0.0
    gaps = X[:, None] - X[None]
    return X @ nodes.T, np.exp(-0.5 * (gaps**2).sum(axis=-1))


def test_the_closed_form_is_the_double_sum():
    phases, gram = _points(9, 6, 3, seed=0)
    weights = np.random.default_rng(1).random(6)
    total = 0.0
    for x, y in itertools.product(range(9), repeat=2):
        total += (gram[x, y] - weights @ np.cos(phases[x] - phases[y])) ** 2
    for block in (2, 1024):
        system = reweighted.all_pairs_system(phases, gram, block=block)
        # 81 terms of size at most (1 + sum a)^2, a few roundings each.
        assert abs(system.error(weights) - total / 81) <= 20 * EPS * (1 + weights.sum()) ** 2
    every = (phases[:, None] - phases[None]).reshape(81, 6)
    cosines = np.cos(every)
    np.testing.assert_allclose(system.gram, cosines.T @ cosines / 81, rtol=0, atol=20 * EPS)
    np.testing.assert_allclose(system.linear, gram.ravel() @ cosines / 81, rtol=0, atol=20 * EPS)
    explicit = cosines.reshape(9, 9, 6) @ weights
    np.testing.assert_allclose(
        reweighted.approximate_gram(phases, weights),
        explicit,
        rtol=0,
        atol=20 * EPS * weights.sum(),
    )


def test_refit_is_optimal_over_the_points_it_sees():
    phases, gram = _points(60, 40, 4, seed=2)
    start = np.full(40, 1 / 40)
    system = reweighted.all_pairs_system(phases, gram)
    solution = reweighted.refit(phases, gram, start=start - 0.02 * (np.arange(40) == 3))
    slopes = system.linear - system.gram @ solution.weights
    # G has a diagonal of at most 1 here, so scaled slopes are larger than these.
    assert slopes.max() <= 2e-12 * np.abs(system.linear).max()
    assert system.error(solution.weights) < 0.5 * system.error(start)


def _reachable(costs, budget):
    ones, twos = int((costs == 1).sum()), int((costs == 2).sum())
    totals = (o + 2 * t for o in range(ones + 1) for t in range(twos + 1))
    return max(total for total in totals if total <= budget)


@pytest.mark.parametrize("selection", [reweighted.prune, reweighted.select_l1])
def test_a_selection_spends_the_whole_budget_and_no_more(selection):
    phases, gram = _points(50, 24, 4, seed=4)
    system = reweighted.all_pairs_system(phases, gram)
    costs = np.where(np.arange(24) == 0, 1, 2)
    best = nnls.nonnegative_least_squares(system.gram, system.linear).weights
    needed = int(costs[best > 0].sum())
    assert needed > 40
    for budget in range(1, 50):
        chosen = selection(system, costs, budget)
        total, reach = int(costs[chosen.index].sum()), _reachable(costs, budget)
        assert total == reach if budget < needed else reach - 1 <= total <= reach
        assert len(set(chosen.index.tolist())) == len(chosen.index) == len(chosen.weights)
        assert (chosen.weights >= 0).all()
        assert chosen.kkt_residual <= 1e-12


@pytest.mark.parametrize("selection", [reweighted.prune, reweighted.select_l1])
def test_a_selection_leaves_no_column_that_could_lower_the_error(selection):
    phases, gram = _points(50, 24, 4, seed=4)
    system = reweighted.all_pairs_system(phases, gram)
    costs = np.where(np.arange(24) == 0, 1, 2)
    best = nnls.nonnegative_least_squares(system.gram, system.linear).weights
    for budget in range(2, 50):
        chosen = selection(system, costs, budget)
        weights = np.zeros(24)
        weights[chosen.index] = chosen.weights
        free = budget - int(costs[weights > 0].sum())
        slopes = (system.linear - system.gram @ weights) / np.sqrt(np.diagonal(system.gram))
        open_ = (weights == 0) & (costs <= free)
        assert slopes[open_].max(initial=0.0) <= 1e-12 * np.abs(system.linear).max()
        if budget >= costs.sum():
            np.testing.assert_allclose(weights, best, rtol=1e-7, atol=1e-10)


def _square_gaps(X):
    return np.square(X[:, None] - X).sum(axis=2)


def test_penalised_weights_have_one_slope_on_all_their_nodes():
    rng = np.random.default_rng(0)
    X, nodes = rng.normal(size=(60, 3)), rng.normal(size=(200, 3))
    system = reweighted.all_pairs_system(X @ nodes.T, np.exp(-_square_gaps(X) / 2))
    weights = reweighted._l1_weights(system, np.full(200, 2), 40)
    slopes = system.linear - system.gram @ weights
    used = weights > 0
    assert used.sum() >= 20
    # The path has a tolerance of 1e-8 of the largest slope, which that of no weights is.
    bound = 1e-6 * system.linear.max()
    assert np.ptp(slopes[used]) <= bound < slopes[used].min()
    assert slopes[~used].max() <= slopes[used].min() + bound


def test_a_fit_starts_from_weights_of_either_sign():
    rng = np.random.default_rng(0)
    X, nodes, start = rng.normal(size=(40, 2)), rng.normal(size=(30, 2)), rng.normal(size=30)
    gram = np.exp(-_square_gaps(X) / 2)
    plain, begun = (reweighted.refit(X @ nodes.T, gram, start=s) for s in (None, start))
    np.testing.assert_allclose(
        *(reweighted.approximate_gram(X @ nodes.T, each.weights) for each in (plain, begun)),
        atol=1e-6,
    )


@pytest.mark.parametrize("share", [1.0, 5.0])
def test_groups_of_any_weight_are_reweighted_to_their_kernel(share):
    X = np.random.default_rng(0).normal(size=(400, 3))
    kernel = qf.Anova(qf.Gaussian(0.3), [[0, 1], [2]], weights=[1.0, share])
    grid = qf.ReweightedGrid(kernel, n_components=60, random_state=0).fit(X[::2])
    assert grid.error(X[1::2], n_pairs=2000).rms < 0.01


def test_a_selected_rule_beats_nodes_chosen_at_random():
    phases, gram = _points(120, 200, 5, seed=5)
    system = reweighted.all_pairs_system(phases, gram)
    costs = np.where(np.arange(200) == 0, 1, 2)
    rng = np.random.default_rng(0)
    errors = []
    for _ in range(20):
        part = system.restrict(rng.choice(np.arange(1, 200), 20, replace=False))
        errors.append(part.error(nnls.nonnegative_least_squares(part.gram, part.linear).weights))
    for selection in (reweighted.prune, reweighted.select_l1):
        chosen = selection(system, costs, 40)
        assert system.restrict(chosen.index).error(chosen.weights) < min(errors)


def test_waste_keeps_a_heavy_zero_node_in_an_even_budget():
    # Orthogonal cosines: the best weight of a node is its linear term, whatever else is chosen.
    linear = np.array([0.5, 0.1, 0.2, 0.3])
    system = System(np.eye(4), linear, 1.0)
    costs = np.array([1, 2, 2, 2])
    assert reweighted.prune(system, costs, 4).index.tolist() == [2, 3]
    assert reweighted.prune(system, costs, 4, waste=1).index.tolist() == [0, 3]
    assert reweighted.select_l1(system, costs, 4, waste=1).index.tolist() == [0, 3]
    assert reweighted.prune(system, costs, 5).index.tolist() == [0, 2, 3]


def test_within_is_the_best_subset_by_brute_force():
    rng = np.random.default_rng(6)
    for _ in range(50):
        costs, importance = rng.integers(1, 3, size=7), rng.random(7)
        budget, waste = int(rng.integers(0, 15)), int(rng.integers(0, 2))
        subsets = [
            list(s) for k in range(8) for s in itertools.combinations(range(7), k)
            if costs[list(s)].sum() <= budget
        ]  # fmt: skip
        reach = max(costs[s].sum() for s in subsets)
        allowed = [importance[s].sum() for s in subsets if costs[s].sum() >= reach - waste]
        chosen = reweighted._within(importance, costs, budget, waste)
        assert reach - waste <= costs[chosen].sum() <= budget
        assert importance[chosen].sum() == pytest.approx(max(allowed), rel=1e-14)


def _off_diagonal_error(phases, gram, weights):
    gap = gram - reweighted.approximate_gram(phases, weights)
    np.fill_diagonal(gap, 0.0)
    return float((gap**2).sum())


@pytest.mark.parametrize("mix", [False, True])
def test_unseen_points_never_prefer_the_start(mix):
    phases, gram = _points(120, 40, 4, seed=7)
    rng, taken = np.random.default_rng(8), set()
    for n_seen in (4, 10, 60):  # a fit to four points is worse than its start; to sixty, better
        seen, unseen = slice(0, n_seen), slice(60, 120)
        held_out = phases[unseen], gram[unseen, unseen]
        start = np.abs(1 / 40 + 0.002 * rng.normal(size=40))
        result = reweighted.refit(phases[seen], gram[seen, seen], start=start).weights
        kept = reweighted.keep_better(*held_out, start, result, mix=mix)
        errors = [_off_diagonal_error(*held_out, a) for a in (kept, start, result)]
        assert errors[0] <= min(errors[1:]) * (1 + 1e-12)
        assert (kept >= 0).all()
        taken.add("start" if np.array_equal(kept, start) else "other")
        if mix:
            for share in (0.25, 0.5, 0.75):
                other = share * result + (1 - share) * start
                assert errors[0] <= _off_diagonal_error(*held_out, other) * (1 + 1e-12)
    assert mix or taken == {"start", "other"}


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


def test_exact_weights_are_the_nearest_to_uniform():
    _, basis, moments, degrees = _normal(100, 6, 2, seed=0)
    a = polynomially_exact.polynomially_exact_weights(basis, moments, degrees).weights
    used = a > 0
    assert 0 < (~used).sum() < 50  # the sign constraint matters, and few weights are lost to it
    dual = np.linalg.lstsq(basis[:, used].T, a[used] - 1 / 100, rcond=None)[0]
    # a = max(0, 1/m + V'y): stationary on the nodes used, of the right sign on the others.
    np.testing.assert_allclose(a, np.maximum(0, 1 / 100 + dual @ basis), rtol=0, atol=1e-13)


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
