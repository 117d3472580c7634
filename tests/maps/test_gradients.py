"""Gradients of features by the rows, over the tables in conftest."""

import numpy as np
import pytest
from scipy import sparse

import quadfeat as qf
from quadfeat.maps import gradients

from ..conftest import KERNELS, MAPS

TOLERANCE = 1e-6  # of the largest gradient
pytestmark = [
    pytest.mark.filterwarnings("ignore:a sparse grid with non-negative:UserWarning"),
    pytest.mark.filterwarnings("ignore:no non-negative rule:UserWarning"),
]


def step_of(fitted):
    """A step whose fourth power is small beside the fastest cosine, and whose inverse is not large.

    Differences of fourth order err by (step * frequency)^4 / 30, and by rounding over the step. A
    shorter one for expansions, so that it does not cross a kink at a landmark.
    """
    plan = getattr(getattr(fitted, "map_", fitted), "_plan", None)
    return 1e-5 if plan is None else 1e-2 / max(plan.largest_node, 1e-9)


def differences(function, X, step):
    """The gradient of a function of rows, (n, t), by central differences of fourth order."""

    def along(e):
        near, far = (function(X + h * e) - function(X - h * e) for h in (step, 2 * step))
        return (8 * near - far) / (12 * step)

    return np.stack([along(e) for e in np.eye(X.shape[1])], axis=2)


def coefficients_of(fitted, X, rng):
    """Those of sums of kernels at rows of the data, as models have: z(x)'c is of the size of 1.

    With random ones, gradients would be dominated by the rounding of landmarks that others nearly
    span.
    """
    return fitted.transform(X[:10]).T @ rng.normal(size=(10, 2))


def rows_for(d, rng):
    """60 rows to fit a map on, and 7 other rows of the same distribution."""
    rows = rng.normal(size=(67, d)) @ rng.normal(size=(d, d))
    return rows[:60], rows[60:]


def agrees(fitted, X, c):
    """Whether the gradient is that of differences of features."""
    gradient = fitted.gradient(X, c)
    expected = differences(lambda x: fitted.transform(x) @ c, X, step_of(fitted))
    assert gradient.shape == (len(X), c.shape[1], X.shape[1])
    return np.abs(gradient - expected).max() <= TOLERANCE * np.abs(expected).max()


PAIRS = [
    pytest.param(
        MAPS[features],
        KERNELS[kernel],
        id=f"{features}-{kernel}",
        # It delegates to a map that it chooses, slowly.
        marks=[pytest.mark.long] if features == "kernel-features" and kernel != "gaussian" else [],
    )
    for features in MAPS
    for kernel in KERNELS
]


@pytest.mark.parametrize(("make", "kernel_of"), PAIRS)
def test_gradients_are_those_of_differences(make, kernel_of, rng):
    for d in (1, 2, 5):
        X, x = rows_for(d, rng)
        features = make().set_params(kernel=kernel_of(d))
        try:
            features.fit(X)
        except ValueError:  # a kernel that this map is not for, as its own tests say
            continue
        assert agrees(features, x, coefficients_of(features, X, rng)), d


@pytest.mark.parametrize("name", MAPS)
def test_every_map_accepts_a_kernel(name, rng):
    X, x = rows_for(2, rng)
    fitted = MAPS[name]().set_params(kernel=qf.Gaussian(0.3)).fit(X)
    assert agrees(fitted, x, coefficients_of(fitted, X, rng))


def test_groups_that_share_nodes_have_gradients(rng):
    X = rng.normal(size=(60, 6))
    kernel = qf.Convolution((6,), 3, base=qf.Gaussian(0.3))
    shared = qf.SubsampledGrid(kernel, n_components=64, share_groups=True, random_state=0).fit(X)
    assert agrees(shared, X[:7], coefficients_of(shared, X, rng))


def test_a_polished_grid_has_gradients(rng):
    X, x = rows_for(3, rng)
    polished = qf.ReweightedGrid(n_components=32, polish=True, random_state=0).fit(X)
    assert agrees(polished, x, coefficients_of(polished, X, rng))


@pytest.mark.parametrize("compress", [False, True])
def test_hermite_functions_of_many_axes_have_gradients(compress, rng):
    # Few directions, so that the others are a distance; or reflections instead of a rotation.
    for d, p, decay in ((100, 30, 0.3), (24, 60, 0.3), (24, 60, 0.0)):
        X = rng.normal(size=(200, d)) * (1.0 + np.arange(d)) ** -decay
        fitted = qf.HermiteMercer(
            qf.Gaussian(0.3 / d), n_components=p, compress=compress, random_state=0
        ).fit(X)
        assert agrees(fitted, X[:7], coefficients_of(fitted, X, rng))


