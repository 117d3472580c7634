"""The likelihood of targets by landmarks: what it is, and its derivatives."""

import numpy as np
import pytest

from quadfeat.numerics.evidence import Evidence


@pytest.fixture
def problem(rng):
    X = rng.normal(size=(40, 3))
    weight = rng.uniform(0.5, 2.0, size=40)
    Y = np.stack([np.sin(2 * X[:, 0]), X[:, 1] ** 2 + 0.1 * rng.normal(size=40)], axis=1)
    cross = np.exp(-((X[:, None] - X[None, :9]) ** 2).sum(axis=2))
    return cross, Y, np.sqrt(weight / weight.mean())


def test_with_every_row_a_landmark_it_is_the_likelihood_of_a_gaussian_process(rng):
    X, noise = rng.normal(size=(30, 2)), 0.2
    y = np.sin(X).sum(axis=1)
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2))
    # The restricted likelihood: of contrasts that the intercept does not touch.
    contrasts = np.linalg.svd(np.ones((30, 1)))[0][:, 1:]
    K = contrasts.T @ gram @ contrasts / noise + np.eye(29)
    z = contrasts.T @ y
    expected = 29 / 2 * np.log(z @ np.linalg.solve(K, z) / 29) + np.linalg.slogdet(K)[1] / 2
    found = Evidence(gram, gram, y[:, None], np.ones(30), np.log(noise)).value
    # A jitter of 1e-6 of k(0) moves the eigenvalues of the gram by as much, beside noise of 0.2.
    assert found == pytest.approx(expected / 30, abs=1e-4)


def test_derivatives_are_those_of_the_value(problem, rng):
    cross, Y, root_weight = problem
    between = np.exp(-rng.uniform(0.5, 2.0)) * cross[:9] + np.eye(9)
    between = (between + between.T) / 2
    found = Evidence(cross, between, Y, root_weight, -1.0)
    by_cross, by_between = rng.normal(size=cross.shape), rng.normal(size=between.shape)
    by_between += by_between.T
    h = 1e-6

    def value(step):
        moved = cross + step * by_cross, between + step * by_between
        return Evidence(*moved, Y, root_weight, -1.0 + step).value

    expected = (
        np.vdot(found.by_cross, by_cross)
        + np.vdot(found.by_landmarks, by_between)
        + found.by_log_noise
    )
    assert (value(h) - value(-h)) / (2 * h) == pytest.approx(expected, abs=1e-8)


def test_an_intercept_and_the_unit_of_targets_do_not_matter(problem):
    cross, Y, root_weight = problem
    between = cross[:9]
    one = Evidence(cross, between, Y, root_weight, -2.0)
    other = Evidence(cross, between, 100 * Y + 7, root_weight, -2.0)
    unit = np.log(100) * 39 / 40
    assert other.value - unit == pytest.approx(one.value, abs=1e-9)
    np.testing.assert_allclose(other.by_cross, one.by_cross, atol=1e-9)


def noiseless(rng, n=120):
    """A smooth function of rows that are their own landmarks, and the least noise searched for."""
    X = rng.normal(size=(n, 2))
    return X, np.sin(X[:, :1] - X[:, 1:]), -18.0


def test_without_noise_derivatives_are_still_those_of_the_value(rng):
    X, Y, log_noise = noiseless(rng)
    weight = np.ones(len(X))

    def gram(log_scale):
        return np.exp(-np.exp(2 * log_scale) * ((X[:, None] - X) ** 2).sum(axis=2) / 2)

    K = gram(0.0)
    slope = 2 * K * np.log(K)  # of the gram by the log of the inverse length scale
    found = Evidence(K, K, Y, weight, log_noise)
    expected = np.vdot(found.by_cross + found.by_landmarks, slope)
    h = 1e-4
    ends = (Evidence(gram(step), gram(step), Y, weight, log_noise).value for step in (h, -h))
    # Rounding of the value (1e-16 by the noise of 1.5e-8, some 1e-8) by 2 h.
    assert np.subtract(*ends) / (2 * h) == pytest.approx(expected, abs=1e-3)
    assert abs(expected) > 0.05


def test_without_noise_the_likelihood_is_not_one_of_rounding(rng):
    X, Y, log_noise = noiseless(rng)
    gram = np.exp(-((X[:, None] - X) ** 2).sum(axis=2) / 2)
    one = Evidence(gram, gram, Y, np.ones(len(X)), log_noise)
    # Roots of weights that are 1 but for their last bits, as after a division by their mean.
    rounded = 1.0 + np.finfo(float).eps * rng.integers(-2, 3, size=len(X))
    assert Evidence(gram, gram, Y, rounded, log_noise).value == pytest.approx(one.value, abs=1e-6)
