"""The choice among one-dimensional rules."""

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


# --- the choice among them --------------------------------------------------------------------
def sup_error(axis: Axis, rule: Rule, reach: float) -> float:
    """The largest |k - rule| seen on a fine mesh of |gap| <= reach."""
    gap = _mesh(len(rule), reach)
    return float(np.abs(rule(gap[:, None]) - axis.profile(gap)).max())


def _mesh(n: int, reach: float) -> Floats:
    """Gaps dense enough for the wiggles of an n-point rule's error."""
    return np.linspace(0.0, reach, 201 + 4 * n)


def axis_rule(axis: Axis, n: int, *, kind: str = "auto", reach: float = 1.0) -> Rule:
    """The `n`-point rule of a kind that errs least over |gap| <= reach; "auto" tries every kind."""
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
            return float(np.abs(make(axis.density, n, size)(gap[:, None]) - exact).max())
        except NoDensity:  # all nodes are so far out that the density is zero there
            return np.inf

    # The step (or the cut-off) trades aliases against lost tail; the trade-off has one valley,
    # but a flat and sometimes rippled floor, so it is scanned before it is refined.
    width = frequency_scale(axis)
    # With more nodes the step of a light tail shrinks; that of a heavy one hardly does.
    finest = -6 - np.log2(max(1.0, n / 16)) if kind == "equispaced" else -6
    sizes = width * 2.0 ** np.arange(finest, 3.01, 0.25) * (1 if kind == "equispaced" else 8)
    for spread in (2**0.2, 2**0.04, 2**0.008):
        best = min(sizes, key=error)
        sizes = best * spread ** np.linspace(-1, 1, 11)
    return make(axis.density, n, best)


MOST_NODES = 512  # per axis: beyond, one-dimensional rules take seconds to tune


class AxisRules:
    """One-dimensional rules, each made once however many groups ask for it."""

    def __init__(self, kinds: Sequence[str], reaches: Floats) -> None:
        self._kinds = kinds  # in order of preference
        self._reaches = reaches
        self._made: dict[tuple[Any, ...], Rule | NoMoments | NoDensity] = {}
        self._axes: list[Axis] = []  # keeps them alive, so that their ids stay theirs

    def __call__(self, axis: Axis, column: int, n: int) -> Rule:
        for kind in self._kinds:
            reach = 0.0 if kind == "gauss" else float(self._reaches[column])
            key = (id(axis), n, kind, reach)
            if key not in self._made:
                self._axes.append(axis)
                self._made[key] = self._make(axis, n, kind, reach)
            made = self._made[key]
            if isinstance(made, Rule):
                return made
            refusal = made
        raise refusal

    @staticmethod
    def _make(axis: Axis, n: int, kind: str, reach: float) -> Rule | NoMoments | NoDensity:
        try:
            return axis_rule(axis, n, kind=kind, reach=reach)
        except (NoMoments, NoDensity) as refusal:
            return refusal
