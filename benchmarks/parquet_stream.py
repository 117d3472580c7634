"""A fit from a Parquet file larger than the allowed memory: seconds, rows/s, RSS over time.

OMP_NUM_THREADS=2 python benchmarks/parquet_stream.py [--rows 10000000] [--width 512]

Writes a file of 40 float32 columns and a target (1.7 GB at 10 million rows) into a temporary
folder, with row groups of a million rows, or one of all rows with --one-group.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

import quadfeat as qf

COLUMNS = 40
_PAGE = os.sysconf("SC_PAGE_SIZE")


def write(path: Path, rows: int, group: int) -> None:
    """Rows of a smooth function of some columns, and noise."""
    rng = np.random.default_rng(0)
    names = [*(f"x{j}" for j in range(COLUMNS)), "y"]
    schema = pa.schema([(name, pa.float32()) for name in names])
    with pq.ParquetWriter(path, schema, use_dictionary=False) as writer:
        for first in range(0, rows, group):
            X = rng.standard_normal((min(group, rows - first), COLUMNS), dtype=np.float32)
            y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.standard_normal(len(X))
            arrays = [*X.T, y.astype(np.float32)]
            table = pa.Table.from_arrays([pa.array(each) for each in arrays], schema=schema)
            writer.write_table(table, row_group_size=group)


def fit(path: Path, width: int) -> None:
    model = qf.KernelRegressor(qf.KernelFeatures(n_components=width, random_state=0))
    model.fit(path, "y")
    print(f"alpha {model.alpha_:.3g}, noise {model.noise_:.4f}", flush=True)


def watched(path: Path, width: int) -> list[tuple[float, float]]:
    """(seconds, resident megabytes) of a fitting process, five times a second."""
    began, seen = time.monotonic(), []
    child = os.fork()
    if child == 0:
        status = 1
        try:
            fit(path, width)
            status = 0
        finally:
            os._exit(status)
    while os.waitpid(child, os.WNOHANG) == (0, 0):
        pages = int(Path(f"/proc/{child}/statm").read_text().split()[1])
        seen.append((time.monotonic() - began, pages * _PAGE / 1e6))
        time.sleep(0.2)
    return seen


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--one-group", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.parquet"
        # Written by another process, so that none of it stays in this one.
        writer = os.fork()
        if writer == 0:
            group = options.rows if options.one_group else 1_000_000
            write(path, options.rows, group)
            os._exit(0)
        os.waitpid(writer, 0)
        print(f"{options.rows:,} rows, {path.stat().st_size / 1e9:.2f} GB", flush=True)
        seen = watched(path, options.width)
    seconds = seen[-1][0]
    print(f"{seconds:.0f} s, {options.rows / seconds:,.0f} rows/s")
    print(f"peak {max(size for _, size in seen):.0f} MB resident; every tenth of the time:")
    print(" ".join(f"{seen[len(seen) * i // 10][1]:.0f}" for i in range(10)))


if __name__ == "__main__":
    main()
