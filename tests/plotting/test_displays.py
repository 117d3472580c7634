"""Displays follow scikit-learn's conventions and draw from records."""

import sys

import matplotlib as mpl
import numpy as np

mpl.use("Agg")

import matplotlib.pyplot as plt
import pandas as pd
import pytest
from scipy import sparse

import quadfeat as qf


@pytest.fixture(autouse=True)
def _close_figures():
    yield
    plt.close("all")


def test_errors_of_pairs_lie_under_the_certificate(rng):
    X = rng.uniform(-1, 1, size=(200, 2))
    features = qf.DenseGrid(qf.Gaussian(0.5), n_points=6).fit(X)
    _, ax = plt.subplots()
    display = qf.ErrorDisplay.from_estimator(features, X, ax=ax)
    assert display.ax_ is ax
    assert display.figure_ is ax.figure
    assert max(r["observed"] for r in display.records) <= display.records[0]["promised"]
    assert ax.get_xlabel()
    assert ax.get_ylabel()
    assert [text.get_text() for text in ax.get_legend().get_texts()]


def test_a_map_without_a_certificate_is_drawn_without_one(rng):
    X = rng.normal(size=(50, 20))
    display = qf.ErrorDisplay.from_estimator(qf.RandomFourier(random_state=0).fit(X), X)
    assert display.records[0]["promised"] is None


def test_what_fit_takes_can_be_drawn(rng):
    X = np.maximum(rng.normal(size=(60, 2)), 0.0)
    drawn = []
    for same in (X, sparse.csr_array(X), pd.DataFrame(X, columns=["a", "b"])):
        features = qf.HermiteMercer(qf.Gaussian(0.5), n_components=40).fit(same)
        drawn.append(qf.ErrorDisplay.from_estimator(features, same).records)
    assert drawn[0] == drawn[1] == drawn[2]


def test_promises_lie_between_the_seen_and_the_asked_for():
    display = qf.ErrorDisplay.from_tolerances(
        qf.Gaussian(0.5), [1e-1, 1e-3, 1e-5], diameter=3.0, n_features=2
    )
    for record in display.records:
        assert record["observed"] <= record["promised"] <= record["x"]
    again = qf.ErrorDisplay(display.records, against="tolerance").plot()
    assert again.ax_.get_xscale() == "log"


def test_comparisons_are_drawn_from_records_alone():
    records = [
        {"map": name, "columns": p, "rms": scale / p}
        for name, scale in (("RBFSampler (sklearn)", 2.0), ("RandomFourier", 1.0))
        for p in (64, 256)
    ]
    display = qf.CompareDisplay.from_records(records)
    labels = [text.get_text() for text in display.ax_.get_legend().get_texts()]
    assert labels == ["RBFSampler (sklearn)", "RandomFourier"]
    np.testing.assert_array_equal(display.ax_.lines[1].get_ydata(), [1 / 64, 1 / 256])


@pytest.mark.parametrize(
    ("widths", "ticks"),
    [
        ((64, 256), [64, 256]),
        ((100, 200, 500), [100, 200, 500]),
        ((32, 100, 300), [32, 100, 300]),
        ((63, 64, 128), [64, 128]),
    ],
)
def test_comparisons_have_a_tick_at_every_width_whose_label_has_room(widths, ticks):
    records = [{"map": "DenseGrid", "columns": p, "rms": 1 / p} for p in widths]
    assert qf.CompareDisplay.from_records(records).ax_.get_xticks().tolist() == ticks


def test_fitted_maps_are_compared_on_rows(rng):
    X = rng.normal(size=(300, 2))
    maps = [
        kind(qf.Gaussian(0.5), n_components=p, random_state=0).fit(X)
        for kind in (qf.RandomFourier, qf.Landmarks)
        for p in (8, 32)
    ]
    display = qf.CompareDisplay.from_estimators(maps, X, error="max")
    assert len(display.ax_.lines) == 2
    largest = [features.error(X, n_pairs=10_000, random_state=0).largest for features in maps]
    assert [record["max"] for record in display.records] == largest


def test_the_legend_stands_above_the_lines_of_errors(rng):
    X = rng.uniform(size=(50, 2))
    display = qf.ErrorDisplay.from_estimator(qf.DenseGrid(qf.Gaussian(0.5)).fit(X), X)
    display.figure_.draw_without_rendering()
    assert display.ax_.get_legend().get_window_extent().y0 >= display.ax_.bbox.y1


def test_without_matplotlib_a_display_says_how_to_get_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    records = [{"map": "DenseGrid", "columns": 8, "rms": 0.1}]
    with pytest.raises(ImportError, match="pip install matplotlib"):
        qf.CompareDisplay.from_records(records)


def test_comparisons_take_any_number_of_maps():
    records = [{"map": f"map {i}", "columns": 64, "rms": 1 / (i + 1)} for i in range(30)]
    assert len(qf.CompareDisplay.from_records(records).ax_.lines) == 30


def test_maps_of_an_order_that_were_not_compared_are_left_out(rng):
    records = [
        {"map": name, "columns": columns, "rms": 1 / columns, "max": 1.0}
        for name in ("Landmarks", "SparseGrid")
        for columns in (8, 16)
    ]
    order = ["DenseGrid", "SparseGrid", "Landmarks"]
    display = qf.CompareDisplay(records, order=order).plot()
    lines = {line.get_label(): line.get_color() for line in display.ax_.get_lines()}
    assert [name for name in lines if not name.startswith("_")] == order[1:]
    only = qf.CompareDisplay(records[:2], order=order).plot()
    assert lines["Landmarks"] in [line.get_color() for line in only.ax_.get_lines()]
