"""Reports: the page of a fit, and the page of a saved model on the rows of a file."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from ..data.encoder_targets import is_labels
from ..models.classifier import KernelClassifier
from ..models.regressor import KernelRegressor
from .holdout import hold_out
from .learning_curve import learning_curve, width_curve
from .predictions import predictions
from .report_page import importances, page
from .rows import TEST_ROWS, RowBlock, collected, open_rows
from .scores import Score
from .study import scores, study, usual_residual
from .summary import FitSummary


def report_of_fit(
    model: Any,
    summary: FitSummary,
    sample: RowBlock,
    test: RowBlock,
    score: Callable[[Any], Score],
) -> tuple[FitSummary, str]:
    """The summary completed with results that need training rows, and the page.

    Parameters
    ----------
    sample : training rows, or some of them
    test : held-out rows
    score : function of predictions for the held-out rows
    """
    curve = learning_curve(model, sample, test, summary.n_train, score)
    usual = usual_residual(model, test)  # not training rows: the map was fitted on some of them
    widths = width_curve(model, sample, test, score)
    summary = replace(summary, learning=curve, widths=widths, usual_residual=usual)
    names = [name for name, share in summary.importances if share > 0]
    found = study(model, test, _held_out(summary), names, usual)
    found = replace(found, score=summary.score, more_scores=summary.more_scores)
    return summary, page(summary, found, model, summary.command)


@dataclass(frozen=True)
class Evaluation:
    """The evaluation of a model on some rows: their description, the score, and more numbers.

    `fitted` is the score on the rows that `fit` held out, None if not known.
    """

    rows: str
    score: Score
    more_scores: dict[str, float]
    fitted: Score | None

    def record(self) -> dict[str, Any]:
        """The evaluation as a JSON record."""
        return asdict(self)

    def facts(self) -> dict[str, Any]:
        """The evaluation as printed lines."""
        of_fit = {} if self.fitted in (None, self.score) else {"when fitted": str(self.fitted)}
        score = str(self.score)
        if self.score.value != self.score.value:
            score = f"no {self.score.name}: all these rows have one target"
        return {"rows": self.rows, "score": score, **self.more_scores, **of_fit}


@dataclass(frozen=True)
class _Asked:
    """Rows of a file to evaluate a model on, and the summary of its fit.

    `same`: they are the rows that `fit` held out.
    """

    block: RowBlock
    rows: str
    same: bool
    summary: FitSummary | None

    def evaluation(self, score: Score, more: dict[str, float]) -> Evaluation:
        """The evaluation with these scores; for the rows that `fit` held out, with its scores."""
        fitted = None if self.summary is None else self.summary.score
        if self.same and self.summary is not None:
            score, more = self.summary.score, self.summary.more_scores
        return Evaluation(self.rows, score, more, fitted)


def evaluated(model: Any, file: Path, data: Path, target: str | None) -> Evaluation:
    """The score of a model that was saved as `file`, on the rows of `data`.

    If `data` is the file that the model was fitted to, only its held-out rows are used.
    """
    asked = _asked(model, file, data, target)
    predicted = predictions(model, asked.block.X)
    return asked.evaluation(*scores(asked.block, predicted, getattr(model, "classes_", None)))


def report_of_data(
    model: Any, file: Path, data: Path, target: str | None, command: str
) -> tuple[Evaluation, str]:
    """The evaluation, and the page."""
    asked = _asked(model, file, data, target)
    summary = asked.summary
    names = [name for name, share in importances(summary, model) if share > 0]
    usual = None if summary is None else summary.usual_residual
    found = study(model, asked.block, asked.rows, names, usual)
    evaluation = asked.evaluation(found.score, found.more_scores)
    found = replace(found, score=evaluation.score, more_scores=evaluation.more_scores)
    return evaluation, page(summary, found, model, command)


def _asked(model: Any, file: Path, data: Path, target: str | None) -> _Asked:
    if not isinstance(model, KernelRegressor | KernelClassifier):
        raise ValueError(
            f"{file} holds a {type(model).__name__}, which makes no predictions; give a model "
            f"written by quadfeat fit"
        )
    if getattr(model.coef_, "ndim", 1) > 1 and isinstance(model, KernelRegressor):
        raise ValueError(
            f"{file} predicts several targets, and a report is about one; fit a model for each"
        )
    summary = _summary(file)
    target = summary.target if target is None and summary is not None else target
    block, rows, same = _rows(data, target, summary)
    _check_target(model, block, target)
    return _Asked(block, rows, same, summary)


def _summary(file: Path) -> FitSummary | None:
    """The summary that `fit` wrote beside the model; None if it is missing or something else."""
    try:
        return FitSummary.read(file.with_suffix(".json"))
    except (OSError, ValueError, TypeError, KeyError):
        return None


def _rows(data: Path, target: str | None, summary: FitSummary | None) -> tuple[RowBlock, str, bool]:
    """The rows to report on, their description, and whether `fit` held them out."""
    asked = {} if summary is None else summary.split
    group, time, weight = (asked.get(name) for name in ("group", "time", "weight"))
    try:
        stream = open_rows(data, target, weight, group, time)
    except ValueError:  # no such columns: another file
        stream = open_rows(data, target)
    if summary is None or stream.fingerprint() != summary.fingerprint:
        block = collected(open_rows(data, target).blocks(), TEST_ROWS)
        return block, f"{len(block):,} row{'s' * (len(block) != 1)} of {data.name}", False
    test = asked.get("test")
    if test is not None and not Path(test).exists():
        raise ValueError(
            f"{data} was used for training completely, and its test file {test} is gone; give a "
            f"file with other rows"
        )
    split = hold_out(stream, None if test is None else Path(test), group, time, target)
    return collected(split.test(), TEST_ROWS), _held_out(summary), True


def _held_out(summary: FitSummary) -> str:
    return f"{summary.n_test:,} rows held out ({summary.held_out})"


def _check_target(model: Any, block: RowBlock, target: str | None) -> None:
    if isinstance(model, KernelRegressor) and block.y.dtype.kind not in "biuf":
        raise ValueError(
            f"the target {target!r} has text such as {str(block.y[0])!r}, and the model predicts "
            f"numbers; name another column by --target"
        )
    if isinstance(model, KernelClassifier) and not set(block.y.tolist()) & set(
        model.classes_.tolist()
    ):
        kind = "classes" if is_labels(block.y) else "numbers"
        raise ValueError(
            f"the target {target!r} has {kind} such as {str(block.y[0])!r}, none of which the "
            f"model knows, such as {str(model.classes_[0])!r}; name another column by --target"
        )
