"""Recipes: which attributes a class stores, and the checks of their values."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import Any

import numpy as np

Check = Callable[[Any], bool]


@dataclass(frozen=True)
class Recipe:
    """How a class is stored.

    Parameters
    ----------
    kind : class
    stored : name -> check, of the fitted attributes, all of which a fitted object has
    parameters : name -> check, of the constructor's parameters
    optional : name -> check, of fitted attributes that may be absent
    derived : names of attributes that are not stored: `finish` rebuilds them
    finish : rebuilds these, and raises ValueError or TypeError if the parts do not fit together
    forgotten : names of parameters that are not stored; a loaded object has their defaults
    shared : whether several attributes may refer to one object, which is then stored once
    state, make : take an object apart and put it together; by default `vars` and the constructor
    """

    kind: type
    stored: Mapping[str, Check] = field(default_factory=dict)
    parameters: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    finish: Callable[[Any], None] = lambda loaded: None
    forgotten: tuple[str, ...] = ()
    shared: bool = False
    state: Callable[[Any], dict[str, Any]] = vars
    make: Callable[..., Any] | None = None

    @property
    def names(self) -> list[str]:
        """The parameters that `make` takes."""
        if self.make is not None:
            return list(self.parameters)
        return [n for n in inspect.signature(self.kind).parameters if n not in self.forgotten]


class Recipes(dict[str, Recipe]):
    """Recipes by the name of their class."""

    def of(self, value: Any) -> Recipe | None:
        """The recipe of an object's class, or None, also for subclasses of stored classes."""
        recipe = self.get(type(value).__name__)
        return recipe if recipe is not None and recipe.kind is type(value) else None


# --- checks -----------------------------------------------------------------------------------
def instance(*kinds: type) -> Check:
    """Whether a value is an instance of a class; a bool is not an int."""
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def number(kind: Check, least: float = -np.inf, *, above: float = -np.inf) -> Check:
    """Whether a value is a finite number of a kind, at least `least` and greater than `above`."""
    return lambda value: (
        kind(value) and np.isfinite(value) and bool(value >= least and value > above)
    )


def whole(value: Any) -> bool:
    """Whether a value is an int that a float64 represents exactly."""
    return type(value) is int and abs(value) < 1 << 53


def array(kind: str, *ndims: int, least: float = -np.inf, above: float = -np.inf) -> Check:
    """Whether a value is an array with one of the dtypes in `kind` and a number of axes in `ndims`,
    whose entries are finite, at least `least` and greater than `above`.
    """

    def check(value: Any) -> bool:
        return (
            isinstance(value, np.ndarray)
            and value.dtype.name in kind.split()
            and value.ndim in ndims
            and bool(np.isfinite(value).all() and (value >= least).all() and (value > above).all())
        )

    return check


def list_of(check: Check) -> Check:
    """Whether a value is a list (or tuple) whose items all pass."""
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


def either(*checks: Check) -> Check:
    """Whether a value passes at least one of the checks."""
    return lambda value: any(check(value) for check in checks)


def absent(value: Any) -> bool:
    """Whether a value is None."""
    return value is None


def plain(value: Any) -> bool:
    """Whether a value consists of numbers, text, arrays and containers only."""
    if isinstance(value, list | tuple):
        return all(map(plain, value))
    if isinstance(value, dict):
        return all(map(plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | np.ndarray)


FLOATS, INTEGERS = "float64", "int64"
count = number(whole, 0)
finite = number(instance(float))
not_negative = number(instance(float), 0.0)
_TYPES: dict[Any, Check] = {
    "int": count,
    "float": finite,
    "str": instance(str),
    "Integers": array(INTEGERS, 1),
    "Floats": array(FLOATS, 1),
    "Floats | None": either(absent, array(FLOATS, 2)),
}


def error(value: Any) -> bool:
    """Whether a value can be an error or a cost; these are infinite for a map that failed."""
    return isinstance(value, float) and not value < 0


def data_class(kind: type, finish: Any = None, shared: bool = False, **checks: Check) -> Recipe:
    """The recipe of a frozen dataclass; fields without a check have that of their type."""
    parameters = {
        field.name: checks.get(field.name) or _TYPES[field.type] for field in fields(kind)
    }
    nothing = Recipe(kind).finish

    def state(bundle: Any) -> dict[str, Any]:  # `vars` would include cached properties
        return {name: getattr(bundle, name) for name in parameters}

    return Recipe(kind, parameters=parameters, finish=finish or nothing, shared=shared, state=state)
