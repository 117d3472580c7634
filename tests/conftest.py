"""Fixtures, one table of kernels and one of maps: a new row is tested by every law."""

import os
from pathlib import Path

# scikit-learn's array API check skips itself unless this is set before SciPy is imported.
os.environ.setdefault("SCIPY_ARRAY_API", "1")

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data.checkpoint import Checkpoint

# name -> (kernel of d axes, whether its spectrum factors over axes)
KERNELS = {
    "gaussian": lambda d: qf.Gaussian(0.3),
    "gaussian-per-axis": lambda d: qf.Gaussian(np.linspace(0.2, 0.5, d)),
    "gaussian-metric": lambda d: qf.Gaussian(0.3, metric=np.tri(d + 1, d) / 2),
    "laplacian": lambda d: qf.Laplacian(0.4),
    "laplacian-per-axis": lambda d: qf.Laplacian(np.linspace(0.2, 0.5, d)),
    "cauchy": lambda d: qf.Cauchy(0.3),
    "matern-0.5": lambda d: qf.Matern(0.5, 0.2),
    "matern-1.5": lambda d: qf.Matern(1.5, 0.2),
    "matern-1.7": lambda d: qf.Matern(1.7, 0.2),
    "matern-product": lambda d: qf.Matern(2.5, 0.2, product=True),
    "smoothed-laplacian": lambda d: qf.Smoothed(qf.Laplacian(0.4), width=0.5),
    "smoothed-matern": lambda d: qf.Smoothed(qf.Matern(1.5, 0.2, product=True), width=0.5),
    "spectral": lambda d: qf.Spectral(_hat),
    "sum": lambda d: qf.Gaussian(0.3) + 0.5 * qf.Laplacian(0.4),
    "product": lambda d: qf.Gaussian(0.1) * qf.Cauchy(0.2),
    "product-of-sums": lambda d: (qf.Gaussian(0.1) + qf.Cauchy(0.1)) * qf.Gaussian(0.2),
    "anova": lambda d: qf.Anova(qf.Gaussian(0.3), _chain(d), weights=np.arange(1.0, d + 1)),
    "anova-per-axis": lambda d: qf.Anova(
        [qf.Gaussian(0.3) if i % 2 else qf.Cauchy(0.3) for i in range(d)], _chain(d)
    ),
    "anova-isotropic": lambda d: qf.Anova(qf.Matern(1.5, 0.2), _chain(d)),
    "convolution": lambda d: qf.Convolution((d,), min(d, 2), base=qf.Gaussian(0.3)),
}

MAPS = {
    "dense": lambda: qf.DenseGrid(n_points=3),
    "sparse": lambda: qf.SparseGrid(level=2),
    "sparse-signed": lambda: qf.SparseGrid(level=2, weights="signed"),
    "subsampled": lambda: qf.SubsampledGrid(n_components=64, random_state=0),
    "polynomially-exact": lambda: qf.PolynomiallyExact(n_components=400, random_state=0),
    "reweighted": lambda: qf.ReweightedGrid(n_components=64, random_state=0),
    "reweighted-l1": lambda: qf.ReweightedGrid(n_components=64, selection="l1", random_state=0),
    "random": lambda: qf.RandomFourier(n_components=64, random_state=0),
    "orthogonal": lambda: qf.OrthogonalFourier(n_components=64, random_state=0),
    "structured": lambda: qf.OrthogonalFourier(n_components=64, structured=True, random_state=0),
    "sobol": lambda: qf.QuasiRandomFourier(n_components=64, random_state=0),
    "halton": lambda: qf.QuasiRandomFourier(n_components=64, sequence="halton", random_state=0),
    "framed": lambda: qf.FramedGrid(n_components=64),
    "hermite-mercer": lambda: qf.HermiteMercer(n_components=64),
    "hermite-mercer-compressed": lambda: qf.HermiteMercer(n_components=32, compress=True),
    "landmarks": lambda: qf.Landmarks(n_components=64, random_state=0),
    "landmarks-compressed": lambda: qf.Landmarks(n_components=32, compress=True, random_state=0),
    "kernel-features": lambda: qf.KernelFeatures(n_components=32, random_state=0),
    "spherical-radial": lambda: qf.SphericalRadial(n_components=64, random_state=0),
}


def _hat(omega):
    return np.maximum(0.0, 1.0 - np.abs(omega))


def _chain(d):
    """Overlapping pairs of neighbours, and one axis alone."""
    return [[i, i + 1] for i in range(d - 1)] + [[d - 1]]


@pytest.fixture(params=KERNELS)
def kernel_of(request):
    return KERNELS[request.param]


@pytest.fixture(params=MAPS)
def any_map(request):
    return MAPS[request.param]()


@pytest.fixture
def rng():
    return np.random.default_rng(0)


@pytest.fixture
def data():
    """200 rows of 4 correlated columns; the kernel of two rows spans (0, 1)."""
    generator = np.random.default_rng(1)
    return generator.normal(size=(200, 4)) @ generator.normal(size=(4, 4)) / 2


@pytest.fixture(scope="session")
def data_folder():
    folder = os.environ.get("QUADFEAT_DATA")
    if not folder or not Path(folder).is_dir():
        pytest.skip("QUADFEAT_DATA does not name a folder of data sets")
    return Path(folder)


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    report = (yield).get_result()
    if report.skipped and os.environ.get("QUADFEAT_REQUIRE_ALL"):
        report.outcome = "failed"
        report.longrepr = f"skipped although everything is required: {report.longrepr}"


@pytest.fixture
def killed_at_the_end(monkeypatch):
    """Fits do not remove their checkpoint, as if killed just before that."""
    monkeypatch.setattr(Checkpoint, "remove", lambda _: None)
