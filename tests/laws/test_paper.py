"""The paper's Figure 1 as numbers: d = 25, equal complex points, u uniform in |u| <= M."""

import numpy as np
import pytest
from sklearn.base import clone

import quadfeat as qf

D = 25
KERNEL = qf.Gaussian(0.5)  # spectrum N(0, I), as in the paper


def ball(n, radius, rng):
    directions = rng.normal(size=(n, D))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return radius * directions * rng.random((n, 1)) ** (1 / D)


def max_error(features, M, n=3000):
    gaps = ball(n, M, np.random.default_rng(7))
    rule = features.fit(np.zeros((2, D))).rule_
    return np.abs(rule(gaps) - KERNEL.at(gaps)).max()


def random_error(points, M):
    return np.mean(
        [
            max_error(qf.RandomFourier(KERNEL, n_components=2 * points, random_state=s), M)
            for s in range(3)
        ]
    )


@pytest.mark.parametrize("seed", range(3))
def test_figure_1a_polynomially_exact(seed):
    exact = qf.PolynomiallyExact(KERNEL, degree=2, n_components=2000, random_state=seed)
    assert max_error(exact, 0.1) <= random_error(1000, 0.1) / 50
    assert max_error(exact, 4.0) <= 1.4 * random_error(1000, 4.0)
    assert np.count_nonzero(exact.rule_.weights) > 800


def test_figure_1b_sparse_grid():
    sparse = qf.SparseGrid(KERNEL, level=2, weights="signed")
    assert max_error(sparse, 0.1) <= random_error(1351, 0.1) / 5000
    assert max_error(sparse, 0.5) < 1e-3
    assert max_error(sparse, 8.0) > 10 * random_error(1351, 8.0)


@pytest.mark.parametrize("n_points", [3, 5, 8])
@pytest.mark.parametrize("M", [0.5, 2.0, 6.0])
def test_figure_1c_subsampled_grid_is_as_good_as_random(n_points, M):
    ours, theirs = (
        np.mean([max_error(clone(features).set_params(random_state=s), M) for s in range(6)])
        for features in (
            qf.SubsampledGrid(KERNEL, n_components=2000, n_points=n_points),
            qf.RandomFourier(KERNEL, n_components=2000),
        )
    )
    assert 0.8 < ours / theirs < 1.25
