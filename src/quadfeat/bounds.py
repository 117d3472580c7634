"""How wrong a map can be over a whole region: certificates computed from the rule at hand.

Errors are |k - k~| relative to k(0). A certificate is of the rule in exact arithmetic, plus
`ROUNDING` for evaluating it in double precision; single precision adds some 1e-7 of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import product
from math import inf, isfinite, prod
from typing import Any, NamedTuple

import numpy as np

from . import grids
from ._any_rule import cover_bound, taylor_bound
from ._enclosure import (
    ROUNDING,
    _AxisCells,
    _falls,
    _level_edges,
    _mass,
    _square_edges,
    axis_key,
    shared_axes,
)
from .kernels import Gaussian, Group, Kernel
from .regions import Region as Region
from .rules import Axis, Floats, Rule
from .theory import polynomially_exact


# --- what was made, and the answer --------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Grid:
    """The tensor grid of one-dimensional rules."""

    axes: tuple[Rule, ...]


@dataclass(frozen=True, eq=False)
class Sparse:
    """The Smolyak grid of total level `level`: levels[i][l] is the rule of axis i at level l."""

    levels: tuple[tuple[Rule, ...], ...]

    @property
    def level(self) -> int:
        return len(self.levels[0]) - 1


@dataclass(frozen=True, eq=False)
class Reweighted:
    """Some nodes of a tensor grid with other weights: pruned, renormalised or refitted."""

    grid: Grid
    rule: Rule


Made = Rule | Grid | Sparse | Reweighted


@dataclass(frozen=True)
class Certificate:
    """A proof that |k - k~| <= value * k(0) for every gap in the region."""

    value: float
    region: Region | str
    method: str
    theorem1: float | None = None

    def __repr__(self) -> str:
        beside = "" if self.theorem1 is None else f"; Theorem 1: {self.theorem1:.3g}"
        return f"Certificate({self.value:.4g} for all {self.region}, by {self.method}{beside})"


def certificate(
    kernel: Kernel,
    made: Sequence[Made],
    region: Region,
    *,
    degree: int | None = None,
    cells: int | None = None,
    budget: float = 2e8,
) -> Certificate:
    """A rigorous bound of sup |k - k~| / k(0) over a region.

    Parameters
    ----------
    kernel : Kernel, resolved
    made : one `Rule`, `Grid`, `Sparse` or `Reweighted` for each of the kernel's groups
    region : Region
    degree : int, the even degree the rules are exact to, if Theorem 1's value is wanted beside
    cells : int, cells of |u|^2 for grids: more are tighter; default by how far k falls
    budget : float, cosines that covering a group may take: 2e8 are a few seconds

    Notes
    -----
    Grids: `_combine`. Sparse grids: `_smolyak_bound`. Reweighted: the grid's bound plus
    sum |a - a_grid|, which is the omitted mass when weights are kept and twice that when they are
    made to sum to 1 again. Rules of up to three axes: `cover_bound`. Any rule: `taylor_bound`.
    Several groups: `_share`. Where none of these says more than |k - k~| < k(0), the answer is a
    refusal.
    """
    groups = kernel.groups(len(region.box))
    if len(groups) != len(made):
        raise ValueError(f"the kernel has {len(groups)} groups, and {len(made)} rules were given")
    regions = [region.on(group.axes) for group in groups]
    keys = [_key(g, m, r) for g, m, r in zip(groups, made, regions, strict=True)]
    if cells is None:
        cells = _cells_needed(kernel, region) if len(set(keys)) <= 8 else 192
    if len(set(keys)) > 8:
        # Distinct rules share no work, whatever the region.
        regions = [
            small if isinstance(m, Rule | Reweighted) else small.rounded_up()
            for m, small in zip(made, regions, strict=True)
        ]
        keys = [_key(g, m, r) for g, m, r in zip(groups, made, regions, strict=True)]
    known: dict[Any, _Bound] = {}
    for key, group, construction, small in zip(keys, groups, made, regions, strict=True):
        if key not in known:
            known[key] = _group_bound(group, construction, small, cells, budget)
    bounds = [known[key] for key in keys]
    total = sum(group.weight for group in groups)
    value = _share(groups, bounds, region) / total + ROUNDING
    methods = sorted({bound.method for bound in bounds})
    return Certificate(
        float(value), region, " and ".join(methods), _theorem1(kernel, groups, region, degree)
    )


def _cells_needed(kernel: Kernel, region: Region) -> int:
    """Cells so short that k falls by about a hundredth on each."""
    ends = np.diag(np.minimum(region.box, region.diameter))
    falls = -np.log(np.clip(kernel.at(ends) / kernel.at_zero(len(ends)), 1e-30, 1.0))
    return int(np.clip(96 * falls.max() + 24 * falls.sum(), 1024, 2560))


def _theorem1(
    kernel: Kernel, groups: Sequence[Group], region: Region, degree: int | None
) -> float | None:
    b = kernel.subgaussian(len(region.box))
    if degree is None or degree < 2 or not isfinite(b):
        return None
    load = np.zeros(len(region.box))
    for group in groups:
        load[group.axes] += group.weight
    total = sum(group.weight for group in groups)
    single = polynomially_exact(degree - degree % 2, subgaussian=b, diameter=region.diameter)
    return float(min(1.0, load.max() / total) * single)


class _Bound(NamedTuple):
    """upper[i] bounds a group's |k - k~| wherever |u|^2 <= (i + 1) * step; it never falls."""

    step: float
    upper: Floats
    method: str


