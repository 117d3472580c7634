"""`Frame`: a table of any library as columns of numbers, dates or texts; the only narwhals user.

pandas, polars and Arrow tables, and arrays, become the same four kinds of columns, so that the
results do not depend on where a table came from. A text is stored as a code into a list of distinct
texts.
"""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from numbers import Real
from typing import Any

import numpy as np
import numpy.typing as npt

from .._checks import check_plain
from .._typing import Floats
from .wanted import listed

# Texts that stand for a missing value.
MISSING = frozenset(
    ["", "?", "NA", "N/A", "n/a", "na", "NaN", "nan", "null", "NULL", "None", "#N/A", "<NA>", "NaT"]
)
_FORMATS = ("%Y/%m/%d", "%d.%m.%Y", "%m/%d/%Y", "%d/%m/%Y", "%d.%m.%Y %H:%M", "%m/%d/%Y %H:%M")
_GAP_KEY = -1.5e300  # for gaps in all columns, because the kind of a block of gaps is not known
_PROBED = 200  # try so many values before converting all texts to numbers or dates


@dataclass(frozen=True, eq=False)
class Column:
    """One column of a table.

    Parameters
    ----------
    kind : "number", "boolean", "date" or "text"
    values : (n,)
        float64 of numbers and booleans, NaN for gaps; datetime64[us] of dates, NaT for gaps;
        int64 codes of texts, -1 for gaps.
    texts : the distinct texts of the codes; empty for other kinds
    """

    kind: str
    values: Any
    texts: tuple[str, ...] = ()

    @property
    def gaps(self) -> npt.NDArray[np.bool_]:
        """Where a value is missing, (n,)."""
        if self.kind == "text":
            return np.asarray(self.values < 0)
        return np.asarray(np.isnat(self.values) if self.kind == "date" else np.isnan(self.values))

    def at(self, rows: Any) -> Column:
        """Some of the rows."""
        return Column(self.kind, self.values[rows], self.texts)

    def compact(self) -> Column:
        """The same values without unused texts."""
        used = np.zeros(len(self.texts) + 1, dtype=bool)  # the last for gaps
        if self.kind == "text":
            used[self.values] = True
        if used[:-1].all():
            return self
        codes = np.append(np.cumsum(used[:-1]) - 1, -1)
        texts = tuple(text for text, kept in zip(self.texts, used.tolist(), strict=False) if kept)
        return Column(self.kind, codes[self.values], texts)

    def as_text(self) -> Column:
        """The same values as texts: whole numbers without a point."""
        if self.kind == "text":
            return self
        known = ~self.gaps
        distinct, codes = np.unique(self.values[known], return_inverse=True)
        values = np.full(len(self.values), -1)
        values[known] = codes
        return Column("text", values, tuple(map(_written, distinct.tolist())))

    def as_number(self) -> Column:
        """The same values as numbers; a text that is not a number becomes a gap."""
        if self.kind == "text":
            return self._mapped("number", np.array([_number(text) for text in self.texts]), np.nan)
        if self.kind == "date":
            days = (self.values - np.datetime64(0, "us")) / np.timedelta64(1, "D")
            return Column("number", days)
        return Column("number", self.values)

    def as_date(self) -> Column:
        """The same values as dates; a text that is not a date becomes a gap."""
        if self.kind == "date":
            return self
        column = self.as_text()
        dates = np.array(parsed_dates(column.texts, strict=False) or [], dtype="datetime64[us]")
        return column._mapped("date", dates, np.datetime64("NaT"))

    def as_hashable(self) -> Floats:
        """Numbers (n,) that are equal where values are equal, in any table."""
        if self.kind != "text":
            return np.nan_to_num(self.as_number().values, nan=_GAP_KEY)
        encoded = [text.encode("utf-8", "replace") for text in self.texts]
        digests = [hashlib.blake2b(each, digest_size=6).digest() for each in encoded]
        table = [float(int.from_bytes(each, "little")) for each in digests]
        return np.array([*table, _GAP_KEY])[self.values]

    def _mapped(self, kind: str, table: Any, gap: Any) -> Column:
        """The entries of `table` for the codes."""
        return Column(kind, np.append(table, gap)[self.values])  # -1 is the last: the gap


