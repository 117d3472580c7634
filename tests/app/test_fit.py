"""`quadfeat fit`: files of every make, honest scores, and a sentence for every wrong use."""

import gzip
import io
import json
import sys

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from sklearn.datasets import dump_svmlight_file

import quadfeat as qf
from quadfeat.app import contenders, main
from quadfeat.app.holdout import hold_out
from quadfeat.app.rows import RowBlock, open_rows
from quadfeat.app.summary import FitSummary
from quadfeat.data.table_files import open_table


@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """A table of every kind of column; the price depends on four of them."""
    folder = tmp_path_factory.mktemp("houses")
    rng = np.random.default_rng(0)
    n = 300
    frame = pd.DataFrame(
        {
            "id": np.arange(n) + 1000,
            "area": rng.lognormal(4, 1, n).round(2),
            "city": rng.choice([f"Ort {i}" for i in range(15)], n),
            "heating": rng.choice(["gas", "öl", None], n),
            "sold": (pd.Timestamp("2021-03-01") + pd.to_timedelta(rng.integers(0, 700, n), "D")),
            "land": "AT",
            "agent": rng.integers(0, 12, n),
        }
    )
    frame.loc[rng.random(n) < 0.15, "area"] = np.nan
    city = frame["city"].str.split().str[1].astype(int)
    frame["price"] = (np.log(frame["area"]).fillna(3) + 0.2 * city + rng.normal(0, 0.2, n)).round(4)
    frame["dear"] = np.where(frame["price"] > frame["price"].median(), "yes", "no")
    return folder, frame


def command(monkeypatch, folder, *arguments):
    monkeypatch.chdir(folder)
    monkeypatch.setattr(sys, "argv", ["quadfeat", *map(str, arguments)])
    try:
        main.main()
    except SystemExit as end:
        return int(end.code or 0)
    return 0


@pytest.fixture
def run(monkeypatch, capsys):
    def call(folder, *arguments):
        code = command(monkeypatch, folder, *arguments)
        out, err = capsys.readouterr()
        return code, out, err

    return call


def features(frame):
    return frame.drop(columns=["dear"])


# --- what it prints -------------------------------------------------------------------------------
def test_twice_the_columns_are_taken_where_validation_rows_say_so(run, tmp_path, monkeypatch):
    monkeypatch.setattr(contenders, "_WIDTHS", {"classes": 8, "numbers": 16})
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(1500, 2))
    for name, y, columns in (
        ("waves", np.sin(6 * X[:, 0]) * np.cos(6 * X[:, 1]), 32),
        ("line", X[:, 0] + rng.normal(size=1500), 16),
    ):
        pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "y": y}).to_csv(tmp_path / f"{name}.csv")
        code, out, err = run(tmp_path, "fit", f"{name}.csv", "--target", "y", "--json")
        assert code == 0, err
        found = json.loads(out)
        assert found["columns"] == columns
        assert 2 * columns in [width for width, _ in found["widths"]]  # would more of them help?


def test_many_rows_keep_the_columns_of_the_default():
    assert contenders.default_widths(20_000, classes=False) == (1024, 2048)
    assert contenders.default_widths(100_000, classes=False) == 1024
    assert contenders.default_widths(100_000, classes=True) == (512, 1024)


def test_one_command_leaves_a_model_a_score_and_what_matters(houses, run):
    folder, frame = houses
    features(frame).to_csv(folder / "houses.csv", index=False)
    code, out, err = run(folder, "fit", "houses.csv", "--target", "price", "--width", 64)
    assert code == 0, err
    for words in (
        "The model predicts 'price' with R2 0.9",
        "240 to learn from, 60 held out (at random)",
        "5 used: 2 numbers, 2 categories, 1 date; 2 with gaps",
        "'id' left out: an id",
        "'land' left out: constant",
        "the mean",
        "linear model",
        "gradient boosting",
        "95% interval",
        "what matters",
        "RMS error of the kernel",
        "houses.qf",
    ):
        assert words in out
    summary = FitSummary.read(folder / "houses.json")
    assert summary.score.low < summary.score.value < summary.score.high
    assert summary.importances[0][0] in ("area", "city")
    record = json.loads((folder / "houses.json").read_text())
    assert json.loads(json.dumps(summary.record())) == record
    model = qf.load(folder / "houses.qf")
    assert list(model.encoder_.dropped_) == ["id", "land"]
    code, _, err = run(folder, "predict", "houses.qf", "houses.csv", "--out", "p.csv")
    assert code == 0, err
    np.testing.assert_array_equal(
        pd.read_csv(folder / "p.csv")["prediction"], model.predict(features(frame))
    )


