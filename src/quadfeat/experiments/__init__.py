"""The paper's evaluation, re-made: one module per figure or claim, run by `quadfeat reproduce`.

Each module named in `NAMES` follows `cell.Experiment`: a title, what it shows, the cells that make
its records, and functions from records to a figure, to verdicts and, where they help, to tables.
"""

from __future__ import annotations

from importlib import import_module
from typing import cast

from .cell import Experiment

NAMES = (
    "fig1a",
    "fig1b",
    "fig1c",
    "fig2a",
    "fig2b",
    "fig2c",
    "reweighting",
    "speed",
    "theory",
)
_MODULES = {"theory": "sample_complexity"}  # where the name of the file is another


def experiment(name: str) -> Experiment:
    """The module of that name."""
    return cast(Experiment, import_module(f"{__name__}.figures.{_MODULES.get(name, name)}"))
