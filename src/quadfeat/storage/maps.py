"""Recipes of feature maps."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import is_dataclass
from typing import Any

import numpy as np

from .._engine.plans import FourierPlan, KroneckerPlan, MercerBasis
from ..constructions.framed_grid import PrunedGrid
from ..constructions.landmarks import LandmarkBasis
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..maps.expansions import HermiteMercer, Landmarks
from ..maps.fourier import FourierMap
from ..maps.grids import DenseGrid, PolynomiallyExact, SparseGrid, SubsampledGrid
from ..maps.learned_grids import FramedGrid, ReweightedGrid
from ..maps.random import OrthogonalFourier, QuasiRandomFourier, RandomFourier, SphericalRadial
from ..maps.report import Report
from ..rules.rule import Rule
from .kernels import KERNELS, any_kernel, checked_kernel
from .plans import BUNDLES, check_indices, kronecker_columns
from .recipe import (
    FLOATS,
    Check,
    Recipe,
    absent,
    array,
    count,
    either,
    instance,
    list_of,
    number,
    plain,
    require,
    whole,
)


# --- maps -----------------------------------------------------------------------------------------
def _finish_map(made: FeatureMap) -> None:
    made._check()
    d = made.n_features_in_
    holder = made.map_ if isinstance(made, KernelFeatures) else made
    plan = getattr(holder, "_plan", None)
    stored = _stored(plan if plan is not None else getattr(holder, "basis_", None))
    made.kernel_ = checked_kernel(made.kernel_, d, stored, _groups_of(plan))
    made._groups = made.kernel_.groups(d)
    names = getattr(made, "feature_names_in_", None)
    require(names is None or len(names) == d, "the names of columns are not one per column")
    require(made._origin is None or len(made._origin) == d, "the origin has other columns")
    columns = _columns(made, d)
    require(made.signs_.shape == (columns,), f"{len(made.signs_)} signs for {columns} columns")
    require(bool(np.isin(made.signs_, (-1.0, 0.0, 1.0)).all()), "signs are not -1, 0 or 1")
    made.n_columns_ = columns


def _stored(part: Any) -> int:
    """How many numbers the arrays of a plan or basis hold."""
    if isinstance(part, np.ndarray):
        return part.size
    parts = part if isinstance(part, tuple) else vars(part).values() if is_dataclass(part) else ()
    return sum(map(_stored, parts))


def _groups_of(plan: FourierPlan | KroneckerPlan | None) -> int | None:
    """How many groups a plan has, where there is one."""
    if plan is None:
        return None
    return len(plan.axes_ptr if isinstance(plan, FourierPlan) else plan.group_ptr) - 1


def _columns(made: Any, d: int) -> int:
    """The number of columns, after checking that the parts of a map fit together."""
    if isinstance(made, KernelFeatures):
        require(made.map_.n_features_in_ == d, "the map chosen has other columns")
        require(not isinstance(made.map_, KernelFeatures), "a choice of a choice")
        made.signs_ = made.map_.signs_
        return int(made.map_.n_columns_)
    if isinstance(made, HermiteMercer):
        for each in made.basis_.expansions:
            check_indices(each.axes, d, "axes")
        return made.basis_.n_columns
    if isinstance(made, Landmarks):
        require(made.basis_.points.shape[1] == d, "the landmarks have other columns")
        return int(made.basis_.projection.shape[1])
    return _fourier_columns(made, d)


def _fourier_columns(made: Any, d: int) -> int:
    plan, axes = made._plan, [group.axes for group in made._groups]
    require(plan.n_features == d, "the plan has other columns")
    if isinstance(made, DenseGrid):
        found = [plan.entry_axis[entries] for entries in plan.groups()]
        rules_of: Sequence[Sequence[Rule]] = made._axis_rules
        fit = [len(own) for own in rules_of] == [len(own) for own in axes]
        fit = fit and all(rule.nodes.shape[1] == 1 for own in rules_of for rule in own)
        columns = kronecker_columns(plan)
    else:
        found = np.split(plan.axes, plan.axes_ptr[1:-1])
        fit = [rule.nodes.shape[1] for rule in made._made_rules] == [len(own) for own in axes]
        columns = plan.n_columns
    require(fit, "the rules are not those of the kernel's groups")
    same = len(found) == len(axes) and all(map(np.array_equal, found, axes))
    require(same, "the plan is not one for the kernel's groups")
    return columns


def _output_config(value: Any) -> bool:
    """What scikit-learn's set_output leaves."""
    return isinstance(value, dict) and all(
        key == "transform" and config in (None, "default", "pandas", "polars")
        for key, config in value.items()
    )


_seed = either(absent, instance(int))
any_estimator: dict[str, Check] = {
    "feature_names_in_": lambda value: (
        isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU"
    ),
    "_sklearn_output_config": _output_config,
    "_first_index": instance(int),
}


_common: dict[str, Check] = {"n_features_in_": count, "kernel_": any_kernel}
_signed: dict[str, Check] = {**_common, "signs_": array(FLOATS, 1)}
_fourier: dict[str, Check] = {
    **_signed,
    "_plan": instance(FourierPlan),
    "_made_rules": list_of(instance(Rule)),
}


_grid: dict[str, Check] = {
    **_signed,
    "_plan": instance(KroneckerPlan),
    "_axis_rules": list_of(list_of(instance(Rule))),
}


_map_parameters: dict[str, Check] = {
    "kernel": either(absent, any_kernel),
    "random_state": _seed,
    "pool": either(absent, instance(FourierMap)),
}


def _map(kind: type, stored: dict[str, Check], *more: str, **maybe: Check) -> Recipe:
    names = inspect.signature(kind).parameters
    return Recipe(
        kind,
        stored=stored,
        parameters={name: _map_parameters.get(name, plain) for name in names},
        optional={**any_estimator, "_origin": array(FLOATS, 1), **maybe},
        derived=("_groups", "n_columns_", *more),
        finish=_finish_map,
    )


_MAPS = (
    _map(DenseGrid, _grid),
    _map(SparseGrid, _fourier),
    _map(SubsampledGrid, _fourier),
    _map(PolynomiallyExact, {**_fourier, "_met": number(whole, -1)}),
    _map(ReweightedGrid, _fourier, _pool=instance(FourierMap)),
    _map(RandomFourier, _fourier),
    _map(OrthogonalFourier, _fourier),
    _map(QuasiRandomFourier, _fourier),
    _map(SphericalRadial, _fourier),
    _map(FramedGrid, {**_fourier, "_framed": instance(PrunedGrid)}),
    _map(HermiteMercer, {**_signed, "basis_": instance(MercerBasis)}),
    _map(Landmarks, {**_signed, "basis_": instance(LandmarkBasis)}),
    _map(
        KernelFeatures,
        {**_common, "map_": instance(FeatureMap), "report_": instance(Report)},
        "signs_",
    ),
)


# --- the table ------------------------------------------------------------------------------------
RECIPES = {recipe.kind.__name__: recipe for recipe in (*KERNELS, *BUNDLES, *_MAPS)}
