"""Rows that several files of this room fit."""

import numpy as np
import pytest


@pytest.fixture
def waves(rng):
    X = rng.normal(size=(300, 3))
    return X, np.sin(2 * X).sum(axis=1) + 0.1 * rng.normal(size=300)


@pytest.fixture
def plane(rng):
    X = rng.normal(size=(80, 2))
    return X, np.sin(2 * X[:, 0]) + X[:, 1]


@pytest.fixture(params=[1, 2, 7, 40])
def problem(request, rng):
    """Features of a mean far from 0, two targets, weights that count rows."""
    n, p = 60, request.param
    Z = rng.normal(size=(n, p)) @ rng.normal(size=(p, p)) / p**0.5 + 1.0
    return Z, rng.normal(size=(n, 2)) + 3.0, rng.integers(1, 4, size=n).astype(float)
