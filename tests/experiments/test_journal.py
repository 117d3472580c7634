"""Finished cells are kept once, whole or not at all."""

import json

import numpy as np
import pytest

from quadfeat.experiments import journal, runner
from quadfeat.experiments.cell import Cell
from quadfeat.experiments.journal import Journal

from .conftest import NAME, go


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


def test_lines_that_are_no_cells_are_passed_over(tmp_path):
    journal = Journal(tmp_path, NAME, 1)
    journal.path.write_bytes(b'{"a": 1}\n123\n\xff\xfe\nnull\n{"key": {}\n')
    assert journal.finished("small").lines == []


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


def test_numbers_of_numpy_are_kept_as_numbers_and_objects_are_refused():
    values = {"a": np.float64(0.5), "b": np.arange(2), "c": np.int64(3), "d": np.bool_(True)}
    text = json.dumps(values, default=journal._plain)
    assert json.loads(text) == {"a": 0.5, "b": [0, 1], "c": 3, "d": True}
    with pytest.raises(TypeError, match="records hold numbers, strings and lists, got set"):
        journal._plain({1})


def test_a_machine_without_a_list_of_processors_is_named_too(monkeypatch):
    def no_file(path):
        raise FileNotFoundError(path)

    for read in (no_file, lambda path: "vendor: none\n"):
        monkeypatch.setattr(journal.Path, "read_text", read)
        assert journal._processor()
    monkeypatch.setattr(journal.Path, "read_text", lambda path: "model name\t: Some CPU\n")
    assert journal._processor() == "Some CPU"
