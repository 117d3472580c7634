"""Certificates: sup |k - k~| / k(0) over a region is at most `value`, proven for the rule at hand.

Every group of axes gets the bound of its construction: `tensor_grid`, `sparse_grid`, `covering` or
`taylor`; a reweighted grid also the bound of its grid plus the mass that was moved. The groups'
bounds are added up under the one region that all groups share (`_sum_over_groups`). A certificate
holds for the rule in exact arithmetic, plus `ROUNDING` for double precision; single precision adds
about 1e-7 more.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, isfinite, prod
from typing import Any

import numpy as np

from .._typing import Floats
from ..kernels.base import Group, Kernel
from ..rules import grids
from ..rules.lattice import lattice_bound
from ..rules.rule import Rule, axis_key
from .axis_cells import ROUNDING
from .bounds import (
    Bound,
    Construction,
    Grid,
    Reweighted,
    Sparse,
    SpectralLattice,
    chain,
    rule_key,
)
from .covering import cover_bound
from .proof import Certificate, refuse_vacuous
from .region import Region
from .sparse_grid import smolyak_bound
from .taylor import taylor_bound
from .tensor_grid import equispaced_grid_bound, grid_bound
from .theory import polynomially_exact

_LONG = 1024  # with more nodes the cells of an axis take seconds


def certify(
    kernel: Kernel,
    constructions: Sequence[Construction],
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
    constructions : a `Construction` for each of the kernel's groups
    region : Region
    degree : int, the even degree to which the rules are exact, to also report Theorem 1's value
    cells : int, cells of |u|^2 for grids: more are tighter; default: by how far k falls, from 1,024
        to 2,560, and 192 where more than 8 groups differ
    budget : float, cosines that covering a group may evaluate: 2e8 take a few seconds

    Notes
    -----
    Grids: `grid_bound`. Sparse grids: `smolyak_bound`. Reweighted grids: the grid's bound plus
    sum |a - a_grid|, which is the omitted mass when weights are kept and twice that when they are
    scaled to sum to 1 again. Rules of up to three axes: `cover_bound`. Any rule: `taylor_bound`.
    Several groups: `_sum_over_groups`. Raises an error if none of these proves |k - k~| < k(0).
    """
    groups = kernel.groups(len(region.box))
    if len(groups) != len(constructions):
        raise ValueError(
            f"the kernel has {len(groups)} groups, and {len(constructions)} rules were given"
        )
    regions = [region.on(group.axes) for group in groups]
    keys = list(map(_key, groups, constructions, regions))
    if cells is None:
        cells = _cells_needed(kernel, region) if len(set(keys)) <= 8 else 192
    if len(set(keys)) > 8:
        # Grids over slightly larger, equal regions share their proofs; distinct rules never do.
        regions = [
            small if isinstance(construction, Rule | Reweighted) else small.rounded_up()
            for construction, small in zip(constructions, regions, strict=True)
        ]
        keys = list(map(_key, groups, constructions, regions))
    known: dict[Any, Bound] = {}
    for key, group, construction, small in zip(keys, groups, constructions, regions, strict=True):
        if key not in known:
            known[key] = _group_bound(group, construction, small, cells, budget)
    bounds = [known[key] for key in keys]
    total = sum(group.weight for group in groups)
    value = _sum_over_groups(groups, bounds, region) / total + ROUNDING
    methods = sorted({bound.method for bound in bounds})
    return Certificate(
        float(value), region, " and ".join(methods), _theorem1(kernel, groups, region, degree)
    )


def _cells_needed(kernel: Kernel, region: Region) -> int:
    """The number of cells on which k falls by about a hundredth."""
    ends = np.diag(np.minimum(region.box, region.diameter))
    falls = -np.log(np.clip(kernel.at(ends) / kernel.at_zero(len(ends)), 1e-30, 1.0))
    return int(np.clip(96 * falls.max() + 24 * falls.sum(), 1024, 2560))


