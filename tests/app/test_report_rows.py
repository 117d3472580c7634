"""Reports that have less to tell: no deviations, one row, one target, no score."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import quadfeat as qf
from quadfeat.app import report
from quadfeat.app.report import evaluated, report_of_data


@pytest.fixture
def table(tmp_path, rng):
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    frame["y"] = np.sin(2 * frame["a"]) + frame["b"]
    frame.to_csv(tmp_path / "d.csv", index=False)
    return frame


def fitted(table, features=None, target="y", **options):
    kind = qf.KernelClassifier if target == "c" else qf.KernelRegressor
    options = {"alpha": 0.1} | options
    return kind(features or features_of(), **options).fit(table[["a", "b"]], table[target])


def features_of(n=32):
    return qf.KernelFeatures(qf.Gaussian(0.5), n_components=n, random_state=0)


def page(model, folder, name="d.csv"):
    found, text = report_of_data(model, folder / "m.qf", folder / name, "y", "quadfeat report")
    return found, " ".join(text.split())


def test_a_model_without_deviations_has_no_intervals_to_check(table, tmp_path):
    features = qf.SparseGrid(qf.Gaussian(0.1), level=2, weights="signed")
    _, text = page(fitted(table, features), tmp_path)
    assert "This model has no standard deviations, so there are no intervals to check." in text


def test_a_bound_that_cannot_be_given_has_its_reason(table, tmp_path):
    features = qf.RandomFourier(qf.Gaussian(0.5), n_components=8, random_state=0)
    model = fitted(table, features)
    with pytest.raises(ValueError, match=r"\w") as refused:
        model.features_.certificate(table[["a", "b"]].to_numpy())
    _, text = page(model, tmp_path)
    assert "Not proven, only estimated: " in text and str(refused.value).split(";")[0] in text


def test_one_row_has_no_score_and_a_page(table, tmp_path):
    table[:1].to_csv(tmp_path / "one.csv", index=False)
    found, text = page(fitted(table), tmp_path, "one.csv")
    assert np.isnan(found.score.value) and found.rows == "1 row of one.csv"
    assert found.facts()["score"] == "no R2: all these rows have one target"
    assert "There is no R2 of 1 row of one.csv: all targets are the same." in text
    assert "<figure></figure>" not in text and ">nan" not in text
    assert "with an RMS error of" not in text


def test_rows_of_one_class_are_judged_by_accuracy(table, tmp_path):
    table["c"] = np.where(table["y"] > 0, "yes", "no")
    model = fitted(table, target="c", loss="ridge")
    table[table["c"] == "yes"].to_csv(tmp_path / "yes.csv", index=False)
    found = evaluated(model, tmp_path / "m.qf", tmp_path / "yes.csv", "c")
    n = int((table["c"] == "yes").sum())
    assert found.score.name == "accuracy" and found.rows == f"{n} rows of yes.csv"


def test_a_model_of_several_targets_has_no_report(table, tmp_path):
    model = qf.KernelRegressor(features_of(), alpha=0.1)
    model.fit(table[["a", "b"]], table[["a", "y"]])
    with pytest.raises(ValueError, match="predicts several targets, and a report is about one"):
        evaluated(model, tmp_path / "m.qf", tmp_path / "d.csv", "y")


def test_a_column_of_one_value_has_no_curve_and_texts_are_read_as_what_they_hold(table):
    table["n"] = np.arange(80).astype(str)
    table["t"] = pd.date_range("2020-01-01", periods=80).strftime("%Y-%m-%d")
    table["k"] = np.where(table["a"] > 0, "u", "v")
    names = ["a", "b", "n", "t", "k"]
    kinds = {"n": "number", "t": "date"}
    model = qf.KernelRegressor(features_of(), alpha=0.1, encoder=qf.TableEncoder(columns=kinds))
    model.fit(table[names], table["y"])
    X = pa.Table.from_pandas(table[names].assign(a=1.0), preserve_index=False)
    block = report.RowBlock(X, table["y"].to_numpy())
    curves = report.study(model, block, "rows", names, None).curves
    assert [(curve["name"], curve["kind"]) for curve in curves] == [
        ("b", "number"),
        ("n", "number"),
        ("t", "date"),
        ("k", "category"),
    ]
    for curve in curves[1:3]:  # places or days, from the 1st to the 99th hundredth
        assert 75 < curve["x"][-1] - curve["x"][0] <= 79
