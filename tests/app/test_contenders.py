"""Contenders on sparse rows, with peers that may be missing; and how results are told."""

import json
import sys
import types

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.ensemble import HistGradientBoostingClassifier, HistGradientBoostingRegressor
from sklearn.kernel_approximation import Nystroem

from quadfeat.app import baselines, comparison, contenders, demo, demo_story, main
from quadfeat.app.contenders import TrainingRows, candidates
from quadfeat.app.rows import RowBlock
from quadfeat.app.scores import Score


@pytest.fixture
def counts(rng):
    """Sparse rows of small counts, and a number that is linear in them."""
    X = sparse.random_array((120, 10), density=0.4, rng=rng, format="csr")
    return X, X @ np.arange(10.0)


def test_linear_models_and_kernel_maps_take_sparse_rows_as_dense_ones(counts):
    X, y = counts
    for build in (
        baselines.linear,
        lambda *given, **o: baselines.kernel_map(Nystroem, 64, *given, **o),
    ):
        fitted = build(X, y, None, classes=False)
        assert fitted.encoding is None
        assert np.corrcoef(fitted(X), y)[0, 1] > 0.9
        shares = build(X, y > np.median(y), None, classes=True)(X)
        assert shares.shape == (120, 2)


def test_what_takes_no_sparse_rows_says_so(counts):
    X, y = counts
    assert baselines.boosting(X, y, None, classes=False) is None
    by_name = {each.name: each for each in candidates(8)}
    rows = TrainingRows(RowBlock(X, y), False, None, 0.0)
    with pytest.raises(ValueError, match="does not take sparse rows"):
        by_name[baselines.BOOSTING].fit(rows)


class _Recording(BaseEstimator):
    """LightGBM's interface, with the boosting of scikit-learn inside."""

    given: list = []  # noqa: RUF012

    def __init__(self, random_state=None, verbose=1):
        self.random_state, self.verbose = random_state, verbose

    def fit(self, X, y, *, sample_weight, categorical_feature):
        self.given.append(categorical_feature)
        self.model = self.kind(categorical_features=categorical_feature).fit(X, y, sample_weight)
        if hasattr(self.model, "classes_"):
            self.classes_ = self.model.classes_
        return self


class LGBMRegressor(RegressorMixin, _Recording):
    kind = HistGradientBoostingRegressor

    def predict(self, X):
        return self.model.predict(X)


class LGBMClassifier(ClassifierMixin, _Recording):
    kind = HistGradientBoostingClassifier

    def predict_proba(self, X):
        return self.model.predict_proba(X)


def test_lightgbm_is_a_contender_where_it_is_installed(rng, monkeypatch):
    package = types.SimpleNamespace(LGBMRegressor=LGBMRegressor, LGBMClassifier=LGBMClassifier)
    monkeypatch.setattr(baselines, "has_lightgbm", lambda: False)
    assert "LightGBM" not in {each.name for each in candidates(8)}
    monkeypatch.setattr(baselines, "has_lightgbm", lambda: True)
    monkeypatch.setitem(sys.modules, "lightgbm", package)
    (fit,) = [each.fit for each in candidates(8) if each.name == "LightGBM"]
    table = pd.DataFrame({"a": rng.normal(size=200), "k": rng.choice(["u", "v", "w"], 200)})
    y = (table["k"] == "v") * 2.0 + table["a"]
    fitted = fit(TrainingRows(RowBlock(table, y.to_numpy()), False, None, 0.0))
    assert fitted.model.get_params() == {"random_state": 0, "verbose": -1}
    assert _Recording.given[-1] == [1]  # the column of text
    assert np.corrcoef(fitted(table), y)[0, 1] > 0.9
    shares = fit(TrainingRows(RowBlock(table, (y > 1).to_numpy()), True, None, 0.0))(table)
    assert shares.shape == (200, 2)
    with pytest.raises(ValueError, match="does not take sparse rows"):
        fit(TrainingRows(RowBlock(sparse.csr_array(np.eye(5)), np.arange(5.0)), False, None, 0.0))


