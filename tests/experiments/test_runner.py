"""From experiments to records, figures and the page; and what is kept of the paper's scale."""

import json
import re
from html import unescape
from pathlib import Path

import pytest

from quadfeat import experiments
from quadfeat.experiments import runner
from quadfeat.experiments.cell import tables
from quadfeat.experiments.datasets import Data, MissingData
from quadfeat.experiments.journal import Journal, identity
from quadfeat.plotting import svg

from .conftest import NAME, go


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


def test_one_experiment_without_data_is_an_error_and_one_of_several_is_left_out(parabola, tmp_path):
    def cells(scale, data):
        raise MissingData("give --data a folder with parabola.npz")

    parabola.cells = cells
    with pytest.raises(ValueError, match="--data"):
        runner.plan([NAME], "small", Data(None), tmp_path)
    plans, left_out = runner.plan([NAME, NAME], "small", Data(None), tmp_path)
    assert not plans and "--data" in left_out[NAME]


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


@pytest.mark.parametrize("name", experiments.NAMES)
def test_the_kept_picture_is_drawn_from_the_kept_records(name):
    module = experiments.experiment(name)
    records = Journal(KEPT, name, module.VERSION).finished("paper").records
    drawn, kept = (
        re.findall(r"<!-- (.*?) -->", text)
        for text in (svg(module.draw(records)).decode(), (KEPT / f"{name}.svg").read_text())
    )
    assert drawn == kept and len(kept) > 10
    page = unescape((KEPT / "index.html").read_text())
    for table in tables(module, records):
        assert table.caption in page
        for row in table.rows:
            assert len(row) == len(table.head) and all(cell in page for cell in row)
