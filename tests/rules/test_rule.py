"""Rules: symmetric to the last bit, of mass 1, read-only."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.rules import choice, gauss

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
