"""Recipes of the encoder of tables and of its columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..data.column_encoders import (
    ColumnEncoder,
    DateEncoder,
    NumberEncoder,
    OneHotEncoder,
    TargetMeanEncoder,
    TextEncoder,
)
from ..data.column_kinds import ColumnReport
from ..data.encoder import TableEncoder
from .maps import any_estimator
from .recipe import (
    FLOATS,
    Recipe,
    absent,
    array,
    count,
    data_class,
    either,
    instance,
    list_of,
    number,
)

_flag = instance(bool)
_texts = list_of(instance(str))


def _categories(value: Any) -> bool:
    return isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU"


def _kinds(value: Any) -> bool:
    return isinstance(value, dict) and _texts([*value, *value.values()])


def _checked(kind: Any, **checks: Any) -> Recipe:
    return data_class(kind, kind.check, **checks)


_positive = number(instance(float), above=0.0)
_RECIPES = (
    _checked(NumberEncoder, spread=_positive, indicator=_flag, had_gaps=_flag),
    _checked(OneHotEncoder, values=_categories, had_gaps=_flag),
    _checked(
        TargetMeanEncoder,
        values=_categories,
        means=array(FLOATS, 2),
        fold_means=array(FLOATS, 3),
        labels=_texts,
        had_gaps=_flag,
    ),
    _checked(DateEncoder, spread=_positive, cycles=_texts, indicator=_flag, had_gaps=_flag),
    _checked(TextEncoder, importance=array(FLOATS, 1), directions=array(FLOATS, 2), had_gaps=_flag),
    data_class(ColumnReport),
    Recipe(
        TableEncoder,
        stored={
            "n_features_in_": count,
            "encoders_": list_of(instance(*ColumnEncoder.__args__)),
            "report_": list_of(instance(ColumnReport)),
            "_columns": _texts,
        },
        parameters={
            "columns": either(absent, _kinds),
            "max_one_hot": count,
            "text": instance(str),
            "text_columns": count,
            "n_folds": count,
            "task": instance(str),
        },
        optional=any_estimator,
        finish=TableEncoder.restored,
    ),
)


RECIPES = {recipe.kind.__name__: recipe for recipe in _RECIPES}
