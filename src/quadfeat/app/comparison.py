"""`compare`: contenders on the same folds, scored with paired intervals, and advice."""

from __future__ import annotations

import pickle
import textwrap
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from .._typing import Floats
from .memory import peak_memory
from .rows import RowBlock
from .scores import (
    RowParts,
    Score,
    accuracy,
    accuracy_parts,
    auroc,
    auroc_parts,
    paired,
    r2,
    r2_parts,
)

_WORTH = 0.005  # of a score: advised if better by this, or simpler and at most this much worse
SIMPLER = ("linear model", "half the width")  # simpler than the default, the simplest first
_NAME, _DIFFERENCE = 17, 25  # widths in the table


@dataclass(frozen=True, eq=False)
class Fold:
    """Training rows and rows to predict."""

    train: Any
    test: RowBlock


@dataclass(frozen=True, eq=False)
class Run:
    """The result of a contender on a fold.

    `predicted` are numbers, or shares of `labels` (n, k); `memory` is None if not measured.
    """

    predicted: Any
    labels: Any
    fit_seconds: float
    predict_seconds: float
    memory: int | None
    size: int


def run(fit: Callable[[Any], Any], fold: Fold) -> Run:
    """Fit one contender to one fold and predict its test rows."""
    with warnings.catch_warnings(), peak_memory() as peak:
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        fitted = fit(fold.train)
        middle = time.perf_counter()
        predicted = fitted(fold.test.X)
        ended = time.perf_counter()
    size = len(pickle.dumps(fitted))
    return Run(predicted, fitted.labels, middle - began, ended - middle, peak.bytes, size)


class Marks:
    """Scores of runs on the test rows of all folds together.

    R2 and accuracy are computed over all rows at once, R2 relative to the mean of each fold's
    training rows. The AUROC is the mean over folds, weighted by rows, because scores of different
    models are not comparable.
    """

    def __init__(self, folds: Sequence[Fold], *, classes: bool, group: bool) -> None:
        self._y = np.concatenate([fold.test.y for fold in folds])
        self._fold = np.repeat(np.arange(len(folds)), [len(fold.test) for fold in folds])
        self.group = np.concatenate([fold.test.key for fold in folds]) if group else None
        if self.group is not None:
            self.group = self.group.astype(str)
        self._classes = classes
        rows = [fold.train.rows for fold in folds]
        if classes:
            seen = np.concatenate([each.y for each in rows])
            labels, counts = np.unique(seen, return_counts=True)
            self._labels = labels
            self._chance = float(np.mean(self._y == labels[np.argmax(counts)]))
        else:
            self._y = self._y.astype(np.float64)
            means = [np.average(each.y.astype(np.float64), weights=each.weight) for each in rows]
            self._mean = np.array(means)[self._fold]

    @property
    def n_rows(self) -> int:
        return len(self._y)

    def of(self, runs: Sequence[Run]) -> tuple[Score, RowParts]:
        """The score with its interval, and the part of each row in it."""
        if not self._classes:
            predicted = np.concatenate([each.predicted for each in runs])
            given = self._y, predicted, self._mean
            return r2(*given, self.group), r2_parts(*given)
        if len(self._labels) == 2:
            scores = np.concatenate([self._share_of_second(each) for each in runs])
            positive = self._y == self._labels[1]
            found = auroc_parts(positive, scores, self._fold)
            return auroc(positive, scores, self.group, self._fold), found
        right = self._y == np.concatenate(
            [each.labels[np.argmax(each.predicted, axis=1)] for each in runs]
        )
        return accuracy(right, self._chance, self.group), accuracy_parts(right)

    def _share_of_second(self, one: Run) -> Floats:
        shares: Floats = one.predicted[:, list(one.labels).index(self._labels[1])]
        return shares


@dataclass(frozen=True)
class Result:
    """A contender's score, its difference from the first one's, and its cost.

    Parameters
    ----------
    name, what : str; ours : bool, whether it is a model of quadfeat
    score : on the test rows of all folds; None if it cannot use these rows, for which `note` has
        the reason
    difference : (value, low, high), the score minus that of the first contender, with its paired
        95% interval; None for the first
    fit_seconds : float, of one fold on average
    predict_seconds : float, for 1,000 rows
    memory : peak bytes beyond those before the fit; None if not measured
    size : bytes of the pickled model
    """

    name: str
    what: str
    ours: bool
    score: Score | None
    difference: tuple[float, float, float] | None = None
    fit_seconds: float = 0.0
    predict_seconds: float = 0.0
    memory: int | None = None
    size: int = 0
    note: str = ""


def compared(
    candidates: Sequence[Any], folds: Sequence[Fold], marks: Marks, tick: Callable[[str], None]
) -> Iterator[Result]:
    """Every candidate on every fold; `tick` is called with the name before each fit.

    A candidate has `name`, `what`, `ours` and `fit`. One that raises a ValueError on a fold has no
    score; if it is the first, the error is raised.
    """
    first: RowParts | None = None
    for each in candidates:
        runs = []
        try:
            for fold in folds:
                tick(each.name)
                runs.append(run(each.fit, fold))
            score, parts = marks.of(runs)
        except ValueError as error:
            if first is None:
                raise
            for _ in folds[len(runs) + 1 :]:
                tick(each.name)
            yield Result(each.name, each.what, each.ours, None, note=str(error))
            continue
        encoding = float(np.mean([fold.train.encoder_seconds for fold in folds]))
        seconds = sum(one.predict_seconds for one in runs)
        measured = [one.memory for one in runs if one.memory is not None]
        yield Result(
            each.name,
            each.what,
            each.ours,
            score,
            None if first is None else paired(parts, first, marks.group),
            float(np.mean([one.fit_seconds for one in runs])) + each.ours * encoding,
            1000 * seconds / marks.n_rows,
            max(measured, default=None),
            max(one.size for one in runs),
        )
        first = parts if first is None else first


