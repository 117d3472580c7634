"""Rows that several files of this room fit."""

import numpy as np
import pytest


@pytest.fixture
def waves(rng):
    X = rng.normal(size=(300, 3))
    return X, np.sin(2 * X).sum(axis=1) + 0.1 * rng.normal(size=300)
