"""Grids for a tolerance keep it, and isotropic kernels have grids in up to three axes."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat._errors import NotSeparable

KERNELS = {
    "gaussian": lambda d: qf.Gaussian(np.linspace(1.0, 2.0, d)),
    "laplacian": lambda d: qf.Laplacian(0.3),
    "cauchy": lambda d: qf.Cauchy(0.5),
    "matern product": lambda d: qf.Matern(1.5, np.linspace(1.0, 2.0, d), product=True),
    "matern": lambda d: qf.Matern(1.5, np.linspace(1.0, 2.0, d)),
    "scaled": lambda d: 3.0 * qf.Matern(2.5, 1.0),
}


def _rows(d, n=200):
    return np.random.default_rng(0).uniform(size=(n, d)) * np.linspace(1.0, 2.0, d)


@pytest.mark.parametrize("d", [1, 2])
@pytest.mark.parametrize("name", KERNELS)
def test_a_grid_for_a_tolerance_is_certified_and_seen_to_keep_it(name, d):
    X, kernel = _rows(d), KERNELS[name](d)
    grid = qf.DenseGrid(kernel, tol=2e-2).fit(X)
    certificate = grid.certificate(X)
    seen = np.abs(grid.approximate_kernel(X) - kernel(X)).max() / kernel.at_zero(d)
    assert seen <= certificate.value <= 2e-2


def test_the_box_of_a_tolerance_is_larger_than_that_of_the_rows():
    X = _rows(2)
    grid = qf.DenseGrid(qf.Matern(1.5, 1.0), tol=1e-2).fit(X)
    assert grid.certificate(box=1.05 * np.ptp(X, axis=0)).value <= 1e-2


@pytest.mark.parametrize("d", [1, 2, 3])
def test_the_certificate_of_an_isotropic_grid_holds_every_error(d):
    X, kernel = _rows(d), qf.Matern(1.5, 1.0)
    grid = qf.DenseGrid(kernel, n_points=9, rule="equispaced").fit(X)
    seen = np.abs(grid.approximate_kernel(X) - kernel(X)).max()
    assert grid.n_columns_ == 9**d
    assert seen <= grid.certificate(X).value < 1
    assert (grid.signs_ == 1).all() and grid.rule_.weights.sum() == pytest.approx(1.0)


def test_an_isotropic_grid_that_was_saved_has_the_same_columns_and_certificate(tmp_path):
    X = _rows(2)
    grid = qf.DenseGrid(qf.Matern(1.5, 1.0), tol=5e-2).fit(X)
    qf.save(grid, tmp_path / "grid.qf")
    again = qf.load(tmp_path / "grid.qf")
    assert vars(again).keys() == vars(grid).keys()
    np.testing.assert_array_equal(again.transform(X), grid.transform(X))
    assert again.certificate(X) == grid.certificate(X)


def test_isotropic_kernels_have_no_other_grid():
    for options in ({}, {"rule": "gauss"}):
        with pytest.raises(NotSeparable, match="equispaced"):
            qf.DenseGrid(qf.Matern(1.5), **options).fit(_rows(2))
    with pytest.raises(NotSeparable):
        qf.DenseGrid(qf.Matern(1.5), n_points=3, rule="equispaced").fit(_rows(4))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"tol": 0.0}, "tol"),
        ({"tol": 1e-3, "rule": "gauss"}, "leave tol=None"),
        ({"tol": 1e-9, "kernel": qf.Laplacian(100.0)}, "larger tol"),
        ({"tol": 1e-9, "kernel": qf.Matern(0.5, 100.0)}, "larger tol"),
    ],
)
def test_a_tolerance_that_cannot_be_kept_is_refused(options, message):
    kernel = options.pop("kernel", qf.Gaussian(0.5))
    with pytest.raises(ValueError, match=message):
        qf.DenseGrid(kernel, **options).fit(_rows(2))


def test_a_tolerance_is_for_kernels_that_fall():
    mass = 2 * np.sqrt(np.pi / 8)
    waves = qf.Spectral(lambda omega: np.exp(-((np.abs(omega) - 3) ** 2) * 8) / mass, peaks=[3.0])
    with pytest.raises(ValueError, match="is for kernels that fall with the gap"):
        qf.DenseGrid(waves, tol=1e-3).fit(np.linspace(0, 1, 9)[:, None])
    X = np.linspace(0, 1, 9)[:, None]
    features = qf.DenseGrid(waves, n_points=64).fit(X)
    assert features.error(X).largest < 1e-6


def test_equal_axes_share_a_rule(rng):
    X = rng.uniform(size=(30, 3))
    X[:2] = [[0.0] * 3, [1.0] * 3]  # the same range on every axis
    features = qf.DenseGrid(qf.Gaussian(0.5), tol=1e-4).fit(X)
    (rules,) = features._rules_of_tolerance(1e-4, np.ones(3))
    assert rules[0] is rules[1] is rules[2]
    (others,) = features._rules_of_tolerance(1e-4, np.array([1.0, 1.0, 5.0]))
    assert others[0] is others[1] and len(others[2]) > len(others[0])
