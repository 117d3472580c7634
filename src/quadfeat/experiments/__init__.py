"""Experiments: the paper's evaluation, run by `quadfeat reproduce`.

Rule: cells produce records, and figures, verdicts and tables are functions of records. Only `app`
imports this room.

- `cell`: the parts of an experiment (`Cell`, `Verdict`, `Table`, `Experiment`).
- `journal`: finished cells on the disk, one JSON line each; every cell is run once.
- `runner`: from names of experiments to records, figures, verdicts and the page.
- `page`: the page, one HTML file.
- `datasets`: MNIST and TIMIT from a folder that the user names.
- `contenders`: the maps compared in Fig. 2, and their curves over runs.
- `figures`: one module for each figure or claim, by the names in `NAMES`.
- `speech`: the speech task of Figs. 2b and 2c.
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
_MODULES = {"theory": "sample_complexity"}  # files whose name differs from that of the experiment


def experiment(name: str) -> Experiment:
    """The module of an experiment in `NAMES`."""
    return cast(Experiment, import_module(f"{__name__}.figures.{_MODULES.get(name, name)}"))
