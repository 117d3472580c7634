"""From names of experiments to records, figures, verdicts and the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data.atomic import replace
from ..plotting.style import png, svg
from . import NAMES, experiment, page
from .cell import Cell, Table, Verdict, tables
from .datasets import Data, MissingData
from .journal import Finished, Journal, remaining, run_cell
from .page import Section


@dataclass(frozen=True)
class Plan:
    """The cells of one experiment, and those still to be run."""

    name: str
    scale: str
    journal: Journal
    cells: list[Cell]
    todo: list[Cell]

    def run(self, cell: Cell) -> None:
        """Run one cell and keep its records."""
        run_cell(self.journal, self.scale, cell, len(self.cells))


@dataclass(frozen=True)
class Outcome:
    """One experiment on the page; `why` says why it is missing, or is empty."""

    name: str
    verdicts: list[Verdict]
    finished: Finished
    picture: bytes
    tables: list[Table]
    why: str = ""


def plan(
    names: Sequence[str], scale: str, data: Data, out: Path
) -> tuple[list[Plan], dict[str, str]]:
    """The plans of experiments, and the reasons for those left out for lack of data.

    If only one experiment is requested, missing data is an error.
    """
    plans, left_out = [], {}
    for name in names:
        module = experiment(name)
        journal = Journal(out, name, module.VERSION)
        try:
            cells = module.cells(scale, data)
        except MissingData as missing:
            if len(names) == 1:
                raise
            left_out[name] = str(missing)
            continue
        plans.append(Plan(name, scale, journal, cells, remaining(journal, scale, cells)))
    return plans, left_out


def has_records(scale: str, out: Path) -> bool:
    """Whether any experiment has finished cells of this scale in `out`."""
    journals = (Journal(out, name, experiment(name).VERSION) for name in NAMES)
    return any(journal.finished(scale).lines for journal in journals)


def conclude(scale: str, out: Path, left_out: dict[str, str] | None = None) -> list[Outcome]:
    """Write figures and page from the records in `out`; return them with the verdicts."""
    outcomes = []
    for name in NAMES:
        module = experiment(name)
        finished = Journal(out, name, module.VERSION).finished(scale)
        if not finished.complete:
            why = (left_out or {}).get(name, "")
            if finished.lines:
                why = (
                    f"{len(finished.lines)} of {finished.planned} cells are done; "
                    f"`{command(name, scale)}` runs the others"
                )
            outcomes.append(Outcome(name, [], finished, b"", [], why or "not run"))
            continue
        figure = module.draw(finished.records)
        picture = svg(figure)
        replace(out / f"{name}.svg", picture)
        replace(out / f"{name}.png", png(figure))
        records = finished.records
        outcomes.append(
            Outcome(name, module.verdicts(records), finished, picture, tables(module, records))
        )
    sections = [
        Section(
            name=one.name,
            title=experiment(one.name).TITLE,
            about=experiment(one.name).ABOUT,
            command=command(one.name, scale),
            finished=one.finished,
            verdicts=one.verdicts,
            picture=one.picture,
            tables=one.tables,
            why=one.why,
        )
        for one in outcomes
    ]
    replace(out / "index.html", page.html(sections, scale))
    return outcomes


def command(name: str, scale: str) -> str:
    """The command that produces the records of an experiment."""
    return f"quadfeat reproduce {name} --scale {scale}"
