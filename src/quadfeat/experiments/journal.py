"""Finished cells on disk: each is run once, and its records are one line of a JSON file."""

from __future__ import annotations

import json
import os
import platform
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import scipy
import sklearn

from .. import __version__
from .._engine import engine_info
from .cell import Cell, Key, Record

_FIELDS = {"key", "scale", "version", "cells", "seconds", "machine", "records"}  # of a line


@dataclass(frozen=True)
class Finished:
    """The cells of one experiment in a file."""

    lines: list[Record]

    @property
    def records(self) -> list[Record]:
        return [record for line in self.lines for record in line["records"]]

    @property
    def complete(self) -> bool:
        return bool(self.lines) and len(self.lines) >= self.planned

    @property
    def planned(self) -> int:
        return int(self.lines[-1]["cells"]) if self.lines else 0

    @property
    def seeds(self) -> list[int]:
        return sorted({line["key"]["seed"] for line in self.lines if "seed" in line["key"]})

    @property
    def seconds(self) -> float:
        return float(sum(line["seconds"] for line in self.lines))

    @property
    def machines(self) -> list[str]:
        return sorted({line["machine"] for line in self.lines})


class Journal:
    """The file `<out>/<experiment>.jsonl`: one line per finished cell.

    A line counts only if it is complete: however a run stops, a cell is kept completely or not at
    all.
    """

    def __init__(self, folder: Path, name: str, version: int) -> None:
        self.path = folder / f"{name}.jsonl"
        self.version = version

    def finished(self, scale: str) -> Finished:
        """The cells of this scale and version, of the data set that was used last."""
        lines = [
            line
            for line in self._lines()
            if line["scale"] == scale and line["version"] == self.version
        ]
        last = {line["key"].get("data") for line in lines[-1:]}
        latest = {identity(line["key"]): line for line in lines if line["key"].get("data") in last}
        return Finished(list(latest.values()))

    def known(self, scale: str) -> dict[str, list[Record]]:
        """The records of all cells of this scale and version, of any data set, by identity."""
        return {
            identity(line["key"]): line["records"]
            for line in self._lines()
            if line["scale"] == scale and line["version"] == self.version
        }

    def append(self, line: Record) -> None:
        """Write one line and sync it to the disk."""
        text = json.dumps(line, allow_nan=False, default=_plain) + "\n"
        start = "" if self._ends_well() else "\n"  # after an incomplete line
        rest = (start + text).encode()
        descriptor = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
        try:
            while rest:  # a nearly full disk may write only a part without an error
                rest = rest[os.write(descriptor, rest) :]
            os.fsync(descriptor)
        finally:
            os.close(descriptor)

    def _lines(self) -> Iterator[Record]:
        if not self.path.exists():
            return
        with self.path.open(encoding="utf-8", errors="replace") as file:
            for text in file:
                try:
                    line = json.loads(text)
                except json.JSONDecodeError:
                    continue  # incomplete: the cell is run again
                if isinstance(line, dict) and line.keys() >= _FIELDS:
                    yield line

    def _ends_well(self) -> bool:
        if not self.path.exists() or not self.path.stat().st_size:
            return True
        with self.path.open("rb") as file:
            file.seek(-1, os.SEEK_END)
            return file.read(1) == b"\n"


def identity(key: Key) -> str:
    """A string that is equal for equal keys, in any order of their fields."""
    return json.dumps(key, sort_keys=True, default=_plain)


def remaining(journal: Journal, scale: str, cells: list[Cell]) -> list[Cell]:
    """The cells that are not in the journal; finished cells recall their records."""
    known = journal.known(scale)
    for cell in cells:
        if cell.recall is not None and identity(cell.key) in known:
            cell.recall(known[identity(cell.key)])
    return [cell for cell in cells if identity(cell.key) not in known]


def run_cell(journal: Journal, scale: str, cell: Cell, planned: int) -> None:
    """Run one of `planned` cells and write its line."""
    start = time.perf_counter()
    records = cell.run()
    journal.append(
        {
            "key": cell.key,
            "scale": scale,
            "version": journal.version,
            "cells": planned,
            "seconds": round(time.perf_counter() - start, 3),
            "machine": machine(),
            "records": records,
        }
    )


def machine() -> str:
    """The processor, its cores, and the versions that results may depend on."""
    engine = engine_info()
    isa = f", {engine['isa']}" if engine.get("isa") else ""
    return (
        f"{_processor()}, {os.cpu_count()} cores, {platform.system()}; "
        f"quadfeat {__version__} ({engine['engine']} engine{isa}), "
        f"Python {platform.python_version()}, NumPy {np.__version__}, SciPy {scipy.__version__}, "
        f"scikit-learn {sklearn.__version__}"
    )


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text().splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def _plain(value: Any) -> Any:
    """NumPy scalars and arrays as numbers and lists."""
    if isinstance(value, np.generic | np.ndarray):
        return value.tolist()
    raise TypeError(f"records hold numbers, strings and lists, got {type(value).__name__}")
