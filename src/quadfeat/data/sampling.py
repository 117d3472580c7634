"""A sample of rows that depends on their values only, not on order, blocks or machines.

Each row has a key, a hash of its values. The sample holds the distinct rows with the smallest keys,
each with the total weight of its copies. So a weight of w and w copies of a row give the same
sample, whatever the order or period of the data. It takes one pass, and samples of parts merge.

For classes the key is that of x alone, so that all labels of one x are drawn together, and each
class keeps its own smallest keys: a rare class is in the sample however many rows there are.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import sparse

from .._typing import Floats
from .blocks import Block

Keys = npt.NDArray[np.uint64]
_ROWS = 20_000  # of a sample
_VALUES = 2**27  # values of a sample, at most
_OF_A_CLASS = 100  # rows of every class in the sample, or all if it has fewer
_SEED = np.uint64(0x9E3779B97F4A7C15)
_SHIFT = np.uint64(32)
_FEW = 10  # at most this many different x, with this mean weight, are a table of counts
_SLACK = 1.25  # the sample is pruned when it exceeds the limit by this factor
_ALL = 2.0**64  # the number of keys


def sample_size(n_columns: int) -> int:
    """The maximum number of sampled rows for this many columns."""
    return min(_ROWS, max(1, _VALUES // max(n_columns, 1)))


# --- keys -----------------------------------------------------------------------------------------
def row_keys(X: Any) -> Keys:
    """A hash of the values of each row, (n,); -0.0, 0.0 and zeros not stored by CSR are equal.

    The hash is a sum over columns, so that a sparse row needs its non-zeros only.
    """
    multipliers = _mixed(np.arange(1, X.shape[1] + 1, dtype=np.uint64)) | np.uint64(1)
    if sparse.issparse(X):
        X = X.tocsr()
        terms = _terms(X.data, multipliers[X.indices])
        total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(terms, dtype=np.uint64)])
        return _mixed(total[X.indptr[1:]] - total[X.indptr[:-1]])
    return _mixed(_terms(X, multipliers).sum(axis=1, dtype=np.uint64))


def _terms(values: Any, multipliers: Keys) -> Keys:
    """The summand of each value in the hash of its row; 0 for a zero."""
    bits = (np.asarray(values, dtype=np.float64) + 0.0).view(np.uint64)  # -0.0 becomes 0.0
    # Low bits of floats are often zero, and a product carries only upward.
    terms = (bits ^ (bits >> _SHIFT)) * multipliers
    terms ^= terms >> _SHIFT
    terms *= _SEED
    terms ^= terms >> _SHIFT
    return np.asarray(terms)


def _mixed(keys: Keys) -> Keys:
    """The last step of SplitMix64 (Steele, Lea and Flood, 2014), which scrambles near keys."""
    keys = keys + _SEED
    keys = (keys ^ (keys >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    keys = (keys ^ (keys >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return keys ^ (keys >> np.uint64(31))


def is_table_of_counts(X: Any, weight: Floats) -> bool:
    """Whether weights count observations of few different x, rather than copies of rows.

    True if every column has few values (at most half as many as there are distinct x) and the mean
    weight of an x is at least 2; or if there are at most 10 distinct x of mean weight at least 10.
    Each observation then carries information, which a copy does not.
    """
    X = X[np.unique(row_keys(X), return_index=True)[1]]
    mean = float(weight.sum()) / len(X)
    if len(X) <= _FEW:
        return mean >= _FEW
    return mean >= 2 and all(2 * len(np.unique(column)) <= len(X) for column in X.T)


def target_keys(y: Any) -> Keys:
    """A hash of the target of each row, (n,): of numbers the value, of others the text."""
    y = np.asarray(y)
    columns = y.reshape(len(y), -1)
    if columns.dtype.kind in "iu":
        near = columns.astype(np.float64)
        # Integers beyond 2^53 also hash their difference to the nearest float.
        left = (columns.astype(np.uint64) - _wrapped(near)).view(np.int64).astype(np.float64)
        return row_keys(np.hstack([near, left]) if left.any() else near)
    if columns.dtype.kind in "fb":
        return row_keys(columns)
    names, codes = np.unique(columns.astype(str), return_inverse=True)
    digests = [hashlib.blake2b(name.encode(), digest_size=8).digest() for name in names.tolist()]
    table = np.frombuffer(b"".join(digests), dtype="<u8").astype(np.uint64)
    codes = codes.reshape(columns.shape)
    odd = np.arange(1, 2 * columns.shape[1], 2, dtype=np.uint64)
    return _mixed((table[codes] * odd).sum(axis=1, dtype=np.uint64))


def _wrapped(near: Floats) -> Keys:
    """Whole floats modulo 2^64."""
    high = np.floor(near / 2.0**32)
    low = near - high * 2.0**32
    return (high.astype(np.int64).astype(np.uint64) << _SHIFT) + low.astype(np.uint64)


# --- the sample -----------------------------------------------------------------------------------
class SampledRows(NamedTuple):
    """Distinct rows in the order of their keys: the rows of a `RowSample`, or part of them.

    `weight` is the total weight of a row's copies. `share` is the chance that a row of its class is
    drawn, relative to that of all rows: 1 except for rare classes. `models.stream.Rows` has the
    features of such rows instead of X.
    """

    keys: Keys
    labels: Keys
    X: Any
    y: Any
    weight: Floats
    share: Floats

    def at(self, rows: Any) -> SampledRows:
        return SampledRows(*(part[rows] for part in self))


class RowSample:
    """Accumulates a sample: the distinct rows with the smallest keys among those added so far.

    `drawn` returns the rows, as `SampledRows`.

    Parameters
    ----------
    limit : int, maximum number of rows
    by_class : bool, whether targets are labels
    """

    def __init__(self, limit: int, *, by_class: bool) -> None:
        self._limit, self._by_class = limit, by_class
        self._parts: list[SampledRows] = []
        self._cut = _ALL  # rows with smaller keys are in the sample
        self._cuts: dict[int, float] = {}  # the same per class; higher for rare classes

    def add(self, block: Block) -> None:
        """Add the rows of a block that have a positive weight."""
        weight = np.ones(len(block)) if block.weight is None else block.weight
        rows = np.flatnonzero(weight > 0)
        if not len(rows):
            return
        X = block.X if len(rows) == len(block) else block.X[rows]
        keys, labels = row_keys(X), np.zeros(len(rows), dtype=np.uint64)
        if self._by_class:
            labels = target_keys(np.asarray(block.y)[rows])
        elif block.y is not None:
            # Mixed once more: a target equal to the only column of x has the same key.
            keys = _mixed(keys ^ _mixed(target_keys(np.asarray(block.y)[rows])))
        # First choose row numbers, then copy only the values of the chosen rows.
        chosen = _merged(SampledRows(keys, labels, rows, rows, weight[rows], np.ones(len(rows))))
        chosen = chosen.at(chosen.keys < self._reach(chosen.labels))
        chosen = chosen.at(self._choose(chosen))
        X = block.X[chosen.X]
        y = np.zeros(len(chosen.X)) if block.y is None else np.asarray(block.y)[chosen.y]
        self._append(chosen._replace(X=X.toarray() if sparse.issparse(X) else X, y=y))

    def _append(self, part: SampledRows) -> None:
        self._parts.append(part)
        if sum(len(rows.keys) for rows in self._parts) > _SLACK * self._limit:
            self._prune()

    def merge(self, other: RowSample) -> None:
        """Add the rows of another sample."""
        self._cut = min(self._cut, other._cut)
        for name, cut in other._cuts.items():
            self._cuts[name] = min(self._cuts.get(name, _ALL), cut)
        for part in other._parts:
            self._append(part)

    def blank(self) -> Callable[[], RowSample]:
        """A function that returns an empty sample with the cuts of this one."""
        return functools.partial(self._like, self._limit, self._by_class, self._cut, self._cuts)

    @classmethod
    def _like(
        cls, limit: int, by_class: bool, cut: float, cuts: dict[int, float], *parts: SampledRows
    ) -> RowSample:
        sample = cls(limit, by_class=by_class)
        sample._cut, sample._cuts, sample._parts = cut, dict(cuts), list(parts)
        return sample

    def limited(self, limit: int) -> RowSample:
        """A sample of the same data with at most `limit` rows."""
        limit = min(limit, self._limit)
        return self._like(limit, self._by_class, self._cut, self._cuts, *self._parts)

    def keys_only(self) -> RowSample:
        """The same sample without the values of its rows: only the keys that determine it."""
        drawn = self.drawn()
        few = drawn._replace(X=np.empty((len(drawn.keys), 0)), y=np.zeros(len(drawn.keys)))
        return self._like(self._limit, self._by_class, self._cut, self._cuts, few)

    def drawn(self) -> SampledRows:
        """The rows of the sample."""
        if not self._parts:
            nothing = np.empty(0, dtype=np.uint64)
            return SampledRows(nothing, nothing, np.empty((0, 0)), None, np.empty(0), np.empty(0))
        self._prune()
        (rows,) = self._parts
        return rows._replace(share=self._reach(rows.labels) / self._cut)

    def state(self) -> dict[str, Any]:
        """Arrays and numbers from which `from_state` restores the sample."""
        drawn = self.drawn()._asdict()
        del drawn["share"]  # follows from the cuts
        of = np.array(sorted(self._cuts), dtype=np.uint64)
        cuts = np.array([self._cuts[name] for name in of.tolist()], dtype=np.float64)
        scalars = {"limit": self._limit, "by_class": self._by_class, "cut": self._cut}
        return {**scalars, "classes": of, "cuts": cuts, **drawn}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> RowSample:
        """The sample with this `state`; uses the arrays without copying."""
        cuts = dict(zip(state["classes"].tolist(), state["cuts"].tolist(), strict=True))
        parts = {name: state[name] for name in ("keys", "labels", "X", "y", "weight")}
        rows = SampledRows(**parts, share=np.ones(len(state["keys"])))
        return cls._like(state["limit"], state["by_class"], state["cut"], cuts, rows)

    def check(self) -> None:
        """Raise a ValueError if a sample from `from_state` has no rows, or incomplete ones."""
        lengths = {len(part) for rows in self._parts for part in rows}
        if len(lengths) != 1 or lengths == {0}:
            raise ValueError("a sample has no rows, or parts of some")

    @property
    def n_columns(self) -> int:
        """Columns of X, 0 before any row was added."""
        return int(self._parts[0].X.shape[1]) if self._parts else 0

    @property
    def complete(self) -> bool:
        """Whether every distinct row is in the sample."""
        return self._cut == _ALL

    @property
    def n_distinct(self) -> float:
        """The number of distinct rows, estimated from the keys if not all are in the sample."""
        below = sum(np.count_nonzero(rows.keys < self._cut) for rows in self._parts)
        return float(below) * _ALL / self._cut

    def _prune(self) -> None:
        parts = self._parts
        firsts = np.cumsum([0, *(len(part.keys) for part in parts)])
        numbered = [
            part._replace(X=np.arange(first, first + len(part.keys)))
            for part, first in zip(parts, firsts, strict=False)
        ]
        rows = _merged(SampledRows(*map(np.concatenate, zip(*numbered, strict=True))))
        rows = rows.at(self._choose(rows))
        if len(parts) > 1 or len(rows.keys) < firsts[-1]:  # else nothing has changed
            X = np.empty(
                (len(rows.keys), parts[0].X.shape[1]), np.result_type(*(p.X for p in parts))
            )
            owner = np.searchsorted(firsts, rows.X, side="right") - 1
            for i, part in enumerate(parts):
                from_part = owner == i
                X[from_part] = part.X[rows.X[from_part] - firsts[i]]
            self._parts = [rows._replace(X=X)]

    def _reach(self, labels: Keys) -> Floats:
        """The key below which rows of these labels are in the sample, (n,)."""
        names, codes = np.unique(labels, return_inverse=True)
        # A new class has no cut yet: all of its rows are in the sample.
        cuts = np.array([self._cuts.get(name, _ALL) for name in names.tolist()])
        return np.maximum(self._cut, cuts[codes])

    def _choose(self, rows: SampledRows) -> Any:
        """Lower the cuts so that these distinct rows fit the limits; which rows stay, (n,) bool."""
        limit = self._limit
        if len(rows.keys) > limit:
            self._cut = min(self._cut, float(rows.keys[limit]))
        names, codes = np.unique(rows.labels, return_inverse=True)
        most = int(np.clip(limit // (2 * max(len(names), 1)), 1, _OF_A_CLASS))
        order = np.argsort(codes, kind="stable")  # within a class still by key
        rank = np.empty(len(codes), dtype=np.intp)
        starts = np.searchsorted(codes[order], np.arange(len(names)))
        rank[order] = np.arange(len(codes)) - starts[codes[order]]
        beyond = rank == most
        for name, key in zip(rows.labels[beyond].tolist(), rows.keys[beyond], strict=True):
            self._cuts[name] = min(self._cuts.get(name, _ALL), float(key))
        return (rows.keys < self._cut) | (rank < most)


def _merged(rows: SampledRows) -> SampledRows:
    """Distinct rows in the order of their keys, with the total weight of their copies."""
    order = np.lexsort((rows.labels, rows.keys))
    keys, labels = rows.keys[order], rows.labels[order]
    new = np.ones(len(order), dtype=bool)
    new[1:] = (keys[1:] != keys[:-1]) | (labels[1:] != labels[:-1])
    first = np.flatnonzero(new)
    weight = np.add.reduceat(rows.weight[order], first) if len(first) else rows.weight
    return rows.at(order[first])._replace(weight=weight)
