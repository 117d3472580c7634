"""The command, run as a user runs it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

QUADFEAT = [str(Path(sys.executable).with_name("quadfeat"))]


def run(*arguments, **options):
    return subprocess.run(
        [*QUADFEAT, *map(str, arguments)], capture_output=True, text=True, timeout=300, **options
    )


@pytest.fixture(scope="module")
def demo(tmp_path_factory):
    folder = tmp_path_factory.mktemp("demo") / "new" / "folder"
    return folder, run("demo", "--out", folder)


def test_the_demo_prints_a_table_that_fits_eighty_columns(demo):
    _, result = demo
    assert result.returncode == 0, result.stderr
    assert "less RMS error than RBFSampler" in result.stdout
    lines = result.stdout.splitlines()
    assert max(map(len, lines if "/" not in lines[-1] else lines[:-1])) <= 80
    for name in ("RBFSampler", "Nystroem", "ReweightedGrid", "exact kernel", "linear model"):
        assert name in result.stdout


def test_the_demo_leaves_a_picture_and_records(demo):
    folder, _ = demo
    assert (folder / "error.png").read_bytes().startswith(b"\x89PNG")
    records = [json.loads(line) for line in (folder / "records.jsonl").read_text().splitlines()]
    by_map = {(r["map"], r["columns"]): r for r in records}
    assert by_map["RandomFourier", 256]["rms"] < by_map["RBFSampler (sklearn)", 256]["rms"]
    assert by_map["ReweightedGrid", 256]["rms"] < by_map["RandomFourier", 256]["rms"] / 1.8
    assert by_map["exact kernel", 1078]["accuracy"] > 0.98


def test_info_is_for_people_and_machines():
    assert "engine" in run("info").stdout
    facts = json.loads(run("info", "--json").stdout)
    assert facts["engine"] in ("c++", "numpy")


def test_help_is_there_and_wrong_use_exits_with_two():
    assert "demo" in run("--help").stdout
    assert "--out" in run("demo", "--help", env={"COLUMNS": "120", "PATH": ""}).stdout
    assert run("demo", "--nonsense").returncode == 2
    assert run("nonsense").returncode == 2


def test_what_cannot_be_written_is_one_sentence_and_exit_code_one(tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    result = run("demo", "--out", blocked / "folder")
    assert result.returncode == 1
    assert "error" in result.stderr
    assert "Traceback" not in result.stderr
