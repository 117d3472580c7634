"""Enclosures on one axis hold, and every term of theirs is needed."""

from math import e, factorial, inf, pi

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.accuracy import axis_cells
from quadfeat.accuracy.axis_cells import AxisCells
from quadfeat.rules import interval
from quadfeat.rules.rule import Rule

EPS = np.finfo(float).eps


def known_to(order, slope):
    """Bounds of derivatives of which only one is known."""
    derivatives = np.full(axis_cells.ORDERS[-1] + 1, inf)
    derivatives[order] = slope
    return derivatives


def test_an_enclosure_counts_its_remainder_at_the_ends_and_inside():
    """Panels of c T_2: the interpolant is 0, the ends are c, and the middle is -c."""
    panels, c = 2**15, 1e-3

    def value(t):
        x = 2 * (t * panels - np.floor(t * panels)) - 1
        return c * (2 * x**2 - 1)

    # T_2'' = 4 on [-1, 1], which is a panel of 1 / panels here.
    function = axis_cells._Function(value, known_to(2, 4 * c * (2 * panels) ** 2), 0.0)
    low, high = axis_cells._enclose(function, np.arange(panels + 1) / panels)
    assert np.all(low <= -c * (1 - 1e-9)) and np.all(low >= -c * (1 + 1e-6))
    assert np.all(high >= c)


def test_an_enclosure_counts_the_bend_between_its_ends():
    """A parabola of height 1 over a chord of height 0, and one over a chord that is not level."""
    function = axis_cells._Function(lambda t: 4 * t * (1 - t), known_to(4, 0.0), 0.0)
    low, high = axis_cells._enclose(function, np.array([0.0, 1.0]))
    assert 1 <= high[0] <= 1 + 1e-6 and -1 - 1e-6 <= low[0] <= 0
    low, high = axis_cells._enclose(function, np.array([0.0, 0.5, 1.0]))
    assert np.all(high <= 1.25 + 1e-6) and np.all(high >= 1)


def test_an_enclosure_counts_the_noise_of_values_and_of_the_interpolant():
    """Values off by the noise at the ends, where they are read, and at nodes; p = 2 of them."""
    noise, lebesgue = 1e-3, 2 / pi * np.log(2) + 1
    function = axis_cells._Function(lambda t: 0 * t, known_to(2, 0.0), noise)
    low, high = axis_cells._enclose(function, np.array([0.0, 0.5, 1.0]))
    np.testing.assert_allclose(high, noise * (1 + 2 * lebesgue), rtol=1e-9)
    np.testing.assert_allclose(low, -high, rtol=1e-9)


@pytest.mark.parametrize("order", axis_cells.ORDERS)
def test_enclosures_hold_on_cells_short_and_long_beside_panels(order):
    rng = np.random.default_rng(order)
    for _ in range(40):
        w, a = rng.uniform(0, 30, size=5), rng.normal(size=5)
        slope = np.abs(a) @ w**order

        def value(t, w=w, a=a):
            return np.cos(np.multiply.outer(t, w)) @ a

        breaks = np.unique(np.concatenate([[0.0, 2.0], 2 * rng.random(rng.integers(0, 60))]))
        low, high = axis_cells._enclose(
            axis_cells._Function(value, known_to(order, slope), 0.0), breaks
        )
        t = breaks[:-1, None] + np.diff(breaks)[:, None] * np.linspace(0, 1, 200)
        seen = value(t)
        assert np.all(low <= seen.min(axis=1)) and np.all(seen.max(axis=1) <= high)
        # Where a cell is short the slack is the remainder's, a few times 1e-4 of the function.
        short = np.diff(breaks) < 1e-3
        most = np.abs(value(breaks)).max()
        assert np.all(
            (high - low - np.ptp(seen, axis=1))[short] <= 2e-3 * most + 1e-2 * np.abs(a) @ w
        )


