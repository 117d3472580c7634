"""The engine's tests under sanitizers, as `sanitize.mk` builds them, and under valgrind."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from .table import ROOT, Effort, Row

TOOLS = {
    "address": ("cmake", "ninja", "g++"),
    "undefined": ("cmake", "ninja", "g++"),
    "thread": ("g++",),
    "valgrind": ("g++", "valgrind"),
}


def run(effort: Effort) -> Iterator[Row]:
    """One row per tool: a missing one is told, and is no failure."""
    for kind, tools in TOOLS.items():
        what = "valgrind" if kind == "valgrind" else f"the {kind} sanitizer"
        row = Row(f"the engine under {what}: nothing reported")
        missing = [tool for tool in ("make", *tools) if shutil.which(tool) is None]
        if missing:
            row.add()
            row.notes.append(f"not tried: {', '.join(missing)} is not installed")
        else:
            python = Path(sys.executable).parent
            command = ["make", f"sanitize-{kind}", f"BIN={python}"]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
            said = " ".join((done.stdout + done.stderr).split())[-300:]
            row.add(fault=said if done.returncode else "", case=kind)
        yield row
