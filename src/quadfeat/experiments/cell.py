"""The parts of an experiment: cells to run, and verdicts and tables from their records."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Protocol

from .datasets import Data

Record = dict[str, Any]
Key = dict[str, str | int | float]
SCALES = ("small", "paper")


@dataclass(frozen=True)
class Cell:
    """A piece of an experiment that is run as a whole or not at all.

    Attributes
    ----------
    key : dict
        Identifies the cell within its experiment and scale: map, width, "seed", and "data" if there
        are several data sets. The records depend on nothing else.
    run : callable without arguments, returns flat records that JSON can hold
    cost : float
        Expected seconds, for the progress bar.
    recall : callable or None
        Takes the records of an earlier run, if later cells need the results of this one.
    """

    key: Key
    run: Callable[[], list[Record]]
    cost: float = 1.0
    recall: Callable[[list[Record]], None] | None = None


@dataclass(frozen=True)
class Verdict:
    """The paper's statement and the measurement; `holds` is None if undecided."""

    claim: str
    paper: str
    measured: str
    holds: bool | None
    note: str = ""

    @property
    def word(self) -> str:
        return {True: "holds", False: "does not hold", None: "not decided"}[self.holds]


@dataclass(frozen=True)
class Table:
    """A table of numbers: a caption, headings, and rows whose first cell is a label."""

    caption: str
    head: list[str]
    rows: list[list[str]]


class Experiment(Protocol):
    """The interface of a module of this package; `tables` from records if numbers help."""

    TITLE: str
    ABOUT: str  # description of the figure, one paragraph
    VERSION: int  # raised when cells of the same key would give other records

    def cells(self, scale: str, data: Data) -> list[Cell]: ...

    def draw(self, records: list[Record]) -> Any: ...

    def verdicts(self, records: list[Record]) -> list[Verdict]: ...


def tables(module: Experiment, records: list[Record]) -> list[Table]:
    """The tables of an experiment; none if it does not define them."""
    result: list[Table] = getattr(module, "tables", lambda _: [])(records)
    return result
