"""Kernels made of kernels: their slopes, and what they are on some of the axes."""

import numpy as np
import pytest

import quadfeat as qf


@pytest.mark.parametrize("swapped", [False, True])
def test_a_product_of_groups_with_other_axes_has_the_slopes_of_its_values(swapped, rng):
    X, Y = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    parts = qf.Anova(qf.Gaussian(0.3), [[0], [1, 2]]), qf.Anova(qf.Gaussian(0.2), [[0, 1], [1, 2]])
    kernel = parts[not swapped] * parts[swapped]
    step = 1e-6
    for group in kernel.groups(3):
        x, y = X[:, group.axes], Y[:, group.axes]
        for i, slope in enumerate(group.kernel.group_derivatives(x, y)):
            moved = np.eye(x.shape[1])[i] * step
            up, down = (group.kernel.group_gram(x + sign * moved, y) for sign in (1, -1))
            np.testing.assert_allclose(slope, (up - down) / (2 * step), atol=1e-8)


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
