"""Grids: pure functions that take rules and return rules."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator, Sequence
from math import comb, prod

import numpy as np

from .._typing import Axes, Floats
from .rule import Rule


def tensor(*axes: Rule) -> Rule:
    """The product of one-dimensional rules: prod(len(axis)) nodes, one axis each.

    Exact for every monomial that the rule of each axis integrates; weights are products, so they
    are positive if the factors are.
    """
    nodes = np.meshgrid(*(axis.nodes[:, 0] for axis in axes), indexing="ij")
    weights = functools.reduce(np.multiply.outer, (axis.weights for axis in axes))
    return Rule(np.stack([grid.ravel() for grid in nodes], axis=1), weights.ravel())


def smolyak(axes: Sequence[Callable[[int], Rule]], level: int) -> Rule:
    """The sparse grid of total level `level`: axes[i](l) is the 2**l-point rule of axis i.

    The sum over levels |m| <= level of products of differences (Smolyak, 1963), by the combination
    formula: the tensor grid of levels m has the coefficient (-1)^(A-|m|) C(d-1, A-|m|). Grids of
    different levels share no node, because Gauss rules of different even sizes do not, so there is
    nothing to merge. Weights are signed and sum to 1; with Gauss rules it is exact to degree 2
    level + 1.
    """
    d = len(axes)
    nodes, weights = [], []
    for levels in _levels(d, level):
        total = sum(levels.values())
        coefficient = (-1) ** (level - total) * comb(d - 1, level - total)
        if coefficient == 0:
            continue
        grid = tensor(*(axes[i](a) for i, a in levels.items())) if levels else None
        block = np.zeros((1 if grid is None else len(grid), d))
        if grid is not None:
            block[:, list(levels)] = grid.nodes
        nodes.append(block)
        weights.append(coefficient * (np.ones(1) if grid is None else grid.weights))
    return Rule(np.concatenate(nodes), np.concatenate(weights))


def smolyak_size(d: int, level: int) -> int:
    """The number of nodes of `smolyak`, without computing them."""
    counts = [1] + [0] * level  # coefficient of x^s: nodes at total level s
    for _ in range(d):
        counts = [sum(counts[s - a] * 2**a for a in range(s + 1)) for s in range(level + 1)]
    return sum(counts[max(0, level - d + 1) :])


def _levels(d: int, level: int, first: int = 0) -> Iterator[dict[int, int]]:
    """Every assignment of positive levels to axes with a sum of at most `level`."""
    yield {}
    for i in range(first, d):
        for here in range(1, level + 1):
            for rest in _levels(d, level - here, i + 1):
                yield {i: here, **rest}


def subsample(axes: Sequence[Rule], n: int, rng: np.random.Generator) -> Rule:
    """`n` draws from the tensor grid by its weights, without ever building the grid.

    A draw and its mirror image give the same cosine, so they are merged: at most `n` nodes, with
    positive weights equal to their share of draws. The expected kernel is that of the grid.
    """
    draws = np.empty((n, len(axes)), dtype=np.int16)
    for i, axis in enumerate(axes):
        edges = np.cumsum(axis.weights)
        draws[:, i] = np.searchsorted(edges / edges[-1], rng.random(n), side="right")
    last = np.array([len(axis) - 1 for axis in axes], dtype=np.int16)
    # Axes are mirror-symmetric, so the mirror image of index i is last - i; keep the one whose
    # first off-centre index lies to the right.
    side = np.sign(2 * draws - last)
    lead = side[np.arange(n), np.argmax(side != 0, axis=1)]
    flip = lead < 0
    draws[flip] = last - draws[flip]
    distinct, count = np.unique(draws, axis=0, return_counts=True)
    nodes = np.empty(distinct.shape)
    for i, axis in enumerate(axes):
        nodes[:, i] = axis.nodes[distinct[:, i], 0]
    return Rule(nodes, count / n)


def tensor_size(axes: Sequence[Rule]) -> int:
    """The number of nodes of `tensor`."""
    return prod(len(axis) for axis in axes)


def embed(rule: Rule, axes: Axes, d: int) -> Rule:
    """The rule on `axes` as a rule in `d` dimensions, zero on all other axes."""
    nodes = np.zeros((len(rule), d))
    nodes[:, axes] = rule.nodes
    return Rule(nodes, rule.weights)


def concatenate(rules: Sequence[Rule], weights: Sequence[float]) -> Rule:
    """The weighted sum of rules: their nodes one after another."""
    return Rule(
        np.concatenate([rule.nodes for rule in rules]),
        np.concatenate([w * rule.weights for rule, w in zip(rules, weights, strict=True)]),
    )


def mirror(rule: Rule) -> Rule:
    """The rule with each node's weight shared with its mirror image: the same cosines."""
    zero = ~rule.nodes.any(axis=1)
    return Rule(
        np.concatenate([rule.nodes, -rule.nodes[~zero]]),
        np.concatenate([np.where(zero, 1.0, 0.5) * rule.weights, rule.weights[~zero] / 2]),
    )


def fold(rule: Rule) -> Rule:
    """The rule with equal and mirrored nodes merged, their weights added: the same cosines.

    A mirror-symmetric rule of n nodes folds to n // 2 pairs and, if n is odd, the zero node; a
    pair costs a cosine and a sine column and the zero node one, so n nodes cost n columns.
    """
    keys = np.abs(_projection(rule.nodes))
    order = np.argsort(keys, kind="stable")
    # Equal rows have keys within rounding of each other; only those are compared entry by entry.
    close = np.diff(keys[order]) <= 1e-12 * keys[order][1:]
    if not close.any():
        return rule
    some = np.union1d(order[1:][close], order[:-1][close])
    owner = np.arange(len(rule))
    owner[some] = _first_equals(rule.nodes[some], some)
    kept, inverse = np.unique(owner, return_inverse=True)
    weights: Floats = np.bincount(inverse, weights=rule.weights).astype(np.float64)
    return Rule(rule.nodes[kept], weights)


def _projection(nodes: Floats) -> Floats:
    """One number per node, probably equal only for equal or mirrored nodes."""
    direction = np.random.default_rng(0).standard_normal(nodes.shape[1])
    return np.einsum("ij,j->i", nodes, direction)


def _first_equals(nodes: Floats, names: Axes) -> Axes:
    """For each node the name of the first one that equals it or its mirror image."""
    signs = np.sign(nodes)
    lead = signs[np.arange(len(nodes)), np.argmax(signs != 0, axis=1)]
    canonical = nodes * np.where(lead < 0, -1.0, 1.0)[:, None] + 0.0
    _, first, inverse = np.unique(canonical, axis=0, return_index=True, return_inverse=True)
    return names[first[inverse.ravel()]]
