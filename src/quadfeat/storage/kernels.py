"""Recipes of kernels, and a bound on the memory that a kernel in a file can request."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from .._checks import require
from ..kernels.base import Kernel
from ..kernels.composite import Product, Sum
from ..kernels.convolution import Convolution
from ..kernels.stationary import LEARNED
from ..kernels.subsets import Anova
from .recipe import (
    FLOATS,
    INTEGERS,
    Recipe,
    absent,
    array,
    count,
    either,
    instance,
    list_of,
    number,
    whole,
)

_MOST_FEATURES = 1 << 24
# The groups of a kernel may have _FEW_AXES axes in all, plus _AXES_PER_NUMBER for every number in
# the arrays of its map.
_AXES_PER_NUMBER = 64
_FEW_AXES = 1 << 16
_GROUP = 64  # a group takes as much memory as this many axes, beside its axes
_DEEPEST_KERNEL = 50


def _extent(kernel: Kernel, d: int, depth: int = 0) -> tuple[int, int]:
    """Upper bounds of the number of groups and of their axes in all, without making the groups."""
    require(depth <= _DEEPEST_KERNEL, f"a kernel is nested more than {_DEEPEST_KERNEL} deep")
    inner = [
        _extent(part, d, depth + 1) for part in vars(kernel).values() if isinstance(part, Kernel)
    ]
    if isinstance(kernel, Sum):
        return inner[0][0] + inner[1][0], inner[0][1] + inner[1][1]
    if isinstance(kernel, Product):
        groups = inner[0][0] * inner[1][0]
        axes = inner[0][0] * inner[1][1] + inner[0][1] * inner[1][0]
        return groups, min(axes, groups * d)
    n_groups, n_axes = inner[0] if inner else (1, d)
    if isinstance(kernel, Anova):
        counts = [len(subset) for subset in kernel.subsets]
        return len(counts) * n_groups, sum(counts) * n_groups
    if isinstance(kernel, Convolution):
        shape, window, stride = kernel.geometry()
        sides = zip(shape[:2], window, stride, strict=True)
        places = [(n - w) // s + 1 for n, w, s in sides]
        n_windows, size = int(np.prod(places, dtype=float)), int(np.prod(window, dtype=float))
        return n_windows * n_groups, n_windows * size * max(1, *shape[2:], 1) * n_groups
    return n_groups, n_axes


def checked_kernel(kernel: Kernel, d: int, stored: int, n_groups: int | None) -> Kernel:
    """The kernel of a loaded map of d columns, after its parameters were checked.

    Raises a ValueError, before any group is made, if the kernel does not have `n_groups` groups
    (None if unknown), or more groups and axes than `stored` numbers in the map allow.
    """
    require(1 <= d <= _MOST_FEATURES, f"{d} is not a number of columns")
    groups, axes = _extent(kernel, d)
    fit = axes + _GROUP * groups <= _FEW_AXES + _AXES_PER_NUMBER * stored
    fit = fit and n_groups in (None, groups)
    require(fit, f"its kernel has {groups} groups with {axes} axes in all")
    require(_resolved(kernel), "the parameters of its kernel are not all numbers")
    return kernel.resolve(np.broadcast_to(0.0, (1, d)))  # a row that takes no memory


def _resolved(part: Any) -> bool:
    """Whether every parameter of a kernel is a number, not a name such as "scale"."""
    if isinstance(part, list | tuple):
        return all(map(_resolved, part))
    if not isinstance(part, Kernel):
        return not isinstance(part, str)
    return getattr(part, "base", part) is not None and all(map(_resolved, vars(part).values()))


any_kernel = instance(Kernel)
_number = number(either(whole, instance(float)))
_positive = number(either(whole, instance(float)), above=0)
gammas = either(
    _positive,
    lambda value: isinstance(value, str) and value in ("scale", "median", *LEARNED),
    array(f"{FLOATS} float32 int64", 0, 1, above=0),
    list_of(_positive),
)


def _is_learned(value: Any) -> bool:
    return isinstance(value, str) and value == "learned"


_NEWER = {"metric": None, "order": 2}  # parameters missing in version 0.1.0, and their defaults


def _state(kernel: Any) -> dict[str, Any]:
    """A kernel's parameters, without newer ones at their defaults: older versions can read it."""
    return {
        name: value
        for name, value in vars(kernel).items()
        if not (name in _NEWER and type(value) is type(_NEWER[name]) and value == _NEWER[name])
    }


_counts = either(count, list_of(count), array(INTEGERS, 1, least=0))
_subsets = list_of(either(list_of(count), array(INTEGERS, 1, least=0)))
# By the names that kernels use in their `stored`.
_KINDS = {
    "gamma": gammas,
    "positive": _positive,
    "flag": instance(bool),
    "kernel": any_kernel,
    "kernel or None": either(absent, any_kernel),
    "kernels or None": either(absent, any_kernel, list_of(any_kernel)),
    "subsets": either(_subsets, array(INTEGERS, 2, least=0), _is_learned),
    "order": count,
    "weights": either(absent, list_of(_positive), array(f"{FLOATS} {INTEGERS}", 1, above=0)),
    "counts": _counts,
    "metric": either(
        absent, _is_learned, array(f"{FLOATS} float32 int64", 2), list_of(list_of(_number))
    ),
}
_CLASSES = [value for value in vars(kernels).values() if isinstance(value, type)]
KERNELS = tuple(
    Recipe(
        kind,
        parameters={name: _KINDS[is_a] for name, is_a in kind.stored.items()},
        state=_state,
    )
    for kind in _CLASSES
    if issubclass(kind, Kernel) and kind.stored is not None
)
