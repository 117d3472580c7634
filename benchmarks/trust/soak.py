"""An hour of small work in one process: memory, objects, threads and open files stay flat.

A round fits every map and model, from memory, from files and from several threads, saves and loads
them, resumes a checkpoint, and is refused bad input. Rounds rest most of the time, for what is
returned late is returned then. The first fifth of the rounds fills caches and is not compared.

Memory in use is what the allocators count: that of C its bytes, of arrays and large objects, and
that of Python its blocks, of up to 512 bytes each. Resident memory is what the system counts: also
what libraries map by themselves, and what is free between what is in use. `__main__` gives all
threads and Arrow one arena of the C allocator: with an arena for each thread and an allocator for
Arrow, 19 MB more that were free were resident after 90 rounds.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import sys
import time
import warnings
from array import array
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow
from numpy.typing import NDArray
from sklearn.base import clone

import quadfeat as qf
from quadfeat.data.writers import sink
from tests.conftest import MAPS

from .table import Effort, Row

_MINUTES = 60.0
_BUSY = 0.3  # the share of the time that a round takes; it rests for the others
# Half of 10 kB a round, in bytes of C or in the largest blocks of Python: a leak of 10 kB a round
# is found, and a cache that grows once is not one.
_LEAK = 5.0
_BLOCKS = 1000 * _LEAK / 512
_OBJECTS = 0.5  # a round; one object that every round leaves is found
# Python takes memory for its blocks by the MiB and cannot give it back while one block is in use:
# three of these may remain. An hour's rounds may leave 20 kB each before it is seen here.
_RESIDENT = 3 * 2**20 / 1e6


def run(effort: Effort) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    minutes = min(effort.minutes, _MINUTES)
    what = "an hour of work" if minutes == _MINUTES else f"{minutes:g} minutes of work"
    rounds = Row(f"{what}: every round gives the bits of the first")
    a_round = {
        "memory in use": Row(f"{what}: growth of memory in use, a round", _LEAK, "kB"),
        "blocks": Row(f"{what}: growth of Python's blocks in use, a round", _BLOCKS, "blocks"),
        "objects": Row(f"{what}: growth of live Python objects, a round", _OBJECTS, "objects"),
    }
    in_all = {
        "resident memory": Row(f"{what}: growth of resident memory", _RESIDENT, "MB"),
        "threads": Row(f"{what}: growth of threads", 0, "threads"),
        "files": Row(f"{what}: growth of open files", 0, "files"),
    }
    figures = a_round | in_all
    pyarrow.set_cpu_count(1)  # its pools start their other threads when they first need them
    pyarrow.set_io_thread_count(1)
    work = Work(effort.folder)
    first = work.round()
    _settle_interned()
    samples = {name: array("d") for name in figures}  # lists of floats would look like a leak
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end or rounds.tried < 5:
        began = time.monotonic()
        rounds.require(work.round() == first, f"round {rounds.tried}")
        for name, value in _sample().items():
            samples[name].append(value)
        time.sleep((time.monotonic() - began) * (1 / _BUSY - 1))
    yield rounds
    n, fifth = rounds.tried, rounds.tried // 5
    for name, row in figures.items():
        told = samples[name]
        before, after = np.median(told[fifth : 2 * fifth]), np.median(told[-fifth:])
        over = n - 2 * fifth if name in a_round else 1  # rounds from the one median to the other
        row.add(float(after - before) / over, case=f"{before:.0f} before, {after:.0f} after")
        row.tried = n
        yield row


class _Mallinfo2(ctypes.Structure):
    """What glibc says of its allocator (malloc.h)."""

    _fields_ = [
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    ]


def _sample() -> dict[str, float]:
    """What must not grow, as it is now; the allocator first gives back what is free."""
    gc.collect()
    libc = ctypes.CDLL(None)
    libc.mallinfo2.restype = _Mallinfo2
    libc.malloc_trim(0)
    info = libc.mallinfo2()
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "memory in use": (info.uordblks + info.hblkhd) / 1e3,  # of arenas, and mapped alone
        "blocks": sys.getallocatedblocks(),
        "objects": len(gc.get_objects()),
        "resident memory": pages * resource.getpagesize() / 1e6,
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
    }


def _settle_interned() -> None:
    """Python's table of interned strings has the size that it keeps.

    It counts also those that are gone, until it is full and made anew: of twice its size once, when
    70 rounds had interned theirs.
    """
    for i in range(1 << 18):
        sys.intern(f"settle {i}")


class Work:
    """Small fits of all kinds, always the same."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        rng = np.random.default_rng(0)
        self.X = rng.normal(size=(2000, 3))
        self.y = np.sin(self.X[:, 0]) + self.X[:, 1] * self.X[:, 2]
        self.labels = (self.y > 0).astype(int)
        np.savez(folder / "rows.npz", X=self.X, y=self.y)
        table = pd.DataFrame(self.X, columns=["a", "b", "c"]).assign(y=self.y)
        table.to_csv(folder / "rows.csv", index=False)
        table.to_parquet(folder / "rows.parquet", row_group_size=500)

    def round(self) -> list[bytes]:
        """Everything once; the bits of what it gives."""
        return [
            np.ascontiguousarray(array).tobytes()
            for part in (self.maps, self.models, self.files, self.refusals)
            for array in part()
        ]

    def maps(self) -> Iterator[NDArray[Any]]:
        for make in MAPS.values():
            features = self.reloaded(make().fit(self.X[:200]))
            yield features.transform(self.X)
            with ThreadPoolExecutor(4) as pool:
                yield from pool.map(features.transform, [self.X.astype(np.float32)] * 4)
            yield from (block.copy() for block in features.transform_blocks(self.X, 700))

    def models(self) -> Iterator[NDArray[Any]]:
        features = qf.RandomFourier(qf.Gaussian(0.5), n_components=64, random_state=0)
        checkpoint = self.folder / "checkpoint"
        for model, target in (
            (qf.KernelRegressor(features, verbose=False), self.y),
            (qf.KernelRegressor(features, alpha=1.0, checkpoint=checkpoint), self.y),
            (qf.KernelClassifier(features, loss="logistic", alpha=1.0), self.labels),
        ):
            fitted = self.reloaded(clone(model).fit(self.X, target))
            yield fitted.predict(self.X)

    def files(self) -> Iterator[NDArray[Any]]:
        features = qf.RandomFourier(qf.Gaussian(0.5), n_components=64, random_state=0)
        model = qf.KernelRegressor(features, alpha=1.0)
        for name, target in (("rows.npz", None), ("rows.csv", "y"), ("rows.parquet", "y")):
            path = self.folder / name
            yield clone(model).fit(path, *([target] if target else [])).predict(self.X)
        for ending in ("csv", "parquet", "npy"):
            with sink(self.folder / f"out.{ending}", ["a"]) as out:
                out.write(self.y)

    def refusals(self) -> Iterator[NDArray[Any]]:
        """Errors keep the frames that they came through: they must not be kept themselves."""
        bad = self.X.copy()
        bad[7, 1] = np.nan
        features = qf.RandomFourier(n_components=64).fit(self.X)
        damaged = self.folder / "damaged.qf"
        damaged.write_bytes((self.folder / "model.qf").read_bytes()[:-100])
        calls: list[Callable[[], Any]] = [
            lambda: features.transform(bad),
            lambda: qf.KernelRegressor(features).fit(bad, self.y),
            lambda: qf.load(damaged),
        ]
        for call in calls:
            with contextlib.suppress(ValueError):
                call()
                yield np.array(["no refusal"])

    def reloaded(self, estimator: Any) -> Any:
        qf.save(estimator, self.folder / "model.qf")
        return qf.load(self.folder / "model.qf")