def test_classes_are_told_to_machines_or_to_nobody(houses, run):
    folder, frame = houses
    frame.drop(columns="price").to_parquet(folder / "dear.parquet")
    arguments = ("fit", "dear.parquet", "--target", "dear", "--width", 16, "-o", "d.qf")
    code, out, _ = run(folder, *arguments, "--json")
    record = json.loads(out)
    assert code == 0 and record["task"] == "classification" and record["score"]["name"] == "AUROC"
    assert record["model"] == "KernelClassifier" and record["score"]["low"] > 0.7
    assert run(folder, *arguments, "--quiet", "--alpha", 1.0, "--loss", "ridge") == (0, "", "")


@pytest.mark.filterwarnings("default::quadfeat._errors.UnseenValues")
def test_a_model_tells_of_itself_and_reads_pipes(houses, run, monkeypatch):
    folder, frame = houses
    frame.drop(columns="dear").to_csv(folder / "told.csv", index=False)
    assert run(folder, "fit", "told.csv", "--target", "price", "--width", 16, "-q")[0] == 0
    code, out, _ = run(folder, "info", "told.qf", "--json")
    facts = json.loads(out)
    assert code == 0 and facts["holds"] == "KernelRegressor" and facts["target"] == "price"
    assert "R2" in facts["score"] and "area" in facts["columns"]
    (folder / "told.json").unlink()
    assert "score" not in json.loads(run(folder, "info", "told.qf", "--json")[1])
    code, _, err = run(folder, "info", "told.csv")
    assert code == 1 and "not a file of quadfeat" in err
    text = frame.assign(city="Atlantis").to_csv(index=False).encode()
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(text)))
    code, _, err = run(folder, "predict", "told.qf", "-", "--out", "piped.csv")
    assert code == 0 and len(pd.read_csv(folder / "piped.csv")) == len(frame)
    assert "note: values that training rows did not have" in err  # and not where in the code
    assert ".py" not in err


# --- files of every make --------------------------------------------------------------------------
def spellings(frame):
    text = features(frame).to_csv(index=False)
    comma = features(frame).to_csv(index=False, sep=";", decimal=",")
    tabs = features(frame).to_csv(index=False, sep="\t")
    return {
        "plain.csv": text.encode(),
        "tabs.csv": tabs.encode(),
        "tabs.tsv": tabs.encode(),
        "comma.csv": comma.encode(),
        "pipes.csv": features(frame).to_csv(index=False, sep="|").encode(),
        "latin.csv": text.encode("latin-1"),
        "utf16.csv": text.encode("utf-16"),
        "marked.csv": text.encode("utf-8-sig"),
        "packed.csv.gz": gzip.compress(text.encode()),
        "question.csv": features(frame).to_csv(index=False, na_rep="?").encode(),
        "blank lines.csv": ("\n\n" + text.replace("\n", "\n\n", 5)).encode(),
    }


def test_a_table_is_the_same_in_every_spelling(houses):
    folder, frame = houses
    expected = features(frame)
    encoder = qf.TableEncoder(columns={"id": "drop"}).fit(expected.drop(columns="price"))
    X = encoder.transform(expected)
    for name, content in spellings(frame).items():
        (folder / name).write_bytes(content)
        table = pa.concat_tables(open_table(folder / name).tables())
        assert table.column_names == list(expected), name
        np.testing.assert_array_equal(encoder.transform(table), X, err_msg=name)
        np.testing.assert_array_equal(table.column("price").to_numpy(), frame["price"], name)


def test_a_folder_of_parquet_files_is_one_table(houses):
    folder, frame = houses
    parts = folder / "parts" / "deep"
    parts.mkdir(parents=True)
    table = pa.Table.from_pandas(features(frame), preserve_index=False)
    for i in range(3):
        pq.write_table(table.slice(100 * i, 100), parts / f"{i}.parquet")
    opened = open_table(folder / "parts")
    assert opened.n_rows == 300
    assert pa.concat_tables(opened.tables()).to_pydict() == table.to_pydict()


