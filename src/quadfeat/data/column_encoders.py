"""Encoders of one column for `TableEncoder`: numbers, categories, target means, dates, texts.

Each encoder is a frozen record of what it learned from the training rows. `encode` turns a column
into an array (n, k) of finite numbers, scaled about like a standard normal variable, and `unseen`
counts values that training rows did not have. The learning is in the functions `of`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse
from scipy.sparse.linalg import svds

from .._checks import require
from .._typing import Floats
from .frame import Column

_LINEAR = 3.0  # spreads from the centre up to which numbers are only scaled; then logarithms
_NORMAL = {0.25: 1.349, 0.05: 3.290, 0.01: 4.653}  # ranges of quantiles of a normal variable
_GRAMS = (3, 4)  # lengths of character n-grams
_BUCKETS = 1024  # buckets of the hash of n-grams
_HASHED_TEXTS = 4096  # texts at a time: their n-grams take some hundred times the memory
_SVD_TEXTS = 5000  # most texts to learn directions from
_DAY = np.timedelta64(1, "D")
_CYCLES = ("year", "week", "day")


def compressed(z: Floats) -> Floats:
    """z up to 3 in absolute value, 3 (1 + log(|z| / 3)) with its sign beyond: smooth, increasing.

    A value 100 spreads away is then 13 away: far, but not so far that it dominates the kernel.

    >>> compressed(np.array([-1.0, 3.0, 300.0])).round(1)
    array([-1. ,  3. , 16.8])
    """
    far = np.maximum(np.abs(z) / _LINEAR, 1.0)
    return np.where(far > 1, np.sign(z) * _LINEAR * (1 + np.log(far)), z)  # also of symbols: export


def expanded(z: Floats) -> Floats:
    """The inverse of `compressed`.

    >>> expanded(compressed(np.array([-1.0, 3.0, 300.0]))).round(9)
    array([ -1.,   3., 300.])
    """
    beyond = np.maximum(np.abs(z) / _LINEAR - 1.0, 0.0)
    return np.asarray(np.where(beyond > 0, np.sign(z) * _LINEAR * np.exp(beyond), z))


def centre_and_spread(x: Floats, weight: Floats) -> tuple[float, float]:
    """The median, and the spread of the middle half, or of more rows if that has no spread.

    In units where a normal variable has spread 1. Weights count as copies.
    """
    centre = float(np.quantile(x, 0.5, weights=weight, method="inverted_cdf"))
    for tail, unit in _NORMAL.items():
        ends = np.quantile(x, [tail, 1 - tail], weights=weight, method="inverted_cdf")
        spread = float(ends[1] / unit - ends[0] / unit)
        if spread > 0:
            return centre, spread
    mean = np.average(x, weights=weight)
    spread = float(np.sqrt(np.average((x - mean) ** 2, weights=weight)))
    return centre, spread if spread > 0 else 1.0


@dataclass(frozen=True, eq=False)
class NumberEncoder:
    """(x - centre) / spread, tails compressed; gaps become 0, which is the median.

    If `indicator`, a second column is 1 where there is a gap.
    """

    centre: float
    spread: float
    indicator: bool
    had_gaps: bool

    @classmethod
    def of(cls, column: Column, weight: Floats, indicator: bool) -> NumberEncoder:
        """Learn from a column with at least one value."""
        gaps = column.gaps
        centre, spread = centre_and_spread(column.values[~gaps], weight[~gaps])
        return cls(centre, spread, indicator, bool(gaps.any()))

    def read(self, column: Column) -> Column:
        """The column as this encoder takes it."""
        return column.as_number()

    def names(self, name: str) -> list[str]:
        """Names of the columns that come out."""
        return [name, f"{name} is missing"] if self.indicator else [name]

    def encode(self, column: Column) -> Floats:
        """(n, 1), or (n, 2) with the indicator."""
        gaps = column.gaps
        with np.errstate(over="ignore"):
            z = (column.values - self.centre) / self.spread
        z = compressed(np.where(gaps, 0.0, np.clip(z, -1e300, 1e300)))
        return np.column_stack([z, gaps]) if self.indicator else z[:, None]

    def unseen(self, column: Column) -> int:
        """How many gaps there are, if training rows had none."""
        return 0 if self.had_gaps else int(column.gaps.sum())

    def check(self) -> None:
        """Raise a ValueError if a loaded encoder is not usable."""
        require(self.spread > 0, "a spread is not positive")


@dataclass(frozen=True, eq=False)
class OneHotEncoder:
    """One column per category, 1 where a row has it; of two categories only the second.

    A gap is a category if training rows had gaps. An unseen category has only zeros.
    """

    values: Any  # (k,) texts, sorted
    had_gaps: bool

    @classmethod
    def of(cls, column: Column) -> OneHotEncoder:
        """Learn the categories of a column of texts."""
        used = np.unique(column.values[~column.gaps])
        return cls(_as_texts(column.texts[i] for i in used), bool(column.gaps.any()))

    @property
    def _single(self) -> bool:
        return len(self.values) == 2 and not self.had_gaps

    def read(self, column: Column) -> Column:
        """The column as this encoder takes it."""
        return column.as_text()

    def names(self, name: str) -> list[str]:
        """Names of the columns that come out."""
        every = [f"{name}={value}" for value in self.values]
        return every[1:] if self._single else every + [f"{name} is missing"] * self.had_gaps

    def encode(self, column: Column) -> Floats:
        """(n, k), with one more column if there were gaps."""
        codes = codes_of(column, self.values)
        columns = np.arange(len(self.values) + self.had_gaps)
        one = (codes[:, None] == columns).astype(np.float64)
        if self._single:
            one = one[:, 1:]
            one[codes >= 2] = 0.5  # neither of the two
        return one

    def unseen(self, column: Column) -> int:
        """How many rows have another category, or a gap where training rows had none."""
        codes = codes_of(column, self.values)
        return int((codes >= len(self.values) + self.had_gaps).sum())

    def check(self) -> None:
        """Raise a ValueError if a loaded encoder is not usable."""
        require(sorted(set(self.values)) == list(self.values), "categories are not sorted")


def codes_of(column: Column, values: Any) -> Any:
    """The position of each row's text in `values` (n,); k for a gap, k + 1 if it is unknown."""
    place = {text: i for i, text in enumerate(values)}
    k = len(place)
    table = np.array([place.get(text, k + 1) for text in column.texts] + [k])
    return table[column.values]


