"""The bound of a tensor grid: its axes' errors, enclosed cell by cell, and combined.

The error of a product of two grids is bilinear in their errors, so it is largest at a corner of
their enclosures (`_combine`). Axes are combined one after another, on cells of |u|^2, which respect
the ball, or on cells of equal k, which do not; the smaller bound is used.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import inf
from typing import Any

import numpy as np

from .._errors import NoDensity
from .._typing import Floats
from ..rules.interval import equispaced, equispaced_bound
from ..rules.rule import Axis, Rule, axis_key
from .axis_cells import AxisCells, falls, level_edges, mass, square_edges
from .bounds import Cells, padded, rule_key
from .region import Region


def _combine(a: Cells, b: Cells, cells: int, ball: bool) -> Cells:
    """The bounds of the product of two grids, on cells of the sum of the factors' coordinates.

    e = k_a k_b - q_a q_b = k_a e_b + e_a k_b - e_a e_b is bilinear in (e_a, e_b), so it is largest
    at a corner of each quadrant; where the errors are as large as k, e = k_a e_b + e_a q_b with
    |q_b| <= its mass is better. This is the radial recursion
    E_j(r) = sup_t k(t) E_(j-1)(sqrt(r^2 - t^2)) + |e(t)|, with signs, and without replacing q_b by
    1. If cells are of |u|^2 (`ball`), cells i and j meet in the cells i + j and i + j + 1, and
    those beyond the ball are dropped. Otherwise cells are labels: i and j meet in i + j, and the
    last cell also holds all later ones.
    """
    size = min(cells, len(a.high) + len(b.high) - (not ball))
    high, low = np.zeros(size), np.zeros(size)
    top, bottom = np.full(size, -inf), np.full(size, inf)
    q_b = np.minimum(b.mass, b.top + b.low)
    b_sum = b.top + b.low
    b_gap = b.top - b.high
    positive = min(a.bottom.min(), b.bottom.min()) >= 0
    for i in range(min(size, len(a.high)) if ball else len(a.high)):
        m = min(len(b.high), size - i) if ball else len(b.high)
        over, under, most, least = a.high[i], a.low[i], a.top[i], a.bottom[i]
        b_high, b_low, b_top, b_bottom = b.high[:m], b.low[:m], b.top[:m], b.bottom[:m]
        q_a = min(a.mass, most + under)
        plus = most * b_high + np.maximum(over * b_gap[:m], 0.0)
        minus = np.minimum(most * b_low + under * q_b[:m], q_a * b_low + under * b_top)
        if over > 0:
            mixed = np.minimum(over * b_sum[:m] - least * b_low, over * b.mass)
            np.maximum(plus, mixed, out=plus)
            np.maximum(minus, over * (b_high - b_bottom) - least * b_high, out=minus)
        if under > 0:
            mixed = np.minimum((most + under) * b_high - b_bottom * under, a.mass * b_high)
            np.maximum(plus, mixed, out=plus)
        if positive:
            tops, bottoms = most * b_top, least * b_bottom
        else:
            tops = max(abs(most), abs(least)) * np.maximum(np.abs(b_top), np.abs(b_bottom))
            bottoms = -tops
            plus = minus = _plain(a, b, i, m)
        fit = max(0, min(m, size - 1 - i))
        for bound, found in ((high, plus), (low, minus), (top, tops)):
            np.maximum(bound[i : i + fit], found[:fit], out=bound[i : i + fit])
            bound[-1] = max(bound[-1], found[fit:].max(initial=-inf))
        np.minimum(bottom[i : i + fit], bottoms[:fit], out=bottom[i : i + fit])
        bottom[-1] = min(bottom[-1], bottoms[fit:].min(initial=inf))
    if ball:
        for bound in (high, low, top):
            bound[1:] = np.maximum(bound[1:], bound[:-1])
        bottom[1:] = np.minimum(bottom[1:], bottom[:-1])
    return Cells(high, low, top, bottom, a.mass * b.mass)


def _plain(a: Cells, b: Cells, i: int, m: int) -> Floats:
    """|k_a| |e_b| + |e_a| |q_b|, for kernels that change sign."""
    worst = np.maximum(b.high[:m], b.low[:m])
    return np.asarray(max(a.top[i], -a.bottom[i]) * worst + max(a.high[i], a.low[i]) * b.mass)


def grid_bound(
    axes: Sequence[Axis], rules: Sequence[Rule], region: Region, step: float, cells: int
) -> Floats:
    """The bound of a tensor grid, (cells,), for |u|^2 up to each multiple of `step`.

    Cells of |u|^2 respect the ball, but kernels other than the Gaussian vary on them. Cells of
    equal k ignore the ball; they are tighter if the largest error is inside it.
    """
    widths = np.array(region.box)
    edges = [square_edges(width, step, cells) for width in widths]
    whole = _grid_cells(axes, rules, edges, cells, ball=True)
    upper = padded(np.maximum(whole.high, whole.low), cells)
    if len(axes) == 1 or _one_gaussian(axes):
        return upper
    total = sum(falls(axis, width)[1][-1] for axis, width in zip(axes, widths, strict=True))
    level = max(min(total, 30.0), 1e-12) / cells
    edges = [level_edges(axis, width, level) for axis, width in zip(axes, widths, strict=True)]
    whole = _grid_cells(axes, rules, edges, cells, ball=False)
    worst = float(np.maximum(whole.high, whole.low).max()) * (1 + 1e-13)
    return np.minimum(upper, worst)


def _one_gaussian(axes: Sequence[Axis]) -> bool:
    """Whether k is a function of |u|, so that cells of |u|^2 are cells of equal k."""
    first, *others = axes
    same = all(axis_key(axis) == axis_key(first) for axis in others)
    return same and first.gaussian_scale(1) is not None


def _grid_cells(
    axes: Sequence[Axis], rules: Sequence[Rule], edges: Sequence[Floats], cells: int, ball: bool
) -> Cells:
    """The cells of the whole grid; equal axes are combined by doubling. O(cells^2) per step."""
    counts: dict[Any, int] = {}
    single: dict[Any, tuple[Axis, Rule, Floats]] = {}
    for axis, rule, axis_edges in zip(axes, rules, edges, strict=True):
        key = axis_key(axis), rule_key(rule), axis_edges.tobytes()
        counts[key] = counts.get(key, 0) + 1
        single[key] = axis, rule, axis_edges
    parts = []
    for key, (axis, rule, axis_edges) in single.items():
        enclosed = AxisCells(axis, axis_edges)
        least, largest = enclosed.error(rule)
        bottom, top = enclosed.kernel()
        power = Cells(np.maximum(largest, 0), np.maximum(-least, 0), top, bottom, mass(rule))
        count = counts[key]
        while True:
            if count % 2:
                parts.append(power)
            count //= 2
            if count == 0:
                break
            power = _combine(power, power, cells, ball)
    return reduce(lambda a, b: _combine(a, b, cells, ball), parts)


def equispaced_grid_bound(axes: Sequence[Axis], rules: Sequence[Rule], reach: Floats) -> float:
    """The sum of `equispaced_bound` over axes; infinite unless all rules are `equispaced`.

    k and the rule are at most 1 on every axis, so the error of a product is at most the sum of
    those of its factors.
    """
    total = 0.0
    for axis, rule, gap in zip(axes, rules, reach, strict=True):
        nodes = rule.nodes[:, 0]
        if len(rule) < 2 or not axis.decreasing or axis.noise > 0:
            return inf
        step = float(nodes[-1] - nodes[0]) / (len(rule) - 1)
        try:
            same = equispaced(axis.density, len(rule), step)
        except NoDensity:
            return inf
        apart = np.abs(same.weights - rule.weights).sum()
        if np.abs(same.nodes - rule.nodes).max() > 1e-12 * step or apart > 1e-12:
            return inf
        total += equispaced_bound(axis, len(rule), step, float(gap)) + 1e-12
    return total
