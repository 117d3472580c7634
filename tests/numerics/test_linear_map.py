"""Rows times a matrix, in their precision, and far rows stay far."""

import numpy as np
import pytest

from quadfeat.numerics.linear_map import LinearMap


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
@pytest.mark.parametrize("shape", [(1, 3), (3, 3), (5, 3)])
def test_images_are_products_in_the_precision_of_the_rows(shape, dtype, rng):
    matrix, X = rng.normal(size=shape), rng.normal(size=(20, 3)).astype(dtype)
    image = LinearMap(matrix)(X)
    assert image.dtype == dtype and not np.shares_memory(image, X)
    np.testing.assert_array_equal(image, X @ matrix.astype(dtype).T)


@pytest.mark.parametrize("dtype", [np.float64, np.float32])
def test_a_diagonal_matrix_scales_columns_to_the_bit(dtype, rng):
    X, scale = rng.normal(size=(20, 3)).astype(dtype), np.array([0.1, 0.0, -3.0])
    np.testing.assert_array_equal(LinearMap(np.diag(scale))(X), X * scale.astype(dtype))
    one = LinearMap(np.diag(scale))(X[:1])
    np.testing.assert_array_equal(one, LinearMap(np.diag(scale))(X)[:1])


def test_a_permutation_moves_columns_to_the_bit(rng):
    X, order = rng.normal(size=(20, 5)), rng.permutation(5)
    np.testing.assert_array_equal(LinearMap(np.eye(5)[order])(X), X[:, order])


@pytest.mark.parametrize("matrix", [[[1e10, -1e10]], [[1e10, 0.0], [0.0, -1e10]]])
def test_images_that_overflow_are_the_largest_numbers(matrix):
    image = LinearMap(np.array(matrix))(np.array([[1e300, 1e300], [1.0, 2.0]]))
    assert np.isfinite(image).all() and np.abs(image[0]).max() == np.finfo(np.float64).max
    assert np.abs(image[1]).max() <= 2e10
