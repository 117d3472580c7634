"""Gauss rules of the standard normal against `tables/make_hermite_table.py`'s 40 digits."""

import functools
import lzma
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest

from quadfeat._typing import Floats
from quadfeat.numerics.gauss import gauss_hermite

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
