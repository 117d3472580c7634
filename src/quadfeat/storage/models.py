"""Recipes of the models and of their parts."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.encoder import TableEncoder
from ..data.sampling import RowSample
from ..maps.base import FeatureMap
from ..models.base import DTYPES, KernelModel
from ..models.classifier import KernelClassifier
from ..models.regressor import KernelRegressor
from ..models.ridge import Posterior
from ..models.ridge_sums import NormalSums
from ..models.solver import SOLVERS
from ..models.toeplitz import ToeplitzPosterior
from ..models.toeplitz_sums import ToeplitzSums
from ..models.tuning import Tried
from .maps import any_estimator
from .recipe import (
    FLOATS,
    Check,
    Recipe,
    absent,
    array,
    count,
    data_class,
    either,
    finite,
    instance,
    list_of,
    number,
    plain,
    whole,
)


def _labels(value: Any) -> bool:
    if not (isinstance(value, np.ndarray) and value.ndim == 1):
        return False
    kind = value.dtype.kind
    return kind in "UO" or (kind in "biuf" and bool(np.isfinite(value).all()))


def _sampled_targets(value: Any) -> bool:
    if isinstance(value, np.ndarray) and value.ndim == 2:
        return value.dtype.kind in "biuf" and bool(np.isfinite(value).all())
    return _labels(value)


def _variances(value: Any) -> bool:
    """Whether no variance is negative; NaN if there were too few rows to estimate one."""
    if not isinstance(value, float | np.ndarray):
        return False
    known = np.ravel(value)
    return known.dtype == np.float64 and not bool((known < 0).any() or np.isinf(known).any())


def _class_weights(value: Any) -> bool:
    share = number(either(whole, instance(float)), 0)
    return isinstance(value, dict) and all(map(share, value.values()))


_parameters: dict[str, Check] = {
    "features": either(absent, instance(FeatureMap)),
    "encoder": either(absent, instance(TableEncoder)),
    "class_weight": either(absent, instance(str), _class_weights),
    "solver": lambda value: isinstance(value, str) and value in SOLVERS,
    "fit_intercept": instance(bool, int),
    "dtype": either(absent, lambda value: isinstance(value, str) and value in DTYPES),
    "verbose": instance(bool, int),
    "checkpoint_interval": lambda value: instance(int, float)(value) and value >= 0,
}


_fitted: dict[str, Check] = {
    "n_features_in_": count,
    "features_": instance(FeatureMap),
    "coef_": array(FLOATS, 1, 2),
    "alpha_": number(instance(float), above=0.0),
    "tuning_": list_of(instance(Tried)),
}


_maybe: dict[str, Check] = {
    **any_estimator,
    "_sums": instance(NormalSums, ToeplitzSums),
    "_seen": instance(RowSample),
    "feature_importances_": array(FLOATS, 1, least=0.0),
    "_background": array(FLOATS, 2),
    "encoder_": instance(TableEncoder),
}


def _state(model: Any) -> dict[str, Any]:
    """The attributes; earlier versions can read those of a model fitted by products."""
    state = dict(vars(model))
    if state.get("solver") == "auto":
        del state["solver"]
    if state.get("solver_") == "products":
        del state["solver_"]
    return state


def _model(kind: type[KernelModel], fitted: dict[str, Check], **maybe: Check) -> Recipe:
    names = Recipe(kind, forgotten=("checkpoint",)).names
    return Recipe(
        kind,
        stored={**_fitted, **fitted},
        parameters={name: _parameters.get(name, plain) for name in names},
        optional={**_maybe, **maybe},
        derived=("_decomposition", "_lattice"),
        state=_state,
        # A file must not set the path that a later fit writes to.
        forgotten=("checkpoint",),
        finish=kind.restored,
    )


_RECIPES = (
    data_class(
        Tried,
        value=either(finite, instance(str)),
        score=instance(float),
        chosen=instance(bool),
        edge=instance(bool),
    ),
    data_class(Posterior, Posterior.check, root=array(FLOATS, 2), feature_mean=array(FLOATS, 1)),
    Recipe(
        NormalSums,
        parameters={
            "gram": array(FLOATS, 2),
            "cross": array(FLOATS, 2),
            "feature_sum": array(FLOATS, 1),
            "target_sum": array(FLOATS, 1),
            "target_square": array(FLOATS, 1),
            "weight": array(FLOATS, 0),
            "weight_square": array(FLOATS, 0),
            "n_rows": array(FLOATS, 0),  # of version 0.1.0, instead of the squares
        },
        finish=NormalSums.check,
        state=NormalSums.state,
        make=lambda **state: NormalSums.from_state(state),
    ),
    Recipe(
        ToeplitzSums,
        parameters={
            "steps": array(FLOATS, 1, above=0.0),
            "generator": array(FLOATS, 2, 3, 4),
            "cross": array(FLOATS, 3, 4, 5),
            "feature_sum": array(FLOATS, 2, 3, 4),
            "target_sum": array(FLOATS, 1),
            "target_square": array(FLOATS, 1),
            "low": array(FLOATS, 1),
            "high": array(FLOATS, 1),
            "weight": array(FLOATS, 0),
            "weight_square": array(FLOATS, 0),
        },
        finish=ToeplitzSums.check,
        state=ToeplitzSums.state,
        make=lambda **state: ToeplitzSums.from_state(state),
    ),
    data_class(
        ToeplitzPosterior,
        ToeplitzPosterior.check,
        sums=instance(ToeplitzSums),
        intercept=instance(bool),
        squares=array(FLOATS, 1, least=0.0),
        residual=array(FLOATS, 1, least=0.0),
    ),
    Recipe(
        RowSample,
        parameters={
            "limit": count,
            "by_class": instance(bool),
            "cut": number(instance(float), above=0.0),
            "classes": array("uint64", 1),
            "cuts": array(FLOATS, 1, above=0.0),
            "keys": array("uint64", 1),
            "labels": array("uint64", 1),
            "X": array("float32 float64", 2),
            "y": _sampled_targets,
            "weight": array(FLOATS, 1, above=0.0),
        },
        finish=RowSample.check,
        state=RowSample.state,
        make=lambda **state: RowSample.from_state(state),
    ),
    _model(
        KernelRegressor,
        {
            "intercept_": either(finite, array(FLOATS, 1)),
            "noise_": _variances,
            "_shift": array(FLOATS, 1),
            "_single": instance(bool),
            "_posterior": either(absent, instance(Posterior)),
        },
        solver_=instance(str),
        _toeplitz=instance(ToeplitzPosterior),
        n_passes_=count,
    ),
    _model(
        KernelClassifier,
        {
            "intercept_": array(FLOATS, 1),
            "classes_": _labels,
            "_n_scores": count,
            "_factors": either(absent, array(FLOATS, 1, least=0.0)),
        },
        _slope=number(instance(float), above=0.0),
        loss_=instance(str),
        n_passes_=count,
        solver_=instance(str),
        _posterior=instance(Posterior),
        _noise=array(FLOATS, 1, least=0.0),
    ),
)


RECIPES = {recipe.kind.__name__: recipe for recipe in _RECIPES}
