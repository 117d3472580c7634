"""Certificates, estimates and tolerances as users of maps meet them."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone

import quadfeat as qf
from quadfeat._errors import NoCertificate
from quadfeat._rows import drawn
from quadfeat.accuracy import certificate as bounds
from quadfeat.accuracy import covering
from quadfeat.accuracy.covering import cover_bound
from quadfeat.accuracy.estimate import Estimate
from quadfeat.accuracy.region import Region

X = np.random.default_rng(0).uniform(-1, 1, size=(300, 3))


def seen(features, rows):
    exact = features.kernel_(rows)
    error = np.abs(features.approximate_kernel(rows) - exact)
    return error.max() / features.kernel_.at_zero(rows.shape[1])


CERTIFIED = {
    "dense": lambda: qf.DenseGrid(qf.Gaussian(0.5), n_points=6),
    "dense-laplacian": lambda: qf.DenseGrid(qf.Laplacian(0.3), n_points=9),
    "sparse": lambda: qf.SparseGrid(qf.Gaussian(0.2), level=3, weights="signed"),
    "sparse-nonnegative": lambda: qf.SparseGrid(qf.Gaussian(0.2), level=3),
    "polynomially-exact": lambda: qf.PolynomiallyExact(
        qf.Gaussian(0.1), degree=4, n_components=400, random_state=0
    ),
    "reweighted-grid": lambda: qf.ReweightedGrid(
        qf.Gaussian(0.3), pool=qf.DenseGrid(n_points=6), n_components=216, random_state=0
    ),
    "random": lambda: qf.RandomFourier(qf.Gaussian(0.3), n_components=200, random_state=0),
    "framed": lambda: qf.FramedGrid(qf.Gaussian(0.3), n_components=64),
    "anova": lambda: qf.DenseGrid(qf.Anova(qf.Gaussian(0.5), [[0, 1], [1, 2]]), n_points=6),
    "hermite-mercer": lambda: qf.HermiteMercer(qf.Gaussian(0.5), n_components=100),
    "landmarks": lambda: qf.Landmarks(qf.Gaussian(0.5), n_components=100, random_state=0),
}


@pytest.mark.parametrize("container", [pd.DataFrame, sparse.csr_array, sparse.csr_matrix])
def test_proofs_and_estimates_take_what_fit_takes(container, any_map):
    """And without a warning that names of columns are missing, which are errors here."""
    named = {"columns": list("abc")} if container is pd.DataFrame else {}
    thin = np.where(np.abs(X[:60]) > 0.3, X[:60], 0.0)
    given = container(thin, **named)
    plain, features = clone(any_map).fit(thin), any_map.fit(given)
    pairs = (features, given), (plain, thin)
    # Sums over columns that lie otherwise in memory round otherwise, and landmarks magnify that.
    close = {"rel": 1e-6, "abs": 1e-7}
    found, expected = (each.error(rows, n_pairs=500) for each, rows in pairs)
    assert found.rms == pytest.approx(expected.rms, **close)
    assert found.largest == pytest.approx(expected.largest, **close)
    try:
        expected = plain.certificate(thin).value
    except NoCertificate:
        with pytest.raises(NoCertificate, match="certificate"):
            features.certificate(given)
    else:
        assert features.certificate(given).value == pytest.approx(expected, **close)


@pytest.mark.parametrize("name", CERTIFIED)
def test_what_is_seen_on_the_data_is_below_the_certificate(name):
    features = CERTIFIED[name]().fit(X)
    certificate = features.certificate(X)
    observed = seen(features, X)
    assert observed <= certificate.value
    assert certificate.value < 1
    if name.startswith(("dense", "hermite")):
        assert certificate.value <= 60 * observed
    assert f"{certificate.value:.4g}" in repr(certificate)


@pytest.mark.parametrize("d", [2, 4, 6])
def test_framed_grids_are_proven_in_their_frame(d):
    """Rows on a few directions of d, a rotation away from the axes, and one column on a scale."""
    for seed in range(5 if d > 3 else 1):  # on fewer axes rules are covered, which takes longer
        rng = np.random.default_rng(seed)
        m = int(rng.integers(1, min(d, 3) + 1))
        turn = np.linalg.qr(rng.normal(size=(d, d)))[0][:m]
        flat = rng.uniform(0, 0.02) * rng.normal(size=(80, d)) * (seed % 2)
        rows = rng.uniform(-1, 1, size=(80, m)) * np.geomspace(1, 0.2, m) @ turn + flat
        gamma = rng.uniform(0.1, 0.8, size=d) if seed % 3 == 0 else rng.uniform(0.1, 0.8)
        features = qf.FramedGrid(qf.Gaussian(gamma), n_components=int(rng.integers(40, 300)))
        features.fit(rows)
        certificate = features.certificate(rows)
        assert "in its frame" in certificate.method
        assert seen(features, rows) <= certificate.value < 1
        M = float(rng.uniform(0.2, 1.0))
        gaps = rng.normal(size=(4000, d))
        gaps *= M * rng.random((4000, 1)) ** (1 / d) / np.linalg.norm(gaps, axis=1)[:, None]
        error = np.abs(features.kernel_.at(gaps) - features.rule_(gaps)).max()
        box = np.abs(gaps).max(axis=0)
        assert error <= features.certificate(diameter=M).value
        assert error <= features.certificate(box=box).value


def test_the_proof_of_a_framed_grid_is_its_grid_s_and_what_was_dropped():
    rng = np.random.default_rng(0)
    rows = rng.uniform(-1, 1, size=(200, 2)) @ np.linalg.qr(rng.normal(size=(8, 8)))[0][:2]
    features = qf.FramedGrid(qf.Gaussian(0.5), n_components=100).fit(rows)
    observed, omitted = seen(features, rows), features._framed.omitted
    assert observed <= features.certificate(rows).value <= 2 * (observed + omitted) + 1e-13


def test_certificates_take_a_diameter_or_a_box():
    features = qf.DenseGrid(qf.Gaussian(0.5), n_points=8).fit(X)
    small, large = (features.certificate(diameter=M).value for M in (1.0, 3.0))
    assert small < large
    box = features.certificate(box=[1.0, 0.5, 0.1])
    assert box.value < features.certificate(box=[2.0, 2.0, 2.0]).value
    with pytest.raises(ValueError, match="give X, diameter"):
        features.certificate()
    with pytest.raises(ValueError, match="box has 2"):
        features.certificate(box=[1.0, 2.0])


def test_theorem_1_stands_beside_and_is_looser():
    features = qf.DenseGrid(qf.Gaussian(0.5), n_points=8, rule="gauss").fit(X)
    certificate = features.certificate(diameter=2.0)
    assert certificate.value < certificate.theorem1


def test_what_cannot_be_proven_is_refused_with_what_can():
    wide = np.random.default_rng(0).normal(size=(100, 20))
    for features in (qf.RandomFourier(random_state=0), qf.ReweightedGrid(random_state=0)):
        with pytest.raises(ValueError, match=r"DenseGrid.*error\(X\)"):
            features.fit(wide).certificate(wide)
    with pytest.raises(ValueError, match=r"certificate\(X\).*DenseGrid"):
        qf.HermiteMercer().fit(X).certificate(diameter=1.0)


def test_estimates_hold_for_every_map(any_map, data):
    fitted = any_map.fit(data[:120])
    estimate = fitted.error(data[120:], n_pairs=2000)
    assert isinstance(estimate, Estimate)
    assert estimate.rms <= estimate.rms_limit
    assert estimate.quantiles[0.5] <= estimate.quantiles[0.99] <= estimate.largest
    assert "pairs of these 80 rows" in repr(estimate)
    exact = fitted.kernel_(data[120:])
    error = (fitted.approximate_kernel(data[120:]) - exact)[~np.eye(80, dtype=bool)]
    deviation = np.std(error**2) / np.sqrt(2000)
    assert abs(estimate.rms**2 - np.mean(error**2)) <= 5 * deviation + 1e-24
    between = fitted.error(data[120:160], data[160:], n_pairs=500)
    assert "40 and 40 rows" in between.population


PROVEN = {
    "dense": lambda kernel: qf.DenseGrid(kernel, n_points=5),
    "hermite-mercer": lambda kernel: qf.HermiteMercer(kernel, n_components=40),
    "landmarks": lambda kernel: qf.Landmarks(kernel, n_components=40, random_state=0),
    "sparse-signed": lambda kernel: qf.SparseGrid(kernel, level=2, weights="signed"),
}
UNPROVEN = {
    "random": lambda kernel: qf.RandomFourier(kernel, n_components=64, random_state=0),
    "sobol": lambda kernel: qf.QuasiRandomFourier(kernel, n_components=8, random_state=0),
    "subsampled": lambda kernel: qf.SubsampledGrid(kernel, n_components=64, random_state=0),
    "reweighted": lambda kernel: qf.ReweightedGrid(kernel, n_components=8, random_state=0),
}
SUMS = qf.Anova(qf.Gaussian(0.5), [[0, 1], [1, 2]])


@pytest.mark.parametrize("kernel", [qf.Gaussian(0.5), qf.Laplacian(0.5), SUMS], ids=type)
@pytest.mark.parametrize("name", [*PROVEN, *UNPROVEN])
def test_the_limit_of_the_rms_is_within_twice_the_rms_of_a_map(name, kernel):
    """Where a range is proven, however small the error; else above 3e-2."""
    if isinstance(kernel, qf.Laplacian) and name in ("hermite-mercer", "sparse-signed"):
        return  # Gaussian kernels and spectra with moments only
    features = (PROVEN | UNPROVEN)[name](kernel).fit(X[:150])
    estimate = features.error(X[150:], n_pairs=100_000)
    assert estimate.rms <= estimate.rms_limit
    if name in PROVEN or estimate.rms > 3e-2:
        assert estimate.rms_limit <= 2 * estimate.rms


def test_disjoint_pairs_speak_of_new_rows():
    features = qf.RandomFourier(random_state=0).fit(X)
    assert "new rows" in features.error(X, n_pairs=100).population


def test_the_front_door_proves_a_tolerance_where_it_can():
    features = qf.KernelFeatures(qf.Gaussian(0.5), tol=1e-3).fit(X)
    assert isinstance(features.map_, qf.DenseGrid)
    assert "certified" in features.report_.reason
    assert seen(features, X) <= features.certificate(X).value <= 1e-3


def test_the_front_door_estimates_a_tolerance_elsewhere(rng):
    rows = rng.normal(size=(600, 8)) * np.linspace(1, 0.1, 8)
    features = qf.KernelFeatures(qf.Gaussian(0.1), tol=1e-2, random_state=0).fit(rows)
    assert "95% confidence" in features.report_.reason
    fresh = rng.normal(size=(300, 8)) * np.linspace(1, 0.1, 8)
    error = np.abs(features.approximate_kernel(fresh) - features.kernel_(fresh))
    assert np.mean(error > 1e-2) < 0.002


def test_the_front_door_says_what_is_reachable(rng):
    rows = rng.normal(size=(400, 12))
    with pytest.raises(ValueError, match=r"at most 32 columns.*reaches \d"):
        qf.KernelFeatures(tol=1e-6, max_components=32, random_state=0).fit(rows)
    with pytest.raises(ValueError, match=r"tol.*-1"):
        qf.KernelFeatures(tol=-1).fit(rows)


def test_a_tolerance_out_of_reach_is_told_with_the_nearest_that_was_reached(rng, monkeypatch):
    X, widths = rng.normal(size=(400, 2)), []
    best = qf.KernelFeatures._best

    def worse_and_worse(self, rows, width, rng):
        widths.append(width)
        return best(self, rows, 64 if len(widths) == 1 else 16, rng)

    monkeypatch.setattr(qf.KernelFeatures, "_best", worse_and_worse)
    features = qf.KernelFeatures(qf.Laplacian(1.0), tol=1e-6, max_components=64, random_state=0)
    with pytest.raises(ValueError, match=r"reaches 0\.\d+ with 16 for"):
        features.fit(X)
    assert widths == [16, 32, 64]


@pytest.mark.parametrize(("far", "certified"), [(4.0, True), (50.0, False)])
def test_what_is_proven_of_a_sparse_x_holds_for_rows_that_were_not_made_dense(far, certified, rng):
    rows = rng.uniform(size=(20_002, 2))
    rows[1], rows[3] = [far, far], [-far, 0.6 * far]
    some = np.concatenate([rows[1::2][:50], rows[:50]])
    for kind in (sparse.csr_matrix, sparse.csr_array):
        features = qf.KernelFeatures(
            qf.Gaussian(0.5), tol=1e-3, max_components=256, random_state=0
        ).fit(kind(rows))
        assert ("is certified" in features.report_.reason) == certified
        if certified:
            assert seen(features, some) <= features.report_.trials[0].max <= 1e-3


def test_extremes_of_a_sparse_x_that_were_not_made_dense_change_what_is_proven_alone(rng):
    rows = rng.uniform(size=(20_002, 2))
    calm = sparse.csr_array(rows)
    rows[np.setdiff1d(np.arange(len(rows)), drawn(len(rows), 10_000))[0]] = [4.0, 4.0]
    wild = sparse.csr_array(rows)
    one, other = (qf.KernelFeatures(tol=1e-3, random_state=0).fit(X) for X in (calm, wild))
    assert one.kernel_.gamma == other.kernel_.gamma
    assert one.n_columns_ < other.n_columns_


@pytest.mark.parametrize("gamma", [1e-5, 1e-3, 1e-2, 0.1, 1.0])
@pytest.mark.parametrize("compress", [False, True])
def test_no_rounding_breaks_the_certificate_of_landmarks(gamma, compress):
    """Landmarks of wide kernels are all but equal: K^(-1/2) is large, and so is its rounding."""
    for seed in range(30):
        rng = np.random.default_rng(seed)
        train, test = rng.normal(size=(1000, 2)), rng.normal(size=(200, 2))
        kernel = 3.0 * qf.Gaussian(gamma)
        features = qf.Landmarks(kernel, n_components=50, compress=compress, random_state=0)
        features.fit(train)
        assert seen(features, test) <= features.certificate(test).value
        halves = test[:100], test[100:]
        assert features.error(*halves, n_pairs=100).largest <= features._largest_error(*halves)


def test_what_rounding_adds_to_the_certificate_of_landmarks_is_no_more_than_it_may(rng):
    rows = rng.normal(size=(1000, 2))
    features = qf.Landmarks(qf.Gaussian(0.01), n_components=50, random_state=0).fit(rows)
    # Eigenvalues below m eps of the largest, about m, are cut off: |W| <= 1 / sqrt(m eps), so that
    # 8 eps sqrt(m) |W| <= 8 sqrt(eps), and coefficients within the data are far smaller than W.
    assert features.certificate(rows[:200]).value < 16 * np.sqrt(np.finfo(float).eps)


@pytest.mark.parametrize("name", ["dense", "dense-laplacian", "sparse", "polynomially-exact"])
@pytest.mark.parametrize("size", [1e20, 1e150, 1e151, 1e300])
def test_a_huge_region_is_refused_in_words(name, size, monkeypatch):
    """Without an overflow on the way, whose warning is an error here."""
    cover = covering.cover_bound
    monkeypatch.setattr(bounds, "cover_bound", lambda *given: cover(*given[:3], 1e4))
    features = CERTIFIED[name]().fit(X)
    huge = {"diameter": size}, {"box": [size, 1.0, 0.0]}, {"X": size / 8 * np.eye(3)}
    for region in huge:
        with pytest.raises(ValueError, match=r"nothing below k\(0\)|to 1e\+150|values up to"):
            features.certificate(**region)


def test_a_region_of_one_point_is_covered_at_once():
    """There errors are rounding, and no box is ever small beside the largest seen."""
    region = Region.of(d=2, diameter=0.0).on(np.arange(2))
    rule, kernel = qf.Rule(np.ones((1, 2)), np.ones(1)), qf.Gaussian(0.5)
    # More boxes than one would exceed this budget, and leave what is known of that one: 2.
    assert cover_bound(kernel, rule, region, budget=100) <= 1e-13


@pytest.mark.parametrize(
    "name", ["dense", "dense-laplacian", "sparse", "anova", "hermite-mercer", "landmarks"]
)
def test_what_is_proven_is_below_k_of_zero_or_refused(name):
    features = CERTIFIED[name]().fit(X)
    expansion = isinstance(features, qf.HermiteMercer | qf.Landmarks)
    far = {"X": X + 60.0} if expansion else {"diameter": 100.0}
    with pytest.raises(ValueError, match=r"nothing below k\(0\).*smaller region.*error\(X\)"):
        features.certificate(**far)
    assert features.certificate(X).value < 1
