"""Equispaced rules for a tolerance err by at most that, and lattices by at most their bound."""

import numpy as np
import pytest
from scipy import special

import quadfeat as qf
from quadfeat.rules import choice, interval, lattice

AXES = {
    "gaussian": qf.Gaussian(2.0),
    "laplacian": qf.Laplacian(0.7),
    "cauchy": qf.Cauchy(2.0),
    "matern-1.5": qf.Matern(1.5, 3.0, product=True),
}


@pytest.mark.parametrize("reach", [0.3, 2.0])
@pytest.mark.parametrize("tol", [1e-1, 1e-2])
@pytest.mark.parametrize("name", AXES)
def test_the_rule_for_a_tolerance_meets_it_with_its_bound(name, tol, reach):
    axis = AXES[name]
    rule = lattice.axis_rule_for(axis, tol, reach)
    step = float(np.diff(rule.nodes[:, 0]).mean()) if len(rule) > 1 else 1.0
    assert len(rule) % 2 == 1
    assert interval.equispaced_bound(axis, len(rule), step, reach) <= tol
    assert choice.sup_error(axis, rule, reach) <= tol


def test_a_tolerance_beyond_the_limit_has_no_rule():
    assert lattice.axis_rule_for(qf.Laplacian(100.0), 1e-6, 1.0) is None


def test_the_tightest_tolerance_that_has_a_rule_takes_all_its_nodes():
    axis, few, many, rule = qf.Laplacian(1.0), 1e-6, 1.0, None
    while many > few * (1 + 1e-6):  # 1e-4 is what a single node more changes
        tol = (few * many) ** 0.5
        found = lattice.axis_rule_for(axis, tol, 1.0)
        few, many, rule = (tol, many, rule) if found is None else (few, tol, found)
    assert rule is not None and len(rule) == lattice.MOST_AXIS_NODES


def test_aliases_decay_over_at_most_512_length_scales():
    """Those of k = 1 / (1 + u^2), at a reach of 0, add up to 4 zeta(2) / period^2 on both sides."""
    axis, period = qf.Cauchy(1.0), 512 / interval.frequency_scale(qf.Cauchy(1.0))
    least = 4 * np.pi**2 / 6 / period**2
    assert lattice.axis_rule_for(axis, 1.1 * least, 0.0) is not None
    assert lattice.axis_rule_for(axis, 0.9 * least, 0.0) is None


@pytest.mark.parametrize("reach", [0.0, 0.5, 3.0])
def test_what_is_left_out_of_aliases_is_bounded_closely(reach):
    """The sums of k = 1 / (1 + u^2) are known; beyond m terms m times the last
    exceeds what is left by its share (1/2 + r / P) / m.

    sum_(m > 0) k(mP - r) = Im digamma(1 + (i - r) / P) / P.
    """
    period, m = 10.0, np.arange(1.0, 2001.0)
    excess = 1.1 * (0.5 + reach / period) / 2000
    found = lattice._axis_aliases(qf.Cauchy(1.0), period, reach)
    for gaps, bound in (((reach, 0.0), found[0]), ((0.0, 0.0), found[1])):
        exact = sum(special.digamma(1 + (1j - r) / period).imag / period for r in gaps)
        seen = sum(float(qf.Cauchy(1.0).profile(m * period - r).sum()) for r in gaps)
        assert exact - seen <= bound - seen <= (exact - seen) * (1 + excess)


