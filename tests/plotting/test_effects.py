"""`EffectsDisplay` draws what a model says of its effects."""

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.plotting import png, svg


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(600, 3))
    X[:, 2] = np.round(X[:, 2])
    return X, np.sin(3 * X[:, 0]) + X[:, 0] * X[:, 1] + 2 * X[:, 2] + 0.1 * rng.normal(size=600)


@pytest.fixture(scope="module")
def model(data):
    kernel = qf.Anova(qf.Gaussian(2.0), [[0], [1], [2], [0, 1]])
    return qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=60)).fit(*data)


def test_the_pictures_data_are_the_effects(model, data):
    X, _ = data
    display = qf.EffectsDisplay.from_estimator(model, X)
    records = {record["name"]: record for record in display.records}
    times = "\N{MULTIPLICATION SIGN}"
    assert next(iter(records)) == "x2" and set(records) == {"x0", "x1", "x2", f"x0 {times} x1"}
    curve = records["x0"]
    at = np.zeros((len(curve["x"]), 3))
    at[:, 0] = curve["x"]
    value, spread = model.effects(at, return_std=True)
    np.testing.assert_allclose(curve["value"], value[:, 0], atol=1e-10)
    np.testing.assert_allclose(curve["deviation"], spread[:, 0], rtol=1e-6)
    assert 0.98 * 600 <= curve["counts"].sum() <= 600
    few = records["x2"]
    assert few["labels"] == ["-1", "0", "1"] and few["counts"].sum() == 600
    at = np.array([[0, 0, -1.0], [0, 0, 0], [0, 0, 1]])
    np.testing.assert_allclose(few["value"], model.effects(at)[:, 2], atol=1e-10)
    pair = records[f"x0 {times} x1"]
    x, y = pair["x"][3], pair["y"][5]
    assert pair["value"][5, 3] == pytest.approx(model.effects([[x, y, 0.0]])[0, 3], abs=1e-10)
    shares = [record["share"] for record in display.records]
    assert shares == sorted(shares, reverse=True) and sum(shares) == pytest.approx(1)


def test_panels_show_the_records(model, data):
    display = qf.EffectsDisplay.from_estimator(model, data[0], n_effects=2, n_cols=2)
    bars, first, second = display.axes_
    assert [bar.get_width() for bar in bars.patches] == pytest.approx(
        [100 * record["share"] for record in display.records[::-1]]
    )
    heights = [bar.get_height() for bar in first.containers[0]]  # of a column of few values
    np.testing.assert_array_equal(heights, display.records[0]["value"])
    drawn = second.lines[-1].get_xydata()
    np.testing.assert_array_equal(drawn[:, 1], display.records[1]["value"])
    assert first.get_ylim() == second.get_ylim()
    assert first.get_xlabel() == "x2" and display.figure_ is first.figure
    assert png(display.figure_).startswith(b"\x89PNG") and b"<svg" in svg(display.figure_)[:600]


def test_a_map_hides_where_there_are_no_rows(rng):
    X = rng.uniform(-1, 1, size=(800, 2))
    X = X[np.abs(X[:, 0] - X[:, 1]) < 0.3]
    kernel = qf.Anova(qf.Gaussian(1.0), [[0, 1]])
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=30)).fit(X, X.prod(axis=1))
    display = qf.EffectsDisplay.from_estimator(model, X, effects=[(0, 1)])
    (record,) = display.records
    assert record["seen"][16, 16] and not record["seen"][0, -1]
    mesh = display.axes_[1].collections[0]
    assert np.ma.getmaskarray(mesh.get_array())[0, -1]
    low, high = mesh.get_clim()
    assert low == -high < 0  # no effect is the colour in the middle


def test_effects_are_drawn_by_name_and_unknown_ones_refused(model, data):
    display = qf.EffectsDisplay.from_estimator(model, effects=["x1", (0,)])
    assert [record["name"] for record in display.records] == ["x1", "x0"]
    with pytest.raises(ValueError, match=r"effects has 'x7', and the model has 'x0'"):
        qf.EffectsDisplay.from_estimator(model, effects=["x7"])


def test_scores_of_a_squared_hinge_have_no_band(data):
    X, y = data
    kernel = qf.Anova(qf.Gaussian(2.0), [[0], [1]])
    features = qf.HermiteMercer(kernel, n_components=30)
    for loss, banded in (("squared_hinge", False), ("logistic", True), ("ridge", True)):
        _, ax = plt.subplots()
        model = qf.KernelClassifier(features, loss=loss).fit(X, y > 0)
        display = qf.EffectsDisplay.from_estimator(model, X, ax=ax)
        assert (display.records[0]["deviation"] is not None) == banded
        assert "score" in display.scale and display.figure_ is ax.figure


def test_the_first_column_of_a_tuple_is_on_the_x_axis(model):
    one, other = (
        qf.EffectsDisplay.from_estimator(model, effects=[effect]).records[0]
        for effect in [(0, 1), ("x1", "x0")]
    )
    assert one["columns"] == ["x0", "x1"] and other["columns"] == ["x1", "x0"]
    np.testing.assert_allclose(other["value"], one["value"].T, atol=1e-12)
    np.testing.assert_array_equal(other["seen"], one["seen"].T)


