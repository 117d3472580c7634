"""Times of this version relative to another: fits and single rows, side by side.

    python benchmarks/versions.py --before PYTHON [--path FOLDER] [--repeats 11] [--only NAME ...]

`--before` is the interpreter of the other version, `--path` the folder of its sources if it is not
installed there. Each version waits in a separate process and they take turns, so that a busy
machine slows both. Prints the median of the ratios of neighbouring turns, with a 95% interval
(order statistics), and exits with 1 if an interval lies above `--most`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Callable
from math import comb
from typing import Any

import numpy as np

Timed = Callable[[], object]


def rows(n: int, d: int) -> Any:
    return np.random.default_rng(0).normal(size=(n, d))


def target(X: Any) -> Any:
    return np.sin(X[:, 0]) + X[:, 1] * X[:, 2]


def front_door(n: int, d: int, p: int, **options: Any) -> Timed:
    import quadfeat as qf

    X = rows(n, d)
    kernel = qf.Gaussian(0.5 / d)
    return lambda: qf.KernelFeatures(kernel, n_components=p, random_state=0, **options).fit(X)


def fit(name: str, p: int, **options: Any) -> Timed:
    import quadfeat as qf

    X, kernel = rows(2000, 8), qf.Gaussian(0.06)
    return lambda: getattr(qf, name)(kernel, n_components=p, **options).fit(X)


def single(name: str, **options: Any) -> Timed:
    import quadfeat as qf

    X = rows(2000, 8)
    features = getattr(qf, name)(qf.Gaussian(0.06), n_components=64, **options).fit(X)
    row = X[:1].copy()

    def many() -> None:
        for _ in range(300):
            features.transform(row)

    return many


def block(name: str, **options: Any) -> Timed:
    import quadfeat as qf

    X = rows(20_000, 8)
    features = getattr(qf, name)(qf.Gaussian(0.06), n_components=256, **options).fit(X[:2000])
    return lambda: features.transform(X)


def model(name: str, n: int, **options: Any) -> Timed:
    import quadfeat as qf

    X = rows(n, 8)
    y = target(X) if name == "KernelRegressor" else target(X) > 0
    features = qf.KernelFeatures(n_components=128, random_state=0)
    return lambda: getattr(qf, name)(features, **options).fit(X, y)


JOBS: dict[str, Callable[[], Timed]] = {
    "KernelFeatures 2,000 x 8, p=64": lambda: front_door(2000, 8, 64),
    "KernelFeatures 2,000 x 8, p=256": lambda: front_door(2000, 8, 256),
    "KernelFeatures 5,000 x 8, p=1,024": lambda: front_door(5000, 8, 1024),
    "KernelFeatures 30,000 x 4, p=128": lambda: front_door(30_000, 4, 128),
    "KernelFeatures 500 x 60, p=128": lambda: front_door(500, 60, 128),
    "KernelFeatures shift-invariant, p=64": lambda: front_door(1000, 6, 64, shift_invariant=True),
    "HermiteMercer fit, p=1,024": lambda: fit("HermiteMercer", 1024),
    "Landmarks fit, p=256": lambda: fit("Landmarks", 256, random_state=0),
    "ReweightedGrid fit, p=256": lambda: fit("ReweightedGrid", 256, random_state=0),
    "regressor 2,000 x 8": lambda: model("KernelRegressor", 2000),
    "classifier 2,000 x 8, logistic": lambda: model("KernelClassifier", 2000, loss="logistic"),
    "regressor 50,000 x 8, alpha given": lambda: model("KernelRegressor", 50_000, alpha=1.0),
    "single rows, Landmarks": lambda: single("Landmarks", random_state=0),
    "single rows, HermiteMercer": lambda: single("HermiteMercer"),
    "single rows, QuasiRandomFourier": lambda: single("QuasiRandomFourier", random_state=0),
    "20,000 rows, Landmarks": lambda: block("Landmarks", random_state=0),
    "20,000 rows, HermiteMercer": lambda: block("HermiteMercer"),
    "20,000 rows, QuasiRandomFourier": lambda: block("QuasiRandomFourier", random_state=0),
}


def serve(name: str) -> None:
    """Prepare a job; then time it once for every line of input."""
    work = JOBS[name]()
    work()
    print("ready", flush=True)
    for _ in sys.stdin:
        began = time.perf_counter()
        work()
        print(time.perf_counter() - began, flush=True)


class Version:
    """A process that waits to run one job."""

    def __init__(self, python: str, path: str | None, name: str) -> None:
        environment = dict(os.environ) | ({"PYTHONPATH": path} if path else {})
        self._process = subprocess.Popen(
            [python, __file__, "--job", name],
            env=environment,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert self._process.stdout is not None
        assert self._process.stdout.readline() == "ready\n", f"{name} failed"

    def seconds(self) -> float:
        assert self._process.stdin is not None and self._process.stdout is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def close(self) -> None:
        self._process.kill()
        self._process.wait()


def interval(ratios: Any) -> tuple[float, float]:
    """A 95% confidence interval of the median: order statistics of a fair coin."""
    n = len(ratios)
    # The largest k with P(at most k heads of n) <= 2.5%.
    chances = np.cumsum([comb(n, k) for k in range(n + 1)]) / 2.0**n
    k = max(int(np.searchsorted(chances, 0.025, side="right")), 0)
    ordered = np.sort(ratios)
    return float(ordered[max(k - 1, 0)]), float(ordered[min(n - k, n - 1)])


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--before", help="the interpreter of the other version")
    parser.add_argument("--path", help="the folder of its sources, if not installed")
    parser.add_argument("--repeats", type=int, default=11)
    parser.add_argument("--most", type=float, default=1.03)
    parser.add_argument("--only", nargs="*", default=[], help="jobs whose name starts with these")
    parser.add_argument("--job", choices=JOBS, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        serve(options.job)
        return 0
    if not options.before:
        parser.error("--before names the interpreter of the other version")
    slower = []
    print(f"{'':40}{'before':>10}{'now':>10}{'now / before':>14}{'95% interval':>16}")
    for name in JOBS:
        if options.only and not name.startswith(tuple(options.only)):
            continue
        both = [
            Version(options.before, options.path, name),
            Version(sys.executable, os.environ.get("PYTHONPATH"), name),
        ]
        times = np.array(
            [
                [version.seconds() for version in (both if turn % 2 else both[::-1])][
                    :: 1 if turn % 2 else -1
                ]
                for turn in range(options.repeats)
            ]
        )
        for version in both:
            version.close()
        ratios = times[:, 1] / times[:, 0]
        low, high = interval(ratios)
        middle = np.median(times, axis=0)
        print(
            f"{name:40}{middle[0]:10.4f}{middle[1]:10.4f}{np.median(ratios):14.3f}"
            f"{f'{low:.3f} .. {high:.3f}':>16}",
            flush=True,
        )
        if low > options.most:
            slower.append(name)
    print(f"slower: {slower}" if slower else f"no interval lies above {options.most}")
    return 1 if slower else 0


if __name__ == "__main__":
    raise SystemExit(main())
