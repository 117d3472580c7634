"""Sums over rows of the terms of subsets."""

import numpy as np

from quadfeat.learning.cosine_basis import terms
from quadfeat.learning.subset_rows import SubsetRows


def test_sums_that_grew_are_those_of_the_training_rows(rng):
    X, Y, weight = rng.normal(size=(80, 4)), rng.normal(size=(80, 2)), rng.uniform(1, 2, size=80)
    rows, subsets = SubsetRows.of(X, Y, weight), [(0,), (2,), (0, 2)]
    validation = rng.permutation(80)[:30]
    some, training = np.delete(np.arange(80), validation), rows.training(validation)
    rows.every([(1,), (2,)])
    training.of([(2,)])
    found = training.of(subsets)
    every = np.concatenate([terms(rows.cosines, subset) for subset in subsets]).T
    w, mean = rows.weight[some], np.average(every[some], axis=0, weights=rows.weight[some])
    Z, target = every[some] - mean, rows.Y[some] - np.average(rows.Y[some], axis=0, weights=w)
    np.testing.assert_allclose(found.gram, (Z * w[:, None]).T @ Z, atol=1e-11)
    np.testing.assert_allclose(found.cross, (Z * w[:, None]).T @ target, atol=1e-11)
    np.testing.assert_allclose(found.targets, w @ target**2, rtol=1e-12)
    assert found.n == 50
    np.testing.assert_allclose(training.left_out(subsets), every[validation] - mean, atol=1e-12)
    coefficients = rng.normal(size=(len(found.gram), 2))
    left = training.residual(subsets, coefficients)[some]
    np.testing.assert_allclose(left, target - Z @ coefficients, atol=1e-11)
