"""An hour of small work in one process: memory, objects, threads and open files stay flat.

A round fits every map and model, from memory, from files and from several threads, saves and loads
them, resumes a checkpoint, and is refused bad input. Rounds rest most of the time, for what is
returned late is returned then. The first fifth of the rounds fills caches and is not compared.
"""

from __future__ import annotations

import contextlib
import ctypes
import gc
import os
import resource
import time
import warnings
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import clone

import quadfeat as qf
from quadfeat.data.writers import sink
from tests.conftest import MAPS

from .table import Effort, Row

_MINUTES = 60.0
_BUSY = 0.3  # the share of the time that a round takes; it rests for the others
# Growth from the second fifth of the rounds to the last. A round makes arrays of 100 MB in all and
# files of 1 MB; of an hour's rounds, one array of 10 kB that each of them kept would be seen.
_BYTES = 8 << 20


def run(effort: Effort) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    minutes = min(effort.minutes, _MINUTES)
    what = "an hour of work" if minutes == _MINUTES else f"{minutes:g} minutes of work"
    rounds = Row(f"{what}: every round gives the bits of the first")
    figures = {
        "resident memory": Row(f"{what}: growth of resident memory", _BYTES / 1e6, "MB"),
        "objects": Row(f"{what}: growth of live Python objects", 0, "objects"),
        "threads": Row(f"{what}: growth of threads", 0, "threads"),
        "files": Row(f"{what}: growth of open files", 0, "files"),
    }
    work = Work(effort.folder)
    first = work.round()
    samples = []
    end = time.monotonic() + 60 * minutes
    while time.monotonic() < end or len(samples) < 5:
        began = time.monotonic()
        rounds.require(work.round() == first, f"round {len(samples)}")
        samples.append(_sample())
        time.sleep((time.monotonic() - began) * (1 / _BUSY - 1))
    yield rounds
    fifth = len(samples) // 5
    for name, row in figures.items():
        told = [sample[name] for sample in samples]
        before, after = np.median(told[fifth : 2 * fifth]), np.median(told[-fifth:])
        row.add(float(after - before), case=f"{before:.0f} before, {after:.0f} after")
        row.tried = len(samples)
        yield row


def _sample() -> dict[str, float]:
    """What must not grow, as it is now.

    The allocator first gives back what is free: its fragments differ from round to round, and took
    20 MB more after an hour whose memory in use had not grown.
    """
    gc.collect()
    with contextlib.suppress(AttributeError):  # glibc alone has it
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return {
        "resident memory": pages * resource.getpagesize() / 1e6,
        "objects": len(gc.get_objects()),
        "threads": len(os.listdir("/proc/self/task")),
        "files": len(os.listdir("/proc/self/fd")),
    }


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
