"""Predict the speed of a cluster from parts measured here, and check with 1, 2 and 4 Dask workers.

    python benchmarks/cluster.py [--columns P ...] [--rows N] [--machines M] [--gigabytes B]

In a fit on a cluster every worker computes features of its rows and adds them to sums; sums are
sent and merged in pairs, in a tree; one machine solves. So it takes, in seconds,

    rows x (seconds per row) / workers + levels of the tree x (bytes / bandwidth + merge) + solve

where partitions of one worker are merged locally. Seconds per row, bytes of the sums, merging,
packing and solving are measured on one thread; the bandwidth between machines is an assumption,
`--gigabytes` per second. The check runs the fit with workers of one thread on this machine and
compares CPU seconds: more workers than cores take longer, but not more CPU time.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from pathlib import Path
from typing import Any

os.environ["OMP_NUM_THREADS"] = os.environ["OPENBLAS_NUM_THREADS"] = "1"

import numpy as np

import quadfeat as qf
from quadfeat.models import NormalSums, fit_ridge
from quadfeat.models.stream import Rows

AXES, GAMMA, BLOCK = 16, 0.05, 8192
PARTITION = 50_000  # rows, as usual in Parquet files and Spark
Record = dict[str, Any]


def rows(n: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, AXES)).astype(np.float32)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2]


def features_of(columns: int) -> qf.QuasiRandomFourier:
    return qf.QuasiRandomFourier(qf.Gaussian(GAMMA), n_components=columns, random_state=0)


def least(job: Any, rounds: int = 3) -> float:
    best = math.inf
    for _ in range(rounds):
        start = time.process_time()
        job()
        best = min(best, time.process_time() - start)
    return best


def parts(columns: int) -> Record:
    """CPU seconds and bytes of each part of a fit."""
    X, y = rows(BLOCK)
    features = features_of(columns).fit(X)
    Z = features.transform(X)
    sums, other = NormalSums(columns, 1), NormalSums(columns, 1)

    def add() -> None:
        features.write(X, Z)
        sums.add(Z, y[:, None])

    per_row = least(add) / BLOCK
    packed = sums.to_bytes()

    def solve() -> None:
        system = sums.system(intercept=True, signs=features.signs_, copy=True)
        fit_ridge(system, 1.0, np.float32, Rows(Z[:10], y[:10, None], None))

    return {
        "columns": columns,
        "seconds_per_row": per_row,
        "bytes": len(packed),
        "merge": least(lambda: other.merge(sums)),
        "pack": least(sums.to_bytes) + least(lambda: NormalSums.from_bytes(packed)),
        "solve": least(solve, 1),
    }


def expected(part: Record, n: float, workers: int, bandwidth: float) -> float:
    """Seconds of a fit by the formula above."""
    levels = math.ceil(math.log2(max(1, workers)))
    local = max(0, n / PARTITION / workers - 1) * part["merge"]
    message = part["bytes"] / bandwidth + part["pack"] + part["merge"]
    return float(n * part["seconds_per_row"] / workers + local + levels * message + part["solve"])


def check(part: Record, n: int, workers: int) -> Record:
    """A fit on Dask workers of this machine: CPU seconds of workers and of the formula."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    X, y = rows(n)
    with (
        LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None) as cluster,
        Client(cluster) as client,
    ):
        lazy = [da.from_array(each, chunks=PARTITION // 2).persist() for each in (X, y)]
        wait(lazy)
        model = qf.KernelRegressor(features_of(part["columns"]), alpha=1.0, verbose=False)
        model.fit(*(each[: 2 * PARTITION] for each in lazy))  # imports are not part of a fit
        before = client.run(time.process_time)
        start, own = time.perf_counter(), time.process_time()
        model.fit(*lazy)
        seconds, own = time.perf_counter() - start, time.process_time() - own
        after = client.run(time.process_time)
    each = [after[name] - before[name] for name in before]
    return {
        "workers": workers,
        "rows": n,
        "columns": part["columns"],
        "seconds": seconds,
        "cpu_of_busiest": max(each),
        "cpu_of_all": sum(each),
        "cpu_of_client": own,
        "expected_busiest": expected(part | {"solve": 0.0}, n, workers, math.inf),
        "expected_all": n * part["seconds_per_row"],
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows of the check")
    parser.add_argument("--columns", type=int, nargs="+", default=[1024, 4096])
    parser.add_argument("--rows", type=int, default=400_000, help="of the check")
    parser.add_argument("--workers", type=int, nargs="*", default=[1, 2, 4])
    parser.add_argument("--machines", type=int, default=100)
    parser.add_argument("--cores", type=int, default=16, help="of one machine")
    parser.add_argument("--gigabytes", type=float, default=1.0, help="per second between machines")
    parser.add_argument("--out", type=Path, default=Path("build/cluster.jsonl"))
    options = parser.parse_args()
    records = [parts(columns) for columns in options.columns]
    for part in records:
        print({name: float(f"{value:.3g}") for name, value in part.items()}, flush=True)
        for n in (1e8, 1e9, 1e10):
            one = expected(part, n, options.cores, 1e9 * options.gigabytes)
            all_ = expected(part, n, options.cores * options.machines, 1e9 * options.gigabytes)
            print(f"  {n:.0e} rows: 1 machine {one:,.0f} s, {options.machines} {all_:,.1f} s")
    n = options.rows // 10 if options.quick else options.rows
    checks = [check(records[0], n, workers) for workers in options.workers]
    for record in checks:
        print(record, flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("".join(json.dumps(r) + "\n" for r in [*records, *checks]))


if __name__ == "__main__":
    main()