def _group_bound(group: Group, made: Made, region: Region, cells: int, budget: float) -> _Bound:
    d = len(group.axes)
    step = region.diameter**2 / cells
    radii = np.sqrt(step * np.arange(1, cells + 1)) * (1 + 1e-12)
    if isinstance(made, Grid | Sparse | Reweighted):
        axes = shared_axes(group.kernel, d)
        if isinstance(made, Sparse):
            return _Bound(step, _smolyak_bound(axes, made, region, step, cells), "its levels")
        rules = made.axes if isinstance(made, Grid) else made.grid.axes
        upper = _grid_bound(axes, rules, region, step, cells)
        if isinstance(made, Grid):
            return _Bound(step, upper, "its axes")
        moved = _moved_mass(made.grid, made.rule)
        if d > 3 or moved <= upper[-1]:
            found = _Bound(step, upper + moved, f"its grid and a moved mass of {moved:.3g}")
            other = _any_rule_bound(group.kernel, made.rule, region, step, radii, None)
            found = min(found, other, key=lambda bound: float(bound.upper[-1]))
        else:
            cover = _any_rule_bound(group.kernel, made.rule, region, step, radii, budget)
            found = cover._replace(upper=np.minimum(cover.upper, upper + moved))
    else:
        found = _any_rule_bound(group.kernel, made, region, step, radii, budget)
    refuse_vacuous(found.upper[-1], d)
    return found


def _any_rule_bound(
    kernel: Kernel, rule: Rule, region: Region, step: float, radii: Floats, budget: float | None
) -> _Bound:
    """Taylor's remainder, or covering within a budget of cosines where that is tighter."""
    upper, method = taylor_bound(kernel, rule, region, radii), "Taylor's remainder"
    if budget is not None and len(region.box) <= 3:
        cover = cover_bound(kernel, rule, region, budget)
        if cover is not None and cover < upper[-1]:
            upper, method = np.minimum(upper, cover), "covering"
    return _Bound(step, upper, method)


def refuse_vacuous(value: float, d: int) -> None:
    """An error that says what can be proven, where this is no bound below k(0)."""
    if not value < 1:
        raise ValueError(
            f"no certificate: nothing below k(0) can be proven for this map on {d} axes over this "
            f"region; a smaller region, or more nodes, may do. What has one: DenseGrid, "
            f"SparseGrid(weights='signed'), PolynomiallyExact and any map over a small region, and "
            f"maps of up to 3 axes per group; for this map, error(X) gives an estimate with a "
            f"confidence"
        )