@pytest.mark.parametrize("order", axis_cells.ORDERS)
def test_a_long_reach_is_enclosed_as_tightly_as_a_short_one(order):
    """Its panels have half-widths of 2 (1e-4 p! / 2)^(1/p), so up to 7.3, not of all of it."""
    cells, reach = 2**15, 100.0
    low, high = axis_cells._enclose(
        axis_cells._Function(np.cos, known_to(order, 1.0), 0.0),
        np.linspace(0.0, reach, cells + 1),
    )
    # The change in a cell, and above and below it: the remainder of 1e-4, twice, and h^2 / 8 of a
    # bend that is below 2 / 3 sum_k k^4 / 7.3^2 = 2300, for coefficients of at most 2.
    h = reach / cells
    assert (high - low).max() <= h + 2 * (2e-4 + 2300 * h**2 / 8)


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("gamma", [0.3, 2.0])
def test_bounds_of_derivatives_are_just_above_the_largest(nu, gamma):
    """k = P(s) exp(-s), whose derivative in s is (P' - P) exp(-s)."""
    found = qf.Matern(nu, gamma, product=True).derivative_bounds()
    polynomial = np.polynomial.Polynomial({0.5: [1], 1.5: [1, 1], 2.5: [1, 1, 1 / 3]}[nu])
    s = np.linspace(0, 60, 60_001)
    for p, bound in enumerate(found):
        largest = np.abs(polynomial(s) * np.exp(-s)).max() * np.sqrt(4 * nu * gamma) ** p
        assert largest * (1 - 1e-12) <= bound
        # Sums of the largest of every term are taken, and of p = 1 no more than that it is below 1.
        assert bound <= largest * (1 + 1e-9 if nu == 0.5 or (nu == 1.5 and p != 1) else 3.0)
        polynomial = polynomial.deriv() - polynomial


def test_bounds_of_derivatives_of_smooth_kernels_are_their_values_at_zero():
    gaussian, cauchy = (k.derivative_bounds() for k in (qf.Gaussian(0.7), qf.Cauchy(0.7)))
    laplacian = qf.Laplacian(0.7).derivative_bounds()
    for p in range(0, 17, 2):
        double = np.prod(np.arange(1.0, p, 2))
        assert gaussian[p] == pytest.approx(1.4 ** (p / 2) * double, rel=1e-8)
        assert cauchy[p] == pytest.approx(0.7 ** (p / 2) * factorial(p), rel=1e-8)
        assert laplacian[p] == pytest.approx(0.7**p)
    # Leibniz, and Cauchy and Schwarz: no odd derivative exceeds its neighbours' mean.
    for each in (gaussian, cauchy):
        np.testing.assert_allclose(each[1::2], np.sqrt(each[:-1:2] * each[2::2]), rtol=1e-8)
    both = (qf.Gaussian(0.7) * qf.Cauchy(0.7)).groups(1)[0].kernel.axis(0).derivative_bounds()
    assert both[2] == pytest.approx(gaussian[2] + cauchy[2] + 2 * gaussian[1] * cauchy[1])
    u = np.linspace(0, 6, 6001)
    slope = np.abs(1.4 * u * np.exp(-0.7 * u**2)).max()
    assert slope <= gaussian[1] <= slope * np.sqrt(e) * (1 + 1e-6)


def test_the_difference_of_two_functions_has_the_derivatives_and_the_noise_of_both():
    one = axis_cells._Function(np.cos, np.arange(17.0), 1e-3)
    two = axis_cells._Function(np.sin, np.full(17, 2.0), 1e-4)
    found, t = axis_cells._minus(one, two), np.linspace(0, 1, 5)
    np.testing.assert_array_equal(found.value(t), np.cos(t) - np.sin(t))
    np.testing.assert_array_equal(found.derivatives, np.arange(17.0) + 2)
    assert found.noise == pytest.approx(1.1e-3)
    signed = Rule(np.array([[-2.0], [2.0]]), np.array([1.5, -0.5]))
    powers = 2.0 ** np.arange(17) * 2
    np.testing.assert_allclose(axis_cells._q(signed, 1.0).derivatives, powers, rtol=1e-11)


