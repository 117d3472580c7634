"""Branches of the package that the tests take: the last step of ``make coverage``.

Reads the data of coverage.py and puts one row for each room into the records. A room's branches
count wherever the test is that takes them.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import groupby
from typing import Any

from .__main__ import machine
from .table import HEADER, RECORDS, ROOT, Row, line, read, write

REPORT = ROOT / "build" / "coverage" / "report.json"
ALLOWED = 0.03


def rows(files: dict[str, Any]) -> Iterator[Row]:
    """One row for each room, and one for all of them: branches, and those never taken."""
    total = 0, 0
    for room, names in groupby(sorted(files, key=room_of), room_of):
        of_room = [files[name]["summary"] for name in names]
        counts = tuple(sum(s[key] for s in of_room) for key in ("num_branches", "missing_branches"))
        total = total[0] + counts[0], total[1] + counts[1]
        yield row(f"branches of {room}", *counts, allowed=counts[0])
    yield row("branches of the package", *total, allowed=int(ALLOWED * total[0]), bound=97.0)


def room_of(name: str) -> str:
    """The subpackage of a file; "single files" for those outside of subpackages."""
    inside = name.partition("src/quadfeat/")[2].split("/")
    return inside[0] if len(inside) > 1 else "single files"


def row(what: str, tried: int, missed: int, allowed: int, bound: float = math.nan) -> Row:
    """The share of branches that are taken, in percent; its `bound` is a lower one."""
    taken = 100 * (1 - missed / tried) if tried else 100.0
    return Row(what, bound, "% taken", allowed, tried, missed, taken)


def main() -> int:
    about = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine()}
    files = json.loads(REPORT.read_text())["files"]
    found = [{"check": "branches", **each.record(), "seconds": 0.0} | about for each in rows(files)]
    print(HEADER)
    for record in found:
        print(line(record))
    write(RECORDS, [r for r in read(RECORDS) if r["check"] != "branches"] + found)
    return 0 if all(record["holds"] for record in found) else 1


if __name__ == "__main__":
    sys.exit(main())
