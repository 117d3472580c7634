"""Laws of non-negative weights: optimality, closed forms, budgets, exactness."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.constructions import reweighted
from quadfeat.constructions.reweighted import Pool, System
from quadfeat.numerics import nnls
from quadfeat.rules import grids

EPS = np.finfo(np.float64).eps


def test_bad_budgets_and_costs_are_named():
    eye, ones = np.eye(2), np.ones(2)
    system = System(eye, ones, 1.0)
    with pytest.raises(ValueError, match="costs must be 1 or 2"):
        reweighted.prune(system, np.array([1, 3]), 2)
    with pytest.raises(ValueError, match="budget=1 is too small"):
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


@pytest.mark.parametrize("share", [0.25, 0.4, 0.6, 0.75])
def test_the_nearer_of_start_and_result_is_kept(share):
    phases, rng = _points(30, 12, 3, seed=1)[0], np.random.default_rng(2)
    start, change = rng.random(12), rng.normal(size=12)
    gram = reweighted.approximate_gram(phases, start + share * change)
    nearer = start + change if share > 0.5 else start
    kept = reweighted.keep_better(phases, gram, start, start + change)
    np.testing.assert_array_equal(kept, nearer)
    mixed = reweighted.keep_better(phases, gram, start, start + change, mix=True)
    np.testing.assert_allclose(mixed, start + share * change, rtol=0, atol=1e3 * EPS)


@pytest.mark.parametrize("counts", [(3, 3), (3, 2), (2, 3)])
def test_the_zero_nodes_of_all_groups_are_one_candidate_of_one_column(counts):
    """Odd grids have a zero node: the last candidate, with the mass of all of them."""
    kernel, axis = qf.Anova(qf.Gaussian(0.3), [[0, 1], [2]], weights=[1.0, 5.0]), qf.Gaussian(0.3)
    rules = [grids.tensor(*[axis.gauss(counts[0])] * 2), axis.gauss(counts[1])]
    pool = Pool(kernel.groups(3), rules)
    assert pool.costs.tolist() == [2] * (counts[0] ** 2 // 2 + counts[1] // 2) + [1]
    middles = [rule.weights[~rule.nodes.any(axis=1)].sum() for rule in rules]
    assert pool.weights[-1] == pytest.approx(middles[0] + 5 * middles[1], rel=10 * EPS)
    gaps = np.random.default_rng(0).normal(size=(50, 3))
    exact = rules[0](gaps[:, :2]) + 5 * rules[1](gaps[:, 2:])
    X = np.concatenate([gaps[:1], np.zeros((1, 3))])
    gram = reweighted.approximate_gram(pool.phases(X), pool.weights)
    assert gram[0, 1] == pytest.approx(exact[0], abs=50 * EPS)
    first, second = pool.rules(pool.weights)
    found = first(gaps[:, :2]) + 5 * second(gaps[:, 2:])
    np.testing.assert_allclose(found, exact, rtol=0, atol=50 * EPS)
