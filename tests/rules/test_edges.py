"""Rules that are asked for what there is not."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.rules import lattice
from quadfeat.rules.choice import axis_rule
from quadfeat.rules.interval import equispaced
from quadfeat.rules.rule import Rule, axis_key


def test_kinds_densities_and_nodes_that_are_none_are_refused():
    with pytest.raises(ValueError, match=r"rule must be one of \('auto', 'gauss'.*got 'simpson'"):
        axis_rule(qf.Gaussian(0.5), 5, kind="simpson")
    with pytest.raises(TypeError, match="density must be a function of an array of frequencies"):
        equispaced(0.5, 5, 1.0)
    with pytest.raises(TypeError, match="weights must be an array, got"):
        Rule(np.zeros((2, 1)), [0.5, 0.5])


def test_axes_are_alike_if_their_parameters_are():
    assert axis_key(qf.Gaussian(0.5)) == axis_key(qf.Gaussian(0.5)) != axis_key(qf.Gaussian(0.6))
    one, other = object(), object()
    assert axis_key(one) == axis_key(one) != axis_key(other)
    arrays = qf.Gaussian(np.array([0.5])), qf.Gaussian(np.array([0.5]))
    assert axis_key(arrays[0]) == axis_key(arrays[0]) != axis_key(arrays[1])  # safe, if not best


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
