"""`EffectsDisplay` draws what a model says of its effects."""

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

import matplotlib.pyplot as plt
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
    assert records["x2"]["x"].tolist() == [-1.0, 0.0, 1.0]  # a column of few values
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
    drawn = first.lines[-1].get_xydata()
    np.testing.assert_array_equal(drawn[:, 1], display.records[0]["value"])
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
    mesh = display.axes_[1].collections[0].get_array()
    assert np.ma.getmaskarray(mesh)[0, -1]


def test_effects_are_drawn_by_name_and_unknown_ones_refused(model, data):
    display = qf.EffectsDisplay.from_estimator(model, effects=["x1", (0,)])
    assert [record["name"] for record in display.records] == ["x1", "x0"]
    with pytest.raises(ValueError, match=r"effects has 'x7', and the model has 'x0'"):
        qf.EffectsDisplay.from_estimator(model, effects=["x7"])


def test_scores_of_a_classifier_have_no_band(data):
    X, y = data
    kernel = qf.Anova(qf.Gaussian(2.0), [[0], [1]])
    model = qf.KernelClassifier(qf.HermiteMercer(kernel, n_components=30)).fit(X, y > 0)
    _, ax = plt.subplots()
    display = qf.EffectsDisplay.from_estimator(model, X, ax=ax)
    assert display.records[0]["deviation"] is None and "score" in display.scale
    assert display.figure_ is ax.figure
