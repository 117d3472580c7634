"""Recipes of feature maps, and the table of all recipes except those of models."""

from __future__ import annotations

import inspect
from dataclasses import is_dataclass, replace
from typing import Any

import numpy as np

from .._engine.plans import FourierPlan, KroneckerPlan, MercerBasis
from ..constructions.framed_grid import PrunedGrid
from ..constructions.landmarks import LandmarkBasis
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..maps.dense_grid import DenseGrid
from ..maps.expansions import HermiteMercer, Landmarks
from ..maps.fourier import FourierMap
from ..maps.grids import PolynomiallyExact, SparseGrid, SubsampledGrid
from ..maps.learned_grids import FramedGrid, ReweightedGrid
from ..maps.random import OrthogonalFourier, QuasiRandomFourier, RandomFourier, SphericalRadial
from ..maps.report import Report
from ..rules.rule import Rule
from .kernels import KERNELS, any_kernel, checked_kernel
from .plans import BUNDLES
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
    whole,
)


def _restore_map(features: FeatureMap) -> None:
    """Bound the kernel's groups, which could take far more memory than the file, then rebuild."""
    parts = vars(features.map_ if isinstance(features, KernelFeatures) else features)
    plan = parts.get("_plan")
    size = _size(plan if plan is not None else parts.get("basis_"))
    n_groups = None if plan is None else plan.n_groups
    d = features.n_features_in_
    features.kernel_ = checked_kernel(features.kernel_, d, size, n_groups)
    features.restored()


def _size(part: Any) -> int:
    """The number of entries in the arrays of a plan or basis."""
    if isinstance(part, np.ndarray):
        return part.size
    parts = part if isinstance(part, tuple) else vars(part).values() if is_dataclass(part) else ()
    return sum(map(_size, parts))


def _output_config(value: Any) -> bool:
    """Whether a value is what scikit-learn's set_output stores."""
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
    "_plan": instance(KroneckerPlan, FourierPlan),
    "_axis_rules": list_of(list_of(instance(Rule))),
}


_map_parameters: dict[str, Check] = {
    "kernel": either(absent, any_kernel, lambda value: value == "precomputed"),
    "random_state": _seed,
    "pool": either(absent, instance(FourierMap)),
}


def _state(features: Any) -> dict[str, Any]:
    """The attributes of a map; without newer parameters that are None, for earlier versions."""
    return {
        name: value
        for name, value in vars(features).items()
        if not (name in ("points", "tol") and value is None)
    }


def _map(kind: type, stored: dict[str, Check], *more: str, **maybe: Check) -> Recipe:
    names = inspect.signature(kind).parameters
    return Recipe(
        kind,
        stored=stored,
        parameters={name: _map_parameters.get(name, plain) for name in names},
        optional={**any_estimator, "_origin": array(FLOATS, 1), **maybe},
        derived=("_groups", "_kernel", "_coordinates", "n_columns_", *more),
        finish=_restore_map,
    )


_MAPS = (
    replace(
        _map(
            DenseGrid,
            _grid,
            _made_rules=list_of(instance(Rule)),
            _steps=array(FLOATS, 1, above=0.0),
        ),
        state=_state,
    ),
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
    replace(_map(Landmarks, {**_signed, "basis_": instance(LandmarkBasis)}), state=_state),
    _map(
        KernelFeatures,
        {**_common, "map_": instance(FeatureMap), "report_": instance(Report)},
        "signs_",
    ),
)


RECIPES = {recipe.kind.__name__: recipe for recipe in (*KERNELS, *BUNDLES, *_MAPS)}
