"""Code that is broken on purpose, and whether the tests of its room see it.

    python -m benchmarks.trust.mutants [--per-room 40] [--rooms rules kernels]

A seeded sample of small faults, each against the tests of its room until one fails, for at most 60
seconds of CPU time. docs/mutants.jsonl holds the verdicts: an interrupted run goes on where it
stopped, and survivors are tried again, for tests may have been added. A survivor that changes
nothing that a test could see has its reason in docs/survivors.json.
"""

from __future__ import annotations

import argparse
import compileall
import contextlib
import importlib
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

from .mutation import Mutant, mutants, mutated
from .table import ROOT, Effort, Row, read

ROOMS = ("rules", "kernels", "constructions", "accuracy", "models", "storage")
VERDICTS = ROOT / "docs" / "mutants.jsonl"
REASONS = ROOT / "docs" / "survivors.json"
WORK = ROOT / "build" / "mutants"  # a folder for each room, so that rooms can be tried side by side
SECONDS = 60  # of CPU time
MEMORY = 6 << 30
PER_ROOM = 40


def run(effort: Effort) -> Iterator[Row]:
    for room in ROOMS:
        known = verdicts(room, PER_ROOM, effort.seed)
        row = Row(f"{room}: mutants that the tests let live", allowed=PER_ROOM // 10)
        for mutant, verdict in known:
            reason = reasons().get(mutant.name, "no reason known")
            row.add(fault=reason if verdict == "survived" else "", case=mutant.name)
        yield row


def verdicts(room: str, count: int, seed: int = 0) -> Iterator[tuple[Mutant, str]]:
    """The first `count` mutants of a room with their verdicts, tried if they are not known."""
    work = copy_of_the_project(room)
    package = work / "src" / "quadfeat"
    known = {record["mutant"]: record["verdict"] for record in read(VERDICTS)}
    checked = False
    for mutant in mutants(package, room, seed)[:count]:
        verdict = known.get(mutant.name)
        if verdict is None or (verdict == "survived" and mutant.name not in reasons()):
            if not checked and outcome(work, room, "") != "survived":
                raise RuntimeError(f"tests/{room} fails before anything is broken")
            checked, began = True, time.monotonic()
            verdict = trial(work, mutant, room)
            record = {"room": room, "mutant": mutant.name, "verdict": verdict}
            with VERDICTS.open("a") as file:
                file.write(json.dumps(record) + "\n")
            print(f"{time.monotonic() - began:5.0f} s {verdict:9} {mutant.name}", file=sys.stderr)
        yield mutant, verdict


def reasons() -> dict[str, str]:
    """Why a mutant survives, by its name."""
    return json.loads(REASONS.read_text()) if REASONS.exists() else {}


def copy_of_the_project(room: str) -> Path:
    """The package with its compiled core, and the tests, where they can be broken."""
    work = WORK / room
    find = "from quadfeat._engine import dispatch; print(dispatch._core.__file__)"
    core = subprocess.check_output([sys.executable, "-c", find], text=True).strip()
    shutil.rmtree(work, ignore_errors=True)
    skip = shutil.ignore_patterns("__pycache__", "*.cpp", "*.hpp")
    for name in ("src", "tests"):
        shutil.copytree(ROOT / name, work / name, ignore=skip)
    for name in ("conftest.py", "pyproject.toml"):
        shutil.copy(ROOT / name, work / name)
    shutil.copy(core, work / "src" / "quadfeat" / "_engine")
    compileall.compile_dir(work, quiet=1)
    return work


def trial(work: Path, mutant: Mutant, room: str) -> str:
    """Break one file, run the tests of its room, mend it: "killed" or "survived"."""
    path = work / "src" / "quadfeat" / mutant.file
    source = path.read_text()
    for compiled in path.parent.glob(f"__pycache__/{path.stem}.*"):
        compiled.unlink()  # it may look newer than what is written now
    path.write_text(mutated(source, mutant.index))
    try:
        return outcome(work, room, path.stem)
    finally:
        path.write_text(source)


def outcome(work: Path, room: str, stem: str) -> str:
    """What the tests of a room say in a process of their own, those of one module first."""
    for name in ("pytest", "pandas", "sklearn.utils.estimator_checks", "scipy.stats"):
        importlib.import_module(name)  # once for all children
    child = os.fork()
    if child == 0:
        _tests(work, room, stem)
    status = os.waitpid(child, 0)[1]
    with contextlib.suppress(ProcessLookupError):
        os.killpg(child, signal.SIGKILL)  # what tests have started
    # A run that comes to its limit without a failure has not seen the fault.
    stopped = os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGXCPU
    return "survived" if status == 0 or stopped else "killed"


def _tests(work: Path, room: str, stem: str) -> None:
    """Run the tests of a room and end this process with pytest's exit code."""
    os.setpgid(0, 0)
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    signal.alarm(30 * SECONDS)  # one that waits for ever is killed, and counts as seen
    os.chdir(work)
    for stream in (1, 2):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream)
    sys.dont_write_bytecode = True
    # The import hook of an editable install takes precedence over paths.
    sys.meta_path[:] = [f for f in sys.meta_path if not type(f).__module__.startswith("_editable")]
    sys.path[:0] = [str(work), str(work / "src")]
    status = 3
    try:
        first, every = (sorted(Path("tests", room).glob(f"test_{s}.py")) for s in (stem, "*"))
        files = [*first, *(path for path in every if path not in first)]
        options = ["-x", "-q", "-p", "no:cacheprovider", "--capture=no"]
        status = int(importlib.import_module("pytest").main([*options, *map(str, files)]))
    finally:
        os._exit(status)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--per-room", type=int, default=PER_ROOM)
    parser.add_argument("--rooms", nargs="+", default=ROOMS, choices=ROOMS)
    options = parser.parse_args()
    for room in options.rooms:
        found = [verdict for _, verdict in verdicts(room, options.per_room)]
        print(f"{room}: {found.count('killed')} of {len(found)} killed", flush=True)


if __name__ == "__main__":
    main()
