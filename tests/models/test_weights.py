"""Laws of rows: a weight counts copies, only ratios of weights matter, and order does not."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import balanced_accuracy_score
from sklearn.utils.estimator_checks import (
    check_sample_weight_equivalence_on_dense_data,
    check_sample_weight_equivalence_on_sparse_data,
)

import quadfeat as qf
from quadfeat.data.sampling import is_table_of_counts

MODELS = {
    "regressor": qf.KernelRegressor(qf.HermiteMercer(n_components=16)),
    "auto": qf.KernelClassifier(qf.HermiteMercer(n_components=16)),
    "ridge": qf.KernelClassifier(qf.HermiteMercer(n_components=16), loss="ridge"),
    "balanced": qf.KernelClassifier(qf.HermiteMercer(n_components=16), class_weight="balanced"),
    "logistic": qf.KernelClassifier(qf.HermiteMercer(n_components=16), loss="logistic"),
    "hinge": qf.KernelClassifier(qf.HermiteMercer(n_components=16), loss="squared_hinge"),
}


@pytest.fixture(params=MODELS)
def case(request, rng):
    """A model, rows and targets: numbers, or three classes."""
    X = rng.normal(size=(150, 2))
    y = np.sin(2 * X).sum(axis=1) + 0.5 * rng.normal(size=150)
    if request.param != "regressor":
        y = np.digitize(y, [-0.5, 1.0])
    return clone(MODELS[request.param]), X, y


def answers(model, X):
    """All predictions of a model for rows."""
    said = [model.predict(X)]
    if isinstance(model, qf.KernelRegressor):
        return [*model.predict(X, return_std=True), [model.noise_]]
    said.append(model.decision_function(X))
    return said if model.loss == "squared_hinge" else [*said, model.predict_proba(X)]


def assert_same(one, two, X):
    # Ridge is exact to rounding; a descent ends when 1e-18 of the loss is left, so to about 1e-7.
    for ours, theirs in zip(answers(one, X), answers(two, X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-6)


def test_a_weight_counts_copies_of_a_row(case, rng):
    model, X, y = case
    copies = rng.integers(0, 5, size=150)
    each = rng.permutation(np.repeat(np.arange(150), copies))
    by_weight = clone(model).fit(X, y, sample_weight=copies)
    by_row = clone(model).fit(X[each], y[each])
    assert by_weight.alpha_ == pytest.approx(by_row.alpha_, rel=1e-9)
    assert_same(by_weight, by_row, X)


@pytest.mark.parametrize("factor", [1e-6, 50.0])
def test_weights_times_a_constant_move_alpha_and_nothing_else(case, factor, rng):
    model, X, y = case
    weight = rng.uniform(0.5, 3, size=150)
    plain = clone(model).fit(X, y, weight)
    scaled = clone(model).fit(X, y, factor * weight)
    assert scaled.alpha_ == pytest.approx(factor * plain.alpha_, rel=1e-9)
    assert_same(plain, scaled, X)


def test_the_order_of_rows_changes_nothing(case, rng):
    model, X, y = case
    order = rng.permutation(150)
    assert_same(clone(model).fit(X, y), clone(model).fit(X[order], y[order]), X)


@pytest.mark.parametrize("model", [qf.KernelRegressor(), qf.KernelClassifier()])
def test_scikit_learn_sees_weights_as_copies_in_the_default_models(model):
    for check in (
        check_sample_weight_equivalence_on_dense_data,
        check_sample_weight_equivalence_on_sparse_data,
    ):
        check(type(model).__name__, model)


# --- what is chosen ---
def test_weights_above_one_do_not_spoil_the_penalty(rng):
    X, new = rng.normal(size=(200, 3)), rng.normal(size=(500, 3))
    truth = np.sin(2 * new).sum(axis=1)
    y = np.sin(2 * X).sum(axis=1) + 0.3 * rng.normal(size=200)
    model = qf.KernelRegressor(qf.HermiteMercer(n_components=100)).fit(X, y, np.full(200, 2.0))
    mean, deviation = model.predict(new, return_std=True)
    assert 1 - np.var(truth - mean) / np.var(truth) > 0.9
    # 2 deviations of a Gaussian process hold 95% of values, to about the smoothness it expects.
    assert 0.85 < np.mean(np.abs(truth - mean) < 2 * deviation) <= 1.0


def test_balanced_weights_choose_a_penalty_about_as_good_as_the_best(rng):
    X, new = rng.normal(size=(600, 4)), rng.normal(size=(4000, 4))
    y, truth = ((rows[:, 0] + rows[:, 1] * rows[:, 2] > 1.8).astype(int) for rows in (X, new))
    y = np.where(rng.random(600) < 0.03, 1 - y, y)
    model = qf.KernelClassifier(
        qf.HermiteMercer(qf.Gaussian(0.1), n_components=100), class_weight="balanced"
    )

    def accuracy(alpha):
        fitted = clone(model).set_params(alpha=alpha).fit(X, y)
        return balanced_accuracy_score(truth, fitted.predict(new))

    # A balanced accuracy of 4000 rows, a tenth of them rare, is known to about 0.02.
    assert accuracy("auto") > max(map(accuracy, 10.0 ** np.arange(-2, 4))) - 0.04


@pytest.mark.parametrize("features", [qf.HermiteMercer(), qf.RandomFourier(n_components=32)])
def test_deviations_of_few_rows_are_positive_numbers(features, rng):
    for n in (2, 3, 5, 7, 8, 10, 20, 29):
        X = rng.normal(size=(n, 2))
        for y in (X[:, 0] + 0.1 * rng.normal(size=n), np.sin(X[:, 0])):
            model = qf.KernelRegressor(clone(features)).fit(X, y)
            deviation = model.predict(rng.normal(size=(20, 2)), return_std=True)[1]
            assert np.isfinite(deviation).all() and (deviation > 0).all() and model.noise_ > 0


# --- what is seen ---
def r2(model, X, truth):
    return 1 - np.var(truth - model.predict(X)) / np.var(truth)


def test_every_hour_of_a_periodic_recording_is_learned(rng):
    hour = np.arange(24 * 2500) % 24
    level = rng.normal(size=24)
    X = np.column_stack([np.eye(24)[hour], rng.normal(size=len(hour))])
    model = qf.KernelRegressor(qf.HermiteMercer(n_components=128)).fit(X, level[hour])
    for each in range(24):
        rows = X[hour == each][:50]
        assert np.sqrt(np.mean((model.predict(rows) - level[each]) ** 2)) < 0.1


def test_interleaved_sensors_are_both_learned(rng):
    X = rng.normal(size=(40_000, 2))
    X[:, 1] = 5 * (np.arange(len(X)) % 2)
    y = np.where(X[:, 1] > 0, np.sin(2 * X[:, 0]), X[:, 0])
    model = qf.KernelRegressor(qf.HermiteMercer(n_components=64)).fit(X, y)
    for sensor in (0, 5):
        some = X[:, 1] == sensor
        assert r2(model, X[some], y[some]) > 0.99


def test_a_class_of_three_rows_among_many_is_known_to_the_model(rng):
    X = rng.normal(size=(30_000, 2))
    y = np.where(X[:, 0] > 0, "right", "left")
    y[:3], X[:3] = "far", [50.0, 50.0] + 0.1 * X[:3]
    features = qf.Landmarks(qf.Gaussian(0.5), n_components=64, random_state=0)
    model = qf.KernelClassifier(features).fit(X, y)  # without a warning, whichever loss it takes
    assert model.classes_.tolist() == ["far", "left", "right"]
    assert (model.predict(X[:3]) == "far").all()


@pytest.mark.parametrize("case", [name for name in MODELS if name != "regressor"], indirect=True)
def test_a_class_of_weight_zero_is_left_out(case):
    model, X, y = case
    model.set_params(class_weight={0: 0.0, 1: 1.0, 2: 3.0})
    left_out = clone(model).fit(X, y)
    assert np.isfinite(left_out.alpha_)
    assert set(left_out.predict(X)) == {1, 2}
    moved = np.where((y == 0)[:, None], X + 100, X)  # where its rows are does not matter
    assert_same(left_out, clone(model).fit(moved, y), X[y > 0])


def test_class_weights_that_leave_no_row_are_named(rng):
    X, y = rng.normal(size=(10, 2)), np.repeat([1, 0], 5)
    model = qf.KernelClassifier(qf.HermiteMercer(n_components=4), class_weight={0: 0, 1: 1})
    with pytest.raises(ValueError, match="class_weight leaves no row"):
        model.partial_fit(X[5:], y[5:], classes=[0, 1])


@pytest.mark.parametrize("factor", [1e-90, 1e-45, 1e45, 1e90])
def test_weights_beyond_the_range_of_float32_keep_their_ratios(case, factor, rng):
    model, X, y = case
    # A kernel is given: the rounding of float32 may turn a choice between two that are as good.
    model.set_params(dtype="float32", alpha=0.1)
    model.features.set_params(kernel=qf.Gaussian(0.3))
    weight = rng.uniform(0.5, 3, size=150)
    plain = clone(model).fit(X, y, weight)
    scaled = clone(model).set_params(alpha=0.1 * factor).fit(X, y, factor * weight)
    # The rounding of float32 is 6e-8, and alpha 0.1 leaves a condition of about 1e3.
    for ours, theirs in zip(answers(plain, X), answers(scaled, X), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_targets_of_any_scale_are_learned_alike(dtype, rng):
    X = rng.normal(size=(150, 2))
    y = np.sin(2 * X).sum(axis=1) + 0.5 * rng.normal(size=150)
    model = qf.KernelRegressor(qf.RandomFourier(qf.Gaussian(0.5), n_components=16), dtype=dtype)
    plain = answers(clone(model).fit(X, y), X)
    for scale in (1e-100, 1e-45, 1e45, 1e100):
        several = clone(model).fit(X, np.c_[y, scale * y])
        for ours, theirs in zip(several.predict(X, return_std=True), plain, strict=False):
            np.testing.assert_allclose(ours[:, 1] / scale, theirs, rtol=1e-2, atol=1e-3)
            np.testing.assert_allclose(ours[:, 0], theirs, rtol=1e-2, atol=1e-3)


@pytest.mark.parametrize(
    ("X", "y", "dtype", "said"),
    [
        (1.0, 1e-160, "float64", "squares underflow"),
        (1e-200, 1.0, "float64", "distances that do not underflow"),
        (1e-100, 1.0, "float32", "less than float32 resolves"),
    ],
)
def test_scales_that_vanish_are_refused(X, y, dtype, said, rng):
    rows = rng.normal(size=(50, 2))
    with pytest.raises(ValueError, match=said):
        qf.KernelRegressor(dtype=dtype).fit(X * rows, y * rows[:, 0])


def test_a_weight_of_next_to_nothing_is_no_row(case):
    model, X, y = case
    # Maps learn from rows of any weight; random features do not learn.
    model.set_params(features=qf.RandomFourier(qf.Gaussian(0.5), n_components=16), alpha=0.1)
    weight = np.append(np.ones(149), 1e-200)
    assert_same(clone(model).fit(X, y, weight), clone(model).fit(X[:149], y[:149]), X[:149])


def test_the_unit_of_a_target_does_not_matter_to_the_others(rng):
    X = rng.normal(size=(300, 2))
    clean = np.sin(2 * X[:, 0]) + X[:, 1]
    noisy = clean + 2 * rng.normal(size=300)
    model = qf.KernelRegressor(qf.HermiteMercer(qf.Gaussian(0.5), n_components=64))
    metres = clone(model).fit(X, np.c_[noisy, clean])
    for unit in (1e-6, 1e6):
        other = clone(model).fit(X, np.c_[noisy, unit * clean])
        assert other.alpha_ == metres.alpha_
        np.testing.assert_allclose(other.predict(X)[:, 0], metres.predict(X)[:, 0], atol=1e-9)
    constant = clone(model).fit(X, np.c_[noisy, np.full(300, 0.1)], sample_weight=np.full(300, 0.3))
    alone = clone(model).fit(X, noisy, sample_weight=np.full(300, 0.3))
    assert constant.alpha_ == pytest.approx(alone.alpha_)


def test_whole_blocks_without_weight_are_left_out(case, rng):
    model, X, y = case
    far = rng.normal(size=(9000, 2)) + 50  # more than a block
    weight = np.repeat([0.0, 1.0], [9000, 150])
    padded = clone(model).fit(
        np.vstack([far, X]), np.append(y[rng.integers(150, size=9000)], y), weight
    )
    assert_same(padded, clone(model).fit(X, y), X)


# --- tables of counts ---
@pytest.mark.parametrize("d", [1, 2, 3])
def test_rows_of_few_different_x_are_observations_and_not_copies(d, rng):
    """The parity of bits: other x carry no information on the target of one left out."""
    X = rng.integers(0, 2, size=(4000, d)).astype(float)
    parity = X.sum(axis=1) % 2
    noisy = parity + 0.1 * rng.integers(-1, 2, size=4000)
    for y in (parity, noisy):
        assert r2(qf.KernelRegressor().fit(X, y), X, parity) > 0.99
    labels = np.where(rng.random(4000) < 0.1, 1 - parity, parity)
    for loss in ("ridge", "logistic"):
        model = qf.KernelClassifier(loss=loss).fit(X, labels)
        of_true = model.predict_proba(X)[np.arange(4000), parity.astype(int)]
        # 0.9, known to 0.3 / sqrt(500) in each of eight cells; five deviations.
        assert np.abs(of_true - 0.9).max() < 0.07
    counts = np.unique(np.column_stack([X, labels]), axis=0, return_counts=True)
    merged = qf.KernelClassifier().fit(counts[0][:, :-1], counts[0][:, -1], counts[1])
    assert_same(qf.KernelClassifier().fit(X, labels), merged, X[:50])


def test_copies_of_rows_that_all_differ_are_no_table_of_counts(rng):
    X = rng.normal(size=(200, 2))
    assert not is_table_of_counts(X, np.full(200, 50.0))
    lattice = rng.integers(0, 3, size=(200, 3)).astype(float)
    assert is_table_of_counts(lattice, np.full(200, 50.0))
    assert not is_table_of_counts(np.unique(lattice, axis=0), np.ones(27))
