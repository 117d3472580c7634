"""`Wanted`, the request to a reader; `BatchReader` and `Batch`, its results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

CHUNK = 1 << 22  # bytes of a text file that are parsed at a time


class Batch(NamedTuple):
    """Rows from a reader, any number and unchecked: X (n, d), targets y, weights or None.

    A `Block` has the same parts, checked, in float32 or float64, and as long as its neighbours.
    """

    X: Any
    y: Any = None
    weight: Any = None


@dataclass(frozen=True)
class BatchReader:
    """An open file: batches from any row on, any number of times."""

    n_rows: int | None
    names: tuple[str, ...] | None
    read: Callable[[int], Iterator[Batch]]
    first_index: int | None = None  # the first index of an svmlight file, 0 or 1


@dataclass(frozen=True)
class Wanted:
    """The columns to read: the target, the weight and those of X, all optional."""

    target: Any = None
    weight: Any = None
    columns: Sequence[str] | int | None = None
    first_index: int | None = None

    def width(self) -> int | None:
        """The number of columns X must have, or None."""
        known = self.columns is None or isinstance(self.columns, int)
        return self.columns if known else len(self.columns)  # type: ignore[arg-type,return-value]

    def targets(self) -> list[str]:
        if self.target is None:
            return []
        return [self.target] if isinstance(self.target, str) else list(self.target)

    def named(self) -> set[str]:
        """All column names that were given."""
        columns = () if self.columns is None or isinstance(self.columns, int) else self.columns
        return {*self.targets(), *weight_columns(self), *columns}

    def choose(self, path: Path, names: Sequence[str]) -> list[str]:
        """The columns of X, from the names in the file; a ValueError for names it does not have."""
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise ValueError(f"{path} has two columns {twice!r}; give them different names")
        asked = [*self.targets(), *([] if self.weight is None else [self.weight])]
        if not (self.columns is None or isinstance(self.columns, int)):
            asked += list(self.columns)
        for name in asked:
            if name not in names:
                raise ValueError(f"{path} has no column {name!r}; its columns are {listed(names)}")
        if self.columns is None or isinstance(self.columns, int):
            others = {*self.targets(), self.weight}
            return [name for name in names if name not in others]
        return list(self.columns)


def weight_columns(wanted: Wanted) -> list[str]:
    return [] if wanted.weight is None else [wanted.weight]


def listed(names: Sequence[str]) -> str:
    """Names for a message, at most 20 of them."""
    shown = ", ".join(map(repr, names[:20]))
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"
