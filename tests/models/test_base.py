"""Laws of both models: scikit-learn's own, blocks, batches and streams, dtypes, errors."""

import pickle
import re

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import quadfeat as qf
from quadfeat.models.base import fit_keeping_checkpoint
from quadfeat.numerics.factorisations import InPlaceCholesky, factor_raised

from .maps import drawn, fixed

SMALL = qf.HermiteMercer(n_components=16)


@pytest.mark.parametrize("model", [qf.KernelRegressor, qf.KernelClassifier])
def test_weights_are_routed_through_pipelines_as_scikit_learn_does(model, rng):
    X, y, weight = rng.normal(size=(60, 2)), rng.integers(2, size=60), rng.uniform(size=60)
    alone = model(fixed(), alpha=0.1).fit(StandardScaler().fit_transform(X), y, weight)
    with config_context(enable_metadata_routing=True):
        last = model(fixed(), alpha=0.1).set_fit_request(sample_weight=True)
        steps = make_pipeline(StandardScaler().set_fit_request(sample_weight=False), last)
        steps.fit(X, y, sample_weight=weight)
    np.testing.assert_array_equal(last.coef_, alone.coef_)


@parametrize_with_checks(
    [
        qf.KernelRegressor(SMALL),
        qf.KernelClassifier(SMALL),
        qf.KernelClassifier(SMALL, loss="ridge"),
        qf.KernelClassifier(SMALL, loss="squared_hinge"),
        qf.KernelClassifier(SMALL, loss="logistic"),
    ]
)
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)


def test_a_metric_is_positive_where_rounding_made_its_gram_indefinite(rng):
    # One column many times over: the products of float32 features have eigenvalues below zero.
    Z = (rng.normal(100, 1, (50, 1)) * rng.uniform(0.5, 1.5, (1, 400))).astype(np.float32)
    gram = (Z.T @ Z).astype(np.float64)
    assert np.linalg.eigvalsh(gram)[0] < -1e-7 * np.trace(gram) / len(gram)
    b = rng.normal(size=(400, 5))
    cholesky = InPlaceCholesky(gram)
    factor_raised(cholesky, 0.0)
    assert (np.einsum("ij,ij->j", b, cholesky.solve(b)) > 0).all()


# --- blocks, batches, streams ---------------------------------------------------------------------
def test_batches_end_in_the_fit_of_all_rows(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=0.1).fit(X[:100], y[:100])
    batches = clone(model)
    for start in range(0, 300, 100):
        batches.partial_fit(X[start : start + 100], y[start : start + 100])
    sums = qf.KernelRegressor(_Frozen(model.features_), alpha=0.1)
    np.testing.assert_allclose(batches.coef_, sums.fit(X, y).coef_, rtol=1e-8, atol=1e-10)


def test_batches_go_on_without_the_sample_of_the_first(plane):
    """As after a load of a file that kept the sums alone."""
    X, y = plane
    model, whole = (qf.KernelRegressor(drawn(), alpha=1.0) for _ in range(2))
    model.partial_fit(X[:40], y[:40])
    del model._seen
    model.partial_fit(X[40:], y[40:])
    whole.partial_fit(X[:40], y[:40]).partial_fit(X[40:], y[40:])
    np.testing.assert_allclose(model.coef_, whole.coef_, rtol=1e-9, atol=1e-12)


def test_a_fit_forgets_the_batches_before_it(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=0.1).partial_fit(X[:100], y[:100] + 50)
    model.fit(X, y).partial_fit(X[:200], y[:200])
    fresh = qf.KernelRegressor(fixed(), alpha=0.1).partial_fit(X[:200], y[:200])
    assert np.array_equal(model.coef_, fresh.coef_)


class _Frozen(qf.FeatureMap):
    """A map that was fitted before and is not fitted again."""

    def __init__(self, fitted):
        self.fitted = fitted
        self.kernel = fitted.kernel_

    def _build(self, X):
        self.signs_ = self.fitted.signs_
        return self.fitted.n_columns_

    def _evaluate(self, X, out):
        self.fitted._evaluate(X, out)

    def __sklearn_clone__(self):
        return _Frozen(self.fitted)


