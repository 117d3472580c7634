"""What a fit tells when data are few, labels are new, targets are mixed, or a baseline refuses."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from quadfeat.app import baselines, contenders
from quadfeat.app.rows import RowBlock
from quadfeat.app.summary import FitSummary
from quadfeat.app.targets import is_classification
from quadfeat.app.training import TrainOptions, train


def fitted(path, target="y", **options):
    return train(path, TrainOptions(target, width=8, verbose=False, compared=False, **options))


@pytest.fixture
def table(tmp_path, rng):
    frame = pd.DataFrame({"a": rng.normal(size=60), "b": rng.normal(size=60)})
    frame["y"] = np.sin(frame["a"]) + frame["b"]
    frame.to_csv(tmp_path / "d.csv", index=False)
    return frame


def test_labels_of_a_test_file_that_were_not_learned_are_told(table, tmp_path):
    table["y"] = np.where(table["y"] > 0, "yes", "no")
    table.to_csv(tmp_path / "d.csv", index=False)
    table.replace({"y": {"no": "maybe"}}).to_csv(tmp_path / "new.csv", index=False)
    new = int((table["y"] == "no").sum())
    for name, note in (("d2.csv", None), ("new.csv", f"{new} test rows have labels not learned")):
        table.to_csv(tmp_path / "d2.csv", index=False)
        notes = fitted(tmp_path / "d.csv", test=tmp_path / name).summary.notes
        told = [each for each in notes if "not learned" in each]
        assert told == ([] if note is None else [f"{note}, such as 'maybe'"])


def test_one_row_is_too_few_to_learn_from(table, tmp_path):
    table[:1].to_csv(tmp_path / "one.csv", index=False)
    with pytest.raises(ValueError, match="has 1 training rows; give at least 2"):
        fitted(tmp_path / "one.csv", test=tmp_path / "d.csv")


def test_one_test_row_tells_nothing_of_pairs(table, tmp_path):
    table[:1].to_csv(tmp_path / "one.csv", index=False)
    summary = fitted(tmp_path / "d.csv", test=tmp_path / "one.csv").summary
    assert np.isnan(summary.map_error)
    assert not any("RMS error" in line for line in summary.lines())
    table[:2].to_csv(tmp_path / "two.csv", index=False)
    both = fitted(tmp_path / "d.csv", test=tmp_path / "two.csv").summary
    assert both.map_error > 0 and any("RMS error" in line for line in both.lines())


def test_rows_and_columns_that_are_left_out_are_counted(table, tmp_path):
    for i in range(20):
        table[f"same {i}"] = "AT"
    table.loc[:4, "y"] = np.nan
    table.to_csv(tmp_path / "gaps.csv", index=False)
    summary = fitted(tmp_path / "gaps.csv").summary
    lines = [line.strip() for line in summary.lines()]
    assert "5 without a target left out" in lines
    named = [line for line in lines if "left out: constant" in line]
    assert f"and {20 - len(named)} more left out" in lines and 0 < len(named) < 20


def test_a_baseline_that_refuses_the_rows_is_left_out(table, tmp_path, monkeypatch):
    def refuse(*given, **options):
        raise ValueError("not these rows")

    monkeypatch.setattr(baselines, "linear", refuse)
    options = TrainOptions("y", width=8, verbose=False)
    found = [each.name for each in train(tmp_path / "d.csv", options).summary.contenders]
    assert found == [baselines.MEAN, baselines.BOOSTING]


# --- targets --------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("y", "task", "words"),
    [
        (np.array(["1.5", "2", "n.n.", "4"]), "regression", "text such as 'n.n.' in 1 of 4 rows"),
        (np.array(["1.5", "2", "3", "4"]), "regression", "has numbers, and some text"),
        (np.array(["u", "v", "w", "4"]), "regression", "text such as 'u', which is not a number"),
        (np.arange(50.0), "classification", "has 50 different values in 50 rows, too many"),
        (np.array([f"k{i}" for i in range(50)]), "auto", "has 50 different values in 50 rows"),
        (np.array([f"{i}.5" for i in range(50)]), "classification", "has numbers, and some text"),
        (np.ones(5), "auto", "every row has the target"),
    ],
)
def test_targets_that_cannot_be_learned_are_refused(y, task, words):
    with pytest.raises(ValueError, match=words):
        is_classification(y, task, "y", "d.csv")


# --- scaling --------------------------------------------------------------------------------------
def test_columns_are_scaled_where_validation_rows_gain_by_it(rng):
    X = rng.normal(size=(90, 2))
    y = np.sin(2 * X[:, 0])
    X[::30] = 1e6  # three rows so far out that no length scale serves the others
    rows = RowBlock(X, y)
    assert contenders.encoder_for(rows, None, classes=False) is not None
    few = RowBlock(X[:10], rows.y[:10])
    assert contenders.encoder_for(few, None, classes=False) is None
    assert (
        contenders.encoder_for(RowBlock(sparse.csr_array(X), rows.y), None, classes=False) is None
    )


def test_columns_are_scaled_where_a_small_model_cannot_tell(rng, monkeypatch):
    X = rng.normal(size=(90, 2))
    y = np.zeros(90)
    y[np.random.default_rng(1).permutation(90)[-1]] = 1.0  # not among the rows to try it on
    one_class = RowBlock(X, y)
    assert contenders.encoder_for(one_class, None, classes=True) is not None

    class Refusing:
        def __init__(self, encoder):
            self.encoder = encoder

        def fit(self, *rows):
            raise ValueError("no such rows")

    monkeypatch.setattr(contenders, "untrained", lambda *a, encoder, **o: Refusing(encoder))
    assert contenders.encoder_for(RowBlock(X, X[:, 0]), None, classes=False) is None


def test_a_summary_is_read_as_it_was_written(table, tmp_path):
    summary = fitted(tmp_path / "d.csv").summary
    (tmp_path / "d.json").write_text(json.dumps(summary.record()))
    assert FitSummary.read(tmp_path / "d.json") == summary
