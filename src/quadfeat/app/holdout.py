"""The choice of held-out rows: a fifth at random, whole groups, the last in time, or a file."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..data.sampling import row_keys
from .rows import RowBlock, RowStream, open_rows

_SHARE = 0.2
_MOST = 50_000  # most rows held out at random


@dataclass(frozen=True, eq=False)
class HoldOut:
    """Functions that read the training rows and the held-out rows, and how they were split.

    `outside`: the held-out rows come from another file.
    """

    train: Callable[[], Iterator[RowBlock]]
    test: Callable[[], Iterator[RowBlock]]
    n_train: int
    how: str
    outside: bool = False


def hold_out(
    stream: RowStream, test: Path | None, group: str | None, time: str | None, target: str | None
) -> HoldOut:
    """The requested split; by default a fifth of the rows at random."""
    asked = [name for name, value in (("test", test), ("group", group), ("time", time)) if value]
    if len(asked) > 1:
        raise ValueError(f"--{asked[0]} and --{asked[1]} both say which rows to hold out; give one")
    n = stream.n_rows or 0
    if test is not None:
        if test.resolve() == Path(stream.name).resolve():
            raise ValueError(
                f"--test {test} is the training file; leave --test out to hold out a fifth of its "
                f"rows"
            )
        other = open_rows(test, target)
        missing = [name for name in stream.columns or () if name not in (other.columns or ())]
        if missing:
            raise ValueError(f"--test {test} has no column {missing[0]!r}, which the data has")
        return HoldOut(stream.blocks, other.blocks, n, f"all of {test}", True)
    if n < 5:
        raise ValueError(
            f"{stream.name} has {n} row{'s' * (n != 1)}, too few to hold some out; give --test FILE"
        )
    if group is not None:
        chosen, how = _of_groups(stream, group)
    elif time is not None:
        chosen, how = _of_time(stream, time)
    else:
        chosen, how = _at_random(n)
    count = sum(int((~chosen(block, row)).sum()) for block, row in _numbered(stream))
    if count in (0, n):
        raise ValueError(f"{stream.name}: no row is left for training or for testing; give --test")

    def others(block: RowBlock, row: int) -> Any:
        return ~chosen(block, row)

    return HoldOut(stream.where(others), stream.where(chosen), count, how)


def _numbered(stream: RowStream) -> Iterator[tuple[RowBlock, int]]:
    row = 0
    for block in stream.blocks():
        yield block, row
        row += len(block)


Chosen = Callable[[RowBlock, int], Any]


def _at_random(n: int) -> tuple[Chosen, str]:
    """Uses a hash of the row number, so that every pass holds out the same rows."""
    share = min(_SHARE, _MOST / n)
    if n <= 10_000:  # exactly a fifth, to split few rows well
        order = np.random.default_rng(0).permutation(n)
        mask = np.zeros(n, dtype=bool)
        mask[order[: max(1, round(share * n))]] = True
        return lambda block, row: mask[row : row + len(block)], "at random"

    def chosen(block: RowBlock, row: int) -> Any:
        numbers = np.arange(row, row + len(block), dtype=np.float64)[:, None]
        return row_keys(numbers) < np.uint64(share * 2.0**64)

    return chosen, "at random"


def _of_groups(stream: RowStream, name: str) -> tuple[Chosen, str]:
    counts: Counter[Any] = Counter()
    for block in stream.blocks():
        counts.update(_plain(block.key))
    if len(counts) < 2:
        raise ValueError(f"--group {name} has one value only; name a column with several groups")
    groups = sorted(counts, key=str)
    order = np.random.default_rng(0).permutation(len(groups))
    held: set[Any] = set()
    total = 0
    for i in order[:-1]:
        held.add(groups[i])
        total += counts[groups[i]]
        if total >= _SHARE * (stream.n_rows or 0):
            break

    def chosen(block: RowBlock, row: int) -> Any:
        return np.array([each in held for each in _plain(block.key)], dtype=bool)

    return chosen, f"{len(held)} of {len(groups)} groups of {name!r}"


def _plain(keys: Any) -> list[Any]:
    return [None if key != key else key for key in keys.tolist()]


def _of_time(stream: RowStream, name: str) -> tuple[Chosen, str]:
    times = checked_times([block.key for block in stream.blocks()], name)
    limit = float(np.quantile(times, 1 - _SHARE))
    if not (times > limit).any():
        limit = float(np.max(times[times < limit], initial=-np.inf))
    if not np.isfinite(limit):
        raise ValueError(f"--time {name} has one value only; name a column that tells rows apart")
    return (lambda block, row: block.key > limit), f"the last by {name!r}"


def checked_times(parts: Sequence[Any], name: str) -> Any:
    """All times, (n,); a ValueError if they are not numbers or have gaps."""
    if any(part.dtype.kind not in "fiu" for part in parts):
        raise ValueError(f"--time {name} holds text; name a column of dates or numbers")
    times = np.concatenate(parts)
    if np.isnan(times).any():
        raise ValueError(f"--time {name} has gaps; fill them, or leave those rows out")
    return times
