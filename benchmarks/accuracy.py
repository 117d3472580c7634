"""Kernel error of every map at equal columns, beside RBFSampler and Nystroem.

    python benchmarks/accuracy.py [--quick] [--out FOLDER]

Held-out pairs, standardised columns, bandwidths 0.5, 1 and 2 times the median distance, means of
three seeds. Data: what scikit-learn ships and, where QUADFEAT_DATA names a folder, the sets there.
Writes records (JSON lines) and a picture; prints ratios, the winner of each cell marked.
"""

from __future__ import annotations

import argparse
import json
import os
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy.linalg import eigh
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_swiss_roll
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.preprocessing import StandardScaler

import quadfeat as qf
from quadfeat.plotting import CompareDisplay

Record = dict[str, Any]
SEEDS = (0, 1, 2)
PEERS = (
    "OrthogonalFourier",
    "OrthogonalFourier(structured)",
    "QuasiRandomFourier(halton)",
    "QuasiRandomFourier(sobol)",
    "SphericalRadial",
)


def maps(kernel: Any, p: int, seed: int) -> dict[str, Any]:
    """Every map at p columns; quick ones first."""
    own: dict[str, Any] = {"n_components": p, "random_state": seed}
    return {
        "RBFSampler (sklearn)": RBFSampler(gamma=kernel.gamma, **own),
        "Nystroem (sklearn)": Nystroem(gamma=kernel.gamma, **own),
        "RandomFourier": qf.RandomFourier(kernel, **own),
        "OrthogonalFourier": qf.OrthogonalFourier(kernel, **own),
        "OrthogonalFourier(structured)": qf.OrthogonalFourier(kernel, structured=True, **own),
        "QuasiRandomFourier(halton)": qf.QuasiRandomFourier(kernel, sequence="halton", **own),
        "QuasiRandomFourier(sobol)": qf.QuasiRandomFourier(kernel, sequence="sobol", **own),
        "SphericalRadial": qf.SphericalRadial(kernel, **own),
        "SubsampledGrid": qf.SubsampledGrid(kernel, **own),
        "PolynomiallyExact": qf.PolynomiallyExact(kernel, **own),
        "ReweightedGrid": qf.ReweightedGrid(kernel, **own),
        "HermiteMercer": qf.HermiteMercer(kernel, n_components=p),
        "Landmarks": qf.Landmarks(kernel, **own),
        "KernelFeatures(shift_invariant)": qf.KernelFeatures(kernel, shift_invariant=True, **own),
        "KernelFeatures": qf.KernelFeatures(kernel, **own),
    }


def data_sets() -> Iterator[tuple[str, Any, Any]]:
    """name, X, y; at most 12,000 rows each."""
    yield "swiss roll", *make_swiss_roll(3000, noise=0.05, random_state=0)
    cancer = load_breast_cancer()
    yield "breast cancer, 5 columns", cancer.data[:, :5], cancer.target
    yield "breast cancer", cancer.data, cancer.target
    yield "diabetes", *load_diabetes(return_X_y=True)
    digits = load_digits()
    yield "digits", digits.data[:, digits.data.std(axis=0) > 0], digits.target
    folder = os.environ.get("QUADFEAT_DATA")
    if not folder:
        return
    for name in ("california_housing", "kin8nm", "letter", "magic", "powerplant", "satimage"):
        loaded = np.load(Path(folder) / f"{name}.npz")
        X, y = loaded["X"], loaded["y"]
        some = np.random.default_rng(0).permutation(len(X))[:12_000]
        yield name, X[some].astype(np.float64), y[some]