@dataclass(frozen=True)
class Comparison:
    """The results of `quadfeat compare`; quadfeat's default comes first.

    `how` says how rows were split into `n_folds` folds, `n_left_out` how many rows of the file
    were not used.
    """

    data: str
    target: str
    task: str
    how: str
    n_folds: int
    n_rows: int
    n_left_out: int
    results: tuple[Result, ...]
    seconds: float = 0.0

    def record(self) -> dict[str, Any]:
        """The comparison as a JSON record, with the advice."""
        return {**asdict(self), "advice": self.advice}

    @property
    def advice(self) -> str:
        """The advice, in one sentence."""
        ours, scored = self.results[0], [each for each in self.results if each.score is not None]
        assert ours.score is not None
        name = ours.score.name
        if not any(each.score.learned for each in scored if each.score is not None):
            return (
                f"Nothing was learned: no contender predicts {self.target!r} better than chance "
                f"({name} {ours.score.chance:.3g}); look for other columns, or more rows."
            )
        better = [each for each in scored if _is_better(each)]
        if better:
            best = max(better, key=lambda each: each.score.value if each.score else -np.inf)
            assert best.difference is not None and best.score is not None
            gain, low, high = best.difference
            return (
                f"Use {_called(best)}: its {name} of {best.score.value:.3f} is {gain:.3f} above "
                f"the default's (95%: {low:.3f} to {high:.3f})."
            )
        simpler = [each for each in scored if each.name in SIMPLER and _is_as_good(each)]
        if simpler:
            least = min(simpler, key=lambda each: SIMPLER.index(each.name))
            return (
                f"Use {_called(least)}: it is as good as the default, within {_WORTH:g} of {name}, "
                f"and simpler."
            )
        return f"Keep the default, quadfeat fit: nothing here is better by {_WORTH:g} of {name}."

    def lines(self) -> list[str]:
        """The comparison as text, at most 80 characters a line."""
        ours = self.results[0].score
        assert ours is not None
        out = [*textwrap.wrap(self.advice, 80), ""]
        rows = f"{self.n_rows:,} rows in {self.n_folds} folds {self.how}"
        out.append(f"{rows}; each is predicted by models that did not see it.")
        if self.n_left_out:
            out.append(f"{self.n_left_out:,} more rows of the file were not used; see --rows.")
        head = f"{'against quadfeat (95%)':>{_DIFFERENCE}}"
        costs = f"{'fit':>7}{'predict':>8}{'memory':>8}{'file':>8}"
        out += ["", f"{'':<{_NAME}}{_short(ours.name):>6}{head}{costs}"]
        out += [_line(each) for each in self.results]
        out.append(f"{'chance':<{_NAME}}{ours.chance:>6.3f}")
        out.append("")
        for each in self.results:
            if each.score is None:
                out.append(f"{each.name} is left out: {each.note}")
        out.append("fit: of one fold; predict: of 1,000 rows; file: of the pickled model;")
        out.append("memory: peak, beyond what was used before" + self._unmeasured())
        out.append("Intervals are over rows; other training rows would move scores further.")
        return out

    def _unmeasured(self) -> str:
        known = any(each.memory is not None for each in self.results)
        return "." if known else " (not known on this system)."


def _short(name: str) -> str:
    return {"accuracy": "accur."}.get(name, name)


def _line(each: Result) -> str:
    if each.score is None:
        return f"{each.name:<{_NAME}}{'-':>6}"
    gap = ""
    if each.difference is not None:
        value, low, high = each.difference
        gap = f"{value:+.3f} [{low:+.3f}, {high:+.3f}]"
    memory = "-" if each.memory is None else _bytes(each.memory)
    return (
        f"{each.name:<{_NAME}}{each.score.value:>6.3f}{gap:>{_DIFFERENCE}}"
        f"{_seconds(each.fit_seconds):>7}{_seconds(each.predict_seconds):>8}{memory:>8}"
        f"{_bytes(each.size):>8}"
    )


def _seconds(value: float) -> str:
    return _in_units(value, ((1.0, "s"), (1e-3, "ms")))


def _bytes(value: int) -> str:
    return _in_units(value, ((1e9, "GB"), (1e6, "MB"), (1e3, "kB")))


def _in_units(value: float, units: Sequence[tuple[float, str]]) -> str:
    """Two digits or more, in the largest unit that is not too large, or in the smallest."""
    unit, name = next((each for each in units if value >= each[0]), units[-1])
    return f"{value / unit:.{0 if value >= 10 * unit else 1}f} {name}"


def _called(each: Result) -> str:
    return f"{each.name} ({each.what})"


def _is_better(each: Result) -> bool:
    return each.difference is not None and each.difference[1] > 0 and each.difference[0] > _WORTH


def _is_as_good(each: Result) -> bool:
    return each.difference is not None and each.difference[1] > -_WORTH