def test_a_pipe_is_read(houses, run, monkeypatch):
    folder, frame = houses
    text = io.TextIOWrapper(io.BytesIO(features(frame).to_csv(index=False).encode()))
    monkeypatch.setattr(sys, "stdin", text)
    code, _, err = run(folder, "fit", "-", "--target", "price", "--width", 16, "--json")
    assert code == 0 and (folder / "model.qf").exists(), err


@pytest.mark.parametrize("data", ["all.npy", "xy.npz", "xy.svmlight"])
def test_arrays_are_fitted_and_predicted(data, tmp_path, run):
    X = np.random.default_rng(0).normal(size=(200, 2)) * [1, 1000]
    y = X[:, 0] * X[:, 1]
    np.save(tmp_path / "all.npy", np.column_stack([X, y]))
    np.savez(tmp_path / "xy.npz", X=X, y=y)
    dump_svmlight_file(X, y, str(tmp_path / "xy.svmlight"))
    named = ("--target", "f2") if data == "all.npy" else ()
    code, out, err = run(tmp_path, "fit", data, *named, "--width", 32, "--json", "-o", "m.qf")
    assert code == 0, err
    assert json.loads(out)["score"]["value"] > 0.8
    np.save(tmp_path / "new.npy", X)
    code, _, err = run(tmp_path, "predict", "m.qf", "new.npy", "--out", "p.npy")
    assert code == 0, err
    assert np.corrcoef(np.load(tmp_path / "p.npy"), y)[0, 1] > 0.9


# --- honest rows ----------------------------------------------------------------------------------
def held(split):
    train, test = (RowBlock.joined(list(rows())) for rows in (split.train, split.test))
    assert len(train) == split.n_train
    return train, test


def test_rows_groups_and_time_are_held_out(houses):
    folder, frame = houses
    path = folder / "h.csv"
    features(frame).to_csv(path, index=False)
    train, test = held(hold_out(open_rows(path, "price"), None, None, None, "price"))
    assert len(test) == 60 and len(train) == 240
    np.testing.assert_array_equal(np.sort(np.append(train.y, test.y)), np.sort(frame["price"]))
    stream = open_rows(path, "price", group="agent")
    train, test = held(hold_out(stream, None, "agent", None, "price"))
    assert not set(train.key) & set(test.key) and len(test) >= 60
    assert "agent" not in train.X.column_names
    stream = open_rows(path, "price", time="sold")
    train, test = held(hold_out(stream, None, None, "sold", "price"))
    assert train.key.max() < test.key.min() and abs(len(test) - 60) < 5
    others = folder / "others.csv"
    features(frame[:100]).to_csv(others, index=False)
    train, test = held(hold_out(open_rows(path, "price"), others, None, None, "price"))
    assert len(train) == 300 and len(test) == 100


def test_nothing_learned_is_said(tmp_path, run):
    rng = np.random.default_rng(3)
    pd.DataFrame(
        {"a": rng.normal(size=200), "b": rng.normal(size=200), "y": rng.normal(size=200)}
    ).to_csv(tmp_path / "noise.csv", index=False)
    code, out, _ = run(tmp_path, "fit", "noise.csv", "--target", "y", "--width", 32)
    assert code == 0 and out.startswith("Nothing was learned")


def test_stopped_by_the_keyboard_nothing_is_written(houses, run, monkeypatch):
    folder, _ = houses

    def stopped(*arguments, **options):
        raise KeyboardInterrupt

    monkeypatch.setattr(main, "train", stopped)
    code, _, err = run(folder, "fit", "dear.parquet", "--target", "dear", "-o", "s.qf")
    assert code == 130 and "stopped" in err and not (folder / "s.qf").exists()


# --- wrong uses -----------------------------------------------------------------------------------
ROWS = "\n".join(f"{i % 7},{i % 5}.5,{'xyz'[i % 3]},{i % 2}" for i in range(40))
GOOD = f"a,b,c,y\n{ROWS}\n"


