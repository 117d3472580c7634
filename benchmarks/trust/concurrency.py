"""Threads, child processes of every kind, and Ctrl-C at any moment."""

from __future__ import annotations

import multiprocessing
import pickle
import signal
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from typing import Any

import numpy as np
from joblib.externals import loky

import quadfeat as qf

from . import determinism
from .table import Effort, Row
from .writing import OLD, Job, jobs

Maps = dict[str, qf.FeatureMap]
_THREADS = 16
_SECONDS = 120.0  # after which a child process hangs
_LEAST = 2.0  # seconds within which Ctrl-C ends a process


def run(effort: Effort) -> Iterator[Row]:
    fitted = determinism.maps()
    yield threads(effort, fitted)
    yield children(fitted)  # last, for threads that were used are what forks can hang by
    yield from interrupts(effort)


def threads(effort: Effort, fitted: Maps) -> Row:
    """Maps that were not used before, so that threads meet where plans are packed."""
    calls = effort.of(20, 1000)
    row = Row(f"one map in {_THREADS} threads, {calls} calls each: the same bits")
    X = {dtype: determinism.rows(7, dtype) for dtype in ("float32", "float64")}
    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        for name, features in fitted.items():
            fresh = pickle.loads(pickle.dumps(features))
            told = {dtype: features.transform(x) for dtype, x in X.items()}
            for fault in _in_threads(fresh, X, told, calls):
                row.add(fault=fault, case=name)
    finally:
        sys.setswitchinterval(switched)
    return row


def _in_threads(features: Any, X: Any, told: Any, calls: int) -> Iterator[str]:
    """What went wrong in each call, "" for nothing; threads start together."""
    start, faults = threading.Barrier(_THREADS), [[""] * calls for _ in range(_THREADS)]

    def work(own: list[str]) -> None:
        start.wait()
        for i in range(calls):
            dtype = ("float32", "float64")[i % 2]
            try:
                same = np.array_equal(features.transform(X[dtype]), told[dtype])
                own[i] = "" if same else "other bits"
            except Exception as error:
                own[i] = f"{type(error).__name__}: {error}"

    running = [threading.Thread(target=work, args=(own,)) for own in faults]
    for thread in running:
        thread.start()
    for thread in running:
        thread.join()
    yield from (fault for own in faults for fault in own)


def children(fitted: Maps) -> Row:
    """Features in processes that are forked, spawned, or started by joblib's loky."""
    row = Row("features in forked, spawned and loky processes: the same bits")
    told = determinism.digests(fitted)
    pools: dict[str, Any] = {
        kind: ProcessPoolExecutor(1, multiprocessing.get_context(kind))
        for kind in ("fork", "spawn")
    }
    pools["loky"] = loky.ProcessPoolExecutor(1)
    for kind, pool in pools.items():
        try:
            found = pool.submit(determinism.digests, fitted).result(_SECONDS)
            for name, digest in found.items():
                row.require(digest == told[name], f"{name}, {kind}")
        except Exception as error:
            row.add(fault=f"{type(error).__name__}: {error}", case=kind)
            for process in list(getattr(pool, "_processes", {}).values()):
                process.kill()
        pool.shutdown()
    return row


def interrupts(effort: Effort) -> Iterator[Row]:
    """Ctrl-C at random moments of what writes files."""
    files = Row("Ctrl-C in fits, saves and commands: files are old, absent or whole")
    seconds = Row("Ctrl-C: time until the process has ended", bound=_LEAST, unit="s")
    rng = np.random.default_rng(effort.seed)
    for job in jobs(effort.folder):
        for i in effort.times(2, 50):
            case = f"{job.name}, moment {i}, seed {effort.seed}"
            status, took, fault = interrupted(job, effort, float(rng.uniform()), i)
            if not fault and status not in (0, 130):
                fault = f"ended with {status}"
            files.add(fault=fault, case=case)
            seconds.add(took, case=case)
    yield from (files, seconds)


def interrupted(job: Job, effort: Effort, moment: float, i: int) -> tuple[int, float, str]:
    """What a job ended with, how long after Ctrl-C, and what is wrong with its files."""
    folder = effort.folder / f"{job.name}-{i}".replace(" ", "-")
    folder.mkdir()
    if had := i % 2 == 1:
        (folder / job.output).write_bytes(OLD)
    status, took = job.started(folder).stop(signal.SIGINT, moment * job.seconds)
    return status, took, job.fault(folder, status, had=had)
