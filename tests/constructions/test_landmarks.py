"""Laws of landmarks."""

import numpy as np
import pytest

from quadfeat.constructions import landmarks
from quadfeat.constructions.landmarks import LandmarkBasis
from quadfeat.kernels.base import Kernel
from quadfeat.kernels.matern import Matern
from quadfeat.kernels.stationary import Cauchy, Gaussian, Laplacian
from quadfeat.kernels.subsets import Anova

from .expansion_laws import DATA, EPS, landmark_features, landmark_rounding, violations

KERNELS: list[Kernel] = [
    Gaussian(0.05),
    Laplacian(0.05),
    Cauchy(0.05),
    Matern(1.5, 0.05),
    Anova(Gaussian(0.1), [[0, 1], [2, 3, 4]]),
    Gaussian(0.05) + 0.5 * Laplacian(0.1),
]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("compress", [False, True])
def test_landmarks_keep_the_law_for_every_kernel(kernel, compress):
    X = DATA["wine"]
    basis = landmarks.landmarks(kernel, X[::2], 30, np.random.default_rng(0), compress=compress)
    Z = landmark_features(X, kernel, basis)
    assert Z.shape == (len(X), 30)
    assert violations(kernel, X, Z, kernel.at_zero(13) * landmark_rounding(basis)) == 0


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_landmarks_are_exact_on_themselves(kernel):
    basis = landmarks.landmarks(kernel, DATA["wine"], 40, np.random.default_rng(0))
    Z = landmark_features(basis.points, kernel, basis)
    gram = kernel(basis.points)
    # Directions below the cut are left out: at most their size, and rounding.
    cut = len(gram) * EPS * np.linalg.eigvalsh(gram)[-1]
    bound = cut + 4 * gram[0, 0] * landmark_rounding(basis)
    assert np.abs(Z @ Z.T - gram).max() <= bound


@pytest.mark.parametrize("factor", [1.0, 1e3, 1e-3])
def test_points_that_others_imply_to_rounding_are_left_out(factor):
    points, kernel = np.linspace(0, 1, 40)[:, None], factor * Gaussian(0.1)
    basis = landmarks._orthonormal(kernel, points)
    pivots = 1 / np.square(basis.projection.diagonal())  # what each leaves of k(x, x)
    assert pivots.min() >= len(points) * EPS * factor
    Z = landmark_features(points, kernel, basis)
    bound = len(points) * EPS * factor + 4 * factor * landmark_rounding(basis)
    np.testing.assert_allclose(Z @ Z.T, kernel(points), atol=bound)


def test_points_without_a_row_near_them_stay():
    X = 1000.0 * np.arange(1000)[:, None]
    basis = landmarks.landmarks(Gaussian(1.0), X, 5, np.random.default_rng(0))
    assert set(basis.points.ravel()) <= set(X.ravel())


def test_points_that_no_row_resembles_stay():
    points = np.array([[0.0], [1.0]])
    far = np.full((5, 1), 1e6)
    np.testing.assert_array_equal(landmarks._nearest_means(Gaussian(1.0), far, points), points)
    near = np.array([[0.1], [0.3], [0.9]])
    moved = landmarks._nearest_means(Gaussian(1.0), near, points)
    np.testing.assert_allclose(moved, [[0.2], [0.9]])


def test_landmarks_of_a_row_do_not_depend_on_its_neighbours():
    X, kernel = DATA["digits"], Gaussian(0.005)
    basis = landmarks.landmarks(kernel, X, 100, np.random.default_rng(0))
    assert basis.triangular
    whole = landmark_features(X, kernel, basis)
    for rows in (slice(0, 1), slice(7, 9), slice(100, 400)):
        alone = landmark_features(X[rows], kernel, basis)
        np.testing.assert_allclose(alone, whole[rows], atol=landmark_rounding(basis))


def test_landmarks_take_every_projection():
    X, kernel = DATA["wine"], Gaussian(0.05)
    basis = landmarks.landmarks(kernel, X, 30, np.random.default_rng(0))
    values, vectors = np.linalg.eigh(kernel(basis.points))
    root = LandmarkBasis(basis.points, (vectors / np.sqrt(values)) @ vectors.T)
    assert not root.triangular
    ours, theirs = (landmark_features(X, kernel, each) for each in (basis, root))
    bound = 4 * landmark_rounding(basis) + 4 * landmark_rounding(root)
    np.testing.assert_allclose(ours @ ours.T, theirs @ theirs.T, atol=bound)


@pytest.mark.parametrize("seed", range(12, 15))
def test_narrow_kernels_are_compressed_too(seed):
    """Their second moments are all but equal, and some eigensolvers give up on them."""
    X, kernel = np.random.default_rng(seed).normal(size=(300, 5)), Gaussian(20.0)
    basis = landmarks.landmarks(kernel, X, 100, np.random.default_rng(0), compress=True)
    assert basis.projection.shape == (200, 100)
    assert violations(kernel, X, landmark_features(X, kernel, basis)) == 0


def test_landmarks_cope_with_duplicates_and_few_rows():
    X = np.repeat(np.random.default_rng(0).normal(size=(7, 2)), 50, axis=0)
    basis = landmarks.landmarks(Gaussian(0.5), X, 32, np.random.default_rng(0))
    assert len(basis.points) == 7
    Z = landmark_features(X, Gaussian(0.5), basis)
    np.testing.assert_allclose(Z @ Z.T, Gaussian(0.5)(X), atol=1e-9)


@pytest.mark.parametrize("p, n", [(20, 1000), (100, 2000)])
def test_landmarks_are_drawn_from_twenty_rows_each(p, n):
    """Rows that are one of their kind are found where all rows are looked at."""
    X = np.zeros((n, 1))
    X[:: n // 10, 0] = np.arange(10)
    basis = landmarks.landmarks(Gaussian(5.0), X, p, np.random.default_rng(0))
    assert len(basis.points) == 10


def test_landmarks_beat_random_rows_on_clusters():
    X, kernel = DATA["clusters"], Gaussian(0.2)
    rng = np.random.default_rng(0)
    chosen = landmarks.landmarks(kernel, X, 10, rng)
    some = X[rng.choice(len(X), 10, replace=False)]
    drawn = landmarks._orthonormal(kernel, some)
    ours, theirs = (
        np.mean((Z @ Z.T - kernel(X)) ** 2)
        for Z in (landmark_features(X, kernel, basis) for basis in (chosen, drawn))
    )
    assert ours < theirs / 4


def test_the_second_landmark_follows_the_residual_of_the_first():
    """Rows 0, 1 and 2 on a line: the chance of each second row is 1 - k^2, normalised."""
    X, kernel = np.array([[0.0], [0.5], [1.5]]), Gaussian(1.0)
    left = 1 - kernel(X) ** 2
    expected = left / left.sum(axis=1, keepdims=True) / 3
    found = np.zeros((3, 3))
    draws = 4000
    for seed in range(draws):
        first, second = landmarks._pivots(kernel, X, 2, np.random.default_rng(seed))
        found[first, second] += 1 / draws
    assert np.all(np.abs(found - expected) < 5 * np.sqrt(expected / draws) + 1e-12)
