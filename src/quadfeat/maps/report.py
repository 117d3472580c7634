"""What `KernelFeatures` tried, and why it chose one map."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .._display.html import card, facts, folded, note, number, table


@dataclass(frozen=True)
class Trial:
    """One candidate of `KernelFeatures`; errors are relative to k(0).

    Attributes
    ----------
    name : str, the call that constructs the map
    columns : int
    rms : float, RMS error of all pairs
    max : float, largest error of all pairs
    cost : float, multiply-adds per row
    note : str, why the candidate was not fitted; empty if it was
    typical : float, RMS error of pairs of typical rows: all but the outermost 1%
    """

    name: str
    columns: int
    rms: float
    max: float
    cost: float
    note: str = ""
    typical: float = np.nan

    def is_behind(self, other: Trial, times: float) -> bool:
        """Whether RMS, typical and largest error are at least `times` those of another."""
        errors = ((trial.rms, trial.typical, trial.max) for trial in (self, other))
        return all(mine >= times * theirs for mine, theirs in zip(*errors, strict=True))


@dataclass(frozen=True)
class Report:
    """What `KernelFeatures` tried, and why it chose; prints as a table.

    Attributes
    ----------
    trials : tuple of Trial, in the order of trying
    chosen : str, the name of the trial that won
    reason : str
    judges : str, which pairs of rows the errors were measured on
    """

    trials: tuple[Trial, ...]
    chosen: str
    reason: str
    judges: str = ""

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
        (_, *head), *_ = self._rows()
        tried = [trial for trial in self.trials if not trial.note]
        rows = [
            (each.name, *map(number, (each.columns, each.typical, each.rms, each.max, each.cost)))
            for each in tried
        ]
        chosen = [i for i, trial in enumerate(tried) if trial.name == self.chosen]
        left_out = [(trial.name, trial.note) for trial in self.trials if trial.note]
        return card(
            f"Chosen: {self.chosen}",
            table(head, rows, numbers=(1, 2, 3, 4, 5), chosen=chosen),
            *(note(text) for text in (self.reason, self.judges) if text),
            *([folded(f"{len(left_out)} not tried", facts(left_out))] if left_out else []),
        )


CLOSE = 1.2  # the cheapest map within so many times the least error wins
_CLEARLY = 0.9  # costs and errors are estimates: below this share of another is clearly less


def refused(name: str, why: str) -> Trial:
    """The trial of a candidate that was not fitted."""
    return Trial(name, 0, np.inf, np.inf, np.inf, note=why, typical=np.inf)


def choose(trials: list[Trial], criterion: str, rows: str, data_dependent: set[str]) -> Report:
    """The trial of least error, or a cheaper or data-independent one with about the same error.

    Maps that depend on the data may be fitted to the wrong rows if tails are heavy.

    Parameters
    ----------
    trials : list of Trial
    criterion : "rms" or "max"
    rows : str, which rows errors were measured on, for the reason
    data_dependent : names of maps whose nodes, weights or basis depend on the training rows
    """
    possible = [trial for trial in trials if not trial.note]
    if not possible:
        reasons = dict.fromkeys(trial.note for trial in trials)
        raise ValueError(f"every map refuses: {'; or: '.join(reasons)}")

    def error(trial: Trial) -> float:
        return float(getattr(trial, criterion))

    kind = f"{criterion} error"
    if criterion == "rms":
        landmarks = [trial.typical for trial in possible if trial.name.startswith("Landmarks")]
        most = 1.1 * min(landmarks) if landmarks else 2 * min(t.typical for t in possible)
        possible = [trial for trial in possible if trial.typical <= most]
    best = min(possible, key=error)
    least = error(best)
    close = [trial for trial in possible if error(trial) <= CLOSE * least]
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
        if trial.name not in data_dependent
        and _CLEARLY * error(trial) <= least
        and _CLEARLY * trial.cost <= best.cost
    ]
    if best.name in data_dependent and steady:
        chosen = min(steady, key=error)
        reason = (
            f"{chosen.name} does not depend on the data and has about the least {kind} "
            f"({best.name}) on rows {rows}"
        )
        return Report(tuple(trials), chosen.name, reason)
    reason = f"{best.name} has the least {kind} on rows {rows}"
    return Report(tuple(trials), best.name, reason)
