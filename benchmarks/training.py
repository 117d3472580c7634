"""Training compared with usual pipelines: seconds, rows per second, peak memory, accuracy.

    python benchmarks/training.py [--quick] [--only NAME ...] [--out FILE]

Every fit runs in a separate process, one after the other, so that peak memory is per fit. Data sets
come from the folder QUADFEAT_DATA; parts that need them are skipped without it. `--quick` takes a
tenth of the rows or less. Times are wall seconds and CPU seconds; only the latter can be compared
on a busy machine.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LogisticRegression, RidgeClassifier, SGDClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import quadfeat as qf
from quadfeat.data.atomic import replace

Record = dict[str, Any]
JOBS: dict[str, Callable[[bool], Record]] = {}
NEEDS_DATA: set[str] = set()


def job(data: bool = False) -> Callable[[Callable[[bool], Record]], Callable[[bool], Record]]:
    """A fit to run in a separate process; `data` if it needs the folder of data sets."""

    def register(function: Callable[[bool], Record]) -> Callable[[bool], Record]:
        JOBS[function.__name__] = function
        if data:
            NEEDS_DATA.add(function.__name__)
        return function

    return register


def timed(work: Callable[[], Any]) -> tuple[Any, Record]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def fitted(model: Any, X: Any, y: Any, X_test: Any, y_test: Any) -> Record:
    model, record = timed(lambda: model.fit(X, y))
    return record | {"rows": len(X), "score": float(model.score(X_test, y_test))}


def loaded(name: str) -> Any:
    return np.load(Path(os.environ["QUADFEAT_DATA"]) / f"{name}.npz")


# --- covtype: 581,012 rows, 54 columns, 2000 features ---
def covtype(quick: bool) -> tuple[Any, ...]:
    file = loaded("covtype")
    hot = [file[name][:, None] == np.unique(file[name]) for name in ("wilderness", "soil")]
    X, y = np.hstack([file["X_num"], *hot]).astype(np.float64), file["y"]
    order = np.random.default_rng(0).permutation(len(X))[: 60_000 if quick else None]
    train, test = order[: -len(order) // 10], order[-len(order) // 10 :]
    scaler = StandardScaler().fit(X[train])
    X = scaler.transform(X)
    return X[train], y[train], X[test], y[test]


GAMMA = 0.05  # of covtype, for every pipeline
WIDTH = 2000


def covtype_rows() -> int:
    """As many rows as the peers can hold: three float64 copies of their features, 24 GB."""
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return int(0.75 * memory / (3 * 8 * WIDTH))


def covtype_model() -> qf.KernelClassifier:
    return qf.KernelClassifier(
        qf.QuasiRandomFourier(qf.Gaussian(GAMMA), n_components=WIDTH, random_state=0)
    )


@job(data=True)
def covtype_ours(quick: bool) -> Record:
    X, y, X_test, y_test = covtype(quick)
    rows = covtype_rows()
    return fitted(covtype_model(), X[:rows], y[:rows], X_test, y_test)


@job(data=True)
def covtype_ours_float32(quick: bool) -> Record:
    """The same float64 rows; features in single precision."""
    X, y, X_test, y_test = covtype(quick)
    rows, model = covtype_rows(), covtype_model().set_params(dtype="float32")
    return fitted(model, X[:rows], y[:rows], X_test, y_test)


@job(data=True)
def covtype_chosen_float32(quick: bool) -> Record:
    """The same, with the map chosen too: only the kernel is given, as for the peers."""
    X, y, X_test, y_test = covtype(quick)
    features = qf.KernelFeatures(qf.Gaussian(GAMMA), n_components=WIDTH)
    model = qf.KernelClassifier(features, dtype="float32")
    rows = covtype_rows()
    return fitted(model, X[:rows], y[:rows], X_test, y_test)


@job(data=True)
def covtype_ours_all_rows(quick: bool) -> Record:
    return fitted(covtype_model(), *covtype(quick))


def covtype_peer(quick: bool, last: Any, dtype: Any = np.float64) -> Record:
    X, y, X_test, y_test = covtype(quick)
    rows, X, X_test = covtype_rows(), X.astype(dtype), X_test.astype(dtype)
    sampler = RBFSampler(gamma=GAMMA, n_components=WIDTH, random_state=0)
    return fitted(make_pipeline(sampler, last), X[:rows], y[:rows], X_test, y_test)


@job(data=True)
def covtype_rbf_sampler_ridge(quick: bool) -> Record:
    return covtype_peer(quick, RidgeClassifier())


@job(data=True)
def covtype_rbf_sampler_ridge_float32(quick: bool) -> Record:
    """Features and solution in single precision, if the rows are."""
    return covtype_peer(quick, RidgeClassifier(), np.float32)


@job(data=True)
def covtype_rbf_sampler_sgd(quick: bool) -> Record:
    return covtype_peer(quick, SGDClassifier(random_state=0))


# --- a million rows ---
def million(quick: bool) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(100_000 if quick else 1_000_000, 40)).astype(np.float32)
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


@job()
def million_ours(quick: bool) -> Record:
    X, y = million(quick)
    features = qf.QuasiRandomFourier(
        qf.Gaussian(0.01), n_components=1024 if quick else 4096, random_state=0
    )
    return fitted(qf.KernelRegressor(features), X, y, X[:5000], y[:5000])


@job()
def million_bare_products(quick: bool) -> Record:
    """The symmetric rank-k products of the same shapes and precision, and nothing else."""
    from scipy.linalg.blas import ssyrk

    rows, p = (100_000, 1024) if quick else (1_000_000, 4096)
    Z = np.random.default_rng(0).normal(size=(8192, p)).astype(np.float32)
    total = np.zeros((p, p), dtype=np.float32, order="F")

    def products() -> None:
        for start in range(0, rows, 8192):
            some = Z[: min(8192, rows - start)]
            ssyrk(1.0, some.T, 1.0, total, 0, 1, 1)

    return timed(products)[1] | {"rows": rows}


@job()
def parquet_ours(quick: bool) -> Record:
    """Ten million rows of a file; the peak at a tenth and at the end shows that memory is flat."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rows = 500_000 if quick else 10_000_000
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        names = [f"x{i}" for i in range(10)]
        schema = pa.schema([(name, pa.float32()) for name in [*names, "y"]])
        with pq.ParquetWriter(path, schema) as writer:
            for _ in range(rows // 100_000):
                X = rng.normal(size=(100_000, 10)).astype(np.float32)
                columns = [*X.T, np.sin(X[:, 0]) + X[:, 1]]
                writer.write_table(pa.table(dict(zip(schema.names, columns, strict=True))))
        features = qf.QuasiRandomFourier(qf.Gaussian(0.02), n_components=512, random_state=0)
        peaks: list[float] = []
        model, record = timed(lambda: _Watched(features, peaks=peaks).fit(path, "y"))
        X = rng.normal(size=(5000, 10)).astype(np.float32)
        score = model.score(X, np.sin(X[:, 0]) + X[:, 1])
    early = peaks[len(peaks) // 10]
    return record | {"rows": rows, "score": score, "peak_gb_at_a_tenth": early}


class _Watched(qf.KernelRegressor):
    """A regressor that notes the peak memory at every block."""

    def __init__(self, features: Any = None, *, peaks: Any = None) -> None:
        super().__init__(features)
        self.peaks = peaks

    def _encoded(self, block: Any) -> tuple[Any, Any]:
        self.peaks.append(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20)
        return super()._encoded(block)


# --- MNIST ---
def mnist(quick: bool) -> tuple[Any, ...]:
    file = loaded("mnist")
    parts = [file[f"X_{part}"].reshape(-1, 784).astype(np.float32) / 255 for part in TRAIN_TEST]
    rows = 10_000 if quick else 60_000
    return parts[0][:rows], file["y_train"][:rows], parts[1], file["y_test"]


TRAIN_TEST = ("train", "test")


@job(data=True)
def mnist_nothing_given(quick: bool) -> Record:
    features = qf.KernelFeatures(n_components=1024 if quick else 4096)
    return fitted(qf.KernelClassifier(features), *mnist(quick))


@job(data=True)
def mnist_convolution(quick: bool) -> Record:
    columns = 5_760 if quick else 28_800
    kernel = qf.Convolution((28, 28), (5, 5), base=qf.Gaussian(0.1))
    features = qf.RandomFourier(kernel, n_components=columns, random_state=0)
    return fitted(qf.KernelClassifier(features), *mnist(quick))


def mnist_peer(quick: bool, kind: Any, last: Any) -> Record:
    width = 1024 if quick else 4096
    # A length scale of half the median distance between images; not tuned, while ours is.
    sampler = kind(gamma=0.02, n_components=width, random_state=0)
    return fitted(make_pipeline(sampler, last), *mnist(quick))


@job(data=True)
def mnist_nystroem_ridge(quick: bool) -> Record:
    return mnist_peer(quick, Nystroem, RidgeClassifier())


@job(data=True)
def mnist_rbf_sampler_logistic(quick: bool) -> Record:
    return mnist_peer(quick, RBFSampler, LogisticRegression())


# --- exact kernel machines, where they fit ---
def small(name: str) -> tuple[Any, ...]:
    file = loaded(name)
    X, y = file["X"].astype(np.float64), file["y"]
    order = np.random.default_rng(0).permutation(len(X))
    train, test = order[: len(X) * 3 // 4], order[len(X) * 3 // 4 :]
    X = StandardScaler().fit(X[train]).transform(X)
    return X[train], y[train], X[test], y[test]


@job(data=True)
def kin8nm_ours(quick: bool) -> Record:
    return fitted(qf.KernelRegressor(qf.KernelFeatures(n_components=2048)), *small("kin8nm"))


@job(data=True)
def kin8nm_exact(quick: bool) -> Record:
    return fitted(KernelRidge(alpha=0.1, kernel="rbf", gamma=0.05), *small("kin8nm"))


@job(data=True)
def letter_ours(quick: bool) -> Record:
    return fitted(qf.KernelClassifier(qf.KernelFeatures(n_components=2048)), *small("letter"))


@job(data=True)
def letter_exact(quick: bool) -> Record:
    return fitted(SVC(C=10, gamma=0.1), *small("letter"))


# --- all of them ---
def run(name: str, quick: bool) -> Record:
    """One job in a separate process."""
    command = [sys.executable, __file__, "--job", name, *(["--quick"] if quick else [])]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        reason = done.stderr.strip().splitlines() or [f"stopped with code {done.returncode}"]
        return {"job": name, "failed": reason[-1]}
    return {"job": name, "quick": quick} | json.loads(done.stdout.splitlines()[-1])


def line(record: Record) -> str:
    if "failed" in record:
        return f"{record['job']:28} failed: {record['failed']}"
    rate, score = record["rows"] / record["seconds"], record.get("score")
    return (
        f"{record['job']:28} {record['rows']:>10,} {record['seconds']:9.1f} "
        f"{record['cpu_seconds']:9.1f} {rate:12,.0f} {record['peak_gb']:8.2f}"
        + (f" {score:8.4f}" if score is not None else "")
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="*", default=[], help="jobs whose name starts with these")
    parser.add_argument("--out", type=Path, help="file for records, one JSON line each")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        print(json.dumps(JOBS[args.job](args.quick)))
        return
    print(f"{'':28} {'rows':>10} {'seconds':>9} {'CPU s':>9} {'rows/s':>12} {'peak GB':>8} score")
    records = []
    for name in JOBS:
        chosen = not args.only or name.startswith(tuple(args.only))
        if not chosen or (name in NEEDS_DATA and not os.environ.get("QUADFEAT_DATA")):
            continue
        records.append(run(name, args.quick))
        print(line(records[-1]), flush=True)
    if args.out:
        replace(args.out, "".join(json.dumps(record) + "\n" for record in records))


if __name__ == "__main__":
    main()