@dataclass(frozen=True, eq=False)
class Frame:
    """A table: names of columns and their values, converted on first use."""

    names: tuple[str, ...]
    n_rows: int
    _native: Any  # a narwhals DataFrame, an array, or columns by name

    @classmethod
    def of(cls, columns: dict[str, Column]) -> Frame:
        """The table of these columns."""
        n_rows = len(next(iter(columns.values())).values) if columns else 0
        return cls(tuple(columns), n_rows, columns)

    def column(self, name: str) -> Column:
        """The column of this name."""
        if isinstance(self._native, dict):
            return self._native[name]
        if isinstance(self._native, np.ndarray):
            return _of_array(name, self._native[:, self.names.index(name)])
        return _of_array(name, self._native[name].to_numpy())

    def select(self, names: Sequence[str]) -> Frame:
        """The columns of these names; a ValueError if one is missing."""
        for name in names:
            if name not in self.names:
                raise ValueError(f"X has no column {name!r}; it has {listed(self.names)}")
        return Frame.of({name: self.column(name) for name in names})

    def at(self, rows: Any) -> Frame:
        """Some of the rows, by their numbers."""
        if isinstance(self._native, dict):
            return Frame.of({name: column.at(rows) for name, column in self._native.items()})
        return Frame(self.names, len(rows), self._native[rows])

    def is_numeric(self) -> bool:
        """Whether all columns are numbers or booleans without gaps, so need no encoder."""
        for name in self.names:
            column = self.column(name)
            if column.kind not in ("number", "boolean") or column.gaps.any():
                return False
        return True

    def numbers(self) -> Floats:
        """All columns as numbers, (n, d)."""
        return np.column_stack([self.column(name).as_number().values for name in self.names])


def concatenated(parts: Sequence[Column]) -> Column:
    """Columns of several tables as one; as texts, if some are texts and others are not."""
    kinds = {part.kind for part in parts}
    if kinds <= {"number", "boolean"} or kinds == {"date"}:
        kind = parts[0].kind if len(kinds) == 1 else "number"
        return Column(kind, np.concatenate([part.values for part in parts]))
    parts = [part.as_text() for part in parts]
    texts = sorted({text for part in parts for text in part.texts})
    place = {text: i for i, text in enumerate(texts)}
    tables = [np.array([place[text] for text in part.texts] + [-1]) for part in parts]
    codes = [table[part.values] for table, part in zip(tables, parts, strict=True)]
    return Column("text", np.concatenate(codes), tuple(texts))


def is_table(X: Any) -> bool:
    """Whether X is a DataFrame or an Arrow table; a TypeError for a lazy one."""
    if isinstance(X, Frame):
        return True
    if hasattr(X, "collect_schema"):  # of polars
        check_plain("X", X, dates=True)
        return True
    return hasattr(X, "columns") and (hasattr(X, "dtypes") or hasattr(X, "schema"))


def frame(X: Any) -> Frame:
    """A table of any library as a `Frame`; a ValueError or TypeError says what to give instead."""
    if isinstance(X, Frame):
        return X
    check_plain("X", X, dates=True)
    if is_table(X):
        return _of_table(X)
    array = np.asarray(X)
    if array.ndim != 2:
        raise ValueError(
            f"X must have two dimensions (rows, columns), got shape {array.shape}; a DataFrame "
            f"such as pandas.DataFrame({{'a': [1, 2]}}) has them. Reshape your data, for example "
            f"by X.reshape(-1, 1)"
        )
    return Frame(tuple(f"x{i}" for i in range(array.shape[1])), array.shape[0], array)


def _of_table(X: Any) -> Frame:
    import narwhals.stable.v1 as nw

    names = [str(name) for name in getattr(X, "column_names", X.columns)]
    for name in names:
        if names.count(name) > 1:
            raise ValueError(f"X has two columns {name!r}; give them different names")
    if hasattr(X, "iloc"):  # pandas allows names that are not text
        if X.columns.nlevels > 1:
            raise ValueError("X has several levels of column names; join them into one name each")
        X = X.set_axis(names, axis=1)
    try:
        native = nw.from_native(X, eager_only=True)
    except TypeError:
        raise TypeError(
            f"X is a {type(X).__module__}.{type(X).__name__}, which is not a known kind of table; "
            f"give a pandas or polars DataFrame, an Arrow table, or an array"
        ) from None
    return Frame(tuple(names), len(native), native)


def _of_array(name: str, values: Any) -> Column:
    """One column of NumPy values of any dtype."""
    check_plain(f"column {name!r}", values, dates=True)
    kind = values.dtype.kind
    if kind == "m":
        return _numbers(name, np.where(np.isnat(values), np.nan, values / np.timedelta64(1, "s")))
    if kind == "M":
        return Column("date", values.astype("datetime64[us]"))
    if kind == "b":
        return Column("boolean", values.astype(np.float64))
    if kind in "iuf":
        return _numbers(name, np.asarray(values, dtype=np.float64))
    if kind in "UST":
        return _texts([str(value) for value in values.tolist()])
    return _of_objects(name, values)


def _numbers(name: str, values: Floats) -> Column:
    if np.isinf(values).any():
        row = int(np.flatnonzero(np.isinf(values))[0])
        raise ValueError(
            f"column {name!r} has an infinite value in row {row} (infinity in X); replace it by a "
            f"number, or by NaN, which is a gap"
        )
    return Column("number", values)


