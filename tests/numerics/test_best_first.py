"""The largest products, best first."""

from __future__ import annotations

import itertools

import numpy as np

from quadfeat.numerics import best_first


def test_products_come_largest_first_and_none_is_missing():
    rng = np.random.default_rng(0)
    ratios = [np.sort(rng.uniform(0.1, 0.9, size=d))[::-1] for d in (4, 3)]
    roots = [0.0, -0.3]

    def drop(group, axis, factor):
        return factor * np.log(ratios[group][axis]) if axis < len(ratios[group]) else -np.inf

    found = list(itertools.islice(best_first.largest_products(roots, drop), 300))
    brute = [
        roots[g] + float(np.dot(degrees, np.log(ratios[g])))
        for g, d in enumerate((4, 3))
        for degrees in itertools.product(range(45), repeat=d)
        if sum(degrees) < 45
    ]
    np.testing.assert_allclose([f.value for f in found], np.sort(brute)[::-1][:300], atol=1e-12)
    seen = {_degrees(found, i) for i in range(300)}
    assert len(seen) == 300


def _degrees(found, i):
    product, degrees = found[i], []
    while product.axis >= 0:
        degrees.append((product.axis, product.factor))
        product = found[product.parent]
    return found[i].group, tuple(degrees)


# --- the expansion -------------------------------------------------------------------------------
