"""Recipes of rules, plans, bases and reports: bundles of arrays, checked when they are loaded."""

from __future__ import annotations

import numpy as np

from .._checks import require
from .._engine.plans import Expansion, FourierPlan, KroneckerPlan, MercerBasis
from ..constructions.framed_grid import PrunedGrid
from ..constructions.landmarks import LandmarkBasis
from ..maps.report import Report, Trial
from ..rules.rule import Rule
from .recipe import FLOATS, array, data_class, error, instance, list_of, not_negative


def _check_pruned(grid: PrunedGrid) -> None:
    m = len(grid.axes)
    require(
        grid.rule.nodes.shape[1] == m
        and grid.directions.shape[1] == m
        and all(axis.nodes.shape[1] == 1 for axis in grid.axes),
        "a pruned grid has other axes than its frame",
    )


def _check_expansion(expansion: Expansion) -> None:
    expansion.check()
    columns = len(expansion.parent)
    sizes = np.ones(len(expansion.sizes), dtype=np.int64)
    np.maximum.at(sizes, expansion.direction, expansion.degree + 1)
    # Equality bounds the tables, and so the memory that a file can request.
    require(np.array_equal(sizes, expansion.sizes), "sizes are not those that the degrees need")
    # Columns may skip a degree: 43 of them had degrees up to 43.
    require(int(sizes.max()) <= 2 * columns, "a degree is larger than twice the number of columns")


def _check_landmarks(basis: LandmarkBasis) -> None:
    require(len(basis.projection) == len(basis.points) > 0, "landmarks and projection differ")


_amplitudes = array(FLOATS, 1, least=0.0)
BUNDLES = (
    data_class(Rule, shared=True, nodes=array(FLOATS, 2), weights=array(FLOATS, 1)),
    data_class(FourierPlan, FourierPlan.check, amplitudes=_amplitudes, constant=not_negative),
    data_class(
        KroneckerPlan,
        KroneckerPlan.check,
        entry_amplitudes=_amplitudes,
        entry_middle=_amplitudes,
        group_scale=_amplitudes,
    ),
    data_class(
        Expansion,
        _check_expansion,
        scale=array(FLOATS, 1, above=0.0),
        rotation=array(FLOATS, 2),
        envelope=array(FLOATS, 1, above=0.0),
        ratio=_amplitudes,
        amplitude=not_negative,
    ),
    data_class(MercerBasis, MercerBasis.check, expansions=list_of(instance(Expansion))),
    data_class(
        LandmarkBasis,
        _check_landmarks,
        points=array(FLOATS, 2),
        projection=array(FLOATS, 2),
    ),
    data_class(
        PrunedGrid,
        _check_pruned,
        rule=instance(Rule),
        axes=list_of(instance(Rule)),
        directions=array(FLOATS, 2),
    ),
    data_class(Trial, rms=error, max=error, cost=error, typical=error),
    data_class(Report, trials=list_of(instance(Trial))),
)
