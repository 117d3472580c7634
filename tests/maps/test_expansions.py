"""Expansions around the data: residuals, compression, shared fits."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.constructions import compression
from quadfeat.maps import expansions

from .measures import split


@pytest.mark.parametrize(
    "make",
    [
        lambda: qf.HermiteMercer(n_components=50),
        lambda: qf.HermiteMercer(n_components=30, compress=True),
        lambda: qf.Landmarks(n_components=50, random_state=0),
        lambda: qf.Landmarks(n_components=30, compress=True, random_state=0),
    ],
)
def test_residuals_bound_the_error_of_every_pair(make):
    train, test = split("cancer")
    features = make().fit(train)
    far = np.concatenate([test, test[:20] + 5.0])
    error = np.abs(features.approximate_kernel(far) - features.kernel_(far))
    r = features.residual(far) + 1e-12
    assert np.all(error <= np.sqrt(np.multiply.outer(r, r)))
    assert features.residual(test[:20] + 5.0).mean() > 3 * features.residual(test).mean()


def test_a_compression_is_fitted_on_forty_rows_a_column_within_limits(rng, monkeypatch):
    counts, compress = [], compression.compress

    def counted(basis, rows, p):
        counts.append(len(rows))
        return compress(basis, rows, p)

    monkeypatch.setattr(compression, "compress", counted)
    X, kernel = rng.normal(size=(22_000, 3)), qf.Gaussian(0.3)
    for columns, rows in ((8, 10_000), (260, 10_400)):
        qf.HermiteMercer(kernel, n_components=columns, compress=True).fit(X)
        qf.KernelFeatures(kernel, n_components=columns, random_state=0).fit(X)
        # Of the front door, the last; from 256 columns on there is one of fewer columns before.
        assert counts[0] == counts[-1] == rows and len(counts) == (3 if columns > 256 else 2)
        counts.clear()
    assert expansions.compression_rows(600) == 20_000


@pytest.mark.parametrize("columns", [7, 100, 300])
@pytest.mark.parametrize("make", [qf.HermiteMercer, qf.Landmarks])
def test_maps_with_shared_fits_are_those_fitted_alone(make, columns, rng):
    X, shared = rng.normal(size=(1500, 5)), {}
    for compress in (True, False):
        given = {"n_components": columns, "compress": compress, "random_state": 3}
        sharing = make(qf.Gaussian(0.1), **given)._fit_sharing(X, shared)
        alone = make(qf.Gaussian(0.1), **given).fit(X)
        np.testing.assert_array_equal(sharing.transform(X[:90]), alone.transform(X[:90]))
    assert list(shared) == [make]
    # A later fit is its own.
    np.testing.assert_array_equal(
        sharing.fit(2 * X).transform(X[:90]), alone.fit(2 * X).transform(X[:90])
    )
