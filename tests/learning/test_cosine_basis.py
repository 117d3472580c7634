"""Cosines represent kernels of few columns."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.learning.cosine_basis import CosineBasis, owners, terms


@pytest.mark.parametrize(
    ("kernel", "tolerance"),
    # The mass of the spectrum beyond 12 cosines (3 deviations of a Gaussian), twice, and the kernel
    # at four length scales, the distance of a row from its image at the end of the interval.
    [(qf.Gaussian(), 0.01), (qf.Matern(2.5, product=True), 0.06)],
)
def test_densities_at_the_frequencies_give_the_kernel(kernel, tolerance, rng):
    X = rng.uniform(-1, 1, size=(60, 2)) * [1.0, 5.0]
    basis = CosineBasis.of(X)
    log_inverse = np.log([4.0, 4.0])
    Z = np.concatenate([terms(basis.columns(X), (i,)) for i in range(2)]).T
    D = np.exp(basis.log_densities(kernel.with_lengths(1.0), np.arange(2), log_inverse))
    inside = np.all((basis.low <= X) & (basis.high >= X), axis=1)
    lengths = kernel.with_lengths(np.exp(log_inverse) / basis.half_range)
    for i in range(2):
        own = Z[:, owners([(0,), (1,)]) == i]
        found = (own * D[i]) @ own.T
        exact = lengths.restrict(np.array([i]))(X[:, [i]])
        # The cosines have no constant: both are compared without their row and column means.
        gap = (found - exact)[np.ix_(inside, inside)]
        assert np.abs(_centred(_centred(gap).T)).max() < tolerance


def _centred(matrix):
    return matrix - matrix.mean(axis=0)


@pytest.mark.parametrize("kernel", [qf.Gaussian(), qf.Laplacian(), qf.Cauchy()])
def test_slopes_of_densities_are_their_derivatives(kernel, rng):
    basis, unit = CosineBasis.of(rng.normal(size=(50, 3))), kernel.with_lengths(1.0)
    at, step, columns = np.array([0.3, -0.5, 1.0]), 1e-5, np.arange(3)
    up, down = (basis.log_densities(unit, columns, at + s) for s in (step, -step))
    found = basis.density_slopes(unit, columns, at)
    np.testing.assert_allclose(found, (up - down) / (2 * step), rtol=1e-4, atol=1e-4)


def test_rows_beyond_the_range_count_as_its_end(rng):
    X = rng.normal(size=(500, 1))
    basis = CosineBasis.of(X)
    far, end = basis.columns(np.array([[1e6]])), basis.columns(basis.high[None])
    np.testing.assert_array_equal(far, end)
