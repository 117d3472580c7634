"""The columns of an equispaced grid are complex exponentials on a lattice, rotated."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat._errors import NoLattice

GRIDS = {
    "1 axis, odd": (1, lambda: qf.DenseGrid(qf.Gaussian(0.5), n_points=7, rule="equispaced")),
    "1 axis, even": (1, lambda: qf.DenseGrid(qf.Laplacian(0.5), n_points=8, rule="equispaced")),
    "one node": (2, lambda: qf.DenseGrid(qf.Gaussian(0.5), n_points=[1, 3], rule="equispaced")),
    "mixed": (2, lambda: qf.DenseGrid(qf.Cauchy(0.5), n_points=[4, 5], rule="equispaced")),
    "3 axes": (3, lambda: qf.DenseGrid(2.0 * qf.Gaussian(0.5), n_points=3, rule="equispaced")),
    "isotropic": (2, lambda: qf.DenseGrid(3.0 * qf.Matern(1.5), n_points=5, rule="equispaced")),
    "isotropic 3": (3, lambda: qf.DenseGrid(qf.Matern(2.5), n_points=[3, 5, 3], rule="equispaced")),
    "metric": (
        2,
        lambda: qf.DenseGrid(
            qf.Gaussian(0.5, metric=np.array([[1.0, 0.3], [0.0, 2.0]])),
            n_points=5,
            rule="equispaced",
        ),
    ),
}


@pytest.fixture(params=GRIDS)
def fitted(request):
    d, make = GRIDS[request.param]
    X = np.random.default_rng(0).normal(size=(50, d))
    return make().fit(X), X


def test_rotated_modes_are_the_columns(fitted):
    grid, X = fitted
    lattice = grid.lattice()
    rows = np.empty((len(X), lattice.n_columns_))
    lattice.write(X, rows)
    columns = lattice.rotated(lattice.features_of(rows))
    np.testing.assert_allclose(columns, grid.transform(X), atol=1e-12)
    assert np.square(lattice.roots).sum() == pytest.approx(grid.kernel_.at_zero(X.shape[1]))


def test_the_rotation_is_undone_and_keeps_lengths(fitted):
    grid, _ = fitted
    lattice, rng = grid.lattice(), np.random.default_rng(1)
    v = rng.normal(size=(grid.n_columns_, 2))
    modes = lattice.modes(v)
    np.testing.assert_allclose(lattice.columns(modes), v, atol=1e-14)
    np.testing.assert_allclose(
        np.linalg.norm(modes.reshape(2, -1), axis=1), np.linalg.norm(v, axis=0)
    )
    mirrored = np.conj(np.flip(modes, axis=tuple(range(1, modes.ndim))))
    np.testing.assert_allclose(modes, mirrored, atol=1e-14)


def test_values_are_products_of_columns_and_coefficients(fitted):
    grid, X = fitted
    lattice = grid.lattice()
    v = np.random.default_rng(1).normal(size=(grid.n_columns_, 2))
    rows = np.empty((len(X), lattice.n_columns_))
    lattice.write(X, rows)
    found = lattice.values(rows, lattice.modes(v))
    np.testing.assert_allclose(found, grid.transform(X) @ v, atol=1e-10)


@pytest.mark.parametrize(
    ("features", "d", "reason"),
    [
        (qf.RandomFourier(n_components=8), 2, "RandomFourier is not a DenseGrid"),
        (qf.DenseGrid(n_points=5, rule="gauss"), 2, "not equispaced"),
        (qf.DenseGrid(n_points=3, rule="equispaced"), 4, "4 axes"),
        (
            qf.DenseGrid(qf.Anova(qf.Gaussian(), [(0,), (1,)]), n_points=5, rule="equispaced"),
            2,
            "2 groups",
        ),
    ],
)
def test_maps_without_a_lattice_say_why(features, d, reason):
    X = np.random.default_rng(0).normal(size=(50, d))
    with pytest.raises(NoLattice, match=reason):
        features.fit(X).lattice()
