"""Products come largest first, none is missing, and ties have one order."""

import heapq
import itertools

import numpy as np
import pytest

from quadfeat.numerics import best_first
from quadfeat.numerics.best_first import largest_products


def slow_products(roots, falls, count):
    """The same products by the definition: a heap, and the fall of each factor looked up."""

    def fall(group, axis, factor):
        own = falls[group]
        if axis >= len(own):
            return -np.inf
        if own.ndim == 1:
            return factor * own[axis]
        return own[axis, factor - 1] if factor <= own.shape[1] else -np.inf

    heap = [(-log, group, -1, -1, 0) for group, log in enumerate(roots)]
    heapq.heapify(heap)
    found = []
    while heap and len(found) < count:
        negative, group, parent, axis, factor = heapq.heappop(heap)
        found.append((-negative, group, parent, axis, factor))
        following = [(len(found) - 1, axis + 1, 1)]
        if axis >= 0:
            following.append((parent, axis, factor + 1))
        if factor == 1:
            following.append((parent, axis + 1, 1))
        for owner, next_axis, next_factor in following:
            log = found[owner][0] + fall(group, next_axis, next_factor)
            if log > -np.inf:
                heapq.heappush(heap, (-log, group, owner, next_axis, next_factor))
    return [np.array(column) for column in zip(*found, strict=True)]


def factors_of(found, i):
    """The group of product i, and its factors other than number 0."""
    group, factors = found.group[i], []
    while found.axis[i] >= 0:
        factors.append((found.axis[i], found.factor[i]))
        i = found.parent[i]
    return group, tuple(factors)


def test_products_come_largest_first_and_none_is_missing():
    rng = np.random.default_rng(0)
    falls = [np.log(np.sort(rng.uniform(0.1, 0.9, size=d))[::-1]) for d in (4, 3)]
    roots = [0.0, -0.3]
    found = largest_products(roots, falls, 300)
    brute = [
        roots[g] + float(np.dot(degrees, falls[g]))
        for g, d in enumerate((4, 3))
        for degrees in itertools.product(range(45), repeat=d)
        if sum(degrees) < 45
    ]
    np.testing.assert_allclose(found.log, np.sort(brute)[::-1][:300], atol=1e-12)
    assert len({factors_of(found, i) for i in range(300)}) == 300


def test_a_table_has_as_many_products_as_it_has_choices():
    falls = np.array([[-1.0, -2.0], [-3.0, -np.inf]])
    found = largest_products([0.0], [falls], 100)
    np.testing.assert_array_equal(found.log, [0.0, -1.0, -2.0, -3.0, -4.0, -5.0])


def test_no_axis_leaves_one_product_of_a_group():
    found = largest_products([-0.5, 0.0], [np.empty((0, 1))] * 2, 10)
    np.testing.assert_array_equal(found.log, [0.0, -0.5])
    np.testing.assert_array_equal(found.group, [1, 0])


@pytest.mark.parametrize("geometric", [True, False])
@pytest.mark.parametrize("seed", range(20))
def test_order_is_that_of_the_definition_even_where_products_are_equal(seed, geometric):
    rng = np.random.default_rng(seed)
    falls = []
    for _ in range(rng.integers(1, 4)):
        d = rng.integers(1, 6)
        if geometric:
            own = -np.sort(rng.choice([1e-17, 0.5, 1.0, 2.0, np.inf], size=d))
        else:
            own = -np.cumsum(rng.integers(0, 3, size=(d, 4)) * 0.1, axis=1)
            own[:, 3] = np.where(rng.uniform(size=d) < 0.5, -np.inf, own[:, 3])
            own = own[np.argsort(-own[:, 0], kind="stable")]
        falls.append(own)
    roots = rng.choice([0.0, -0.3, -1.0], size=len(falls)).tolist()
    found = largest_products(roots, falls, 200)
    for ours, slow in zip(found, slow_products(roots, falls, 200), strict=True):
        np.testing.assert_array_equal(ours, slow)


def test_every_owner_is_among_the_largest_where_there_is_room():
    values, owner = np.array([5.0, 4.0, 3.0, 1.0]), np.array([0, 0, 0, 1])
    assert set(best_first.largest(values, owner, 2)) == {0, 3}
    assert set(best_first.largest(values, owner, 1)) == {0}
