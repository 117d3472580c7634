"""Where progress is shown: one line of a terminal, an element of a notebook, lines of a log."""

from __future__ import annotations

import contextlib
import html
import multiprocessing
import os
import shutil
import sys
from typing import Any, NamedTuple, Protocol

_SHORTEST, _LONGEST = 6, 20  # characters of a bar


class State(NamedTuple):
    """What is shown: the fit, its current step, and the progress of the step.

    share : float in [0, 1] of the step, or None if its end is unknown
    left : float, remaining
    seconds of the step, or None
    elapsed : float, seconds of the whole fit
    detail : str, such as "500 of 2,000 rows, 100/s"
    """

    title: str
    label: str
    share: float | None
    left: float | None
    elapsed: float
    detail: str = ""

    def words(self, *, passed: bool = True) -> str:
        """Share, detail, time left, and elapsed time if requested or if there is nothing else."""
        parts = [] if self.share is None else [f"{self.share:.0%}"]
        parts += [self.detail] if self.detail else []
        parts += [] if self.left is None else [f"{clock(self.left)} left of this step"]
        parts += [f"{clock(self.elapsed)} so far"] if passed or not parts else []
        return ", ".join(parts)


class Screen(Protocol):
    """Shows states, at most one every `interval` seconds."""

    interval: float

    def show(self, state: State) -> None: ...

    def close(self, title: str, elapsed: float, *, finished: bool) -> None: ...


def open_screen() -> Screen | None:
    """The screen of this process; None if nobody can see it.

    Nothing is shown in worker processes, under pytest, or if QUADFEAT_PROGRESS is 0; with 1 it is
    shown there too.
    """
    wanted = os.environ.get("QUADFEAT_PROGRESS", "")
    worker = multiprocessing.current_process().name != "MainProcess"
    if wanted == "0" or (wanted != "1" and (worker or "PYTEST_CURRENT_TEST" in os.environ)):
        return None
    if (display := _notebook()) is not None:
        return Notebook(display)
    stream = sys.stderr
    if stream is None:
        return None
    return Terminal(stream) if stream.isatty() else Log(stream)


def _notebook() -> Any:
    """IPython.display, if this is the kernel of a notebook; else None."""
    if "ipykernel" not in sys.modules:
        return None
    core = sys.modules.get("IPython")
    shell = None if core is None else core.get_ipython()
    if shell is None or not hasattr(shell, "kernel"):
        return None
    return sys.modules.get("IPython.display")


class Terminal:
    """One line that is rewritten, and removed at the end."""

    interval = 0.1

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._shown = False
        encoding = (getattr(stream, "encoding", None) or "").lower()
        self._full, self._empty = "━─" if encoding.startswith("utf") else "#-"

    def show(self, state: State) -> None:
        self._shown = True
        self._write(f"\r\x1b[K{self._line(state, self._columns() - 1)}")

    def _line(self, state: State, most: int) -> str:
        """At most so many characters: first the elapsed time is dropped, then the bar."""
        start = f"{state.title}: {state.label} "
        for words in (state.words(), state.words(passed=False)):
            room = min(most - len(start) - len(words) - 1, _LONGEST)
            if state.share is not None and room >= _SHORTEST:
                full = round(room * state.share)
                return f"{start}{self._full * full}{self._empty * (room - full)} {words}"
            if state.share is None and room >= 0:
                break
        return (start + words)[:most]

    def close(self, title: str, elapsed: float, *, finished: bool) -> None:
        if self._shown:
            self._write("\r\x1b[K")

    def _columns(self) -> int:
        with contextlib.suppress(OSError, ValueError, AttributeError):
            return os.get_terminal_size(self._stream.fileno()).columns or 80
        return shutil.get_terminal_size().columns

    def _write(self, text: str) -> None:
        _write(self._stream, text)


class Log:
    """A line after two seconds, then every twenty, and one at the end."""

    interval = 20.0

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._shown = False

    def show(self, state: State) -> None:
        self._shown = True
        _write(self._stream, f"{state.title}: {state.label}: {state.words()}\n")

    def close(self, title: str, elapsed: float, *, finished: bool) -> None:
        if self._shown:
            end = "done in" if finished else "stopped after"
            _write(self._stream, f"{title}: {end} {clock(elapsed)}\n")


class Notebook:
    """An HTML progress bar that is updated in place, and becomes a line at the end.

    Parameters
    ----------
    display : the module IPython.display
    """

    interval = 0.2

    def __init__(self, display: Any) -> None:
        self._display = display
        self._handle: Any = None

    def show(self, state: State) -> None:
        value = "" if state.share is None else f' value="{state.share:.4f}"'
        bar = f'<progress max="1"{value} style="width: 12em; vertical-align: middle"></progress>'
        words = html.escape(state.words())
        start = html.escape(f"{state.title}: {state.label}")
        text = f"{state.title}: {state.label}: {state.words()}"
        self._put(f"<small>{start} {bar} {words}</small>", text)

    def close(self, title: str, elapsed: float, *, finished: bool) -> None:
        if self._handle is None:
            return
        end = "done in" if finished else "stopped after"
        text = f"{title}: {end} {clock(elapsed)}"
        self._put(f"<small>{html.escape(text)}</small>", text)

    def _put(self, markup: str, text: str) -> None:
        data = {"text/html": markup, "text/plain": text}
        if self._handle is None:
            self._handle = self._display.display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)


def _write(stream: Any, text: str) -> None:
    # A closed or broken stream must not end a fit.
    with contextlib.suppress(OSError, ValueError):
        stream.write(text)
        stream.flush()


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
