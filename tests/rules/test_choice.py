"""The rule that is chosen is the best of its kind for the reach."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat._errors import NoMoments
from quadfeat.rules import choice, interval

from .axes import AXES


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


def test_twice_the_nodes_nearly_halve_the_error_of_a_heavy_tail():
    """The tail beyond n nodes falls like 1 / n; the step that balances it only like 1 / log n."""
    kernel = qf.Laplacian(0.4)
    few, many = (
        choice.sup_error(kernel, choice.axis_rule(kernel, n, kind="equispaced", reach=2.0), 2.0)
        for n in (128, 256)
    )
    assert many <= 0.5 * (np.log(256) / np.log(128)) * 1.1 * few


@pytest.mark.parametrize("n", [1, 2, 7, 8])
@pytest.mark.parametrize("kind", choice.KINDS)
def test_the_error_of_half_of_a_mirrored_rule_is_that_of_the_whole(kind, n):
    axis = qf.Gaussian(0.5)
    rule = choice.axis_rule(axis, n, kind=kind, reach=3.0)
    gap = np.linspace(0.0, 3.0, 201 + 4 * n)
    whole = np.abs(rule(gap[:, None]) - axis.profile(gap)).max()
    assert choice.sup_error(axis, rule, 3.0) == pytest.approx(whole, abs=1e-15)


@pytest.mark.parametrize("n", [8, 15, 40])
@pytest.mark.parametrize("name", ["cauchy", "laplacian", "matern"])
@pytest.mark.parametrize("kind", ["equispaced", "clenshaw-curtis"])
def test_no_step_or_cut_off_is_much_better_than_the_chosen_one(kind, name, n):
    """Candidates end 0.1% apart, and these errors are at most a few powers of the step."""
    axis, reach = AXES[name], 3.0
    rule = choice.axis_rule(axis, n, kind=kind, reach=reach)
    last, before = rule.nodes[-1, 0], rule.nodes[-2, 0]
    make = interval.equispaced if kind == "equispaced" else interval.clenshaw_curtis
    sizes = (last - before if kind == "equispaced" else last) * 2.0 ** np.linspace(-1, 1, 201)
    least = min(choice.sup_error(axis, make(axis.density, n, size), reach) for size in sizes)
    assert choice.sup_error(axis, rule, reach) <= 1.03 * least


def test_an_axis_that_is_gone_lends_its_rules_to_no_other():
    """Rules are known by the identity of an axis, and what is freed gives its own to the next."""
    make = choice.AxisRules(("gauss",), np.ones(1))
    for gamma in np.linspace(0.1, 2.0, 20):
        nodes = make(qf.Gaussian(gamma), 0, 3).nodes
        assert np.array_equal(nodes, qf.Gaussian(gamma).gauss(3).nodes)


def test_kinds_densities_and_nodes_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"rule must be one of \('auto', 'gauss'.*got 'simpson'"):
        choice.axis_rule(qf.Gaussian(0.5), 5, kind="simpson")
    with pytest.raises(TypeError, match="density must be a function of an array of frequencies"):
        interval.equispaced(0.5, 5, 1.0)
    with pytest.raises(TypeError, match="weights must be an array, got"):
        qf.Rule(np.zeros((2, 1)), [0.5, 0.5])
