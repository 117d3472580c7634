"""Progress on stderr, where `verbose` is True: all that the library ever prints."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from typing import Any, TypeVar

_Item = TypeVar("_Item")


def progress(
    blocks: Iterator[_Item], *, total: int | None, label: str, verbose: bool, done: int = 0
) -> Iterator[_Item]:
    """Yield the same blocks, and write rows done, rows per second and the time left to stderr.

    Nothing in the first second. Then a terminal has one line, rewritten ten times a second; a file
    gets a line after 1, 2, 4, ... seconds and one at the end.

    Parameters
    ----------
    blocks : iterator of blocks, which have rows `X`
    total : int or None, the number of all rows
    label : str, what is being done
    verbose : bool, False writes nothing
    done : int, rows done before, where a fit is resumed
    """
    if not verbose:
        yield from blocks
        return
    meter = _Meter(total, label, done)
    try:
        for block in blocks:
            yield block
            meter.add(_rows(block))
    finally:
        meter.close()


class Steps:
    """Writes a line such as "kernel: 3 of 8, 5 s left" to stderr after a step of a second or more.

    Parameters
    ----------
    label : str, what is being done
    total : int, the number of steps
    verbose : bool, False writes nothing
    """

    def __init__(self, label: str, total: int, *, verbose: bool) -> None:
        self._label, self._total, self._verbose = label, total, verbose
        self._count, self._began = 0, time.monotonic()
        self._written = self._began

    def done(self) -> None:
        """One more step is done."""
        self._count += 1
        now = time.monotonic()
        if not self._verbose or now - self._written < 1.0:
            return
        self._written = now
        left = (now - self._began) / self._count * (self._total - self._count)
        print(f"{self._label}: {self._count} of {self._total}, {left:.0f} s left", file=sys.stderr)


def _rows(block: Any) -> int:
    return int(block.X.shape[0])


class _Meter:
    def __init__(self, total: int | None, label: str, done: int) -> None:
        self._total, self._label, self._done, self._before = total, label, done, done
        self._began = time.monotonic()
        self._live = sys.stderr.isatty()
        self._wait = 1.0
        self._next = self._began + self._wait
        self._shown = False

    def add(self, rows: int) -> None:
        self._done += rows
        now = time.monotonic()
        if now < self._next:
            return
        self._write(self._line(now))
        self._wait *= 2
        self._next = now + 0.1 if self._live else self._began + self._wait

    def close(self) -> None:
        if not self._shown:
            return
        self._write(self._line(time.monotonic()))
        if self._live:
            sys.stderr.write("\n")
            sys.stderr.flush()

    def _line(self, now: float) -> str:
        elapsed = max(now - self._began, 1e-9)
        rate = (self._done - self._before) / elapsed
        known = self._total is not None and self._total > 0
        parts = [f"{self._label}: {self._done:,}" + (f" of {self._total:,}" if known else "")]
        parts[0] += " rows"
        if known and self._total is not None:
            parts.append(f"{min(self._done / self._total, 1):.0%}")
        parts.append(f"{rate:,.0f} rows/s")
        if self._total is not None and 0 < self._done < self._total and rate > 0:
            parts.append(f"{clock((self._total - self._done) / rate)} left")
        else:
            parts.append(clock(elapsed))
        return ", ".join(parts)

    def _write(self, line: str) -> None:
        self._shown = True
        sys.stderr.write(f"\r\x1b[K{line}" if self._live else f"{line}\n")
        sys.stderr.flush()


def clock(seconds: float) -> str:
    """A duration in words.

    >>> clock(3.2), clock(75), clock(7384)
    ('3 s', '1 min 15 s', '2 h 03 min')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60:02d} s"
    return f"{whole // 3600} h {whole % 3600 // 60:02d} min"