def test_longitude_is_on_the_x_axis(data):
    X = pd.DataFrame(data[0][:, :2], columns=["Latitude", "Longitude"])
    kernel = qf.Anova(qf.Gaussian(2.0), [[0, 1]])
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=20)).fit(X, data[1])
    display = qf.EffectsDisplay.from_estimator(model, effects=["Latitude x Longitude"])
    assert display.axes_[1].get_xlabel() == "Longitude"
    assert display.axes_[1].get_ylabel() == "Latitude"


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(1)
    n = 800
    colour, town = rng.choice(["red", "blue", "green"], n), rng.choice(list("abcdefg"), n)
    size = np.round(rng.lognormal(3.0, 1.0, n), 2)
    X = pd.DataFrame(
        {"colour": colour, "town": town, "size": size, "new": rng.choice(["n", "y"], n)}
    )
    y = (colour == "red") * 2.0 + np.log(size) * np.where(colour == "blue", 1.5, 1.0)
    y += np.array([ord(letter) - 100 for letter in town]) + (X["new"] == "y") * 0.7
    X.loc[:40, "colour"] = None
    return X, y + 0.1 * rng.normal(size=n)


@pytest.fixture(scope="module")
def encoded(table):
    # colour=blue, =green, =red, is missing; mean target of town; size; new=y
    kernel = qf.Anova(qf.Gaussian(0.3), [[i] for i in range(7)] + [[0, 5], [2, 5]])
    return qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=120)).fit(*table)


def test_categories_are_bars_with_the_names_of_the_table(encoded, table):
    X, _ = table
    display = qf.EffectsDisplay.from_estimator(encoded, X)
    records = {record["name"]: record for record in display.records}
    times = "\N{MULTIPLICATION SIGN}"
    assert set(records) == {"colour", "town", "size", "new", f"colour {times} size"}
    colour = records["colour"]
    assert colour["labels"] == ["blue", "green", "red", "missing"]
    assert colour["counts"].tolist() == [
        *X["colour"].value_counts()[["blue", "green", "red"]],
        41,
    ]
    assert records["town"]["labels"] == list("abcdefg") and records["new"]["labels"] == ["n", "y"]
    assert np.all(np.diff(records["town"]["value"]) > 0.5)  # the truth is 1 from each to the next
    summary = encoded.effects_
    own = [i for i, subset in enumerate(summary.subsets) if subset in [(0,), (1,), (2,), (3,)]]
    at = X.iloc[[np.flatnonzero(X["colour"] == name)[0] for name in ("blue", "green", "red")]]
    value = encoded.effects(at)[:, own].sum(axis=1)
    np.testing.assert_allclose(colour["value"][:3], value, atol=1e-9)
    assert colour["share"] == pytest.approx(summary.shares[own].sum())
    assert sum(record["share"] for record in display.records) == pytest.approx(1)
    panel = display.axes_[1 + display.records.index(colour)]
    ticks = [text.get_text() for text in panel.get_xticklabels()]
    assert ticks == colour["labels"] and panel.get_xlabel() == "colour"


def test_numbers_of_a_table_keep_their_units(encoded, table):
    X, _ = table
    size = qf.EffectsDisplay.from_estimator(encoded, X, effects=["size"]).records[0]
    low, high = np.quantile(X["size"], [0.005, 0.995])
    assert size["x"][0] == pytest.approx(low, rel=0.05)
    assert size["x"][-1] == pytest.approx(high, rel=0.05)
    at = X.iloc[:2].assign(size=size["x"][[20, 90]])
    number = encoded.effects_.subsets.index((5,))
    np.testing.assert_allclose(size["value"][[20, 90]], encoded.effects(at)[:, number], atol=1e-9)


def test_a_map_of_a_category_and_a_number_names_the_categories(encoded, table):
    display = qf.EffectsDisplay.from_estimator(encoded, table[0], effects=[("size", "colour")])
    (record,) = display.records
    assert record["columns"] == ["size", "colour"] and record["x_labels"] == []
    assert record["y_labels"] == ["blue", "green", "red", "missing"]
    assert record["value"].shape == (4, len(record["x"]))
    ticks = [text.get_text() for text in display.axes_[1].get_yticklabels()]
    assert ticks == record["y_labels"]


def test_bars_have_whiskers_where_there_is_a_deviation(encoded, table):
    display = qf.EffectsDisplay.from_estimator(encoded, table[0], effects=["colour"])
    (record,) = display.records
    assert record["deviation"] is not None
    drawn = []
    for each in (record, record | {"deviation": None}):
        display.records = [each]
        panel = display.plot().axes_[1]
        drawn.append(len(panel.containers))  # of bars, of whiskers
        assert [text.get_text() for text in panel.get_xticklabels()] == record["labels"]
    assert drawn[0] == drawn[1] + 1