@pytest.mark.parametrize("loss", ["auto", "ridge", "squared_hinge", "logistic"])
def test_streams_files_and_arrays_give_one_model(waves, loss, tmp_path):
    X, y = waves
    codes = np.digitize(y, [-1.0, 1.0])
    model = qf.KernelClassifier(fixed(), loss=loss, alpha=0.3)
    whole = clone(model).fit(X, codes)
    pieces = [(X[i : i + 70], codes[i : i + 70]) for i in range(0, 300, 70)]
    np.savez(tmp_path / "data.npz", X=X, y=codes)
    for given in (pieces, lambda: iter(pieces), tmp_path / "data.npz"):
        streamed = clone(model).fit(given, "y" if given == tmp_path / "data.npz" else None)
        assert np.array_equal(streamed.coef_, whole.coef_)
    assert np.array_equal(streamed.predict(tmp_path / "data.npz"), whole.predict(X))


@pytest.mark.parametrize("alpha", [0.3, "auto"])
def test_a_dtype_is_that_of_rows_converted_before(waves, alpha, tmp_path):
    X, y = waves
    single = X.astype(np.float32)
    # Other digits are other rows to a sample: a map that learns nothing from rows.
    features = qf.QuasiRandomFourier(qf.Gaussian(0.3), n_components=40, random_state=0)
    own = qf.KernelRegressor(features, alpha=alpha).fit(single, y)
    model = qf.KernelRegressor(features, alpha=alpha, dtype="float32")
    np.savez(tmp_path / "data.npz", X=X, y=y)
    pieces = [(X[i : i + 70], y[i : i + 70]) for i in range(0, 300, 70)]
    for given, target in [(X, y), (tmp_path / "data.npz", "y"), (pieces, None)]:
        made = clone(model).fit(given, target)
        assert np.array_equal(made.coef_, own.coef_)
        assert np.array_equal(made.predict(X), own.predict(single))
        assert np.array_equal(made.predict(tmp_path / "data.npz"), own.predict(single))
    once = clone(model).set_params(alpha=0.3).fit(iter(pieces))
    assert np.array_equal(once.coef_, clone(own).set_params(alpha=0.3).fit(single, y).coef_)
    back = qf.KernelRegressor(fixed(), alpha=alpha, dtype="float64").fit(single, y)
    wide = qf.KernelRegressor(fixed(), alpha=alpha).fit(single.astype(np.float64), y)
    assert np.array_equal(back.coef_, wide.coef_)
    assert np.array_equal(back.predict(single), wide.predict(single.astype(np.float64)))
    thin = qf.KernelRegressor(fixed(), alpha=0.3, dtype="float32").fit(sparse.csr_array(X), y)
    assert thin.predict(sparse.csr_array(X)).shape == (300,)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_too_large_for_the_dtype_are_named(waves, form):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=0.3, dtype="float32").fit(X, y)
    X = X.copy()
    X[3, 1] = 1e39
    for use in (lambda: model.predict(form(X)), lambda: clone(model).fit(form(X), y)):
        with pytest.raises(ValueError, match=r"row 3, column 1 .* too large for float32"):
            use()


def test_a_long_iterator_is_read_once_by_ridge_and_refused_by_passes(waves, monkeypatch):
    monkeypatch.setattr("quadfeat.data.sampling._ROWS", 300)  # so many are long
    X, y = waves
    codes = np.digitize(y, [-1.0, 1.0])
    pieces = [(X[i : i + 70], codes[i : i + 70]) for i in range(0, 300, 70)]
    model = qf.KernelClassifier(fixed(), loss="ridge", alpha=0.3)
    assert np.array_equal(model.fit(iter(pieces)).coef_, clone(model).fit(X, codes).coef_)
    once = qf.KernelRegressor(fixed()).fit(iter(pieces))
    assert {each.judge for each in once.tuning_} == {"likelihood"}  # its rows cannot be read again
    with pytest.raises(ValueError, match="another pass is needed"):
        qf.KernelClassifier(fixed(), loss="logistic", alpha=0.3).fit(iter(pieces))


def test_csr_is_the_same_as_dense(waves):
    X, y = waves
    thin = np.where(np.abs(X) > 0.5, X, 0.0)
    dense = qf.KernelRegressor(fixed(), alpha=0.1).fit(thin, y)
    other = qf.KernelRegressor(fixed(), alpha=0.1).fit(sparse.csr_array(thin), y)
    np.testing.assert_allclose(
        other.predict(sparse.csr_array(thin)), dense.predict(thin), atol=1e-10
    )


def test_a_kernel_that_was_given_is_never_changed(waves):
    X, y = waves
    given = qf.KernelRegressor(qf.HermiteMercer(qf.Gaussian(0.05), n_components=30)).fit(X, y)
    assert given.features_.kernel_.gamma == 0.05
    assert all(each.parameter == "alpha" for each in given.tuning_)
    chosen = qf.KernelRegressor(qf.HermiteMercer(n_components=30)).fit(X, y)
    assert any(each.parameter == "kernel" for each in chosen.tuning_)


