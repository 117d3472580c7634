"""Laws of the models: scikit-learn's own, the dense textbook formulas, blocks and batches."""

import pickle

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import quadfeat as qf
from quadfeat.data import summary
from quadfeat.models.calibration import _PRIOR
from quadfeat.numerics.factorisations import InPlaceCholesky, factor_raised

SMALL = qf.HermiteMercer(n_components=16)


@parametrize_with_checks(
    [
        qf.KernelRegressor(SMALL),
        qf.KernelClassifier(SMALL),
        qf.KernelClassifier(SMALL, loss="squared_hinge"),
        qf.KernelClassifier(SMALL, loss="logistic"),
    ]
)
def test_scikit_learn_s_own_checks_pass(estimator, check):
    check(estimator)


@pytest.fixture
def waves(rng):
    X = rng.normal(size=(300, 3))
    return X, np.sin(2 * X).sum(axis=1) + 0.1 * rng.normal(size=300)


def fixed(n=40):
    return qf.HermiteMercer(qf.Gaussian(0.3), n_components=n)


# --- against the dense formulas -------------------------------------------------------------------
def test_mean_and_deviation_are_those_of_the_gaussian_process(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=0.2).fit(X, y)
    Z, new = model.features_.transform(X), model.features_.transform(X[:20] + 0.1)
    A = np.column_stack([Z, np.ones(300)])
    penalty = 0.2 * np.diag([1.0] * Z.shape[1] + [0.0])
    inverse = np.linalg.inv(A.T @ A + penalty)
    H = A @ inverse @ A.T
    noise = ((y - H @ y) ** 2).sum() / (300 - np.trace(H))
    rows = np.column_stack([new, np.ones(20)])
    mean, deviation = model.predict(X[:20] + 0.1, return_std=True)
    np.testing.assert_allclose(mean, rows @ inverse @ A.T @ y, rtol=1e-8)
    assert model.noise_ == pytest.approx(noise, rel=1e-8)
    np.testing.assert_allclose(
        deviation, np.sqrt(noise * np.einsum("ij,jk,ik->i", rows, inverse, rows)), rtol=1e-8
    )


def test_the_noise_is_found(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(200)).fit(X, y)
    assert {each.judge for each in model.tuning_} == {"leave-one-out"}
    assert model.noise_ == pytest.approx(0.01, rel=0.4)  # 0.01 +- 2 * sqrt(2 / 100 left) of it


def test_signed_maps_equal_the_dense_indefinite_ridge(waves):
    X, y = waves
    features = qf.SparseGrid(qf.Gaussian(0.1), level=2, weights="signed")
    model = qf.KernelRegressor(features, alpha=0.5, fit_intercept=False).fit(X, y)
    assert (model.features_.signs_ < 0).any()
    K = model.features_.approximate_kernel(X)
    dense = K @ np.linalg.solve(K + 0.5 * np.eye(300), y)
    np.testing.assert_allclose(model.predict(X), dense, atol=1e-8 * np.abs(dense).max())
    with pytest.raises(ValueError, match="without negative weights"):
        model.predict(X, return_std=True)
    assert qf.KernelRegressor(features).fit(X, y).score(X, y) > 0.5


def test_wide_maps_find_alpha_one_factorisation_at_a_time(waves, monkeypatch):
    X, y = waves
    monkeypatch.setattr("quadfeat.models.ridge_path.MAX_PATH", 16)
    wide = qf.KernelRegressor(fixed()).fit(X, y)
    tried = {each.value: each.score for each in wide.tuning_}
    assert {each.judge for each in wide.tuning_} == {"leave-one-out"}
    assert tried[wide.alpha_] <= 1.001 * min(tried.values())
    Z = wide.features_.transform(X)
    centred = Z - Z.mean(axis=0)
    gram = centred.T @ centred + wide.alpha_ * np.eye(Z.shape[1])
    H = centred @ np.linalg.solve(gram, centred.T) + 1 / 300
    left_out = (y - y.mean() - (H - 1 / 300) @ (y - y.mean())) / (1 - np.diag(H))
    assert tried[wide.alpha_] == pytest.approx(np.mean(left_out**2), rel=1e-6)
    np.testing.assert_allclose(
        wide.coef_, np.linalg.solve(gram, centred.T @ (y - y.mean())), rtol=1e-6, atol=1e-9
    )


