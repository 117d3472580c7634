"""Limits of errors on pairs: as often true as they say, for the population they name."""

from functools import cache

import numpy as np
import pytest
from scipy import stats

import quadfeat as qf
from quadfeat.accuracy.estimate import draw_pairs, estimate, share_beyond
from quadfeat.constructions import randomized
from quadfeat.kernels.stationary import Gaussian


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_what_exceeds_the_largest_seen_is_a_share_of_which_none_was_seen(confidence, rng):
    errors = rng.uniform(size=200)
    found = estimate(errors, confidence=confidence)
    none_seen = share_beyond(errors, found.largest, confidence=confidence)
    assert found.beyond == pytest.approx(none_seen, rel=1e-9)
    # A share that large shows itself among 200 pairs with just this confidence.
    assert 1 - (1 - found.beyond) ** 200 == pytest.approx(confidence, rel=1e-9)


@pytest.mark.parametrize("confidence", [-0.1, 0.0, 1.0, 1.5])
def test_a_confidence_is_strictly_between_zero_and_one(confidence):
    with pytest.raises(ValueError, match="confidence must be between 0 and 1"):
        estimate([0.1, 0.2], confidence=confidence)


def test_the_limit_of_the_rms_is_the_empirical_bernstein_bound(rng):
    errors = rng.uniform(-0.1, 0.1, size=50_000)
    found, square = estimate(errors, confidence=0.9, bound=0.1), errors**2
    term = np.log(2 / 0.1)
    limit = square.mean() + np.sqrt(2 * square.var(ddof=1) * term / 50_000)
    limit += 7 * term * 0.1**2 / (3 * 49_999)
    assert found.rms_limit == pytest.approx(np.sqrt(limit), rel=1e-12)


def test_an_error_without_a_bound_leaves_the_rms_without_a_limit_but_not_the_quantiles(rng):
    errors = rng.uniform(size=200)
    found = estimate(errors, bound=np.inf)
    assert found.rms_limit == np.inf
    assert found.quantile_limits[0.9] == estimate(errors).quantile_limits[0.9] <= 1
    assert "without a bound" in repr(found)
    assert "never above 2" in repr(estimate(errors))


def test_pairs_are_of_different_rows_and_each_is_as_likely(rng):
    pairs = draw_pairs(3, 6000, rng)
    counts = np.bincount(3 * pairs.left + pairs.right, minlength=9).reshape(3, 3)
    assert np.all(np.diag(counts) == 0)
    # Each of six has 1000 on average: five standard deviations.
    assert np.abs(counts[~np.eye(3, dtype=bool)] - 1000).max() < 5 * np.sqrt(1000 * 5 / 6)


# --- coverage ------------------------------------------------------------------------------------
MAPS = {
    "dense": lambda: qf.DenseGrid(qf.Gaussian(0.5), n_points=6),
    "sparse-signed": lambda: qf.SparseGrid(qf.Gaussian(0.5), level=2, weights="signed"),
    "random": lambda: qf.RandomFourier(qf.Gaussian(0.5), n_components=256, random_state=0),
    "hermite-mercer": lambda: qf.HermiteMercer(qf.Gaussian(0.5), n_components=40),
    "landmarks": lambda: qf.Landmarks(qf.Gaussian(0.5), n_components=40, random_state=0),
    "front-door": lambda: qf.KernelFeatures(qf.Gaussian(0.5), n_components=32, random_state=0),
}
QUANTILES = (0.5, 0.9, 0.99, 0.999)
_N, _DRAWS = 1000, 60


def _one_far_row(rng):
    X = 0.3 * rng.normal(size=(_N, 2))
    X[0] = [40.0, 25.0]
    return X


POPULATIONS = {
    "one far row": _one_far_row,
    "heavy tails": lambda rng: 0.3 * rng.standard_t(1.2, size=(_N, 2)),
}


@cache
def fitted(name):
    return MAPS[name]().fit(0.3 * np.random.default_rng(1).normal(size=(300, 2)))


@pytest.mark.parametrize("population", POPULATIONS)
@pytest.mark.parametrize("name", MAPS)
def test_limits_for_new_rows_hold_as_often_as_they_say_in_a_population_with_far_rows(
    name, population
):
    features, rows = fitted(name), POPULATIONS[population](np.random.default_rng(0))
    every = np.abs(features.approximate_kernel(rows) - features.kernel_(rows))
    rms = np.sqrt(np.mean(every**2))
    levels = [np.quantile(every, q, method="inverted_cdf") for q in QUANTILES]
    misses = np.zeros(2 + len(QUANTILES))
    for seed in range(_DRAWS):
        # Rows drawn with replacement: independent, and every pair as likely as any other.
        some = rows[np.random.default_rng(seed).integers(_N, size=300)]
        found = features.error(some, n_pairs=150, random_state=_DRAWS + seed)
        assert found.population == "pairs of new rows like these"
        assert every.max() <= found.bound
        misses += [
            found.rms_limit < rms,
            np.mean(every > found.largest) > found.beyond,
            *(found.quantile_limits[q] < level for q, level in zip(QUANTILES, levels, strict=True)),
        ]
    # At 95% confidence: no more misses than all but one in a thousand such counts have.
    assert misses.max() <= stats.binom.ppf(0.999, _DRAWS, 0.05)


