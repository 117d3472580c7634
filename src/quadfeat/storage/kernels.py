"""Recipes of kernels."""

from __future__ import annotations

from typing import Any

import numpy as np

from .. import kernels
from ..kernels.base import Kernel
from ..kernels.composite import Product, Sum
from ..kernels.subsets import Anova, Convolution
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
    require,
    whole,
)

_MOST_FEATURES = 1 << 24
_AXES_PER_NUMBER = 64  # in the groups of a kernel, for every number in the arrays of a map
_FEW_AXES = 1 << 16  # which need no such number
_GROUP = 64  # axes that take as much memory as what else a group has
_DEEPEST_KERNEL = 50


# --- kernels ----------------------------------------------------------------------------------
def _extent(kernel: Kernel, d: int, depth: int = 0) -> tuple[int, int]:
    """How many groups a kernel has and how many axes they have in all, at most, uncounted."""
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
    own = inner[0] if inner else (1, d)
    if isinstance(kernel, Anova):
        counts = [len(subset) for subset in kernel.subsets]
        return len(counts) * own[0], sum(counts) * own[0]
    if isinstance(kernel, Convolution):
        shape, window, stride = kernel.geometry()
        sides = zip(shape[:2], window, stride, strict=True)
        places = [(n - w) // s + 1 for n, w, s in sides]
        n_windows, size = int(np.prod(places, dtype=float)), int(np.prod(window, dtype=float))
        return n_windows * own[0], n_windows * size * max(1, *shape[2:], 1) * own[0]
    return own


def checked_kernel(kernel: Kernel, d: int, stored: int, n_groups: int | None) -> Kernel:
    """The kernel of a map of d columns, resolved: with numbers for parameters, all in range.

    Refused, uncounted, if it has other than `n_groups` groups, where that is known, or more than go
    with the `stored` numbers of the map.
    """
    require(1 <= d <= _MOST_FEATURES, f"{d} is not a number of columns")
    groups, axes = _extent(kernel, d)
    fit = axes + _GROUP * groups <= _FEW_AXES + _AXES_PER_NUMBER * stored
    fit = fit and n_groups in (None, groups)
    require(fit, f"its kernel has {groups} groups with {axes} axes in all")
    require(_resolved(kernel), "the parameters of its kernel are not all numbers")
    return kernel.resolve(np.broadcast_to(0.0, (1, d)))  # rows that take no memory


def _resolved(part: Any) -> bool:
    """Whether nothing in a kernel is left for data to decide."""
    if isinstance(part, list | tuple):
        return all(map(_resolved, part))
    if not isinstance(part, Kernel):
        return not isinstance(part, str)
    return getattr(part, "base", part) is not None and all(map(_resolved, vars(part).values()))


any_kernel = instance(Kernel)
_positive = number(either(whole, instance(float)), above=0)
gammas = either(
    _positive,
    lambda value: value in ("scale", "median") if isinstance(value, str) else False,
    array(f"{FLOATS} float32 int64", 0, 1, above=0),
    list_of(_positive),
)


_counts = either(count, list_of(count), array(INTEGERS, 1, least=0))
_subsets = list_of(either(list_of(count), array(INTEGERS, 1, least=0)))
# By the names that kernels use in their `stored`.
_KINDS = {
    "gamma": gammas,
    "positive": _positive,
    "flag": instance(bool),
    "kernel": any_kernel,
    "kernel or None": either(absent, any_kernel),
    "kernels": either(any_kernel, list_of(any_kernel)),
    "subsets": either(_subsets, array(INTEGERS, 2, least=0)),
    "weights": either(absent, list_of(_positive), array(f"{FLOATS} {INTEGERS}", 1, above=0)),
    "counts": _counts,
}
_CLASSES = [value for value in vars(kernels).values() if isinstance(value, type)]
KERNELS = tuple(
    Recipe(kind, parameters={name: _KINDS[is_a] for name, is_a in kind.stored.items()})
    for kind in _CLASSES
    if issubclass(kind, Kernel) and kind.stored is not None
)
