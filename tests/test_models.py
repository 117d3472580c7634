"""Laws of the models: scikit-learn's own, the dense textbook formulas, blocks and batches."""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import quadfeat as qf

SMALL = qf.HermiteMercer(n_components=16)


@parametrize_with_checks(
    [
        qf.KernelRegressor(SMALL),
        qf.KernelClassifier(SMALL),
        qf.KernelClassifier(SMALL, loss="squared_hinge"),
        qf.KernelClassifier(SMALL, loss="logistic"),
    ]
)
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)