def test_a_path_of_alphas_ends_where_its_best_alone_does(waves):
    X, y = waves
    path = qf.KernelRegressor(fixed(), alpha=[1e-3, 1e-1, 10.0]).fit(X, y)
    alone = qf.KernelRegressor(fixed(), alpha=path.alpha_).fit(X, y)
    assert np.array_equal(path.coef_, alone.coef_)
    scores = {each.value: each.score for each in path.tuning_}
    assert path.alpha_ == min(scores, key=scores.get)


# --- the other losses -----------------------------------------------------------------------------
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("alpha", [0.05, 2.0])
def test_squared_hinge_reaches_the_optimum_of_linear_svc(waves, classes, alpha):
    X, y = waves
    codes = np.digitize(y, [0.0] if classes == 2 else [-1.0, 0.0, 1.0])
    ours = qf.KernelClassifier(fixed(), loss="squared_hinge", alpha=alpha, fit_intercept=False).fit(
        X, codes
    )
    Z = ours.features_.transform(X)
    theirs = LinearSVC(C=1 / alpha, dual=False, fit_intercept=False, tol=1e-12, max_iter=100_000)

    def loss(W):
        signs = np.where(codes[:, None] == np.arange(classes), 1, -1)[:, -len(W) :]
        return (np.maximum(0, 1 - signs * (Z @ W.T)) ** 2).sum() + alpha / 2 * (W**2).sum()

    assert loss(ours.coef_) <= loss(theirs.fit(Z, codes).coef_) * (1 + 1e-6)


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("alpha", [0.05, 2.0])
def test_logistic_reaches_the_optimum_of_logistic_regression(waves, classes, alpha):
    X, y = waves
    codes = np.digitize(y, [0.0] if classes == 2 else [-1.0, 0.0, 1.0])
    ours = qf.KernelClassifier(fixed(), loss="logistic", alpha=alpha).fit(X, codes)
    Z = ours.features_.transform(X)
    theirs = LogisticRegression(C=1 / alpha, tol=1e-10, max_iter=10_000).fit(Z, codes)

    def loss(W, P):
        return -np.log(P[np.arange(300), codes]).sum() + alpha / 2 * (W**2).sum()

    best = loss(theirs.coef_, theirs.predict_proba(Z))
    assert loss(ours.coef_, ours.predict_proba(X)) <= best * (1 + 1e-6)


def test_a_rank_is_kept_and_beats_the_truncated_full_solution(rng):
    X = rng.normal(size=(600, 4))
    codes = (X @ rng.normal(size=(4, 12)) + rng.gumbel(size=(600, 12))).argmax(axis=1)
    full = qf.KernelClassifier(fixed(), loss="logistic", alpha=0.5).fit(X, codes)
    low = clone(full).set_params(rank=3).fit(X, codes)
    assert np.linalg.matrix_rank(low.coef_, tol=1e-8) == 3
    Z = low.features_.transform(X)

    def loss(W, b):
        scores = Z @ W.T + b
        value = np.log(np.exp(scores).sum(axis=1)) - scores[np.arange(600), codes]
        return value.sum() + 0.25 * (W**2).sum()

    left, values, right = np.linalg.svd(full.coef_, full_matrices=False)
    truncated = (left[:, :3] * values[:3]) @ right[:3]
    best = loss(full.coef_, full.intercept_)
    assert best < loss(low.coef_, low.intercept_)
    gap = loss(truncated, full.intercept_) - best
    assert loss(low.coef_, low.intercept_) - best < 0.9 * gap


def test_a_metric_is_positive_where_rounding_made_its_gram_indefinite(rng):
    # One column many times over: the products of float32 features have eigenvalues below zero.
    Z = (rng.normal(100, 1, (50, 1)) * rng.uniform(0.5, 1.5, (1, 400))).astype(np.float32)
    gram = (Z.T @ Z).astype(np.float64)
    assert np.linalg.eigvalsh(gram)[0] < -1e-7 * np.trace(gram) / len(gram)
    b = rng.normal(size=(400, 5))
    cholesky = InPlaceCholesky(gram)
    factor_raised(cholesky, 0.0)
    assert (np.einsum("ij,ij->j", b, cholesky.solve(b)) > 0).all()


