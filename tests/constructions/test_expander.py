"""Laws of the columns of an expansion: the largest eigenvalues, and plans without idle work."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from quadfeat.constructions import expander
from quadfeat.constructions.expander import Expander
from quadfeat.kernels.base import Kernel
from quadfeat.kernels.stationary import Gaussian
from quadfeat.kernels.subsets import Anova
from quadfeat.numerics.principal_frame import Frame

from .expansion_laws import EPS, features


def of_variances(kernel: Kernel, *variances, spread=1.0):
    """The expander of a kernel in frames that are the axes, in falling order of variance."""
    d = sum(map(len, variances))
    frames = [Frame(np.zeros(len(v)), np.eye(len(v)), np.array(v)) for v in variances]
    return Expander(kernel.groups(d), [np.ones(len(v)) for v in variances], frames, spread)


def eigenvalue(variance, degrees, spread=1.0):
    """Of the Gaussian exp(-u^2) under N(0, spread * variance), a product over directions."""
    B = np.sqrt(1 + 8 * spread * np.array(variance))
    return np.prod(2 / (B + 1) * ((B - 1) / (B + 1)) ** np.array(degrees))


@pytest.mark.parametrize("spread", [1.0, 0.35])
def test_the_columns_of_all_groups_have_the_largest_eigenvalues(spread):
    variances, weights = ([3.0, 0.4], [0.5], [0.9, 0.8, 0.05]), [1.0, 2.0, 0.6]
    kernel = Anova(Gaussian(1.0), [[0, 1], [2], [3, 4, 5]], weights)
    built = of_variances(kernel, *variances, spread=spread)
    chosen = set()
    for group, columns in enumerate(built.columns(40)):
        degrees = np.zeros((len(columns), len(variances[group])), dtype=int)
        for j, (parent, direction, degree) in enumerate(columns):
            degrees[j] = degrees[parent] if parent >= 0 else 0
            degrees[j, direction] = degree
        chosen |= {(group, *row) for row in degrees.tolist()}
    every = {
        (group, *degrees): weight * eigenvalue(variance, degrees, spread)
        for group, (variance, weight) in enumerate(zip(variances, weights, strict=True))
        for degrees in itertools.product(range(30), repeat=len(variance))
    }
    assert chosen == set(sorted(every, key=lambda key: -every[key])[:40])


@pytest.mark.parametrize("d, m", [(200, 200), (10, 4), (200, 4)])
def test_many_directions_without_a_column_of_their_own_cost_nothing(d, m):
    directions = np.linalg.qr(np.random.default_rng(0).normal(size=(d, m)))[0]
    frame = Frame(np.zeros(d), directions, np.linspace(0.2, 0.1, m))
    built = Expander(Gaussian(1.0).groups(d), [np.ones(d)], [frame], 1.0)
    (plan,) = built.by_eigenvalue(3).expansions  # the constant and two directions
    assert plan.rotation.shape == (d, int(plan.direction.max()) + 1) == (d, 2)


@pytest.mark.parametrize("d", [3, 200])
def test_the_first_column_falls_as_the_kernel_in_directions_without_another_column(d):
    variance = np.linspace(0.5, 0.1, d)
    basis = of_variances(Gaussian(1.0), variance).by_eigenvalue(2)
    assert basis.expansions[0].direction.tolist() == [0, 0]
    X = np.random.default_rng(0).normal(size=(20, d)) / np.sqrt(d)
    X[0] = 0.0
    B = np.sqrt(1 + 8 * variance[0])
    along, across = X[:, 0] ** 2, (X[:, 1:] ** 2).sum(axis=1)
    expected = np.sqrt(2 * np.sqrt(B) / (1 + B)) * np.exp(-2 / (B + 1) * along - across)
    np.testing.assert_allclose(features(X, basis)[:, 0], expected, rtol=4 * d * EPS)


def test_no_column_counts_for_more_than_its_parent():
    plan = np.array([[-1, 0, 0], [0, 1, 1], [1, 2, 1], [-1, 0, 1], [3, 1, 1]])
    found = expander._at_most_of_parents(plan, np.array([2.0, 3.0, 1.0, 5.0, 4.0]))
    np.testing.assert_array_equal(found, [2.0, 2.0, 1.0, 5.0, 4.0])


def test_a_column_kept_without_its_siblings_has_the_same_parent():
    columns = np.array([[-1, 0, 0], [-1, 0, 1], [0, 1, 1], [1, 1, 1], [3, 2, 1]])
    kept = np.array([True, True, False, True, True])
    np.testing.assert_array_equal(
        expander._only(columns, kept), [[-1, 0, 0], [-1, 0, 1], [1, 1, 1], [2, 2, 1]]
    )


@pytest.mark.parametrize("spread", [1.0, 0.5, 2.8])
def test_enough_columns_are_the_kernel_whatever_the_spread(spread):
    """On the axes of a frame, up to a deviation from its mean; geometric in the degree."""
    built = of_variances(Gaussian(1.0), [1.0, 0.2], spread=spread)
    X = np.random.default_rng(0).uniform(-1, 1, size=(40, 2)) * np.sqrt([1.0, 0.2])
    Z = features(X, built.by_eigenvalue(900))
    assert np.abs(Z @ Z.T - Gaussian(1.0)(X)).max() < 1e-9