def test_an_encoder_is_told_the_columns_that_a_metric_would_mix(rng):
    table = pd.DataFrame({"k": rng.choice([f"c{i}" for i in range(9)], 300)})
    for i in range(33):
        table[f"x{i}"] = rng.normal(size=300)
    y = rng.normal(size=300)
    (metric,) = [each.fit for each in candidates(8) if each.name == "metric"]
    with pytest.raises(
        ValueError, match=f"is for up to {contenders._MOST_MIXED} columns, and these"
    ):
        metric(TrainingRows(RowBlock(table, y), False, None, 0.0))


# --- how results are told -------------------------------------------------------------------------
def result(**more):
    score = Score("R2", 0.5, 0.4, 0.6, 0.0)
    given = {"name": "default", "what": "as fit", "ours": True, "score": score, "difference": None}
    times = {"fit_seconds": 12.0, "predict_seconds": 0.002, "memory": None, "size": 2_500_000}
    return comparison.Result(**{**given, **times, **more})


def test_rows_left_out_and_unknown_memory_are_told():
    told = comparison.Comparison("d.csv", "y", "regression", "at random", 5, 100, 0, (result(),))
    lines = "\n".join(told.lines())
    assert "more rows of the file" not in lines and "(not known on this system)" in lines
    assert "12 s" in lines and "2.0 ms" in lines and "2.5 MB" in lines
    more = comparison.Comparison("d.csv", "y", "regression", "at random", 5, 100, 23, told.results)
    assert "23 more rows of the file were not used; see --rows." in more.lines()


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.00012, "0.1 ms"), (0.25, "250 ms"), (1.0, "1.0 s"), (75.0, "75 s")]
)
def test_times_have_two_digits_in_the_unit_that_fits(seconds, text):
    assert comparison._seconds(seconds) == text


@pytest.mark.parametrize(
    ("size", "text"), [(90, "0.1 kB"), (12_345, "12 kB"), (3 * 10**9, "3.0 GB")]
)
def test_sizes_have_two_digits_in_the_unit_that_fits(size, text):
    assert comparison._bytes(size) == text


# --- the demo -------------------------------------------------------------------------------------
@pytest.fixture
def few(monkeypatch):
    """A demo whose records are known, and which takes no time."""
    records = [
        {"map": name, "columns": width, "width": width, "rms": 1 / (width * rank), "max": 0.5}
        | {"accuracy": 0.9, "fit": 0.01, "transform": 0.001}
        for width in (64, 256)
        for rank, name in enumerate(("RandomFourier", "KernelFeatures"), start=1)
    ] + [{"map": "exact kernel", "columns": 1078, "accuracy": 0.99}]
    monkeypatch.setattr(demo, "run", lambda *, every: iter(records))
    monkeypatch.setattr(demo, "steps", lambda *, every: len(records))
    return records


@pytest.mark.parametrize("option", ["--json", "--all"])
def test_the_demo_has_records_for_machines_and_a_table_of_all_maps(
    option, few, monkeypatch, capsys, tmp_path
):
    arguments = ["quadfeat", "demo", option, "--out", str(tmp_path)]
    monkeypatch.setattr(sys, "argv", arguments)
    monkeypatch.setattr(demo_story, "png", lambda picture: b"")
    monkeypatch.setattr(demo_story, "draw", lambda records: None)
    with pytest.raises(SystemExit) as end:
        main.main()
    out, err = capsys.readouterr()
    assert not end.value.code, err
    kept = [json.loads(line) for line in (tmp_path / "records.jsonl").read_text().splitlines()]
    assert kept == few
    if option == "--json":
        assert [json.loads(line) for line in out.splitlines()] == few
    else:
        (row,) = [
            line.split() for line in out.splitlines() if "KernelFeatures" in line and "256" in line
        ]
        assert row == [
            "KernelFeatures",
            "256",
            "2.0e-03",
            "5.0e-01",
            "90.0%",
            "0.01",
            "s",
            "1.0",
            "ms",
        ]
        (row,) = [line.split() for line in out.splitlines() if line.strip().startswith("exact")]
        assert row == ["exact", "kernel", "1078", "99.0%"]
        assert not (tmp_path / "demo.png").exists()
