"""The kind of a column: number, category, date, free text, id, or useless."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Floats
from .frame import Column, Frame, are_dates, are_numbers
from .tables import is_number
from .wanted import listed

Flags = npt.NDArray[np.bool_]
KINDS = ("number", "category", "date", "text", "drop")
_DISTINCT = 0.95  # above this share of distinct texts a column has no categories
_FEW = 20  # with fewer rows no column is called an id
_WORDS = 3.0  # texts of at least this mean number of words are free text
_REPEATS = 0.5  # if at least this share of values is distinct
_DENSE = 50  # from this many rows on, whole numbers without gaps or repeats count as row numbers
_ID_NAME = re.compile(
    r"^$|^unnamed|(^|[_\s.-])(id|uuid|guid|index|idx|rowid|key)$|^id[_\s.-]", re.I
)
_MOSTLY = 0.5  # if this share of rows has numbers, other text is probably a mistake
_NUMBERS_BUT = "numbers, but text such as"
_GAPS_TELL = 3.0  # standard errors between the targets of gaps and of other rows


@dataclass(frozen=True)
class ColumnReport:
    """The encoding of a column: its kind and the reason, gaps, distinct values, output columns.

    `kind` is "number", "category", "date", "text" or "drop".
    """

    name: str
    kind: str
    why: str
    gaps: int
    distinct: int
    outputs: int

    @property
    def is_id(self) -> bool:
        """Whether the column is left out because it only identifies rows."""
        return self.kind == "drop" and self.why.startswith("an id")

    def __str__(self) -> str:
        kind = "left out" if self.kind == "drop" else self.kind
        parts = [f"{self.name}: {kind}" + f" ({self.why})" * bool(self.why)]
        parts += [f"{self.distinct:,} different values"] * (self.kind in ("category", "text"))
        parts += [f"{self.gaps:,} gaps"] * bool(self.gaps)
        parts += [f"{self.outputs} columns"] * (self.outputs > 1)
        return ", ".join(parts)


def plain_report(table: Frame) -> tuple[ColumnReport, ...]:
    """The report of a table of numbers that is not encoded."""
    counts = {name: len(np.unique(table.column(name).values)) for name in table.names}
    return tuple(ColumnReport(name, "number", "", 0, n, 1) for name, n in counts.items())


def kind_of(name: str, column: Column, n_rows: int) -> tuple[str, str]:
    """The kind of a column, and the reason if it needs one; "drop" for a useless column.

    `n_rows` is the number of rows of the whole table; the column may be a sample of them.
    """
    known = column.values[~column.gaps]
    if len(known) == 0:
        return "drop", "all values are missing"
    distinct = np.unique(known)
    if len(distinct) == 1 and len(known) == len(column.values):
        return "drop", f"constant: every row has {_shown(column, distinct[0])}"
    if column.kind == "date":
        return "date", ""
    if column.kind == "boolean":
        return "number", ""
    if column.kind == "number":
        if is_row_number(name, known, n_rows):
            return "drop", "an id: whole numbers that never repeat"
        return "number", ""
    texts = [column.texts[i] for i in distinct]
    if are_numbers(texts):
        numbers = column.as_number()
        kind, why = kind_of(name, numbers, n_rows)
        return kind, why or "numbers written as text"
    if are_dates(texts):
        return "date", "dates written as text"
    counts = np.bincount(column.values[~column.gaps])[distinct]
    words = float(np.average([text.count(" ") + 1 for text in texts], weights=counts))
    share = len(distinct) / len(known)
    if why := _among_numbers(texts, counts):
        return "category", why
    if share >= _DISTINCT and len(known) >= _FEW:
        spaced = np.mean([" " in text for text in texts])
        if spaced < 0.5:
            return "drop", "an id: text that never repeats"
        return "text", ""
    if words >= _WORDS and share >= _REPEATS and len(known) >= _FEW:
        return "text", ""
    return "category", ""


def _among_numbers(texts: list[str], counts: Any) -> str:
    """The text that makes a column of numbers a category; "" if it does not hold numbers."""
    number = np.array([is_number(text) for text in texts])
    if number.all() or number.sum() < _FEW or counts[number].sum() < _MOSTLY * counts.sum():
        return ""
    most = int(np.argmax(np.where(number, 0, counts)))
    return f"{_NUMBERS_BUT} {texts[most]!r} in {int(counts[most]):,} rows"


def advice(reports: Sequence[ColumnReport]) -> list[str]:
    """A sentence for each column that was probably read wrongly."""
    out = []
    ids = [each.name for each in reports if each.is_id]
    if ids:
        out.append(
            f"{listed(ids)} only identifies rows, and is left out; to use it, give "
            f"columns={{{ids[0]!r}: 'number'}} or 'category' ({_option(ids[0])} of the command)"
        )
    out += [
        f"{each.name!r} has {each.why}, so it is read as a category; for numbers, with gaps in "
        f"these rows, give columns={{{each.name!r}: 'number'}} ({_option(each.name)} of the "
        f"command)"
        for each in reports
        if each.why.startswith(_NUMBERS_BUT)
    ]
    return out


def _option(name: str) -> str:
    return f"--kind {shlex.quote(name)}=number"


def is_row_number(name: str, known: Floats, n_rows: int) -> bool:
    """Whether numbers only identify rows: whole, never repeated, and dense or called an id."""
    if len(known) < _FEW or not (known == np.round(known)).all():
        return False
    if len(np.unique(known)) < len(known):
        return False
    if _ID_NAME.search(name.strip()):
        return True
    return len(known) >= _DENSE and float(np.ptp(known)) < 1.05 * max(n_rows, len(known))


def gaps_tell(gaps: Flags, Y: Floats | None, weight: Floats) -> bool:
    """Whether rows with a gap have different targets, by 3 standard errors.

    For t targets by sqrt(2 log t) more. Without targets, whether at least 1% of rows, and at least
    5, have a gap.
    """
    n = int(gaps.sum())
    if n == 0 or n == len(gaps):
        return False
    if Y is None:
        return n >= max(5, 0.01 * len(gaps))
    if n < 5 or len(gaps) - n < 5:
        return False
    limit = _GAPS_TELL + np.sqrt(2 * np.log(Y.shape[1]))
    for y in Y.T:
        parts = [(y[rows], weight[rows]) for rows in (gaps, ~gaps)]
        means = [np.average(part, weights=w) for part, w in parts]
        variance = float(np.average((y - np.average(y, weights=weight)) ** 2, weights=weight))
        error = np.sqrt(variance * sum(1 / w.sum() for _, w in parts))
        if abs(means[0] - means[1]) > limit * error:
            return True
    return False


def _shown(column: Column, value: object) -> str:
    if column.kind == "text":
        return repr(column.texts[int(value)])  # type: ignore[call-overload]
    return f"{value:g}" if isinstance(value, float) else str(value)