def _of_objects(name: str, values: Any) -> Column:
    items = values.tolist()
    types = set(map(type, items))
    if str in types and types <= {str, type(None)}:  # most tables, and quick to check
        return _texts(items)
    kinds = {_kind(name, item) for item in items} - {"gap"}
    if kinds <= {"boolean"}:
        return Column("boolean", np.array([np.nan if _gap(v) else float(v) for v in items]))
    if kinds <= {"number", "boolean"}:
        try:
            return _numbers(name, np.array([np.nan if _gap(v) else float(v) for v in items]))
        except OverflowError:
            raise ValueError(
                f"column {name!r} has whole numbers beyond 1e308, the largest there are; divide "
                f"them, or give them as text"
            ) from None
    if kinds == {"date"}:
        dates = [np.datetime64("NaT") if _gap(v) else _date(v) for v in items]
        return Column("date", np.array(dates, dtype="datetime64[us]"))
    return _texts([None if _gap(v) else v if isinstance(v, str) else _written(v) for v in items])


def _gap(value: Any) -> bool:
    # The NA of pandas cannot be compared with anything.
    return (
        value is None
        or type(value).__name__ in ("NAType", "NaTType")
        or value is not value
        or (isinstance(value, float) and value != value)
    )


def _kind(name: str, value: Any) -> str:
    if _gap(value):
        return "gap"
    if isinstance(value, bool | np.bool_):
        return "boolean"
    if isinstance(value, Real | Decimal):
        return "number"
    if isinstance(value, str):
        return "text"
    if isinstance(value, datetime.date | np.datetime64):
        return "date"
    if isinstance(value, complex):
        check_plain(f"column {name!r}", np.array([value]))
    raise TypeError(
        f"column {name!r} holds {value!r}, a {type(value).__name__}, and a column holds numbers, "
        f"text, dates or booleans; the argument must be a string or a number: split it into "
        f"columns, or leave it out"
    )


def _date(value: Any) -> Any:
    zone = getattr(value, "tzinfo", None)
    if zone is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    return np.datetime64(value)


def _texts(items: Sequence[str | None]) -> Column:
    """Distinct texts and codes; spaces around a text and signs of missing values do not count."""
    codes: dict[str | None, int] = {None: -1}
    texts: dict[str, int] = {}
    for item in set(items) - {None}:
        assert item is not None
        text = item.strip()
        codes[item] = -1 if text in MISSING else texts.setdefault(text, len(texts))
    # In order, so that equal tables give equal encoders.
    order = {text: i for i, text in enumerate(sorted(texts))}
    rank = np.array([order[text] for text in texts] + [-1])
    return Column("text", rank[[codes[item] for item in items]].astype(np.int64), tuple(order))


def _written(value: Any) -> str:
    if isinstance(value, float) and value.is_integer() and abs(value) < 2**53:
        return str(int(value))
    return str(value)


def _number(text: str) -> float:
    """A text as a number, also with a decimal comma; NaN if it is not a number."""
    try:
        value = float(text)
    except ValueError:
        if text.count(",") != 1 or "." in text:
            return np.nan
        try:
            value = float(text.replace(",", "."))
        except ValueError:
            return np.nan
    return value if np.isfinite(value) else np.nan


def are_numbers(texts: Sequence[str]) -> bool:
    """Whether all texts are numbers; those with a leading zero, such as 01234, are codes."""
    for some in _probed(texts):
        if any(text[:1] == "0" and text[1:2].isdigit() for text in some):
            return False
        if not np.isfinite([_number(text) for text in some]).all():
            return False
    return len(texts) > 0


def are_dates(texts: Sequence[str]) -> bool:
    """Whether all texts are dates in one format."""
    return len(texts) > 0 and all(
        parsed_dates(some, strict=True) is not None for some in _probed(texts)
    )


def _probed(texts: Sequence[str]) -> Iterable[Sequence[str]]:
    yield texts[:_PROBED]
    yield texts


def parsed_dates(texts: Sequence[str], *, strict: bool) -> list[Any] | None:
    """Texts as datetime64[us], in the format that fits most of them.

    None if `strict` and no format fits all; otherwise NaT where the format does not fit.
    """
    best: list[Any] | None = None
    fewest = len(texts) + 1
    for form in (None, *_FORMATS):
        dates = [_parsed(text, form) for text in texts]
        failed = sum(date is None for date in dates)
        if failed < fewest:
            best, fewest = dates, failed
        if not failed:
            break
    if best is None or (strict and fewest):
        return None
    return [np.datetime64("NaT") if date is None else _date(date) for date in best]


def _parsed(text: str, form: str | None) -> datetime.datetime | None:
    try:
        if form is not None:
            return datetime.datetime.strptime(text, form)
        # Python also reads "20200101" as a date; few people do.
        return None if text.isdigit() else datetime.datetime.fromisoformat(text)
    except ValueError:
        return None
