"""Sparse ANOVA models with learned subsets: correct subsets, time and accuracy.

    python benchmarks/effects.py [--peers PYTHON] [--parts NAME ...] [--sets NAME ...]
        [--splits S ...] [--models NAME ...] [--draws 20] [--rows 1000000] [--out FOLDER]

Parts: `friedman` (subsets of friedman1 with 100 columns, and of a product of three), `peers`
(beside EBM and pyGAM at their defaults, and pyGAM with its search for a penalty, up to 4,000
training rows), `rows` (time and memory of a million rows and 20 pairs), `bands` (coverage of the
bands of an additive function, of a regression and of two classes), `sobol` (shares of the Ishigami
and g-functions), `phases` (the part of a fit that chooses the kernel). Peers run in the interpreter
given by `--peers`, with `interpret` and `pygam` installed; without it they are skipped. Records
(JSON lines) are written as it goes; cells of `peers` with a record are not run again. Prints each
target with the measured figure.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from itertools import combinations
from pathlib import Path
from typing import Any

import numpy as np
from effects_cell import MODELS, ROWS, quadfeat
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from tables_cell import CLASSES, split

import quadfeat as qf

Record = dict[str, Any]
SETS = (
    "diabetes",
    "kin8nm",
    "pumadyn32nm",
    "cpu_compactiv",
    "bike15",
    "california_housing",
    "magic",
    "breast_cancer",
    "powerplant",
)
PARTS = ("friedman", "bands", "sobol", "rows", "peers", "phases")


def model(n_components: int = 512, **options: Any) -> qf.KernelRegressor:
    kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned", **options)
    return qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=n_components))


# --- what is found --------------------------------------------------------------------------------
def friedman(options: argparse.Namespace) -> list[Record]:
    wanted = [[0], [1], [2], [3], [4], [0, 1]]
    records = []
    for draw in range(options.draws):
        X, y = make_friedman1(10_000, 100, noise=1.0, random_state=draw)
        start = time.perf_counter()
        kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned").learned(X, y)
        seconds = time.perf_counter() - start
        found = kernel.subsets
        records.append({"draw": draw, "exact": found == wanted, "found": found, "time": seconds})
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, (10_000, 10))
    y = 3 * X[:, 1] * X[:, 4] * X[:, 7] + X[:, 0] + rng.normal(size=len(X))
    kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned", order=3).learned(X, y)
    records.append({"triple": [1, 4, 7] in kernel.subsets, "found": kernel.subsets})
    return records


def bands(options: argparse.Namespace) -> list[Record]:
    """Shares of points at which 95% bands contain the true effects."""
    return [
        _covered(draw, kind) for kind in ("regression", "logistic") for draw in range(options.draws)
    ]


def _covered(draw: int, kind: str) -> Record:
    rng = np.random.default_rng(draw)
    X = rng.uniform(size=(3000, 6))
    X[:, 1] = 0.5 * X[:, 0] + 0.5 * X[:, 1]
    parts = np.column_stack(
        [np.sin(6 * X[:, 0]), 4 * (X[:, 1] - 0.5) ** 2, X[:, 2], np.exp(X[:, 3])]
    )
    truth = parts - parts.mean(axis=0)
    kernel = qf.Anova(qf.Gaussian("learned"), subsets="learned", order=1)
    features = qf.HermiteMercer(kernel, n_components=256)
    if kind == "regression":
        y = parts.sum(axis=1) + 0.5 * rng.normal(size=len(X))
        fitted: Any = qf.KernelRegressor(features).fit(X, y)
        score = fitted.predict(X)
    else:
        truth *= 2
        chance = 1 / (1 + np.exp(-truth.sum(axis=1)))
        fitted = qf.KernelClassifier(features, loss="logistic").fit(
            X, rng.uniform(size=3000) < chance
        )
        score = fitted.decision_function(X)
    value, spread = fitted.effects(X, return_std=True)
    where = {s[0]: i for i, s in enumerate(fitted.effects_.subsets)}
    # A true effect that was not found has no band, and counts as outside.
    inside = [
        np.mean(np.abs(value[:, where[i]] - truth[:, i]) <= 1.96 * spread[:, where[i]])
        if i in where
        else 0.0
        for i in range(4)
    ]
    sums = np.abs(value.sum(axis=1) + fitted.effects_.intercept - score).max()
    record = {"draw": draw, "kind": kind, "all_found": set(range(4)) <= set(where)}
    return record | {"inside": float(np.mean(inside)), "sum": float(sums)}


def sobol(options: argparse.Namespace) -> list[Record]:
    """The largest difference between shares and analytic Sobol indices."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-np.pi, np.pi, (20_000, 4))
    y = np.sin(X[:, 0]) + 7 * np.sin(X[:, 1]) ** 2 + 0.1 * X[:, 2] ** 4 * np.sin(X[:, 0])
    first, second = 0.5 * (1 + 0.1 * np.pi**4 / 5) ** 2, 49 / 8
    third = 0.01 * np.pi**8 * (1 / 18 - 1 / 50)
    truth = {(0,): first, (1,): second, (0, 2): third}
    records = [_compared("Ishigami", model().fit(X, y), truth)]
    a = np.array([0.0, 1.0, 4.5, 9.0])
    X = rng.uniform(size=(20_000, 4))
    y = np.prod((np.abs(4 * X - 2) + a) / (1 + a), axis=1)
    v = 1 / (3 * (1 + a) ** 2)
    every = [s for size in (1, 2, 3, 4) for s in combinations(range(4), size)]
    truth = {s: float(np.prod(v[list(s)])) for s in every}
    return [*records, _compared("g-function", model(order=3).fit(X, y), truth)]


