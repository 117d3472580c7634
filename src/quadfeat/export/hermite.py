"""Hermite functions of Mercer expansions, as formulas; `_engine.reference` defines them."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._engine.plans import Expansion
from .._typing import Floats, Integers
from .graph import Value, joined

_SHRINK = 2.0**-40
_NEGLIGIBLE = 1e-17  # negligible for functions of at most about 1
_SMALLEST = 80.0  # exp(-80) is a normal number in single precision


def hermite_tables(t: Value, expansion: Expansion) -> tuple[Value, Integers]:
    """All tables side by side, and the column of each (direction, degree), (m, largest size)."""
    sizes = expansion.sizes
    place = np.full((len(sizes), int(sizes.max())), -1, dtype=np.int64)
    parts = _functions(t.take(np.zeros(1, dtype=np.int64)), expansion)
    place[0, : sizes[0]] = np.arange(sizes[0])
    stop = int(sizes[0])
    # The other directions advance together; the longest come first, so that the remaining ones are
    # a prefix.
    others = 1 + np.argsort(-sizes[1:], kind="stable")
    if len(others):
        limit = np.sqrt(0.9 * np.log(float(np.finfo(np.float32).max)) / expansion.envelope[others])
        limit = np.minimum(limit, 1e18)
        s = np.minimum(np.maximum(t.take(others), -limit), limit)
        previous, current = s * 0.0, s * 0.0 + 1.0
        for k in range(int(sizes[others].max())):
            count = int((sizes[others] > k).sum())
            if k:
                first = np.arange(count)
                rise, fall = _recurrence(expansion.ratio[others[:count]], k - 1)
                s, previous, current = (v.take(first) for v in (s, previous, current))
                previous, current = current, s * current * rise - previous * fall
            parts.append(current)
            place[others[:count], k] = np.arange(stop, stop := stop + count)
    return joined(parts), place


def _functions(t: Any, expansion: Expansion) -> list[Value]:
    """q_0 = exp(-envelope t^2), q_1, ...: the table of direction 0, columns (n, 1)."""
    size, ratio, envelope = int(expansion.sizes[0]), expansion.ratio[0], expansion.envelope[0]
    far = float(np.sqrt(_SMALLEST / envelope)) if envelope > 0 else np.inf
    plain = _is_negligible_beyond(far, size, float(ratio), float(envelope))
    if plain:  # the polynomials fit the range of numbers up to where all functions are 0
        t = np.minimum(np.maximum(t, -far), far)
    exponent = t * t * -envelope
    factor = np.exp(exponent)
    t = t if plain else np.minimum(np.maximum(t, -(2.0**40)), 2.0**40)
    previous, current = t * 0.0, t * 0.0 + 1.0
    table = [factor]
    for k in range(size - 1):
        rise, fall = _recurrence(ratio, k)
        previous, current = current, t * current * rise - previous * fall
        if not plain:  # where the polynomial grows large, 2^40 moves into the exponent
            large = np.abs(current) > 1 / _SHRINK
            previous, current = (
                (value * _SHRINK).when(large, value) for value in (previous, current)
            )
            exponent = (exponent - np.log(_SHRINK)).when(large, exponent)
            factor = np.exp(exponent)
        table.append(current * factor)
    return table


def _recurrence(ratio: Floats | float, k: int) -> tuple[Floats, Floats]:
    """q_{k+1} = rise t q_k - fall q_{k-1}."""
    return np.sqrt(2 * ratio / (k + 1)), np.asarray(ratio * np.sqrt(k / (k + 1)))


def _is_negligible_beyond(far: float, size: int, ratio: float, envelope: float) -> bool:
    """Whether |q_k(t)| is below rounding for all k < size and |t| >= far."""
    if not np.isfinite(far):
        return size == 1
    t = far * np.linspace(1.0, 3.0, 200)
    previous, current, largest = np.zeros_like(t), np.ones_like(t), np.zeros_like(t)
    scale = -envelope * t * t  # log of the factor of `current`
    for k in range(size - 1):
        rise, fall = _recurrence(ratio, k)
        previous, current = current, rise * t * current - fall * previous
        large = np.abs(current) > 1 / _SHRINK
        previous[large] *= _SHRINK
        current[large] *= _SHRINK
        scale[large] -= np.log(_SHRINK)
        largest = np.maximum(largest, np.abs(current) * np.exp(scale))
    return bool((largest < _NEGLIGIBLE).all())
