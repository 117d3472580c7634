"""Where progress is shown: a line of a terminal, few lines of a log, an element of a notebook."""

import io
import os
import pty
import re
import sys
import types

import pytest

from quadfeat._display import screens
from quadfeat._display import showing as module
from quadfeat._display.progress import steps
from quadfeat._display.screens import Log, Notebook, State, Terminal, clock, open_screen
from quadfeat._display.showing import showing

from .test_progress import Clock


@pytest.fixture
def long_fit(monkeypatch):
    """A fit of 1,000 steps of a second each, on a screen."""
    clock = Clock()
    monkeypatch.setattr(module.time, "monotonic", clock)

    def fit(screen, n=1000, seconds=1.0):
        monkeypatch.setattr(module, "open_screen", lambda: screen)
        with showing("KernelRegressor"), steps("choosing the kernel", n) as step:
            for _ in range(n):
                clock.wait(seconds)
                step.done()

    return fit


@pytest.fixture
def terminal():
    """A terminal of 80 columns: a stream to write to, and what was written so far."""
    leader, follower = pty.openpty()
    termios = pytest.importorskip("termios")
    termios.tcsetwinsize(follower, (24, 80))
    stream = os.fdopen(follower, "w", encoding="utf-8")
    os.set_blocking(leader, False)

    def written():
        stream.flush()
        parts = []
        while True:
            try:
                parts.append(os.read(leader, 65536))
            except BlockingIOError:
                return b"".join(parts).decode()

    yield stream, written
    stream.close()
    os.close(leader)


def test_a_terminal_has_one_line_that_is_rewritten_and_gone_at_the_end(terminal, long_fit):
    stream, written = terminal
    long_fit(Terminal(stream), n=50)
    text = written()
    assert "\n" not in text
    lines = text.split("\r\x1b[K")
    assert lines[0] == lines[-1] == ""
    assert len(lines) > 40
    assert all(len(line) < 80 for line in lines)
    bar = r"KernelRegressor: choosing the kernel [━─]{6,20} \d+%, \d+ s left of this step"
    assert re.match(bar, lines[25])


@pytest.mark.parametrize("share", [None, 0.0, 0.4, 1.0])
@pytest.mark.parametrize("columns", [10, 30, 60, 80, 200])
def test_a_line_is_never_longer_than_the_terminal(share, columns):
    left = None if share is None else 4000.0
    state = State("KernelRegressor", "choosing the kernel", share, left, 1e5, "5 of 9 rows, 1/s")
    line = Terminal(io.StringIO())._line(state, columns)
    assert len(line) <= columns
    assert columns < 200 or "so far" in line


def test_a_terminal_is_not_written_to_by_a_short_fit(terminal, long_fit):
    stream, written = terminal
    long_fit(Terminal(stream), n=10, seconds=0.19)
    assert written() == ""


def test_a_terminal_without_unicode_gets_plain_letters():
    stream = io.TextIOWrapper(io.BytesIO(), encoding="ascii")
    Terminal(stream).show(State("fit", "work", 0.5, 3.0, 3.0))
    assert b"##########----------" in stream.buffer.getvalue()


def test_a_log_has_a_line_every_twenty_seconds_and_one_at_the_end(long_fit):
    stream = io.StringIO()
    long_fit(Log(stream))
    first, *lines = stream.getvalue().splitlines()
    assert len(lines) == pytest.approx(1000 / 20, abs=1)
    assert first == (
        "KernelRegressor: choosing the kernel: 0%, 16 min 38 s left of this step, 2 s so far"
    )
    assert lines[-1] == "KernelRegressor: done in 16 min 40 s"
    assert not any("\r" in line or "\x1b" in line for line in lines)


def test_a_log_has_nothing_of_a_short_fit(long_fit):
    stream = io.StringIO()
    long_fit(Log(stream), n=10, seconds=0.19)
    assert stream.getvalue() == ""


class Display:
    """Stands for IPython.display."""

    def __init__(self):
        self.shown, self.updates = [], []

    def display(self, data, *, raw, display_id):
        assert raw and display_id
        self.shown.append(data)
        return types.SimpleNamespace(update=lambda data, raw: self.updates.append(data))


def test_a_notebook_has_one_element_that_is_updated(long_fit):
    display = Display()
    long_fit(Notebook(display), n=100)
    assert len(display.shown) == 1
    assert len(display.updates) > 50
    assert '<progress max="1" value="0.5' in display.updates[48]["text/html"]
    assert "left of this step" in display.updates[48]["text/plain"]
    assert display.updates[-1]["text/plain"] == "KernelRegressor: done in 1 min 40 s"


def test_a_notebook_escapes_what_it_shows():
    display = Display()
    Notebook(display).show(State("<b>fit</b>", "a & b", None, None, 3.0, "<rows>"))
    assert "<b>" not in display.shown[0]["text/html"]
    assert "a &amp; b" in display.shown[0]["text/html"]
    assert "&lt;rows&gt;" in display.shown[0]["text/html"]


def test_a_closed_stream_does_not_end_a_fit(long_fit):
    stream = io.StringIO()
    stream.close()
    long_fit(Log(stream), n=5, seconds=9.0)


def test_nothing_is_shown_under_pytest_unless_it_is_asked_for(monkeypatch):
    assert open_screen() is None
    monkeypatch.setenv("QUADFEAT_PROGRESS", "1")
    assert isinstance(open_screen(), Log)


def test_the_environment_can_silence_a_terminal(monkeypatch, terminal):
    stream, _ = terminal
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setattr(sys, "stderr", stream)
    assert isinstance(open_screen(), Terminal)
    monkeypatch.setenv("QUADFEAT_PROGRESS", "0")
    assert open_screen() is None


def test_worker_processes_are_silent(monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    assert open_screen() is not None
    worker = types.SimpleNamespace(name="LokyProcess-1")
    monkeypatch.setattr(screens.multiprocessing, "current_process", lambda: worker)
    assert open_screen() is None


def test_a_process_without_stderr_is_silent(monkeypatch):
    monkeypatch.delenv("PYTEST_CURRENT_TEST")
    monkeypatch.setattr(sys, "stderr", None)
    assert open_screen() is None


def test_the_kernel_of_a_notebook_is_recognised(monkeypatch):
    monkeypatch.setenv("QUADFEAT_PROGRESS", "1")
    shell = types.SimpleNamespace(kernel=object())
    ipython = types.SimpleNamespace(get_ipython=lambda: shell)
    for name, stub in (("ipykernel", None), ("IPython", ipython), ("IPython.display", Display())):
        monkeypatch.setitem(sys.modules, name, stub)
    assert isinstance(open_screen(), Notebook)
    del shell.kernel  # IPython in a terminal
    assert isinstance(open_screen(), Log)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0.2, "0 s"), (59.4, "59 s"), (59.6, "1 min 00 s"), (3599.6, "1 h 00 min")],
)
def test_durations_are_rounded_before_they_are_split(seconds, words):
    assert clock(seconds) == words


def test_a_notebook_has_nothing_of_a_short_fit(long_fit):
    display = Display()
    long_fit(Notebook(display), n=10, seconds=0.19)
    assert not display.shown and not display.updates
