"""Rules: symmetric to the last bit, of mass 1, read-only."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.rules import choice, gauss
from quadfeat.rules.rule import axis_key, mirrored_nodes

from .axes import AXES, LIGHT


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


def test_a_rule_needs_matching_shapes():
    with pytest.raises(ValueError, match=r"nodes \(n, d\)"):
        qf.Rule(np.zeros(3), np.zeros(3))


def test_a_rule_cannot_be_changed():
    rule = gauss.gauss_hermite(3)
    for array in (rule.nodes, rule.weights):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 7.0


def test_axes_have_one_key_where_they_are_one_kernel():
    assert axis_key(qf.Gaussian(0.5)) == axis_key(qf.Gaussian(0.5))
    others = [qf.Gaussian(0.6), qf.Cauchy(0.5), qf.Matern(1.5, 0.5), qf.Matern(2.5, 0.5)]
    assert len({axis_key(axis) for axis in [qf.Gaussian(0.5), *others]}) == 5
    unhashable = qf.Gaussian(np.array([0.5]))
    assert axis_key(unhashable) == axis_key(unhashable) != axis_key(qf.Gaussian(np.array([0.5])))


def test_axes_are_alike_if_their_parameters_are():
    assert axis_key(qf.Gaussian(0.5)) == axis_key(qf.Gaussian(0.5)) != axis_key(qf.Gaussian(0.6))
    one, other = object(), object()
    assert axis_key(one) == axis_key(one) != axis_key(other)
    arrays = qf.Gaussian(np.array([0.5])), qf.Gaussian(np.array([0.5]))
    assert axis_key(arrays[0]) == axis_key(arrays[0]) != axis_key(arrays[1])  # safe, if not best


@pytest.mark.parametrize("middle", [0.0, 0.5])
def test_nodes_of_one_side_are_mirrored_around_a_middle_that_has_a_weight(middle, rng):
    right, weights = rng.normal(size=(4, 3)), rng.uniform(size=4)
    found = mirrored_nodes(right, weights, middle)
    assert np.array_equal(found.nodes, -found.nodes[::-1]) and len(found) == 8 + (middle > 0)
    assert np.array_equal(found.weights, found.weights[::-1])
    gaps = rng.normal(size=(20, 3))
    exact = (2 * np.cos(gaps @ right.T) @ weights + middle) / (2 * weights.sum() + middle)
    np.testing.assert_allclose(found(gaps), exact, atol=1e-14)