@pytest.mark.parametrize("name", MAPS)
def test_limits_for_these_rows_hold_as_often_as_they_say_with_a_far_row_among_them(name):
    features, rows = fitted(name), _one_far_row(np.random.default_rng(0))[:200]
    every = np.abs(features.approximate_kernel(rows) - features.kernel_(rows))
    every = every[~np.eye(200, dtype=bool)]
    rms, misses = np.sqrt(np.mean(every**2)), 0
    bound = features._largest_error(rows, rows)
    assert every.max() <= bound
    for seed in range(_DRAWS):
        pairs = np.random.default_rng(seed).choice(every, 300)
        misses += estimate(pairs, bound=bound).rms_limit < rms
    assert misses <= stats.binom.ppf(0.999, _DRAWS, 0.05)
    found = features.error(rows, n_pairs=101)
    assert found.population == "pairs of these 200 rows"
    assert found.bound == max(bound, found.largest)


def test_a_bound_for_new_rows_is_of_all_rows_and_that_for_these_rows_as_small_as_they_allow():
    near = 0.3 * np.random.default_rng(2).normal(size=(400, 2))
    bounds = {"dense": 2.0, "random": 2.0, "hermite-mercer": 1.0, "landmarks": 1.0}
    for name, bound in bounds.items():
        features = fitted(name)
        assert features.error(near, n_pairs=200).bound == pytest.approx(bound, abs=1e-6)
        assert features.error(near, n_pairs=201).bound <= bound
        assert features.error(near[:200], near[200:], n_pairs=200).bound <= bound
        if name != "random":  # nothing cheap is proven of it
            assert features.error(near, n_pairs=201).bound < 0.3
    signed = fitted("sparse-signed")
    mass = np.abs(signed.rule_.weights).sum()
    assert signed.error(near, n_pairs=200).bound == pytest.approx(1 + mass)


@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_limits_hold_as_often_as_they_say(confidence):
    rng = np.random.default_rng(0)
    held = np.zeros(3)
    true_rms, q90 = 0.1 * np.sqrt(1 / 3), 0.09
    for _ in range(1000):
        errors = 0.1 * rng.uniform(-1, 1, size=500)
        found = estimate(errors, confidence=confidence, bound=0.1, quantiles=(0.9,))
        held += [
            found.rms_limit >= true_rms,
            found.quantile_limits[0.9] >= q90,
            share_beyond(errors, 0.08, confidence=confidence) >= 0.2,
        ]
    spread = 3 * np.sqrt(confidence * (1 - confidence) / 1000)
    assert np.all(held / 1000 >= confidence - min(spread, 0.02))
    # Quantiles and shares are exact up to the jumps of a binomial variable, so not far above.
    assert np.all(held[1:] / 1000 <= confidence + spread + 0.03)


def test_limits_hold_for_skewed_errors_of_a_real_map():
    rng = np.random.default_rng(1)
    kernel = Gaussian(0.5)
    rule = randomized.random(kernel, 64, 3, rng)
    X = rng.normal(size=(400, 3))
    gaps = (X[:, None] - X[None]).reshape(-1, 3)
    every = (kernel.at(gaps) - rule(gaps)).reshape(400, 400)
    everyone = every[~np.eye(400, dtype=bool)]
    true = np.sqrt((everyone**2).mean()), np.quantile(np.abs(everyone), 0.99)
    held = np.zeros(2)
    for _ in range(1000):
        pairs = draw_pairs(400, 1000, rng)
        found = estimate(every[pairs.left, pairs.right], quantiles=(0.99,))
        held += [found.rms_limit >= true[0], found.quantile_limits[0.99] >= true[1]]
    assert np.all(held >= 930)


def test_the_limit_of_the_rms_is_within_twice_the_rms():
    rng = np.random.default_rng(0)
    found = estimate(0.03 * rng.normal(size=100_000))
    assert found.rms_limit <= 2 * found.rms
    proven = estimate(np.clip(1e-6 * rng.normal(size=100_000), -1e-5, 1e-5), bound=1e-5)
    assert proven.rms_limit <= 1.1 * proven.rms


def test_pairs_say_what_they_are_a_sample_of():
    rng = np.random.default_rng(0)
    few = draw_pairs(100, 50, rng)
    assert "new rows" in few.population
    assert len(np.unique(np.concatenate([few.left, few.right]))) == 100
    many = draw_pairs(100, 51, rng)
    assert many.population == "pairs of these 100 rows"
    assert np.all(many.left != many.right)
    text = repr(estimate([0.1, 0.2], population=many.population))
    assert text.startswith("Estimate from 2 pairs of these 100 rows, limits at 95%")


def test_too_few_pairs_leave_the_proven_range():
    found = estimate([0.1, 0.2], bound=0.3)
    assert found.rms_limit == 0.3
    assert set(found.quantile_limits.values()) == {0.3}
    with pytest.raises(ValueError, match="exceeds bound"):
        estimate([0.1, 0.4], bound=0.3)


def test_a_map_without_error_is_estimated_as_such():
    found = estimate(np.zeros(100), bound=0.0)
    assert found.rms == found.rms_limit == found.largest == 0.0
    assert set(found.quantile_limits.values()) == {0.0}


def test_fewer_than_two_rows_make_no_pair(rng):
    with pytest.raises(ValueError, match="pairs need at least two rows, got 1"):
        draw_pairs(1, 5, rng)
    pairs = draw_pairs(2, 5, rng)
    assert (pairs.left != pairs.right).all()


@pytest.mark.parametrize("errors", [[0.1], [0.1, np.nan], [0.1, np.inf]])
def test_an_estimate_needs_two_finite_errors(errors):
    with pytest.raises(ValueError, match="at least 2 finite numbers"):
        estimate(np.array(errors))
