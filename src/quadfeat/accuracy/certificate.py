"""How wrong a map can be over a whole region: certificates computed from the rule at hand.

Errors are |k - k~| relative to k(0). A certificate is of the rule in exact arithmetic, plus
`ROUNDING` for evaluating it in double precision; single precision adds some 1e-7 of its own.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import isfinite, prod
from typing import Any

import numpy as np

from .._errors import NoCertificate
from .._typing import Floats
from ..kernels.base import Group, Kernel
from ..rules import grids
from ..rules.rule import Rule, axis_key
from .axis_cells import ROUNDING
from .bounds import Bound, Construction, Grid, Reweighted, Sparse, chain, rule_key
from .covering import cover_bound
from .region import Region
from .sparse_grid import smolyak_bound
from .taylor import taylor_bound
from .tensor_grid import grid_bound
from .theory import polynomially_exact


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


def certify(
    kernel: Kernel,
    made: Sequence[Construction],
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
    known: dict[Any, Bound] = {}
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


def _group_bound(
    group: Group, made: Construction, region: Region, cells: int, budget: float
) -> Bound:
    d = len(group.axes)
    step = region.diameter**2 / cells
    radii = np.sqrt(step * np.arange(1, cells + 1)) * (1 + 1e-12)
    if isinstance(made, Grid | Sparse | Reweighted):
        axes = group.kernel.axes(d)
        if isinstance(made, Sparse):
            return Bound(step, smolyak_bound(axes, made, region, step, cells), "its levels")
        rules = made.axes if isinstance(made, Grid) else made.grid.axes
        upper = grid_bound(axes, rules, region, step, cells)
        if isinstance(made, Grid):
            return Bound(step, upper, "its axes")
        moved = _moved_mass(made.grid, made.rule)
        if d > 3 or moved <= upper[-1]:
            found = Bound(step, upper + moved, f"its grid and a moved mass of {moved:.3g}")
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
) -> Bound:
    """Taylor's remainder, or covering within a budget of cosines where that is tighter."""
    upper, method = taylor_bound(kernel, rule, region, radii), "Taylor's remainder"
    if budget is not None and len(region.box) <= 3:
        cover = cover_bound(kernel, rule, region, budget)
        if cover is not None and cover < upper[-1]:
            upper, method = np.minimum(upper, cover), "covering"
    return Bound(step, upper, method)


def refuse_vacuous(value: float, d: int) -> None:
    """An error that says what can be proven, where this is no bound below k(0)."""
    if not value < 1:
        raise NoCertificate(
            f"no certificate: nothing below k(0) can be proven for this map on {d} axes over this "
            f"region; a smaller region, or more nodes, may do. What has one: DenseGrid, "
            f"SparseGrid(weights='signed'), PolynomiallyExact and any map over a small region, and "
            f"maps of up to 3 axes per group; for this map, error(X) gives an estimate with a "
            f"confidence"
        )


def _key(group: Group, made: Construction, region: Region) -> Any:
    if isinstance(made, Rule):
        return id(made), id(group.kernel), region
    rules = made.levels if isinstance(made, Sparse) else ()
    if isinstance(made, Grid):
        rules = ((made.axes),)
    if isinstance(made, Reweighted):
        return id(made), id(group.kernel), region
    names = tuple(tuple(rule_key(rule) for rule in some) for some in rules)
    axes = tuple(axis_key(axis) for axis in group.kernel.axes(len(group.axes)))
    return type(made), names, axes, region


# --- sums over groups ---------------------------------------------------------------------------
def _share(groups: Sequence[Group], bounds: Sequence[Bound], region: Region) -> float:
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
            chains[id(bound)] = chain(bound)
        slope, length = chains[id(bound)]
        base += group.weight * bound.upper[0]
        slopes.append(group.weight * slope)
        lengths.append(length)
    slope, length = np.concatenate(slopes), np.concatenate(lengths)
    order = np.argsort(-slope, kind="stable")
    left = busiest * region.diameter**2 * (1 + 1e-12) - np.cumsum(length[order])
    filled = np.clip(length[order] + np.minimum(left, 0.0), 0.0, None)
    return float(base + (slope[order] * filled).sum() * (1 + 1e-12))


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
