"""`loss="auto"`: ridge or logistic by the log loss of validation rows, within a limited cost."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import Ridge

import quadfeat as qf
from quadfeat.models import loss_choice
from quadfeat.models.calibration import log_loss, probabilities
from quadfeat.models.stream import Rows
from quadfeat.models.validation import Split, folds

from .maps import fixed


@pytest.fixture
def classes(rng):
    """Three classes that overlap in a corner only, so that least squares fits them badly."""
    X = rng.normal(size=(400, 2))
    return X, np.where(X[:, 0] > 0.3, 2, (X[:, 1] > 0.2).astype(int))


def losses(model):
    return {tried.value: tried for tried in model.tuning_ if tried.parameter == "loss"}


def test_the_loss_with_the_lower_log_loss_is_taken_and_fitted(classes):
    X, y = classes
    auto = qf.KernelClassifier(fixed()).fit(X, y)
    tried = losses(auto)
    assert tried["logistic"].score < 0.99 * tried["ridge"].score
    assert auto.loss_ == "logistic" and tried["logistic"].chosen and not tried["ridge"].chosen
    logistic = qf.KernelClassifier(fixed(), loss="logistic").fit(X, y)
    # A small problem is fitted to rounding, and alpha is that of the comparison.
    assert auto.alpha_ == logistic.alpha_
    np.testing.assert_allclose(auto.coef_, logistic.coef_, rtol=1e-6, atol=1e-6)
    assert np.array_equal(auto.predict_proba(X).argmax(axis=1), auto.predict(X))


@pytest.mark.parametrize(("ratio", "loss"), [(0.985, "logistic"), (0.995, "ridge"), (1.5, "ridge")])
def test_ridge_wins_ties_of_all_rows(classes, monkeypatch, ratio, loss):
    X, y = classes
    logistic = losses(qf.KernelClassifier(fixed()).fit(X, y))["logistic"].score
    monkeypatch.setattr(loss_choice, "_ridge_log_loss", lambda *_: logistic / ratio)
    auto = qf.KernelClassifier(fixed()).fit(X, y)
    assert auto.loss_ == loss
    explicit = qf.KernelClassifier(fixed(), loss=loss).fit(X, y)
    assert np.array_equal(auto.predict(X), explicit.predict(X))
    if loss == "ridge":
        assert np.array_equal(auto.coef_, explicit.coef_)
        assert np.array_equal(auto.predict_proba(X), explicit.predict_proba(X))
        assert not hasattr(auto, "n_passes_")


@pytest.mark.parametrize(
    ("ratio", "loss"), [(0.995, "logistic"), (1.005, "logistic"), (1.02, "ridge")]
)
def test_logistic_wins_ties_of_a_sample(ratio, loss, rng, monkeypatch):
    monkeypatch.setattr(loss_choice, "_ridge_log_loss", lambda *_: 1.0)
    split = Split.of(Rows(rng.normal(size=(50, 2)), rng.integers(2, size=50), None))
    tried = loss_choice.compare_losses(
        ratio, [split], 1, alpha=None, intercept=True, signs=np.ones(2), whole=False
    )
    assert [each.value for each in tried if each.chosen] == [loss]


def test_the_score_of_ridge_is_the_log_loss_of_rows_it_was_not_fitted_on(rng):
    Z, y = rng.normal(size=(100, 4)), rng.integers(3, size=100)
    split = Split.of(Rows(Z, y, None))
    ridge, _ = loss_choice.compare_losses(
        1.0, [split], 3, alpha=2.0, intercept=True, signs=np.ones(4), whole=True
    )
    fold = np.arange(100) % 5 == 4
    signs = np.where(y[:, None] == np.arange(3), 1.0, -1.0)
    mean, level = Z[~fold].mean(axis=0), signs[~fold].mean(axis=0)
    centred = Z[~fold] - mean
    W = np.linalg.solve(centred.T @ centred + 2.0 * np.eye(4), centred.T @ signs[~fold])
    scores = (Z[fold] - mean) @ W + level
    slopes = np.geomspace(1e-3, 10, 2000)
    rows = np.arange(20)
    at = [-np.log(probabilities(scores, slope)[rows, y[fold]]).mean() for slope in slopes]
    # The slope has a prior, of the weight of half a row.
    assert min(at) <= ridge.score < min(at) + 0.01


def test_every_one_of_few_x_is_a_validation_row_once(rng):
    group = np.unique(rng.integers(300, size=999), return_inverse=True)[1]
    rows = Rows(group[:, None].astype(float), np.zeros(999, dtype=int), None, group=group)
    splits = folds(rows)
    validated = np.concatenate([split.validation.Z[:, 0] for split in splits])
    assert len(splits) == 5 and np.array_equal(np.sort(validated), np.sort(group))
    for split in splits:
        assert len(split.training.Z) + len(split.validation.Z) == 999
        assert not set(split.training.Z[:, 0]) & set(split.validation.Z[:, 0])


@pytest.mark.parametrize(("n", "n_splits"), [(4, 1), (5, 5), (999, 5), (1000, 1)])
def test_many_x_and_fewer_than_five_are_split_once(n, n_splits):
    rows = Rows(np.arange(n, dtype=float)[:, None], np.zeros(n, dtype=int), None)
    splits = folds(rows)
    assert len(splits) == n_splits
    assert np.array_equal(splits[0].validation.Z, Split.of(rows).validation.Z)


def test_ridge_has_one_temperature_for_all_folds(rng):
    Z, y = rng.normal(size=(60, 3)), rng.integers(2, size=60)
    ridge, _ = loss_choice.compare_losses(
        1.0, folds(Rows(Z, y, None)), 1, alpha=2.0, intercept=True, signs=np.ones(3), whole=True
    )
    scores = np.empty((60, 1))
    for fold in range(5):
        out = np.arange(60) % 5 == fold
        scores[out, 0] = Ridge(alpha=2.0).fit(Z[~out], 2 * y[~out] - 1).predict(Z[out])
    assert ridge.score == pytest.approx(log_loss(scores, y, np.ones(60), 60.0), rel=1e-6)


def test_rows_of_equal_x_are_on_one_side_of_a_split(rng):
    group = np.sort(rng.integers(30, size=100))
    group = np.unique(group, return_inverse=True)[1]
    Z = group[:, None].astype(float)
    split = Split.of(Rows(Z, np.zeros(100, dtype=int), None, group=group))
    assert not set(split.training.Z[:, 0]) & set(split.validation.Z[:, 0])
    assert len(split.training.Z) + len(split.validation.Z) == 100


@pytest.mark.parametrize(
    ("limit", "words"),
    [("_MAX_COLUMNS", "columns"), ("_MAX_FEATURES", "n p is"), ("_MAX_WORK", "n p t is")],
)
def test_long_fits_take_ridge_and_say_so(classes, monkeypatch, limit, words):
    X, y = classes
    model = qf.KernelClassifier(fixed(20))
    p = clone(model).fit(X, y).features_.n_columns_
    work = {"_MAX_COLUMNS": p, "_MAX_FEATURES": 400 * p, "_MAX_WORK": 400 * p * 3}[limit]
    monkeypatch.setattr(loss_choice, limit, work)
    assert len(losses(clone(model).fit(X, y))) == 2
    monkeypatch.setattr(loss_choice, limit, work - 1)
    monkeypatch.setattr("quadfeat.models.classifier.compare_losses", None)  # not called
    model.fit(X, y)
    assert model.loss_ == "ridge"
    (only,) = losses(model).values()
    assert only.chosen and np.isnan(only.score) and words in only.judge
    assert "not compared" in repr(model.tuning_)


def test_a_million_rows_of_the_default_width_take_ridge():
    assert loss_choice.too_costly(1_000_000, 256, 1)
    assert loss_choice.too_costly(100_000, 1024, 1)
    assert not loss_choice.too_costly(60_000, 1024, 10)  # MNIST
    assert not loss_choice.too_costly(16_000, 1024, 26)  # letter
    assert loss_choice.too_costly(1000, 8192, 1)


@pytest.mark.parametrize(
    ("n", "p", "t"), [(1, 4096, 1), (2**16, 2**10, 16), (2**20, 2**6, 16), (2**14, 2**12, 1)]
)
def test_the_limits_of_a_comparison_are_those_of_the_docstring(n, p, t):
    """At most 4096 columns, n p <= 2^26 and n p t <= 2^30."""
    assert not loss_choice.too_costly(n, p, t)
    assert loss_choice.too_costly(n, 4097, t)
    assert loss_choice.too_costly(2**26 // p + 1, p, t)
    assert loss_choice.too_costly(n, p, 2**30 // (n * p) + 1)


def test_batches_iterators_and_several_alphas_take_ridge(classes, monkeypatch):
    monkeypatch.setattr("quadfeat.data.sampling._ROWS", 300)  # so many are long
    X, y = classes
    ridge = qf.KernelClassifier(fixed(), loss="ridge", alpha=0.3)
    model = clone(ridge).set_params(loss="auto")
    pieces = [(X[i : i + 70], y[i : i + 70]) for i in range(0, 400, 70)]
    read_once = clone(model).fit(iter(pieces))
    assert read_once.loss_ == "ridge" and "once" in read_once.tuning_[0].judge
    assert np.array_equal(read_once.coef_, clone(ridge).fit(iter(pieces)).coef_)
    several = clone(model).set_params(alpha=[0.3, 3.0]).fit(X, y)
    assert several.loss_ == "ridge" and "alphas" in several.tuning_[0].judge
    batches, same = clone(model), clone(ridge)
    for _ in range(2):
        batches.partial_fit(X, y)
        same.partial_fit(X, y)
    assert batches.loss_ == "ridge" and np.array_equal(batches.coef_, same.coef_)
    (only,) = losses(batches).values()
    assert only.chosen and "partial_fit" in only.judge
    assert np.array_equal(batches.predict_proba(X), same.predict_proba(X))


def test_a_rank_means_logistic(classes):
    X, y = classes
    auto = qf.KernelClassifier(fixed(), rank=1, alpha=0.5).fit(X, y)
    logistic = qf.KernelClassifier(fixed(), loss="logistic", rank=1, alpha=0.5).fit(X, y)
    assert auto.loss_ == "logistic" and np.array_equal(auto.coef_, logistic.coef_)
    with pytest.raises(AttributeError, match="partial_fit"):
        qf.KernelClassifier(rank=1).partial_fit(X, y)


def test_one_model_can_be_fitted_with_one_loss_after_the_other(classes, tmp_path):
    X, y = classes
    model = qf.KernelClassifier(fixed()).fit(X, y)
    assert model.loss_ == "logistic" and not hasattr(model, "_slope")
    model.partial_fit(X, y)
    assert model.loss_ == "ridge" and not hasattr(model, "n_passes_")
    qf.save(model, tmp_path / "model.qf")
    again = qf.load(tmp_path / "model.qf")
    assert again.loss_ == "ridge" and np.array_equal(again.predict_proba(X), model.predict_proba(X))
    assert repr(again.tuning_) == repr(model.tuning_)


def test_the_choice_does_not_depend_on_copies(classes):
    X, y = classes
    by_weight = qf.KernelClassifier(fixed()).fit(X, y, sample_weight=np.full(400, 2.0))
    by_row = qf.KernelClassifier(fixed()).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    one, two = ([t.score for t in losses(m).values()] for m in (by_weight, by_row))
    assert by_weight.loss_ == by_row.loss_
    np.testing.assert_allclose(one, two, rtol=1e-6)


@pytest.mark.parametrize(("n", "compared"), [(30, False), (240, False), (260, True)])
def test_few_validation_rows_choose_no_loss(n, compared, rng):
    X = rng.normal(size=(n, 2))
    model = qf.KernelClassifier(fixed()).fit(X, (X[:, 0] > X[:, 1] ** 2).astype(int))
    assert (len(losses(model)) == 2) == compared
    if not compared:
        assert model.loss_ == "ridge" and "50 validation rows" in losses(model)["ridge"].judge


def test_thirty_rows_without_a_mistake_do_not_make_it_certain(rng):
    """Log losses beside those of the shares of the classes, over draws."""
    worse = []
    for _ in range(8):
        X = rng.normal(size=(530, 2))
        y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=530) > 0.7).astype(int)
        model = qf.KernelClassifier(qf.KernelFeatures(n_components=64)).fit(X[:30], y[:30])
        chance = np.log(model.predict_proba(X[30:]))[np.arange(500), y[30:]]
        share = y[:30].mean()
        worse.append(-chance.mean() + np.log(np.where(y[30:] == 1, share, 1 - share)).mean())
    assert np.mean(worse) < -0.15 and max(worse) < 0.1