@pytest.mark.parametrize("loss", ["ridge", "squared_hinge", "logistic"])
def test_class_weights_are_sample_weights(waves, loss):
    X, y = waves
    codes = np.digitize(y, [0.5])
    model = qf.KernelClassifier(fixed(), loss=loss, alpha=0.5, class_weight={0: 1, 1: 3})
    by_class = model.fit(X, codes).coef_
    plain = clone(model).set_params(class_weight=None)
    by_row = plain.fit(X, codes, sample_weight=np.where(codes, 3.0, 1.0)).coef_
    np.testing.assert_allclose(by_class, by_row, rtol=1e-6, atol=1e-8)


def test_a_ridge_classifier_takes_the_alpha_of_the_least_log_loss_of_rows_left_out(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 0] > 1)
    model = qf.KernelClassifier(fixed(20), alpha=[0.01, 1.0, 100.0]).fit(X, y)
    Z = model.features_.transform(X)
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)

    def left_out(alpha, i):
        others = np.arange(60) != i
        kept, mean = Z[others], Z[others].mean(axis=0)
        centred = kept - mean
        gram = centred.T @ centred + alpha * np.eye(Z.shape[1])
        W = np.linalg.solve(gram, centred.T @ signs[others])
        return (Z[i] - mean) @ W + signs[others].mean(axis=0)

    def log_loss(alpha):
        scores = np.array([left_out(alpha, i) for i in range(60)])
        slopes = np.geomspace(0.01, 100, 40_000)
        own = scores[np.arange(60), y]
        losses = [np.mean(logsumexp(slope * scores, axis=1) - slope * own) for slope in slopes]
        prior = _PRIOR / 2 * (slopes * np.abs(scores).max()) ** 2 / 60
        return losses[np.argmin(losses + prior)]

    expected = {alpha: log_loss(alpha) for alpha in (0.01, 1.0, 100.0)}
    assert model.alpha_ == min(expected, key=expected.get)
    for each in model.tuning_:
        # The slope is found exactly, and on a fine grid here.
        assert each.score == pytest.approx(expected[each.value], rel=1e-4)


def test_probabilities_of_ridge_are_calibrated_on_rows_it_did_not_see(rng):
    X = rng.normal(size=(4000, 2))
    truth = 1 / (1 + np.exp(-3 * np.sin(2 * X).sum(axis=1)))
    y = rng.uniform(size=4000) < truth
    P = qf.KernelClassifier(fixed()).fit(X[:2000], y[:2000]).predict_proba(X[2000:])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert np.abs(P[:, 1] - truth[2000:]).mean() < 0.08
    log_loss = -np.log(P[np.arange(2000), y[2000:].astype(int)]).mean()
    best = -np.log(np.where(y, truth, 1 - truth))[2000:].mean()
    assert log_loss < best + 0.03


# --- blocks, batches, streams ---------------------------------------------------------------------
def test_batches_end_in_the_fit_of_all_rows(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=0.1).fit(X[:100], y[:100])
    batches = clone(model)
    for start in range(0, 300, 100):
        batches.partial_fit(X[start : start + 100], y[start : start + 100])
    sums = qf.KernelRegressor(_Frozen(model.features_), alpha=0.1)
    np.testing.assert_allclose(batches.coef_, sums.fit(X, y).coef_, rtol=1e-8, atol=1e-10)


def test_a_fit_forgets_the_batches_before_it(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=0.1).partial_fit(X[:100], y[:100] + 50)
    model.fit(X, y).partial_fit(X[:200], y[:200])
    fresh = qf.KernelRegressor(fixed(), alpha=0.1).partial_fit(X[:200], y[:200])
    assert np.array_equal(model.coef_, fresh.coef_)


class _Frozen(qf.FeatureMap):
    """A map that was fitted before and learns nothing more."""

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


