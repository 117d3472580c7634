"""Records behind the page on performance: python benchmarks/timings.py writes docs/timings.jsonl.

CPU seconds of all threads, which depend little on other programs. Two measurements: a fit against
the number of rows (8 columns, 256 features; also RBFSampler + Ridge; one run after a small warm-up
fit of each, because the first fit pays for imports), and the transform of a row by every map (16
columns, 256 features; the minimum of 15 runs that take turns).
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import quadfeat as qf
from quadfeat.experiments.journal import machine

TARGET = Path(__file__).parents[1] / "docs" / "timings.jsonl"


def cpu_seconds(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU time of each job over rounds in which they take turns."""
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            best[name] = min(best[name], time.process_time() - start)
    return best


def rows(n: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 8))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + rng.normal(scale=0.2, size=n)


def fits() -> list[dict[str, Any]]:
    records = []
    for n in (1_000, 3_000, 10_000, 30_000, 100_000, 300_000):
        X, y = rows(n)
        models = {
            "the kernel is given": qf.KernelRegressor(
                qf.HermiteMercer(qf.Gaussian(0.1), n_components=256)
            ),
            "one length scale is tuned": qf.KernelRegressor(
                qf.HermiteMercer(qf.Gaussian("tuned"), n_components=256)
            ),
            "everything is chosen (default)": qf.KernelRegressor(),
            "RBFSampler + Ridge, all given": make_pipeline(
                RBFSampler(gamma=0.1, n_components=256, random_state=0), Ridge(alpha=1e-2)
            ),
        }
        jobs = {name: partial(model.fit, X, y) for name, model in models.items()}
        for name, seconds in cpu_seconds(jobs, 1).items():
            records.append({"part": "fit", "rows": n, "how": name, "seconds": seconds})
    return [record for record in records if record["rows"] > 1_000]


def transforms() -> list[dict[str, Any]]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4000, 16)) @ rng.normal(size=(16, 16)) / 4
    kernel = qf.Gaussian("median").resolve(X)
    gamma = float(kernel.gamma)
    maps = {
        "HermiteMercer": qf.HermiteMercer(kernel, n_components=256),
        "RandomFourier": qf.RandomFourier(kernel, n_components=256, random_state=0),
        "ReweightedGrid": qf.ReweightedGrid(kernel, n_components=256, random_state=0),
        "Landmarks": qf.Landmarks(kernel, n_components=256, random_state=0),
        "RBFSampler": RBFSampler(gamma=gamma, n_components=256, random_state=0),
        "Nystroem": Nystroem(gamma=gamma, n_components=256, random_state=0),
    }
    exact = kernel(X[2000:3000], X[3000:])
    records = []
    jobs = {}
    for name, features in maps.items():
        features.fit(X[:2000])
        Z, W = features.transform(X[2000:3000]), features.transform(X[3000:])
        error = float(np.sqrt(np.mean((Z @ W.T - exact) ** 2)))
        records.append({"part": "transform", "map": name, "rms": error})
        jobs[name] = partial(features.transform, X)
    times = cpu_seconds(jobs, 15)
    return [{**record, "seconds": times[record["map"]] / len(X)} for record in records]


def main() -> None:
    lines = [{"part": "machine", "machine": machine()}, *transforms(), *fits()]
    TARGET.write_text("".join(json.dumps(line) + "\n" for line in lines))


if __name__ == "__main__":
    main()
