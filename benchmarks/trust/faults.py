"""Killed processes and workers, full disks, and what does not fit into memory.

Full disks are small file systems in memory where they can be mounted, else limits of file sizes.
"""

from __future__ import annotations

import contextlib
import logging
import os
import resource
import shutil
import signal
import subprocess
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse
from sklearn.base import clone

import quadfeat as qf
from benchmarks.kill_resume import fits
from quadfeat import rules
from quadfeat._checks import available_memory
from quadfeat.app.memory import peak_memory
from tests.models.killing import duration, killed_until_done, same_model

from .table import Effort, Row
from .writing import OLD, Child, Job, jobs

_PAGE = 4096
_REFUSAL = 50 << 20  # bytes that a process may grow by before it refuses
_CPU = 10.0  # seconds that a refusal may take
_HUGE = 10**9


def run(effort: Effort) -> Iterator[Row]:
    warnings.simplefilter("ignore")
    yield killed_fits(effort)
    written = list(jobs(effort.folder))
    yield killed_saves(effort, next(job for job in written if job.name == "save"))
    yield full_disks(effort, written)
    yield from refusals(effort)
    yield sparse_rows(effort)
    yield from peaks(effort)
    if not effort.quick:
        yield killed_workers(effort)
        yield many_elements()


# --- kill -9 --------------------------------------------------------------------------------------
def killed_fits(effort: Effort) -> Row:
    """Fits that are killed and resumed until they end, as in `kill_resume`."""
    row = Row("kill -9 of checkpointed fits, resumed: the same model")
    rng = np.random.default_rng(effort.seed)
    for name, (make, data) in fits(effort.folder, effort.of(20_000, 100_000)).items():
        whole = effort.folder / f"{name}-whole"
        whole.mkdir()
        seconds = duration(make, data, whole)
        kills, wanted = 0, effort.of(2, 50)
        for i in effort.times(wanted, wanted):
            if kills >= wanted:
                break
            folder = effort.folder / f"{name}-{i}"
            folder.mkdir()
            case = f"{name}, fit {i}, seed {effort.seed}"
            try:
                killed = killed_until_done(make, data, folder, seconds, rng, wanted - kills)
            except (AssertionError, ValueError) as error:
                row.add(fault=f"{type(error).__name__}: {error}", case=case)
                break
            kills += killed
            row.require(same_model(folder / "model.qf", whole / "model.qf"), case)
            row.tried += max(0, killed - 1)  # moments, not fits
    return row


def killed_saves(effort: Effort, job: Job) -> Row:
    """The file is old or whole, and the next `save` removes what a killed one has left."""
    row = Row("kill -9 of saves: the file is old or whole, and the next leaves no other")
    rng = np.random.default_rng(effort.seed)
    for i in effort.times(2, 100):
        folder = effort.folder / f"killed-{i}"
        folder.mkdir()
        (folder / job.output).write_bytes(OLD)
        status, _ = job.started(folder).stop(signal.SIGKILL, float(rng.uniform()) * job.seconds)
        fault = job.fault(folder, status, had=True, killed=True)
        job.started(folder).wait()
        fault = fault or job.fault(folder, 0, had=True)
        row.add(fault=fault, case=f"moment {i}, seed {effort.seed}")
    return row


def killed_workers(effort: Effort) -> Row:
    """A Dask worker is killed at a random moment of every fit.

    Each has a cluster of its own, for not every killed worker is started again.
    """
    row = Row("a Dask worker killed during a fit: the same bits")
    rng = np.random.default_rng(effort.seed)
    X = rng.normal(size=(200_000, 5))
    y = np.sin(X[:, 0])
    with cluster():
        began = time.monotonic()
        told = fitted_lazily(X, y)
        seconds = time.monotonic() - began
    for i in effort.times(1, 20):
        with cluster() as client:
            pids = list(client.run(os.getpid).values())
            killer = threading.Timer(
                float(rng.uniform()) * seconds, os.kill, (pids[i % 2], signal.SIGKILL)
            )
            killer.start()
            row.require(np.array_equal(fitted_lazily(X, y), told), f"moment {i}")
            killer.join()
    return row


