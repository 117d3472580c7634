"""The error of a product of grids is bounded cell by cell, as tightly as its worst corner."""

from itertools import product

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.accuracy import axis_cells, tensor_grid
from quadfeat.accuracy.bounds import Cells
from quadfeat.rules.rule import Rule


def corners(k, error, mass):
    """The corners of {(k, e): both in their ranges, |k - e| <= mass}, (n, 2)."""
    lines = [(1, 0, k[0]), (1, 0, k[1]), (0, 1, error[0]), (0, 1, error[1])]
    lines += [(1, -1, mass), (1, -1, -mass)]
    found = []
    for i, (a, b, c) in enumerate(lines):
        for p, q, r in lines[:i]:
            if (det := a * q - b * p) != 0:
                found.append(((c * q - b * r) / det, (a * r - c * p) / det))
    x, y = np.array(found).T
    slack = 1e-12
    inside = (x >= k[0] - slack) & (x <= k[1] + slack) & (np.abs(x - y) <= mass + slack)
    inside &= (y >= error[0] - slack) & (y <= error[1] + slack)
    return np.stack([x, y], axis=1)[inside]


def extremes(a, i, b, j):
    """Of k_a k_b - q_a q_b on two cells: bilinear in (k, e) of each, so extreme at corners."""
    left = corners((a.bottom[i], a.top[i]), (-a.low[i], a.high[i]), a.mass)
    right = corners((b.bottom[j], b.top[j]), (-b.low[j], b.high[j]), b.mass)
    (ka, ea), (kb, eb) = left.T[:, :, None], right.T[:, None, :]
    errors = ka * eb + ea * kb - ea * eb
    return errors.max(), -errors.min(), (ka * kb).max(), (ka * kb).min()


def random_cells(size, rng, *, free=False, signed=False):
    """Cells of a kernel and of the error of a rule, as large as k in places and 0 in others."""
    bottom = rng.uniform(-1.0 if signed else 0.0, 1.0, size)
    top = bottom + (1 - bottom) * rng.random(size) * (rng.random(size) < 0.7)
    high, low = rng.random((2, size)) ** 2 * (rng.random((2, size)) < 0.7) * rng.choice([0.1, 2.0])
    # Some point of every cell has |k - e| <= mass.
    mass = 1e6 if free else rng.uniform(1.0, 1.5)
    return Cells(high, low, top, bottom, mass)


@pytest.mark.parametrize("free", [True, False])
def test_the_error_of_a_product_is_bounded_by_that_of_its_worst_corner(free):
    rng = np.random.default_rng(0)
    for case in range(2000):
        a, b = (random_cells(1, rng, free=free, signed=case % 4 == 0) for _ in "ab")
        found = tensor_grid._combine(a, b, 4, ball=False)
        worst = extremes(a, 0, b, 0)
        for bound, sign, exact in zip(
            (found.high, found.low, found.top, found.bottom), (1, 1, 1, -1), worst, strict=True
        ):
            assert sign * bound[0] >= sign * exact - 1e-12
        if free and case % 4:  # and nothing but that corner, where nothing else is known
            assert found.high[0] <= max(worst[0], 0) + 1e-12
            assert found.low[0] <= max(worst[1], 0) + 1e-12
            assert found.top[0] == pytest.approx(worst[2])
            assert found.bottom[0] == pytest.approx(worst[3])
        assert found.mass == a.mass * b.mass


@pytest.mark.parametrize("ball", [True, False])
@pytest.mark.parametrize("cells", [3, 5, 20])
def test_every_pair_of_cells_is_bounded_where_it_meets(ball, cells):
    """Sums of squares in [i, i+1] and [j, j+1] are in [i+j, i+j+2]: two cells, or labels: one."""
    rng = np.random.default_rng(1)
    for _ in range(30):
        a, b = random_cells(4, rng), random_cells(3, rng)
        found = tensor_grid._combine(a, b, cells, ball)
        size = len(found.high)
        assert size == min(cells, 7 if ball else 6)
        for i, j in product(range(4), range(3)):
            high, low, top, bottom = extremes(a, i, b, j)
            for at in (i + j, i + j + 1) if ball else (min(i + j, size - 1),):
                if at < size:  # beyond is outside of the ball
                    assert found.high[at] >= high - 1e-12
                    assert found.low[at] >= low - 1e-12
                    assert found.top[at] >= top - 1e-12
                    assert found.bottom[at] <= bottom + 1e-12


@pytest.mark.parametrize("d", range(1, 8))
def test_every_axis_of_a_grid_is_in_its_bound_once_also_among_equal_ones(d):
    rule = Rule(np.array([[-1.0], [0.0], [1.0]]), np.array([-0.25, 1.5, -0.25]))
    edges = [axis_cells.square_edges(1.0, 0.25, 4)] * d
    for kernels in ([qf.Gaussian(0.5)] * d, [qf.Gaussian(0.5)] * (d - 1) + [qf.Laplacian(0.5)]):
        whole = tensor_grid._grid_cells(kernels, [rule] * d, edges, 4, ball=True)
        assert whole.mass == pytest.approx(2.0**d)