def test_batches_of_a_classifier_may_lack_classes_that_were_named(waves):
    X, y = waves
    codes = np.digitize(np.sort(y), [-1.0, 1.0])
    model = qf.KernelClassifier(fixed(), alpha=0.1)
    model.partial_fit(X[:150], codes[:150], classes=[0, 1, 2]).partial_fit(X[150:], codes[150:])
    assert model.predict_proba(X).shape == (300, 3)
    with pytest.raises(ValueError, match="not among classes_"):
        model.partial_fit(X, codes + 5)
    with pytest.raises(AttributeError, match="partial_fit"):
        qf.KernelClassifier(loss="logistic").partial_fit(X, codes)


@pytest.mark.parametrize("loss", ["ridge", "squared_hinge", "logistic"])
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
    monkeypatch.setattr(summary, "sample_size", lambda n_columns: 300)  # so many are long
    X, y = waves
    codes = np.digitize(y, [-1.0, 1.0])
    pieces = [(X[i : i + 70], codes[i : i + 70]) for i in range(0, 300, 70)]
    model = qf.KernelClassifier(fixed(), alpha=0.3)
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


def test_a_large_mean_of_the_target_costs_no_digits(waves):
    X, y = waves
    X = X.astype(np.float32)
    plain = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, y)
    moved = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, y + 1e6)
    # y + 1e6 itself has lost 6 digits of 16; single precision products see the rest only.
    np.testing.assert_allclose(moved.predict(X) - 1e6, plain.predict(X), atol=1e-4)


def test_several_targets_are_fitted_as_each_alone(waves):
    X, y = waves
    both = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, np.column_stack([y, -2 * y]))
    alone = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, y)
    mean, deviation = both.predict(X, return_std=True)
    single, spread = alone.predict(X, return_std=True)
    np.testing.assert_allclose(mean, np.column_stack([single, -2 * single]), atol=1e-10)
    np.testing.assert_allclose(deviation, np.column_stack([spread, 2 * spread]), rtol=1e-8)


def test_a_kernel_that_was_given_is_never_changed(waves):
    X, y = waves
    given = qf.KernelRegressor(qf.HermiteMercer(qf.Gaussian(0.05), n_components=30)).fit(X, y)
    assert given.features_.kernel_.gamma == 0.05
    assert all(each.parameter == "alpha" for each in given.tuning_)
    chosen = qf.KernelRegressor(qf.HermiteMercer(n_components=30)).fit(X, y)
    tried = [each for each in chosen.tuning_ if each.parameter != "alpha"]
    assert len(tried) in (7, 8)  # a grid, and the vertex between its best
    median = qf.Gaussian("median").resolve(np.unique(X, axis=0)).gamma
    best = min(tried, key=lambda each: each.score).value
    assert chosen.features_.kernel_.gamma == pytest.approx(median / best**2)


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
        ({"rank": 2}, "loss='logistic'"),
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


def test_weights_of_classes_that_are_not_there_are_refused_as_scikit_learn_does(waves):
    X, y = waves
    with pytest.raises(ValueError, match="not in class_weight"):
        qf.KernelClassifier(fixed(), class_weight={0: 1, 7: 5}).fit(X, (y > 0).astype(int))


def test_a_column_of_labels_is_taken_for_labels_and_several_are_not(waves):
    X, y = waves
    column = (y > 0)[:, None]
    model = qf.KernelClassifier(fixed(), alpha=0.1).fit([(X, column)])
    assert np.array_equal(model.predict(X), qf.KernelClassifier(fixed(), alpha=0.1).fit(
        X, column[:, 0]).predict(X))  # fmt: skip
    with pytest.raises(ValueError, match="one label per row"):
        qf.KernelClassifier(fixed()).fit([(X, np.hstack([column, column]))])


def test_no_rows_have_no_predictions(waves, tmp_path):
    X, y = waves
    (tmp_path / "none.csv").write_text("a,b,c\n")
    names = pd.DataFrame(X, columns=["a", "b", "c"])
    one = qf.KernelRegressor(fixed(), alpha=0.1).fit(names, y)
    assert one.predict(tmp_path / "none.csv").shape == (0,)
    assert qf.KernelClassifier(fixed()).fit(names, y > 0).predict(tmp_path / "none.csv").size == 0
