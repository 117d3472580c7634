"""A table of tried values and their scores; penalties to try, and the best of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._display.html import card, folded, note, table
from .._typing import Floats

_TIE = 1e-3  # scores that differ by less count as equal


@dataclass(frozen=True)
class Tried:
    """One value of a parameter and its score.

    Attributes
    ----------
    parameter : str
    value : float, or str if the parameter is not a number
    score : float, lower is better; NaN if the value was taken without a comparison
    judge : str, the meaning of the score
    chosen : bool, whether this value was chosen
    edge : bool, whether this is the smallest or largest value of a grid
    """

    parameter: str
    value: float | str
    score: float
    judge: str
    chosen: bool = False
    edge: bool = False


class Tuning(list[Tried]):
    """A list of `Tried` that prints as a table.

    >>> Tuning([Tried("alpha", 0.1, 0.5, "leave-one-out"),
    ...         Tried("alpha", 1.0, 0.25, "leave-one-out", chosen=True, edge=True)])
    parameter  value  score                      score is
    alpha        0.1    0.5                      leave-one-out
    alpha          1   0.25  chosen, at an edge  leave-one-out
    """

    def _cells(self) -> Iterator[tuple[str, ...]]:
        yield "parameter", "value", "score", "", "score is"
        for tried in self:
            value = tried.value if isinstance(tried.value, str) else f"{tried.value:.4g}"
            score = "-" if np.isnan(tried.score) else f"{tried.score:.5g}"
            mark = ("chosen, at an edge" if tried.edge else "chosen") if tried.chosen else ""
            yield tried.parameter, value, score, mark, tried.judge

    def __repr__(self) -> str:
        if not self:
            return "nothing was tried: every parameter was given"
        rows = list(self._cells())
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        return "\n".join(
            "  ".join(
                cell.rjust(width) if i in (1, 2) else cell.ljust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    def _repr_html_(self) -> str:
        if not self:
            return card("Tuning", note(repr(self)))
        head, *rows = self._cells()
        chosen = [i for i, tried in enumerate(self) if tried.chosen]
        every = table(head, rows, numbers=(1, 2), chosen=chosen)
        if len(rows) <= len(chosen) + 2:
            return card("Tuning", every)
        short = table(head, [rows[i] for i in chosen], numbers=(1, 2))
        rest = folded(f"all {len(rows)} that were tried", every)
        return card("Tuning: what was chosen", short, rest)


def with_rows(tuning: Iterable[Tried], parameter: str, rows: Iterable[Tried]) -> Tuning:
    """The table with these rows at its end; they replace all earlier rows of the parameter."""
    return Tuning([*(tried for tried in tuning if tried.parameter != parameter), *rows])


def marked(
    rows: Iterable[Tried], chosen: Tried, ends: tuple[float, float] | None = None
) -> list[Tried]:
    """The rows, with `chosen` set in one of them and `edge` in those at the ends of a grid."""
    return [
        replace(tried, chosen=tried is chosen, edge=ends is not None and tried.value in ends)
        for tried in rows
    ]


def penalties(scale: float, dtype: Any) -> Floats:
    """Alphas in steps of half a decade, from the trace of the gram down to its rounding error.

    The rounding error of float32 products is about 3e-9 of the trace (an estimate).
    """
    lowest = -8.0 if np.dtype(dtype) == np.float32 else -12.0
    return np.asarray(scale * 10.0 ** np.arange(lowest, 0.25, 0.5))


def best(
    alphas: Floats,
    scores: Floats,
    judge: str,
    ends: tuple[float, float] | None = None,
    tie: float = _TIE,
) -> tuple[float, list[Tried]]:
    """The largest alpha whose score is within a share `tie` of the lowest, and all tried.

    Scores of the smallest alphas often differ only by rounding, which must not decide. `ends` are
    the ends of the grid, by default the smallest and largest of `alphas`.
    """
    if not np.isfinite(scores).any():
        raise ValueError(
            f"no alpha can be scored: the largest, {alphas.max():g}, is too small for the rounding "
            f"of the sums; give a larger alpha"
        )
    tried = [
        Tried("alpha", float(alpha), float(score), judge)
        for alpha, score in zip(alphas, scores, strict=True)
    ]
    alpha = float(alphas[scores <= (1 + tie) * scores.min()].max())
    chosen = next(trial for trial in tried if trial.value == alpha)
    return alpha, marked(tried, chosen, ends or (float(alphas.min()), float(alphas.max())))