def _key(group: Group, made: Made, region: Region) -> Any:
    if isinstance(made, Rule):
        return id(made), id(group.kernel), region
    rules = made.levels if isinstance(made, Sparse) else ()
    if isinstance(made, Grid):
        rules = ((made.axes),)
    if isinstance(made, Reweighted):
        return id(made), id(group.kernel), region
    names = tuple(tuple(_rule_key(rule) for rule in some) for some in rules)
    axes = tuple(axis_key(axis) for axis in shared_axes(group.kernel, len(group.axes)))
    return type(made), names, axes, region


def _rule_key(rule: Rule) -> tuple[bytes, bytes]:
    return rule.nodes.tobytes(), rule.weights.tobytes()


# --- sums over groups ---------------------------------------------------------------------------
def _share(groups: Sequence[Group], bounds: Sequence[_Bound], region: Region) -> float:
    """The largest sum of weight * bound(|u_g|^2) when the |u_g|^2 must share |u|^2 <= M^2.

    Each axis is in at most Delta groups, so the |u_g|^2 sum to at most Delta M^2 (the argument of
    the ANOVA theorem). Under its least concave majorant a bound is a chain of segments of falling
    slope; the sum of concave functions under one budget is largest when the steepest segments are
    filled first. For bounds that grow faster than |u|^2, that is the theorem's Delta * bound(M^2).
    """
    if len(groups) == 1:
        return float(groups[0].weight * bounds[0].upper[-1])
    busiest = np.bincount(np.concatenate([group.axes for group in groups])).max()
    chains: dict[int, tuple[Floats, Floats]] = {}
    base, slopes, lengths = 0.0, [], []
    for group, bound in zip(groups, bounds, strict=True):
        if id(bound) not in chains:
            chains[id(bound)] = _chain(bound)
        slope, length = chains[id(bound)]
        base += group.weight * bound.upper[0]
        slopes.append(group.weight * slope)
        lengths.append(length)
    slope, length = np.concatenate(slopes), np.concatenate(lengths)
    order = np.argsort(-slope, kind="stable")
    left = busiest * region.diameter**2 * (1 + 1e-12) - np.cumsum(length[order])
    filled = np.clip(length[order] + np.minimum(left, 0.0), 0.0, None)
    return float(base + (slope[order] * filled).sum() * (1 + 1e-12))


def _chain(bound: _Bound) -> tuple[Floats, Floats]:
    """Slopes and lengths of the least concave majorant of a bound, from left to right."""
    x = bound.step * np.arange(len(bound.upper) + 1)
    y = np.append(bound.upper, bound.upper[-1])
    hull = [0]
    for i in range(1, len(x)):
        while len(hull) > 1 and (y[hull[-1]] - y[hull[-2]]) * (x[i] - x[hull[-2]]) <= (
            y[i] - y[hull[-2]]
        ) * (x[hull[-1]] - x[hull[-2]]):
            hull.pop()
        hull.append(i)
    length = np.diff(x[hull])
    return np.diff(y[hull]) / length, length


# --- tensor grids -------------------------------------------------------------------------------
class _Cells(NamedTuple):
    """Bounds on cells of |u|^2: -low <= k - q <= high, bottom <= k <= top; |q| <= mass anywhere."""

    high: Floats
    low: Floats
    top: Floats
    bottom: Floats
    mass: float


