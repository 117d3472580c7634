"""Equispaced and Clenshaw-Curtis rules, and bounds of their error."""

import mpmath
import numpy as np
import pytest

import quadfeat as qf
from quadfeat.rules import choice, gauss, interval

from .axes import AXES


@pytest.mark.parametrize("n", [5, 8, 15, 16, 40])
@pytest.mark.parametrize("name", ["gaussian", "laplacian", "matern", "smoothed"])
def test_equispaced_error_is_within_its_poisson_bound(name, n):
    axis = AXES[name]
    for step in (0.2, 0.5, 1.0):
        for reach in (1.0, 3.0):
            if reach > np.pi / step:
                continue
            seen = choice.sup_error(axis, interval.equispaced(axis.density, n, step), reach)
            assert seen <= interval.equispaced_bound(axis, n, step, reach) + 1e-13


def test_aliases_are_the_whole_error_of_a_long_rule():
    axis, step = qf.Gaussian(0.5), 1.0
    gap = np.linspace(0, 3, 50)
    for n in (41, 40):
        rule = interval.equispaced(axis.density, n, step)
        # The mass of the infinite rule is 1 + its aliases at zero, and was made 1.
        scale = 1 + interval.aliases(axis.profile, np.zeros(1), step, shifted=n % 2 == 0)
        expected = axis.profile(gap) + interval.aliases(axis.profile, gap, step, shifted=n % 2 == 0)
        np.testing.assert_allclose(rule(gap[:, None]), expected / scale, atol=1e-14)


@pytest.mark.parametrize("n", range(2, 12))
def test_clenshaw_curtis_integrates_polynomials_of_a_flat_density(n):
    rule = interval.clenshaw_curtis(np.ones_like, n, 2.0)
    for degree in range(0, n, 2):
        exact = 2.0**degree / (degree + 1)
        assert rule.weights @ rule.nodes[:, 0] ** degree == pytest.approx(exact, rel=1e-13)


@pytest.mark.parametrize("step", [0.5, 1.0, 2.0])
@pytest.mark.parametrize("reach", [0.5, 1.5])
def test_the_bound_of_an_equispaced_rule_holds_every_alias_of_a_slowly_falling_kernel(step, reach):
    """The sum of 1 / (1 + (t + m P)^2) over all m is known, and 2000 of them are not all."""
    axis, n, period = qf.Cauchy(1.0), 401, 2 * np.pi / step

    def both_sides(t):
        a = 2 * np.pi / period
        every = np.pi / period * np.sinh(a) / (np.cosh(a) - np.cos(a * t))
        return every - 1 / (1 + t**2)

    def one_side(t):  # of k(m P - t) over m > 0, by what two sums have in common
        m = np.arange(1, 10**6)
        return (1 / (1 + (m * period - t) ** 2)).sum() + 1 / (period**2 * 10**6)

    assert one_side(reach) + one_side(-reach) == pytest.approx(both_sides(reach), rel=1e-6)
    exact = one_side(reach) + both_sides(0.0) / 2
    kept = step * axis.density(step * np.arange(-200, 201)).sum()
    lost = max(0.0, 1 + both_sides(0.0) - kept) + abs(1 - kept)
    found = interval.equispaced_bound(axis, n, step, reach)
    assert exact + lost - 1e-5 * 2 / period**2 <= found <= (exact + lost) * (1 + 1e-3)
    partial = exact - 2 / (period**2 * 2000)  # what 2000 terms leave out
    assert found > (exact + partial) / 2 + lost


def test_the_bound_of_an_equispaced_rule_has_the_mass_that_was_lost():
    """A long step has no tail, a short one no aliases: then the bound is the tail's, and twice."""
    axis = qf.Gaussian(0.5)
    rule = interval.equispaced(axis.density, 5, 0.2)
    kept = 0.2 * axis.density(0.2 * np.arange(-2, 3)).sum()
    found = interval.equispaced_bound(axis, 5, 0.2, 1.0)
    assert found == pytest.approx(2 * (1 - kept), rel=1e-9)
    assert choice.sup_error(axis, rule, 1.0) <= found
    assert interval.equispaced_bound(axis, 5, 0.2, 2 * np.pi / 0.2) == 2.0


@pytest.mark.parametrize("n", [2, 3, 4, 41])
def test_the_bound_of_an_equispaced_rule_is_aliases_lost_mass_and_what_makes_it_one(n):
    """Aliases of a rule without a node at zero alternate in sign, and its mass is below 1."""
    axis, step, reach = qf.Gaussian(0.5), 2.5, 1.0
    period, m = 2 * np.pi / step, np.arange(1, 40)
    nodes = step * (np.arange(n) - (n - 1) / 2)
    kept = step * axis.density(nodes).sum()
    one_side = axis.profile(m * period - reach).sum() + axis.profile(m * period).sum()
    at_zero = 2 * ((1.0 if n % 2 else -1.0) ** m * axis.profile(m * period)).sum()
    expected = one_side + max(0.0, 1 + at_zero - kept) + abs(1 - kept)
    found = interval.equispaced_bound(axis, n, step, reach)
    assert found == pytest.approx(expected, rel=1e-9)
    assert choice.sup_error(axis, interval.equispaced(axis.density, n, step), reach) <= found


def test_beyond_the_period_of_an_equispaced_rule_nothing_is_promised():
    axis, step = qf.Gaussian(0.5), 1.0
    for reach in (2 * np.pi, 3 * np.pi, 20 * np.pi):
        seen = choice.sup_error(axis, interval.equispaced(axis.density, 41, step), reach)
        assert 0.99 < seen <= interval.equispaced_bound(axis, 41, step, reach) == 2.0


@pytest.mark.parametrize("n", [2, 7, 128, 501])
def test_small_clenshaw_curtis_nodes_keep_their_last_digits(n):
    x = interval.clenshaw_curtis(np.ones_like, n, 1.0).nodes[n - n // 2 :, 0]
    angles = np.arange(n - 1, 0, -2)[::-1]
    with mpmath.workdps(30):
        exact = [mpmath.sin(mpmath.pi * int(j) / (2 * (n - 1))) for j in angles]
        ulps = [abs(found - e) / np.spacing(float(e)) for found, e in zip(x, exact, strict=True)]
    assert max(ulps) <= 3  # an angle of three roundings, its sine, the cut-off


@pytest.mark.parametrize("gamma", [1e-30, 1e-3, 1.0, 1e20])
def test_the_frequency_scale_is_the_inverse_of_the_gap_of_half_the_kernel(gamma):
    """Gaps are tried a factor of sqrt(2) apart."""
    gap = 1 / interval.frequency_scale(qf.Gaussian(gamma))
    assert gap / 2**0.5 <= np.sqrt(np.log(2) / gamma) <= gap


def test_the_frequency_scale_is_that_of_gaps_from_2_to_the_minus_40_to_2_to_the_60():
    assert interval.frequency_scale(qf.Gaussian(1e-150)) == pytest.approx(2.0**-60, rel=1e-9, abs=0)
    assert interval.frequency_scale(qf.Gaussian(1e150)) == 2.0**40


def test_a_number_of_nodes_that_is_none_is_answered_by_a_usual_one():
    for make in (lambda n: interval.equispaced(np.ones_like, n, 1.0), gauss.gauss_hermite):
        with pytest.raises(TypeError, match="n must be a whole number such as 5, got 'a'"):
            make("a")
