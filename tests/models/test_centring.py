"""Rows far from 0 are as accurate as others, and wide rows take as little memory."""

import tracemalloc

import dask.array as da
import numpy as np
import pytest
from scipy import sparse

import quadfeat as qf
from quadfeat.data import base, sources

N = 500
MAPS = {
    "fourier": lambda: qf.QuasiRandomFourier(qf.Gaussian(0.5), n_components=64, random_state=0),
    "mercer": lambda: qf.HermiteMercer(qf.Gaussian(0.5), n_components=64),
    "landmarks": lambda: qf.Landmarks(qf.Gaussian(0.5), n_components=64, random_state=0),
    "front": lambda: qf.KernelFeatures(qf.Gaussian(0.5), n_components=32, random_state=0),
}


@pytest.fixture(scope="module")
def rows():
    """Multiples of 1/1024, so that they are exact beside an offset of 1e8."""
    rng = np.random.default_rng(0)
    X = np.round(1024 * rng.normal(size=(N, 2))) / 1024
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2


def _model(name="fourier", dtype="float32"):
    return qf.KernelRegressor(MAPS[name](), alpha=0.01, dtype=dtype)


@pytest.mark.parametrize("name", MAPS)
def test_an_offset_of_1e8_costs_float32_nothing(name, rows):
    X, y = rows
    far = _model(name).fit(X + 1e8, y)
    origin = far.features_._origin - 1e8
    assert np.abs(origin).max() < 1.0, "about the median"
    double = _model(name, dtype="float64").fit(X + 1e8, y)  # learns from the same rows
    errors = [np.sqrt(np.mean((model.predict(X + 1e8) - y) ** 2)) for model in (far, double)]
    assert errors[0] < 1.05 * errors[1] < 0.2 * y.std()
    # Moved back, these are the same numbers to the bit, but other rows to the sample.
    near = _model(name).fit(X - origin, y)
    if name == "fourier":  # learns nothing from rows
        assert np.array_equal(far.coef_, near.coef_)


FORMS = {
    "array": lambda X, folder: X,
    "blocks": lambda X, folder: [X[:300], X[300:]],
    "csr": lambda X, folder: sparse.csr_array(X),
    "dask": lambda X, folder: da.from_array(X, chunks=(300, 2)),
}


@pytest.mark.parametrize("form", FORMS)
def test_rows_in_any_form_are_centred_in_a_fit_and_a_prediction(form, rows, tmp_path):
    X, y = rows
    X = X + np.array([1e8, 0.0])
    whole = _model().fit(X, y)
    assert whole.features_._origin[1] == 0.0, "a column that is not far is left alone"
    given = FORMS[form](X, tmp_path)
    if form == "blocks":
        made = _model().fit([(X[:300], y[:300]), (X[300:], y[300:])])
    else:
        made = _model().fit(given, da.from_array(y, chunks=300) if form == "dask" else y)
    # The sums of partitions are merged in another order, and float32 sums differ by 1e-7 or so.
    error = np.abs(np.asarray(made.predict(given)) - whole.predict(X)).max()
    assert error <= (1e-3 if form == "dask" else 0.0)
    assert np.abs(whole.predict(X) - y).mean() < 0.1


@pytest.mark.parametrize("name", MAPS)
def test_the_features_of_a_model_are_those_that_its_coefficients_belong_to(name, rows, tmp_path):
    X, y = rows
    model = _model(name).fit(X + 1e8, y)
    Z = model.features_.transform(X + 1e8)
    expected = model.predict(X + 1e8)
    # float64 features and float32 ones: 2^-24 a value, with coefficients of the size of |coef|.
    bound = 2.0**-20 * np.abs(model.coef_).sum() + 1e-6
    assert np.abs(Z @ model.coef_ + model.intercept_ - expected).max() <= bound
    # Half of a sample of 2000 pairs, whose squares spread over some decades, is known of theirs.
    found = model.features_.error(X + 1e8, n_pairs=2000).rms
    error = (Z @ Z.T - qf.Gaussian(0.5)(X))[np.triu_indices(N, 1)]
    assert found == pytest.approx(np.sqrt(np.mean(error**2)), rel=0.5)
    qf.save(model, tmp_path / "m.qf")
    assert np.array_equal(qf.load(tmp_path / "m.qf").predict(X + 1e8), expected)
    refitted = model.features_.fit(X)
    assert refitted._origin is None and refitted.transform(X).dtype == np.float64


def test_an_offset_of_1e12_costs_float64_no_digit_that_the_data_has(rows):
    X, y = rows
    far = X + 1e12
    model = _model(dtype=None).fit(far, y)
    origin = model.features_._origin
    near = _model(dtype=None).fit(far - origin, y)
    assert np.array_equal(model.predict(far), near.predict(far - origin))


def test_rows_near_0_are_not_moved(rows):
    X, y = rows
    for dtype in ("float32", "float64", None):
        assert _model(dtype=dtype).fit(X + 1.0, y).features_._origin is None


@pytest.mark.parametrize("name", MAPS)
def test_far_rows_in_single_precision_lose_no_digit_that_they_have(name, rows):
    X, y = rows
    far = (X + 4096).astype(np.float32)  # to the bit, for X are multiples of 1/1024
    model = _model(name, dtype=None).fit(far, y)
    origin = model.features_._origin
    assert np.abs(origin - 4096).max() < 1.0, "about the median"
    Z, exact = (model.features_.transform(each) for each in (far, far.astype(float)))
    assert Z.dtype == np.float32
    # Angles to 10 in 2^-24, and recurrences of Hermite functions; 4096 would lose 2^-13.
    assert np.abs(Z - exact).max() < 2.0**-20


# --- wide rows ------------------------------------------------------------------------------------
def _peak(call):
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_wide_sparse_rows_are_made_dense_a_few_at_a_time(monkeypatch):
    n, d = 2000, 10_000
    X = sparse.random_array((n, d), density=1e-3, format="csr", rng=np.random.default_rng(0))
    y = np.asarray(X[:, :50].sum(axis=1)).ravel()
    # As large as they are, these limits would hide what they do in a test of this size.
    monkeypatch.setattr(base, "_VALUES", 2**20)
    monkeypatch.setattr("quadfeat.data.sampling._VALUES", 2**20)
    monkeypatch.setattr("quadfeat._rows._SPARSE_BYTES", 2**23)
    model = qf.KernelRegressor(
        qf.RandomFourier(qf.Gaussian(0.1), n_components=8, random_state=0), alpha=1.0
    )
    dense = 8 * n * d
    for call in (
        lambda: model.fit(X, y),
        lambda: model.predict(X),
        lambda: model.fit([(X, y)]),
        lambda: model.predict([X]),
    ):
        assert _peak(call) < dense / 4


def test_a_block_of_wide_rows_is_short_whatever_holds_it(monkeypatch, tmp_path):
    monkeypatch.setattr(base, "_VALUES", 1000)
    X = np.arange(5000.0).reshape(50, 100)
    np.save(tmp_path / "t.npy", X)
    for given in (X, tmp_path / "t.npy", [(X,)], lambda: iter([X[:7], X[7:]])):
        for start in (0, 2):
            blocks = list(sources.source(given).blocks(start))
            assert [len(block) for block in blocks] == [10] * (5 - start)
            assert np.array_equal(np.concatenate([b.X for b in blocks]), X[10 * start :])
