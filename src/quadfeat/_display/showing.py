"""A fit on a screen: `showing` marks its begin and end, `shown` does so for a method."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

from .._checks import check_flag
from .progress import Steps, here
from .screens import Screen, State, open_screen

WAIT = 2.0  # seconds before anything is shown
_Result = TypeVar("_Result")
_screen_in_use = threading.Lock()  # one fit of a process is shown at a time


@contextmanager
def showing(title: str, *, verbose: bool = True) -> Iterator[None]:
    """Show the work that is counted inside, once it has taken two seconds.

    Inside another `showing`, or while another thread shows a fit, this does nothing.

    Parameters
    ----------
    title : str, what is fitted
    verbose : bool, False shows nothing
    """
    if here.meter is not None:
        yield
        return
    owner = verbose and _screen_in_use.acquire(blocking=False)
    meter = here.meter = FitMeter(title, open_screen() if owner else None)
    finished = False
    try:
        yield
        finished = True
    finally:
        here.meter = None
        meter.close(finished=finished)
        if owner:
            _screen_in_use.release()


def shown(method: Callable[..., _Result]) -> Callable[..., _Result]:
    """Decorate a method that fits an estimator: `showing` it, unless its `verbose` is False."""

    @functools.wraps(method)
    def wrapped(self: Any, *args: Any, **options: Any) -> _Result:
        with showing(
            type(self).__name__, verbose=check_flag("verbose", getattr(self, "verbose", True))
        ):
            return method(self, *args, **options)

    return wrapped


class FitMeter:
    """The open steps of one fit, and the screen that shows them."""

    def __init__(self, title: str, screen: Screen | None) -> None:
        self.frames: list[Steps] = []
        self._title, self._screen = title, screen
        self._began = time.monotonic()
        self._next = self._began + WAIT

    def moved(self) -> None:
        """Show the finished work, if it is time to."""
        if self._screen is None or not self.frames:
            return
        now = time.monotonic()
        shown, share = self.frames[0], None
        for each in reversed(self.frames):
            inside = each.share(share or 0.0)
            if inside is not None:
                shown, share = each, inside  # the outermost step whose end is known
        if now >= self._next:
            self._screen.show(self._state(shown, share, now))
            self._next = now + self._screen.interval

    def close(self, *, finished: bool) -> None:
        """The fit is over: finished, or stopped by an error."""
        if self._screen is not None:
            self._screen.close(self._title, time.monotonic() - self._began, finished=finished)

    def _state(self, steps: Steps, share: float | None, now: float) -> State:
        elapsed = now - steps.began
        left = None
        before = steps.before / steps.total if steps.total else 0.0
        if share is not None and share > before:
            left = elapsed * (1 - share) / (share - before)
        detail = ""
        if steps.unit:
            of = f" of {steps.total:,.0f}" if steps.total else ""
            rate = (steps.count - steps.before) / max(elapsed, 1e-9)
            detail = f"{steps.count:,.0f}{of} {steps.unit}, {rate:,.0f}/s"
        return State(self._title, steps.label, share, left, now - self._began, detail)
