"""Laws of one-dimensional rules."""

from math import gamma

import numpy as np
import pytest

import quadfeat as qf
from quadfeat._errors import NoMoments
from quadfeat.rules import choice, gauss, interval

AXES = {
    "gaussian": qf.Gaussian(0.5),
    "cauchy": qf.Cauchy(1.0),
    "laplacian": qf.Laplacian(1.0),
    "matern": qf.Matern(1.5, 0.5, product=True),
    "smoothed": qf.Smoothed(qf.Laplacian(1.0), 0.5).axis(0),
    "spectral": qf.Spectral(lambda omega: np.exp(-(np.abs(omega) ** 3)) / (2 * gamma(4 / 3))).axis(
        0
    ),
    "product": (qf.Gaussian(0.1) * qf.Cauchy(0.2)).groups(1)[0].kernel.axis(0),
}
LIGHT = [name for name, axis in AXES.items() if np.isinf(axis.moments)]


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 16, 33])
@pytest.mark.parametrize("kind", choice.KINDS)
@pytest.mark.parametrize("name", AXES)
def test_rules_mirror_to_the_last_bit_and_have_mass_one(name, kind, n):
    if kind == "gauss" and name not in LIGHT:
        return
    rule = choice.axis_rule(AXES[name], n, kind=kind, reach=2.0)
    assert rule.nodes.shape == (n, 1)
    assert np.array_equal(rule.nodes, -rule.nodes[::-1])
    assert np.array_equal(rule.weights, rule.weights[::-1])
    assert np.all(rule.weights >= 0)
    assert abs(rule.weights.sum() - 1) <= 1e-14
    if n % 2:
        assert rule.nodes[n // 2, 0] == 0.0


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


@pytest.mark.parametrize(("reach", "winner"), [(1.0, "gauss"), (6.0, "equispaced")])
def test_auto_takes_gauss_for_small_reaches_and_equispaced_for_large(reach, winner):
    axis = qf.Gaussian(0.5)
    auto = choice.axis_rule(axis, 12, reach=reach)
    named = choice.axis_rule(axis, 12, kind=winner, reach=reach)
    assert np.array_equal(auto.nodes, named.nodes)


def test_only_missing_moments_make_way_for_the_next_rule():
    make = choice.AxisRules(("gauss", "equispaced"), np.ones(1))
    with pytest.raises(NoMoments):
        qf.Laplacian(1.0).gauss(5)
    assert len(make(qf.Laplacian(1.0), 0, 5)) == 5

    class Broken(qf.Laplacian):
        def gauss(self, n):
            raise ValueError("a bug")

    with pytest.raises(ValueError, match="a bug"):
        make(Broken(1.0), 0, 5)


@pytest.mark.parametrize("width", [0.25, 0.5])
@pytest.mark.parametrize("base", [qf.Laplacian(1.0), qf.Matern(1.5, 0.5, product=True)])
def test_smoothed_kernels_reach_1e_6(base, width):
    axis = qf.Smoothed(base, width).axis(0)
    assert choice.sup_error(axis, choice.axis_rule(axis, 96, reach=3.0), 3.0) < 1e-6


@pytest.mark.parametrize("base", [qf.Laplacian(1.0), qf.Matern(1.5, 0.5, product=True)])
def test_smoothed_kernels_reach_1e_6_on_two_axes(base, rng):
    kernel = qf.Smoothed(base, 0.25)
    grid = qf.DenseGrid(kernel, n_points=80).fit([[0.0, 0.0], [3.0, 3.0]])
    gaps = rng.uniform(-3, 3, size=(200, 2))
    assert np.abs(grid.rule_(gaps) - kernel.at(gaps)).max() < 1e-6


def test_what_smoothing_changes_shrinks_with_its_width():
    gaps = [qf.Smoothed(qf.Laplacian(1.0), w).introduced_error(3.0) for w in (0.5, 0.25, 0.05)]
    assert gaps[0] > gaps[1] > gaps[2] > 0


def test_a_rule_needs_matching_shapes():
    with pytest.raises(ValueError, match=r"nodes \(n, d\)"):
        qf.Rule(np.zeros(3), np.zeros(3))


def test_twice_the_nodes_nearly_halve_the_error_of_a_heavy_tail():
    """The tail beyond n nodes falls like 1 / n; the step that balances it only like 1 / log n."""
    kernel = qf.Laplacian(0.4)
    few, many = (
        choice.sup_error(kernel, choice.axis_rule(kernel, n, kind="equispaced", reach=2.0), 2.0)
        for n in (128, 256)
    )
    assert many <= 0.5 * (np.log(256) / np.log(128)) * 1.1 * few


@pytest.mark.parametrize("n", range(2, 12))
def test_clenshaw_curtis_integrates_polynomials_of_a_flat_density(n):
    rule = interval.clenshaw_curtis(np.ones_like, n, 2.0)
    for degree in range(0, n, 2):
        exact = 2.0**degree / (degree + 1)
        assert rule.weights @ rule.nodes[:, 0] ** degree == pytest.approx(exact, rel=1e-13)


def test_a_rule_cannot_be_changed():
    rule = gauss.gauss_hermite(3)
    for array in (rule.nodes, rule.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


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
