"""The bars of the command."""

import io

from rich.console import Console

from quadfeat._display import showing as module
from quadfeat._display.progress import steps
from quadfeat._display.showing import showing
from quadfeat.app.progress import bar

from ..display.test_progress import Recorder


def test_fits_inside_of_a_bar_have_none_of_their_own(monkeypatch):
    screen = Recorder()
    monkeypatch.setattr(module, "WAIT", 0.0)
    monkeypatch.setattr(module, "open_screen", lambda: screen)
    with bar(Console(file=io.StringIO())) as counted:
        counted.add_task("fitting", total=1)
        with showing("fit"), steps("work", 1) as step:
            step.done()
    assert screen.states == []
    with showing("fit"), steps("work", 1) as step:
        step.done()
    assert screen.states
