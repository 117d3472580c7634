"""`quadfeat compare`: the same folds for all, paired intervals, advice, and wrong uses."""

import io
import json
import sys

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.app import compare_command, main
from quadfeat.app.baselines import Fitted, kernel_map
from quadfeat.app.comparison import SIMPLER, Comparison, Fold, Marks, Result, compared, run
from quadfeat.app.contenders import DEFAULT, Candidate, TrainingRows, candidates
from quadfeat.app.rows import RowBlock
from quadfeat.app.scores import Score


@pytest.fixture
def call(monkeypatch, capsys):
    """Run the command in a folder: its exit code and what it prints."""

    def call(folder, *arguments):
        monkeypatch.chdir(folder)
        monkeypatch.setattr(sys, "argv", ["quadfeat", *map(str, arguments)])
        try:
            main.main()
            code = 0
        except SystemExit as end:
            code = int(end.code or 0)
        return code, *capsys.readouterr()

    return call


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table of every kind of column, for a number and for classes."""
    place = tmp_path_factory.mktemp("compare")
    rng = np.random.default_rng(0)
    n = 200
    frame = pd.DataFrame(
        {
            "area": rng.lognormal(4, 1, n).round(2),
            "city": rng.choice(["Graz", "Wien", "Linz", None], n),
            "sold": pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, n), "D"),
            "agent": rng.integers(0, 12, n),
        }
    )
    bonus = frame["city"].map({"Graz": 0.0, "Wien": 2.0, "Linz": 1.0}).fillna(0.5)
    frame["price"] = np.log(frame["area"]) + bonus + rng.normal(0, 0.2, n)
    frame.loc[rng.random(n) < 0.1, "area"] = np.nan
    frame.to_csv(place / "houses.csv", index=False)
    dear = np.where(frame["price"] > 5, "yes", "no")
    frame.drop(columns="price").assign(dear=dear).to_csv(place / "dear.csv", index=False)
    level = pd.qcut(frame["price"], 3, labels=["low", "mid", "high"]).astype(str)
    frame.drop(columns="price").assign(level=level).to_parquet(place / "level.parquet")
    return place


FEW = ("--width", 16, "--folds", 3, "--only", "linear model", "--only", "Nystroem")


# --- what it prints -------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("data", "target", "score"),
    [
        ("houses.csv", "price", "R2"),
        ("dear.csv", "dear", "AUROC"),
        ("level.parquet", "level", "accur."),
    ],
)
def test_a_table_a_plot_and_advice(folder, call, data, target, score, tmp_path):
    plot = tmp_path / "p.png"
    code, out, err = call(folder, "compare", data, "--target", target, *FEW, "--plot", plot)
    assert code == 0, err
    lines = out.splitlines()
    assert max(map(len, lines[:-1])) <= 80
    assert "200 rows in 3 folds at random" in out and score in out
    for name in (DEFAULT, "linear model", "Nystroem", "chance", "memory", "file"):
        assert any(line.startswith(name) or name in line for line in lines)
    assert lines[0].startswith(("Keep", "Use"))
    assert plot.read_bytes().startswith(b"\x89PNG")


def test_every_contender_takes_a_table_of_strangers(folder, call):
    arguments = ("--target", "dear", "--width", 8, "--folds", 2, "--json")
    code, out, err = call(folder, "compare", "dear.csv", *arguments)
    assert code == 0, err
    record = json.loads(out)
    names = [each["name"] for each in record["results"]]
    for name in (
        "quadfeat",
        "one scale",
        "scale per column",
        "metric",
        "half the width",
        "twice the width",
        "Nystroem",
        "RBFSampler",
        "linear model",
        "gradient boosting",
    ):
        assert name in names
    for each in record["results"]:
        assert each["score"]["value"] > 0.6, each
        assert each["fit_seconds"] > 0 and each["predict_seconds"] > 0 and each["size"] > 500
        assert (each["difference"] is None) == (each["name"] == DEFAULT)
    assert record["advice"] and record["n_rows"] == 200 and record["n_left_out"] == 0


def test_a_svg_plot_and_a_sample_of_rows(folder, call, tmp_path):
    arguments = ("--target", "price", *FEW, "--rows", 60, "--plot", tmp_path / "p.svg", "--json")
    code, out, _ = call(folder, "compare", "houses.csv", *arguments)
    assert code == 0 and b"<svg" in (tmp_path / "p.svg").read_bytes()
    record = json.loads(out)
    assert record["n_rows"] == 60 and record["n_left_out"] == 140


@pytest.mark.parametrize("way", [("--group", "agent"), ("--time", "sold")])
def test_folds_are_of_groups_or_of_time(folder, call, way, monkeypatch):
    seen = []

    def spy(chosen, split, marks, tick):
        seen.extend(split)
        return compared(chosen, split, marks, tick)

    monkeypatch.setattr(compare_command, "compared", spy)
    code, out, err = call(folder, "compare", "houses.csv", "--target", "price", *way, *FEW)
    assert code == 0, err
    assert repr(way[1]) in out and len(seen) == 3
    for fold in seen:
        train, test = fold.train.rows.key, fold.test.key
        assert not set(train) & set(test)
        assert way[0] == "--group" or train.max() < test.min()
        assert ("agent" in fold.test.X.column_names) == (way[0] == "--time")


@pytest.mark.parametrize("command", ["fit", "compare"])
def test_a_column_that_is_dropped_is_seen_by_no_contender(tmp_path, call, command, rng):
    frame = pd.DataFrame({"a": rng.normal(size=80), "b": rng.normal(size=80)})
    frame["y"] = frame["a"] + 2 * rng.normal(size=80)
    frame.assign(leak=frame["y"]).to_csv(tmp_path / "leak.csv", index=False)
    arguments = ("leak.csv", "--target", "y", "--kind", "leak=drop", "--width", 8, "--json")
    arguments += ("--folds", 2) if command == "compare" else ("--no-report",)
    code, out, err = call(tmp_path, command, *arguments)
    assert code == 0, err
    record = json.loads(out)
    every = record["contenders" if command == "fit" else "results"]
    assert len(every) >= 3 and max(each["score"]["value"] for each in every) < 0.8


def test_names_of_contenders_are_completed():
    assert compare_command._completed("N") == ["Nystroem"]


# --- the same folds, and what is computed on them -------------------------------------------------
def fold_of(X, y, train, *, classes=False, key=None):
    block = RowBlock(X, y, None, key)
    return Fold(TrainingRows(block.at(train), classes, None, 0.0), block.at(~train))


class Guess:
    """A model that predicts a column, and remembers the rows it was given."""

    def __init__(self, column):
        self.column = column

    def predict(self, X):
        return X[:, self.column]


def test_all_contenders_learn_from_the_same_rows_and_differences_are_paired(rng):
    X = rng.normal(size=(120, 3))
    y = X[:, 0] + rng.normal(size=120)
    test = [np.arange(120) % 3 == k for k in range(3)]
    folds = [fold_of(X, y, ~rows) for rows in test]
    given, ticks = {}, []

    def candidate(name, column):
        def fit(rows):
            given.setdefault(name, []).append(rows.rows.X)
            return Fitted(Guess(column))

        return Candidate(name, "", True, fit)

    every = [candidate("first", 0), candidate("second", 1)]
    marks = Marks(folds, classes=False, group=False)
    first, second = compared(every, folds, marks, ticks.append)
    for a, b in zip(given["first"], given["second"], strict=True):
        np.testing.assert_array_equal(a, b)
    assert ticks == ["first"] * 3 + ["second"] * 3
    order = np.concatenate([np.flatnonzero(rows) for rows in test])
    mean = np.concatenate([np.full(rows.sum(), y[~rows].mean()) for rows in test])
    total = np.square(y[order] - mean)
    errors = [np.square(y[order] - X[order, j]) for j in (0, 1)]
    values = [1 - each.sum() / total.sum() for each in errors]
    assert first.score.value == pytest.approx(values[0])
    assert second.score.value == pytest.approx(values[1])
    # The difference is a ratio of means, (errors of the first - of the second) / total.
    difference = values[1] - values[0]
    parts = (errors[0] - errors[1] - difference * total) / total.mean()
    half = 1.98010 * parts.std(ddof=1) / np.sqrt(120)  # t of 119 degrees
    assert second.difference == pytest.approx(
        (difference, difference - half, difference + half), rel=1e-4
    )
    assert first.difference is None and first.size > 0


def test_what_does_not_take_the_rows_is_left_out_with_its_reason(rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    folds = [fold_of(X, y, np.arange(40) % 2 == k) for k in (0, 1)]

    def refuse(rows):
        raise ValueError("is for other rows")

    good = Candidate("good", "", True, lambda rows: Fitted(Guess(0)))
    bad = Candidate("bad", "", True, refuse)
    marks, ticks = Marks(folds, classes=False, group=False), []
    _, left = compared([good, bad], folds, marks, ticks.append)
    assert left.score is None and left.note == "is for other rows" and len(ticks) == 4
    with pytest.raises(ValueError, match="other rows"):
        list(compared([bad, good], folds, marks, ticks.append))


def test_a_metric_of_many_columns_is_left_out(tmp_path, call, rng):
    pd.DataFrame(rng.normal(size=(60, 34)), columns=[f"x{i}" for i in range(34)]).to_csv(
        tmp_path / "wide.csv", index=False
    )
    arguments = ("--target", "x0", "--width", 8, "--folds", 2, "--only", "metric")
    code, out, err = call(tmp_path, "compare", "wide.csv", *arguments)
    assert code == 0, err
    assert "metric is left out: is for up to 32 columns, and these are 33" in out


def test_memory_time_and_size_are_those_of_the_work(rng):
    X, y = rng.normal(size=(40, 2)), rng.normal(size=40)
    fold = fold_of(X, y, np.arange(40) % 2 == 0)

    done = run(lambda rows: (np.ones(10**7), Fitted(HEAVY))[1], fold)
    assert done.size > 8e6
    assert done.memory is None or 70e6 < done.memory < 150e6
    assert done.fit_seconds > 0 and done.labels is None


class _Heavy(Guess):
    def __init__(self):
        super().__init__(0)
        self.state = np.ones(10**6)


HEAVY = _Heavy()


def test_our_contenders_are_what_they_say():
    given = TrainingRows(
        RowBlock(np.random.default_rng(0).normal(size=(100, 2)), np.arange(100.0)), False, None, 0.0
    )
    fitted = {each.name: each.fit(given).model for each in candidates(32)[:6]}
    assert [each.features.n_components for each in fitted.values()] == [32, 32, 32, 32, 16, 64]
    assert np.ndim(fitted["one scale"].features_.kernel_.gamma) == 0
    assert np.shape(fitted["scale per column"].features_.kernel_.gamma) == (2,)
    assert np.shape(fitted["metric"].features_.kernel_.metric)[1] == 2


def test_what_is_simpler_is_a_contender():
    assert set(SIMPLER) <= {each.name for each in candidates(8)}


def test_kernel_maps_of_scikit_learn_learn(rng):
    from sklearn.kernel_approximation import Nystroem

    X = rng.uniform(-2, 2, size=(300, 2))
    fitted = kernel_map(Nystroem, 100, X, np.sin(2 * X[:, 0]), None, classes=False)
    assert np.abs(fitted(X) - np.sin(2 * X[:, 0])).mean() < 0.02
    classes = kernel_map(Nystroem, 100, X, np.where(X[:, 0] > 0, "b", "a"), None, classes=True)
    assert list(classes.labels) == ["a", "b"]
    assert (classes(X).argmax(axis=1) == (X[:, 0] > 0)).mean() > 0.97


# --- advice ---------------------------------------------------------------------------------------
def advice(*rivals, chance=0.0, low=0.7):
    first = Result(DEFAULT, "default", True, Score("R2", 0.8, low, 0.9, chance))
    others = [
        Result(name, "what", ours, Score("R2", 0.8 + gap[0], low, 0.9, chance), gap)
        for name, ours, gap in rivals
    ]
    return Comparison("d", "y", "regression", "", 5, 9, 0, (first, *others)).advice


def test_advice_names_the_best_that_is_better_beyond_doubt():
    assert "Keep the default" in advice(("gradient boosting", False, (0.02, -0.01, 0.05)))
    assert "Keep the default" in advice(("gradient boosting", False, (0.002, 0.001, 0.003)))
    found = advice(
        ("scale per column", True, (0.02, 0.01, 0.03)),
        ("gradient boosting", False, (0.05, 0.04, 0.06)),
    )
    assert found.startswith("Use gradient boosting") and "0.850" in found


def test_advice_prefers_what_is_simpler_and_as_good():
    as_good, worse = (-0.001, -0.004, 0.002), (-0.01, -0.02, 0.0)
    assert "linear model" in advice(
        ("half the width", True, as_good), ("linear model", False, as_good)
    )
    assert "half the width" in advice(
        ("half the width", True, as_good), ("linear model", False, worse)
    )


def test_nothing_learned_is_said():
    assert advice(low=-0.1).startswith("Nothing was learned")


# --- exit codes and wrong uses --------------------------------------------------------------------
def test_fail_under_is_the_exit_code(folder, call):
    arguments = ("compare", "houses.csv", "--target", "price", "--width", 16, "--folds", 2, "-q")
    arguments += ("--only", "linear model")
    assert call(folder, *arguments, "--fail-under", 0.3) == (0, "", "")
    code, out, err = call(folder, *arguments, "--fail-under", 0.9999)
    assert code == 1 and not out and "is below --fail-under 0.9999" in err


def test_stopped_by_the_keyboard_it_says_so(folder, call, monkeypatch, tmp_path):
    def stopped(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(compare_command, "compared", stopped)
    plot = tmp_path / "p.png"
    code, _, err = call(folder, "compare", "houses.csv", "--target", "price", "--plot", plot)
    assert code == 130 and "stopped" in err and not plot.exists()


def test_a_pipe_is_read(folder, call, monkeypatch):
    text = io.TextIOWrapper(io.BytesIO((folder / "houses.csv").read_bytes()))
    monkeypatch.setattr(sys, "stdin", text)
    code, _, err = call(folder, "compare", "-", "--target", "price", *FEW, "-q")
    assert code == 0, err


WRONG = {
    "no data": ("", 2, "DATA"),
    "unknown option": ("houses.csv --targets price", 2, "No such option"),
    "one fold": ("houses.csv --target price --folds 1", 2, "--folds"),
    "few rows": ("houses.csv --target price --rows 3", 2, "--rows"),
    "no file": ("none.csv --target price", 1, "there is no file none.csv"),
    "no target": ("houses.csv", 1, "name one with --target"),
    "unknown target": ("houses.csv --target z", 1, "no column 'z'"),
    "an unknown contender": ("houses.csv --target price --only SVM", 1, "there are quadfeat, one"),
    "plot of a table": ("houses.csv --target price --plot p.csv", 1, "must end in .png or .svg"),
    "plot in no folder": ("houses.csv --target price --plot no/p.png", 1, "--plot no/p.png is"),
    "two ways to split": (
        "houses.csv --target price --group agent --time sold",
        1,
        "--group and --time both",
    ),
    "more folds than groups": (
        "houses.csv --target price --group city --folds 9",
        1,
        "4 groups, fewer than --folds 9; give --folds 4",
    ),
    "one group": ("same.csv --target y --group g", 1, "has one value only"),
    "one time": ("same.csv --target y --time g", 1, "has one value only"),
    "time of text": ("houses.csv --target price --time city", 1, "--time city holds text"),
    "few rows of a file": ("short.csv --target y", 1, "6 rows are too few for --folds 5"),
    "text as a number": ("dear.csv --target dear --task regression", 1, "leave out --task"),
    "an unknown kind": ("houses.csv --target price --kind area=id", 1, "with a kind of number"),
    "kind of no column": ("houses.csv --target price --kind z=number", 1, "no such column"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_ends_in_a_sentence(folder, call, name, monkeypatch):
    arguments, code, words = WRONG[name]
    (folder / "same.csv").write_text("a,g,y\n" + "".join(f"{i},1,{i}.5\n" for i in range(30)))
    (folder / "short.csv").write_text("a,y\n" + "".join(f"{i},{i}.5\n" for i in range(6)))
    before = {path: path.read_bytes() for path in folder.iterdir()}
    monkeypatch.setenv("COLUMNS", "300")
    ended, out, err = call(folder, "compare", *arguments.split())
    assert ended == code, err
    assert words in " ".join(err.split()), err
    assert "Traceback" not in err and not out
    if code == 1:
        assert len(err.strip().splitlines()) == 1, err
    assert {path: path.read_bytes() for path in folder.iterdir()} == before


def test_help_shows_an_example(folder, call):
    code, out, _ = call(folder, "compare", "--help")
    assert code == 0 and "quadfeat compare houses.csv --target price" in " ".join(out.split())


def test_the_default_of_compare_is_the_model_of_fit(folder, call):
    """On the rows of a fold, the first contender predicts what `quadfeat fit` predicts."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(150, 2)) * [1, 100]
    frame = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": X[:, 0] + np.sin(X[:, 1] / 50)})
    frame[:120].to_csv(folder / "train.csv", index=False)
    frame[120:].to_csv(folder / "rest.csv", index=False)
    arguments = ("--target", "y", "--test", "rest.csv", "--width", 16, "-q", "-o", "t.qf")
    assert call(folder, "fit", "train.csv", *arguments)[0] == 0
    block = RowBlock(*(lambda t: (t.select(["a", "b"]), t["y"].to_numpy()))(arrow(frame)))
    rows = np.arange(150) < 120
    fold = compare_command._fold(block, rows, ~rows, None, False)
    predicted = run(candidates(16)[0].fit, fold).predicted
    expected = qf.load(folder / "t.qf").predict(frame[120:][["a", "b"]])
    np.testing.assert_allclose(predicted, expected, rtol=1e-6, atol=1e-8)


def arrow(frame):
    import pyarrow as pa

    return pa.Table.from_pandas(frame, preserve_index=False)