@pytest.fixture(scope="module")
def mistakes(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mistakes")
    numbers = np.arange(40.0)
    files = {
        "good.csv": GOOD,
        "comment.csv": "# made by hand\n" + GOOD,
        "level.csv": "a,y\n" + "".join(f"{i},2.5\n" for i in range(30)),
        "empty.csv": "",
        "header.csv": "a,b,y\n",
        "only.csv": "y\n1\n2\n3\n4\n5\n6\n",
        "ragged.csv": GOOD + "1,2,3\n",
        "twice.csv": "a,a,y\n1,2,3\n4,5,6\n",
        "constant.csv": "a,y\n" + "1,5\n" * 30,
        "few.csv": "a,y\n1,2\n2,3\n",
        "one class.csv": "a,y\n" + "".join(f"{i},no\n" for i in range(30)),
        "ids.csv": "a,y\n" + "".join(f"{i % 9},k{i}\n" for i in range(40)),
        "gone.csv": "a,y\n" + "".join(f"{i},\n" for i in range(30)),
        "dates.csv": "a,y\n" + "".join(f"{i},2020-01-{i + 1:02d}\n" for i in range(28)),
        "no columns.csv": "a,b,y\n" + "".join(f"1,,{i % 3}.5\n" for i in range(30)),
        "nothing.txt.docx": "x",
        "notes.qf": "these are notes",
        "fake.parquet": "no parquet",
        "fake.npy": "no array",
        "fake.npz": "no arrays",
        "fake.svmlight": "a b c\n",
        "fake.csv.gz": "\x1f\x8bno gzip",
        "weights.csv": "a,w,y\n" + "".join(f"{i % 7},-1,{i}.5\n" for i in range(30)),
        "words.csv": "a,w,y\n" + "".join(f"{i % 7},x,{i}.5\n" for i in range(30)),
        "one group.csv": "a,g,y\n" + "".join(f"{i % 7},x,{i}.5\n" for i in range(30)),
        "when.csv": "a,t,y\n"
        + "".join(f"{i % 7},{'' if i == 3 else i},{i}.5\n" for i in range(30)),
        "same time.csv": "a,t,y\n" + "".join(f"{i % 7},1,{i}.5\n" for i in range(30)),
        "narrow.csv": "a,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(30)),
        "infinite.csv": "a,y\n"
        + "".join(f"{'inf' if i == 7 else i % 7},{i}.5\n" for i in range(30)),
        "binary.csv": "a\x00b\x00c\n",
        "page.csv": "<!doctype html>\n<p>404</p>\n",
        "records.csv": '{"a": 1, "y": 2}\n' * 30,
        "no line.csv": "a,b,y",
        "noted.csv": "a,y\n"
        + "".join(f"{i % 7},{'n.n.' if i % 9 == 3 else i + 0.5}\n" for i in range(40)),
        "none": "a,y\n1,2\n",
        "one row.csv": "a,y\n1,2\n",
    }
    for name, content in files.items():
        (folder / name).write_text(content, encoding="latin-1")
    np.save(folder / "cube.npy", np.zeros((3, 3, 3)))
    np.save(folder / "numbers.npy", np.column_stack([numbers, numbers]))
    np.savez(folder / "nameless.npz", A=numbers, B=numbers)
    (folder / "folder").mkdir()
    (folder / "differ").mkdir()
    for name in "ab":
        part = pa.table({name: numbers, "y": numbers})
        pq.write_table(part, folder / "differ" / f"{name}.parquet")
    nested = pa.table({"a": [[1], [2]], "y": [1, 2]})
    pq.write_table(nested, folder / "nested.parquet")
    return folder


# arguments, exit code, words of the answer
WRONG = {
    "no data": ("fit", 2, "DATA"),
    "unknown option": ("fit good.csv --targets y", 2, "No such option"),
    "no target": (
        "fit good.csv -o x",
        1,
        "name one with --target; its columns are 'a', 'b', 'c', 'y'",
    ),
    "unknown target": (
        "fit good.csv --target z -o x",
        1,
        "no column 'z'; it has 'a', 'b', 'c', 'y'",
    ),
    "several files": ("fit *.csv --target y -o x", 1, "no file *.csv; name one file, or a folder"),
    "comment above": ("fit comment.csv --target y -o x", 1, "begins with '# made by hand', a comm"),
    "constant number": ("fit level.csv --target y -o x", 1, "every row has the target 2.5"),
    "tested on itself": (
        "fit good.csv --target y --test good.csv -o x",
        1,
        "is the training file; leave --test out",
    ),
    "a page": ("fit page.csv --target y -o x", 1, "page.csv looks like HTML; give a CSV file"),
    "records": ("fit records.csv --target y -o x", 1, "records.csv looks like JSON"),
    "one line": ("fit no~line.csv --target y -o x", 1, "has no rows"),
    "one row": ("fit one~row.csv --target y -o x", 1, "has 1 row, too few"),
    "text in the target": (
        "fit noted.csv --target y -o x",
        1,
        "of 32 rows; leave these values empty",
    ),
    "text in a regression": (
        "fit noted.csv --target y --task regression -o x",
        1,
        "has numbers, and text such as 'n.n.' in",
    ),
    "no ending": ("fit none --target y -o x", 1, "none has no ending that tells its format"),
    "an address": (
        "fit http://example.com/a.csv --target y -o x",
        1,
        "save what is there as a file first",
    ),
    "files that differ": (
        "fit differ --target y -o x",
        1,
        "different columns, not all of them 'a', 'b', see b.parquet",
    ),
    "a model called a table": ("fit good.csv --target y -o x.csv", 1, "not for rows: end it in"),
    "a map called a table": ("fit good.csv --map-only -o x.parquet", 1, "end it in .qf"),
    "a map of text": ("fit good.csv --map-only -o x", 1, "--map-only takes columns of numbers"),
    "a folder as a model": ("predict folder good.csv --out p.csv", 1, "is not a file of quadfeat"),
    "score of no model": ("evaluate good.csv good.csv", 1, "give one written by quadfeat fit or"),
    "score of no file": ("evaluate none.qf good.csv", 1, "there is no file none.qf"),
    "no file": ("fit none.csv --target y -o x", 1, "there is no file none.csv"),
    "unknown ending": ("fit nothing.txt.docx --target y -o x", 1, "ends in '.docx'"),
    "empty file": ("fit empty.csv --target y -o x", 1, "empty.csv is empty"),
    "header only": ("fit header.csv --target y -o x", 1, "has no rows"),
    "target only": ("fit only.csv --target y -o x", 1, "no column except 'y'"),
    "ragged": ("fit ragged.csv --target y -o x", 1, "has 3 fields, and the header has 4; quote"),
    "names twice": ("fit twice.csv --target y -o x", 1, "two columns 'a'"),
    "constant target": ("fit constant.csv --target y -o x", 1, "every row has the target"),
    "too few rows": ("fit few.csv --target y -o x", 1, "2 rows, too few to hold some out"),
    "one class": ("fit one~class.csv --target y -o x", 1, "every row has the target 'no'"),
    "an id as target": ("fit ids.csv --target y -o x", 1, "too many for classes"),
    "target of gaps": ("fit gone.csv --target y -o x", 1, "no value of the target 'y'"),
    "target of dates": ("fit dates.csv --target y -o x", 1, "holds dates"),
    "nothing to learn from": ("fit no~columns.csv --target y -o x", 1, "is left to learn from"),
    "text as a number": ("fit good.csv --target c --task regression -o x", 1, "leave out --task"),
    "loss of a number": (
        "fit good.csv --target b --task regression --loss logistic -o x",
        1,
        "is for classes",
    ),
    "unknown task": ("fit good.csv --target y --task rank -o x", 2, "rank"),
    "unknown loss": ("fit good.csv --target y --loss l1 -o x", 2, "l1"),
    "no width": ("fit good.csv --target y --width 0 -o x", 2, "--width"),
    "width of text": ("fit good.csv --target y --width wide -o x", 2, "--width"),
    "negative alpha": ("fit good.csv --target y --alpha -1 -o x", 1, "alpha must be a positive"),
    "out is the data": ("fit good.csv --target y -o good.csv", 1, "is also an input"),
    "out in no folder": ("fit good.csv --target y -o no/x", 1, "does not exist"),
    "out is a folder": ("fit good.csv --target y -o folder", 1, "is a folder"),
    "default is no model": ("fit notes.csv --target y", 1, "notes.qf exists and is not a model"),
    "checkpoint is out": ("fit good.csv --target y -o x --checkpoint x", 1, "name two files"),
    "two ways to hold out": (
        "fit good.csv --target y --group a --time b -o x",
        1,
        "--group and --time both",
    ),
    "unknown group": ("fit good.csv --target y --group z -o x", 1, "no column 'z'"),
    "group is the target": (
        "fit good.csv --target y --group y -o x",
        1,
        "cannot also be the weight, group",
    ),
    "one group": ("fit one~group.csv --target y --group g -o x", 1, "has one value only"),
    "time of text": ("fit good.csv --target y --time c -o x", 1, "--time c holds text"),
    "time with gaps": ("fit when.csv --target y --time t -o x", 1, "--time t has gaps"),
    "one time": ("fit same~time.csv --target y --time t -o x", 1, "--time t has one value only"),
    "no test file": (
        "fit good.csv --target y --test none.csv -o x",
        1,
        "there is no file none.csv",
    ),
    "test without columns": (
        "fit good.csv --target y --test narrow.csv -o x",
        1,
        "narrow.csv has no column 'b'",
    ),
    "test without target": (
        "fit good.csv --target c --test narrow.csv -o x",
        1,
        "narrow.csv has no column 'c'",
    ),
    "unknown weight": ("fit good.csv --target y --weight z -o x", 1, "no column 'z'"),
    "negative weights": ("fit weights.csv --target y --weight w -o x", 1, "negative values"),
    "weights of text": ("fit words.csv --target y --weight w -o x", 1, "'w' holds no numbers"),
    "kind without a name": ("fit good.csv --target y --kind number -o x", 1, "must be COLUMN=KIND"),
    "unknown kind": ("fit good.csv --target y --kind a=id -o x", 1, "with a kind of number"),
    "kind of no column": (
        "fit good.csv --target y --kind z=number -o x",
        1,
        "X has no such column",
    ),
    "infinity": ("fit infinite.csv --target y -o x", 1, "'a' has an infinite value in row 7"),
    "no Parquet": ("fit fake.parquet --target y -o x", 1, "cannot be read as Parquet"),
    "nested Parquet": ("fit nested.parquet --target y -o x", 1, "'a' of nested.parquet holds list"),
    "folder without files": ("fit folder --target y -o x", 1, "folder without Parquet files"),
    "no array": ("fit fake.npy --target y -o x", 1, "fake.npy is not an array"),
    "a cube": ("fit cube.npy --target f0 -o x", 1, "of shape (3, 3, 3)"),
    "no column of an array": ("fit numbers.npy --target y -o x", 1, "it has 'f0', 'f1'"),
    "no archive": ("fit fake.npz -o x", 1, "fake.npz"),
    "archive of other names": ("fit nameless.npz -o x", 1, "nameless.npz"),
    "no svmlight": ("fit fake.svmlight -o x", 1, "fake.svmlight"),
    "damaged gzip": ("fit fake.csv.gz --target y -o x", 1, "damaged gzip"),
    "no text": ("fit binary.csv --target y -o x", 1, "is not text"),
    "group of an archive": ("fit nameless.npz --group g -o x", 1, "no named columns"),
    "an empty pipe": ("fit - --target y -o x", 1, "the pipe was empty"),
    "a model that is none": ("predict good.csv good.csv --out p.csv", 1, "good.csv"),
    "predictions of no file": ("predict none.qf good.csv --out p.csv", 1, "none.qf"),
}


def test_the_table_of_wrong_uses_is_long():
    assert len(WRONG) >= 40


@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_use_ends_in_a_sentence_and_no_file(name, mistakes, run, monkeypatch):
    arguments, code, words = WRONG[name]
    (mistakes / "notes.csv").write_text(GOOD)
    before = {path: path.read_bytes() for path in mistakes.rglob("*") if path.is_file()}
    monkeypatch.setenv("COLUMNS", "300")
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"")))
    ended, out, err = run(mistakes, *(each.replace("~", " ") for each in arguments.split()))
    assert ended == code, err
    assert words in " ".join(err.split()), err
    assert "Traceback" not in err and not out
    if code == 1:
        assert len(err.strip().splitlines()) == 1, err
    assert {path: path.read_bytes() for path in mistakes.rglob("*") if path.is_file()} == before
