"""`quadfeat reproduce`, as a user runs it."""

import json
import sys

import pytest
from typer.testing import CliRunner

from quadfeat.app import main, project_commands
from quadfeat.experiments.cell import Cell

from .conftest import NAME


@pytest.fixture
def reproduce(parabola, monkeypatch, tmp_path):
    """The command with the parabola for its only experiment."""
    monkeypatch.setattr(project_commands, "EXPERIMENTS", (NAME,))
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
    monkeypatch.setattr(project_commands, "EXPERIMENTS", ("fig2a",))
    said = " ".join(reproduce("fig2a").output.split())
    assert "note: Fig. 2a runs on the 1,797 small digits that scikit-learn ships" in said
    assert "note:" not in reproduce("fig2a", "--fetch").output