@pytest.mark.parametrize("d", [1, 2])
def test_steps_for_a_tolerance_are_the_longest_whose_aliases_it_allows(d):
    """Aliases count at the reach, and once more at zero, where they change the mass."""
    kernel, reach = qf.Matern(1.5, np.linspace(1.0, 2.0, d)), np.linspace(1.0, 0.7, d)
    scales, at_zero = kernel.frequency_scales(d), np.zeros(d)
    for decay in (4.0, 8.0, 16.0):
        periods = reach + decay / scales
        both = (lattice._aliases(kernel.group_at, periods, gap) for gap in (reach, at_zero))
        found = lattice._steps_for(kernel.group_at, scales, sum(both), reach)
        np.testing.assert_array_equal(found, 2 * np.pi / periods)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.2])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_joint_density_is_the_spectrum_of_the_isotropic_kernel(nu, d):
    """The density integrates to 1, and its lattice of a small step to the kernel's values."""
    kernel = qf.Matern(nu, np.linspace(0.5, 1.0, d))
    draws = kernel.sample(200_000, d, np.random.default_rng(0))
    # The mean of the density of a wide normal over draws, against its integral on a lattice.
    width = 2.0
    seen = np.exp(-np.square(draws).sum(axis=1) / (2 * width**2))
    axis = np.linspace(-10, 10, 2001 if d == 1 else 161 if d == 2 else 81)
    nodes = np.stack([g.ravel() for g in np.meshgrid(*[axis] * d)], axis=1)
    weights = np.exp(-np.square(nodes).sum(axis=1) / (2 * width**2))
    exact = (weights @ kernel.joint_density(nodes)) * (axis[1] - axis[0]) ** d
    assert abs(seen.mean() - exact) <= 5 * seen.std() / np.sqrt(len(seen)) + 1e-4


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("d", [1, 2, 3])
def test_no_error_of_a_lattice_exceeds_its_bound(nu, d):
    kernel, rng = qf.Matern(nu, np.linspace(1.0, 2.0, d)), np.random.default_rng(0)
    reach = np.linspace(1.0, 0.7, d)
    gaps = np.concatenate([rng.uniform(-1, 1, (1000, d)) * reach, np.zeros((1, d)), reach[None]])
    counts, exact = np.array([9, 7, 11][:d]), kernel.at(gaps)
    for decay in (1.0, 3.0):
        steps = 2 * np.pi / (reach + decay)
        rule = lattice.lattice_rule(kernel.joint_density, steps, counts)
        bound = lattice.lattice_bound(kernel.group_at, kernel.joint_density, steps, counts, reach)
        assert np.abs(rule(gaps) - exact).max() <= bound
        assert rule.weights.sum() == pytest.approx(1.0) and (rule.weights > 0).all()
        assert len(rule) == np.prod(counts) // 2 + 1
    period = 2 * np.pi / steps
    spectrum = kernel.group_at, kernel.joint_density
    assert lattice.lattice_bound(*spectrum, steps, counts, period) == 2.0


def test_the_lattice_for_a_tolerance_has_few_nodes_more_than_needed():
    kernel = qf.Matern(2.5, 2.0)
    spectrum = kernel.group_at, kernel.joint_density
    reach, scales = np.array([1.0, 2.0]), kernel.frequency_scales(2)
    steps, counts = lattice.lattice_for(*spectrum, scales, 1e-3, reach)
    assert lattice.lattice_bound(*spectrum, steps, counts, reach) <= 1e-3
    assert lattice.lattice_bound(*spectrum, steps, counts - 4, reach) > 1e-3
    assert (counts % 2 == 1).all() and counts[1] > counts[0]
    rough = qf.Matern(0.5, 100.0)
    spectrum = rough.group_at, rough.joint_density
    assert lattice.lattice_for(*spectrum, rough.frequency_scales(2), 1e-5, reach) is None


def test_the_best_steps_for_given_counts_have_the_least_bound():
    kernel, reach = qf.Matern(1.5, 2.0), np.array([1.0, 0.7])
    scales, counts = kernel.frequency_scales(2), np.array([15, 11])
    spectrum = kernel.group_at, kernel.joint_density
    best = lattice.best_steps(*spectrum, scales, counts, reach)
    least = lattice.lattice_bound(*spectrum, best, counts, reach)
    assert least < 1
    for decay in (1.0, 2.0, 4.0, 8.0, 16.0):
        steps = 2 * np.pi / (reach + decay / scales)
        assert least <= lattice.lattice_bound(*spectrum, steps, counts, reach)


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_kept_mass_is_that_of_all_nodes_of_a_lattice(d):
    kernel, steps = qf.Matern(1.5, 0.3), np.array([0.4, 0.7, 1.5][:d])
    counts = np.array([9, 5, 7][:d])
    axes = [(np.arange(n) - n // 2) * step for n, step in zip(counts, steps, strict=True)]
    nodes = np.stack([grid.ravel() for grid in np.meshgrid(*axes)], axis=1)
    exact = kernel.joint_density(nodes).sum() * steps.prod()
    found = lattice._kept_mass(kernel.joint_density, steps, counts)
    assert found == pytest.approx(exact, rel=1e-12)


def test_a_kernel_that_does_not_fall_has_no_lattice(monkeypatch):
    periods = np.array([4.0])

    def constant(gaps):
        return np.ones(len(gaps))

    assert lattice._aliases(constant, periods, np.zeros(1)) == np.inf
    monkeypatch.setattr(lattice, "_DECAYS", (10.0,))
    monkeypatch.setattr(lattice, "_SHARES", (0.5,))
    assert lattice._steps_for(constant, np.ones(1), 1e-3, np.ones(1)) is None
    assert lattice.lattice_for(constant, constant, np.ones(1), 1e-3, np.ones(1)) is None
    falling = qf.Gaussian(0.5).at
    total = 2 * sum(np.exp(-0.5 * (4.0 * k) ** 2) for k in range(1, 9))
    assert lattice._aliases(falling, periods, np.zeros(1)) == pytest.approx(total, rel=1e-9)