def run(
    *, widths: tuple[int, ...], bandwidths: tuple[float, ...], progress: bool = True
) -> list[Record]:
    """One record for each data set, bandwidth, width, map and seed."""
    records: list[Record] = []
    for name, X, y in data_sets():
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(len(X))
            held_out = min(1000, len(X) // 3)
            train, test = order[held_out:], order[:held_out]
            scaler = StandardScaler().fit(X[train])
            X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
            median = qf.Gaussian("median").resolve(X_train).gamma
            for bandwidth in bandwidths:
                kernel = qf.Gaussian(median / bandwidth**2)
                exact = kernel(X_test)
                for p in widths:
                    for label, features in maps(kernel, p, seed).items():
                        if "Nystroem" in label and len(X_train) < 2 * p:
                            continue
                        record = judge(features, X_train, X_test, y[train], y[test], exact)
                        cell = {"data": name, "bandwidth": bandwidth, "width": p, "seed": seed}
                        records.append({**cell, "map": label, **record})
                    if progress:
                        print(
                            f"{name}, bandwidth {bandwidth}, {p} columns, seed {seed}", flush=True
                        )
    return records


def judge(
    features: Any, X_train: Any, X_test: Any, y_train: Any, y_test: Any, exact: Any
) -> Record:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        began = time.perf_counter()
        features.fit(X_train)
        fitted = time.perf_counter()
        Z = features.transform(X_test)
        done = time.perf_counter()
        Z_train = features.transform(X_train)
    gram = (Z * getattr(features, "signs_", 1.0)) @ Z.T
    error = gram - exact
    apart = error[~np.eye(len(error), dtype=bool)]
    model = RidgeClassifier if y_train.dtype.kind in "iub" else Ridge
    score = model(alpha=1e-2).fit(Z_train, y_train).score(Z, y_test)
    return {
        "columns": Z.shape[1],
        "rms": float(np.sqrt(np.mean(apart**2))),
        "max": float(np.abs(apart).max()),
        "spectral": _spectral(exact, error),
        "score": float(score),
        "fit": fitted - began,
        "transform": done - fitted,
    }


def _spectral(exact: Any, error: Any) -> float:
    """The relative spectral distance: |(K + s)^(-1/2) E (K + s)^(-1/2)|, s = n / 1000."""
    ridge = exact + 1e-3 * len(exact) * np.eye(len(exact))
    ends = [
        eigh(error, ridge, eigvals_only=True, subset_by_index=[i, i])[0]
        for i in (0, len(error) - 1)
    ]
    return float(np.abs(ends).max())


def mean_rms(records: list[Record]) -> dict[tuple[str, float, int], dict[str, float]]:
    """cell -> map -> RMS error, the mean over seeds."""
    cells: dict[tuple[str, float, int], dict[str, list[float]]] = {}
    for r in records:
        cell = cells.setdefault((r["data"], r["bandwidth"], r["width"]), {})
        cell.setdefault(r["map"], []).append(r["rms"])
    return {
        key: {name: float(np.mean(values)) for name, values in cell.items()}
        for key, cell in cells.items()
    }


def table(records: list[Record]) -> str:
    lines = [
        f"{'data':26s} {'bw':>4s} {'p':>5s} {'random':>9s} {'peers':>9s} {'shift-inv.':>10s} "
        f"{'x random':>9s} {'x peers':>8s} {'Nystroem':>9s} {'front':>9s} {'x Nystr.':>8s}  least"
    ]
    nystroem = []
    for (data, bandwidth, width), by_map in mean_rms(records).items():
        peers = min(by_map[name] for name in PEERS)
        fixed, front = by_map["KernelFeatures(shift_invariant)"], by_map["KernelFeatures"]
        theirs = by_map.get("Nystroem (sklearn)", np.nan)
        if width <= 256 and np.isfinite(theirs):
            nystroem.append(theirs / front)
        lines.append(
            f"{data:26s} {bandwidth:4.1f} {width:5d} {by_map['RandomFourier']:9.2e} {peers:9.2e} "
            f"{fixed:10.2e} {by_map['RandomFourier'] / fixed:9.1f} {peers / fixed:8.2f} "
            f"{theirs:9.2e} {front:9.2e} {theirs / front:8.2f}  {min(by_map, key=by_map.get)}"
        )
    if nystroem:
        share = np.mean(np.array(nystroem) >= 1.1)
        lines.append(
            f"KernelFeatures against Nystroem, p <= 256, {len(nystroem)} cells: median "
            f"{np.median(nystroem):.2f}x, least {min(nystroem):.2f}x, {share:.0%} above 1.1x"
        )
    return "\n".join(lines)


def draw(records: list[Record], path: Path) -> None:
    """Error against columns on each data set at the median bandwidth."""
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(r["data"] for r in records))
    shown = [
        "RBFSampler (sklearn)",
        "Nystroem (sklearn)",
        "RandomFourier",
        "OrthogonalFourier",
        "ReweightedGrid",
        "KernelFeatures(shift_invariant)",
        "KernelFeatures",
    ]
    figure, axes = plt.subplots(
        -(-len(names) // 3), 3, figsize=(13, 3.4 * -(-len(names) // 3)), layout="constrained"
    )
    for ax in axes.ravel()[len(names) :]:
        ax.set_axis_off()
    for ax, name in zip(axes.ravel(), names, strict=False):
        cells = {key: cell for key, cell in mean_rms(records).items() if key[:2] == (name, 1.0)}
        points = [
            {"map": label, "columns": width, "rms": cell[label]}
            for label in shown
            for (_, _, width), cell in cells.items()
            if label in cell
        ]
        CompareDisplay.from_records(points, ax=ax, order=shown)
        ax.set_title(name, loc="left", fontsize=10)
        ax.get_legend().remove()
    handles, labels = axes.ravel()[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=4, frameon=False)
    figure.savefig(path, dpi=130)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="bandwidth 1, 64 and 256 columns")
    parser.add_argument("--out", type=Path, default=Path("quadfeat-bench"))
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    records = run(
        widths=(64, 256) if options.quick else (64, 256, 1024),
        bandwidths=(1.0,) if options.quick else (0.5, 1.0, 2.0),
    )
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (options.out / "accuracy.jsonl").write_text(lines)
    draw(records, options.out / "accuracy.png")
    print(table(records))


if __name__ == "__main__":
    main()
