"""The largest products of one factor per axis, in order, by a best-first search."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Indices


class Product(NamedTuple):
    """One product of a group: that of `parent` times factor number `factor` of `axis`.

    `parent` counts products in the order they are yielded; -1 marks the root of a group, which has
    factor 0 on every axis. The axes of a parent come before `axis`.
    """

    value: float
    group: int
    parent: int
    axis: int
    factor: int


def largest_products(
    roots: Sequence[float], drop: Callable[[int, int, int], float]
) -> Iterator[Product]:
    """The products of one factor per axis, of every group, largest first, each exactly once.

    Values are logarithms: `roots[g]` is that of the group's largest product, and
    `drop(g, axis, index)` <= 0 is added by factor `index` in place of factor 0, -inf where there is
    none. It must fall with the index and, for index 1, with the axis. O(log p) per
    product: each adds at most three candidates, none larger than itself.
    """
    heap = [(-value, group, -1, -1, 0) for group, value in enumerate(roots)]
    heapq.heapify(heap)
    values: list[float] = []
    while heap:
        negative, group, parent, axis, index = heapq.heappop(heap)
        yield Product(-negative, group, parent, axis, index)
        values.append(-negative)
        following = [(len(values) - 1, axis + 1, 1)]
        if axis >= 0:
            following.append((parent, axis, index + 1))
        if index == 1:
            following.append((parent, axis + 1, 1))
        for owner, next_axis, next_index in following:
            value = values[owner] + drop(group, next_axis, next_index)
            if value > -np.inf:
                heapq.heappush(heap, (-value, group, owner, next_axis, next_index))


def largest(values: Floats, owner: Indices, p: int) -> Indices:
    """Positions of the p largest values, one of every owner among them where p allows."""
    order = np.argsort(-values, kind="stable")
    firsts = np.unique(owner[order], return_index=True)[1]
    return np.concatenate([order[np.sort(firsts)], np.delete(order, firsts)])[:p]
