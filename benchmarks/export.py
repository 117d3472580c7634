"""Largest differences between features and their exports: python benchmarks/export.py.

Every map of every kernel in tests/conftest.py, in both precisions, on torch and onnxruntime: 200
rows of 4 columns. Writes docs/export.csv, one line per map and kernel, and the largest of each map
into docs/export.md.
"""

from __future__ import annotations

import csv
import sys
import warnings
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT))

from tests.conftest import KERNELS, MAPS  # noqa: E402
from tests.export.targets import by_onnx, by_torch, largest_angle  # noqa: E402

COLUMNS = [f"{target} {dtype}" for dtype in ("float32", "float64") for target in ("torch", "onnx")]
MARKS = "<!-- table -->\n", "<!-- end -->\n"


def differences(features, X):
    """The largest differences of one fitted map, in the order of COLUMNS."""
    for dtype in ("float32", "float64"):
        rows = X.astype(dtype)
        expected = features.transform(rows)
        for exported in (by_torch(features), by_onnx(features, dtype)):
            yield float(np.abs(exported(rows)["features"] - expected).max())


def measure():
    """(map, kernel, columns, largest angle, differences) of all pairs that fit."""
    rng = np.random.default_rng(1)
    X = rng.normal(size=(200, 4)) @ rng.normal(size=(4, 4)) / 2
    for kernel, make_kernel in KERNELS.items():
        for name, make in MAPS.items():
            features = make().set_params(kernel=make_kernel(4))
            try:
                features.fit(X)
            except ValueError:
                continue  # this map does not take this kernel
            print(kernel, name, flush=True)
            angle = largest_angle(features, X)
            yield name, kernel, features.n_columns_, angle, *differences(features, X)


def main():
    warnings.simplefilter("ignore")
    records = list(measure())
    with (ROOT / "docs" / "export.csv").open("w", newline="") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(["map", "kernel", "columns", "largest angle", *COLUMNS])
        for name, kernel, columns, angle, *errors in records:
            writer.writerow([name, kernel, columns, f"{angle:.3g}", *(f"{e:.1e}" for e in errors)])
    lines = [f"| map | kernels | {' | '.join(COLUMNS)} |", "|---|---|" + "---|" * len(COLUMNS)]
    for name in MAPS:
        some = np.array([record[4:] for record in records if record[0] == name])
        if len(some):
            largest = " | ".join(f"{e:.1e}" for e in some.max(axis=0))
            lines.append(f"| {name} | {len(some)} | {largest} |")
    page = ROOT / "docs" / "export.md"
    before, rest = page.read_text().split(MARKS[0])
    after = rest.split(MARKS[1])[1]
    page.write_text(before + MARKS[0] + "\n".join(lines) + "\n" + MARKS[1] + after)


if __name__ == "__main__":
    main()
