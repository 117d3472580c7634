"""A ridge regression with a prior variance per coefficient."""

import numpy as np
import pytest

from quadfeat.numerics.diagonal_evidence import Ridge, Squares


@pytest.fixture
def squares(rng):
    Z, Y = rng.normal(size=(50, 6)), rng.normal(size=(50, 2))
    Z, Y = Z - Z.mean(axis=0), Y - Y.mean(axis=0)
    return Squares(Z.T @ Z, Z.T @ Y, (Y**2).sum(axis=0), 50.0)


def test_coefficients_solve_the_penalised_equations(squares, rng):
    variances = np.exp(rng.normal(size=6))
    fit, system = Ridge(squares, variances), squares.gram + np.diag(1 / variances)
    np.testing.assert_allclose(system @ fit.coefficients, squares.cross, atol=1e-12)
    np.testing.assert_allclose(fit.covariance() @ system, np.eye(6), atol=1e-12)


def test_slopes_are_the_derivatives_by_the_log_variances(squares, rng):
    at, step = rng.normal(size=6), 1e-5
    ends = [
        [Ridge(squares, np.exp(at + s * e)).evidence().value for s in (step, -step)]
        for e in np.eye(6)
    ]
    differences = [(up - down) / (2 * step) for up, down in ends]
    np.testing.assert_allclose(Ridge(squares, np.exp(at)).evidence().slopes, differences, rtol=1e-6)


def test_a_term_without_variance_is_no_term(squares):
    kept = np.arange(4)
    fewer = Ridge(squares.at(kept), np.ones(4)).evidence().value
    assert Ridge(squares, np.array([1, 1, 1, 1, 1e-12, 1e-12])).evidence().value == pytest.approx(
        fewer, rel=1e-9
    )
