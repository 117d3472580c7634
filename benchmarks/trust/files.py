"""Damaged model and data files, and models of every release.

The law: a file is refused with a ValueError, or gives what can be used. Nothing in it is run,
memory and time are bounded, and the process lives on. `tests/storage/fuzz.py` has it for models.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

import quadfeat as qf
from tests.storage.make_fixtures import answers

from .table import ROOT, Effort, Row

FIXTURES = ROOT / "tests" / "storage" / "fixtures"


def run(effort: Effort) -> Iterator[Row]:
    yield releases()


def releases() -> Row:
    """Files of every release answer as they did."""
    row = Row("models of every release: largest change of an answer", bound=1e-13)
    for path in sorted(FIXTURES.glob("*/*.qf")):
        told = np.load(path.with_name("answers.npz"))
        row.add(
            float(np.abs(answers(qf.load(path), told["X"]) - told[path.stem]).max()),
            case=f"{path.parent.name}/{path.name}",
        )
    return row
