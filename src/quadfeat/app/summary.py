"""`FitSummary`: the results of a fit, saved beside the model and printed."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from ..data.column_kinds import ColumnReport
from .scores import Score

_SHOWN = 8  # most importances and left-out columns to print


@dataclass(frozen=True)
class Contender:
    """A score on the same held-out rows, and the seconds of its fit."""

    name: str
    score: Score
    seconds: float


@dataclass(frozen=True)
class FitSummary:
    """The results of `quadfeat fit`.

    Parameters
    ----------
    data, target, task, command : str; task is "regression" or "classification"
    n_train, n_test, n_without_target : int, rows fitted on, held out, and left out
    held_out : str, how rows were held out
    inputs : how each column was encoded, in order; empty for a matrix without names
    score : of the model, on the held-out rows
    more_scores : further numbers by name, such as RMSE or log loss
    contenders : the mean, a linear model and gradient boosting
    importances : (column, share) from large to small
    kernel, map, n_columns, alpha, loss : what was chosen; loss is "" for a regression
    map_error : RMS error of the kernel on pairs of held-out rows, relative to k(0)
    scaled : whether numbers are scaled
    notes : sentences, such as what was left out
    seconds : float, of everything
    fit_seconds : float, of the model alone
    file, page : str, of the model and of its report, which may be empty
    split : the options for held-out rows: "test", "group", "time"; and "weight"
    fingerprint : str, of the rows, so that `quadfeat report` recognises the file
    learning : (rows, score) of refits on fewer rows; empty if not measured
    widths : (columns of features, score) of refits on the same rows; empty if not measured
    usual_residual : the residual of the map that 99% of held-out rows are below, or None
    """

    data: str
    target: str
    task: str
    command: str
    n_train: int
    n_test: int
    n_without_target: int
    held_out: str
    inputs: tuple[ColumnReport, ...]
    score: Score
    more_scores: dict[str, float]
    contenders: tuple[Contender, ...]
    importances: tuple[tuple[str, float], ...]
    kernel: str
    map: str
    n_columns: int
    alpha: float
    loss: str
    map_error: float
    scaled: bool
    notes: tuple[str, ...] = ()
    seconds: float = 0.0
    fit_seconds: float = 0.0
    file: str = ""
    page: str = ""
    split: dict[str, str] = field(default_factory=dict)
    fingerprint: str = ""
    learning: tuple[tuple[int, float], ...] = ()
    widths: tuple[tuple[int, float], ...] = ()
    usual_residual: float | None = None

    @property
    def _test_rows(self) -> str:
        return "this 1 row" if self.n_test == 1 else f"these {self.n_test:,} rows"

    @property
    def verdict(self) -> str:
        """The outcome in a sentence."""
        if not self.score.learned:
            return (
                f"Nothing was learned: the model has {self.score} on {self._test_rows}, and a "
                f"guess that ignores the columns has {self.score.chance:.3g}."
            )
        rivals = [each for each in self.contenders if each.score.value == each.score.value]
        best = max(rivals, key=lambda each: each.score.value, default=None)
        text = f"The model predicts {self.target!r} with {self.score} on held-out rows"
        if best is None or best.score.value <= self.score.chance:
            return text + "."
        gap = self.score.value - best.score.value
        near = abs(gap) < 0.005
        word = "about as well as" if near else "better than" if gap > 0 else "worse than"
        return f"{text}, {word} the best of the others ({best.name}, {best.score.value:.3f})."

    def record(self) -> dict[str, Any]:
        """The summary as a JSON record, with the verdict."""
        return {**asdict(self), "verdict": self.verdict}

    @classmethod
    def read(cls, path: Path) -> FitSummary:
        """The summary that `fit` wrote beside a model."""
        record = json.loads(path.read_text())
        record.pop("verdict")
        contenders = tuple(
            Contender(each["name"], Score(**each["score"]), each["seconds"])
            for each in record["contenders"]
        )
        parts = {
            "inputs": tuple(ColumnReport(**each) for each in record["inputs"]),
            "score": Score(**record["score"]),
            "contenders": contenders,
            "importances": tuple((name, share) for name, share in record["importances"]),
            "notes": tuple(record["notes"]),
            "learning": tuple((rows, score) for rows, score in record.get("learning", ())),
            "widths": tuple((width, score) for width, score in record.get("widths", ())),
        }
        return cls(**{**record, **parts})

    def lines(self) -> list[str]:
        """The summary as text, at most 80 characters a line if names allow."""
        used = [each for each in self.inputs if each.kind != "drop"]
        dropped = [each for each in self.inputs if each.kind == "drop"]
        out = [self.verdict, ""]
        rows = f"rows      {self.n_train:,} to learn from, {self.n_test:,} held out"
        out.append(f"{rows} ({self.held_out})")
        if self.n_without_target:
            out.append(f"          {self.n_without_target:,} without a target left out")
        if self.inputs:
            out.append(f"columns   {len(used)} used" + self._kinds(used))
        for each in dropped[:_SHOWN]:
            out.append(f"          {each.name!r} left out: {each.why}")
        if len(dropped) > _SHOWN:
            out.append(f"          and {len(dropped) - _SHOWN} more left out")
        out += ["", f"{'':<22}{self.score.name:>9}   95% interval      fit"]
        every = (Contender("quadfeat", self.score, self.fit_seconds), *self.contenders)
        for one in every:
            score = one.score
            interval = f"{score.low:.3f} to {score.high:.3f}"
            out.append(f"{one.name:<22}{score.value:>9.3f}  {interval:>16}{one.seconds:>7.1f} s")
        more = {name: n for name, n in self.more_scores.items() if name != self.score.name}
        if more:
            numbers = ", ".join(f"{name} {value:.4g}" for name, value in more.items())
            out.append(f"of quadfeat also: {numbers}")
        left_out = {each.name for each in dropped}
        shown = [each for each in self.importances if each[0] not in left_out][:_SHOWN]
        if shown:
            out += ["", "what matters"]
            width = max(len(name) for name, _ in shown)
            for name, share in shown:
                out.append(f"  {name:<{width}} {share:>5.0%} {'#' * round(30 * share)}")
        out += ["", f"kernel    {self.kernel}"]
        scaled = ", numbers scaled" if self.scaled else ""
        out.append(f"map       {self.map}, {self.n_columns} columns{scaled}")
        if self.map_error == self.map_error:
            out.append(f"          RMS error of the kernel {self.map_error:.1e} on held-out rows")
        out += [f"note      {note}" for note in self.notes]
        out.append(f"time      {self.seconds:.1f} s")
        kind = "KernelClassifier" if self.task == "classification" else "KernelRegressor"
        out.append(f"model     {self.file} ({kind})")
        if self.page:
            out.append(f"page      {self.page}")
        return out

    def _kinds(self, used: list[ColumnReport]) -> str:
        counts = {kind: sum(each.kind == kind for each in used) for kind in _PLURALS}
        parts = [f"{n} {_PLURALS[kind][n > 1]}" for kind, n in counts.items() if n]
        gaps = sum(each.gaps > 0 for each in used)
        return f": {', '.join(parts)}" + f"; {gaps} with gaps" * bool(gaps)


_PLURALS = {
    "number": ("number", "numbers"),
    "category": ("category", "categories"),
    "date": ("date", "dates"),
    "text": ("free text", "free texts"),
}