def test_equal_data_give_equal_models_and_pickles_keep_them(waves):
    X, y = waves
    model = qf.KernelRegressor(qf.RandomFourier(n_components=32)).fit(X, y)
    again = pickle.loads(pickle.dumps(clone(model).fit(X, y)))
    assert np.array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 0.0}, "alpha"),
        ({"alpha": "best"}, "alpha must be one of 'auto'"),
        ({"alpha": [1.0, 2.0], "loss": "logistic"}, "path of alphas"),
        ({"rank": 2, "loss": "ridge"}, "loss='logistic'"),
        ({"rank": 2, "alpha": [1.0, 2.0]}, "rank=2 needs one alpha"),
        ({"loss": "hinge"}, "loss must be one of"),
        ({"class_weight": "equal"}, "class_weight"),
        ({"class_weight": {0: -2}}, "class_weight of 0 .* got -2"),
        ({"alpha": []}, "alpha is empty; .*1.0"),
        ({"dtype": "half"}, "dtype must be one of 'float32', 'float64'"),
    ],
)
def test_parameters_that_cannot_work_are_named(waves, parameters, message):
    X, y = waves
    with pytest.raises(ValueError, match=message):
        qf.KernelClassifier(fixed(), **parameters).fit(X, np.digitize(y, [0.0]))
    with pytest.raises(TypeError, match="features must be a feature map"):
        qf.KernelClassifier(3).fit(X, np.digitize(y, [0.0]))
    with pytest.raises(ValueError, match="squares overflow"):
        qf.KernelRegressor(fixed()).fit(X, 1e300 * y)


@pytest.mark.parametrize("rows", [300, 30_000])
def test_equal_small_weights_scale_alpha_and_nothing_else(rng, rows):
    X = rng.normal(size=(rows, 3))
    y = np.sin(2 * X).sum(axis=1) + rng.normal(size=rows)
    alphas = 10.0 ** np.arange(-3, 3)
    plain = qf.KernelRegressor(fixed(), alpha=alphas).fit(X, y)
    light = qf.KernelRegressor(fixed(), alpha=alphas / 1024)
    light.fit(X, y, sample_weight=np.full(rows, 1 / 1024))
    assert light.alpha_ * 1024 == plain.alpha_
    np.testing.assert_allclose(light.coef_, plain.coef_, rtol=1e-7)
    judges = {"leave-one-out" if rows == 300 else "leave-one-out of a sample"}
    assert {each.judge for each in light.tuning_} == judges


def test_alphas_below_the_rounding_of_the_sums_are_refused(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=[1e-40, 1e-30])
    with pytest.raises(ValueError, match=r"1e-30.* give a larger alpha"):
        model.fit(X[:10], y[:10])


# --- what people have -----------------------------------------------------------------------------
def test_a_model_of_a_file_knows_the_names_of_its_columns(waves, tmp_path):
    X, y = waves
    frame = pd.DataFrame(X, columns=["a", "b", "c"])
    frame.assign(y=y).to_csv(tmp_path / "t.csv", index=False)
    model = qf.KernelRegressor(fixed(), alpha=0.1).fit(tmp_path / "t.csv", "y")
    np.testing.assert_allclose(model.predict(frame), model.predict(tmp_path / "t.csv"))
    with pytest.raises(ValueError, match="feature names"):
        model.predict(frame[["c", "b", "a"]])
    model.fit([(X[:, :2], y)])
    assert not hasattr(model, "feature_names_in_") and model.n_features_in_ == 2


def test_a_batch_that_fails_leaves_no_trace(waves):
    X, y = waves
    codes = np.where(y > 0, "c", "a")
    model = qf.KernelClassifier(fixed(), alpha=0.1)
    with pytest.raises(ValueError, match="label 'c' is not among"):
        model.partial_fit(X, codes, classes=["a", "b"])
    model.partial_fit(X, codes, classes=["a", "b", "c"])
    before = model._sums.gram.copy()
    with pytest.raises(ValueError, match="label 'z'"):
        model.partial_fit(X, np.where(y > 0, "z", "a"))
    assert np.array_equal(model._sums.gram, before)


