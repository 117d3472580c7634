"""Rows are shared among threads: same bits, no thread left behind, interruptible."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from quadfeat import _engine

from .test_dispatch import compiled, dense, draw, evaluate, grouped

HERE = os.path.dirname(__file__)


def test_helpers_that_end_early_do_not_pin_the_caller_to_a_processor():
    plan = dense(2, 64)
    X, out = draw(1100, plan, np.float32), np.empty((1100, 128), dtype=np.float32)
    processors = getattr(os, "sched_getaffinity", lambda _: None)  # None where nothing is pinned
    before = processors(0)
    for _ in range(2000):
        _engine.fourier(X, plan, out, 2)
    assert processors(0) == before


@compiled
def test_many_python_threads_at_once_get_the_same_answer():
    plan = grouped([5] * 9, [100] * 9)
    X = draw(1000, plan, np.float32)
    exact, gate = evaluate(X, plan), threading.Barrier(8)

    def once(_):
        gate.wait()
        return evaluate(X, plan, threads=2)

    with ThreadPoolExecutor(8) as pool:
        assert all(np.array_equal(found, exact) for found in pool.map(once, range(8)))


@compiled
@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no fork")
def test_a_forked_child_gets_the_same_answer():
    """Threads ran in the parent, the child is a fork of it and runs threads again."""
    script = (
        "import os, sys; sys.path.insert(0, sys.argv[1])\n"
        "import numpy as np, test_dispatch as t\n"
        "plan = t.grouped([5] * 9, [100] * 9); X = t.draw(1000, plan, np.float32)\n"
        "exact = t.evaluate(X, plan, threads=2); child = os.fork()\n"
        "if child == 0: os._exit(not np.array_equal(t.evaluate(X, plan, threads=2), exact))\n"
        "sys.exit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
    )
    subprocess.run([sys.executable, "-c", script, HERE], check=True, timeout=60)


@compiled
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="stands in for glibc's functions")
def test_a_system_out_of_threads_or_memory_does_not_abort(tmp_path):
    compiler = next(filter(None, map(shutil.which, ["c++", "g++", "clang++"])), None)
    if compiler is None:
        pytest.skip("there is no C++ compiler to build the test with")
    source, program = os.path.join(HERE, "refusals.cpp"), tmp_path / "refusals"
    command = [compiler, "-std=c++17", "-O1", source, "-o", program, "-pthread", "-ldl"]
    subprocess.run(command, check=True, timeout=120)
    subprocess.run([program], check=True, timeout=60)


LONG_CALL = """
import signal, sys, threading; sys.path.insert(0, sys.argv[1])
import numpy as np, test_dispatch as t
def interrupt(*_):
    raise KeyboardInterrupt
signal.signal(signal.SIGALRM, interrupt)
plan = t.dense(4096, 2048)
X = np.broadcast_to(t.draw(1, plan, np.float32), (4000, 4096))
out = np.full((4000, 4096), np.nan, dtype=np.float32)
t.evaluate(X[:1], plan)  # packs the plan
"""


@compiled
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
def test_an_interrupted_call_stops_before_its_last_row():
    script = LONG_CALL + (
        "signal.setitimer(signal.ITIMER_REAL, 0.1)\n"
        "try: t._engine.fourier(X, plan, out)\n"
        "except KeyboardInterrupt: sys.exit(0 if np.isnan(out[-1]).all() else 'too late')\n"
        "sys.exit('not interrupted')\n"
    )
    subprocess.run([sys.executable, "-c", script, HERE], check=True, timeout=60)


@compiled
@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="this system has no timer signals")
def test_a_signal_leaves_the_calls_of_other_threads_alone():
    """The main thread is interrupted while it waits; the call of the other one is made whole."""
    script = LONG_CALL + (
        "X, out = X[:200], out[:200]\n"
        "call = threading.Thread(target=t._engine.fourier, args=(X, plan, out))\n"
        "call.start(); signal.setitimer(signal.ITIMER_REAL, 0.01)\n"
        "try:\n"
        "    while True: threading.Event().wait(1)\n"
        "except KeyboardInterrupt: pass\n"
        "call.join()\n"
        "assert np.array_equal(out, t.evaluate(X, plan))\n"
    )
    subprocess.run([sys.executable, "-c", script, HERE], check=True, timeout=60)


def test_thread_count_honours_the_environment(monkeypatch):
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    available = _engine.thread_count()
    assert available >= 1
    for asked, expected in [("1", 1), ("1,4", 1), ("9999", available), ("", available)]:
        monkeypatch.setenv("OMP_NUM_THREADS", asked)
        assert _engine.thread_count() == expected


def test_joblib_workers_use_their_share_of_the_cpus(monkeypatch):
    """joblib sets OMP_NUM_THREADS in its workers to the CPUs divided by the workers."""
    joblib = pytest.importorskip("joblib")
    monkeypatch.delenv("OMP_NUM_THREADS", raising=False)
    workers = max(2, joblib.cpu_count())
    script = (
        "import joblib, sys; from quadfeat import _engine\n"
        "jobs = [joblib.delayed(_engine.thread_count)() for _ in range(8)]\n"
        "print(set(joblib.Parallel(n_jobs=int(sys.argv[1]), backend='loky')(jobs)))\n"
    )
    command = [sys.executable, "-c", script, str(workers)]
    done = subprocess.run(command, check=True, timeout=120, capture_output=True, text=True)
    assert done.stdout.strip() == "{1}"