def _compared(name: str, fitted: Any, truth: dict[Any, float]) -> Record:
    total = sum(truth.values())
    found = dict(zip(fitted.effects_.subsets, fitted.effects_.shares, strict=True))
    gaps = {
        str(s): float(found.get(s, 0.0) - truth.get(s, 0.0) / total) for s in {**truth, **found}
    }
    return {"function": name, "largest": max(map(abs, gaps.values())), "gaps": gaps}


# --- how long it takes ----------------------------------------------------------------------------
def rows(options: argparse.Namespace) -> list[Record]:
    """Time and memory of a fit with 10 main effects and 20 pairs, from blocks made on the fly."""
    script = Path(__file__)
    records = []
    for n in (options.rows // 4, options.rows):
        done = subprocess.run(
            [sys.executable, str(script), "--one-fit", str(n)],
            capture_output=True,
            text=True,
            check=True,
        )
        records.append(json.loads(done.stdout.splitlines()[-1]))
    return records


def one_fit(n: int) -> Record:
    pairs = list(combinations(range(10), 2))[:20]

    def blocks() -> Any:
        for start in range(0, n, 50_000):
            rng = np.random.default_rng(start)
            X = rng.uniform(-1, 1, (min(50_000, n - start), 10)).astype(np.float32)
            y = np.sin(3 * X).sum(axis=1) + sum(X[:, i] * X[:, j] for i, j in pairs)
            yield X, y + rng.normal(size=len(X))

    kernel = qf.Anova(qf.Gaussian("learned"), [[i] for i in range(10)] + [list(p) for p in pairs])
    start, cpu = time.perf_counter(), time.process_time()
    fitted = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=1024)).fit(blocks)
    seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    record = {"n": n, "time": seconds, "cpu": cpu, "memory": memory}
    return record | {"noise": float(fitted.noise_)}


# --- how good it is -------------------------------------------------------------------------------
def peers(options: argparse.Namespace) -> list[Record]:
    path = options.out / "effects_peers.jsonl"
    records = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    finished = {(r["set"], r["split"], r["model"]) for r in records}
    script = Path(__file__).with_name("effects_cell.py")
    with path.open("a") as file:
        for split in options.splits:
            for name in options.sets:
                for kind in options.models:
                    python = sys.executable if "quadfeat" in kind else options.peers
                    if python is None or (name, split, kind) in finished:
                        continue
                    cell = {"set": name, "split": split, "model": kind}
                    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1"}
                    done = subprocess.run(
                        [python, str(script), json.dumps(cell)],
                        env=environment,
                        capture_output=True,
                        text=True,
                    )
                    failed = {"failed": (done.stderr.splitlines() or ["no output"])[-1][:200]}
                    found = failed if done.returncode else json.loads(done.stdout.splitlines()[-1])
                    records.append(cell | found)
                    file.write(json.dumps(records[-1]) + "\n")
                    file.flush()
                    print(records[-1], flush=True)
    return records


def phases(options: argparse.Namespace) -> list[Record]:
    """CPU time of a fit: all of it, with the kernel it chose given, and of one smooth family."""
    records = []
    for name in options.sets:
        X, y, _, _ = split(name, 0)
        X, y = X[:ROWS], y[:ROWS]
        classes = name in CLASSES

        def seconds(model: Any, X: Any = X, y: Any = y) -> float:
            start = time.process_time()
            model.fit(X, y)
            return time.process_time() - start

        whole = quadfeat(classes)
        record = {"set": name, "whole": seconds(whole)}
        given = clone(whole)
        given.set_params(features__kernel=whole.features_.kernel_)
        record["given kernel"] = seconds(given)
        kernel = qf.Anova(qf.Gaussian("learned"), order=1)
        smooth = clone(whole).set_params(features=qf.HermiteMercer(kernel, n_components=256))
        records.append(record | {"smooth main effects": seconds(smooth)})
    return records


