"""The classifier: the optima of scikit-learn's losses, ranks, class weights, probabilities."""

import numpy as np
import pytest
from scipy.special import logsumexp
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.svm import LinearSVC

import quadfeat as qf
from quadfeat.models.calibration import _PRIOR

from .maps import fixed


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


@pytest.mark.parametrize("loss", ["ridge", "squared_hinge", "logistic"])
def test_class_weights_are_sample_weights(waves, loss):
    X, y = waves
    codes = np.digitize(y, [0.5])
    model = qf.KernelClassifier(fixed(), loss=loss, alpha=0.5, class_weight={0: 1, 1: 3})
    by_class = model.fit(X, codes).coef_
    plain = clone(model).set_params(class_weight=None)
    by_row = plain.fit(X, codes, sample_weight=np.where(codes, 3.0, 1.0)).coef_
    np.testing.assert_allclose(by_class, by_row, rtol=1e-6, atol=1e-8)


@pytest.mark.long
def test_a_ridge_classifier_takes_the_alpha_of_the_least_log_loss_of_rows_left_out(rng):
    X = rng.normal(size=(60, 2))
    y = (X[:, 0] * X[:, 1] > 0).astype(int) + (X[:, 0] > 1)
    model = qf.KernelClassifier(fixed(20), loss="ridge", alpha=[0.01, 1.0, 100.0]).fit(X, y)
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
    model = qf.KernelClassifier(fixed(), loss="ridge").fit(X[:2000], y[:2000])
    P = model.predict_proba(X[2000:])
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=1e-12)
    assert np.abs(P[:, 1] - truth[2000:]).mean() < 0.08
    log_loss = -np.log(P[np.arange(2000), y[2000:].astype(int)]).mean()
    best = -np.log(np.where(y, truth, 1 - truth))[2000:].mean()
    assert log_loss < best + 0.03


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


@pytest.mark.parametrize("classes", [2, 3])
@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("classes_", lambda value: value[::-1], "not distinct and sorted"),
        ("classes_", lambda value: value[:1], "not distinct and sorted"),
        ("_n_scores", lambda value: value + 1, "not those of the classes"),
        ("coef_", lambda value: value[:, 1:], "does not fit the map"),
        ("intercept_", lambda value: np.append(value, 0.0), "not one per score"),
        ("_factors", lambda value: np.ones(9), "a class has no weight"),
        ("loss_", lambda value: "hinge", "loss is unknown"),
    ],
)
def test_parts_of_a_classifier_that_do_not_fit_are_refused(waves, classes, name, change, message):
    X, y = waves
    codes = np.digitize(y, [0.0] if classes == 2 else [-0.5, 0.5])
    model = qf.KernelClassifier(fixed(), loss="ridge", alpha=1.0).fit(X, codes)
    model.restored()
    setattr(model, name, change(getattr(model, name)))
    with pytest.raises(ValueError, match=message):
        model.restored()
