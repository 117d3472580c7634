"""Choice of bandwidth and penalty, by likelihood, leave-one-out or validation rows."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

import quadfeat as qf
from quadfeat.data.checkpoint import Checkpoint
from quadfeat.models import ridge
from quadfeat.models.descent import Objective, fit_loss, tune_alpha
from quadfeat.models.losses import Weights
from quadfeat.models.ridge_sums import NormalSums
from quadfeat.models.stream import Rows
from quadfeat.models.tuning import Tried, Tuning, best, marked, penalties, with_rows
from quadfeat.models.validation import Split, folds
from quadfeat.numerics.factorisations import InPlaceCholesky


def small():
    return qf.HermiteMercer(n_components=30)


def kernels(model):
    return [each for each in model.tuning_ if each.parameter not in ("alpha", "loss")]


# --- the table --------------------------------------------------------------------------------
def test_a_table_says_what_was_tried_chosen_and_at_an_edge():
    rows = [
        Tried("kernel", "Laplacian, a scale per axis", 0.5, "likelihood", chosen=True),
        Tried("alpha", 0.25, np.inf, "leave-one-out", edge=True),
        Tried("alpha", 4.0, 0.125, "leave-one-out", chosen=True, edge=True),
        Tried("loss", "ridge", np.nan, "not compared: partial_fit", chosen=True),
    ]
    head, kernel, first, last, loss = repr(Tuning(rows)).splitlines()
    assert head.split() == ["parameter", "value", "score", "score", "is"]
    assert "Laplacian, a scale per axis" in kernel and kernel.split("0.5")[1].split()[0] == "chosen"
    assert "inf" in first and "chosen" not in first and "edge" not in first
    assert "0.125  chosen, at an edge  leave-one-out" in last
    assert "-  chosen" in loss
    assert len({line.find(word) for line, word in [(head, "score is"), (last, "leave-")]}) == 1
    assert Tuning(rows) == rows and str(Tuning(rows)) == repr(Tuning(rows))
    assert "nothing was tried" in repr(Tuning())
    assert Tuning(rows)._repr_html_().count("<tr") == 5


def test_new_rows_replace_those_of_the_same_parameter_only():
    one, two = Tried("alpha", 1.0, 0.5, "a"), Tried("loss", "ridge", 0.5, "b")
    new = Tried("alpha", 2.0, 0.25, "a")
    assert with_rows([one, two], "alpha", [new]) == [two, new]


@pytest.mark.parametrize(("scores", "chosen"), [([1, 2, 3], 0), ([3, 1, 2], 1), ([3, 2, 1], 2)])
def test_the_best_alpha_is_marked_and_the_ends_of_the_grid_are_edges(scores, chosen):
    alphas = np.array([0.1, 1.0, 10.0])
    alpha, tried = best(alphas, np.array(scores, dtype=float), "leave-one-out")
    assert alpha == alphas[chosen]
    assert [each.chosen for each in tried] == [i == chosen for i in range(3)]
    assert [each.edge for each in tried] == [True, False, True]
    _, tried = best(alphas, np.array(scores, dtype=float), "leave-one-out", (0.1, 100.0))
    assert [each.edge for each in tried] == [True, False, False]
    assert not any(each.edge for each in marked(tried, tried[0]))


@pytest.mark.parametrize("model", [qf.KernelRegressor, qf.KernelClassifier])
def test_one_value_of_each_parameter_is_chosen_and_it_is_that_of_the_model(model, rng, tmp_path):
    X = rng.normal(size=(300, 2))  # enough to compare losses; one that is not has no score, nan
    y = np.sin(2 * X).sum(axis=1) + 0.3 * rng.normal(size=300)
    fitted = model(small()).fit(X, y if model is qf.KernelRegressor else y > 0)
    chosen = {each.parameter: each.value for each in fitted.tuning_ if each.chosen}
    assert sum(each.chosen for each in fitted.tuning_) == len(chosen)
    assert {each.parameter for each in fitted.tuning_} == set(chosen)
    assert chosen["alpha"] == fitted.alpha_
    assert chosen.get("loss") == getattr(fitted, "loss_", None)
    qf.save(fitted, tmp_path / "model.qf")
    again = qf.load(tmp_path / "model.qf")
    assert again.tuning_ == fitted.tuning_ and repr(again.tuning_) == repr(fitted.tuning_)


# --- kernels -----------------------------------------------------------------------------------
def test_what_varies_faster_gets_a_shorter_length_scale(rng):
    X = rng.uniform(-1, 1, size=(400, 1))
    slow, fast = (
        qf.KernelRegressor(small()).fit(X, np.sin(rate * X[:, 0])).features_.kernel_.gamma
        for rate in (1.0, 12.0)
    )
    assert fast > 4 * slow


def test_weights_count_copies_when_a_kernel_is_chosen(rng):
    # Few columns: of 30, some are as small as 5e-12 of the trace, and rounding shows in scores.
    model = qf.KernelRegressor(small().set_params(n_components=16))
    X, copies = rng.normal(size=(150, 2)), rng.integers(1, 9, size=150)
    y = np.sin(2 * X).sum(axis=1) + rng.normal(size=150)
    by_weight = clone(model).fit(X, y, sample_weight=copies)
    by_row = clone(model).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    scores = ([t.score for t in kernels(each)] for each in (by_weight, by_row))
    np.testing.assert_allclose(*scores, rtol=1e-6)


def test_a_seed_that_was_given_is_kept(rng):
    X = rng.normal(size=(100, 2))
    given = qf.RandomFourier(qf.Gaussian(0.5), n_components=16, random_state=3)
    model = qf.KernelRegressor(given, alpha=0.1).fit(X, X[:, 0])
    own = given.fit(X)  # what random nodes see of rows is how many columns they have
    assert np.array_equal(model.features_.transform(X), own.transform(X))


def test_the_front_door_is_tuned_with_as_many_columns_as_it_has():
    for width, expected in ((32, 32), (1024, 1024), (10_000, 2048)):
        cheap = qf.KernelFeatures(n_components=width).lighter(qf.Gaussian(1.0), 2048)
        assert cheap.n_components == expected


# --- penalties ------------------------------------------------------------------------------------
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_the_least_penalty_is_as_small_as_the_rounding_of_the_sums_allows(dtype, rng):
    # More columns than rows: most eigenvalues are zero, and half of those below it by rounding.
    Z = rng.normal(size=(50, 400)).astype(dtype)
    sums = NormalSums(400, 0)
    sums.add(Z, np.empty((50, 0)))
    system = sums.system(intercept=False, signs=np.ones(400), copy=True)
    least = penalties(system.scale, dtype)[0]
    InPlaceCholesky(system.gram.copy()).factor(least)
    with pytest.raises(np.linalg.LinAlgError):
        InPlaceCholesky(system.gram.copy()).factor(1e-7 * least)


def test_rows_of_no_spread_are_predicted_by_the_mean(rng):
    y = rng.normal(size=20)
    model = qf.KernelRegressor(qf.HermiteMercer(qf.Gaussian(0.3), n_components=8))
    np.testing.assert_allclose(model.fit(np.zeros((20, 3)), y).predict(np.zeros((2, 3))), y.mean())


@pytest.mark.parametrize("factor", [1 / 1024, 3.0, 1e6])
def test_weights_times_a_constant_move_alpha_and_nothing_else(factor, rng):
    X = rng.normal(size=(200, 2))
    y = np.sin(2 * X).sum(axis=1) + rng.normal(size=200)
    weight = rng.uniform(0.5, 2, size=200)
    for alpha in ("auto", 0.5):
        features = qf.HermiteMercer(qf.Gaussian(0.3), n_components=30)
        plain = qf.KernelRegressor(features, alpha=alpha).fit(X, y, weight)
        scaled = qf.KernelRegressor(features, alpha=alpha)
        if alpha != "auto":
            scaled.set_params(alpha=alpha * factor)
        scaled.fit(X, y, factor * weight)
        assert scaled.alpha_ == pytest.approx(factor * plain.alpha_, rel=1e-9)
        assert scaled.noise_ == pytest.approx(plain.noise_, rel=1e-9)
        for one, two in zip(*(m.predict(X, return_std=True) for m in (plain, scaled)), strict=True):
            np.testing.assert_allclose(one, two, rtol=1e-8, atol=1e-10)


def test_wide_maps_have_the_scores_and_the_noise_of_narrow_ones(rng, monkeypatch):
    X = rng.normal(size=(200, 2))
    y = np.sin(2 * X).sum(axis=1) + rng.normal(size=200)
    weight = rng.integers(1, 5, size=200).astype(float)
    features = qf.HermiteMercer(qf.Gaussian(0.3), n_components=30)
    narrow = qf.KernelRegressor(features).fit(X, y)
    weighted = qf.KernelRegressor(features, alpha=0.5).fit(X, y, sample_weight=weight)
    monkeypatch.setattr("quadfeat.models.ridge_path.MAX_PATH", 16)
    wide = qf.KernelRegressor(features).fit(X, y)
    scores = {each.value: each.score for each in narrow.tuning_}
    for each in wide.tuning_:
        assert each.score == pytest.approx(scores[each.value], rel=1e-6)
    again = qf.KernelRegressor(features, alpha=0.5).fit(X, y, sample_weight=weight)
    assert again.noise_ == pytest.approx(weighted.noise_, rel=1e-6)


@pytest.fixture
def sample(rng):
    Z = rng.normal(size=(100, 3))
    return Rows(Z, (Z[:, 0] + rng.normal(size=100) > 0).astype(int), None)


def test_every_fifth_row_judges_what_the_others_fitted(sample):
    alpha, tried = tune_alpha("logistic", [Split.of(sample)], 1, intercept=True)
    validation, training = np.arange(4, 100, 5), np.flatnonzero(np.arange(100) % 5 != 4)
    for each in tried:
        model = LogisticRegression(C=1 / each.value, tol=1e-10, max_iter=10_000)
        model.fit(sample.Z[training], sample.y[training])
        P = model.predict_proba(sample.Z[validation])
        loss = -np.log(P[np.arange(20), sample.y[validation]]).mean()
        assert each.score == pytest.approx(loss, rel=1e-3)
    scores = np.array([each.score for each in tried])
    assert alpha == tried[scores.argmin()].value
    assert len(tried) == 6 or scores[-1] > 1.02 * scores.min()
    assert (scores[:-1] <= 1.02 * np.minimum.accumulate(scores)[:-1]).all()


def test_of_few_rows_each_judges_a_fit_of_the_others(sample):
    alpha, tried = tune_alpha("logistic", folds(sample), 1, intercept=True)
    fold = np.arange(100) % 5
    for each in tried[1:4]:
        model = LogisticRegression(C=1 / each.value, tol=1e-10, max_iter=10_000)
        P = cross_val_predict(
            model, sample.Z, sample.y, cv=PredefinedSplit(fold), method="predict_proba"
        )
        assert each.score == pytest.approx(-np.log(P[np.arange(100), sample.y]).mean(), rel=1e-3)
    assert alpha == min(tried, key=lambda each: each.score).value


def test_rows_of_one_x_judge_together_and_weights_set_the_scale_of_alpha(sample):
    group = np.arange(100) // 2
    Z = sample.Z[group * 2]
    pairs = Rows(Z, sample.y, np.ones(100), group=group)
    heavy = Rows(Z, sample.y, np.full(100, 7.0), group=group)
    ours, theirs = (
        tune_alpha("logistic", [Split.of(rows)], 1, intercept=True) for rows in (pairs, heavy)
    )
    assert theirs[0] == pytest.approx(7 * ours[0], rel=1e-12)
    validation = group % 5 == 4
    for one, other in zip(ours[1], theirs[1], strict=True):
        assert one.score == pytest.approx(other.score, rel=1e-6)
        model = LogisticRegression(C=1 / one.value, tol=1e-10, max_iter=10_000)
        model.fit(Z[~validation], sample.y[~validation])
        P = model.predict_proba(Z[validation])[np.arange(20), sample.y[validation]]
        assert one.score == pytest.approx(-np.log(P).mean(), rel=1e-3)


def test_a_descent_that_runs_out_of_passes_says_so(sample, monkeypatch):
    monkeypatch.setattr("quadfeat.models.descent._MAX_PASSES", 2)
    objective = Objective("logistic", Weights(3, 1, rank=None, intercept=True), 1e-3)
    with pytest.warns(ConvergenceWarning, match="not at its minimum after 2 passes"):
        fit_loss(objective, sample, Checkpoint.none(), tolerance=1e-12, max_passes=2)


# --- wide maps ------------------------------------------------------------------------------------
def test_weights_count_copies_when_a_wide_map_chooses_alpha(rng, monkeypatch):
    monkeypatch.setattr(ridge, "MAX_PATH", 16)
    X, copies = rng.normal(size=(200, 2)), rng.integers(1, 9, size=200)
    y = np.sin(2 * X).sum(axis=1) + rng.normal(size=200)
    model = qf.KernelRegressor(small().set_params(kernel=qf.Gaussian(0.5)), alpha=[0.1, 1.0, 10.0])
    by_weight = clone(model).fit(X, y, sample_weight=copies)
    by_row = clone(model).fit(np.repeat(X, copies, axis=0), np.repeat(y, copies))
    scores = ([t.score for t in each.tuning_] for each in (by_weight, by_row))
    np.testing.assert_allclose(*scores, rtol=1e-6)


def test_the_alpha_that_is_said_to_work_works(rng):
    """Columns that repeat each other, in single precision: the sums have negative eigenvalues."""
    Z = rng.normal(100, 1, size=(50, 1)) * rng.uniform(0.5, 1.5, size=(1, 400))
    sums = NormalSums(400, 1)
    sums.add(Z.astype(np.float32), rng.normal(size=(50, 1)))

    def factor(alpha):
        system = sums.system(intercept=False, signs=np.ones(400), copy=True)
        ridge._factor(InPlaceCholesky(system.gram), alpha, system, np.float32)

    with pytest.raises(ValueError, match=r"too small .* works") as refusal:
        factor(1e-9)
    factor(float(str(refusal.value).split()[-2]))