# --- asked and measured ---------------------------------------------------------------------------
def report(part: str, records: list[Record]) -> list[str]:
    """Lines with each target and the measured figure."""
    if part == "friedman":
        draws = [r for r in records if "draw" in r]
        exact = sum(r["exact"] for r in draws)
        return [
            f"friedman1, 100 columns: exact subsets | 18 of 20 draws | {exact} of {len(draws)}",
            f"a product of three columns, order=3 | found | {records[-1]['triple']}",
        ]
    if part == "bands":
        lines = []
        for kind in dict.fromkeys(r["kind"] for r in records):
            some = [r for r in records if r["kind"] == kind]
            inside = [r["inside"] for r in some]
            found = [r["inside"] for r in some if r["all_found"]]
            lines.append(
                f"bands of 95% hold the truth, {kind} | 90-99% of points | {np.mean(inside):.1%} "
                f"of the points of {len(inside)} draws ({min(inside):.0%} to {max(inside):.0%}); "
                f"{np.mean(found):.1%} in the {len(found)} in which no effect was missed"
            )
        largest = max(r["sum"] for r in records)
        return [*lines, f"effects add up to the prediction | 1e-9 | {largest:.1e}"]
    if part == "sobol":
        return [
            f"{r['function']}: shares less Sobol indices | 0.03 | {r['largest']:.4f}"
            for r in records
        ]
    if part == "rows":
        return [
            f"{r['n']:,} rows x 10, 20 pairs | 90 s, 2 GB | {r['time']:.1f} s "
            f"({r['cpu']:.1f} CPU s), {r['memory']:.2f} GB"
            for r in records
        ]
    if part == "phases":
        return [
            f"{r['set']}: fit, CPU s | | {r['whole']:.2f}; with the kernel given "
            f"{r['given kernel']:.2f}; smooth main effects only {r['smooth main effects']:.2f}"
            for r in records
        ]
    return _report_peers(records)


# Models to compare, and the targets.
PAIRS = {
    ("quadfeat", "EBM"): "5 within 2%, 2 better, 10x faster",
    ("quadfeat", "pyGAM"): "better and faster on all",
    ("quadfeat", "pyGAM, searched"): "",
    ("quadfeat, smooth", "pyGAM"): "better and faster on all",
    ("quadfeat, smooth", "pyGAM, searched"): "",
    ("quadfeat, order=1", "pyGAM"): "",
    ("quadfeat, order=1", "pyGAM, searched"): "",
}


def _report_peers(records: list[Record]) -> list[str]:
    by = {(r["set"], r["split"], r["model"]): r for r in records if "failed" not in r}
    names = list(dict.fromkeys(r["set"] for r in records))
    lines = []
    for (model, peer), asked in PAIRS.items():
        ratios, speeds = [], []
        for name in names:
            both = [s for n, s, m in by if n == name and m == peer and (name, s, model) in by]
            if not both:
                continue
            mine, other = ([by[name, s, m] for s in both] for m in (model, peer))
            metric = "rmse" if "rmse" in mine[0] else "log_loss"
            errors = [float(np.mean([r[metric] for r in each])) for each in (mine, other)]
            times = [float(np.mean([r["fit_cpu"] for r in each])) for each in (mine, other)]
            ratios.append(errors[0] / errors[1])
            speeds.append(times[1] / times[0])
            lines.append(
                f"{name}: {metric} of {model} / {peer}, {len(both)} splits | | {errors[0]:.4f} / "
                f"{errors[1]:.4f} = {ratios[-1]:.3f}; fit {times[0]:.2f} / {times[1]:.2f} CPU s = "
                f"1 / {speeds[-1]:.1f}"
            )
        if ratios:
            close, better = sum(r <= 1.02 for r in ratios), sum(r < 1 for r in ratios)
            faster, tenfold = sum(s > 1 for s in speeds), sum(s >= 10 for s in speeds)
            lines.append(
                f"sets, {model} beside {peer} | {asked} | {close} within 2%, {better} better, "
                f"{faster} faster, {tenfold} by 10x, of {len(ratios)}"
            )
    return lines


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--peers", metavar="PYTHON", help="which has interpret and pygam")
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--sets", nargs="+", default=SETS, metavar="NAME")
    parser.add_argument("--splits", nargs="+", type=int, default=(0, 1, 2, 3, 4), metavar="S")
    parser.add_argument("--models", nargs="+", choices=MODELS, default=tuple(MODELS))
    parser.add_argument("--draws", type=int, default=20)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=Path("quadfeat-bench"))
    parser.add_argument("--one-fit", type=int, metavar="N", help="only fit N rows, in this process")
    options = parser.parse_args(arguments)
    if options.one_fit:
        print(json.dumps(one_fit(options.one_fit)))
        return
    options.out.mkdir(parents=True, exist_ok=True)
    lines = ["figure | asked | measured"]
    for part in options.parts:
        records = globals()[part](options)
        if part != "peers":
            text = "".join(json.dumps(record) + "\n" for record in records)
            (options.out / f"effects_{part}.jsonl").write_text(text)
        lines += report(part, records)
        print("\n".join(lines), flush=True)
    (options.out / "effects.txt").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
