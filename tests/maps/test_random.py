"""Random maps converge at their rates."""

import numpy as np
import pytest

import quadfeat as qf


def test_maps_converge_to_every_kernel_they_accept(kernel_of, rng):
    """At 4000 columns each map is within its own rate of the exact kernel."""
    d = 3
    X = rng.normal(size=(60, d))
    kernel = kernel_of(d)
    exact, at_zero = kernel(X), kernel.at_zero(d)
    for fitted, tolerance in (
        # Error of n random cosines is at most 5 / sqrt(n / groups) here, five standard errors.
        (qf.RandomFourier(kernel, n_components=4000, random_state=0), 0.25),
        (qf.QuasiRandomFourier(kernel, n_components=4000, random_state=0), 0.15),
    ):
        error = np.abs(fitted.fit(X).approximate_kernel(X) - exact).max() / at_zero
        assert error < tolerance


@pytest.mark.parametrize("structured", [False, True])
@pytest.mark.parametrize("d", [2, 3, 5, 8, 16, 17, 33])
def test_orthogonal_features_converge_in_every_dimension(structured, d, rng):
    X = rng.normal(size=(30, d))
    kernel, pairs = qf.Gaussian(1 / d), 32_768
    features = qf.OrthogonalFourier(
        kernel, n_components=2 * pairs, structured=structured, random_state=0
    )
    error = features.fit(X).approximate_kernel(X) - kernel(X)
    # A cosine varies by at most 1/2 on average over pairs: twice what is left of that.
    assert np.mean(error**2) < 1.0 / pairs
