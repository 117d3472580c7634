"""The largest products of one factor per axis, found best-first without forming the others."""

from __future__ import annotations

from collections.abc import Sequence
from heapq import heapify, heappop, heappush, heapreplace
from typing import NamedTuple

import numpy as np

from .._typing import Floats, Indices

_NONE = -float("inf")


class Products(NamedTuple):
    """Products in falling order, each as its parent's with one more factor; arrays (n,).

    Product i of group `group[i]` is that of product `parent[i]`, whose axes all come before
    `axis[i]`, with factor number `factor[i]` on that axis instead of number 0. A group's largest
    product takes factor 0 on every axis: its parent and its axis are -1. `log` is the logarithm.
    """

    log: Floats
    group: Indices
    parent: Indices
    axis: Indices
    factor: Indices


def largest_products(roots: Sequence[float], falls: Sequence[Floats], count: int) -> Products:
    """The `count` largest products of one factor per axis, over all groups; fewer if there are not
    so many.

    Equal products are ordered by group, then parent, axis and factor. O(log count) each: a product
    opens at most three more, none larger than itself.

    Parameters
    ----------
    roots : (groups,)
        The logarithm of each group's largest product, which takes factor 0 on every axis.
    falls : (axes,) for every group, or (axes, factors) for every group
        What taking another factor than number 0 adds to the logarithm, never more than 0. For
        tables, `falls[g][axis, k - 1]` is for factor k, -inf where there is none. For geometric
        sequences, `falls[g][axis]` is for factor 1, and factor k adds k times as much, for all k.
        Must not rise along the factors, nor, for factor 1, along the axes.
    count : int
        How many products.

    Examples
    --------
    >>> found = largest_products([0.0], [np.log([0.5, 0.1])], 4)
    >>> np.exp(found.log).round(3)
    array([1.   , 0.5  , 0.25 , 0.125])
    """
    geometric = all(fall.ndim == 1 for fall in falls)
    # Plain lists: one number of an array takes several times as long to read.
    tables = [fall.tolist() for fall in falls]
    firsts = [[*(fall if geometric else fall[:, 0]).tolist(), _NONE] for fall in falls]
    heap = [(-log, group, -1, -1, 0) for group, log in enumerate(roots)]
    heapify(heap)
    found: list[tuple[float, int, int, int, int]] = []
    while heap and len(found) < count:
        # A negative logarithm, so that the heap's minimum is the largest product.
        product = negative, group, parent, axis, factor = heap[0]
        first = firsts[group]
        following = axis + 1
        fall = first[following]
        if fall > _NONE:
            heapreplace(heap, (-(fall - negative), group, len(found), following, 1))
            if factor == 1:
                sibling = fall - found[parent][0]
                heappush(heap, (-sibling, group, parent, following, 1))
        else:
            heappop(heap)
        found.append(product)
        if axis >= 0:
            if geometric:
                fall = (factor + 1) * first[axis]
            else:
                row = tables[group][axis]
                fall = row[factor] if factor < len(row) else _NONE
            if fall > _NONE:
                larger = fall - found[parent][0]
                heappush(heap, (-larger, group, parent, axis, factor + 1))
    logs, *places = zip(*found, strict=True) if found else ((),) * 5
    return Products(-np.array(logs), *(np.array(each, dtype=np.intp) for each in places))


def largest(values: Floats, owner: Indices, p: int) -> Indices:
    """Positions of the p largest values, at least one of every owner if p allows."""
    order = np.argsort(-values, kind="stable")
    firsts = np.unique(owner[order], return_index=True)[1]
    return np.concatenate([order[np.sort(firsts)], np.delete(order, firsts)])[:p]
