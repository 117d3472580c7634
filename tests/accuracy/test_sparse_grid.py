"""Certificates of sparse grids are sound, and little above the largest error."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.accuracy.bounds import Grid, Sparse
from quadfeat.accuracy.certificate import certify
from quadfeat.accuracy.region import Region
from quadfeat.kernels.stationary import Gaussian
from quadfeat.rules import grids

from .errors import points, random_region


def test_no_error_of_a_sparse_grid_exceeds_its_certificate():
    rng = np.random.default_rng(2)
    for _ in range(600):
        d, level = int(rng.integers(1, 6)), int(rng.integers(0, 4))
        kernel = [Gaussian(0.5), Gaussian(np.linspace(0.2, 1.0, d))][rng.integers(2)]
        levels = tuple(
            tuple(kernel.axis(i).gauss(2**own) for own in range(level + 1)) for i in range(d)
        )
        rule = grids.smolyak([axis.__getitem__ for axis in levels], level)
        region = random_region(d, rng)
        found = certify(kernel, [Sparse(levels)], region, cells=24)
        U = points(region, 200, rng)
        seen = np.abs(kernel.at(U) - rule(U)).max()
        assert seen <= found.value * (1 + 1e-12) + 1e-15 * np.abs(rule.weights).sum()


@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_a_sparse_grid_of_one_axis_is_certified_as_the_rule_that_it_is(level):
    kernel, region = qf.Gaussian(0.5), Region.of(d=1, diameter=2.0)
    levels = tuple(kernel.gauss(2**own) for own in range(level + 1))
    sparse = certify(kernel, [Sparse((levels,))], region).value
    alone = certify(kernel, [Grid((levels[-1],))], region).value
    assert sparse == pytest.approx(alone, rel=1e-3)


@pytest.mark.parametrize(
    ("d", "level", "times"), [(2, 1, 1.05), (3, 1, 1.1), (2, 2, 1.2), (3, 2, 1.6)]
)
def test_a_sparse_grid_is_certified_to_little_more_than_its_largest_error(d, level, times):
    """Along axes and diagonals of a ball, where it is largest."""
    kernel = qf.Gaussian(0.5)
    for M in (0.3, 1.0, 2.0):
        levels = (tuple(kernel.gauss(2**own) for own in range(level + 1)),) * d
        rule = grids.smolyak([axis.__getitem__ for axis in levels], level)
        found = certify(kernel, [Sparse(levels)], Region.of(d=d, diameter=M)).value
        U = np.abs(np.random.default_rng(0).normal(size=(20_000, d)))
        lines = np.array([np.arange(d) < j for j in range(1, d + 1)], dtype=float)
        U = np.concatenate([U, lines])
        U *= M / np.linalg.norm(U, axis=1, keepdims=True)
        inner = np.concatenate([U * s for s in (0.5, 0.7, 0.8, 0.9, 1.0)])
        seen = np.abs(kernel.at(inner) - rule(inner)).max()
        assert seen <= found * (1 + 1e-12) <= times * seen + 1e-12, (M, found / seen)
