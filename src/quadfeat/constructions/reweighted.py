"""Non-negative weights by least squares over pairs of points, on all nodes or a selection.

Weights are those of cosines, k~(x, y) = sum_i a_i cos(w_i . (x - y)): one weight per mirrored pair.
The objectives use phases, not kernels: `phases (n, m)` is X @ nodes.T, so the nodes of all groups
of an ANOVA or convolution kernel are reweighted jointly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._typing import Floats, Indices
from ..kernels.base import Group
from ..numerics.nnls import Solution, inverse_lengths, nonnegative_least_squares
from ..rules import grids
from ..rules.rule import Rule


@dataclass(frozen=True)
class System:
    """A mean squared error of the kernel as a function of the weights: a'Ga - 2c'a + constant."""

    gram: Floats  # (m, m)
    linear: Floats  # (m,)
    constant: float

    def error(self, weights: Floats) -> float:
        """The mean squared error, to about 1e-16 of `constant`."""
        return float(weights @ self.gram @ weights - 2 * self.linear @ weights) + self.constant

    def restrict(self, index: Indices) -> System:
        """The system restricted to the nodes `index`."""
        return System(self.gram[np.ix_(index, index)], self.linear[index], self.constant)


def all_pairs_system(phases: Floats, gram: Floats, *, block: int = 1024) -> System:
    """The mean over all n^2 pairs of n points of (k(x, y) - k~(x, y))^2, in closed form.

    With C = cos(phases) and S = sin(phases), sum_xy cos(w_i . (x - y)) cos(w_j . (x - y)) is
    (C'C)^2 + (S'S)^2 + (C'S)^2 + (S'C)^2, entry by entry: the matrix M with n^2 rows is never
    formed. 4 n m^2 multiply-adds, 8 m^2 bytes.

    Parameters
    ----------
    phases : (n, m)
        x . w_i for the points x.
    gram : (n, n)
        The exact kernel of the points.
    """
    n, m = phases.shape
    cosines, sines = np.cos(phases), np.sin(phases)
    system = np.empty((m, m))
    for low in range(0, m, block):
        rows = slice(low, min(low + block, m))
        rest = slice(low, m)  # the lower triangle is mirrored below
        total = _squared_product(cosines[:, rows], cosines[:, rest])
        total += _squared_product(sines[:, rows], sines[:, rest])
        total += _squared_product(cosines[:, rows], sines[:, rest])
        total += _squared_product(sines[:, rows], cosines[:, rest])
        total /= n * n
        system[rows, rest] = total
        system[rest, rows] = total.T
    linear = np.einsum("ij,ij->j", cosines, gram @ cosines)
    linear += np.einsum("ij,ij->j", sines, gram @ sines)
    return System(system, linear / (n * n), float(np.vdot(gram, gram)) / (n * n))


def _squared_product(left: Floats, right: Floats) -> Floats:
    product: Floats = left.T @ right
    product *= product
    return product


def approximate_gram(phases: Floats, weights: Floats) -> Floats:
    """k~ of all pairs of the points, (n, n); weights may be signed."""
    used = np.flatnonzero(weights)
    cosines, sines = np.cos(phases[:, used]), np.sin(phases[:, used])
    approximation: Floats = (cosines * weights[used]) @ cosines.T
    approximation += (sines * weights[used]) @ sines.T
    return approximation


def refit(phases: Floats, gram: Floats, *, start: Floats | None = None) -> Solution:
    """Non-negative weights on given nodes with the least squared error over all pairs of points.

    No polynomial is integrated exactly. Nodes that do not lower the error get weight 0.

    Parameters
    ----------
    phases : (n, m)
        x . w_i for the points x.
    gram : (n, n)
        The exact kernel of the points.
    start : (m,), optional
        Weights to start from. Negative ones start at zero.
    """
    system = all_pairs_system(phases, gram)
    first = None if start is None else np.maximum(start, 0.0)
    return nonnegative_least_squares(system.gram, system.linear, start=first)


def keep_better(
    phases: Floats, gram: Floats, start: Floats, result: Floats, *, mix: bool = False
) -> Floats:
    """The better of `start` and `result` over pairs of unseen points.

    With `mix`, the best t result + (1 - t) start, t in [0, 1], which is at least as good as both
    and has the nodes of both. Pairs of a point with itself do not count. `start` may be signed.

    Parameters
    ----------
    phases : (n, m)
        x . w_i for points x that no weight was fitted to.
    gram : (n, n)
        Their exact kernel.
    """
    before = gram - approximate_gram(phases, start)
    change = before - (gram - approximate_gram(phases, result))
    np.fill_diagonal(before, 0.0)
    np.fill_diagonal(change, 0.0)
    square = float(np.vdot(change, change))
    best = float(np.vdot(before, change)) / square if square > 0 else 0.0
    # A parabola in t: t = 1 is below t = 0 where its bottom is past 1/2.
    share = min(max(best, 0.0), 1.0) if mix else float(best > 0.5)
    if share in (0.0, 1.0):
        return np.array(result if share else start, dtype=np.float64)
    return share * result + (1.0 - share) * start


@dataclass(frozen=True)
class Selection:
    """Nodes kept from a pool, in the pool's order, and their weights.

    A weight is 0 only if no node that fits into the remaining columns would lower the error: the
    node then fills the budget without effect. That happens if the best non-negative weights on the
    whole pool need fewer nodes than the budget allows; a larger pool helps.
    """

    index: Indices  # (k,)
    weights: Floats  # (k,)
    kkt_residual: float  # from the last fit, on the nodes kept


def prune(
    system: System,
    costs: Indices,
    budget: int,
    *,
    keep: float = 0.8,
    waste: int = 0,
    start: Floats | None = None,
) -> Selection:
    """Nodes for at most `budget` columns: fit, drop the smallest weights, and again.

    Parameters
    ----------
    system : System
        The objective over the whole pool of m nodes.
    costs : (m,)
        Columns per node: 1 for the zero node, 2 for every other.
    budget : int
        Columns to spend. All are spent if the costs allow it; one stays unused if the best weights
        on the whole pool need no more and only dropping their zero node would spend it.
    keep : float
        The share of the columns that survives a round.
    waste : int
        Columns that may stay unused to keep larger weights: with 1, the zero node survives an even
        budget if its weight exceeds the smallest other one kept.
    start : (m,), optional
        Non-negative weights to start the first fit from.
    """
    _check_selection(system, costs, budget)
    if not 0 < keep < 1:
        raise ValueError(f"keep={keep} must lie strictly between 0 and 1, for example 0.8")
    weights = nonnegative_least_squares(system.gram, system.linear, start=start).weights
    while (total := int(costs[weights > 0].sum())) > budget:
        target = max(budget, min(int(keep * total), total - 1))
        index = np.flatnonzero(weights)
        index = index[_within(weights[index], costs[index], target, waste)]
        weights = _fit_on(system, index, weights).weights
    return _filled(system, weights, costs, budget)


def select_l1(system: System, costs: Indices, budget: int, *, waste: int = 0) -> Selection:
    """Nodes for at most `budget` columns: the paper's l1 penalty, bisected, then a fit without it.

    Minimises the error + penalty * sum(a). The penalty is the largest at which the nodes still fill
    the budget; the smallest weights beyond the budget are dropped. Parameters as in `prune`.
    """
    _check_selection(system, costs, budget)
    weights = _l1_weights(system, costs, budget)
    index = np.flatnonzero(weights)
    index = index[_within(weights[index], costs[index], budget, waste)]
    return _filled(system, _fit_on(system, index, weights).weights, costs, budget)


def _l1_weights(system: System, costs: Indices, budget: int) -> Floats:
    """Penalised weights that cost at least `budget`, but as little more as bisection achieves."""
    weights = np.zeros(len(system.linear))
    largest = 2 * float(system.linear.max(initial=0.0))  # beyond it every weight is zero
    enough, excess = 0.0, 1.0  # penalties, relative to the largest: one that fills, one too large
    # A quarter at a time from above: small supports are cheap, and each fit starts the next.
    for quarter in range(1, 24):
        trial = 0.25**quarter
        weights = _penalised(system, trial * largest, weights)
        if costs[weights > 0].sum() >= budget:
            enough = trial
            break
        excess = trial
    else:
        return nonnegative_least_squares(system.gram, system.linear, start=weights).weights
    for _ in range(30):
        if costs[weights > 0].sum() == budget:
            break
        middle = float(np.sqrt(enough * excess))
        trial_weights = _penalised(system, middle * largest, weights)
        if costs[trial_weights > 0].sum() >= budget:
            enough, weights = middle, trial_weights
        else:
            excess = middle
    return weights


def _penalised(system: System, penalty: float, start: Floats) -> Floats:
    # The path only picks nodes: a loose tolerance does not change the final weights.
    return nonnegative_least_squares(
        system.gram, system.linear - 0.5 * penalty, start=start, tolerance=1e-8
    ).weights


def _fit_on(system: System, index: Indices, start: Floats) -> Solution:
    """The best weights on the nodes `index`, as weights of the whole pool."""
    part = system.restrict(index)
    solution = nonnegative_least_squares(part.gram, part.linear, start=start[index])
    weights = np.zeros(len(system.linear))
    weights[index] = solution.weights
    return Solution(weights, solution.kkt_residual, solution.iterations)


def _filled(system: System, weights: Floats, costs: Indices, budget: int) -> Selection:
    """Spend columns that a fit has freed on the nodes with the steepest slopes, then refit."""
    scale = inverse_lengths(np.diagonal(system.gram))
    residual = 0.0
    for _ in range(20):
        slopes = scale * (system.linear - system.gram @ weights)
        joining = _joining(slopes, weights, costs, budget, floor=1e-12 * np.abs(slopes).max())
        solution = _fit_on(system, np.union1d(np.flatnonzero(weights), joining), weights)
        weights, residual = solution.weights, solution.kkt_residual
        if not len(joining):
            break
    slopes = scale * (system.linear - system.gram @ weights)
    idle = _joining(slopes, weights, costs, budget, floor=-np.inf)
    index = np.union1d(np.flatnonzero(weights), idle)
    return Selection(index, weights[index], residual)


def _joining(
    slopes: Floats, weights: Floats, costs: Indices, budget: int, *, floor: float
) -> Indices:
    """Nodes without weight, steeper than `floor`, that fit into the columns still free."""
    free = budget - int(costs[weights > 0].sum())
    open_ = np.flatnonzero((weights == 0) & (slopes > floor))
    chosen: Indices = open_[_within(slopes[open_], costs[open_], free, 0)]
    return chosen


def _within(importance: Floats, costs: Indices, budget: int, waste: int) -> Indices:
    """Positions of total cost <= budget: within `waste` of the largest reachable total, and then of
    the largest total importance. Costs are 1 or 2, so trying every count of ones is exact."""
    order = np.argsort(-importance, kind="stable")
    ones, twos = order[costs[order] == 1], order[costs[order] == 2]
    best: Indices = order[:0]
    options = []
    for count in range(min(len(ones), max(budget, 0)) + 1):
        pairs = min(len(twos), (budget - count) // 2)
        options.append((count + 2 * pairs, count, pairs))
    reach = max((total for total, _, _ in options), default=0)
    value = -np.inf
    for total, count, pairs in options:
        chosen = np.concatenate([ones[:count], twos[:pairs]])
        if total >= reach - waste and importance[chosen].sum() > value:
            best, value = chosen, float(importance[chosen].sum())
    return np.sort(best)


def _check_selection(system: System, costs: Indices, budget: int) -> None:
    if costs.shape != system.linear.shape or not np.isin(costs, (1, 2)).all() or not len(costs):
        raise ValueError(f"costs must be 1 or 2 for each of the {len(system.linear)} nodes")
    if budget < costs.min():
        raise ValueError(
            f"budget={budget} is too small for any node; the cheapest costs {costs.min()} columns"
        )


class Pool:
    """The candidate nodes of all groups of a kernel as one list, with a common zero node."""

    def __init__(self, groups: Sequence[Group], pool: Sequence[Rule]) -> None:
        self._groups = groups
        folded = [grids.fold(rule) for rule in pool]
        zero = [~rule.nodes.any(axis=1) for rule in folded]
        self._nodes = [rule.nodes[~z] for rule, z in zip(folded, zero, strict=True)]
        self._ends = np.cumsum([len(nodes) for nodes in self._nodes])
        shares = [g.weight * rule.weights for g, rule in zip(groups, folded, strict=True)]
        parts = [w[~z] for w, z in zip(shares, zero, strict=True)]
        # The zero node of any group is the same constant column, so it is one candidate, the last.
        self._centred = any(z.any() for z in zero)
        if self._centred:
            middle = sum(float(w[z].sum()) for w, z in zip(shares, zero, strict=True))
            parts.append(np.array([middle]))
        self.weights: Floats = np.concatenate(parts)
        self.costs: Indices = np.full(len(self.weights), 2)
        self.costs[self._ends[-1] :] = 1

    def phases(self, X: NDArray[np.floating[Any]]) -> Floats:
        """x . w for the rows x of X and all candidates w, (n, m)."""
        columns = [
            X[:, group.axes].astype(np.float64) @ nodes.T
            for group, nodes in zip(self._groups, self._nodes, strict=True)
        ]
        return np.concatenate([*columns, np.zeros((len(X), int(self._centred)))], axis=1)

    def rules(self, weights: Floats) -> list[Rule]:
        """The rule of each group under these weights, without the nodes of weight zero."""
        rules = []
        by_group = np.split(weights[: self._ends[-1]], self._ends[:-1])
        for group, nodes, some in zip(self._groups, self._nodes, by_group, strict=True):
            used = some != 0
            rules.append(Rule(nodes[used], some[used] / group.weight))
        if self._centred and weights[-1] != 0:
            first, d = rules[0], self._nodes[0].shape[1]
            rules[0] = Rule(
                np.vstack([first.nodes, np.zeros(d)]),
                np.append(first.weights, weights[-1] / self._groups[0].weight),
            )
        return rules

    def plain_half(self, budget: int, rng: np.random.Generator) -> Floats:
        """The pool's weights on random nodes of a total cost of at most `budget`; the same mass."""
        order = rng.permutation(len(self.costs))
        chosen = order[np.cumsum(self.costs[order]) <= budget]
        weights = np.zeros_like(self.weights)
        weights[chosen] = self.weights[chosen]
        return weights * (self.weights.sum() / weights.sum()) if weights.any() else self.weights
