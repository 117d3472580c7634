"""What commands tell of models with less to tell, and of memory and time that end."""

import json
import sys

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.app import learning_curve, main, report
from quadfeat.app.model_facts import model_facts
from quadfeat.app.report import report_of_data
from quadfeat.app.report_page import importances
from quadfeat.app.rows import RowBlock
from quadfeat.app.scores import Score
from quadfeat.app.summary import FitSummary
from quadfeat.app.tables import verdict_table
from quadfeat.experiments.cell import Verdict
from quadfeat.experiments.journal import Finished
from quadfeat.experiments.runner import Outcome


@pytest.fixture
def call(monkeypatch, capsys, tmp_path):
    """Run the command in a folder: its exit code, and what it prints."""

    def call(*arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", ["quadfeat", *map(str, arguments)])
        with pytest.raises(SystemExit) as end:
            main.main()
        return int(end.value.code or 0), *capsys.readouterr()

    return call


@pytest.fixture
def table(rng, tmp_path):
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    frame["y"] = np.sin(2 * frame["a"]) + frame["b"]
    frame.to_csv(tmp_path / "d.csv", index=False)
    return frame


def features():
    return qf.RandomFourier(qf.Gaussian(0.5), n_components=16, random_state=0)


def test_facts_are_those_that_a_model_a_map_or_a_kernel_has(table, tmp_path):
    X, path = table[["a", "b"]], tmp_path / "m.qf"
    assert model_facts(qf.Gaussian(0.5), path) == {"file": str(path), "holds": "Gaussian"}
    facts = model_facts(features().fit(X.to_numpy()), path)
    assert facts == {"file": str(path), "holds": "RandomFourier", "columns": 2}
    facts = model_facts(features().fit(X), path)
    assert facts["columns"] == "a, b"
    model = qf.KernelClassifier(features(), loss="ridge", alpha=1.0).fit(X, table["y"] > 0)
    facts = model_facts(model, path)
    assert facts["classes"] == "False, True" and facts["penalty"] == 1.0
    assert facts["map"] == "RandomFourier" and facts["features"] == 16


def test_memory_that_ends_is_one_sentence(call, table, monkeypatch):
    def ended(*given, **options):
        raise MemoryError("the features take 99 GB; give fewer columns")

    monkeypatch.setattr(main, "train", ended)
    code, out, err = call("fit", "d.csv", "--target", "y")
    told = " ".join(err.split())
    assert code == 1 and told == (
        "error: not enough memory: the features take 99 GB; give fewer columns"
    )
    assert not out


def test_a_map_is_left_beside_its_data(call, table, tmp_path):
    code, out, err = call("fit", "d.csv", "--target", "y", "--map-only", "--width", 8, "--json")
    assert code == 0, err
    assert json.loads(out)["out"] == "d.qf" and qf.load(tmp_path / "d.qf").n_columns_ == 8


def test_a_report_needs_the_rows_that_the_fit_held_out(call, table, tmp_path):
    table[:20].to_csv(tmp_path / "test.csv", index=False)
    fit = ("fit", "d.csv", "--target", "y", "--test", "test.csv", "--width", 8, "-q", "--no-report")
    assert call(*fit)[0] == 0
    assert call("evaluate", "d.qf", "d.csv")[0] == 0
    (tmp_path / "test.csv").unlink()
    code, _, err = call("evaluate", "d.qf", "d.csv")
    assert code == 1 and "its test file test.csv is gone; give a file with other rows" in err


def test_a_page_says_that_nothing_was_learned_and_that_nothing_matters(table, rng, tmp_path):
    noise = table.assign(y=rng.normal(size=80))
    noise.to_csv(tmp_path / "noise.csv", index=False)
    model = qf.KernelRegressor(features(), alpha=1e9).fit(table[["a", "b"]], table["y"])
    _, text = report_of_data(model, tmp_path / "m.qf", tmp_path / "noise.csv", "y", "report")
    assert "Nothing was learned: the model has R2 -" in text

    class Plain:
        """A model without importances."""

    assert importances(None, Plain()) == ()
    shares = importances(None, model)
    assert [name for name, _ in shares] and all(share >= 0 for _, share in shares)


def test_a_page_of_a_model_without_importances_says_so(table, tmp_path, monkeypatch):
    model = qf.KernelRegressor(features(), alpha=0.1).fit(table[["a", "b"]], table["y"])
    for module in (report, sys.modules["quadfeat.app.report_page"]):
        monkeypatch.setattr(module, "importances", lambda summary, model: ())
    _, text = report_of_data(model, tmp_path / "m.qf", tmp_path / "d.csv", "y", "report")
    assert "This model has no importances." in text


def summary(**more):
    given = {
        "data": "d.npz",
        "target": "y",
        "task": "regression",
        "command": "",
        "n_train": 8,
        "n_test": 2,
        "n_without_target": 0,
        "held_out": "at random",
        "inputs": (),
        "score": Score("R2", 0.5, 0.4, 0.6, 0.0),
        "more_scores": {},
        "contenders": (),
        "importances": (),
        "kernel": "Gaussian kernel",
        "map": "Landmarks",
        "n_columns": 8,
        "alpha": 1.0,
        "loss": "",
        "map_error": float("nan"),
        "scaled": False,
    }
    return FitSummary(**(given | more))


def test_a_summary_of_little_has_no_empty_lines_for_what_is_not_known():
    lines = summary().lines()
    for word in ("columns  ", "of quadfeat also", "what matters", "RMS error", "page"):
        assert not any(line.startswith(word) for line in lines)
    lines = summary(
        more_scores={"R2": 0.5, "RMSE": 2.0}, importances=(("a", 1.0),), page="d.html"
    ).lines()
    assert "of quadfeat also: RMSE 2" in lines and "what matters" in lines
    assert "page      d.html" in lines


# --- refits with fewer rows -----------------------------------------------------------------------
def curve(model, rows, monkeypatch, clock):
    monkeypatch.setattr(learning_curve, "time", clock)
    block = RowBlock(rows.drop(columns="y").to_numpy(), rows["y"].to_numpy())

    def score(predicted):
        return Score("R2", 0.0, 0.0, 0.0, 0.0)

    return [n for n, _ in learning_curve.learning_curve(model, block, block, 800, score)]


class Clock:
    def __init__(self, step):
        self.now, self.step = 0.0, step

    def perf_counter(self):
        self.now += self.step
        return self.now


def test_refits_end_when_the_time_does_and_leave_out_rows_without_a_class(rng, monkeypatch):
    rows = pd.DataFrame({"a": rng.normal(size=800), "b": rng.normal(size=800)})
    rows["y"] = rows["a"] > 0
    model = qf.KernelClassifier(features(), loss="ridge", alpha=1.0)
    model.fit(rows[["a", "b"]].to_numpy(), rows["y"])
    every = curve(model, rows, monkeypatch, Clock(0.0))
    assert len(every) >= 3 and every == sorted(every)
    assert curve(model, rows, monkeypatch, Clock(1000.0)) == every[:1]
    # The only row of a class is in the larger refits alone.
    rare = rows.assign(y=False)
    rare.loc[np.random.default_rng(0).permutation(800)[every[-1] - 1], "y"] = True
    model.fit(rare[["a", "b"]].to_numpy(), rare["y"])
    assert curve(model, rare, monkeypatch, Clock(0.0)) == every[-1:]


# --- verdicts -------------------------------------------------------------------------------------
def test_an_experiment_without_verdicts_has_no_lines():
    nothing = Outcome("fig1a", [], Finished([]), b"", [], "not run")
    verdict = Verdict("it holds", "yes", "yes", True)
    one = Outcome("fig1b", [verdict], Finished([]), b"", [])
    assert verdict_table([nothing]).row_count == 0
    assert verdict_table([nothing, one, nothing]).row_count == 1
