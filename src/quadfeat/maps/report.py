"""What was tried, and why one map was chosen."""

from __future__ import annotations

import html
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Trial:
    """One construction that `KernelFeatures` tried; errors are relative to k(0)."""

    name: str
    columns: int
    rms: float  # of all pairs
    max: float  # of all pairs
    cost: float  # multiply-adds per row
    note: str = ""  # why it could not be made, or was not, if so
    typical: float = np.nan  # RMS of pairs of typical rows: all but the outermost 1%


@dataclass(frozen=True)
class Report:
    """What `KernelFeatures` tried, and why it chose; prints as a table."""

    trials: tuple[Trial, ...]
    chosen: str
    reason: str
    judges: str = ""  # the pairs that errors are of

    def _rows(self) -> Iterator[tuple[str, ...]]:
        yield "", "map", "columns", "typical RMS", "RMS error", "max error", "cost per row"
        for trial in self.trials:
            mark = "*" if trial.name == self.chosen else ""
            if trial.note:
                yield mark, trial.name, "", trial.note.split(";")[0][:60], "", "", ""
                continue
            yield (
                mark,
                trial.name,
                str(trial.columns),
                "" if np.isnan(trial.typical) else f"{trial.typical:.2e}",
                f"{trial.rms:.2e}",
                f"{trial.max:.2e}",
                f"{trial.cost:.2g}",
            )

    def __repr__(self) -> str:
        rows = list(self._rows())
        full = [row for row in rows if row[2]]
        widths = [max(len(row[i]) for row in full) for i in range(7)]
        widths[1] = max(len(row[1]) for row in rows)
        lines = [
            " ".join(
                cell.ljust(width) if i < 2 or not row[2] else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        ]
        return "\n".join([*lines, *self._notes()])

    def _notes(self) -> list[str]:
        return [f"* {self.reason}", *([self.judges] if self.judges else [])]

    def _repr_html_(self) -> str:
        head, *body = self._rows()
        cells = "".join(f"<th>{html.escape(cell)}</th>" for cell in head)
        lines = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in body
        )
        notes = "".join(f"<p>{html.escape(note)}</p>" for note in self._notes())
        return f"<table><tr>{cells}</tr>{lines}</table>{notes}"


_CLEARLY = 0.9  # share of a cost or an error, both of which are estimates, that is clearly less


def refused(name: str, why: str) -> Trial:
    return Trial(name, 0, np.inf, np.inf, np.inf, note=why, typical=np.inf)


def choose(trials: list[Trial], criterion: str, judges: str, learned: set[str]) -> Report:
    """The least error, but for cheaper maps, and for steadier ones, that are about as good.

    What a map of `learned` ones has learnt of the rows may mislead where tails are heavy.
    """
    possible = [trial for trial in trials if not trial.note]
    if not possible:
        reasons = dict.fromkeys(trial.note for trial in trials)
        raise ValueError(f"every map refuses: {'; or: '.join(reasons)}")

    def error(trial: Trial) -> float:
        return float(getattr(trial, criterion))

    kind = f"{criterion} error"
    if criterion == "rms":
        points = [trial.typical for trial in possible if trial.name.startswith("Landmarks")]
        most = 1.1 * min(points) if points else 2 * min(trial.typical for trial in possible)
        possible = [trial for trial in possible if trial.typical <= most]
    best = min(possible, key=error)
    least = error(best)
    close = [trial for trial in possible if error(trial) <= 1.2 * least]
    cheapest = min(close, key=lambda trial: (trial.cost, trial.columns))
    if cheapest.cost <= _CLEARLY * best.cost:
        reason = (
            f"{cheapest.name} is within 20% of the least {kind} ({best.name}) and "
            f"{best.cost / cheapest.cost:.1f}x cheaper per row"
        )
        return Report(tuple(trials), cheapest.name, reason)
    steady = [
        trial
        for trial in close
        if trial.name not in learned
        and _CLEARLY * error(trial) <= least
        and _CLEARLY * trial.cost <= best.cost
    ]
    if best.name in learned and steady:
        chosen = min(steady, key=error)
        reason = (
            f"{chosen.name} learns nothing of the rows and has about the least {kind} "
            f"({best.name}) on rows {judges}"
        )
        return Report(tuple(trials), chosen.name, reason)
    reason = f"{best.name} has the least {kind} on rows {judges}"
    return Report(tuple(trials), best.name, reason)
