"""Recurrence coefficients of finely discretised densities against exact ones."""

from fractions import Fraction
from math import factorial

import numpy as np
import pytest

from quadfeat._typing import Floats
from quadfeat.numerics.gauss import stieltjes, symmetric_gauss


def fine_half_line(edge: float, n_panels: int) -> tuple[Floats, Floats]:
    """Composite 20-point Gauss-Legendre rule on [0, edge]."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = edge / n_panels / 2
    centres = half * (2 * np.arange(n_panels) + 1)
    return (centres[:, None] + half * nodes).ravel(), np.tile(half * weights, n_panels)


def laplace(n: int) -> Floats:
    """`stieltjes` for the density exp(-|x|) / 2, cut where the n-th polynomial is spent."""
    nodes, weights = fine_half_line(700.0, 200)
    return stieltjes(nodes, weights * np.exp(-nodes), n)


def chebyshev(moments: list[int]) -> list[Fraction]:
    """beta_1, ..., beta_{n-1} from the even moments m_0, ..., m_{2n-2}, in exact arithmetic."""
    n = len(moments)
    before = [Fraction(0)] * (2 * n)
    row = [Fraction(m) for moment in moments for m in (moment, 0)]
    betas = [Fraction(0)]
    for k in range(1, n):
        # row[l] is the integral of p_{k-1} x^l; it starts at l = k - 1.
        before, row = row, [row[i + 1] - betas[-1] * before[i] for i in range(2 * n - k)]
        betas.append(row[k] / before[k - 1])
    return betas[1:]


def test_normal_density_has_the_integers():
    nodes, weights = fine_half_line(37.0, 200)
    beta = stieltjes(nodes, weights * np.exp(-(nodes**2) / 2), 128)
    np.testing.assert_allclose(beta, np.arange(1, 128), rtol=1e-14)


def test_laplace_density_has_its_exact_coefficients():
    exact = chebyshev([factorial(2 * k) for k in range(128)])
    np.testing.assert_allclose(laplace(128), [float(b) for b in exact], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 9, 64])
def test_laplace_gauss_rule_has_all_its_moments(n):
    nodes, weights = symmetric_gauss(laplace(n), n)
    for k in range(n):
        moment = weights @ (nodes / (2 * n)) ** (2 * k)
        exact = float(Fraction(factorial(2 * k), (2 * n) ** (2 * k)))
        # A node's relative error counts 2k times.
        assert abs(moment / exact - 1) <= (2 * k + 10) * 1e-15


def test_as_many_nodes_as_the_measure_return_the_measure():
    fine, mass = np.array([0.0, 0.3, 1.0, 1.5, 4.0]), np.array([0.3, 0.1, 0.2, 0.25, 0.15])
    nodes, weights = symmetric_gauss(stieltjes(fine, mass, 9), 9)
    np.testing.assert_allclose(nodes[4:], fine, rtol=1e-14)
    np.testing.assert_allclose(2 * weights[5:], mass[1:], rtol=1e-13)
