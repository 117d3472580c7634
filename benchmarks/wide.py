"""MNIST with tens of thousands of columns: the iterative solver beside the exact one.

    QUADFEAT_DATA=FOLDER python benchmarks/wide.py [--only NAME ...] [--out FILE]

`exact` and `iterative`: 16,384 columns, 20,000 rows, alpha given. `mnist`: 32,768 columns, 60,000
rows, alpha chosen. `best`: features of patches below a Gaussian kernel, not tuned.
Every case runs in a process of its own, so that its peak memory is
its own. The test set is looked at once per case.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import quadfeat as qf

Record = dict[str, Any]
BANDWIDTH = 0.65  # of the median distance, not tuned
FEW = 20_000


def images(part: str) -> Any:
    data = np.load(Path(os.environ["QUADFEAT_DATA"]) / "mnist.npz")
    return data[f"X_{part}"].astype(np.float32) / 255, data[f"y_{part}"]


def fitted(features: Any, train: Any, test: Any, **options: Any) -> Record:
    """Time, memory and accuracy of a fit."""
    model = qf.KernelClassifier(features, loss="ridge", verbose=False, **options)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit(*train)
    return {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
        "columns": model.features_.n_columns_,
        "rows": len(train[0]),
        "solver": model.solver_,
        "passes": getattr(model, "n_passes_", 1),
        "alpha": model.alpha_,
        "accuracy": float((model.predict(test[0]) == test[1]).mean()),
    }


def mercer(X: Any, columns: int, bandwidth: float = BANDWIDTH) -> Any:
    median = float(qf.Gaussian("median").resolve(X[:5000]).gamma)
    return qf.HermiteMercer(qf.Gaussian(median / bandwidth**2), n_components=columns)


def pixels(part: str) -> Any:
    X, y = images(part)
    return X.reshape(len(X), -1), y


def compared(solver: str) -> Record:
    X, y = pixels("train")
    features = mercer(X, 16_384)
    train = X[:FEW], y[:FEW]
    return fitted(features, train, pixels("test"), alpha=0.03, solver=solver)


def mnist() -> Record:
    X, y = pixels("train")
    return fitted(mercer(X, 32_768), (X, y), pixels("test"))


def patches(X: Any, side: int) -> Any:
    """The patches around every pixel, (n, 28, 28, side^2), zero outside."""
    edge = side // 2
    padded = np.pad(X, ((0, 0), (edge, edge), (edge, edge)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))
    return windows.reshape(len(X), 28, 28, side**2)


def lengths_and_directions(P: Any) -> tuple[Any, Any]:
    lengths = np.sqrt(np.square(P).sum(axis=-1, keepdims=True))
    return lengths, P / np.maximum(lengths, 1e-3)


class PatchFeatures:
    """Kernel features of the directions of patches, times their lengths, pooled by a Gaussian.

    One layer of a convolutional kernel network (Mairal et al., 2014).
    """

    def __init__(self, side: int = 5, columns: int = 32, stride: int = 3, width: float = 1.5):
        self.side = side
        self.map = qf.Landmarks(qf.Gaussian(2.0), n_components=columns, random_state=0)
        pixels, centres = np.arange(28), np.arange((stride - 1) / 2, 28, stride)
        pool = np.exp(-0.5 * ((centres[:, None] - pixels) / width) ** 2)
        self.pool = (pool / pool.sum(axis=1, keepdims=True)).astype(np.float32)

    def fit(self, X: Any) -> PatchFeatures:
        rng = np.random.default_rng(0)
        P = patches(X[rng.choice(len(X), 2000, replace=False)], self.side)
        lengths, directions = lengths_and_directions(P.reshape(-1, self.side**2))
        directions = directions[lengths[:, 0] > 0.3]
        self.map.fit(directions[rng.choice(len(directions), 20_000, replace=False)])
        return self

    def transform(self, X: Any) -> Any:
        parts = []
        for start in range(0, len(X), 500):
            lengths, directions = lengths_and_directions(patches(X[start : start + 500], self.side))
            Z = self.map.transform(directions.reshape(-1, self.side**2))
            Z = Z.reshape(*directions.shape[:3], -1) * lengths
            Z = np.einsum("ai,nijf->najf", self.pool, Z, optimize=True)
            Z = np.einsum("bj,najf->nabf", self.pool, Z, optimize=True)
            parts.append(Z.reshape(len(Z), -1))
        return np.concatenate(parts)


def best() -> Record:
    began = time.process_time()
    (X, y), (X_test, y_test) = images("train"), images("test")
    layer = PatchFeatures().fit(X)
    train, test = layer.transform(X), layer.transform(X_test)
    spent = time.process_time() - began
    record = fitted(mercer(train, 16_384, 0.7), (train, y), (test, y_test))
    return record | {"patch_cpu_seconds": spent}


CASES: dict[str, Callable[[], Record]] = {
    "exact": lambda: compared("products"),
    "iterative": lambda: compared("iterative"),
    "mnist": mnist,
    "best": best,
}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--out", type=Path, default=Path("build/wide.json"))
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(CASES[options.case]()))
        return
    records: dict[str, Record] = {}
    for name in options.only:
        command = [sys.executable, __file__, "--case", name]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"{name} failed:\n{run.stderr}")
        records[name] = json.loads(run.stdout.splitlines()[-1])
        told = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in records[name].items()
        )
        print(f"{name}: {told}", flush=True)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
