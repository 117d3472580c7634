"""Grids that do not depend on the data converge."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.constructions import polynomially_exact


@pytest.mark.parametrize(
    "kernel",
    [
        qf.Gaussian(0.3),
        qf.Gaussian([0.2, 0.3, 0.4]),
        qf.Gaussian(0.2) + 0.5 * qf.Gaussian(0.4),
        qf.Gaussian(0.1) * qf.Gaussian(0.2),
        qf.Anova(qf.Gaussian(0.3), [[0, 1], [1, 2]], weights=[1.0, 3.0]),
        qf.Anova([qf.Gaussian(0.2), qf.Gaussian(0.3), qf.Gaussian(0.4)], [[0, 1], [1, 2]]),
        qf.Convolution((3,), 2, base=qf.Gaussian(0.3)),
    ],
    ids=repr,
)
def test_dense_grids_converge_fast_in_three_dimensions(kernel, rng):
    X = rng.uniform(-1.5, 1.5, size=(60, 3))
    exact = kernel(X)
    assert exact.min() < 0.3 * exact.max()
    errors = [
        np.abs(qf.DenseGrid(kernel, n_points=n).fit(X).approximate_kernel(X) - exact).max()
        for n in (4, 8, 12)
    ]
    assert errors[0] > 10 * errors[1] > 100 * errors[2]
    assert errors[2] < 2e-5 * exact.max()


def test_nonnegative_sparse_grids_err_less_on_the_data_than_signed_ones(rng):
    X = rng.normal(size=(500, 3))
    kernel = qf.Gaussian(0.5)
    exact = kernel(X[:100])
    errors = {
        weights: np.abs(
            qf.SparseGrid(kernel, level=3, weights=weights).fit(X).approximate_kernel(X[:100])
            - exact
        ).max()
        for weights in ("signed", "nonnegative")
    }
    assert errors["nonnegative"] < errors["signed"] / 3


def test_a_degree_that_no_width_reaches_is_answered_with_a_smaller_one(rng, monkeypatch):
    X, degree = rng.normal(size=(30, 4)), 12
    features = qf.PolynomiallyExact(
        qf.Gaussian(0.2), n_components=40, degree=degree, random_state=0
    )
    for enough, advice in ((None, "use a smaller degree"), (500, "n_components=1000 would do")):
        monkeypatch.setattr(
            polynomially_exact, "smallest_exact_count", lambda *given, n=enough, **more: n
        )
        with pytest.warns(UserWarning, match=f"the nearest one is exact to degree .*; {advice}"):
            features.fit(X)