def _combine(a: _Cells, b: _Cells, cells: int, ball: bool) -> _Cells:
    """The bounds of the product of two grids, on cells of the sum of the factors' coordinates.

    e = k_a k_b - q_a q_b = k_a e_b + e_a k_b - e_a e_b is bilinear in (e_a, e_b), so it is largest
    at a corner of each quadrant; where the errors are as large as k, e = k_a e_b + e_a q_b with
    |q_b| <= its mass is better. This is the radial recursion
    E_j(r) = sup_t k(t) E_(j-1)(sqrt(r^2 - t^2)) + |e(t)|, with signs, and without taking q_b for 1.
    If cells are of |u|^2 (`ball`), i and j meet in the cells i + j and i + j + 1, and those beyond
    the ball are dropped; otherwise cells are labels, i and j meet in i + j, and the last is for
    the rest.
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
    return _Cells(high, low, top, bottom, a.mass * b.mass)


def _plain(a: _Cells, b: _Cells, i: int, m: int) -> Floats:
    """|k_a| |e_b| + |e_a| |q_b|, for kernels that change sign."""
    worst = np.maximum(b.high[:m], b.low[:m])
    return np.asarray(max(a.top[i], -a.bottom[i]) * worst + max(a.high[i], a.low[i]) * b.mass)


def _grid_bound(
    axes: Sequence[Axis], rules: Sequence[Rule], region: Region, step: float, cells: int
) -> Floats:
    """The bounds of a tensor grid: on cells of |u|^2, and on cells of equal k if that may be
    tighter.

    Cells of |u|^2 know the ball, but kernels other than the Gaussian vary on them; cells of equal k
    forget the ball, and win where the largest error is inside it.
    """
    widths = np.array(region.box)
    edges = [_square_edges(width, step, cells) for width in widths]
    whole = _grid_cells(axes, rules, edges, cells, ball=True)
    upper = _padded(np.maximum(whole.high, whole.low), cells)
    if len(axes) == 1 or _one_gaussian(axes):
        return upper
    total = sum(_falls(axis, width)[1][-1] for axis, width in zip(axes, widths, strict=True))
    level = max(min(total, 30.0), 1e-12) / cells
    edges = [_level_edges(axis, width, level) for axis, width in zip(axes, widths, strict=True)]
    whole = _grid_cells(axes, rules, edges, cells, ball=False)
    worst = float(np.maximum(whole.high, whole.low).max()) * (1 + 1e-13)
    return np.minimum(upper, worst)


def _one_gaussian(axes: Sequence[Axis]) -> bool:
    """Whether k is a function of |u|, so that cells of |u|^2 are cells of equal k."""
    return isinstance(axes[0], Gaussian) and len({axis_key(axis) for axis in axes}) == 1


def _grid_cells(
    axes: Sequence[Axis], rules: Sequence[Rule], edges: Sequence[Floats], cells: int, ball: bool
) -> _Cells:
    """The cells of the whole grid; equal axes are combined by doubling. O(cells^2) per step."""
    counts: dict[Any, int] = {}
    single: dict[Any, tuple[Axis, Rule, Floats]] = {}
    for axis, rule, own_edges in zip(axes, rules, edges, strict=True):
        key = axis_key(axis), _rule_key(rule), own_edges.tobytes()
        counts[key] = counts.get(key, 0) + 1
        single[key] = axis, rule, own_edges
    parts = []
    for key, (axis, rule, own_edges) in single.items():
        own = _AxisCells(axis, own_edges)
        least, largest = own.error(rule)
        bottom, top = own.kernel()
        power = _Cells(np.maximum(largest, 0), np.maximum(-least, 0), top, bottom, _mass(rule))
        count = counts[key]
        while True:
            if count % 2:
                parts.append(power)
            count //= 2
            if count == 0:
                break
            power = _combine(power, power, cells, ball)
    return reduce(lambda a, b: _combine(a, b, cells, ball), parts)


def _padded(worst: Floats, cells: int) -> Floats:
    upper = np.maximum.accumulate(worst[:cells]) * (1 + 1e-13)
    return np.concatenate([upper, np.full(max(0, cells - len(upper)), upper[-1])])


# --- sparse grids -------------------------------------------------------------------------------
def _smolyak_bound(
    axes: Sequence[Axis], made: Sparse, region: Region, step: float, cells: int
) -> Floats:
    """The bounds of a sparse grid, one axis after another, from those of all lower levels.

    With D_m = G_m - G_(m-1) on the new axis and S_a the sparse grid of level a on the others,
    k k' - sum_(m<=a) D_m S_(a-m) = sum_(m<=a) D_m (k' - S_(a-m)) + (k - G_a) k'. Signs are kept:
    they are what makes the sum of large weights small.
    """
    levels = range(made.level + 1)
    known: dict[Any, tuple[_AxisCells, Any]] = {}
    high = [np.zeros(1) for _ in levels]
    low = [np.zeros(1) for _ in levels]
    top, bottom = np.ones(1), np.ones(1)
    for axis, rules, width in zip(axes, made.levels, region.box, strict=True):
        key = axis_key(axis), tuple(map(_rule_key, rules)), width
        if key not in known:
            own = _AxisCells(axis, _square_edges(width, step, cells))
            steps = [own.difference(rules[m], rules[m - 1] if m else None) for m in levels]
            known[key] = own, (steps, [own.error(rule) for rule in rules], own.kernel())
        own, (steps, errors, (least, largest)) = known[key]
        size = min(cells, own.size + len(top))
        new_high, new_low = np.zeros((len(levels), size)), np.zeros((len(levels), size))
        new_top, new_bottom = np.full(size, -inf), np.full(size, inf)
        for i in range(min(size, own.size)):
            m_cells = min(len(top), size - i)
            here, part = slice(i, i + m_cells), slice(m_cells)
            k_top = np.maximum(np.abs(top[part]), np.abs(bottom[part]))
            for a in levels:
                plus = max(errors[a][1][i], 0.0) * k_top
                minus = max(-errors[a][0][i], 0.0) * k_top
                for m in range(a + 1):
                    up, down = max(steps[m][1][i], 0.0), max(-steps[m][0][i], 0.0)
                    rest_high, rest_low = high[a - m][part], low[a - m][part]
                    plus = plus + np.maximum(up * rest_high, down * rest_low)
                    minus = minus + np.maximum(up * rest_low, down * rest_high)
                np.maximum(new_high[a, here], plus, out=new_high[a, here])
                np.maximum(new_low[a, here], minus, out=new_low[a, here])
            ends = np.stack(
                [x * y[part] for x, y in product((least[i], largest[i]), (bottom, top))]
            )
            np.maximum(new_top[here], ends.max(axis=0), out=new_top[here])
            np.minimum(new_bottom[here], ends.min(axis=0), out=new_bottom[here])
        for array in (new_high, new_low, new_top):
            array[..., 1:] = np.maximum(array[..., 1:], array[..., :-1].copy())
        new_bottom[1:] = np.minimum(new_bottom[1:], new_bottom[:-1].copy())
        high, low, top, bottom = list(new_high), list(new_low), new_top, new_bottom
    return _padded(np.maximum(high[-1], low[-1]), cells)


# --- reweighted grids ---------------------------------------------------------------------------
def _moved_mass(grid: Grid, rule: Rule) -> float:
    """sum |a - a_grid| over the nodes of the grid, mirrored nodes taken together.

    Dropping a mass m and keeping the other weights moves m; scaling them up to mass 1 again 2 m.
    """
    half = grids.fold(rule)
    own = np.ones(len(half))
    for axis, column in zip(grid.axes, half.nodes.T, strict=True):
        nodes = axis.nodes[:, 0]
        index = np.abs(np.subtract.outer(column, nodes)).argmin(axis=1)
        if np.any(np.abs(nodes[index] - column) > 1e-12 * np.abs(nodes).max(initial=1e-300)):
            raise ValueError("the reweighted rule has nodes that are not on the grid")
        own *= axis.weights[index]
    own *= np.where(half.nodes.any(axis=1), 2.0, 1.0)
    whole = prod(float(axis.weights.sum()) for axis in grid.axes)
    return float(np.abs(half.weights - own).sum() + max(0.0, whole - own.sum())) * (1 + 1e-12)
