"""Run the checks, print one table, keep the records: see the front page of this package."""

from __future__ import annotations

import argparse
import importlib
import json
import math
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

from .table import HEADER, RECORDS, ROOT, Effort, Row, line, read, write

# The slowest first, so that two at a time end together.
QUICK = ("bad_input", "files", "numerics", "determinism", "concurrency", "faults")
FULL = (*QUICK, "sanitizers", "mutants", "soak")
# What is free in one arena can be given back; in many, and in Arrow's, it differs by chance.
ENVIRONMENTS = {"soak": {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}}


def child(name: str, effort: Effort) -> None:
    """The rows of one check as JSON, one per line, with the seconds that each took."""
    os.chdir(effort.folder)
    began = time.perf_counter()
    for row in importlib.import_module(f".{name}", __package__).run(effort):
        now = time.perf_counter()
        record = {"check": name, **row.record(), "seconds": round(now - began, 1)}
        print(json.dumps(record), flush=True)
        began = now


def rows(name: str, options: argparse.Namespace) -> list[dict[str, Any]]:
    """The rows of one check, run in a process of its own; a crash is a row that failed."""
    command = [sys.executable, "-m", __package__, "--child", name, "--seed", str(options.seed)]
    command += ["--quick"] * options.quick + ["--minutes", str(options.minutes)]
    env = os.environ | ENVIRONMENTS.get(name, {})
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, cwd=ROOT, env=env)
    found = [json.loads(each) for each in done.stdout.splitlines() if each.startswith("{")]
    if done.returncode:
        row = Row("the check itself")
        row.add(fault=f"ended with {done.returncode}", case=name)
        found.append({"check": name, **row.record(), "seconds": 0.0})
    return found


def results(names: list[str], options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The rows of all checks, in their order."""
    with ThreadPoolExecutor(options.jobs) as pool:
        for found in pool.map(partial(rows, options=options), names):
            yield from found


def machine() -> str:
    """Processor, system and versions, in one line."""
    import numpy
    import scipy

    import quadfeat as qf

    info = qf.engine_info()
    return (
        f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}; "
        f"quadfeat {qf.__version__} ({info['engine']}, {info['isa']}), "
        f"Python {platform.python_version()}, NumPy {numpy.__version__}, SciPy {scipy.__version__}"
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="make trust", description="Run the checks.")
    parser.add_argument("--quick", action="store_true", help="a minute instead of hours")
    parser.add_argument("--only", nargs="+", choices=FULL, metavar="CHECK", help=", ".join(FULL))
    parser.add_argument("--jobs", type=int, default=2, help="checks at a time")
    parser.add_argument("--minutes", type=float, default=math.inf, help="of each long row")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--out", type=Path, help="default: docs/testing.jsonl, if not quick")
    parser.add_argument("--child", choices=FULL, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.child:
        with tempfile.TemporaryDirectory() as folder:
            effort = Effort(options.quick, options.seed, Path(folder), options.minutes)
            child(options.child, effort)
            os.chdir(ROOT)
        return 0
    out = options.out or (None if options.quick else RECORDS)
    names = list(options.only or (QUICK if options.quick else FULL))
    about = {"date": datetime.now(UTC).strftime("%Y-%m-%d"), "machine": machine()}
    found = []
    print(HEADER)
    for record in results(names, options):
        found.append(record | about)
        print(line(record), flush=True)
        for note in record["notes"]:
            print(f"{'':12}   {note}")
    if out:
        write(out, [r for r in read(out) if r["check"] not in names] + found)
    broken = sum(not record["holds"] for record in found)
    seconds = sum(record["seconds"] for record in found)
    print(f"{len(found)} rows in {seconds:.0f} s of checks, {broken} broken")
    return 1 if broken else 0


if __name__ == "__main__":
    sys.exit(main())
