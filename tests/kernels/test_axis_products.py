"""Sums of products of one-dimensional kernels."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.kernels.base import Kernel

BASES = [
    qf.Gaussian(np.array([0.1, 0.5, 2.0, 0.3])),
    qf.Laplacian(0.7),
    qf.Matern(1.5, 0.4, product=True),
    qf.Matern(1.5, 0.4),  # which is no product over axes
]


@pytest.mark.parametrize("base", BASES, ids=repr)
@pytest.mark.parametrize("subsets", [[[0]], [[2], [0, 3]], [[3, 1], [1], [0, 1, 3], [2]]])
def test_the_gram_of_anova_is_the_sum_of_the_grams_of_its_subsets(base, subsets, rng):
    X, Y = 2 * rng.normal(size=(70, 4)), rng.normal(size=(300, 4))  # more than one block
    kernel = qf.Anova(base, subsets, weights=list(range(1, len(subsets) + 1))).resolve(X)
    slow = Kernel.gram(kernel, X, Y)
    # A few roundings of numbers up to the sum of the weights, and of distances up to 10^2.
    np.testing.assert_allclose(kernel.gram(X, Y), slow, atol=1e-12)
    assert kernel.gram(X[:0], Y).shape == (0, 300)
