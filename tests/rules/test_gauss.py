"""Gauss rules have the moments of their spectrum, or say that there are none."""

from math import gamma

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.rules import gauss

from .axes import AXES, LIGHT


@pytest.mark.parametrize("n", [1, 2, 5, 12, 40])
def test_gauss_of_a_cauchy_kernel_has_the_moments_of_the_laplace_density(n):
    rule = qf.Cauchy(1.0).gauss(n)
    exact, scale = 1.0, float(2 * n) ** 2
    for k in range(1, n):
        exact *= (2 * k - 1) * (2 * k) / scale
        moment = rule.weights @ (rule.nodes[:, 0] / (2 * n)) ** (2 * k)
        # A node's rounding counts 2k times; the discretised density adds its own.
        assert abs(moment / exact - 1) <= (2 * k + 20) * 1e-15


@pytest.mark.parametrize("n", [2, 5, 9])
@pytest.mark.parametrize("name", LIGHT)
def test_gauss_rules_integrate_a_fine_rule_s_polynomials(name, n):
    axis = AXES[name]
    rule, fine = axis.gauss(n), axis.gauss(n + 20)
    scale = np.abs(fine.nodes).max()
    for degree in range(0, 2 * n, 2):
        ours, theirs = (r.weights @ (r.nodes[:, 0] / scale) ** degree for r in (rule, fine))
        assert abs(ours - theirs) <= 1e-12 * theirs


def test_a_product_s_gauss_rule_is_that_of_the_summed_frequencies():
    # exp(-a u^2) exp(-b u^2) is exp(-(a + b) u^2).
    rule = (qf.Gaussian(0.2) * qf.Gaussian(0.3)).groups(1)[0].kernel.axis(0).gauss(7)
    exact = qf.Gaussian(0.5).gauss(7)
    np.testing.assert_allclose(rule.nodes, exact.nodes, atol=1e-13)
    np.testing.assert_allclose(rule.weights, exact.weights, rtol=1e-11)


@pytest.mark.parametrize("kernel", [qf.Laplacian(1.0), qf.Matern(1.5, 1.0, product=True)])
def test_heavy_tails_are_refused_with_what_works(kernel):
    with pytest.raises(ValueError, match=r"equispaced.*Smoothed"):
        kernel.gauss(5)


def test_a_heavy_tailed_density_of_the_user_is_found_out():
    kernel = qf.Spectral(lambda omega: 1 / (np.pi * (1 + omega**2)))
    with pytest.raises(ValueError, match="Smoothed"):
        kernel.axis(0).gauss(5)


def test_tails_are_heavy_where_a_moment_s_mass_is_thousands_of_widths_out():
    """(1 + w^2)^-k has a finite second moment in all of these, and 1e-20 of it far beyond 1e4."""

    def density(k):
        mass = np.sqrt(np.pi) * gamma(k - 0.5) / gamma(k)
        return lambda w: (1 + w**2) ** -k / mass

    for k in (2.2, 2.6, 3.0):  # 1e-20 of the moment is left at 1e14, 1e9 and 5e6
        with pytest.raises(ValueError, match="tail too heavy"):
            gauss.gauss(density(k), 2)
    light = gauss.gauss(density(6.0), 2)
    assert light.nodes[1, 0] ** 2 == pytest.approx(1 / 9, rel=1e-12)  # 1 / (2k - 3)
