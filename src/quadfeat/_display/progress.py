"""The work of a fit, counted: `steps` of any kind, and `progress`, the rows of blocks.

Functions count their work whether or not it is shown: each thread has at most one meter, that of
the fit being shown (`showing`); without a meter, counts are dropped.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Protocol, TypeVar

_Item = TypeVar("_Item")


class Meter(Protocol):
    """Receives finished work; `frames` are the open steps, the outermost first."""

    frames: list[Steps]

    def moved(self) -> None: ...


class Thread(threading.local):
    """The meter of a thread, or None."""

    meter: Meter | None = None


here = Thread()


class Steps:
    """Counts work, in units known beforehand if `works` is given; created by `steps`."""

    def __init__(self, label: str, works: Sequence[float] | int | None, unit: str = "") -> None:
        self.label, self.unit = label, unit
        self._works: Sequence[float] | None = ()  # None for equal steps
        self.total: float | None = None
        if isinstance(works, Sequence):
            self._works, self.total = works, float(sum(works))
        elif works is not None:
            self._works, self.total = None, float(works)
        self.count = 0.0  # units of work done
        self.began, self.before = time.monotonic(), 0.0
        self._number, self._reached = 0, 0.0

    def done(self, work: float | None = None) -> None:
        """One more step is done, or `work` more units."""
        self.count += self._work if work is None else work
        self._number += 1
        _moved()

    def reached(self, share: float) -> None:
        """A share of all work is done, if it is known without counting."""
        self.total, self.count = 1.0, max(self.count, share)
        _moved()

    @property
    def _work(self) -> float:
        """The units of the present step."""
        if self._works is None:
            return 1.0
        return self._works[self._number] if self._number < len(self._works) else 0.0

    def share(self, inside: float) -> float | None:
        """The share of the work done, including the share `inside` of the current step.

        Never less than before. None if the total is unknown.
        """
        if not self.total:
            return None
        inside = 0.0 if self.unit else inside * self._work
        self._reached = max(self._reached, min((self.count + inside) / self.total, 1.0))
        return self._reached


@contextmanager
def steps(label: str, works: Sequence[float] | int | None, unit: str = "") -> Iterator[Steps]:
    """Count steps of a fit; steps inside a step are shares of it.

    Parameters
    ----------
    label : str, what is being done; only the outermost label is shown
    works : the units of work of each step, the number of equal steps, or None if unknown
    unit : str, what is counted, such as "rows"; empty for steps
    """
    counted = Steps(label, works, unit)
    meter = here.meter
    if meter is None:
        yield counted
        return
    meter.frames.append(counted)
    meter.moved()
    try:
        yield counted
    finally:
        # Steps opened inside and not closed, such as by a generator, end too.
        if counted in meter.frames:
            del meter.frames[meter.frames.index(counted) :]


def counted(label: str, n: int) -> Iterator[int]:
    """range(n), as equal steps."""
    with steps(label, n) as step:
        for i in range(n):
            yield i
            step.done()


def progress(
    blocks: Iterator[_Item], *, total: int | None, label: str, done: int = 0
) -> Iterator[_Item]:
    """Yield the same blocks, and count their rows.

    Parameters
    ----------
    blocks : iterator of blocks, which have rows `X`
    total : int or None, the number of all rows
    label : str, what is being done
    done : int, rows done before, where a fit is resumed
    """
    with steps(label, total, "rows") as rows:
        rows.count = rows.before = done
        for block in blocks:
            yield block
            rows.done(_rows(block))


def _rows(block: Any) -> int:
    return int(block.X.shape[0])


def _moved() -> None:
    if here.meter is not None:
        here.meter.moved()
