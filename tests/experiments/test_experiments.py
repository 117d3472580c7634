"""The frame of the experiments: cells are whole or absent, and never run twice."""

import json
import sys
from html import unescape
from pathlib import Path
from types import ModuleType

import pytest
from typer.testing import CliRunner

from quadfeat import experiments
from quadfeat.app import main
from quadfeat.experiments import runner
from quadfeat.experiments.cell import Cell, Table, Verdict
from quadfeat.experiments.datasets import Data, MissingData
from quadfeat.experiments.journal import Journal, identity
from quadfeat.plotting.style import figure

NAME = "parabola"


@pytest.fixture
def parabola(monkeypatch):
    """An experiment of three cells that counts how often each is run."""
    module = ModuleType(f"quadfeat.experiments.figures.{NAME}")
    module.TITLE, module.ABOUT, module.VERSION = "A parabola", "Squares of seeds.", 1
    module.ran, module.broken = [], None

    def square(seed):
        module.ran.append(seed)
        if seed == module.broken:
            raise ValueError("this cell breaks")
        return [{"seed": seed, "square": seed**2}, {"seed": -seed, "square": seed**2}]

    def cells(scale, data):
        return [Cell({"seed": seed}, lambda seed=seed: square(seed)) for seed in range(3)]

    def draw(records):
        made = figure()
        ax = made.subplots()
        ax.plot([r["seed"] for r in records], [r["square"] for r in records], "o")
        return made

    def verdicts(records):
        measured = str(sum(r["square"] for r in records))
        return [Verdict("<squares> sum to 10", "10", measured, measured == "10")]

    def tables(records):
        return [Table("Squares < 5", ["seed"], [[str(r["seed"])] for r in records])]

    module.cells, module.draw, module.verdicts, module.tables = cells, draw, verdicts, tables
    monkeypatch.setitem(sys.modules, module.__name__, module)
    monkeypatch.setattr(runner, "NAMES", (NAME,))
    return module


def go(out, scale="small"):
    out.mkdir(exist_ok=True)
    plans, _ = runner.plan([NAME], scale, Data(None), out)
    for plan in plans:
        for cell in plan.todo:
            plan.run(cell)
    return runner.conclude(scale, out)


def test_finished_cells_are_not_run_again(parabola, tmp_path):
    go(tmp_path)
    (outcome,) = go(tmp_path)
    assert parabola.ran == [0, 1, 2]
    assert outcome.verdicts[0].holds


def test_another_scale_or_version_is_run_anew_and_not_mixed_in(parabola, tmp_path):
    go(tmp_path)
    go(tmp_path, "paper")
    parabola.VERSION = 2
    (outcome,) = go(tmp_path)
    assert parabola.ran == [0, 1, 2] * 3
    assert len(outcome.finished.records) == 6


