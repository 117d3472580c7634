"""Maps where there is little room: few rows, no certificate, few columns, large gradients."""

import warnings

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.maps import gradients, learned_grids


def test_few_rows_cannot_show_a_tolerance_that_no_grid_proves(rng):
    features = qf.KernelFeatures(qf.Matern(0.5, 0.2), tol=1e-2, random_state=0)
    with pytest.raises(ValueError, match=r"tol=0\.01 cannot be checked on 7 rows; give at least 8"):
        features.fit(rng.normal(size=(7, 6)))


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


def test_gradients_beyond_memory_are_refused(rng, monkeypatch):
    X = rng.normal(size=(10, 3))
    features = qf.DenseGrid(qf.Gaussian(0.3), n_points=3).fit(X)
    c = rng.normal(size=features.n_columns_)
    expected = features.gradient(X, c)
    monkeypatch.setattr(gradients, "_LARGE", 1)
    np.testing.assert_array_equal(features.gradient(X, c), expected)

    def refuse(n_bytes, what, advice):
        raise MemoryError(f"{what} take {n_bytes} bytes; {advice}")

    monkeypatch.setattr(gradients, "check_memory", refuse)
    with pytest.raises(MemoryError, match="gradients of 10 rows take 240 bytes; give fewer rows"):
        features.gradient(X, c)


@pytest.mark.parametrize(
    ("d", "start"),
    [
        (5, qf.FramedGrid),
        (6, qf.QuasiRandomFourier),
        (40, qf.QuasiRandomFourier),
        (41, qf.OrthogonalFourier),
    ],
)
def test_polishing_starts_where_it_was_measured_to_be_best(d, start):
    assert type(learned_grids.polishing_start(d, 64)) is start


def test_a_degree_that_no_width_reaches_is_answered_with_a_smaller_one(rng, monkeypatch):
    from quadfeat.constructions import polynomially_exact

    X, degree = rng.normal(size=(30, 4)), 12
    features = qf.PolynomiallyExact(
        qf.Gaussian(0.2), n_components=40, degree=degree, random_state=0
    )
    for enough, advice in ((None, "use a smaller degree"), (500, "n_components=1000 would do")):
        monkeypatch.setattr(
            polynomially_exact, "smallest_exact_count", lambda *given, n=enough, **more: n
        )
        with pytest.warns(UserWarning, match=f"the nearest one is exact to degree .*; {advice}"):
            features.fit(X)


def test_the_front_door_of_many_columns_ends_with_fourier_maps(rng):
    X = rng.normal(size=(40, 3))
    kernel = qf.Matern(1.5, 0.3, product=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        wide = qf.KernelFeatures(kernel, n_components=1025, random_state=0).fit(X)
    names = [trial.name for trial in wide.report_.trials]
    assert "ReweightedGrid" not in names and "DenseGrid(n_points=10)" in names
