"""Sums over rows of the terms of subsets."""

import numpy as np

from quadfeat.learning.cosine_basis import terms
from quadfeat.learning.subset_rows import SubsetRows


def test_sums_that_grew_are_those_made_at_once(rng):
    X, Y, weight = rng.normal(size=(80, 4)), rng.normal(size=(80, 2)), rng.uniform(1, 2, size=80)
    rows = SubsetRows.of(X, Y, weight)
    some, subsets = np.arange(50), [(0,), (2,), (0, 2)]
    sums = rows.some(some)
    sums.of([(2,)])
    found = sums.of(subsets)
    Z, w = terms(rows.cosines, subsets)[some], rows.weight[some]
    Z = Z - np.average(Z, axis=0, weights=w)
    target = rows.Y[some] - np.average(rows.Y[some], axis=0, weights=w)
    np.testing.assert_allclose(found.gram, (Z * w[:, None]).T @ Z, atol=1e-11)
    np.testing.assert_allclose(found.cross, (Z * w[:, None]).T @ target, atol=1e-11)
    np.testing.assert_allclose(found.targets, w @ target**2, rtol=1e-12)
    coefficients = rng.normal(size=(len(found.gram), 2))
    left = target - Z @ coefficients
    np.testing.assert_allclose(sums.residual(subsets, coefficients), left, atol=1e-11)