def _as_texts(values: Any) -> Any:
    return np.array(list(values), dtype=object)


@dataclass(frozen=True, eq=False)
class TargetMeanEncoder:
    """The mean target of each category, shrunk towards the mean of all rows.

    (n_c mean_c + lambda mean) / (n_c + lambda), where lambda is the variance within categories over
    the variance between them, estimated by moments (Snijders and Bosker, 1999). Gaps are a separate
    category; an unseen category has the mean of all. Training rows get the means of the other folds
    (`fold_means`), so that a row's target does not leak into its features.

    Parameters
    ----------
    values : (k,) texts, sorted
    means : (k + 2, t), of the categories, of gaps and of all
    fold_means : (folds, k + 2, t), of all rows except those of the fold
    labels : names of the t targets, "" for a single one
    had_gaps : bool
    """

    values: Any
    means: Floats
    fold_means: Floats
    labels: tuple[str, ...]
    had_gaps: bool

    @classmethod
    def of(
        cls, column: Column, Y: Floats, labels: tuple[str, ...], weight: Floats, folds: Any
    ) -> TargetMeanEncoder | None:
        """Learn from targets Y (n, t); None if categories do not predict them."""
        used = np.unique(column.values[~column.gaps])
        values = _as_texts(column.texts[i] for i in used)
        codes = codes_of(column, values)
        k = len(values)
        means = _shrunk(codes, Y, weight, k)
        if not np.ptp(means, axis=0).any():
            return None
        out = []
        for fold in range(int(folds.max()) + 1):
            others = folds != fold
            out.append(_shrunk(codes[others], Y[others], weight[others], k))
        # In units in which training rows have mean 0 and variance 1.
        total = np.bincount(codes, weight, minlength=k + 2)[:, None]
        centre = (total * means).sum(axis=0) / total.sum()
        spread = np.sqrt((total * (means - centre) ** 2).sum(axis=0) / total.sum())
        spread = np.where(spread > 0, spread, 1.0)
        scaled = [(each - centre) / spread for each in (means, *out)]
        return cls(values, scaled[0], np.array(scaled[1:]), labels, bool(column.gaps.any()))

    def read(self, column: Column) -> Column:
        """The column as this encoder takes it."""
        return column.as_text()

    def names(self, name: str) -> list[str]:
        """Names of the columns that come out."""
        return [f"mean target of {name}" + f" ({label})" * bool(label) for label in self.labels]

    def encode(self, column: Column) -> Floats:
        """(n, t)."""
        return np.asarray(self.means[codes_of(column, self.values)])

    def encode_training(self, column: Column, folds: Any) -> Floats:
        """(n, t) of rows that the means were learned from, by the means of the other folds."""
        return np.asarray(self.fold_means[folds, codes_of(column, self.values)])

    def unseen(self, column: Column) -> int:
        """How many rows have another category, or a gap where training rows had none."""
        codes = codes_of(column, self.values)
        return int((codes >= len(self.values) + self.had_gaps).sum())

    def check(self) -> None:
        """Raise a ValueError if a loaded encoder is not usable."""
        k, t = len(self.values), len(self.labels)
        require(self.means.shape == (k + 2, t), "means are not one per category")
        require(self.fold_means.shape[1:] == (k + 2, t), "means of folds are not one per category")