def test_a_falling_kernel_is_between_its_values_at_the_ends_of_cells():
    breaks = np.array([0.0, 0.5, 2.0, 3.0])
    low, high = axis_cells._enclose_decreasing(qf.Laplacian(1.0), breaks)
    np.testing.assert_allclose(low, np.exp(-breaks[1:]), atol=32 * EPS)
    np.testing.assert_allclose(high, np.exp(-breaks[:-1]), atol=32 * EPS)
    # Either may be rounded, and 1 is never exceeded.
    assert np.all(low < np.exp(-breaks[1:]) - 4 * EPS) and high[0] == 1
    assert np.all(high[1:] > np.exp(-breaks[1:-1]) + 4 * EPS)


def test_the_error_of_a_falling_kernel_without_derivatives_is_enclosed():
    kernel, rule = qf.Laplacian(1.0), interval.equispaced(qf.Laplacian(1.0).density, 8, 0.7)
    cells = AxisCells(kernel, np.linspace(0, 3, 13))
    cells._k = cells._k._replace(derivatives=np.full(17, inf))
    low, high = cells.error(rule)
    t = np.linspace(0, 3, 12_001)
    error = (kernel.profile(t) - rule(t[:, None]))[:-1].reshape(12, 1000)
    assert np.all(low <= error.min(axis=1)) and np.all(error.max(axis=1) <= high)
    # On each of 64 pieces of a cell of 1/4 the kernel falls by less than the piece is long.
    assert np.all(low >= error.min(axis=1) - 0.01) and np.all(high <= error.max(axis=1) + 0.01)


def test_the_error_of_a_smooth_kernel_is_enclosed_closely():
    kernel, n = qf.Gaussian(0.5), 50
    rule = kernel.gauss(3)
    low, high = AxisCells(kernel, np.linspace(0, 3, n + 1)).error(rule)
    t = np.linspace(0, 3, 100 * n + 1)
    error = (kernel.profile(t) - rule(t[:, None]))[:-1].reshape(n, 100)
    assert np.all(low <= error.min(axis=1)) and np.all(error.max(axis=1) <= high)
    # Of every cell a hundredth is not seen. Remainders are 1e-4 of the largest error, twice, above
    # and below; a bend of 3 lifts the middle of a quarter of a cell by less than 1e-4.
    assert np.all(high - low <= 1.02 * np.ptp(error, axis=1) + 6e-4 * np.abs(error).max())


def test_noise_adds_up_over_the_factors_of_a_product():
    smoothed = qf.Smoothed(qf.Laplacian(1.0), 0.5)
    product_axis = (smoothed * smoothed).groups(1)[0].kernel.axis(0)
    assert product_axis.noise == 2 * smoothed.axis(0).noise > 0


def test_cells_of_squares_hold_every_gap_of_their_box():
    for width, step in ((2.0, 0.1), (2.0, 0.3), (0.1, 0.3)):
        edges = axis_cells.square_edges(width, step, 100)
        assert edges[0] == 0 and edges[-1] == pytest.approx(width)
        assert np.all(np.diff(edges**2) <= step * (1 + 1e-12))
        t = np.linspace(0, width, 1000)[:-1]
        cell = np.searchsorted(edges, t, side="right") - 1
        assert np.all((cell * step <= t**2 + 1e-12) & (t**2 <= (cell + 1) * step + 1e-12))


def test_in_every_cell_of_equal_k_the_logarithm_falls_by_the_same():
    for kernel in (qf.Gaussian(0.5), qf.Laplacian(1.0), qf.Cauchy(2.0)):
        width, cells = 4.0, 2048
        fall = -np.log(kernel.profile(np.array([width])))[0]
        edges = axis_cells.level_edges(kernel, width, fall / cells)
        assert edges[0] == 0 and edges[-1] == width
        # Falls are interpolated between 4,096 points: twice as many as there are cells.
        np.testing.assert_allclose(
            -np.diff(np.log(kernel.profile(edges))), fall / cells, rtol=0.1, atol=0
        )
