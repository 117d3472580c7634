"""Fits by non-uniform FFTs at scale: seconds and peak memory against rows, and the exact kernel.

    python benchmarks/scale.py [--quick] [--only NAME ...] [--out FILE]

Every case runs in a separate process, one after the other, so that peak memory is per case.
The kernel is Matern 3/2 with a length scale of a tenth of the box's side, on equispaced grids that
are certified to a kernel error of 1e-3. `--quick` takes a hundredth of the rows. Times are wall
seconds and CPU seconds.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import linalg

import quadfeat as qf

Record = dict[str, Any]
GAMMA = 50.0  # a length scale of 1 / sqrt(2 gamma) = 0.1
NOISE = 0.1
TOLERANCE = 1e-3
BLOCK = 2**20  # rows of a block of the stream


def truth(X: Any) -> Any:
    return np.sin(9 * X[:, 0]) * np.cos(7 * X[:, -1])


def rows(n: int, d: int, seed: int = 0) -> tuple[Any, Any]:
    """Uniform rows in the unit box, and noisy targets."""
    rng = np.random.default_rng(seed)
    X = rng.random((n, d))
    return X, truth(X) + NOISE * rng.standard_normal(n)


def timed(work: Callable[[], Any]) -> tuple[Any, Record]:
    wall, cpu = time.perf_counter(), time.process_time()
    result = work()
    return result, {
        "seconds": time.perf_counter() - wall,
        "cpu_seconds": time.process_time() - cpu,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def kernel(product: bool) -> qf.Matern:
    return qf.Matern(1.5, GAMMA, product=product)


def described(model: Any, d: int) -> Record:
    """The error of the function at new rows, and the proven error of the kernel."""
    X = np.random.default_rng(1).random((100_000, d))
    predicted, record = timed(lambda: model.predict(X))
    return {
        "solver": model.solver_,
        "columns": model.features_.n_columns_,
        "alpha": model.alpha_,
        "noise": model.noise_,
        "kernel_error": model.features_.certificate(box=np.ones(d)).value,
        "function_error": float(np.sqrt(np.square(predicted - truth(X)).mean())),
        "predict_seconds_100k": record["seconds"],
    }


def plane(n: int, *, product: bool = True, alpha: Any = 1.0, name: str = "toeplitz") -> Record:
    """2 axes, rows in memory."""
    X, y = rows(n, 2)
    grid = qf.DenseGrid(kernel(product), tol=TOLERANCE)
    model = qf.KernelRegressor(grid, alpha=alpha, solver=name, verbose=False)
    model, record = timed(lambda: model.fit(X, y))
    return record | {"rows": n} | described(model, 2)


def stream(n: int) -> Record:
    """1 axis, rows generated block by block and never held."""

    def blocks() -> Iterator[tuple[Any, Any]]:
        for number, start in enumerate(range(0, n, BLOCK)):
            yield rows(min(BLOCK, n - start), 1, seed=number)

    grid = qf.DenseGrid(kernel(True), tol=TOLERANCE)
    model = qf.KernelRegressor(grid, solver="toeplitz", alpha=1.0, verbose=False)
    model, record = timed(lambda: model.fit(blocks))
    return record | {"rows": n} | described(model, 1)


def exact(n: int, *, product: bool) -> Record:
    """Predictions against those of kernel ridge regression with the exact kernel."""
    X, y = rows(n, 2)
    new, alpha = np.random.default_rng(2).random((2000, 2)), 1.0
    grid = qf.DenseGrid(kernel(product), tol=TOLERANCE)
    model = qf.KernelRegressor(grid, alpha=alpha, solver="toeplitz", verbose=False).fit(X, y)
    matrix = np.ones((n + 1, n + 1))
    matrix[:n, :n] = kernel(product)(X) + alpha * np.eye(n)
    matrix[n, n] = 0.0
    dual = linalg.solve(matrix, np.append(y, 0.0), assume_a="sym")
    predicted = kernel(product)(new, X) @ dual[:n] + dual[n]
    bound = model.prediction_bound(new)
    return {
        "rows": n,
        "columns": model.features_.n_columns_,
        "largest_gap": float(np.abs(model.predict(new) - predicted).max()),
        "estimated": bound.estimated,
        "proven": bound.proven,
        "kernel_error": bound.kernel_error,
    }


CASES: dict[str, Callable[[float], Record]] = {
    "plane-1e5": lambda share: plane(int(1e5 * share)),
    "plane-1e6": lambda share: plane(int(1e6 * share)),
    "plane-1e7": lambda share: plane(int(1e7 * share)),
    "plane-1e7-auto": lambda share: plane(int(1e7 * share), alpha="auto"),
    "plane-1e7-isotropic": lambda share: plane(int(1e7 * share), product=False),
    "line-1e6-stream": lambda share: stream(int(1e6 * share)),
    "line-1e7-stream": lambda share: stream(int(1e7 * share)),
    "line-1e8-stream": lambda share: stream(int(1e8 * share)),
    "exact-product": lambda share: exact(5000 if share == 1 else 1000, product=True),
    "exact-isotropic": lambda share: exact(5000 if share == 1 else 1000, product=False),
}


def slopes(records: dict[str, Record]) -> Iterator[str]:
    """Seconds and memory per row, between the smallest and the largest number of rows."""
    for family in ("plane", "line"):
        known = [
            record
            for name, record in records.items()
            if name.startswith(family) and name.removesuffix("-stream").count("-") == 1
        ]
        if len(known) > 1:
            first, last = (known[0], known[-1])
            ratio = np.log(last["rows"] / first["rows"])
            seconds = np.log(last["seconds"] / first["seconds"]) / ratio
            grown = last["peak_gb"] - first["peak_gb"]
            yield f"{family}: seconds grow like rows^{seconds:.2f}, memory by {grown:.2f} GB"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only", nargs="+", choices=CASES, default=list(CASES))
    parser.add_argument("--out", type=Path, default=Path("build/scale.json"))
    parser.add_argument("--case", choices=CASES, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.case:
        print(json.dumps(CASES[options.case](0.01 if options.quick else 1.0)))
        return
    records: dict[str, Record] = {}
    for name in options.only:
        command = [sys.executable, __file__, "--case", name, *["--quick"] * options.quick]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            sys.exit(f"{name} failed:\n{run.stderr}")
        records[name] = json.loads(run.stdout.splitlines()[-1])
        told = ", ".join(
            f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}"
            for key, value in records[name].items()
        )
        print(f"{name}: {told}", flush=True)
    for line in slopes(records):
        print(line)
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(records, indent=1))


if __name__ == "__main__":
    main()
