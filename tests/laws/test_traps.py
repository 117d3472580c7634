"""Mistakes found in other implementations of feature maps, each as a test."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.constructions import randomized

CROSS = np.array([[1.0, -1.0], [0.0, 0.0], [0.7, 0.9], [-1.2, 0.4]])


def test_grids_are_halved_after_they_are_multiplied_out():
    # Half of the nodes of each axis, multiplied out, miss the mixed signs: an error of 0.36.
    features = qf.DenseGrid(qf.Gaussian(0.5), n_points=12).fit(CROSS)
    np.testing.assert_allclose(
        features.approximate_kernel(CROSS), qf.Gaussian(0.5)(CROSS), atol=1e-6
    )


def test_draws_by_weight_are_not_weighted_again(rng):
    X = rng.normal(size=(50, 4))
    kernel = qf.Gaussian(0.2)
    fitted = qf.SubsampledGrid(kernel, n_components=20_000, n_points=7, random_state=0).fit(X)
    # 10,000 draws of a cosine: five standard errors are 0.05, and the 7-point grid itself errs.
    grid = qf.DenseGrid(kernel, n_points=7, rule="gauss").fit(X)
    assert np.abs(fitted.approximate_kernel(X) - grid.approximate_kernel(X)).max() < 0.05


def test_features_carry_the_root_of_the_weights(rng):
    X = rng.normal(size=(10, 2))
    fitted = qf.DenseGrid(qf.Gaussian(0.3), n_points=4, rule="gauss").fit(X)
    np.testing.assert_allclose((fitted.transform(X) ** 2).sum(axis=1), 1.0, atol=1e-14)


@pytest.mark.parametrize("draw", [randomized.orthogonal, randomized.structured])
def test_orthogonal_frequencies_are_orthogonal_and_have_the_right_lengths(draw, rng):
    d = 16
    nodes = draw(qf.Gaussian(0.5), d, d, rng).nodes
    lengths = np.linalg.norm(nodes, axis=1)
    cosines = (nodes / lengths[:, None]) @ (nodes / lengths[:, None]).T
    np.testing.assert_allclose(cosines, np.eye(d), atol=1e-12)
    assert lengths.std() > 0.1  # drawn, not all sqrt(d)
    many = np.concatenate([(draw(qf.Gaussian(0.5), d, d, rng).nodes ** 2) for _ in range(500)])
    squares = many.sum(axis=1)
    assert abs(squares.mean() - d) < 5 * squares.std() / np.sqrt(len(squares))


@pytest.mark.parametrize("make", [qf.RandomFourier, qf.QuasiRandomFourier, qf.OrthogonalFourier])
def test_gamma_is_not_off_by_a_factor_of_two(make, rng):
    X = rng.normal(size=(200, 5))
    approximation = make(qf.Gaussian(0.2), n_components=8000, random_state=0).fit(X)
    error = np.abs(approximation.approximate_kernel(X) - qf.Gaussian(0.2)(X)).mean()
    wrong = np.abs(approximation.approximate_kernel(X) - qf.Gaussian(0.4)(X)).mean()
    assert error < 0.02 < 0.1 < wrong


def test_an_isotropic_matern_spectrum_is_not_drawn_per_axis(rng):
    gap = np.full((1, 3), 0.8)
    draws = np.cos(qf.Matern(0.5, 0.5).sample(200_000, 3, rng) @ gap[0])
    exact = np.exp(-0.8 * np.sqrt(3))
    assert abs(draws.mean() - exact) < 5 * draws.std() / np.sqrt(len(draws))


def test_negative_weights_are_never_under_a_root(rng):
    X = rng.normal(size=(30, 4))
    fitted = qf.SparseGrid(qf.Gaussian(0.1), level=2, weights="signed").fit(X)
    assert np.isfinite(fitted.transform(X)).all()
    small = X / 20
    error = fitted.approximate_kernel(small) - qf.Gaussian(0.1)(small)
    assert np.abs(error).max() < 1e-6


def test_fit_leaves_n_components_and_the_caller_s_objects_alone(rng):
    X = rng.normal(size=(30, 3))
    kernel = qf.Gaussian("scale")
    subsets = [[0, 1], [1, 2]]
    anova = qf.Anova(kernel, subsets)
    fitted = qf.RandomFourier(anova, n_components=33, random_state=0).fit(X)
    assert fitted.n_components == 33
    assert kernel.gamma == "scale" and subsets == [[0, 1], [1, 2]]
    assert fitted.kernel_ is not anova


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_huge_data_or_gamma_is_an_error_and_not_nan(dtype, rng):
    X = rng.normal(size=(10, 3)).astype(dtype)
    fitted = qf.RandomFourier(qf.Gaussian(1.0), random_state=0).fit(X)
    huge = X.copy()
    huge[0, 0] = 1e308 if dtype == np.float64 else 1e38
    with pytest.raises(ValueError, match="standardise X"):
        fitted.transform(huge)
    with pytest.raises(ValueError, match="smaller gamma"):
        qf.RandomFourier(qf.Gaussian(1e140), random_state=0).fit(X).transform(X)
    with pytest.raises(ValueError, match="gamma must be between"):
        qf.RandomFourier(qf.Gaussian(1e308), random_state=0).fit(X)


@pytest.mark.parametrize(
    "make",
    [
        lambda k: qf.RandomFourier(k, n_components=64, random_state=0),
        lambda k: qf.DenseGrid(k, n_points=4),
    ],
)
def test_a_large_column_is_refused_only_where_frequencies_make_large_angles_of_it(make, rng):
    X = rng.normal(size=(50, 3)).astype(np.float32)
    stamped = X.copy()
    stamped[:, 2] = 1.7e9 + 100 * np.arange(50)
    unread = make(qf.Anova(qf.Gaussian(0.5), [[0, 1]])).fit(X)
    assert np.array_equal(unread.transform(stamped), unread.transform(X))
    slow = make(qf.Gaussian([0.5, 0.5, 1e-20])).fit(stamped)
    # Angles of the third column are 1e9 * 1e-10: as in double precision, to their rounding.
    np.testing.assert_allclose(
        slow.transform(stamped), slow.transform(stamped.astype(np.float64)), atol=1e-5
    )
    for kernel in (qf.Gaussian(0.5), qf.Anova(qf.Gaussian(0.5), [[0, 1], [1, 2]])):
        with pytest.raises(ValueError, match=r"values up to 1.7e\+09.*float32.*smaller gamma"):
            make(kernel).fit(X).transform(stamped)
