"""A recipe: which attributes a class stores, and what each must be."""

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
    stored : name -> check
        Attributes beside the constructor's parameters; those in `optional` may be absent.
    parameters : name -> check, for the constructor's parameters that have one
    derived : attributes that `finish` makes again
    finish : makes them, and raises ValueError or TypeError if the parts do not fit together
    forgotten : parameters that are not stored: after loading they have their defaults
    shared : whether one object may appear in several places
    state, make : to take an object apart and to put it together, where these are not `vars` and
        the constructor
    """

    kind: type
    stored: Mapping[str, Check] = field(default_factory=dict)
    parameters: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    finish: Callable[[Any], None] = lambda made: None
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


# --- checks -----------------------------------------------------------------------------------
class Recipes(dict[str, Recipe]):
    """Recipes by the name of their class."""

    def of(self, value: Any) -> Recipe | None:
        """The recipe of an object's own class; a subclass of a known class is another class."""
        found = self.get(type(value).__name__)
        return found if found is not None and found.kind is type(value) else None


def instance(*kinds: type) -> Check:
    """Whether a value is an instance; bool does not pass for int."""
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def number(kind: Check, least: float = -np.inf, *, above: float = -np.inf) -> Check:
    """Whether a value is a finite number of a kind and in range."""
    return lambda value: (
        kind(value) and np.isfinite(value) and bool(value >= least and value > above)
    )


def whole(value: Any) -> bool:
    """Whether a value is an int that NumPy can hold."""
    return type(value) is int and abs(value) < 1 << 53


def array(kind: str, *ndims: int, least: float = -np.inf, above: float = -np.inf) -> Check:
    """Whether a value is a finite array of one of the dtypes, numbers of axes, and in range."""

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
    """Whether a value passes one of the checks."""
    return lambda value: any(check(value) for check in checks)


def absent(value: Any) -> bool:
    """Whether a value is None."""
    return value is None


def plain(value: Any) -> bool:
    """Whether a value is made of numbers, text and containers alone."""
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
    "Indices": array(INTEGERS, 1),
    "Integers": array(INTEGERS, 1),
    "Doubles": array(FLOATS, 1),
    "Floats": array(FLOATS, 1, 2),
    "Floats | None": either(absent, array(FLOATS, 2)),
}


def error(value: Any) -> bool:
    """Whether a value may be an error or a cost; what could not be made has infinite ones."""
    return isinstance(value, float) and not value < 0


def data_class(kind: type, finish: Any = None, shared: bool = False, **checks: Check) -> Recipe:
    """The recipe of a frozen bundle, from the types of its fields."""
    parameters = {each.name: checks.get(each.name) or _TYPES[each.type] for each in fields(kind)}
    nothing = Recipe(kind).finish

    def state(bundle: Any) -> dict[str, Any]:  # without what it has worked out since
        return {name: getattr(bundle, name) for name in parameters}

    return Recipe(kind, parameters=parameters, finish=finish or nothing, shared=shared, state=state)
