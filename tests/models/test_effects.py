"""Effects: functions of subsets that add up to the prediction."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
from sklearn.exceptions import NotFittedError

import quadfeat as qf
from quadfeat.models.spline_parts import Splines

SUBSETS = [[0], [1], [2], [0, 1], [1, 2]]
MAPS = {
    "hermite-mercer": lambda k: qf.HermiteMercer(k, n_components=80),
    "compressed": lambda k: qf.HermiteMercer(k, n_components=40, compress=True),
    "landmarks": lambda k: qf.Landmarks(k, n_components=80, random_state=0),
    "dense": lambda k: qf.DenseGrid(k, n_points=4),
    "random": lambda k: qf.RandomFourier(k, n_components=120, random_state=0),
    "chosen": lambda k: qf.KernelFeatures(k, n_components=64, random_state=0),
}


def _anova(**options):
    return qf.Anova(qf.Gaussian(0.5), SUBSETS, **options)


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.uniform(-2, 2, size=(500, 4))
    X[:, 2] = 0.6 * X[:, 1] + 0.4 * X[:, 2]
    y = np.sin(X[:, 0]) + X[:, 0] * X[:, 1] + X[:, 2] ** 2 + 0.1 * rng.normal(size=500)
    return X, y


@pytest.fixture(scope="module")
def fitted(rows):
    return qf.KernelRegressor(MAPS["hermite-mercer"](_anova())).fit(*rows)


@pytest.mark.parametrize("name", MAPS)
def test_effects_add_up_to_the_prediction_for_every_map(name, rows):
    X, y = rows
    model = qf.KernelRegressor(MAPS[name](_anova())).fit(X, y)
    for some in (X[:60], 3 * X[:5]):  # also beyond the range of the rows
        total = model.effects(some).sum(axis=1) + model.effects_.intercept
        np.testing.assert_allclose(total, model.predict(some), atol=1e-9)
    assert model.effects_.subsets == tuple(map(tuple, SUBSETS))


def test_effects_add_up_to_the_scores_of_classes_and_targets(rows):
    X, y = rows
    labels = np.digitize(y, np.quantile(y, [0.3, 0.7]))
    model = qf.KernelClassifier(MAPS["hermite-mercer"](_anova())).fit(X, labels)
    total = model.effects(X[:50]).sum(axis=1) + model.effects_.intercept
    np.testing.assert_allclose(total, model.decision_function(X[:50]), atol=1e-9)
    both = qf.KernelRegressor(MAPS["dense"](_anova())).fit(X, np.column_stack([y, X[:, 0]]))
    value, spread = both.effects(X[:50], return_std=True)
    assert value.shape == spread.shape == (50, 5, 2)
    np.testing.assert_allclose(
        value.sum(axis=1) + both.effects_.intercept, both.predict(X[:50]), atol=1e-9
    )


def test_an_effect_depends_on_its_columns_only(fitted, rows):
    X, _ = rows
    changed = X[:20].copy()
    changed[:, 3] += 1.0
    np.testing.assert_allclose(fitted.effects(changed), fitted.effects(X[:20]), atol=1e-10)
    changed[:, 2] += 0.5
    same = [i for i, subset in enumerate(SUBSETS) if 2 not in subset]
    np.testing.assert_allclose(
        fitted.effects(changed)[:, same], fitted.effects(X[:20])[:, same], atol=1e-10
    )


def test_effects_are_centred_and_pairs_hold_nothing_of_single_columns(fitted):
    rows = fitted.background()
    values = fitted.effects(rows)
    np.testing.assert_allclose(values.mean(axis=0), 0, atol=1e-10)
    pair = values[:, SUBSETS.index([0, 1])]
    for column in (0, 1):
        # Smooth functions of one column; splines with 8 intervals miss about 1e-4 of them.
        for function in (np.sin, np.cos, np.tanh):
            left = function(rows[:, column])
            assert abs(np.corrcoef(pair, left)[0, 1]) < 1e-3


def test_main_effects_get_what_pairs_have_of_them():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(2000, 2))
    kernel = qf.Anova(qf.Gaussian(0.5), [[0, 1]])  # no main effects of its own
    y = (X[:, 0] + 1) * (X[:, 1] ** 2 + 1)
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=60)).fit(X, y)
    assert model.effects_.subsets == ((0,), (1,), (0, 1))
    first, second, both = model.effects(X).T
    truth = 4 / 3 * X[:, 0], X[:, 1] ** 2 - 1 / 3, X[:, 0] * (X[:, 1] ** 2 - 1 / 3)
    # Those of a uniform distribution; 26 splines explain sqrt(26 / 2000) = 0.11 of the last term,
    # of deviation 0.17, by chance, and the means of 2000 rows have standard errors of 0.013.
    for effect, part in zip((first, second, both), truth, strict=True):
        assert np.sqrt(np.mean((effect - part) ** 2)) < 0.02 + 2 * 0.013


def test_shares_are_sobol_indices_of_independent_columns():
    rng = np.random.default_rng(0)
    X = rng.uniform(-np.pi, np.pi, size=(6000, 3))
    y = np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned")
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=200)).fit(X, y)
    parts = {
        (0,): 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2,
        (1,): 49 / 8,
        (0, 2): 0.01 * np.pi**8 * (1 / 18 - 1 / 50),
    }
    found = dict(zip(model.effects_.subsets, model.effects_.shares, strict=True))
    for subset, part in parts.items():
        # Variances of 4000 rows have standard errors of about 2% of them.
        assert found[subset] == pytest.approx(part / sum(parts.values()), abs=0.03)
    assert sum(found.values()) == pytest.approx(1)
    assert model.effects_.column_shares[2] == pytest.approx(found[0, 2], abs=0.01)


def test_the_deviation_of_all_effects_together_is_that_of_the_function():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 1))
    kernel = qf.Anova(qf.Gaussian(0.5), [[0]])
    X2 = np.column_stack([X, rng.normal(size=300)])
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=20)).fit(X2, np.sin(X2[:, 0]))
    value, spread = model.effects(X2, return_std=True)
    mean, deviation = model.predict(X2, return_std=True)
    np.testing.assert_allclose(value[:, 0] + model.effects_.intercept, mean, atol=1e-10)
    # The function's deviation also has that of its mean, noise / n.
    expected = np.sqrt(deviation**2 - model.noise_ / 300)
    np.testing.assert_allclose(spread[:, 0], expected, rtol=1e-6)


def test_effects_come_back_from_a_file_and_from_a_cluster(rows, tmp_path):
    X, y = rows
    kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned")
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=60)).fit(X, y)
    before = model.effects(X[:30])
    qf.save(model, tmp_path / "model.qf")
    again = qf.load(tmp_path / "model.qf")
    assert again.effects(X[:30]).tobytes() == before.tobytes()
    assert repr(again.effects_) == repr(model.effects_) and "share" in repr(again.effects_)
    qf.save(again, tmp_path / "again.qf")  # also after effects were asked for
    lazy = da.from_array(X, chunks=(200, 4))
    np.testing.assert_allclose(model.effects(lazy)[:30].compute(), before, atol=1e-12)
    spread = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=60)).fit(
        lazy, da.from_array(y, chunks=200)
    )
    assert spread.effects_.subsets == model.effects_.subsets
    np.testing.assert_allclose(spread.effects(X[:30]), before, atol=1e-6)


@pytest.mark.parametrize(("window", "stride", "count"), [(2, 1, 7 + 8), (4, 4, 2)])
def test_windows_have_effects_if_they_are_small_or_apart(window, stride, count, rows):
    X, y = rows
    wide = np.concatenate([X, X[::-1]], axis=1)
    kernel = qf.Convolution((8,), window, stride, base=qf.Gaussian(0.2))
    model = qf.KernelRegressor(qf.RandomFourier(kernel, n_components=60)).fit(wide, y)
    assert len(model.effects_.subsets) == count
    total = model.effects(wide[:20]).sum(axis=1) + model.effects_.intercept
    np.testing.assert_allclose(total, model.predict(wide[:20]), atol=1e-9)


@pytest.mark.parametrize(
    "kernel", [qf.Gaussian(0.5), qf.Convolution((4,), 4, base=qf.Gaussian(0.2)) + qf.Gaussian(0.5)]
)
def test_other_kernels_have_no_effects(kernel, rows):
    model = qf.KernelRegressor(qf.RandomFourier(kernel, n_components=60)).fit(*rows)
    with pytest.raises(ValueError, match="effects need a kernel over subsets"):
        model.effects(rows[0])


def test_names_of_columns_name_effects(rows):
    pd = pytest.importorskip("pandas")
    X, y = rows
    frame = pd.DataFrame(X, columns=["age", "bmi", "bp", "s1"])
    model = qf.KernelRegressor(MAPS["dense"](_anova())).fit(frame, y)
    assert model.effects_.names == ("age", "bmi", "bp", "age x bmi", "bmi x bp")
    assert model.effects(frame).shape == (500, 5)


def test_effects_of_a_table_are_those_of_the_columns_that_its_encoder_makes(rng, tmp_path):
    table = pd.DataFrame({"size": rng.normal(size=400), "city": rng.choice(["a", "b", "c"], 400)})
    table.loc[::50, "size"] = np.nan
    y = np.sin(table["size"].fillna(0.0)) + (table["city"] == "b") + 0.1 * rng.normal(size=400)
    kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned")
    model = qf.KernelRegressor(qf.KernelFeatures(kernel, n_components=100)).fit(table, y)
    assert {"size", "city=b"} <= set(model.effects_.names)
    effects = model.effects(table)
    total = effects.sum(axis=1) + model.effects_.intercept
    np.testing.assert_allclose(total, model.predict(table), atol=1e-9)
    qf.save(model, tmp_path / "model.qf")
    np.testing.assert_array_equal(qf.load(tmp_path / "model.qf").effects(table), effects)


def test_weights_of_rows_count_as_copies_for_effects(rows):
    X, y = rows
    weight = np.where(X[:, 0] > 0, 3, 1) * (X[:, 1] > -1)
    every = np.repeat(np.arange(len(X)), weight)
    weighted, copied = (qf.KernelRegressor(MAPS["dense"](_anova()), alpha=0.1) for _ in range(2))
    weighted.fit(X, y, sample_weight=weight)
    copied.fit(X[every], y[every])
    np.testing.assert_allclose(weighted.effects(X), copied.effects(X), atol=1e-10)
    np.testing.assert_allclose(weighted.effects_.shares, copied.effects_.shares, atol=1e-10)


def test_the_order_of_columns_changes_no_effect(rows):
    X, y = rows
    order = np.array([2, 0, 3, 1])  # new column i is old column order[i]
    place = np.argsort(order)
    model = qf.KernelRegressor(MAPS["dense"](_anova()), alpha=0.1).fit(X, y)
    kernel = qf.Anova(qf.Gaussian(0.5), [place[subset].tolist() for subset in SUBSETS])
    moved = qf.KernelRegressor(MAPS["dense"](kernel), alpha=0.1).fit(X[:, order], y)
    value, spread = model.effects(X, return_std=True)
    others = moved.effects(X[:, order], return_std=True)
    for i, subset in enumerate(SUBSETS):
        j = moved.effects_.subsets.index(tuple(sorted(place[subset].tolist())))
        np.testing.assert_allclose(others[0][:, j], value[:, i], atol=1e-9)
        np.testing.assert_allclose(others[1][:, j], spread[:, i], atol=1e-9)


@pytest.mark.parametrize("seed", [1, 2])
def test_constant_and_repeated_columns_change_no_learned_effect(seed):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(1500, 3))
    y = np.sin(3 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=1500)
    more = np.column_stack([X, np.full(1500, 7.0), X[:, 0], X[:, 1]])
    kernel = qf.Anova(qf.Gaussian("learned"))
    model, other = (
        qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=60)).fit(rows, y)
        for rows in (X, more)
    )
    assert model.effects_.subsets == other.effects_.subsets == ((0,), (1,), (2,), (1, 2))
    value, spread = model.effects(X, return_std=True)
    # The search for length scales stops at likelihoods that are equal to 1e-7 per row.
    assert (np.abs(other.effects(more) - value) < 0.5 * spread).mean() > 0.999


def test_a_model_without_a_fit_has_no_effects(rows):
    for make in (qf.KernelRegressor, qf.KernelClassifier):
        model = make(MAPS["hermite-mercer"](_anova()))
        with pytest.raises(NotFittedError):
            _ = model.effects_
        with pytest.raises(NotFittedError):
            model.effects(rows[0])


def test_splines_of_a_column_of_one_value_are_constant(rng):
    rows = np.column_stack([np.full(60, 2.0), rng.normal(size=60)])
    (constant,) = Splines.of(rows, [0])(rows).T
    np.testing.assert_array_equal(constant, 1.0)
    both, alone = Splines.of(rows, [0, 1])(rows), Splines.of(rows, [1])(rows)
    assert len(both) == len(alone) == 60
    np.testing.assert_allclose(both.sum(axis=1), 1.0)  # B-splines add up to one
