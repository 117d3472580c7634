"""What checks share: how much to try, and the rows that they yield."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]
RECORDS = ROOT / "docs" / "testing.jsonl"
_NOTES = 5  # failures that a row keeps in words


@dataclass(frozen=True)
class Effort:
    """How much a check tries: `quick` is part of ``make test``."""

    quick: bool
    seed: int
    folder: Path  # empty, and removed afterwards
    minutes: float = math.inf  # after which a row that takes long ends with what it has tried

    def times(self, quick: int, full: int) -> Iterator[int]:
        """0, 1, ... up to what `of` says, or until the minutes are over."""
        end = time.monotonic() + 60 * self.minutes
        for i in range(self.of(quick, full)):
            if time.monotonic() > end:
                return
            yield i

    def of(self, quick: int, full: int) -> int:
        return quick if self.quick else full


@dataclass
class Row:
    """One line of the table: `holds` unless a figure is above the bound or too many cases failed.

    >>> row = Row("sums", bound=1e-15)
    >>> row.add(2e-16)
    >>> row.tried, row.failed, row.worst, row.holds
    (1, 0, 2e-16, True)
    """

    what: str
    bound: float = math.nan  # of the figures; nan where cases only hold or fail
    unit: str = ""
    allowed: int = 0  # failures
    tried: int = 0
    failed: int = 0
    worst: float = math.nan
    notes: list[str] = field(default_factory=list)

    def add(self, figure: float | None = None, *, fault: str = "", case: object = "") -> None:
        """Count one case: it fails if there is a fault, or if its figure is not within the bound.

        Parameters
        ----------
        figure : float, what is measured, nan fails; None where there is nothing to measure
        fault : str, what went wrong, if something did
        case : object, names the case in notes
        """
        self.tried += 1
        if figure is not None:
            figure = math.inf if math.isnan(figure) else float(figure)
            self.worst = figure if math.isnan(self.worst) else max(self.worst, figure)
            if not (fault or math.isnan(self.bound) or figure <= self.bound):
                fault = f"{figure:.3g}, above {self.bound:.3g}"
        if fault:
            self.failed += 1
            if len(self.notes) < _NOTES:
                self.notes.append(f"{case}: {fault}")

    def require(self, holds: bool, case: object) -> None:
        """Count one case that holds or fails."""
        self.add(fault="" if holds else "does not hold", case=case)

    @property
    def holds(self) -> bool:
        return self.tried > 0 and self.failed <= self.allowed

    def record(self) -> dict[str, Any]:
        """The row as JSON has it."""
        figures = {"worst": self.worst, "bound": self.bound}
        return {
            "what": self.what,
            "tried": self.tried,
            "failed": self.failed,
            "allowed": self.allowed,
            **{name: None if math.isnan(value) else value for name, value in figures.items()},
            "unit": self.unit,
            "holds": self.holds,
            "notes": self.notes,
        }


def read(path: Path) -> list[dict[str, Any]]:
    """The records of a file, none if there is no file."""
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def write(path: Path, records: Iterable[dict[str, Any]]) -> None:
    """The records, one per line."""
    path.write_text("".join(json.dumps(record) + "\n" for record in records))


def line(record: dict[str, Any]) -> str:
    """A record as a line of the table."""
    worst, bound = (figure(record[name]) for name in ("worst", "bound"))
    verdict = "" if record["holds"] else "  BROKEN"
    return (
        f"{record['check']:12} {record['what']:66} {record['tried']:9,} {record['failed']:7,} "
        f"{worst:>9} {bound:>9} {record['unit']}{verdict}"
    )


def figure(value: float | None) -> str:
    """A figure in three digits, a dash for none."""
    return "-" if value is None else f"{value:.3g}"


HEADER = f"{'check':12} {'what':66} {'tried':>9} {'failed':>7} {'worst':>9} {'bound':>9}"
