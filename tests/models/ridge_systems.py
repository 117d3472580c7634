"""Sums and systems of given features, for the tests of ridge regression."""

import numpy as np

from quadfeat.models.ridge_sums import NormalSums


def summed(Z, Y, weight=None):
    sums = NormalSums(Z.shape[1], Y.shape[1])
    sums.add(Z, Y, weight)
    return sums


def system_of(Z, Y, weight=None, *, intercept=True, signs=None):
    signs = np.ones(Z.shape[1]) if signs is None else signs
    return summed(Z, Y, weight).system(intercept=intercept, signs=signs, copy=True)
