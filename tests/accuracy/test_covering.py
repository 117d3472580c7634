"""Covering ends within its budget, and is sound and tight."""

from functools import partial
from itertools import product
from math import pi

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.accuracy import covering
from quadfeat.accuracy.certificate import certify
from quadfeat.accuracy.region import Region
from quadfeat.constructions import randomized
from quadfeat.kernels.matern import Matern
from quadfeat.kernels.stationary import Cauchy, Gaussian
from quadfeat.rules import grids
from quadfeat.rules.rule import Rule

from .errors import climb, points, rule_error


@pytest.mark.parametrize("d", [1, 2, 3])
def test_covering_is_within_a_tenth_of_the_largest_error(d):
    rng = np.random.default_rng(d)
    for kernel in (Gaussian(0.5), Matern(1.5, 0.5), Cauchy(0.5)):
        rule = randomized.random(kernel, 64, d, rng)
        region = Region.of(d=d, diameter=3.0)
        found = certify(kernel, [rule], region)
        seen = climb(partial(rule_error, kernel, rule), region, rng)
        assert found.method == "covering"
        assert seen <= found.value <= 1.1 * seen


def test_covering_ends_within_its_budget_and_is_sound():
    kernel, rng = Gaussian(0.5), np.random.default_rng(0)
    rule, region = randomized.random(kernel, 64, 3, rng), Region.of(d=3, diameter=3.0)
    loose = certify(kernel, [rule], region, budget=3e6)
    tight = certify(kernel, [rule], region)
    assert tight.value <= loose.value
    U = points(region, 5000, rng)
    assert np.abs(kernel.at(U) - rule(U)).max() <= loose.value


@pytest.mark.parametrize("widths", [[2.0], [2.0, 1.0], [2.0, 1.0, 0.5]])
def test_covering_begins_with_the_corners_of_boxes_and_all_that_may_bend_between(widths):
    """Half of the gaps in 2^d boxes for each sign: the largest at corners, and h^2 / 2 of bends."""
    d = len(widths)
    kernel = qf.Gaussian(np.linspace(0.5, 0.2, d))
    nodes = np.concatenate([np.zeros((1, d)), np.linspace(0.2, 0.9, 2 * d).reshape(2, d)])
    rule = Rule(nodes, np.array([0.3, -0.2, 0.4]))
    found = covering.cover_bound(kernel, rule, Region.of(box=widths), budget=1)
    at = np.array(list(product((-1.0, -0.5, 0.0, 0.5, 1.0), repeat=d))) * widths
    half = np.array(widths) / 4  # of a box that is half as wide as the region
    bends = 2 * kernel.gamma @ half**2 / 2 + np.abs(rule.weights) @ (nodes**2 @ half**2) / 2
    assert found == pytest.approx(np.abs(kernel.at(at) - rule(at)).max() + bends, rel=1e-9)


def test_covering_does_not_leave_a_box_whose_middle_may_be_worse():
    """f = B - A cos(w u) has its peak, of the largest bend, in the middle of a box of the second
    level, whose ends are 7% below it: twice what the 5% allowed would forgive, were the bend half.
    """
    flat, A, B = qf.Gaussian(1e-12), 0.315, 0.585
    M = 1.0
    w = pi / (5 * M / 8)
    rule = Rule(np.array([[0.0], [w]]), np.array([1 - B, A]))
    for budget in (100, 1e5):
        found = covering.cover_bound(flat, rule, Region.of(d=1, diameter=M), budget)
        assert found >= A + B
    # A whole wave between corners: nothing of it is seen, and its cosine may be anything.
    wave = Rule(np.array([[0.0], [4 * pi / M]]), np.array([0.6, 0.4]))
    assert covering.cover_bound(flat, wave, Region.of(d=1, diameter=M), 1) >= 0.8
    # The boundary of a ball where it passes through boxes.
    for direction in ([0.5, 0.5], [0.5, -0.5]):
        slope = Rule(np.array([direction]) / M, np.ones(1))
        found = covering.cover_bound(flat, slope, Region.of(d=2, diameter=M), 1e6)
        assert 1 - np.cos(np.sqrt(0.5)) <= found <= 1.06 * (1 - np.cos(np.sqrt(0.5)))


@pytest.mark.parametrize("nu", [1.5, 2.5, 4.0])
def test_an_isotropic_kernel_bends_most_at_zero(nu):
    kernel, h = qf.Matern(nu, 0.7), 1e-4
    bend = kernel.bends(2)
    # 1 - k(h) is H h^2 / 2, up to h^3 where nu = 3/2.
    assert 2 * (1 - kernel.at(np.array([[h, 0.0]]))[0]) / h**2 == pytest.approx(bend[0], rel=1e-3)
    k = kernel.at(np.linspace(0.0, 5.0, 5001)[:, None] * np.eye(1, 2))
    assert np.all(np.abs(np.diff(k, 2)) / 1e-6 <= bend[0])


class _Counted(qf.Gaussian):
    """How many gaps it was asked for, at each call."""

    def at(self, gaps):
        self.asked = [*getattr(self, "asked", []), len(gaps)]
        return super().at(gaps)


@pytest.mark.parametrize("n_nodes", [1, 5, 64])
def test_covering_stops_as_soon_as_its_budget_is_spent(n_nodes):
    """A point costs a cosine for each node of the rule, and the rest about as much as 20."""
    rule = randomized.random(Gaussian(0.5), n_nodes, 3, np.random.default_rng(0))
    for budget in (1e5, 1e6):
        kernel = _Counted(0.5)
        covering.cover_bound(kernel, rule, Region.of(d=3, diameter=3.0), budget)
        spent = np.cumsum(kernel.asked) * (n_nodes + 20)
        assert (spent[:-1] < budget).all()
        again = _Counted(0.5)  # with a little more than all but the last points cost
        covering.cover_bound(again, rule, Region.of(d=3, diameter=3.0), float(spent[-2] + 1))
        assert again.asked == kernel.asked


def test_covering_looks_at_few_points_at_a_time():
    """However many boxes are open, so that a budget is not exceeded by far."""
    kernel, rule = _Counted(0.5), grids.tensor(*[Gaussian(0.5).gauss(4)] * 3)
    covering.cover_bound(kernel, rule, Region.of(d=3, diameter=1.0), 1e7)
    assert sum(kernel.asked) > 100_000 and max(kernel.asked) <= 40_000


class _Unbounded:
    """A kernel whose second derivatives are not known."""

    def bends(self, d):
        return None


def test_no_cover_is_given_where_no_derivative_is_bounded():
    rule = Rule(np.zeros((1, 1)), np.ones(1))
    assert covering.cover_bound(_Unbounded(), rule, Region.of(d=1, diameter=1.0), 1e6) is None