def test_no_rows_have_no_predictions(waves, tmp_path):
    X, y = waves
    (tmp_path / "none.csv").write_text("a,b,c\n")
    names = pd.DataFrame(X, columns=["a", "b", "c"])
    one = qf.KernelRegressor(fixed(), alpha=0.1).fit(names, y)
    assert one.predict(tmp_path / "none.csv").shape == (0,)
    assert qf.KernelClassifier(fixed()).fit(names, y > 0).predict(tmp_path / "none.csv").size == 0


def test_a_checkpoint_may_outlive_the_fit_until_the_model_is_saved(waves, tmp_path):
    path = tmp_path / "checkpoint"
    model = qf.KernelRegressor(fixed(), alpha=0.3, checkpoint=path, checkpoint_interval=0.0)
    checkpoint = fit_keeping_checkpoint(model, *waves)
    assert path.exists()
    checkpoint.remove()
    assert not path.exists()
    assert np.array_equal(model.coef_, clone(model).fit(*waves).coef_)


def test_a_metric_is_the_model_of_the_plain_kernel_on_transformed_rows(waves, tmp_path):
    X, y = waves
    metric = np.array([[1.0, -1.0, 0.5], [0.0, 1.0, 1.0]])
    kernel, image = qf.Gaussian(0.3, metric=metric), X @ metric.T
    for kind, target in (
        (qf.KernelRegressor, y),
        (qf.KernelClassifier, y > 0),
        (lambda f: qf.KernelClassifier(f, loss="logistic", alpha=1.0), y > 0),
    ):
        for features in (qf.HermiteMercer(n_components=30), qf.KernelFeatures(n_components=30)):
            ours = kind(clone(features).set_params(kernel=kernel)).fit(X, target)
            plain = kind(clone(features).set_params(kernel=qf.Gaussian(0.3))).fit(image, target)
            np.testing.assert_allclose(ours.coef_, plain.coef_, rtol=1e-7, atol=1e-9)
            np.testing.assert_array_equal(ours.predict(X) > 0.5, plain.predict(image) > 0.5)
            assert ours.n_features_in_ == 3
            sparse_rows = ours.predict(sparse.csr_array(X))
            np.testing.assert_allclose(sparse_rows.astype(float), ours.predict(X).astype(float))
            qf.save(ours, tmp_path / "model.qf")
            np.testing.assert_array_equal(
                qf.load(tmp_path / "model.qf").predict(X), ours.predict(X)
            )


def test_columns_far_from_zero_keep_their_digits_before_a_metric(waves):
    X, y = waves
    far = np.array([1e8, 0.0, -1e8])
    kernel = qf.Gaussian(0.3, metric=[[1.0, 0.0, 1.0], [0.0, 1.0, -1.0]])
    features = qf.RandomFourier(kernel, n_components=40, random_state=0)
    near = qf.KernelRegressor(features, dtype="float32", alpha=1.0).fit(X, y)
    moved = qf.KernelRegressor(features, dtype="float32", alpha=1.0).fit(X + far, y)
    # Single precision, 6e-8 times 300 rows over alpha; 1e8 rounded to it is off by up to 4.
    np.testing.assert_allclose(moved.predict(X + far), near.predict(X), atol=2e-5 * np.std(y))


@pytest.mark.parametrize("model", [qf.KernelRegressor, qf.KernelClassifier])
def test_an_array_with_gaps_is_told_how_to_encode_them(model, rng):
    X = rng.normal(size=(40, 2))
    y = (X[:, 0] > 0).astype(int)
    gaps = X.copy()
    gaps[3, 1] = np.nan
    fitted = model(qf.KernelFeatures(n_components=8))
    for call in (lambda: fitted.fit(gaps, y), lambda: fitted.fit(X, y).predict(gaps)):
        with pytest.raises(ValueError, match=r"X contains NaN, and .* encoder=TableEncoder\(\)"):
            call()
    with_encoder = model(qf.KernelFeatures(n_components=8), encoder=qf.TableEncoder())
    assert len(with_encoder.fit(gaps, y).predict(gaps)) == 40
    with pytest.raises(ValueError, match="y contains NaN"):
        qf.KernelRegressor().fit(X, np.where(y, np.nan, 1.0))


def test_a_penalty_that_was_given_was_not_chosen(plane):
    X, y = plane
    for alpha, chosen in ((0.5, False), ("auto", True)):
        model = qf.KernelRegressor(drawn(), alpha=alpha).fit(X, y)
        text = re.sub(r"<[^>]*>", " ", model._facts())
        assert "alpha" in text and (" by " in text.partition("alpha")[2][:60]) == chosen