def test_an_error_keeps_what_was_finished_and_nothing_else(parabola, tmp_path):
    parabola.broken = 1
    with pytest.raises(ValueError, match="breaks"):
        go(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [f"{NAME}.jsonl"]
    (outcome,) = runner.conclude("small", tmp_path)
    assert "1 of 3 cells are done" in outcome.why
    parabola.broken = None
    go(tmp_path)
    assert parabola.ran == [0, 1, 1, 2]


@pytest.mark.parametrize("kept", range(1, 60, 7))
def test_a_line_cut_short_is_an_absent_cell(parabola, tmp_path, kept):
    go(tmp_path)
    path = tmp_path / f"{NAME}.jsonl"
    whole = path.read_bytes()
    last = whole.rstrip(b"\n").rindex(b"\n") + 1
    path.write_bytes(whole[: last + kept])
    (outcome,) = go(tmp_path)
    assert parabola.ran == [0, 1, 2, 2]
    assert len(outcome.finished.records) == 6
    assert go(tmp_path) and parabola.ran == [0, 1, 2, 2]


def test_figures_and_page_come_from_records_alone(parabola, tmp_path):
    go(tmp_path)
    first = (tmp_path / "index.html").read_bytes()
    for path in tmp_path.iterdir():
        if path.suffix != ".jsonl":
            path.unlink()
    runner.conclude("small", tmp_path)
    assert parabola.ran == [0, 1, 2]
    assert (tmp_path / "index.html").read_bytes() == first
    assert (tmp_path / f"{NAME}.png").read_bytes().startswith(b"\x89PNG")


def test_the_page_quotes_what_could_be_markup(parabola, tmp_path):
    go(tmp_path)
    text = (tmp_path / "index.html").read_text()
    assert "&lt;squares&gt;" in text and "<squares>" not in text
    assert "<summary>Squares &lt; 5</summary>" in text and '<th scope="row">-2</th>' in text
    assert "<script" not in text and "http" not in text.replace("http-equiv", "")


def test_records_of_a_data_set_are_not_mixed_with_those_of_another(tmp_path):
    journal = Journal(tmp_path, NAME, 1)
    for data in ("digits", "mnist"):
        key = {"data": data, "seed": 0}
        line = {"key": key, "scale": "small", "version": 1, "cells": 1, "seconds": 0.0}
        journal.append({**line, "machine": "", "records": [{"data": data}]})
    assert journal.finished("small").records == [{"data": "mnist"}]
    assert len(journal.known("small")) == 2


def test_what_json_cannot_hold_is_refused_before_anything_is_written(tmp_path):
    journal = Journal(tmp_path, NAME, 1)
    with pytest.raises(ValueError):
        journal.append({"records": [float("nan")]})
    assert not journal.path.exists()


def test_one_experiment_without_data_is_an_error_and_one_of_several_is_left_out(parabola, tmp_path):
    def cells(scale, data):
        raise MissingData("give --data a folder with parabola.npz")

    parabola.cells = cells
    with pytest.raises(ValueError, match="--data"):
        runner.plan([NAME], "small", Data(None), tmp_path)
    plans, left_out = runner.plan([NAME, NAME], "small", Data(None), tmp_path)
    assert not plans and "--data" in left_out[NAME]


def test_lines_that_are_no_cells_are_passed_over(tmp_path):
    journal = Journal(tmp_path, NAME, 1)
    journal.path.write_bytes(b'{"a": 1}\n123\n\xff\xfe\nnull\n{"key": {}\n')
    assert journal.finished("small").lines == []


def test_the_data_folder_is_the_option_or_the_environment_or_none(tmp_path, monkeypatch):
    monkeypatch.delenv("QUADFEAT_DATA", raising=False)
    assert Data.find().folder is None
    with pytest.raises(ValueError, match=r"holds neither mnist\.npz"):
        Data.find(tmp_path)
    (tmp_path / "mnist.npz").touch()
    assert Data.find(tmp_path).folder == tmp_path
    with pytest.raises(ValueError, match="--data names"):
        Data.find(tmp_path / "nowhere")
    monkeypatch.setenv("QUADFEAT_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(ValueError, match="QUADFEAT_DATA names"):
        Data.find()


@pytest.mark.parametrize("name", experiments.NAMES)
def test_an_experiment_says_what_it_is_and_its_keys_differ(name):
    module = experiments.experiment(name)
    assert module.TITLE and module.ABOUT.endswith(".") and module.VERSION >= 1
    for scale in ("small", "paper"):
        try:
            cells = module.cells(scale, Data.find())
        except MissingData:
            continue
        keys = [json.dumps(cell.key, sort_keys=True) for cell in cells]
        assert len(keys) == len(set(keys)) > 0


# --- what is kept of the paper's scale -----------------------------------------------------------
KEPT = Path(__file__).parents[2] / "docs" / "reproduction"


@pytest.mark.parametrize("name", experiments.NAMES)
def test_the_kept_page_is_that_of_the_kept_records(name):
    module = experiments.experiment(name)
    finished = Journal(KEPT, name, module.VERSION).finished("paper")
    assert finished.complete
    page = unescape((KEPT / "index.html").read_text())
    assert module.TITLE in page and module.ABOUT in page
    for verdict in module.verdicts(finished.records):
        assert {verdict.claim in page, verdict.measured in page, verdict.note in page} == {True}


@pytest.mark.parametrize("name", experiments.NAMES)
def test_the_kept_records_are_of_the_cells_that_would_be_run(name, data_folder):
    module = experiments.experiment(name)
    finished = Journal(KEPT, name, module.VERSION).finished("paper")
    planned = module.cells("paper", Data(data_folder))
    assert {identity(line["key"]) for line in finished.lines} == {
        identity(cell.key) for cell in planned
    }


# --- the command --------------------------------------------------------------------------------
@pytest.fixture
def reproduce(parabola, monkeypatch, tmp_path):
    """The command with the parabola for its only experiment."""
    monkeypatch.setattr(main, "EXPERIMENTS", (NAME,))
    monkeypatch.delenv("QUADFEAT_DATA", raising=False)
    out = tmp_path / "new" / "out"

    def call(*arguments):
        return CliRunner().invoke(main.app, ["reproduce", *arguments, "--out", str(out)])

    call.out = out
    return call


def test_the_command_prints_verdicts_and_leaves_a_page(reproduce):
    result = reproduce("all")
    assert result.exit_code == 0, result.output
    assert "yes" in result.output and "<squares> sum to" in result.output
    assert "Squares < 5" in result.output
    names = {path.name for path in reproduce.out.iterdir()}
    assert names == {"index.html", *(f"{NAME}.{kind}" for kind in ("jsonl", "svg", "png"))}


def test_verdicts_are_lines_of_json_for_machines(reproduce):
    (line,) = reproduce(NAME, "--json").stdout.splitlines()
    verdict = json.loads(line)
    assert verdict["experiment"] == NAME and verdict["holds"] is True


def test_redrawing_runs_nothing(reproduce, parabola):
    reproduce("all")
    assert reproduce("all", "--redraw").exit_code == 0
    assert parabola.ran == [0, 1, 2]


def test_redrawing_where_nothing_was_run_says_so_and_makes_nothing(reproduce):
    result = reproduce("all", "--redraw")
    assert isinstance(result.exception, ValueError) and "--redraw" in str(result.exception)
    assert not reproduce.out.exists()


def test_stopping_keeps_finished_cells_and_says_how_to_go_on(reproduce, parabola, monkeypatch):
    whole = parabola.cells

    def stop():
        raise KeyboardInterrupt

    def stopped(scale, data):
        return [*whole(scale, data)[:2], Cell({"seed": 2}, stop)]

    monkeypatch.setattr(parabola, "cells", stopped)
    result = reproduce("all")
    assert result.exit_code == 130
    assert "2 new cells are kept" in result.output
    assert [path.name for path in reproduce.out.iterdir()] == [f"{NAME}.jsonl"]
    monkeypatch.setattr(parabola, "cells", whole)
    assert reproduce("all").exit_code == 0
    assert parabola.ran == [0, 1, 2]


def test_wrong_names_and_scales_exit_with_two_and_a_wrong_folder_makes_nothing(reproduce):
    assert reproduce("fig9").exit_code == 2
    assert reproduce("all", "--scale", "huge").exit_code == 2
    result = reproduce("all", "--data", "/nowhere/at/all")
    assert isinstance(result.exception, ValueError) and "--data names" in str(result.exception)
    assert not reproduce.out.exists()


def test_redrawing_another_scale_than_was_run_says_so(reproduce):
    reproduce("all")
    result = reproduce("all", "--redraw", "--scale", "paper")
    assert isinstance(result.exception, ValueError)
    assert "no records of --scale paper" in str(result.exception)


def test_a_file_for_the_folder_is_named_and_kept(reproduce):
    reproduce.out.parent.mkdir()
    reproduce.out.write_text("mine")
    result = reproduce("all")
    assert isinstance(result.exception, ValueError) and "is a file" in str(result.exception)
    assert reproduce.out.read_text() == "mine"


def test_a_folder_without_any_data_is_refused_unless_mnist_is_to_be_fetched(reproduce, tmp_path):
    result = reproduce("all", "--data", str(tmp_path))
    assert isinstance(result.exception, ValueError) and "holds neither" in str(result.exception)
    assert not reproduce.out.exists()
    assert reproduce("all", "--data", str(tmp_path), "--fetch").exit_code == 0


def test_the_command_says_what_stands_in_for_mnist(reproduce, parabola, monkeypatch):
    monkeypatch.setitem(sys.modules, "quadfeat.experiments.figures.fig2a", parabola)
    monkeypatch.setattr(main, "EXPERIMENTS", ("fig2a",))
    said = " ".join(reproduce("fig2a").output.split())
    assert "note: Fig. 2a runs on the 1,797 small digits that scikit-learn ships" in said
    assert "note:" not in reproduce("fig2a", "--fetch").output


def test_what_a_finished_cell_found_is_recalled_for_later_ones(parabola, tmp_path):
    recalled = []
    plain = parabola.cells

    def cells(scale, data):
        first, *others = plain(scale, data)
        return [Cell(first.key, first.run, 1.0, recalled.extend), *others]

    parabola.cells = cells
    go(tmp_path)
    assert recalled == [] and go(tmp_path)
    assert recalled == [{"seed": 0, "square": 0}, {"seed": 0, "square": 0}]
