"""The best one-dimensional rule for a range of gaps."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import Any

import numpy as np

from .._errors import NoDensity, NoMoments
from .._typing import Floats
from .interval import clenshaw_curtis, equispaced, frequency_scale
from .rule import Axis, Rule

KINDS = ("gauss", "equispaced", "clenshaw-curtis")


def sup_error(axis: Axis, rule: Rule, reach: float) -> float:
    """The largest |k - rule| seen on a fine mesh of |gap| <= reach."""
    gap = _mesh(len(rule), reach)
    return float(np.abs(_values(rule, gap) - axis.profile(gap)).max())


def _values(rule: Rule, gap: Floats) -> Floats:
    """A mirrored rule at some gaps, by half as many cosines as it has nodes."""
    n = len(rule)
    right = slice(n - n // 2, None)
    middle = rule.weights[n // 2] if n % 2 else 0.0
    return Rule(rule.nodes[right], 2 * rule.weights[right])(gap[:, None]) + middle


def _mesh(n: int, reach: float) -> Floats:
    """Gaps dense enough to resolve the error of an n-point rule."""
    return np.linspace(0.0, reach, 201 + 4 * n)


def axis_rule(axis: Axis, n: int, *, kind: str = "auto", reach: float = 1.0) -> Rule:
    """The `n`-point rule of a kind with the least error over |gap| <= reach; "auto" tries all."""
    if kind == "gauss":
        return axis.gauss(n)
    if kind == "auto":
        candidates = [axis_rule(axis, n, kind=k, reach=reach) for k in KINDS[1:]]
        with contextlib.suppress(NoMoments, NoDensity):
            candidates.insert(0, axis.gauss(n))
        return min(candidates, key=lambda rule: sup_error(axis, rule, reach))
    if kind not in KINDS:
        raise ValueError(f"rule must be one of {('auto', *KINDS)}, got {kind!r}")
    make = equispaced if kind == "equispaced" else clenshaw_curtis
    gap = _mesh(n, reach)
    exact = axis.profile(gap)

    def error(size: float) -> float:
        try:
            return float(np.abs(_values(make(axis.density, n, size), gap) - exact).max())
        except NoDensity:  # the density is zero at all nodes, which are too far out
            return np.inf

    # The step (or the cut-off) trades aliases against the lost tail. The error has one valley with
    # a flat, sometimes rippled floor, so it is scanned before it is refined.
    width = frequency_scale(axis)
    # With more nodes the best step shrinks for a light tail, but hardly for a heavy one.
    finest = -6 - np.log2(max(1.0, n / 16)) if kind == "equispaced" else -6
    sizes = width * 2.0 ** np.arange(finest, 3.01, 0.25) * (1 if kind == "equispaced" else 8)
    for spread in (2**0.2, 2**0.04, 2**0.008):
        best = min(sizes, key=error)
        sizes = best * spread ** np.linspace(-1, 1, 11)
    return make(axis.density, n, best)


MOST_NODES = 512  # per axis: with more, a one-dimensional rule takes seconds to optimise


class AxisRules:
    """Cached one-dimensional rules: each is computed once, however many groups use it."""

    def __init__(self, kinds: Sequence[str], reaches: Floats) -> None:
        self._kinds = kinds  # in order of preference
        self._reaches = reaches
        self._cache: dict[tuple[Any, ...], Rule | NoMoments | NoDensity] = {}
        self._axes: list[Axis] = []  # kept alive, because keys contain their ids

    def __call__(self, axis: Axis, column: int, n: int) -> Rule:
        for kind in self._kinds:
            reach = 0.0 if kind == "gauss" else float(self._reaches[column])
            key = (id(axis), n, kind, reach)
            if key not in self._cache:
                self._axes.append(axis)
                self._cache[key] = self._make(axis, n, kind, reach)
            answer = self._cache[key]
            if isinstance(answer, Rule):
                return answer
            refusal = answer
        raise refusal

    @staticmethod
    def _make(axis: Axis, n: int, kind: str, reach: float) -> Rule | NoMoments | NoDensity:
        try:
            return axis_rule(axis, n, kind=kind, reach=reach)
        except (NoMoments, NoDensity) as refusal:
            return refusal
