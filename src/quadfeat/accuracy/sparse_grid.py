"""The bound of a sparse (Smolyak) grid, from those of all lower levels on fewer axes.

Induction over the axes: the error is a sum of products of level differences on the new axis and
errors of lower levels on the others, each enclosed with its sign on cells of |u|^2.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from math import inf
from typing import Any

import numpy as np

from .._typing import Floats
from ..rules.rule import Axis, axis_key
from .axis_cells import AxisCells, square_edges
from .bounds import Sparse, padded, rule_key
from .region import Region


def smolyak_bound(
    axes: Sequence[Axis], grid: Sparse, region: Region, step: float, cells: int
) -> Floats:
    """The bound of a sparse grid, (cells,), for |u|^2 up to each multiple of `step`.

    With D_m = G_m - G_(m-1) on the new axis and S_a the sparse grid of level a on the others,
    k k' - sum_(m<=a) D_m S_(a-m) = sum_(m<=a) D_m (k' - S_(a-m)) + (k - G_a) k'. Signs are kept:
    without them the large weights of both signs would not cancel.
    """
    levels = range(grid.level + 1)
    known: dict[Any, tuple[AxisCells, Any]] = {}
    high = [np.zeros(1) for _ in levels]
    low = [np.zeros(1) for _ in levels]
    top, bottom = np.ones(1), np.ones(1)
    for axis, rules, width in zip(axes, grid.levels, region.box, strict=True):
        key = axis_key(axis), tuple(map(rule_key, rules)), width
        if key not in known:
            enclosed = AxisCells(axis, square_edges(width, step, cells))
            steps = [enclosed.difference(rules[m], rules[m - 1] if m else None) for m in levels]
            known[key] = (
                enclosed,
                (steps, [enclosed.error(rule) for rule in rules], enclosed.kernel()),
            )
        enclosed, (steps, errors, (least, largest)) = known[key]
        size = min(cells, enclosed.size + len(top))
        new_high, new_low = np.zeros((len(levels), size)), np.zeros((len(levels), size))
        new_top, new_bottom = np.full(size, -inf), np.full(size, inf)
        for i in range(min(size, enclosed.size)):
            m_cells = min(len(top), size - i)
            here, part = slice(i, i + m_cells), slice(m_cells)
            k_top = np.maximum(np.abs(top[part]), np.abs(bottom[part]))
            for a in levels:
                plus = max(errors[a][1][i], 0.0) * k_top
                minus = max(-errors[a][0][i], 0.0) * k_top
                for m in range(a + 1):
                    up, down = max(steps[m][1][i], 0.0), max(-steps[m][0][i], 0.0)
                    rest_high, rest_low = high[a - m][part], low[a - m][part]
                    plus = plus + np.maximum(up * rest_high, down * rest_low)
                    minus = minus + np.maximum(up * rest_low, down * rest_high)
                np.maximum(new_high[a, here], plus, out=new_high[a, here])
                np.maximum(new_low[a, here], minus, out=new_low[a, here])
            ends = np.stack(
                [x * y[part] for x, y in product((least[i], largest[i]), (bottom, top))]
            )
            np.maximum(new_top[here], ends.max(axis=0), out=new_top[here])
            np.minimum(new_bottom[here], ends.min(axis=0), out=new_bottom[here])
        for array in (new_high, new_low, new_top):
            array[..., 1:] = np.maximum(array[..., 1:], array[..., :-1].copy())
        new_bottom[1:] = np.minimum(new_bottom[1:], new_bottom[:-1].copy())
        high, low, top, bottom = list(new_high), list(new_low), new_top, new_bottom
    return padded(np.maximum(high[-1], low[-1]), cells)