def test_reflections_have_gradients(rng):
    rotation = np.linalg.qr(rng.normal(size=(60, 60)))[0]
    X = 3 + (rng.normal(size=(500, 60)) * np.linspace(1.5, 1, 60)) @ rotation
    fitted = qf.HermiteMercer(qf.Gaussian(0.002), n_components=75).fit(X)
    assert fitted.basis_.expansions[0].mixing is not None
    assert agrees(fitted, X[:7], coefficients_of(fitted, X, rng))


# --- shapes, precision, blocks --------------------------------------------------------------------
def test_one_vector_of_coefficients_is_one_output(any_map, data, rng):
    fitted = any_map.fit(data)
    c = coefficients_of(fitted, data, rng)
    whole = fitted.gradient(data[:9], c)
    single = fitted.gradient(data[:9], c[:, 1])
    assert single.shape == (9, 4)
    assert np.abs(single - whole[:, 1]).max() <= 1e-12 * np.abs(whole).max()


def test_single_rows_are_those_of_batches(any_map, data, rng):
    fitted = any_map.fit(data)
    c = coefficients_of(fitted, data, rng)
    whole = fitted.gradient(np.repeat(data, 60, axis=0), c)  # more than one block
    assert len(whole) == 12_000
    largest = np.abs(whole).max()
    for i in (0, 57, 199):
        row = fitted.gradient(data[i : i + 1], c)[0]
        assert np.abs(row - whole[60 * i : 60 * i + 60]).max() <= 1e-11 * largest


def test_float32_in_is_float32_out_and_close(any_map, data, rng):
    fitted = any_map.fit(data)
    c = coefficients_of(fitted, data, rng)
    double, single = (fitted.gradient(data.astype(kind), c) for kind in (float, np.float32))
    assert (double.dtype, single.dtype) == (np.float64, np.float32)
    # A second derivative times the rounding of rows, and that of a sum of p products.
    assert np.abs(double - single).max() <= 1e-4 * np.abs(double).max()


def test_sparse_rows_have_the_gradients_of_dense_ones(any_map, data, rng):
    fitted = any_map.fit(data)
    c = coefficients_of(fitted, data, rng)
    dense, from_csr = fitted.gradient(data, c), fitted.gradient(sparse.csr_matrix(data), c)
    assert np.abs(dense - from_csr).max() <= 1e-12 * np.abs(dense).max()


def test_the_origin_is_subtracted(any_map, data, rng):
    fitted = any_map.fit(data)
    c = coefficients_of(fitted, data, rng)
    before = fitted.gradient(data, c)
    origin = np.full(4, 1024.0)
    moved = fitted.moved_to(origin).gradient(data + origin, c)
    assert np.abs(moved - before).max() <= 1e-8 * np.abs(before).max()  # rounding of data + origin


def test_columns_without_a_kernel_have_no_gradient(rng):
    X = rng.normal(size=(80, 3))
    kernel = qf.Anova(qf.Gaussian(0.5), [[0], [2]])
    for features in (qf.RandomFourier(kernel, n_components=20), qf.Landmarks(kernel)):
        fitted = features.fit(X)
        gradient = fitted.gradient(X, coefficients_of(fitted, X, rng))
        np.testing.assert_array_equal(gradient[:, :, 1], 0)
        assert gradient[:, :, [0, 2]].any()


def test_far_rows_of_expansions_have_the_gradient_zero(data, rng):
    far = np.full((2, 4), 1e160)
    for features in (qf.HermiteMercer(), qf.Landmarks()):
        fitted = features.fit(data)
        np.testing.assert_array_equal(fitted.gradient(far, coefficients_of(fitted, data, rng)), 0)


def test_coefficients_that_do_not_fit_are_refused(data):
    fitted = qf.RandomFourier(n_components=8, random_state=0).fit(data)
    for wrong in (np.ones(7), np.ones((7, 8)), np.ones((8, 2, 2)), 1.0):
        with pytest.raises(ValueError, match=r"coefficients must have one row per column"):
            fitted.gradient(data, wrong)
    with pytest.raises(ValueError, match="missing or infinite"):
        fitted.gradient(data, np.full(8, np.nan))
    with pytest.raises(ValueError, match="features"):
        fitted.gradient(data[:, :3], np.ones(8))


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
