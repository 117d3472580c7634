"""Expansions around the data: residuals, compression, shared fits."""

import numpy as np
import pytest
from sklearn.kernel_approximation import Nystroem

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
    # Of one cloud of rows a compression takes too little off to be tried with all columns.
    X = rng.normal(size=(22_000, 3)) + 4.0 * rng.integers(0, 3, size=(22_000, 1))
    kernel = qf.Gaussian(0.3)
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


@pytest.mark.parametrize("compress", [False, True])
def test_given_points_are_the_landmarks(compress, rng):
    """On them the kernel is exact, as far as columns allow, with a metric too."""
    X = rng.normal(size=(200, 3))
    for kernel in (qf.Gaussian(0.1), qf.Gaussian(0.1, metric=np.tri(2, 3))):
        features = qf.Landmarks(kernel, n_components=30, points=X[:30], compress=compress).fit(X)
        error = np.abs(features.approximate_kernel(X[:30]) - kernel(X[:30])).max()
        assert error < 1e-7  # points that others span to rounding are left out
        drawn = qf.Landmarks(kernel, n_components=30, points=X[:30]).fit(X[::-1])
        plain = features.approximate_kernel(X)
        assert np.abs(drawn.approximate_kernel(X) - plain).max() < 1e-7


def test_points_that_do_not_fit_are_refused(rng):
    X = rng.normal(size=(50, 3))
    with pytest.raises(ValueError, match=r"points has 20 rows.*n_components=20"):
        qf.Landmarks(n_components=8, points=X[:20]).fit(X)
    assert qf.Landmarks(n_components=8, points=X[:20], compress=True).fit(X).n_columns_ == 8
    with pytest.raises(ValueError, match=r"points has 2 columns and X has 3"):
        qf.Landmarks(points=X[:20, :2]).fit(X)
    with pytest.raises(ValueError, match="points must be None"):
        qf.Landmarks("precomputed", points=X).fit(X @ X.T)


def test_a_function_and_its_values_are_kernels_as_for_nystroem(rng):
    """Nystroem's features of as many landmarks as rows are exact; so are these."""
    X = rng.normal(size=(60, 3))

    def polynomial(x, y):
        return (1 + x @ y) ** 2  # of rank 10, and not constant on the diagonal

    gram = np.array([[polynomial(x, y) for y in X] for x in X])
    theirs = Nystroem(polynomial, n_components=60, random_state=0).fit_transform(X)
    ours = qf.Landmarks(polynomial, n_components=20, random_state=0).fit(X)
    given = qf.Landmarks("precomputed", n_components=20, random_state=0).fit(gram)
    small = qf.Landmarks("precomputed", n_components=10, compress=True, random_state=0).fit(gram)
    assert ours.n_columns_ == given.n_columns_ == small.n_columns_ == 10
    for Z in (ours.transform(X), given.transform(gram), small.transform(gram)):
        assert np.abs(Z @ Z.T - gram).max() < 1e-9 * np.abs(gram).max()
    assert np.abs(theirs @ theirs.T - gram).max() < 1e-6 * np.abs(gram).max()
    assert given.transform(gram[:5]).shape == (5, 10)
    model = qf.KernelRegressor(qf.Landmarks(polynomial, n_components=10), alpha=1e-6)
    assert model.fit(X, X[:, 0] * X[:, 1]).score(X, X[:, 0] * X[:, 1]) > 0.999


def test_precomputed_values_are_square_symmetric_and_pairwise(rng):
    X = rng.normal(size=(30, 3))
    gram = qf.Gaussian(0.3)(X)
    assert qf.Landmarks("precomputed").__sklearn_tags__().input_tags.pairwise
    with pytest.raises(ValueError, match=r"shape \(n, n\)"):
        qf.Landmarks("precomputed").fit(gram[:20])
    with pytest.raises(ValueError, match="symmetric"):
        qf.Landmarks("precomputed").fit(gram[::-1])
    with pytest.raises(TypeError, match="known by its values only"):
        qf.Landmarks("precomputed").fit(gram).residual(gram)
    with pytest.raises(TypeError, match="kernel must be a Kernel"):
        qf.Landmarks("rbf").fit(X)
    with pytest.raises(TypeError, match="kernel must be a Kernel"):
        qf.RandomFourier("precomputed").fit(X)


def test_precomputed_landmarks_and_given_points_are_saved(rng, tmp_path):
    X = rng.normal(size=(30, 3))
    gram = qf.Gaussian(0.3)(X)
    for features, rows in (
        (qf.Landmarks("precomputed", n_components=9), gram),
        (qf.Landmarks(qf.Gaussian(0.3), points=X[:9]), X),
    ):
        qf.save(features.fit(rows), tmp_path / "map.qf")
        again = qf.load(tmp_path / "map.qf")
        assert again.transform(rows).tobytes() == features.transform(rows).tobytes()
