"""The screen passes subsets that matter, and hardly any other."""

import numpy as np
import pytest

from quadfeat.learning.screen import rank_cosines, screen


def passed(X, y, size):
    residual = (y - y.mean())[:, None]
    return [s for s, _ in screen(rank_cosines(X), residual, np.ones(len(X)), size, ())]


@pytest.mark.parametrize("columns", [(3,), (1, 4), (0, 2, 5)])
def test_a_product_of_columns_passes_first(columns, rng):
    X = rng.uniform(-1, 1, size=(3000, 8))
    y = np.prod(X[:, list(columns)], axis=1)
    assert passed(X, y / y.std() + rng.normal(size=3000), len(columns))[0] == columns


def test_noise_passes_as_rarely_as_promised(rng):
    counts = {1: 0, 2: 0}
    for _ in range(40):
        X, y = rng.normal(size=(400, 12)), rng.standard_t(5, size=400)
        for size in counts:
            counts[size] += len(passed(X, y, size))
    # On average half a main effect and a tenth of a pair: Poisson counts of 20 and 4.
    assert counts[1] < 20 + 4 * np.sqrt(20)
    assert counts[2] < 4 + 4 * np.sqrt(4)


def test_only_the_order_of_a_column_matters(rng):
    X = rng.normal(size=(200, 3))
    np.testing.assert_array_equal(rank_cosines(X), rank_cosines(np.exp(3 * X)))


def test_a_constant_column_has_no_functions(rng):
    assert not rank_cosines(np.ones((20, 1))).any()
