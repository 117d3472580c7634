"""Gradients of kernels by x, over the table in conftest."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.numerics.cosine_transform import CosineTransform

STEP = 1e-5  # central differences of functions of order 1 err by about 1e-10


class Own(qf.Kernel):
    """A kernel of a user's: `profile` and `density` alone."""

    def __init__(self, gamma=1.0):
        self.gamma = gamma

    def profile(self, gap):
        return np.exp(-self.gamma * gap**2)

    def density(self, omega):
        return np.exp(-(omega**2) / (4 * self.gamma)) / np.sqrt(4 * np.pi * self.gamma)


def differences(kernel, X, Y, weights):
    """The slope by central differences of the Gram matrix, (n, t, d)."""
    d = X.shape[1]
    steps = STEP * np.eye(d)
    return np.stack(
        [(kernel(X + e, Y) - kernel(X - e, Y)) @ weights / (2 * STEP) for e in steps], axis=2
    )


def check(kernel, d, rng, tolerance=1e-7):
    X, Y, weights = rng.normal(size=(8, d)), rng.normal(size=(6, d)), rng.normal(size=(6, 3))
    slope, expected = kernel.resolve(X).slope(X, Y, weights), differences(kernel, X, Y, weights)
    assert slope.shape == (8, 3, d)
    assert np.abs(slope - expected).max() <= tolerance * np.abs(expected).max()


@pytest.mark.parametrize("d", [1, 2, 5])
def test_slopes_are_the_derivatives_of_the_kernel(kernel_of, d, rng):
    check(kernel_of(d), d, rng)


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("nu", [0.5, 0.8, 1.0, 1.5, 2.5, 3.3, 20.0])
def test_slopes_of_matern_kernels_hold_for_every_smoothness(nu, product, rng):
    check(qf.Matern(nu, np.array([0.2, 0.3, 0.5]), product=product), 3, rng)


@pytest.mark.parametrize(
    "kernel",
    [
        qf.Matern(1.5, 0.2) * qf.Gaussian(0.1),
        qf.Anova(qf.Laplacian(0.3), [[0], [1, 2]]) * qf.Matern(0.5, 0.2),
        qf.Smoothed(qf.Gaussian(0.3) * qf.Cauchy(0.2), width=0.5),
        2.0 * (qf.Spectral(lambda omega: 1 / (np.pi * (1 + omega**2))) + qf.Laplacian(0.1)),
    ],
    ids=["isotropic", "anova", "smoothed", "spectral"],
)
def test_slopes_of_nested_kernels_follow_the_rules_of_calculus(kernel, rng):
    check(kernel, 3, rng)


@pytest.mark.parametrize("gamma", [1e-9, 0.3, 1e9])
def test_a_kernel_without_a_slope_is_differentiated_numerically(gamma, rng):
    X, Y = (rng.normal(size=(5, 2)) / np.sqrt(gamma) for _ in range(2))
    weights = np.ones((5, 1))
    slope, exact = Own(gamma).slope(X, Y, weights), qf.Gaussian(gamma).slope(X, Y, weights)
    assert np.abs(slope - exact).max() <= 1e-10 * np.abs(exact).max()


@pytest.mark.parametrize("product", [False, True])
def test_a_kink_counts_as_zero(product):
    X = np.zeros((1, 2))
    for kernel in (qf.Laplacian(1.0), qf.Matern(0.5, product=product), qf.Matern(0.3)):
        np.testing.assert_array_equal(kernel.slope(X, X, np.ones((1, 1))), 0)


def test_far_rows_have_the_slope_zero():
    X = np.array([[1e9, 0.0], [1e200, -1e200]])
    for kernel in (qf.Gaussian(1.0), qf.Laplacian(1.0), qf.Matern(1.5), qf.Matern(1.7)):
        np.testing.assert_array_equal(kernel.slope(X, np.zeros((3, 2)), np.ones((3, 1))), 0)


def test_slopes_in_blocks_are_those_of_single_rows(rng):
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(2000, 2))
    weights = rng.normal(size=(2000, 2))
    for kernel in (qf.Gaussian(0.3), qf.Laplacian(0.3)):
        slope = kernel.slope(X, Y, weights)
        for i in (0, 299):
            single = kernel.slope(X[i : i + 1], Y, weights)
            assert np.abs(slope[i] - single[0]).max() <= 1e-11 * np.abs(slope).max()


def test_slopes_keep_their_digits_far_from_zero(rng):
    X, Y, weights = rng.normal(size=(9, 3)), rng.normal(size=(5, 3)), rng.normal(size=(5, 1))
    for kernel in (qf.Gaussian(0.3), qf.Matern(1.5, 0.3)):
        near, far = (kernel.slope(X + a, Y + a, weights) for a in (0.0, 2.0**20))
        assert np.abs(near - far).max() <= 2.0**20 * 1e-14 * np.abs(near).max()


@pytest.mark.parametrize(
    ("density", "slope"),
    [
        (lambda t: 1 / (np.pi * (1 + t**2)), lambda u: -np.exp(-u)),
        (lambda t: 2 / (np.pi * (1 + t**2) ** 2), lambda u: -u * np.exp(-u)),
        (lambda t: np.exp(-np.abs(t)) / 2, lambda u: -2 * u / (1 + u**2) ** 2),
    ],
    ids=["heavy", "fourth-power", "light"],
)
@pytest.mark.parametrize("n", [50, 1000])
def test_the_slope_of_a_transform_is_that_of_its_closed_form(density, slope, n):
    gaps = np.linspace(1e-6, 30.0, n)
    assert np.abs(CosineTransform(density).slope(gaps) - slope(gaps)).max() <= 1e-12
