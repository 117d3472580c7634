"""Progress: silent unless asked for, then rows, rate and time."""

import numpy as np

from quadfeat._progress import progress
from quadfeat.data.blocks import Block


def test_progress_says_nothing_unless_asked_and_then_rows_rate_and_time(capsys, monkeypatch):
    blocks = [Block(np.zeros((50, 2)))] * 4
    assert list(progress(iter(blocks), total=200, label="fit", verbose=False)) == blocks
    assert capsys.readouterr().err == ""
    clock = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    list(progress(iter(blocks), total=200, label="fit", verbose=True))
    first, *_, last = capsys.readouterr().err.splitlines()
    assert first == "fit: 50 of 200 rows, 25%, 50 rows/s, 3 s left"
    assert last == "fit: 200 of 200 rows, 100%, 40 rows/s, 5 s"
    list(progress(iter(blocks), total=None, label="fit", verbose=True))
    assert "left" not in capsys.readouterr().err
    monkeypatch.setattr("time.monotonic", lambda: 0.0)
    list(progress(iter(blocks), total=200, label="fit", verbose=True))
    assert capsys.readouterr().err == "", "less than a second needs no progress"


def test_progress_on_a_terminal_rewrites_one_line(capsys, monkeypatch):
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    clock = iter(range(100))
    monkeypatch.setattr("time.monotonic", lambda: float(next(clock)))
    list(progress(iter([Block(np.zeros((50, 2)))] * 4), total=200, label="fit", verbose=True))
    shown = capsys.readouterr().err
    assert shown.count("\n") == 1 and shown.count("\r") >= 1
