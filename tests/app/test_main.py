"""The command, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.app import main

QUADFEAT = Path(sys.executable).with_name("quadfeat")


def started(*command):
    return subprocess.run([*map(str, command)], capture_output=True, text=True, timeout=300)


@pytest.fixture
def run(monkeypatch, capsys):
    """The command in this process, which has imported what a new one would have to."""

    def call(*arguments):
        monkeypatch.setattr("sys.argv", ["quadfeat", *map(str, arguments)])
        code = 0
        try:
            main.main()
        except SystemExit as end:
            code = int(end.code or 0)
        told = capsys.readouterr()
        return SimpleNamespace(returncode=code, stdout=told.out, stderr=told.err)

    return call


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return folder, started(QUADFEAT, "demo", "--out", folder)


def test_the_demo_prints_a_short_table_and_two_sentences(demo):
    _, result = demo
    assert result.returncode == 0, result.stderr
    lines = result.stdout.splitlines()
    assert len(lines) < 20
    assert max(map(len, lines if "/" not in lines[-1] else lines[:-1])) <= 80
    for name in ("quadfeat", "RBFSampler", "Nystroem", "orthogonal random", "exact kernel"):
        assert name in result.stdout


def test_the_demo_tells_the_ratios_of_its_records(demo):
    folder, result = demo
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    at = {record["map"]: record for record in records if record.get("width") == 256}
    ours, theirs = at["KernelFeatures"], at["RBFSampler (sklearn)"]
    assert f"{theirs['rms'] / ours['rms']:.0f}x less error than RBFSampler" in result.stdout
    fewer = (1 - theirs["accuracy"]) / (1 - ours["accuracy"])
    assert f"{fewer:.1f}x fewer misread digits" in result.stdout
    assert theirs["rms"] > 40 * ours["rms"] and at["Nystroem (sklearn)"]["rms"] > ours["rms"]


def test_the_demo_leaves_a_picture_and_records(demo):
    folder, _ = demo
    assert (folder / "demo.png").read_bytes().startswith(b"\x89PNG")
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    by_map = {record["map"]: record for record in records}
    assert by_map["exact kernel"]["accuracy"] > 0.98 > by_map["linear model"]["accuracy"]


def test_info_is_for_people_and_machines(run):
    assert "engine" in run("info").stdout
    facts = json.loads(run("info", "--json").stdout)
    assert facts["engine"] in ("c++", "numpy")


@pytest.mark.parametrize("command", [(QUADFEAT,), (sys.executable, "-m", "quadfeat")])
def test_the_version_is_told_by_the_command_and_by_the_module(command):
    assert started(*command, "--version").stdout == f"quadfeat {qf.__version__}\n"


def test_help_is_there_and_wrong_use_exits_with_two(run):
    assert "demo" in run("--help").stdout
    assert "--out" in run("demo", "--help").stdout
    assert run("demo", "--nonsense").returncode == 2
    assert run("nonsense").returncode == 2


def test_what_cannot_be_written_is_one_sentence_and_exit_code_one(run, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run("demo", "--out", blocked / "folder")
    assert result.returncode == 1
    assert "error" in result.stderr
    assert "Traceback" not in result.stderr


# --- from file to file ----------------------------------------------------------------------------
@pytest.fixture(scope="module")
def houses(tmp_path_factory):
    """A table of numbers, labels and one more column, in two formats."""
    folder = tmp_path_factory.mktemp("houses")
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(400, 3)), columns=["a", "b", "c"])
    frame["price"] = np.sin(frame["a"]) + frame["b"] ** 2
    frame["kind"] = np.where(frame["price"] > 1, "large", "small")
    frame[["a", "b", "c", "price"]].to_csv(folder / "train.csv", index=False)
    frame[["a", "b", "c", "kind"]].to_parquet(folder / "train.parquet")
    frame[["c", "kind", "b", "a", "price"]].to_csv(folder / "other-order.csv", index=False)
    return folder, frame


def test_fit_and_predict_a_number_from_file_to_file(run, houses):
    folder, frame = houses
    model, out = folder / "m.qf", folder / "out.csv"
    fit = run(
        "fit", folder / "train.csv", "--target", "price", "--out", model, "--width", 64, "--json"
    )
    assert fit.returncode == 0, fit.stderr
    record = json.loads(fit.stdout)
    assert record["model"] == "KernelRegressor" and record["columns"] == 64
    done = run("predict", model, folder / "other-order.csv", "--out", out, "--std", "--json")
    assert json.loads(done.stdout) == {"rows": 400, "out": str(out)}, done.stderr
    predicted = pd.read_csv(out)
    assert list(predicted) == ["prediction", "deviation"]
    # Columns were found by name: noiseless data of three columns is fitted well.
    assert np.abs(predicted["prediction"] - frame["price"]).mean() < 0.1


def test_fit_and_predict_classes_and_their_probabilities(run, houses):
    folder, frame = houses
    model, out = folder / "k.qf", folder / "out.parquet"
    fit = run("fit", folder / "train.parquet", "--target", "kind", "--out", model, "--width", 64)
    assert fit.returncode == 0 and "KernelClassifier" in fit.stdout, fit.stderr
    assert run("predict", model, folder / "train.parquet", "--out", out).returncode == 0
    labels = pd.read_parquet(out)["prediction"]
    assert (labels == frame["kind"]).mean() > 0.9
    assert run("predict", model, folder / "train.parquet", "--proba", "--out", out).returncode == 0
    shares = pd.read_parquet(out)
    assert list(shares) == ["prediction", "probability_large", "probability_small"]
    np.testing.assert_allclose(shares.iloc[:, 1:].sum(axis=1), 1.0)
    assert (shares["prediction"] == labels).all()
    numbers = folder / "out.npy"
    assert (
        run("predict", model, folder / "train.parquet", "--proba", "--out", numbers).returncode == 0
    )
    np.testing.assert_array_equal(np.load(numbers), shares.iloc[:, 1:])


def test_ids_and_columns_to_keep_stand_beside_predictions(run, houses):
    folder, frame = houses
    table = frame[["a", "b", "kind", "price"]].assign(id=[f"h{i}" for i in range(len(frame))])
    table.to_csv(folder / "ids.csv", index=False)
    model, out = folder / "ids.qf", folder / "kept.csv"
    fit = ("fit", folder / "ids.csv", "--target", "price", "--out", model, "--width", 32)
    assert run(*fit, "--no-report").returncode == 0
    predict = ("predict", model, folder / "ids.csv", "--out")
    assert run(*predict, out).returncode == 0
    found = pd.read_csv(out)
    assert list(found) == ["id", "prediction"] and (found["id"] == table["id"]).all()
    for name in ("kept.csv", "kept.parquet"):
        kept = ("--keep", "price", "--keep", "kind", "--std")
        assert run(*predict, folder / name, *kept).returncode == 0
        read = pd.read_csv if name.endswith("csv") else pd.read_parquet
        more = read(folder / name)
        assert list(more) == ["price", "kind", "prediction", "deviation"]
        np.testing.assert_allclose(more["price"], table["price"])
        np.testing.assert_allclose(more["prediction"], found["prediction"])
    assert run(*predict, folder / "numbers.npy").returncode == 0  # ids do not fit into an array


@pytest.mark.parametrize(
    "name, kept, words",
    [
        ("x.npy", "a", "an NPY file holds one array of numbers and cannot keep 'a'"),
        ("x.csv", "aa", "train.csv has no column 'aa'"),
        ("x.csv", "prediction", "two columns 'prediction'"),
    ],
)
def test_columns_that_cannot_be_kept_are_refused(run, houses, name, kept, words):
    folder, _ = houses
    model = folder / "plain.qf"
    fit = ("fit", folder / "train.csv", "--target", "price", "--out", model, "--width", 16)
    assert run(*fit, "--no-report").returncode == 0
    done = run("predict", model, folder / "train.csv", "--out", folder / name, "--keep", kept)
    assert done.returncode == 1 and words in done.stderr
    assert not (folder / name).exists()


def test_a_map_alone_is_fitted_and_transforms_files(run, houses):
    folder, frame = houses
    np.save(folder / "rows.npy", frame[["a", "b", "c"]].to_numpy(np.float32))
    run("fit", folder / "rows.npy", "--map-only", "--out", folder / "map.qf", "--width", 32)
    done = run("transform", folder / "map.qf", folder / "rows.npy", "--out", folder / "z.npy")
    assert done.returncode == 0, done.stderr
    Z = np.load(folder / "z.npy")
    assert Z.shape == (400, 32) and Z.dtype == np.float32
    arguments = ("--target", "price", "--map-only", "--out", folder / "map.qf", "--width", 32)
    assert run("fit", folder / "train.csv", *arguments).returncode == 0
    assert list(qf.load(folder / "map.qf").feature_names_in_) == ["a", "b", "c"]
    (folder / "none.csv").write_text("a,b,c\n")
    run("transform", folder / "map.qf", folder / "none.csv", "--out", folder / "none.parquet")
    assert pd.read_parquet(folder / "none.parquet").shape == (0, 32)


def test_mistakes_end_in_one_sentence_and_leave_no_file(run, houses, monkeypatch):
    folder, _ = houses
    monkeypatch.chdir(folder)
    (folder / "empty").mkdir()
    wrong = (
        ("fit train.csv --target prize --out x", 1, "'price'"),
        ("fit train.csv --out x", 1, "target"),
        ("fit nowhere.csv --target a --out x", 1, "nowhere.csv"),
        ("predict train.csv train.csv --out x.csv", 1, "train.csv"),
        ("fit", 2, "DATA"),
        ("fit train.csv --target price --out train.csv", 1, "is also an input"),
        ("fit train.csv --target price --out nowhere/x", 1, "does not exist"),
        ("fit train.csv --target price --out x --checkpoint ./x", 1, "name two files"),
        ("fit train.csv --target price --out x --checkpoint no/c", 1, "error: checkpoint='no/c'"),
        ("fit empty --target price --out x", 1, "is a folder without Parquet files"),
        ("demo --out train.csv", 1, "--out names train.csv, which is a file or in one; name a"),
        ("bench --out train.csv/a", 1, "which is a file or in one"),
        ("fit a[b].csv --target price --out x", 1, "a[b].csv"),
    )
    for arguments, code, words in wrong:
        ended = run(*arguments.split())
        assert ended.returncode == code
        assert words in " ".join(ended.stderr.split())
    assert not (folder / "x").exists() and not (folder / "x.csv").exists()


def test_help_shows_an_example(run):
    for name, words in (
        ("fit", "--target price"),
        ("predict", "new.parquet"),
        ("transform", "npy"),
    ):
        assert words in run(name, "--help").stdout
