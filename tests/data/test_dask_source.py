"""Partitions that change between passes are refused; threads share Dask's settings."""

import importlib
import subprocess
import sys
import threading

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.data.dask_source import Partitions

N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    return X, np.sin(2 * X["a"].to_numpy()) + 3 * X["b"].to_numpy()


def _model(**options):
    features = qf.QuasiRandomFourier(qf.Gaussian(0.2), n_components=50, random_state=0)
    return qf.KernelRegressor(features, alpha=0.1, **options)


class _Fickle:
    """A partition with other rows when it is computed for the third time."""

    def __init__(self, X):
        self._X, self._times = X, 0

    def __call__(self):
        self._times += 1
        return self._X if self._times < 3 else self._X + 1


def test_a_partition_that_is_not_what_was_looked_at_is_refused(table):
    X, y = table
    fickle = dask.delayed(_Fickle(X), pure=False)
    target = dask.delayed(lambda: pd.Series(y), pure=False)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match=r"other rows than in the first pass.*persist"),
    ):
        _model().fit(
            dd.from_delayed([fickle()], meta=X.iloc[:0]),
            dd.from_delayed([target()], meta=pd.Series(y[:0])),
        )


def test_targets_of_other_chunks_are_cut_as_the_rows_are(table):
    X, y = (np.asarray(part, dtype=np.float64) for part in table)
    lazy = da.from_array(X, chunks=(100, 3))
    same = _model().fit(lazy, da.from_array(y, chunks=100))
    other = _model().fit(lazy, da.from_array(y, chunks=250), da.ones(N, chunks=60))
    np.testing.assert_array_equal(same.coef_, other.coef_)
    with pytest.raises(ValueError, match="X has 600 rows, and y or a weight 500"):
        _model().fit(lazy, da.from_array(y[:500], chunks=100))


def test_targets_that_are_no_collection_of_these_partitions_are_refused(table):
    X, y = table
    lazy = dd.from_pandas(X.assign(y=y), npartitions=3)
    with pytest.raises(TypeError, match=r"give X\.drop\(columns='y'\) and X\['y'\]"):
        _model().fit(lazy, "y")
    with pytest.raises(TypeError, match=r"from_array\(y, chunks=X\.chunks\[0\]\) makes one"):
        _model().fit(lazy, y)
    with pytest.raises(ValueError, match="must have the same partitions, got 3, 2, 3 of them"):
        _model().fit(lazy[["a", "b", "c"]], dd.from_pandas(pd.Series(y), npartitions=2))


def test_threads_that_gather_at_once_leave_the_settings_as_they_were():
    """The second begins before the first ends, and ends after it."""
    importlib.import_module("distributed")
    name = "distributed.admin.large-graph-warning-threshold"
    before, told = dask.config.get(name), []
    begun, inside, over = threading.Event(), threading.Event(), threading.Event()
    rows, targets = da.zeros((4, 1)), da.zeros(4)

    def first(*_):
        begun.set()
        inside.wait(60)

    def second(*_):
        inside.set()
        over.wait(60)
        told.append(dask.config.get(name))

    def run():
        Partitions(rows, targets).gather(first)
        over.set()

    other = threading.Thread(target=run)
    other.start()
    begun.wait(60)
    Partitions(rows, targets).gather(second)
    other.join()
    assert told == ["1GB"] and before != "1GB"
    assert dask.config.get(name) == before


def test_a_fit_while_another_thread_imports_distributed_leaves_its_settings():
    """The first fit of a process imports it; in the other, it is there and has no settings yet."""
    subprocess.run([sys.executable, "-c", _TWO_FIRST_FITS], check=True)


_TWO_FIRST_FITS = """
import sys, threading, time
import dask, dask.array as da, dask.config
from quadfeat.data.dask_source import Partitions

assert "distributed" not in sys.modules
importing, update = threading.Event(), dask.config.update_defaults

def slowly(*defaults):
    importing.set()
    time.sleep(0.5)
    update(*defaults)

dask.config.update_defaults = slowly
threading.Thread(target=__import__, args=("distributed",)).start()
importing.wait()
Partitions(da.zeros((4, 1)), da.zeros(4)).gather(lambda *_: None)
dask.config.get("distributed.comm.timeouts.connect")
"""


def test_threads_that_fit_frames_at_once_do_not_wait_for_each_other_forever():
    subprocess.run([sys.executable, "-c", _FRAMES_IN_THREADS], check=True, timeout=120)


_FRAMES_IN_THREADS = """
import threading
import dask.dataframe as dd, numpy as np, pandas as pd
from quadfeat.data.dask_source import partitions

X = pd.DataFrame(np.zeros((300, 5)), columns=list("abcde"))

def plan():
    start.wait()
    table = dd.from_pandas(X.assign(y=1.0 * k, w=1.0), npartitions=3)
    none = table[table.a > 1]
    table = dd.concat([none, table, none])
    partitions(table[list("abcde")], table.y, table.w, dtype=None)

for k in range(3):
    start = threading.Barrier(8)
    threads = [threading.Thread(target=plan) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
"""
