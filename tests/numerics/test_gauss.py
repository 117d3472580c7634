"""Gauss rules: of the normal against 40 digits, and recurrences against exact ones.

The digits are those of `tables/make_hermite_table.py`.
"""

import functools
import lzma
import math
from decimal import Decimal
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

from quadfeat._typing import Floats
from quadfeat.numerics import panels
from quadfeat.numerics.gauss import gauss_hermite, stieltjes, symmetric_gauss

TABLE = Path(__file__).parents[1] / "tables" / "hermite.txt.xz"
SIZES = [*range(1, 301), 372, 500, 1000, 2000]
# About 3n roundings go into a weight and average out: sqrt(3n) eps / 2 is 9e-15 at n = 2000.
WEIGHT_TOLERANCE = 2e-14
SMALLEST = 2.0**-1074  # the spacing of subnormal numbers

# 40-digit numbers as their nearest doubles and what those leave over, 32 digits together.
Pair = tuple[Floats, Floats]

rule = functools.cache(gauss_hermite)


def as_pair(numbers: list[str]) -> Pair:
    high = [float(number) for number in numbers]
    low = [float(Decimal(s) - Decimal(x)) for s, x in zip(numbers, high, strict=True)]
    return np.array(high), np.array(low)


@functools.cache
def table() -> dict[int, tuple[Pair, Pair]]:
    """Non-negative nodes and their weights, for each n."""
    columns: dict[int, tuple[list[str], list[str]]] = {}
    with lzma.open(TABLE, "rt", encoding="ascii") as lines:
        for line in lines:
            n, _, node, weight = line.split()
            nodes, weights = columns.setdefault(int(n), ([], []))
            nodes.append(node)
            weights.append(weight)
    return {n: (as_pair(nodes), as_pair(weights)) for n, (nodes, weights) in columns.items()}


def test_table_holds_half_of_every_rule():
    assert {n: len(nodes) for n, ((nodes, _), _) in table().items()} == {
        n: (n + 1) // 2 for n in SIZES
    }


@pytest.mark.parametrize("n", SIZES)
def test_nodes_are_the_nearest_doubles(n):
    nodes, _ = rule(n)
    (nearest, left_over), _ = table()[n]
    ulps = (nodes[n // 2 :] - nearest - left_over) / np.spacing(nearest)
    assert np.abs(ulps).max() <= 0.5


@pytest.mark.parametrize("n", SIZES)
def test_weights_are_right_or_too_small_for_a_double(n):
    _, weights = rule(n)
    _, (nearest, left_over) = table()[n]
    error = np.abs(weights[n // 2 :] - nearest - left_over)
    assert np.all(error <= WEIGHT_TOLERANCE * nearest + SMALLEST)


@pytest.mark.parametrize("n", SIZES)
def test_rules_mirror_to_the_last_bit_and_sum_to_one(n):
    nodes, weights = rule(n)
    assert nodes.shape == weights.shape == (n,)
    assert np.all(np.diff(nodes) > 0)
    assert np.array_equal(nodes, -nodes[::-1])
    assert np.array_equal(weights, weights[::-1])
    assert not np.any(np.signbit(nodes[n // 2 :]))  # a middle node is 0.0, not -0.0
    assert abs(math.fsum(weights) - 1.0) <= WEIGHT_TOLERANCE


@pytest.mark.parametrize("n", [1, 2, 372, 2000])
def test_no_floating_point_flag_escapes(n):
    with np.errstate(all="raise"):
        gauss_hermite(n)


# --- recurrences of finely discretised densities
def fine_half_line(edge: float, n_panels: int) -> tuple[Floats, Floats]:
    """Composite 20-point Gauss-Legendre rule on [0, edge]."""
    nodes, weights = np.polynomial.legendre.leggauss(20)
    half = edge / n_panels / 2
    centres = half * (2 * np.arange(n_panels) + 1)
    return (centres[:, None] + half * nodes).ravel(), np.tile(half * weights, n_panels)


def laplace(n: int) -> Floats:
    """`stieltjes` for the density exp(-|x|) / 2, cut where the n-th polynomial is spent."""
    nodes, weights = fine_half_line(700.0, 200)
    return stieltjes(nodes, weights * np.exp(-nodes), n)


def chebyshev(moments: list[int]) -> list[Fraction]:
    """beta_1, ..., beta_{n-1} from the even moments m_0, ..., m_{2n-2}, in exact arithmetic."""
    n = len(moments)
    before = [Fraction(0)] * (2 * n)
    row = [Fraction(m) for moment in moments for m in (moment, 0)]
    betas = [Fraction(0)]
    for k in range(1, n):
        # row[l] is the integral of p_{k-1} x^l; it starts at l = k - 1.
        before, row = row, [row[i + 1] - betas[-1] * before[i] for i in range(2 * n - k)]
        betas.append(row[k] / before[k - 1])
    return betas[1:]


def test_normal_density_has_the_integers():
    nodes, weights = fine_half_line(37.0, 200)
    beta = stieltjes(nodes, weights * np.exp(-(nodes**2) / 2), 128)
    np.testing.assert_allclose(beta, np.arange(1, 128), rtol=1e-14)


def test_laplace_density_has_its_exact_coefficients():
    exact = chebyshev([math.factorial(2 * k) for k in range(128)])
    np.testing.assert_allclose(laplace(128), [float(b) for b in exact], rtol=1e-14)


@pytest.mark.parametrize("n", [1, 2, 9, 64])
def test_laplace_gauss_rule_has_all_its_moments(n):
    nodes, weights = symmetric_gauss(laplace(n), n)
    for k in range(n):
        moment = weights @ (nodes / (2 * n)) ** (2 * k)
        exact = float(Fraction(math.factorial(2 * k), (2 * n) ** (2 * k)))
        # A node's relative error counts 2k times.
        assert abs(moment / exact - 1) <= (2 * k + 10) * 1e-15


def test_as_many_nodes_as_the_measure_return_the_measure():
    fine, mass = np.array([0.0, 0.3, 1.0, 1.5, 4.0]), np.array([0.3, 0.1, 0.2, 0.25, 0.15])
    nodes, weights = symmetric_gauss(stieltjes(fine, mass, 9), 9)
    np.testing.assert_allclose(nodes[4:], fine, rtol=1e-14)
    np.testing.assert_allclose(2 * weights[5:], mass[1:], rtol=1e-13)


def test_a_density_without_mass_has_no_cutoff():
    for density in (np.zeros_like, lambda omega: np.full_like(omega, np.inf)):
        with pytest.raises(
            ValueError, match="must be positive somewhere and finite away from zero"
        ):
            panels.find_cutoff(density, 0)
