"""Fits on an idle and on a busy machine, with the default threads of BLAS and with one.

    python benchmarks/under_load.py [--before PYTHON] [--only NAME ...] [--repeats 3] [--busy 2]

Wall seconds, each the median of fresh processes; "busy" means that `--busy` other processes compute
all the time. `times one` is the time of the default on the busy machine divided by that of one
thread (OPENBLAS_NUM_THREADS=1): the target is at most 2. `--before` names the interpreter of
another version to compare with. Data sets come from the folder QUADFEAT_DATA; jobs that need them
are skipped without it.
"""

from __future__ import annotations

import argparse
import contextlib
import io
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np

Timed = Callable[[], object]
JOBS: dict[str, Callable[[], Timed]] = {}  # each prepares a job, which is then timed
NEEDS_DATA: set[str] = set()
WAYS = {"default": {}, "one thread": {"OPENBLAS_NUM_THREADS": "1"}}
FREED = ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS", "MKL_NUM_THREADS")


def job(name: str, data: bool = False) -> Callable[[Callable[[], Timed]], Callable[[], Timed]]:
    def register(function: Callable[[], Timed]) -> Callable[[], Timed]:
        JOBS[name] = function
        if data:
            NEEDS_DATA.add(name)
        return function

    return register


@job("two-row CSV, command")
def two_rows() -> Timed:
    from quadfeat.app.main import app

    folder = Path(tempfile.mkdtemp())
    rows, others = folder / "rows.csv", folder / "others.csv"
    rows.write_text("a,b,y\n0.0,1.0,0.5\n1.0,0.0,1.5\n")
    others.write_text("a,b,y\n0.1,0.9,0.6\n0.9,0.1,1.4\n")
    asked = ["fit", str(rows), "--target", "y", "--out", str(folder / "model.qf")]
    # Two rows are too few for held-out rows.
    asked += ["--task", "regression", "--test", str(others)]
    return lambda: app(asked, standalone_mode=False)


def made(rows: int, d: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(rows, d))
    return X, np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=rows)


@job("regressor, 1,030 x 8, p=256")
def concrete_like() -> Timed:
    import quadfeat as qf

    X, y = made(1030, 8)
    return lambda: qf.KernelRegressor(qf.KernelFeatures(n_components=256)).fit(X, y)


@job("classifier, 1,030 x 8, logistic")
def logistic() -> Timed:
    import quadfeat as qf

    X, y = made(1030, 8)
    return lambda: qf.KernelClassifier(loss="logistic").fit(X, y > 0)


@job("map, 5,000 x 8, p=1,024")
def wide_map() -> Timed:
    import quadfeat as qf

    X, _ = made(5000, 8)
    return lambda: qf.KernelFeatures(qf.Gaussian(0.1), n_components=1024, random_state=0).fit(X)


@job("ReweightedGrid, 400 columns")
def reweighted() -> Timed:
    import quadfeat as qf

    X, _ = made(1000, 8)
    return lambda: qf.ReweightedGrid(qf.Gaussian(0.1), n_components=400, random_state=0).fit(X)


@job("sums, 50,000 x 8, p=2,048")
def sums() -> Timed:
    import quadfeat as qf

    X, y = made(50_000, 8)
    features = qf.QuasiRandomFourier(qf.Gaussian(0.1), n_components=2048, random_state=0)
    return lambda: qf.KernelRegressor(features, alpha=1.0).fit(X, y)


@job("predict, 50,000 x 8, compressed")
def predict() -> Timed:
    import quadfeat as qf

    X, y = made(50_000, 8)
    features = qf.HermiteMercer(qf.Gaussian(0.1), n_components=256, compress=True, random_state=0)
    model = qf.KernelRegressor(features, alpha=1.0).fit(X[:2000], y[:2000])
    return lambda: model.predict(X)


@job("kin8nm, defaults", data=True)
def kin8nm() -> Timed:
    import quadfeat as qf

    file = np.load(Path(os.environ["QUADFEAT_DATA"]) / "kin8nm.npz")
    X, y = file["X"].astype(np.float64), file["y"]
    return lambda: qf.KernelRegressor().fit((X - X.mean(axis=0)) / X.std(axis=0), y)


@job("covtype, 100,000 rows, p=512", data=True)
def covtype() -> Timed:
    import quadfeat as qf

    file = np.load(Path(os.environ["QUADFEAT_DATA"]) / "covtype.npz")
    hot = [file[name][:, None] == np.unique(file[name]) for name in ("wilderness", "soil")]
    X, y = np.hstack([file["X_num"], *hot]).astype(np.float64), file["y"]
    some = np.random.default_rng(0).permutation(len(X))[:100_000]
    X = (X[some] - X[some].mean(axis=0)) / np.maximum(X[some].std(axis=0), 1e-12)
    return lambda: qf.KernelClassifier(qf.KernelFeatures(n_components=512)).fit(X, y[some])


# --- all of them ---
@contextlib.contextmanager
def beside(count: int) -> Iterator[None]:
    """This number of processes that compute all the time."""
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(count)]
    try:
        yield
    finally:
        for process in busy:
            process.kill()
            process.wait()


def seconds(python: str, name: str, way: str) -> float:
    """One job in a separate process; nan if it fails."""
    environment = {key: value for key, value in os.environ.items() if key not in FREED}
    done = subprocess.run(
        [python, __file__, "--job", name],
        env=environment | WAYS[way],
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        print(f"{name} failed: {done.stderr.strip().splitlines()[-1:]}", file=sys.stderr)
        return float("nan")
    return float(done.stdout.splitlines()[-1])


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--before", help="the interpreter of another version to compare with")
    parser.add_argument("--only", nargs="*", default=[], help="jobs whose name starts with these")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--busy", type=int, default=2)
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if args.job:
        import quadfeat as qf

        for name in qf.__all__:  # load them now, so that imports are not timed
            getattr(qf, name)
        work = JOBS[args.job]()
        began = time.perf_counter()
        with contextlib.redirect_stdout(io.StringIO()):
            work()
        print(time.perf_counter() - began)
        return
    versions = {"before": args.before} if args.before else {}
    versions["now"] = sys.executable
    print(f"{'':39}{'idle':>22}{'busy':>22}{'busy':>10}{'idle':>10}")
    print(f"{'':39}" + 2 * f"{'default':>11}{'one thread':>11}" + 2 * f"{'times one':>10}")
    for name in JOBS:
        chosen = not args.only or name.startswith(tuple(args.only))
        if not chosen or (name in NEEDS_DATA and not os.environ.get("QUADFEAT_DATA")):
            continue
        found: dict[tuple[str, int, str], list[float]] = {}
        for busy in (0, args.busy):
            with beside(busy):
                for _ in range(args.repeats):
                    for version, python in versions.items():
                        for way in WAYS:
                            key = version, busy, way
                            found.setdefault(key, []).append(seconds(python, name, way))
        for version in versions:
            four = [
                statistics.median(found[version, busy, way])
                for busy in (0, args.busy)
                for way in WAYS
            ]
            cells = "".join(f"{value:11.2f}" for value in four)
            ratios = f"{four[2] / four[3]:10.2f}{four[0] / four[1]:10.2f}"
            print(f"{name:32} {version:6}{cells}{ratios}", flush=True)


if __name__ == "__main__":
    main()
