"""Products, solutions and determinants are those of the dense matrices."""

from itertools import product

import numpy as np
import pytest
from scipy import linalg

from quadfeat.numerics.toeplitz import (
    Diagonal,
    Kronecker,
    Toeplitz,
    conjugate_gradients,
    log_determinant,
)


def _dense(generator):
    shape = [(n + 1) // 2 for n in generator.shape]
    index = np.array(list(product(*map(range, shape))))
    gaps = index[:, None] - index[None] + np.array(shape) - 1
    return generator[tuple(np.moveaxis(gaps, -1, 0))]


def _generator(shape, rng):
    """Of the Toeplitz matrix of random points, which is positive semi-definite."""
    axes = [np.arange(2 * n - 1) - (n - 1) for n in shape]
    modes = np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)
    points = rng.uniform(0, 4, (200, len(shape)))
    return np.exp(1j * modes @ points.T).sum(axis=1).reshape([2 * n - 1 for n in shape])


@pytest.mark.parametrize("shape", [(1,), (6,), (4, 5), (3, 2, 4)])
def test_a_product_by_ffts_is_that_of_the_dense_matrix(shape):
    rng = np.random.default_rng(0)
    wide = [2 * n - 1 for n in shape]
    generator = rng.normal(size=wide) + 1j * rng.normal(size=wide)  # not Hermitian
    vectors = rng.normal(size=(3, *shape)) + 0j
    exact = vectors.reshape(3, -1) @ _dense(generator).T
    found = Toeplitz(generator)(vectors).reshape(3, -1)
    np.testing.assert_allclose(found, exact, atol=1e-13 * np.abs(generator).sum())


def test_marginals_are_the_blocks_of_one_axis():
    generator = _generator((3, 4), np.random.default_rng(0))
    dense = _dense(generator).reshape(3, 4, 3, 4)
    operator = Toeplitz(generator)
    np.testing.assert_array_equal(operator.marginal(0), dense[:, 0, :, 0])
    np.testing.assert_array_equal(operator.marginal(1), dense[0, :, 0, :])


def _system(alpha, shape=(6, 5)):
    rng = np.random.default_rng(1)
    operator = Toeplitz(_generator(shape, rng))
    dense = _dense(_generator(shape, np.random.default_rng(1))) + alpha * np.eye(np.prod(shape))
    factors = [operator.marginal(i) / (200.0 if i else 1.0) for i in range(len(shape))]
    every = [Diagonal(np.full(shape, 200.0 + alpha)), Kronecker(factors, 7.0).shifted(alpha)]
    return lambda v: operator(v) + alpha * v, dense, every


@pytest.mark.parametrize("which", [0, 1])
@pytest.mark.parametrize("alpha", [1.0, 30.0])
def test_conjugate_gradients_solve_to_their_tolerance(which, alpha):
    multiply, dense, every = _system(alpha)
    rng = np.random.default_rng(2)
    right = rng.normal(size=(2, 6, 5)) + 1j * rng.normal(size=(2, 6, 5))
    exact = linalg.solve(dense, right.reshape(2, -1).T).T
    options = {"tolerance": 1e-8, "most_steps": 500}
    solved = conjugate_gradients(multiply, right, every[which], **options)
    gap = solved.solution.reshape(2, -1) - exact
    energy = [np.sqrt((v.conj() @ dense @ v).real) for v in gap]
    size = [np.sqrt((v.conj() @ dense @ v).real) for v in exact]
    assert solved.error <= 1e-8 and solved.steps < 500
    assert (np.array(energy) <= 1e-8 * np.array(size)).all()
    again = conjugate_gradients(multiply, right, every[which], start=solved.solution, **options)
    assert again.steps <= solved.steps


def test_conjugate_gradients_tell_the_error_they_stopped_at():
    multiply, _, every = _system(1e-3)
    right = np.random.default_rng(2).normal(size=(1, 6, 5)) + 0j
    solved = conjugate_gradients(multiply, right, every[0], tolerance=1e-8, most_steps=3)
    assert solved.steps == 3 and solved.error > 1e-8


@pytest.mark.parametrize("which", [0, 1])
def test_powers_of_preconditioners_add_up(which):
    _, _, every = _system(0.7)
    near = every[which]
    vectors = np.random.default_rng(3).normal(size=(2, 6, 5)) + 0j
    matrix = near.power(np.eye(30).reshape(30, 6, 5) + 0j, 1.0).reshape(30, 30).T
    halves = near.power(near.power(vectors, -0.5), -0.5).reshape(2, -1)
    np.testing.assert_allclose(halves @ matrix.T, vectors.reshape(2, -1), atol=1e-10)
    assert near.log_determinant() == pytest.approx(np.linalg.slogdet(matrix)[1], rel=1e-10)
    trace = np.trace(np.linalg.inv(matrix)).real
    assert near.inverse_trace() == pytest.approx(trace, rel=1e-10)


@pytest.mark.parametrize("which", [0, 1])
def test_the_log_determinant_is_within_its_standard_error(which):
    multiply, dense, every = _system(0.7)
    probes = np.random.default_rng(4).choice([-1.0, 1.0], (400, 6, 5)) + 0j
    found, spread = log_determinant(multiply, every[which], probes, 30)
    exact = np.linalg.slogdet(dense)[1]
    assert abs(found - exact) <= 5 * spread and spread < 0.1 * abs(exact)
