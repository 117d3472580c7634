"""The default models on difficult data, compared with Nystroem and a tuned ridge.

    python benchmarks/robustness.py [--draws 20] [--case NAME ...] [--out FILE]

Periodic, sorted, interleaved, weighted, duplicated, heavy-tailed, offset and tiny data: the R2 of
`KernelRegressor` (and the log loss of `KernelClassifier`) minus that of scikit-learn's Nystroem
with RidgeCV (LogisticRegressionCV), both on standardised columns, with as many columns and the
peer's gamma at one over the squared median distance. Means over draws, with their standard errors.
Exits with 1 if a mean is more than 0.02 worse.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegressionCV, RidgeCV
from sklearn.metrics import log_loss, r2_score
from sklearn.preprocessing import StandardScaler

import quadfeat as qf

MOST_WORSE = 0.02
WIDTH = 128
Rng = np.random.Generator
Data = tuple[Any, ...]  # X, y, weight or None, X and y to test on


def wave(X: Any) -> Any:
    """A smooth function of the first three columns."""
    return np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.5 * np.cos(X).sum(axis=1)


def noisy(X: Any, rng: Rng) -> Any:
    return wave(X) + 0.2 * rng.normal(size=len(X))


def split(X: Any, y: Any, rng: Rng, share: float = 0.3) -> Data:
    test = rng.random(len(X)) < share
    return X[~test], y[~test], None, X[test], y[test]


# --- cases ----------------------------------------------------------------------------------------
def plain(rng: Rng) -> Data:
    X = rng.normal(size=(1500, 4))
    return split(X, noisy(X, rng), rng)


def periodic(rng: Rng) -> Data:
    hour = np.arange(48_000) % 24
    slow = rng.normal(size=(len(hour), 2))
    X = np.column_stack([np.eye(24)[hour], slow])
    y = np.sin(hour) * slow[:, 0] + rng.normal(size=24)[hour] + 0.1 * rng.normal(size=len(hour))
    return split(X, y, rng)


def ordered(rng: Rng) -> Data:
    X = rng.normal(size=(30_000, 4))
    X = X[np.argsort(X[:, 0])]
    return split(X, noisy(X, rng), rng)


def interleaved(rng: Rng) -> Data:
    X = rng.normal(size=(40_000, 3))
    X[:, 2] = np.arange(len(X)) % 2 * 4
    y = np.where(X[:, 2] > 0, np.sin(2 * X[:, 0]), X[:, 1] ** 2) + 0.1 * rng.normal(size=len(X))
    return split(X, y, rng)


def weighted(rng: Rng) -> Data:
    """Rows with little noise weigh more: one over its variance."""
    X = rng.normal(size=(600, 4))
    deviation = np.exp(rng.normal(size=600) - 1)
    test = rng.normal(size=(1000, 4))
    y = wave(X) + deviation * rng.normal(size=600)
    return X, y, 5 / deviation**2, test, wave(test)


def heavy_weights(rng: Rng) -> Data:
    X, y, _, *test = plain(rng)
    return X[:300], y[:300], np.full(300, 100.0), *test


def duplicated(rng: Rng) -> Data:
    X, y, _, *test = plain(rng)
    copies = rng.integers(1, 6, size=300)
    return np.repeat(X[:300], copies, axis=0), np.repeat(y[:300], copies), None, *test


def replicated(rng: Rng) -> Data:
    """Few distinct x, each measured often."""
    levels = rng.normal(size=(12, 2))
    X = levels[rng.integers(12, size=400)]
    y = np.sin(2 * X[:, 0]) + X[:, 1] + 0.5 * rng.normal(size=400)
    return split(X, y, rng)


def heavy_tailed(rng: Rng) -> Data:
    X = rng.standard_t(2, size=(2000, 5))
    y = np.tanh(X[:, 0]) + np.cos(X[:, 1]) + 0.1 * rng.normal(size=2000)
    return split(X, y, rng)


def far_row(rng: Rng) -> Data:
    X = rng.normal(size=(700, 4))
    y = noisy(X, rng)
    train, y_train, _, *test = split(X, y, rng)
    train[7] = 1e4
    return train, y_train, None, *test


def offset(rng: Rng) -> Data:
    X, y, _, test, y_test = plain(rng)
    return X + 1e6, y + 1e6, None, test + 1e6, y_test + 1e6


def tiny(rng: Rng) -> Data:
    X = rng.normal(size=(1000, 2))
    y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=1000)
    return X[:25], y[:25], None, X[25:], y[25:]


def labels(rng: Rng) -> Data:
    X = rng.normal(size=(1500, 4))
    return split(X, (noisy(X, rng) > 1.3).astype(int), rng)


def labels_weighted(rng: Rng) -> Data:
    X, y, _, *test = labels(rng)
    return X[:400], y[:400], np.full(400, 50.0), *test


def labels_duplicated(rng: Rng) -> Data:
    X, y, _, *test = labels(rng)
    copies = rng.integers(1, 6, size=400)
    return np.repeat(X[:400], copies, axis=0), np.repeat(y[:400], copies), None, *test


def labels_of_few_x(rng: Rng) -> Data:
    """Binary columns: 64 different x, each with labels of both classes."""
    X = rng.integers(0, 2, size=(3000, 6)).astype(float)
    chance = 1 / (1 + np.exp(3 - 2 * X.sum(axis=1) + 3 * X[:, 0] * X[:, 1]))
    return split(X, (rng.random(3000) < chance).astype(int), rng)


def labels_ordered(rng: Rng) -> Data:
    X = rng.normal(size=(30_000, 4))
    y = (noisy(X, rng) > 1.3).astype(int)
    order = np.lexsort((X[:, 0], y))
    return split(X[order], y[order], rng)


def labels_rare(rng: Rng) -> Data:
    X = rng.normal(size=(40_000, 3))
    return split(X, (noisy(X, rng) > 4.2).astype(int), rng)


def labels_tiny(rng: Rng) -> Data:
    X = rng.normal(size=(1000, 2))
    y = (X[:, 0] + X[:, 1] ** 2 + 0.5 * rng.normal(size=1000) > 0.7).astype(int)
    return X[:30], y[:30], None, X[30:], y[30:]


REGRESSION: dict[str, Callable[[Rng], Data]] = {
    "plain": plain,
    "periodic": periodic,
    "sorted": ordered,
    "interleaved": interleaved,
    "weighted": weighted,
    "weights of 100": heavy_weights,
    "duplicated": duplicated,
    "replicated": replicated,
    "heavy-tailed": heavy_tailed,
    "one far row": far_row,
    "offset": offset,
    "tiny": tiny,
}
CLASSES: dict[str, Callable[[Rng], Data]] = {
    "labels": labels,
    "labels, weights of 50": labels_weighted,
    "labels, duplicated": labels_duplicated,
    "labels of few x": labels_of_few_x,
    "labels, sorted": labels_ordered,
    "labels, rare": labels_rare,
    "labels, tiny": labels_tiny,
}


# --- models ---------------------------------------------------------------------------------------
def scores(case: str, seed: int) -> tuple[float, float, float, float]:
    """Ours, the peer's (higher is better), and the seconds of each."""
    rng = np.random.default_rng(seed)
    classes = case in CLASSES
    X, y, weight, test, y_test = (CLASSES if classes else REGRESSION)[case](rng)
    scaler = StandardScaler().fit(X)
    X, test = scaler.transform(X), scaler.transform(test)
    features = qf.KernelFeatures(n_components=WIDTH, random_state=0)
    ours = qf.KernelClassifier(features) if classes else qf.KernelRegressor(features)
    start = time.perf_counter()
    ours.fit(X, y, sample_weight=weight)
    middle = time.perf_counter()
    some = X[rng.permutation(len(X))[:2000]]
    gamma = float(qf.Gaussian("median").resolve(some).gamma)
    width = min(WIDTH, len(X))
    nystroem = Nystroem(gamma=gamma, n_components=width, random_state=0).fit(X)
    Z = nystroem.transform(X)
    if classes:
        peer: Any = LogisticRegressionCV(Cs=7, max_iter=1000, scoring="neg_log_loss")
    else:
        peer = RidgeCV(np.logspace(-6, 3, 19))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        warnings.simplefilter("ignore", FutureWarning)
        peer.fit(Z, y, sample_weight=weight)
    end = time.perf_counter()
    both = []
    for model, rows in ((ours, test), (peer, nystroem.transform(test))):
        if classes:
            both.append(-log_loss(y_test, model.predict_proba(rows)))
        else:
            both.append(r2_score(y_test, model.predict(rows)))
    return both[0], both[1], middle - start, end - middle


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--case", nargs="*", default=[*REGRESSION, *CLASSES])
    parser.add_argument("--out")
    options = parser.parse_args()
    print(f"{'':24}{'ours':>8}{'peer':>8}{'ours - peer':>18}{'worst':>9}{'s':>7}{'s':>7}")
    failed, records = [], []
    for case in options.case:
        rows = np.array([scores(case, seed) for seed in range(options.draws)])
        gain = rows[:, 0] - rows[:, 1]
        error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
        mean, seconds = rows.mean(axis=0), np.median(rows[:, 2:], axis=0)
        print(
            f"{case:24}{mean[0]:8.3f}{mean[1]:8.3f}{gain.mean():+10.3f} ±{error:6.3f}"
            f"{gain.min():+9.3f}{seconds[0]:7.2f}{seconds[1]:7.2f}",
            flush=True,
        )
        records.append({"case": case, "ours": rows[:, 0].tolist(), "peer": rows[:, 1].tolist()})
        if gain.mean() < -MOST_WORSE:
            failed.append(case)
    if options.out:
        with open(options.out, "w", encoding="utf-8") as file:
            file.writelines(json.dumps(record) + "\n" for record in records)
    print(
        "R2, or minus the log loss of labels; " + (f"worse: {failed}" if failed else "none worse")
    )
    return 1 if failed else 0


if __name__ == "__main__":
    raise SystemExit(main())