def _theorem1(
    kernel: Kernel, groups: Sequence[Group], region: Region, degree: int | None
) -> float | None:
    """Theorem 1's value for rules exact to `degree`; for several groups, the ANOVA theorem's."""
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
    group: Group, construction: Construction, region: Region, cells: int, budget: float
) -> Bound:
    """The bound of one group for its construction; an error if it is not below k(0)."""
    d = len(group.axes)
    step = region.diameter**2 / cells
    radii = np.sqrt(step * np.arange(1, cells + 1)) * (1 + 1e-12)
    if isinstance(construction, SpectralLattice):
        return _lattice_proof(group, construction, region, step, cells)
    if isinstance(construction, Grid | Sparse | Reweighted):
        axes = group.kernel.axes(d)
        if isinstance(construction, Sparse):
            return Bound(step, smolyak_bound(axes, construction, region, step, cells), "its levels")
        rules = construction.axes if isinstance(construction, Grid) else construction.grid.axes
        aliased = inf
        if isinstance(construction, Grid):
            aliased = equispaced_grid_bound(axes, rules, np.array(region.box))
            if aliased < 1 and max(map(len, rules)) > _LONG:
                return Bound(step, np.full(cells, aliased), "aliases and the lost tail")
        upper = grid_bound(axes, rules, region, step, cells)
        if isinstance(construction, Grid):
            if aliased < upper[-1]:
                return Bound(step, np.minimum(upper, aliased), "aliases and the lost tail")
            return Bound(step, upper, "its axes")
        moved = _moved_mass(construction.grid, construction.rule)
        if d > 3 or moved <= upper[-1]:
            bound = Bound(step, upper + moved, f"its grid and a moved mass of {moved:.3g}")
            other = _any_rule_bound(group.kernel, construction.rule, region, step, radii, None)
            bound = min(bound, other, key=lambda each: float(each.upper[-1]))
        else:
            cover = _any_rule_bound(group.kernel, construction.rule, region, step, radii, budget)
            bound = cover._replace(upper=np.minimum(cover.upper, upper + moved))
    else:
        bound = _any_rule_bound(group.kernel, construction, region, step, radii, budget)
    refuse_vacuous(bound.upper[-1], d)
    return bound


def _lattice_proof(
    group: Group, construction: SpectralLattice, region: Region, step: float, cells: int
) -> Bound:
    reach = np.minimum(region.box, region.diameter)
    value = lattice_bound(
        group.kernel.group_at, construction.density, construction.steps, construction.counts, reach
    )
    refuse_vacuous(value, len(group.axes))
    return Bound(step, np.full(cells, value * (1 + 1e-12)), "aliases and the lost tail")


def _any_rule_bound(
    kernel: Kernel, rule: Rule, region: Region, step: float, radii: Floats, budget: float | None
) -> Bound:
    """Taylor's remainder, or covering within a budget of cosines if that is tighter."""
    upper, method = taylor_bound(kernel, rule, region, radii), "Taylor's remainder"
    if budget is not None and len(region.box) <= 3:
        cover = cover_bound(kernel, rule, region, budget)
        if cover is not None and cover < upper[-1]:
            upper, method = np.minimum(upper, cover), "covering"
    return Bound(step, upper, method)


def _key(group: Group, construction: Construction, region: Region) -> Any:
    """A key that is equal for groups with the same bound."""
    if isinstance(construction, Rule):
        return id(construction), id(group.kernel), region
    rules = construction.levels if isinstance(construction, Sparse) else ()
    if isinstance(construction, Grid):
        rules = (construction.axes,)
    if isinstance(construction, Reweighted | SpectralLattice):
        return id(construction), id(group.kernel), region
    names = tuple(tuple(rule_key(rule) for rule in some) for some in rules)
    axes = tuple(axis_key(axis) for axis in group.kernel.axes(len(group.axes)))
    return type(construction), names, axes, region


def _sum_over_groups(groups: Sequence[Group], bounds: Sequence[Bound], region: Region) -> float:
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


def _moved_mass(grid: Grid, rule: Rule) -> float:
    """sum |a - a_grid| over the nodes of the grid, mirrored nodes taken together.

    Dropping a mass m and keeping the other weights moves m; scaling them to mass 1 again moves 2 m.
    """
    half = grids.fold(rule)
    grid_weights = np.ones(len(half))
    for axis, column in zip(grid.axes, half.nodes.T, strict=True):
        nodes = axis.nodes[:, 0]
        index = np.abs(np.subtract.outer(column, nodes)).argmin(axis=1)
        if np.any(np.abs(nodes[index] - column) > 1e-12 * np.abs(nodes).max(initial=1e-300)):
            raise ValueError("the reweighted rule has nodes that are not on the grid")
        grid_weights *= axis.weights[index]
    grid_weights *= np.where(half.nodes.any(axis=1), 2.0, 1.0)
    whole = prod(float(axis.weights.sum()) for axis in grid.axes)
    return float(
        np.abs(half.weights - grid_weights).sum() + max(0.0, whole - grid_weights.sum())
    ) * (1 + 1e-12)
