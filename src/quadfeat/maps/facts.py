"""A fitted map in a notebook: its kernel, its columns, and its error if known."""

from __future__ import annotations

from typing import Any

from .._display.html import WithFacts, card, facts, note, number
from ..kernels.base import Kernel
from ..kernels.facts import brief
from .report import Report


class MapFacts(WithFacts):
    """The facts that a notebook shows above the diagram of a fitted map."""

    kernel_: Kernel
    n_columns_: int
    n_features_in_: int

    def _facts(self) -> str:
        if not hasattr(self, "n_columns_"):
            return ""
        title = f"{type(self).__name__}, fitted"
        rows: list[tuple[str, Any]] = [
            ("columns", f"{self.n_columns_:,}, from {self.n_features_in_:,} of X"),
            ("kernel", brief(self.kernel_)),
        ]
        report: Report | None = getattr(self, "report_", None)
        if report is None:
            return card(title, facts(rows))
        rows.insert(1, ("chosen map", report.chosen))
        trial = next(each for each in report.trials if each.name == report.chosen)
        rows.append(("kernel error", f"RMS {number(trial.rms)}, largest {number(trial.max)}"))
        return card(title, facts(rows), note(f"{report.reason}. {report.judges}"))
