"""Recipes of plans, bases and rules."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._engine.plans import Expansion, FourierPlan, KroneckerPlan, MercerBasis
from ..constructions.framed_grid import PrunedGrid
from ..constructions.landmarks import LandmarkBasis
from ..maps.report import Report, Trial
from ..rules.rule import Rule
from .recipe import FLOATS, array, data_class, error, instance, list_of, not_negative, require


# --- rules, plans and bases ---------------------------------------------------------------------
def _check_pointer(ptr: Any, total: int, name: str) -> None:
    holds = len(ptr) > 0 and ptr[0] == 0 and ptr[-1] == total and bool((np.diff(ptr) >= 0).all())
    require(holds, f"{name} does not cut {total} entries")


def check_indices(values: Any, count: int, name: str) -> None:
    inside = values.size == 0 or (values.min() >= 0 and values.max() < count)
    require(inside, f"{name} has an index outside of [0, {count})")


def _finish_fourier_plan(plan: FourierPlan) -> None:
    _check_pointer(plan.axes_ptr, len(plan.axes), "axes_ptr")
    _check_pointer(plan.node_ptr, len(plan.amplitudes), "node_ptr")
    check_indices(plan.axes, plan.n_features, "axes")
    check_indices(plan.group_nodes, len(plan.node_ptr) - 1, "group_nodes")
    require(len(plan.group_nodes) == len(plan.axes_ptr) - 1, "group_nodes is not one per group")
    lengths = np.zeros(len(plan.node_ptr) - 1, dtype=np.int64)
    lengths[plan.group_nodes] = np.diff(plan.axes_ptr)
    same = np.array_equal(lengths[plan.group_nodes], np.diff(plan.axes_ptr))
    require(same, "groups of different sizes share their nodes")
    needed = sum(int(n) * int(g) for n, g in zip(np.diff(plan.node_ptr), lengths, strict=True))
    require(len(plan.nodes) == needed, f"there are {len(plan.nodes)} nodes, not {needed}")


def _finish_kronecker_plan(plan: KroneckerPlan) -> None:
    n_entries = len(plan.entry_axis)
    check_indices(plan.entry_axis, plan.n_features, "entry_axis")
    _check_pointer(plan.entry_ptr, len(plan.entry_nodes), "entry_ptr")
    _check_pointer(plan.group_ptr, len(plan.group_entries), "group_ptr")
    check_indices(plan.group_entries, n_entries, "group_entries")
    require(
        len(plan.entry_ptr) == n_entries + 1
        and len(plan.entry_amplitudes) == len(plan.entry_nodes)
        and len(plan.entry_middle) == n_entries
        and len(plan.group_scale) == len(plan.group_ptr) - 1,
        "the arrays of a plan differ in length",
    )


def _finish_pruned(grid: PrunedGrid) -> None:
    m = len(grid.axes)
    require(
        grid.rule.nodes.shape[1] == m
        and grid.directions.shape[1] == m
        and all(axis.nodes.shape[1] == 1 for axis in grid.axes),
        "a pruned grid has other axes than its frame",
    )


def kronecker_columns(plan: KroneckerPlan) -> int:
    """`plan.n_columns`, in whole numbers that cannot overflow."""
    widths = (2 * np.diff(plan.entry_ptr) + (plan.entry_middle != 0)).tolist()
    total, dropped = 0, 0
    for group in plan.groups():
        columns = 1
        for entry in group.tolist():
            columns = min(columns * widths[entry], 1 << 62)
        total += columns
        dropped += bool(np.all(plan.entry_middle[group] != 0))
    return total - dropped + (dropped > 0)


def _finish_expansion(own: Expansion) -> None:
    a, m, columns = len(own.axes), len(own.sizes), len(own.parent)
    shapes = {
        "scale": (a,),
        "mean": (a,),
        "rotation": (a, m if own.mixing is None else len(own.mixing)),
        "envelope": (m,),
        "length": (m,),
        "ratio": (m,),
        "direction": (columns,),
        "degree": (columns,),
    }
    for name, shape in shapes.items():
        found = getattr(own, name).shape
        require(found == shape, f"{name} has shape {found}, not {shape}")
    require(a > 0 and m > 0 and columns > 0, "an expansion is empty")
    require(bool((own.parent >= -1).all()), "parent is below -1")
    require(bool((own.parent < np.arange(columns)).all()), "a parent comes after its child")
    check_indices(own.direction, m, "direction")
    require(bool((own.degree >= 0).all()), "a degree is negative")
    sizes = np.ones(m, dtype=np.int64)
    np.maximum.at(sizes, own.direction, own.degree + 1)
    # Equality also bounds the tables: their entries are chained by the columns that use them.
    require(np.array_equal(sizes, own.sizes), "sizes are not those that the degrees need")
    require(int(sizes.max()) <= columns, "a degree is larger than the number of columns")
    if own.mixing is not None:
        require(a == m == own.mixing.shape[1], "a mixing does not fit its axes and directions")
        require(bool((own.length > 0).all()), "a direction has no length")
    if own.projection is not None:
        require(len(own.projection) == columns, "a projection does not fit its columns")


def _finish_basis(basis: MercerBasis) -> None:
    require(len(basis.expansions) > 0, "a basis is empty")
    if basis.projection is not None:
        require(len(basis.projection) == basis.n_pool, "a projection does not fit its columns")


def _finish_landmarks(basis: LandmarkBasis) -> None:
    require(len(basis.projection) == len(basis.points) > 0, "landmarks and projection differ")


_amplitudes = array(FLOATS, 1, least=0.0)
BUNDLES = (
    data_class(Rule, shared=True, nodes=array(FLOATS, 2), weights=array(FLOATS, 1)),
    data_class(FourierPlan, _finish_fourier_plan, amplitudes=_amplitudes, constant=not_negative),
    data_class(
        KroneckerPlan,
        _finish_kronecker_plan,
        entry_amplitudes=_amplitudes,
        entry_middle=_amplitudes,
        group_scale=_amplitudes,
    ),
    data_class(
        Expansion,
        _finish_expansion,
        scale=array(FLOATS, 1, above=0.0),
        envelope=array(FLOATS, 1, above=0.0),
        ratio=_amplitudes,
        amplitude=not_negative,
    ),
    data_class(MercerBasis, _finish_basis, expansions=list_of(instance(Expansion))),
    data_class(
        LandmarkBasis,
        _finish_landmarks,
        points=array(FLOATS, 2),
        projection=array(FLOATS, 2),
    ),
    data_class(
        PrunedGrid,
        _finish_pruned,
        rule=instance(Rule),
        axes=list_of(instance(Rule)),
        directions=array(FLOATS, 2),
    ),
    data_class(Trial, rms=error, max=error, cost=error, typical=error),
    data_class(Report, trials=list_of(instance(Trial))),
)
