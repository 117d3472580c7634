"""MNIST with tens of thousands of columns: the iterative solver beside the exact one.

    QUADFEAT_DATA=FOLDER python benchmarks/wide.py [--only NAME ...] [--out FILE]

`exact` and `iterative`: 16,384 columns, 20,000 rows, alpha given. `mnist`: 32,768 columns, 60,000
rows, alpha chosen. `blurred`: the same rows with 65,536 columns, and with pixels blurred by the
kernel's metric, whose blur and bandwidth were chosen on the last 10,000 training rows. Every case
runs in a process of its own, so that its peak memory is its own. The test set is looked at once per
case.
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
from scipy.ndimage import gaussian_filter

import quadfeat as qf

Record = dict[str, Any]
BANDWIDTH = 0.65  # of the median distance, not tuned
FEW = 20_000
BLUR, BLURRED_BANDWIDTH = 0.75, 0.45  # pixels, and of the median distance of blurred rows


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


def mercer(X: Any, columns: int) -> Any:
    median = float(qf.Gaussian("median").resolve(X[:5000]).gamma)
    return qf.HermiteMercer(qf.Gaussian(median / BANDWIDTH**2), n_components=columns)


def pixels(part: str) -> Any:
    data = np.load(Path(os.environ["QUADFEAT_DATA"]) / "mnist.npz")
    X = data[f"X_{part}"].astype(np.float32) / 255
    return X.reshape(len(X), -1), data[f"y_{part}"]


def compared(solver: str) -> Record:
    X, y = pixels("train")
    features = mercer(X, 16_384)
    train = X[:FEW], y[:FEW]
    return fitted(features, train, pixels("test"), alpha=0.03, solver=solver)


def mnist() -> Record:
    X, y = pixels("train")
    return fitted(mercer(X, 32_768), (X, y), pixels("test"))


def blurred() -> Record:
    X, y = pixels("train")
    points = np.eye(X.shape[1]).reshape(-1, 28, 28)
    blur = gaussian_filter(points, (0, BLUR, BLUR)).reshape(len(points), -1).T
    median = float(qf.Gaussian("median").resolve(X[:5000] @ blur.T).gamma)
    kernel = qf.Gaussian(median / BLURRED_BANDWIDTH**2, metric=blur)
    features = qf.HermiteMercer(kernel, n_components=65_536)
    return fitted(features, (X, y), pixels("test"))


CASES: dict[str, Callable[[], Record]] = {
    "exact": lambda: compared("products"),
    "iterative": lambda: compared("iterative"),
    "mnist": mnist,
    "blurred": blurred,
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
