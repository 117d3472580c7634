"""Moments of rows and their principal directions."""

from __future__ import annotations

import numpy as np
import pytest

from quadfeat.numerics import principal_frame

from ..constructions.expansion_laws import DATA


def test_moments_of_blocks_are_those_of_all_rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(9000, 4)) * [1, 2, 3, 4]
    found = principal_frame.moments(X)
    np.testing.assert_allclose(found.mean, X.mean(axis=0), atol=1e-14)
    np.testing.assert_allclose(found.scatter / found.n, np.cov(X.T, bias=True), rtol=1e-12)


def test_moments_of_some_rows_are_those_of_these_rows_alone():
    rng = np.random.default_rng(0)
    X, keep = rng.normal(size=(9000, 4)), rng.random(9000) < 0.5
    keep[4096:8192] = False  # a whole block
    found, alone = principal_frame.moments(X, keep.astype(float)), principal_frame.moments(X[keep])
    assert found.n == alone.n == keep.sum()
    np.testing.assert_allclose(found.mean, alone.mean, atol=1e-15)
    np.testing.assert_allclose(found.scatter, alone.scatter, rtol=1e-12, atol=1e-10)


def test_a_row_of_weight_three_counts_as_three():
    rng = np.random.default_rng(0)
    X, weights = rng.normal(size=(5000, 4)) + 7.0, rng.integers(0, 4, size=5000)
    found = principal_frame.moments(X, weights.astype(float))
    repeated = principal_frame.moments(np.repeat(X, weights, axis=0))
    assert found.n == repeated.n
    np.testing.assert_allclose(found.mean, repeated.mean, rtol=1e-13)
    np.testing.assert_allclose(found.scatter, repeated.scatter, rtol=1e-12, atol=1e-9)


def test_moments_of_no_row_are_refused():
    for X, weights in ((np.empty((0, 2)), None), (np.ones((3, 2)), np.zeros(3))):
        with pytest.raises(ValueError, match="moments needs at least one row"):
            principal_frame.moments(X, weights)


def test_a_large_mean_costs_no_digits_of_the_scatter():
    X = np.random.default_rng(0).normal(size=(9000, 3))
    shifted = (X + 2.0**26) - 2.0**26  # what is left of X at that height
    # The mean of a block is rounded to 2^26 eps = 1.5e-8, and enters the scatter squared.
    near, far = principal_frame.moments(shifted), principal_frame.moments(shifted + 2.0**26)
    np.testing.assert_allclose(far.scatter / 9000, near.scatter / 9000, atol=1e-12)


def principal(X):
    return principal_frame.frame(principal_frame.moments(X), np.ones(X.shape[1])).directions


def is_permutation(directions):
    return np.array_equal(np.sort(directions, axis=0)[-1], np.ones(len(directions))) and (
        np.count_nonzero(directions) == len(directions)
    )


@pytest.mark.parametrize("spread", ["equal", "falling", "heavy-tailed"])
@pytest.mark.parametrize(("n", "d"), [(50, 3), (50, 200), (2000, 8), (4000, 100)])
def test_axes_that_are_not_correlated_are_directions(n, d, spread):
    draws = {
        "equal": lambda rng: rng.normal(size=(n, d)),
        "falling": lambda rng: rng.normal(size=(n, d)) / np.arange(1, d + 1),
        "heavy-tailed": lambda rng: rng.standard_t(3, size=(n, d)),
    }
    kept = [is_permutation(principal(draws[spread](np.random.default_rng(i)))) for i in range(10)]
    assert sum(kept) >= 9  # three deviations


def test_axes_that_are_correlated_are_turned_and_then_stay():
    for name in ("cancer", "cancer5", "digits", "wine"):
        X = DATA[name]
        turned = principal(X)
        assert not is_permutation(turned)
        assert is_permutation(principal(X @ turned))


@pytest.mark.parametrize(("n", "d"), [(25, 10), (100, 100), (200, 100)])
def test_one_wide_pair_of_correlated_axes_is_seen_among_many(n, d):
    X = np.random.default_rng(0).normal(size=(n, d))
    X[:, 1] = X[:, 0] + 0.02 * X[:, 1]
    X[:, :2] *= 30
    assert not is_permutation(principal(X))