def _shrunk(codes: Any, Y: Floats, weight: Floats, k: int) -> Floats:
    """Shrunk means (k + 2, t) of the targets of each code."""
    n = np.bincount(codes, weight, minlength=k + 2)
    total = n.sum()
    if total == 0:
        return np.zeros((k + 2, Y.shape[1]))
    out = np.empty((k + 2, Y.shape[1]))
    present = n > 0
    for j, y in enumerate(Y.T):
        mean = float(np.average(y, weights=weight))
        sums = np.bincount(codes, weight * y, minlength=k + 2)
        means = np.divide(sums, n, out=np.full(k + 2, mean), where=present)
        within = float(weight @ (y - means[codes]) ** 2)
        free = max(total - present.sum(), 1.0)
        variance = within / free
        balance = total - float(n @ n) / total
        between = float(n @ (means - mean) ** 2) - (present.sum() - 1) * variance
        between = between / balance if balance > 0 else 0.0
        if between <= 0 or (variance == 0 and within == 0 and between == 0):
            out[:, j] = mean
        else:
            out[:, j] = mean + (means - mean) * n / (n + variance / between)
    return out


@dataclass(frozen=True, eq=False)
class DateEncoder:
    """Time since the median date, and cosine and sine of the time of year, week and day.

    Only cycles in which training rows differ are used.
    """

    centre: float  # days since 1970
    spread: float
    cycles: tuple[str, ...]
    indicator: bool
    had_gaps: bool

    @classmethod
    def of(cls, column: Column, weight: Floats, indicator: bool) -> DateEncoder:
        """Learn from a column with at least one date."""
        gaps = column.gaps
        days = column.as_number().values[~gaps]
        centre, spread = centre_and_spread(days, weight[~gaps])
        moves = {name: np.ptp(angle) > 0 for name, angle in _angles(column.values[~gaps]).items()}
        cycles = tuple(name for name in _CYCLES if moves[name])
        if np.ptp(days) < 60:  # then the time of year is the same as the time
            cycles = tuple(name for name in cycles if name != "year")
        return cls(centre, spread, cycles, indicator, bool(gaps.any()))

    def read(self, column: Column) -> Column:
        """The column as this encoder takes it."""
        return column.as_date()

    def names(self, name: str) -> list[str]:
        """Names of the columns that come out."""
        parts = [f"{name} {f} of {cycle}" for cycle in self.cycles for f in ("cosine", "sine")]
        return [name, *parts] + [f"{name} is missing"] * self.indicator

    def encode(self, column: Column) -> Floats:
        """(n, 1 + 2 cycles), with one more column for the indicator."""
        gaps = column.gaps
        days = np.where(gaps, self.centre, column.as_number().values)
        parts = [compressed((days - self.centre) / self.spread)]
        angles = _angles(np.where(gaps, np.datetime64(0, "us"), column.values))
        for cycle in self.cycles:
            for function in (np.cos, np.sin):
                parts.append(np.where(gaps, 0.0, np.sqrt(2.0) * function(angles[cycle])))
        return np.column_stack([*parts, gaps] if self.indicator else parts)

    def unseen(self, column: Column) -> int:
        """How many gaps there are, if training rows had none."""
        return 0 if self.had_gaps else int(column.gaps.sum())

    def check(self) -> None:
        """Raise a ValueError if a loaded encoder is not usable."""
        require(self.spread > 0, "a spread is not positive")
        require(set(self.cycles) <= set(_CYCLES), "a cycle is unknown")


def _angles(dates: Any) -> dict[str, Floats]:
    """The angle of each date in the cycles of the year, the week and the day."""
    day = dates.astype("datetime64[D]")
    year = dates.astype("datetime64[Y]").astype("datetime64[D]")
    of_day = (dates - day) / _DAY
    of_year = ((day - year) / _DAY + of_day) / 365.2425
    of_week = ((day - np.datetime64("1970-01-05")) / _DAY % 7) / 7  # whole days, from Monday
    turns = {"year": of_year, "week": of_week, "day": of_day}
    return {name: 2 * np.pi * np.asarray(part, dtype=np.float64) for name, part in turns.items()}


