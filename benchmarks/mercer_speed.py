"""Hermite-Mercer features against Nystroem and against the engine's own Fourier pairs.

    python benchmarks/mercer_speed.py [--columns 1024] [--rows 4000] [--runs 9] [--output FILE]

One thread; every time is the minimum of interleaved runs. The engine writes into reused memory;
`Nystroem.transform` allocates its output, as in normal use. Compare the ratios, not the times.

The spread of direction i falls as i^-decay. Uncorrelated axes are the directions, and nothing is
multiplied. If axes are correlated ("turned"), every direction in use is a product with every axis;
but if all 784 matter (decay 0.5), most are in only one column, and 93 reflections turn the axes as
well. MNIST (784 axes, if QUADFEAT_DATA names its folder) uses about 400 directions.
"""

from __future__ import annotations

import argparse
import itertools
import json
import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem
from threadpoolctl import threadpool_limits

from quadfeat import _engine
from quadfeat._engine.plans import FourierPlan
from quadfeat.constructions import mercer
from quadfeat.data.atomic import replace
from quadfeat.kernels.stationary import Gaussian

AXES = (20, 64, 784)
SHAPES = ((0.0, False), (0.5, False), (0.5, True), (1.0, True))  # decay, turned


def data_sets(n: int) -> Iterator[tuple[str, Any]]:
    """Names and n rows each."""
    for d, (decay, turned) in itertools.product(AXES, SHAPES):
        rng = np.random.default_rng(0)
        X = rng.normal(size=(n, d)) / np.arange(1, d + 1) ** decay
        if turned:
            X = X @ np.linalg.qr(rng.normal(size=(d, d)))[0]
        yield f"{d:4d}, decay {decay:.1f}{', turned' if turned else ''}", X
    file = Path(os.environ.get("QUADFEAT_DATA", "")) / "mnist.npz"
    if file.exists():
        yield " 784, MNIST", np.load(file)["X_train"][:n].reshape(n, -1) / 255.0


def jobs(X: Any, p: int, dtype: Any) -> tuple[int, dict[str, Callable[[], object]]]:
    """The number of directions to multiply rows with, and jobs that compute p columns of X."""
    rng = np.random.default_rng(0)
    n, d = X.shape
    gamma = 0.5 / float(np.median(np.sum((X[::2] - X[1::2]) ** 2, axis=1)))
    basis = mercer.hermite_mercer(Gaussian(gamma), X, p)
    nodes = np.sqrt(2 * gamma) * rng.normal(size=(p // 2, d))
    plan = FourierPlan.dense(nodes, np.full(p // 2, np.sqrt(2 / p)))
    X = X.astype(dtype)
    ours, pairs, reference = (np.zeros((n, p), dtype=dtype) for _ in range(3))
    nystroem = Nystroem(gamma=gamma, n_components=p, random_state=0).fit(X)
    rotation = basis.expansions[0].rotation
    return int(rotation.shape[1] * (np.count_nonzero(rotation) > d)), {
        "mercer": lambda: _engine.mercer(X, basis, ours, 1),
        "fourier": lambda: _engine.fourier(X, plan, pairs, 1),
        "nystroem": lambda: nystroem.transform(X),
        "numpy": lambda: reference.mercer(X, basis, reference),
    }


def fastest(some: dict[str, Callable[[], object]], runs: int) -> dict[str, float]:
    best = dict.fromkeys(some, np.inf)
    for _ in range(runs):
        for name, job in some.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--rows", type=int, default=4000)
    parser.add_argument("--columns", type=int, default=1024)
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--output", type=Path)
    args = parser.parse_args()
    records = []
    print(f"{args.rows} rows, {args.columns} columns, one thread, {_engine.engine_info()['isa']}")
    print(
        "axes                     multiplied  dtype      mercer ms   Nystroem /   Fourier /   "
        "NumPy twin /"
    )
    for name, X in data_sets(args.rows):
        for dtype in (np.float32, np.float64):
            with threadpool_limits(1):
                directions, some = jobs(X, args.columns, dtype)
                best = fastest(some, args.runs)
            ours, kind = best["mercer"], np.dtype(dtype).name
            records.append(
                {
                    "data": name,
                    "directions": directions,
                    "dtype": kind,
                    "seconds": best,
                }
            )
            ratios = [best[peer] / ours for peer in ("nystroem", "fourier", "numpy")]
            print(
                f"{name:23s}  {directions:10d}  {kind}  {1e3 * ours:10.2f}   "
                f"{ratios[0]:9.1f}x  {ratios[1]:9.2f}x  {ratios[2]:12.1f}x",
                flush=True,
            )
    if args.output:
        replace(args.output, "".join(json.dumps(record) + "\n" for record in records))


if __name__ == "__main__":
    main()
