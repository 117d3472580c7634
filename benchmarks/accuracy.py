"""Kernel error of every map at equal columns, compared with RBFSampler and Nystroem.

    python benchmarks/accuracy.py [--quick] [--brief] [--data NAME ...] [--widths P ...]
        [--bandwidths B ...] [--out FOLDER]
    python benchmarks/accuracy.py --records FILE ...

Held-out pairs, standardised columns (digits also as pixels), bandwidths 0.5, 1 and 2 times the
median distance, means of three seeds. Data: the sets of scikit-learn and, if QUADFEAT_DATA names a
folder, the sets there. Writes records (JSON lines) as it goes, and a picture; prints ratios with
the winner of each cell marked, and each target with the measured figure. `--records` prints the
same from the records of earlier runs.
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
from scipy.linalg import cholesky, solve_triangular
from scipy.sparse.linalg import LinearOperator, eigsh
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, make_swiss_roll
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.preprocessing import StandardScaler

import quadfeat as qf
from quadfeat.plotting.displays import CompareDisplay

Record = dict[str, Any]
SEEDS = (0, 1, 2)
# Targets: data, columns, random / ours, best peer / ours, at the median bandwidth.
ASKED = (
    ("swiss roll", 64, 500.0, 150.0),
    ("breast cancer, 5 columns", 256, 20.0, 8.0),
    ("diabetes", 64, 3.5, 1.5),
    ("california_housing", 256, 5.0, 2.0),
    ("kin8nm", 256, 4.0, 1.8),
    ("breast cancer", 64, 2.3, 1.25),
    ("digits", 64, 1.8, 1.3),
    ("digits", 256, 3.0, 1.0),
    ("digits, pixels", 64, 1.8, 1.3),
    ("digits, pixels", 256, 3.0, 1.0),
)
PEERS = (
    "OrthogonalFourier",
    "OrthogonalFourier(structured)",
    "QuasiRandomFourier(halton)",
    "QuasiRandomFourier(sobol)",
    "SphericalRadial",
)
COMPARED = (
    "Nystroem (sklearn)",
    "RandomFourier",
    *PEERS,
    "KernelFeatures(shift_invariant)",
    "KernelFeatures",
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
    yield "digits, pixels", digits.data / 16, digits.target
    folder = os.environ.get("QUADFEAT_DATA")
    if not folder:
        return
    for name in ("california_housing", "kin8nm", "letter", "magic", "powerplant", "satimage"):
        loaded = np.load(Path(folder) / f"{name}.npz")
        X, y = loaded["X"], loaded["y"]
        some = np.random.default_rng(0).permutation(len(X))[:12_000]
        yield name, X[some].astype(np.float64), y[some]


def run(
    *, widths: list[int], bandwidths: list[float], only: list[str] | None, brief: bool
) -> Iterator[Record]:
    """One record for each data set, bandwidth, width, map and seed; `brief`: only compared maps."""
    for name, X, y in data_sets():
        if only and name not in only:
            continue
        for seed in SEEDS:
            order = np.random.default_rng(seed).permutation(len(X))
            held_out = min(1000, len(X) // 3)
            train, test = order[held_out:], order[:held_out]
            scaler = StandardScaler(with_std=name != "digits, pixels").fit(X[train])
            X_train, X_test = scaler.transform(X[train]), scaler.transform(X[test])
            median = qf.Gaussian("median").resolve(X_train).gamma
            for bandwidth in bandwidths:
                kernel = qf.Gaussian(median / bandwidth**2)
                exact = kernel(X_test)
                whitening = _whitening(exact)
                for p in widths:
                    for label, features in maps(kernel, p, seed).items():
                        if "Nystroem" in label and len(X_train) < 2 * p:
                            continue
                        if brief and label not in COMPARED:
                            continue
                        record = judge(
                            features, X_train, X_test, y[train], y[test], exact, whitening
                        )
                        cell = {"data": name, "bandwidth": bandwidth, "width": p, "seed": seed}
                        yield {**cell, "map": label, **record}
                    print(f"{name}, bandwidth {bandwidth}, {p} columns, seed {seed}", flush=True)


def judge(
    features: Any,
    X_train: Any,
    X_test: Any,
    y_train: Any,
    y_test: Any,
    exact: Any,
    whitening: Any,
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
        "spectral": _spectral(whitening, error),
        "score": float(score),
        "fit": fitted - began,
        "transform": done - fitted,
    }


def _whitening(exact: Any) -> Any:
    """(K + s)^(-1/2), up to a rotation, with s = n / 1000."""
    ridge = exact + 1e-3 * len(exact) * np.eye(len(exact))
    return solve_triangular(cholesky(ridge, lower=True), np.eye(len(exact)), lower=True)


def _spectral(whitening: Any, error: Any) -> float:
    """The relative spectral distance: |(K + s)^(-1/2) E (K + s)^(-1/2)|."""
    operator = LinearOperator(
        error.shape, matvec=lambda v: whitening @ (error @ (whitening.T @ v)), dtype=np.float64
    )
    return float(np.abs(eigsh(operator, k=1, tol=1e-2, return_eigenvectors=False)[0]))


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
    for (data, bandwidth, width), by_map in mean_rms(records).items():
        peers = min(by_map[name] for name in PEERS)
        fixed, front = by_map["KernelFeatures(shift_invariant)"], by_map["KernelFeatures"]
        theirs = by_map.get("Nystroem (sklearn)", np.nan)
        lines.append(
            f"{data:26s} {bandwidth:4.1f} {width:5d} {by_map['RandomFourier']:9.2e} {peers:9.2e} "
            f"{fixed:10.2e} {by_map['RandomFourier'] / fixed:9.1f} {peers / fixed:8.2f} "
            f"{theirs:9.2e} {front:9.2e} {theirs / front:8.2f}  {min(by_map, key=by_map.get)}"
        )
    return "\n".join(lines)


def summary(records: list[Record]) -> str:
    """Each target, and the measured figure."""
    cells = mean_rms(records)
    lines = [
        f"{'shift-invariant, bandwidth 1':36s} {'x random (asked)':>18s} {'x peers (asked)':>18s}"
    ]
    for data, width, random, peers in ASKED:
        by_map = cells.get((data, 1.0, width))
        if by_map is None:
            continue
        ours = by_map["KernelFeatures(shift_invariant)"]
        first = by_map["RandomFourier"] / ours
        second = min(by_map[name] for name in PEERS) / ours
        lines.append(
            f"{f'{data}, p={width}':36s} {first:9.1f} ({random:6g}) {second:10.2f} ({peers:5g})"
            f"  {'met' if first >= random and second >= peers else 'NOT MET'}"
        )
    against = {
        key: by_map["KernelFeatures(shift_invariant)"] / min(by_map[name] for name in PEERS)
        for key, by_map in cells.items()
    }
    worst = max(against, key=against.__getitem__)
    within = sum(ratio <= 1.05 for ratio in against.values())
    lines.append(
        f"every cell at most 1.05 of the best peer: {within} of {len(against)} cells, "
        f"worst {against[worst]:.2f} ({worst[0]}, bandwidth {worst[1]:g}, p={worst[2]})"
    )
    nystroem = {
        key: by_map["KernelFeatures"] / by_map["Nystroem (sklearn)"]
        for key, by_map in cells.items()
        if key[2] <= 256 and "Nystroem (sklearn)" in by_map
    }
    if nystroem:
        ratios, worst = np.array(list(nystroem.values())), max(nystroem, key=nystroem.__getitem__)
        lines.append(
            f"KernelFeatures / Nystroem, p <= 256, {len(ratios)} cells: median "
            f"1/{1 / np.median(ratios):.2f} (1/2.5), at most 1/1.1 in "
            f"{np.mean(ratios <= 1 / 1.1):.0%} (85%), worst {ratios.max():.2f} (1.05; {worst[0]}, "
            f"bandwidth {worst[1]:g}, p={worst[2]})"
        )
    for width in sorted({key[2] for key in cells}):
        for label in ("KernelFeatures", "KernelFeatures(shift_invariant)"):
            fits = [r["fit"] for r in records if r["width"] == width and r["map"] == label]
            lines.append(
                f"fit of {label}, p={width}: median {np.median(fits):.1f} s, most {max(fits):.1f} s"
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
    parser.add_argument("--brief", action="store_true", help="only the maps that are compared")
    parser.add_argument("--data", nargs="+", metavar="NAME", help="only these data sets")
    parser.add_argument("--widths", nargs="+", type=int, metavar="P")
    parser.add_argument("--bandwidths", nargs="+", type=float, metavar="B")
    parser.add_argument("--out", type=Path, default=Path("quadfeat-bench"))
    parser.add_argument("--records", nargs="+", type=Path, metavar="FILE", help="of earlier runs")
    options = parser.parse_args()
    if options.records:
        lines = [line for path in options.records for line in path.read_text().splitlines()]
        records = [json.loads(line) for line in lines]
    else:
        records = measure(options)
    print(table(records))
    print(summary(records))


def measure(options: argparse.Namespace) -> list[Record]:
    """Run what the options ask for; records are written one by one, the picture at the end."""
    options.out.mkdir(parents=True, exist_ok=True)
    records = []
    with (options.out / "accuracy.jsonl").open("w") as file:
        for record in run(
            widths=options.widths or ([64, 256] if options.quick else [64, 256, 1024]),
            bandwidths=options.bandwidths or ([1.0] if options.quick else [0.5, 1.0, 2.0]),
            only=options.data,
            brief=options.brief,
        ):
            records.append(record)
            file.write(json.dumps(record) + "\n")
            file.flush()
    if any(record["bandwidth"] == 1.0 for record in records):
        draw(records, options.out / "accuracy.png")
    return records


if __name__ == "__main__":
    main()
