"""Kernels learned from targets: useless columns, hard data, and the cost of learning.

    python benchmarks/learned_kernels.py [noise] [hard] [cost] [--draws 20] [--rows 1000000]

`noise` adds 30 columns of noise to kin8nm (from the folder QUADFEAT_DATA): the ratio of errors with
and without them, and whether the importances rank the true 8 columns first. `hard` compares the
default with one length scale from the targets, `Gaussian("tuned")`, on data with few rows, many
columns, degenerate columns, outliers or a rare class. `cost` times default fits, and a fit of many
rows with and without a given kernel. Prints each figure with its target.
"""

from __future__ import annotations

import argparse
import os
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import make_friedman1
from sklearn.metrics import log_loss

import quadfeat as qf

Split = tuple[Any, Any, Any, Any]  # training rows and targets, test rows and targets


def show(what: str, value: float, limit: float, unit: str = "") -> None:
    """Print one line: a figure, its target, and whether it is met."""
    verdict = "met" if value <= limit else "NOT MET"
    print(f"{what:58} {value:8.3f}{unit} (at most {limit:g}{unit}) {verdict}", flush=True)


# --- columns of noise
def noise() -> None:
    """kin8nm with 30 columns of noise, mean over 3 splits."""
    path = Path(os.environ["QUADFEAT_DATA"]) / "kin8nm.npz"
    with np.load(path) as file:
        X, y = np.asarray(file["X"], dtype=float), np.asarray(file["y"], dtype=float)
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    ratios, first = [], 0
    for seed in range(3):
        rng = np.random.default_rng(seed)
        order = rng.permutation(len(X))
        train, test = order[len(X) // 5 :], order[: len(X) // 5]
        wide = np.hstack([X, rng.normal(size=(len(X), 30))])
        errors = []
        for rows in (X, wide):
            model = qf.KernelRegressor(qf.KernelFeatures(n_components=1024))
            model.fit(rows[train], y[train])
            errors.append(_rmse(y[test], model.predict(rows[test])))
        first += set(np.argsort(model.feature_importances_)[-8:]) == set(range(8))
        ratios.append(errors[1] / errors[0])
        print(f"  split {seed}: {errors[0]:.4f} without, {errors[1]:.4f} with noise", flush=True)
    show("kin8nm with 30 columns of noise, by without", float(np.mean(ratios)), 1.03)
    show("splits where the true 8 columns are not first", 3 - first, 0)


# --- data that are hard to learn a kernel from
def friedman(seed: int, n: int) -> Split:
    X, y = make_friedman1(n + 2000, n_features=8, noise=1.0, random_state=seed)
    return X[:n], y[:n], X[n:], y[n:]


def degenerate(seed: int) -> Split:
    """A constant column, two copies of others."""
    X, y, A, b = friedman(seed, 200)
    wide, other = (np.hstack([Z, np.ones((len(Z), 1)), Z[:, :2]]) for Z in (X, A))
    return wide, y, other, b


def outliers(seed: int) -> Split:
    """One training target in 50 is off by 20 deviations; test targets are not."""
    X, y, A, b = friedman(seed, 200)
    far = np.random.default_rng(seed).choice(200, 4, replace=False)
    y = y.copy()
    y[far] += 20 * y.std()
    return X, y, A, b


def wide(seed: int) -> Split:
    """60 rows of 100 columns, three of which matter."""
    X = np.random.default_rng(seed).normal(size=(2060, 100))
    y = X[:, 0] + np.sin(2 * X[:, 1]) + X[:, 2] ** 2 / 2
    return X[:60], y[:60], X[60:], y[60:]


def rare(seed: int) -> Split:
    """One row in 40 is of the class inside a ball."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(4400, 5))
    inside = np.linalg.norm(X - 0.5, axis=1)
    y = (inside < np.quantile(inside, 0.025)).astype(int)
    y[:2] = 0, 1
    return X[:400], y[:400], X[400:], y[400:]


def hard(draws: int) -> None:
    """The ratio of errors of the default and of one length scale, over draws of each case."""
    cases: dict[str, Callable[[int], Split]] = {
        "friedman1, 100 rows": lambda seed: friedman(seed, 100),
        "60 rows of 100 columns": wide,
        "constant and repeated columns": degenerate,
        "outliers in y": outliers,
        "a rare class, log loss": rare,
    }
    for name, case in cases.items():
        losses = []
        for seed in range(draws):
            X, y, A, b = case(seed)
            kind = qf.KernelClassifier if y.dtype == int else qf.KernelRegressor
            losses.append([])
            for kernel in (None, qf.Gaussian("tuned")):
                model = kind(qf.KernelFeatures(kernel)).fit(X, y)
                losses[-1].append(
                    log_loss(b, model.predict_proba(A))
                    if kind is qf.KernelClassifier
                    else _rmse(b, model.predict(A))
                )
        mean = np.mean(losses, axis=0)
        print(f"  {name}: default {mean[0]:.4f}, one length scale {mean[1]:.4f}", flush=True)
        show(f"{name}, by one length scale", float(mean[0] / mean[1]), 1.02)


# --- what it costs
def cost(rows: int) -> None:
    """CPU time of default fits on one thread."""
    times = {}
    for n, d, limit in ((300, 8, 3.0), (10_000, 32, 30.0)):
        X, y = waves(n, d)
        times[n] = _time(qf.KernelRegressor(), X, y)
        show(f"default fit, {n:,} x {d}", times[n], limit, " s")
    X, y = waves(rows, 32)
    given = qf.KernelRegressor(qf.KernelFeatures(qf.Gaussian("median")))
    fixed, chosen = _time(given, X, y), _time(qf.KernelRegressor(), X, y)
    print(
        f"  {rows:,} x 32: {fixed:.1f} s with the kernel given, {chosen:.1f} s without", flush=True
    )
    show(f"{rows:,} x 32, beyond the kernel given", chosen - fixed, times[10_000], " s")


def waves(n: int, d: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)
    return X, y


def _time(model: Any, X: Any, y: Any) -> float:
    start = time.process_time()
    model.fit(X, y)
    return time.process_time() - start


def _rmse(y: Any, predicted: Any) -> float:
    return float(np.sqrt(np.mean((y - predicted) ** 2)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", metavar="noise|hard|cost")
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    parts = options.parts or ["cost", "hard", "noise"]
    if "cost" in parts:
        cost(options.rows)
    if "hard" in parts:
        hard(options.draws)
    if "noise" in parts:
        noise()


if __name__ == "__main__":
    main()
