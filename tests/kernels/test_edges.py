"""Kernels of data at the edge of the numbers, and of parts that do not fit."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.kernels.given import FunctionKernel, Precomputed

CHAIN = [[0, 1], [1, 2]]


@pytest.mark.parametrize("swapped", [False, True])
def test_a_product_of_groups_with_other_axes_has_the_slopes_of_its_values(swapped, rng):
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    parts = qf.Anova(qf.Gaussian(0.3), [[0], [1, 2]]), qf.Anova(qf.Gaussian(0.2), CHAIN)
    kernel = parts[not swapped] * parts[swapped]
    step = 1e-6
    for group in kernel.groups(3):
        x, y = X[:, group.axes], Y[:, group.axes]
        for i, slope in enumerate(group.kernel.group_derivatives(x, y)):
            moved = np.eye(x.shape[1])[i] * step
            up, down = (group.kernel.group_gram(x + sign * moved, y) for sign in (1, -1))
            np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=1e-8)


@pytest.mark.parametrize(
    ("gamma", "X", "words"),
    [
        ("scale", [[1e200], [-1e200]], "'scale' needs the variance of X, which overflows"),
        ("median", [[1e200], [-1e200]], "'median' needs distances that do not overflow"),
        ("median", [[1e-200], [-1e-200]], "'median' needs distances that do not underflow"),
    ],
)
def test_a_scale_that_no_number_holds_is_refused(gamma, X, words):
    with pytest.raises(ValueError, match=words):
        qf.Gaussian(gamma).resolve(np.array(X))
    assert qf.Gaussian(gamma).resolve(np.ones((3, 1))).gamma > 0  # one distinct row


def test_weights_and_bases_that_do_not_fit_are_refused(rng):
    X = rng.normal(size=(4, 3))
    with pytest.raises(ValueError, match="weights has 3 values for 2 subsets"):
        qf.Anova(qf.Gaussian(0.3), CHAIN, weights=[1.0, 2.0, 3.0]).resolve(X)
    with pytest.raises(TypeError, match="base must be a Kernel"):
        qf.Convolution((3,), 2, base="gaussian").resolve(X)
    with pytest.raises(ValueError, match="shape=4 means 4 columns, but X has 3"):
        qf.Convolution(4, 2, base=qf.Gaussian(0.3)).resolve(X)


def test_a_function_as_a_kernel_must_be_finite():
    X = np.arange(3.0)[:, None]
    kernel = FunctionKernel(lambda x, y: float(x @ y))
    np.testing.assert_array_equal(kernel.gram(X, X), X @ X.T)
    np.testing.assert_array_equal(kernel.diagonal(X), [0.0, 1.0, 4.0])
    with (
        np.errstate(divide="ignore"),
        pytest.raises(ValueError, match="must return finite numbers"),
    ):
        FunctionKernel(lambda x, y: np.float64(1.0) / (x @ y)).gram(X, X)
    gram = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_array_equal(Precomputed.diagonal(None, gram), [2.0, 3.0])


@pytest.mark.parametrize(
    "make", [lambda k: 0.5 * k, lambda k: k * k, lambda k: qf.Smoothed(k, 0.5)]
)
def test_a_kernel_of_some_axes_is_that_of_these_columns_alone(make, rng):
    X, Y = rng.normal(size=(6, 3)), rng.normal(size=(5, 3))
    kernel, axes = make(qf.Laplacian(np.array([0.2, 0.5, 0.9]))), np.array([2, 0])
    part = make(qf.Laplacian(np.array([0.9, 0.2])))
    np.testing.assert_allclose(
        kernel.restrict(axes)(X[:, axes], Y[:, axes]), part(X[:, axes], Y[:, axes]), rtol=1e-12
    )
