"""Limits of the share of pairs that err, and what is asked of a confidence."""

import numpy as np
import pytest

from quadfeat.estimates import estimate, share_beyond


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
    found, square = estimate(errors, confidence=0.9, largest=0.1), errors**2
    term = np.log(2 / 0.1)
    limit = square.mean() + np.sqrt(2 * square.var(ddof=1) * term / 50_000)
    limit += 7 * term * 0.1**2 / (3 * 49_999)
    assert found.rms_limit == pytest.approx(np.sqrt(limit), rel=1e-12)
