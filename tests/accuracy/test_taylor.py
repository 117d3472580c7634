"""Taylor's remainder is all of the error over a small region, and sees what a rule lacks."""

from itertools import product
from math import pi

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.accuracy import taylor
from quadfeat.accuracy.region import Region
from quadfeat.rules import grids
from quadfeat.rules.rule import Rule, zero_rule


@pytest.mark.parametrize("kernel", [qf.Gaussian(0.5), qf.Cauchy(0.5), qf.Gaussian([0.5, 0.2])])
@pytest.mark.parametrize("n", [1, 2, 3])
def test_taylor_s_remainder_is_all_of_the_error_over_a_small_region(kernel, n):
    """A rule exact to degree 2n - 1 errs by the gap of moments of order 2n, and little else."""
    axes = tuple(kernel.axis(i).gauss(n) for i in range(2))
    rule, M = grids.tensor(*axes), {1: 1e-3, 2: 2e-2, 3: 0.06}[n]
    region = Region.of(d=2, diameter=M)
    found = float(taylor.taylor_bound(kernel, rule, region, np.array([M]))[-1])
    angle = np.linspace(0, pi, 721)
    U = M * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    seen = np.abs(kernel.at(U) - rule(U)).max()
    # The norm of a moment tensor exceeds its value along a direction by up to sqrt(2) here.
    assert seen * (1 - 1e-3) - 1e-15 <= found <= 1.5 * seen + 1e-14


def test_taylor_s_remainder_sees_a_missing_mass_and_a_missing_order():
    kernel, radii = qf.Gaussian(0.5), np.array([1e-4, 1e-2])
    short = Rule(np.zeros((1, 1)), np.array([0.9]))
    found = taylor.taylor_bound(kernel, short, Region.of(d=1, diameter=1e-2), radii)
    assert np.all(found >= 0.1) and np.all(found <= 0.1 + 1.01 * radii**2)
    # One node of the second moment, but not of the fourth, and none of the second.
    for node in (1.0, 2.0):
        rule = Rule(np.array([[node]]), np.ones(1))
        t = np.array([0.05])
        found = taylor.taylor_bound(kernel, rule, Region.of(d=1, diameter=0.05), t)[0]
        seen = abs(kernel.profile(t) - rule(t[:, None]))[0]
        assert seen <= found <= 1.01 * seen + 1e-14
    # Large gaps: the remainder is what counts, at most z^s / s! each for the kernel and the rule.
    for each, node, reach in ((kernel, 3.0, 1.2), (qf.Gaussian(1e-12), 0.2, 12.0)):
        rule = Rule(np.array([[node]]), np.ones(1))
        t = np.linspace(0, reach, 500)
        found = taylor.taylor_bound(each, rule, Region.of(d=1, diameter=reach), t)
        assert np.all(found >= np.abs(each.profile(t) - rule(t[:, None])))


@pytest.mark.parametrize("order", [2, 4])
def test_the_gap_of_moments_is_the_norm_of_a_difference_of_tensors(order):
    rng = np.random.default_rng(0)
    kernel = qf.Gaussian([0.5, 0.2, 1.0])
    rule = Rule(rng.normal(size=(7, 3)), rng.normal(size=7))
    moments = taylor._spectral_moments([kernel.axis(i) for i in range(3)])
    tensor = np.zeros((3,) * order)
    for index in product(range(3), repeat=order):
        exact = np.prod([moments[i, index.count(i)] for i in range(3)])
        tensor[index] = exact - rule.weights @ rule.nodes[:, index].prod(axis=1)
    found = taylor._moment_gap(moments, rule, order)
    assert found == pytest.approx(np.linalg.norm(tensor.ravel()), rel=1e-12)
    # Rounding is counted also where all moments are met.
    met = grids.tensor(*(kernel.axis(i).gauss(3) for i in range(3)))
    assert taylor._moment_gap(moments, met, order) >= 2.0**-50 * 27 * moments[:, order].max()


@pytest.mark.parametrize("gamma", [0.3, 0.5, 0.7, 1.1])
def test_taylor_s_remainder_is_rounded_up(gamma):
    """The constant 1 errs by at most E w^2 u^2 / 2, which is gamma u^2."""
    u = np.linspace(0.1, 0.9, 17)
    found = taylor.taylor_bound(qf.Gaussian(gamma), zero_rule(1), Region.of(d=1, diameter=0.9), u)
    assert np.all(found >= gamma * u**2)
    assert np.all(found <= gamma * u**2 * (1 + 1e-8) + 1e-14)