@dataclass(frozen=True, eq=False)
class TextEncoder:
    """Counts of hashed character n-grams, projected on the leading directions of training texts.

    Counts c become log(1 + c), weighted by log(n / n_texts) of the bucket and scaled to norm 1;
    then they are projected on the leading singular vectors (latent semantic analysis; Deerwester et
    al., 1990).
    """

    importance: Floats  # (buckets,)
    directions: Floats  # (buckets, r)
    had_gaps: bool

    @classmethod
    def of(cls, column: Column, n_columns: int) -> TextEncoder:
        """Learn from a column of texts; at most 5000 of them determine the directions."""
        used = np.unique(column.values[~column.gaps])
        chosen = np.random.default_rng(0).permutation(used)[:_SVD_TEXTS]
        counts = _hashed([column.texts[i] for i in np.sort(chosen)])
        present = np.bincount(counts.indices, minlength=_BUCKETS)
        importance = np.log((1 + len(chosen)) / (1 + present)) * (present > 0)
        if not importance.any():
            importance = np.ones(_BUCKETS)
        weighted = _weighted(counts, importance)
        r = min(n_columns, *(size - 1 for size in weighted.shape))
        if r > 0:
            start = np.ones(min(weighted.shape))
            right = svds(weighted, k=r, v0=start, return_singular_vectors="vh")[2][::-1]
        else:  # one text, which is its own direction
            right = weighted.toarray()
        right *= np.sign(right.sum(axis=1, keepdims=True)) + (right.sum(axis=1) == 0)[:, None]
        spread = np.sqrt(np.square(weighted @ right.T).mean(axis=0).sum()) or 1.0
        scale = np.sqrt(2.0) / spread  # as far apart as two categories of one-hot columns
        return cls(importance, np.ascontiguousarray(right.T) * scale, bool(column.gaps.any()))

    def read(self, column: Column) -> Column:
        """The column as this encoder takes it."""
        return column.as_text()

    def names(self, name: str) -> list[str]:
        """Names of the columns that come out."""
        return [f"{name} text {i}" for i in range(self.directions.shape[1])]

    def encode(self, column: Column) -> Floats:
        """(n, r); zeros for a gap."""
        texts = column.texts
        table = np.zeros((len(texts) + 1, self.directions.shape[1]))  # the last row is for gaps
        for first in range(0, len(texts), _HASHED_TEXTS):
            some = texts[first : first + _HASHED_TEXTS]
            rows = _weighted(_hashed(some), self.importance) @ self.directions
            table[first : first + len(some)] = rows
        return np.asarray(table[column.values])

    def unseen(self, column: Column) -> int:
        """The number of gaps, if training rows had none; every other text can be encoded."""
        return 0 if self.had_gaps else int(column.gaps.sum())

    def check(self) -> None:
        """Raise a ValueError if a loaded encoder is not usable."""
        require(self.importance.shape == (_BUCKETS,), "buckets of n-grams are missing")
        require(len(self.directions) == _BUCKETS, "directions are not those of the buckets")


def _weighted(counts: Any, importance: Floats) -> Any:
    weighted = counts.astype(np.float64)
    np.log1p(weighted.data, out=weighted.data)
    weighted = weighted.multiply(importance).tocsr()
    norms = np.sqrt(np.asarray(weighted.multiply(weighted).sum(axis=1))).ravel()
    return sparse.diags_array(1 / np.where(norms > 0, norms, 1.0)) @ weighted


def _hashed(texts: Any) -> Any:
    """How often each text has an n-gram of each bucket, CSR (n, 1024).

    n-grams of bytes, of the text in lower case with a space at both ends. All texts at once: a
    polynomial in the bytes, scrambled by the last step of SplitMix64.
    """
    encoded = [b" " + text.lower().encode("utf-8", "replace") + b" " for text in texts]
    ends = np.cumsum([0, *map(len, encoded)])
    joined = np.frombuffer(b"".join(encoded), dtype=np.uint8).astype(np.uint64)
    rows, buckets = [], []
    for length in _GRAMS:
        n = len(joined) - length + 1
        if n <= 0:
            continue
        keys = np.zeros(n, dtype=np.uint64)
        for i in range(length):
            keys = keys * np.uint64(257) + joined[i : i + n]
        keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        row = np.searchsorted(ends, np.arange(n), side="right") - 1
        inside = np.arange(n) + length <= ends[row + 1]
        rows.append(row[inside])
        buckets.append(((keys ^ (keys >> np.uint64(31))) % np.uint64(_BUCKETS))[inside])
    where = (np.concatenate(rows), np.concatenate(buckets).astype(np.int64))
    ones = np.ones(len(where[0]))
    return sparse.coo_array((ones, where), shape=(len(encoded), _BUCKETS)).tocsr()


ColumnEncoder = NumberEncoder | OneHotEncoder | TargetMeanEncoder | DateEncoder | TextEncoder
