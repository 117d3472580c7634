"""Bounds and estimates at their edges: too few rows, rules that do not fit, too small a limit."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.accuracy import theory
from quadfeat.accuracy.bounds import Grid, Reweighted
from quadfeat.accuracy.certificate import certify
from quadfeat.accuracy.covering import cover_bound
from quadfeat.accuracy.estimate import draw_pairs, estimate
from quadfeat.accuracy.region import Region
from quadfeat.accuracy.tolerance import GridSearch
from quadfeat.constructions.framed_grid import framed_grid
from quadfeat.rules.rule import Rule

ONE = Rule(np.zeros((1, 1)), np.ones(1))


def test_a_kernel_of_two_groups_needs_two_rules():
    kernel = qf.Anova(qf.Gaussian(0.3), [[0], [1]])
    with pytest.raises(ValueError, match="the kernel has 2 groups, and 1 rules were given"):
        certify(kernel, [ONE], Region.of(d=2, diameter=1.0))


def test_fewer_than_two_rows_make_no_pair(rng):
    with pytest.raises(ValueError, match="pairs need at least two rows, got 1"):
        draw_pairs(1, 5, rng)
    pairs = draw_pairs(2, 5, rng)
    assert (pairs.left != pairs.right).all()


@pytest.mark.parametrize("errors", [[0.1], [0.1, np.nan], [0.1, np.inf]])
def test_an_estimate_needs_two_finite_errors(errors):
    with pytest.raises(ValueError, match="at least 2 finite numbers"):
        estimate(np.array(errors))


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((0, 2)), [[np.nan]], [[np.inf]]])
def test_the_region_of_no_rows_is_refused(X):
    with pytest.raises(ValueError, match="X must be finite, with at least one row and one column"):
        Region.of(X)


class _Unbounded:
    """A kernel whose second derivatives are not known."""

    def bends(self, d):
        return None


def test_no_cover_is_given_where_no_derivative_is_bounded():
    assert cover_bound(_Unbounded(), ONE, Region.of(d=1, diameter=1.0), 1e6) is None


def test_few_samples_reach_a_large_error():
    d = 3
    least = theory.quasi_monte_carlo_samples(0.99 * (d / np.e) ** d, d)
    assert least == pytest.approx(np.exp(d), rel=0.7) and least >= np.exp(d)
    # log(D)^d / D is (d / e)^d at its maximum e^d, and says nothing before.
    assert theory.quasi_monte_carlo_samples(1.0, d) == pytest.approx(
        _first(lambda n: np.log(n) ** d / n <= 1.0, np.exp(d)), rel=1e-6, abs=1
    )


def _first(holds, n):
    while not holds(n):
        n += 1
    return n


def test_a_reweighted_rule_lies_on_its_grid(rng):
    X = rng.normal(size=(60, 2))
    framed = framed_grid(qf.Gaussian(0.5), X, 24)
    moved = Rule(framed.rule.nodes + 0.01, framed.rule.weights)
    grid = Reweighted(Grid(framed.axes), moved)
    with pytest.raises(ValueError, match="has nodes that are not on the grid"):
        certify(qf.Gaussian(1.0), [grid], Region.of(d=2, diameter=0.5))


def test_a_tolerance_beyond_the_limit_has_no_grid():
    kernel, region = qf.Gaussian(np.array([0.3, 0.3])), Region.of(d=2, diameter=4.0)
    search = GridSearch(kernel, region, np.array([4.0, 4.0]))
    counts = search.fewest(1e-3)
    columns = int(np.prod(counts))
    assert search.fewest(1e-3, limit=columns) is not None
    assert GridSearch(kernel, region, np.array([4.0, 4.0])).fewest(1e-3, limit=columns // 2) is None
