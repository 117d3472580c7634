"""What an experiment is made of: cells to run, and verdicts and tables drawn from their records."""

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
        Identifies the cell among those of its experiment and scale: map, width, "seed", and "data"
        where a data set could be another one. The records depend on nothing else.
    run : callable without arguments, returns flat records that JSON can hold
    cost : float
        Expected seconds, for the progress bar.
    recall : callable or None
        Takes the records of an earlier run, where later cells need the results of this one.
    """

    key: Key
    run: Callable[[], list[Record]]
    cost: float = 1.0
    recall: Callable[[list[Record]], None] | None = None


@dataclass(frozen=True)
class Verdict:
    """What the paper says beside what was measured; `holds` is None if that is undecided."""

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
    """Numbers to read: a caption, headings, and rows whose first cell says where."""

    caption: str
    head: list[str]
    rows: list[list[str]]


class Experiment(Protocol):
    """What a module of this package defines; `tables`, from records, where numbers help."""

    TITLE: str
    ABOUT: str  # what is shown, one paragraph
    VERSION: int  # raised when cells of the same key would give other records

    def cells(self, scale: str, data: Data) -> list[Cell]: ...

    def draw(self, records: list[Record]) -> Any: ...

    def verdicts(self, records: list[Record]) -> list[Verdict]: ...


def tables(module: Experiment, records: list[Record]) -> list[Table]:
    """The tables of an experiment, none where it defines none."""
    result: list[Table] = getattr(module, "tables", lambda _: [])(records)
    return result
