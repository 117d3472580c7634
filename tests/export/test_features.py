"""Exported maps compute the features of `transform`: every map, every kernel, both precisions."""

import contextlib

import numpy as np
import pytest

import quadfeat as qf
from quadfeat._errors import NoDensity, NoMoments, NotSeparable

from ..conftest import KERNELS, MAPS
from .targets import installed, largest_angle

TARGETS = installed()
# Angles round by their size times the unit roundoff (6e-8 and 1.1e-16) of some products, which
# cosines pass on; functions and sums round by a few units more.
TOLERANCE = {"float32": 1e-6, "float64": 1e-12}
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning"),  # of maps that warn about a kernel
    pytest.mark.skipif(not TARGETS, reason="neither torch nor onnx and onnxruntime are installed"),
]


def amplified(fitted):
    """The rounding of kernel values, and the noise of integrals, times the projection."""
    basis = getattr(getattr(fitted, "map_", fitted), "basis_", None)
    if not hasattr(basis, "points"):
        return 0.0
    noise = 1e-15
    for axes, kernel, _ in fitted.kernel_.groups(fitted.n_features_in_):
        with contextlib.suppress(NotSeparable):
            noise = max(noise, *(axis.noise for axis in kernel.axes(len(axes))))
    return noise * fitted.kernel_.at_zero(3) * np.abs(basis.projection).sum(axis=0).max()


def assert_same(fitted, X):
    """A file has one precision; one module of torch serves both."""
    computed = {}
    for dtype, tolerance in TOLERANCE.items():
        rows = X.astype(dtype)
        expected, angle = fitted.transform(rows), largest_angle(fitted, X)
        for name, exported in TARGETS:
            if name != "torch" or name not in computed:
                computed[name] = exported(fitted, dtype)
            actual = computed[name](rows)["features"]
            assert actual.dtype == rows.dtype and actual.shape == expected.shape
            error = np.abs(actual - expected).max()
            limit = tolerance * (1 + angle) + amplified(fitted)
            assert error <= limit, f"{name}, {dtype}, {fitted}: {error:g} > {limit:g}"


@pytest.mark.parametrize("kernel", KERNELS)
def test_every_map_of_every_kernel_has_the_same_features(kernel, rng):
    rows = rng.normal(size=(67, 3)) @ rng.normal(size=(3, 3)) / 2
    exported = 0
    for make in MAPS.values():
        features = make().set_params(kernel=KERNELS[kernel](3))
        try:
            features.fit(rows[:60])
        except (NotSeparable, NoMoments, NoDensity, ValueError):
            continue  # this map is not for this kernel
        assert_same(features, rows)
        exported += 1
    assert exported >= 5


@pytest.mark.parametrize("d", [1, 2, 40])
def test_expansions_of_few_and_of_many_columns_have_the_same_features(d, rng):
    """One column: Hermite functions whose exponential underflows; many: a Gaussian by products."""
    X = rng.normal(size=(300, d)) * (6.0 if d == 1 else 1.0)
    for features in (
        qf.HermiteMercer(qf.Gaussian(0.5 / d), n_components=80),
        qf.Landmarks(qf.Gaussian(0.5 / d), n_components=40, random_state=0),
    ):
        assert_same(features.fit(X), X[:50])


@pytest.mark.skipif(qf.engine_info()["engine"] == "numpy", reason="NumPy works in radians")
@pytest.mark.parametrize("make", [qf.RandomFourier, lambda k: qf.DenseGrid(k, n_points=9)])
def test_angles_of_many_turns_are_rounded_as_in_the_engine(make, rng):
    """One column, so that no order of a sum matters: cosines differ by their own rounding."""
    X = rng.normal(size=(500, 1))
    features = make(qf.Gaussian(2.0)).fit(X)
    for dtype, tolerance in TOLERANCE.items():
        rows = 1000 * X.astype(dtype)
        for name, exported in TARGETS:
            actual = exported(features, dtype)(rows)["features"]
            assert np.abs(actual - features.transform(rows)).max() <= tolerance, (name, dtype)


def test_windows_with_shared_and_with_distinct_nodes_have_the_same_features(rng):
    X = rng.normal(size=(30, 36))
    kernel = qf.Convolution((6, 6), 3, base=qf.Gaussian(0.1))
    for share in (False, True):
        features = qf.RandomFourier(
            kernel, n_components=64, share_groups=share, random_state=0
        ).fit(X)
        assert_same(features, X)


def test_a_kernel_of_the_user_is_recorded_from_its_numpy_code(rng):
    class Sech(qf.Kernel):
        def profile(self, gap):
            return 2 * np.exp(-np.abs(gap)) / (1 + np.exp(-2 * np.abs(gap)))

        def density(self, omega):
            return self.profile(np.pi * omega / 2) / 2

    X = rng.normal(size=(60, 2))
    assert_same(qf.Landmarks(Sech(), n_components=20, random_state=0).fit(X), X)


@pytest.mark.parametrize("rows", [0, 1])
def test_no_row_and_one_row_have_features(rows, rng):
    X = rng.normal(size=(60, 3))
    for make in (qf.DenseGrid, qf.RandomFourier, qf.HermiteMercer, qf.Landmarks):
        features = make(qf.Gaussian(0.3)).fit(X)
        for name, exported in TARGETS:
            shape = exported(features, "float64")(X[:rows])["features"].shape
            assert shape == (rows, features.n_columns_), name


def test_rotations_by_reflections_and_few_directions_of_many_have_the_same_features(rng):
    """Many columns: directions by reflections if all are used, a distance to the others if not."""
    kinds = set()
    turned = np.linalg.qr(rng.normal(size=(20, 20)))[0]
    falling = rng.normal(size=(400, 20)) / np.arange(1, 21) @ turned
    even = rng.normal(size=(300, 150)) @ rng.normal(size=(150, 150)) / 12
    for X, columns in ((falling, 26), (even, 20)):
        kernel = qf.Gaussian(0.02 / np.square(X).sum(axis=1).mean())
        features = qf.HermiteMercer(kernel, n_components=columns).fit(X)
        for expansion in features.basis_.expansions:
            few = len(expansion.sizes) < len(expansion.axes)
            kinds.add("reflections" if expansion.mixing is not None else "few" if few else "all")
        assert_same(features, X[:50])
    assert {"reflections", "few"} <= kinds


def test_groups_without_nodes_and_without_middle_have_the_same_features(rng):
    X = rng.normal(size=(60, 3))
    anova = qf.Anova(qf.Gaussian(0.3), [[0], [1, 2]])
    for features in (
        qf.DenseGrid(anova, n_points=4),  # even: no node is at the middle
        qf.DenseGrid(anova, n_points=[1, 3, 4]),
        qf.RandomFourier(anova, n_components=4, random_state=0),
    ):
        assert_same(features.fit(X), X)