@contextlib.contextmanager
def cluster() -> Iterator[Any]:
    """The client of two workers of one thread, which have fitted once: imports are done."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            dashboard_address=None,
            silence_logs=logging.CRITICAL,  # of workers that die
        ) as workers,
        Client(workers) as client,
    ):
        fitted_lazily(np.eye(200)[:, :5], np.ones(200))
        yield client


def fitted_lazily(X: NDArray[Any], y: NDArray[Any]) -> NDArray[Any]:
    """The coefficients of a fit of partitions."""
    import dask.array as da

    features = qf.RandomFourier(qf.Gaussian(0.1), n_components=256, random_state=0)
    lazy = [da.from_array(each, chunks=(10_000, *each.shape[1:])) for each in (X, y)]
    model = qf.KernelRegressor(features, alpha=1e-2, verbose=False)
    return np.asarray(model.fit(*lazy).coef_)


# --- full disks -----------------------------------------------------------------------------------
def full_disks(effort: Effort, written: list[Job]) -> Row:
    """Every job with room for a part of its output only."""
    mounted = effort.folder / "disk"
    mounted.mkdir()
    can_mount = _mount(mounted, "size=1m")
    how = "full disk" if can_mount else "limited file size"
    row = Row(f"{how} at any write: an OSError that says so, the old file, no other")
    rng = np.random.default_rng(effort.seed)
    try:
        for job in written:
            size = job.whole.stat().st_size
            for i in effort.times(1, 12):
                room = int(rng.uniform() * max(size - _PAGE, 0))
                folder, log = effort.folder / f"{job.name}-full-{i}", effort.folder / "log"
                if can_mount:
                    folder = mounted
                    pages = 2 + room // _PAGE  # one is taken by the old file
                    _mount(mounted, f"remount,size={pages * _PAGE}")
                else:
                    folder.mkdir()
                (folder / job.output).write_bytes(OLD)
                limit = None if can_mount else room
                status = Child(partial(_limited, job.run, folder, limit), log).wait()
                fault = job.fault(folder, status, had=True) or _unnamed(job, status, log)
                row.add(fault=fault, case=f"{job.name}, {room:,} bytes")
                for path in folder.iterdir():
                    path.unlink()
    finally:
        if can_mount:
            subprocess.run(["umount", str(mounted)], check=True)
    return row


def _mount(folder: Path, options: str) -> bool:
    """A file system in memory; whether it could be mounted."""
    if shutil.which("mount") is None or os.geteuid() != 0:
        return False
    command = ["mount", "-t", "tmpfs", "-o", options, "tmpfs", str(folder)]
    return subprocess.run(command, capture_output=True).returncode == 0


def _limited(run: Callable[[Path], None], folder: Path, room: int | None) -> None:
    if room is not None:
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        hard = resource.getrlimit(resource.RLIMIT_FSIZE)[1]
        resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    run(folder)


def _unnamed(job: Job, status: int, log: Path) -> str:
    """What is missing in what a job said about a full disk, "" if nothing is."""
    said = " ".join(log.read_text().split())
    reason = "No space left" in said or "File too large" in said
    if status == 1 and reason and f"{job.output} was not written" in said:
        return ""
    if job.name == "fit" and status == 0 and reason and "checkpoint was not written" in said:
        return ""
    return f"ended with {status} and said {said[-200:]!r}"


# --- memory ---------------------------------------------------------------------------------------
def impossible() -> dict[str, Callable[[], Any]]:
    """What needs more memory or nodes than there can be."""
    X = np.random.default_rng(0).normal(size=(50, 3))
    kernel = qf.Gaussian(0.5)
    wide = np.broadcast_to(np.zeros((1, 60)), (50, 60))
    long = np.broadcast_to(np.zeros((1, 3)), (10**7, 3))
    features = qf.RandomFourier(kernel, n_components=2**16, random_state=0).fit(X)
    of_width = {
        **{"SubsampledGrid": qf.SubsampledGrid, "PolynomiallyExact": qf.PolynomiallyExact},
        **{"ReweightedGrid": qf.ReweightedGrid, "RandomFourier": qf.RandomFourier},
        **{"OrthogonalFourier": qf.OrthogonalFourier, "SphericalRadial": qf.SphericalRadial},
        **{"QuasiRandomFourier": qf.QuasiRandomFourier, "FramedGrid": qf.FramedGrid},
        **{"HermiteMercer": qf.HermiteMercer, "Landmarks": qf.Landmarks},
        "KernelFeatures": qf.KernelFeatures,
    }
    found: dict[str, Callable[[], Any]] = {
        f"{name}(n_components=10**9)": partial(make(kernel, n_components=_HUGE).fit, X)
        for name, make in of_width.items()
    }
    laplacian = qf.Laplacian(0.5)
    return found | {
        "DenseGrid(n_points=10**9)": lambda: qf.DenseGrid(kernel, n_points=_HUGE).fit(X),
        "DenseGrid of 60 axes": lambda: qf.DenseGrid(kernel, n_points=5).fit(wide),
        "DenseGrid(tol=1e-12) far": lambda: qf.DenseGrid(kernel, tol=1e-12).fit(1e9 * X),
        "SparseGrid(level=40) of 60 axes": lambda: qf.SparseGrid(kernel, level=40).fit(wide),
        "for_tolerance, diameter 1e9": lambda: qf.DenseGrid.for_tolerance(kernel, 1e-3, 1e9),
        "for_tolerance, Laplacian": lambda: qf.DenseGrid.for_tolerance(laplacian, 1e-9, 1e9),
        "for_tolerance, 60 axes": lambda: qf.DenseGrid.for_tolerance(
            kernel, 1e-3, 10.0, n_features=60
        ),
        "gauss_hermite(10**9)": lambda: rules.gauss_hermite(_HUGE),
        "equispaced(10**9)": lambda: rules.equispaced(kernel.density, _HUGE, 0.1),
        "transform of 10**7 rows": lambda: features.transform(long),
        "approximate_kernel of 10**7 rows": lambda: features.approximate_kernel(long),
        "kernel of 10**7 rows": lambda: kernel(long),
        "error(n_pairs=10**12)": lambda: features.error(X, n_pairs=10**12),
    }


def refusals(effort: Effort) -> Iterator[Row]:
    """What cannot be made is refused before memory is taken or time is spent."""
    named = Row("more than fits into memory: refused with a ValueError")
    memory = Row("such a refusal: growth of the process", bound=_REFUSAL / 1e6, unit="MB")
    seconds = Row("such a refusal: CPU time", bound=_CPU, unit="s")
    for name, call in impossible().items():
        if effort.quick and name.startswith("for_tolerance"):
            continue  # seconds each
        fault = "is not refused"
        began = time.process_time()
        with peak_memory() as peak:
            try:
                call()
            except ValueError:
                fault = ""
            except Exception as error:
                fault = f"{type(error).__name__}: {error}"
        seconds.add(time.process_time() - began, case=name)
        named.add(fault=fault, case=name)
        if peak.bytes is not None:
            memory.add(peak.bytes / 1e6, case=name)
    yield from (named, memory, seconds)


def many_elements() -> Row:
    """More elements than 32 bits count, in the output of one transform."""
    row = Row("a transform of more than 2^31 elements: rows have the bits that they have alone")
    if available_memory() < 10 << 30:
        row.add()
        row.notes.append("not tried: less than 10 GB of memory are free")
        return row
    n, p = 2**16 + 33, 2**15
    X = np.random.default_rng(0).normal(size=(n, 3)).astype(np.float32)
    features = qf.RandomFourier(qf.Gaussian(0.5), n_components=p, random_state=0).fit(X[:100])
    Z = features.transform(X)
    assert Z.size > 2**31
    for start in (0, n // 2, 2**16 - 20, n - 40):
        some = slice(start, start + 40)
        row.require(np.array_equal(Z[some], features.transform(X[some])), f"rows from {start}")
    return row


def sparse_rows(effort: Effort) -> Row:
    """CSR of 200,000 columns with 64-bit indices, beside 32-bit ones and dense rows."""
    row = Row("CSR of 200,000 columns and 64-bit indices: the bits of dense rows")
    rng = np.random.default_rng(effort.seed)
    n, d = effort.of(60, 2000), 200_000
    X = sparse.random_array((n, d), density=1e-4, format="csr", rng=rng)
    wide = sparse.csr_array(
        (X.data, X.indices.astype(np.int64), X.indptr.astype(np.int64)), X.shape
    )
    for make in (qf.RandomFourier, qf.Landmarks):
        features = make(qf.Gaussian(0.5), n_components=32, random_state=0).fit(X)
        case = make.__name__
        Z = features.transform(wide)
        row.require(np.array_equal(Z, features.transform(X)), f"{case}, 32-bit indices")
        if make is qf.RandomFourier:  # products of few rows differ in the last bits
            some = np.sort(rng.choice(n, 20, replace=False))
            dense = features.transform(X[some].toarray())
            row.require(np.array_equal(Z[some], dense), f"{case}, dense rows")
    if not effort.quick:
        model = qf.KernelRegressor(
            qf.RandomFourier(qf.Gaussian(0.5), n_components=32, random_state=0),
            alpha=1.0,
            verbose=False,
        )
        y = rng.normal(size=n)
        fits = [clone(model).fit(each, y).coef_ for each in (X, wide)]
        row.require(np.array_equal(*fits), "KernelRegressor")
    return row


def peaks(effort: Effort) -> Iterator[Row]:
    """The memory of what goes through rows in blocks, over its output, blocks and sums."""
    row = Row("peak memory over output + 2 blocks + stated sums", bound=1.0)
    n, p = effort.of(20_000, 100_000), 1024
    X = np.random.default_rng(0).normal(size=(n, 4))
    y = X[:, 0].copy()
    features = qf.RandomFourier(qf.Gaussian(0.5), n_components=p, random_state=0).fit(X[:100])
    features.transform(X[:100])  # packs the plan
    item, square = 8, 8 * p * p
    block = 4096 * p * item
    path = effort.folder / "peak.npz"
    np.savez(path, X=X, y=y)

    def through() -> None:
        for _ in features.transform_blocks(X, 4096):
            pass

    def fit(data: Any) -> Callable[[], Any]:
        return lambda: qf.KernelRegressor(features, alpha=1.0, verbose=False).fit(*data)

    # A fit goes through 8192 rows at a time; it holds the sum of squares and the system made of it.
    fits = 2 * 8192 * p * item + 2 * square
    for name, work, bound in (
        ("transform", lambda: features.transform(X), n * p * item + 2 * block),
        ("transform_blocks", through, 2 * block),
        ("fit of arrays", fit((X, y)), fits),
        ("fit of a file", fit((path,)), fits),
    ):
        with peak_memory() as peak:
            work()
        if peak.bytes is not None:
            row.add(peak.bytes / bound, case=name)
    yield row
