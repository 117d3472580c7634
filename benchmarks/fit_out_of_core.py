"""`quadfeat fit` on folders of Parquet files with text: its peak memory must not grow with rows.

    python benchmarks/fit_out_of_core.py [--millions 1 4 20] [--width 512] [--folder FOLDER]

Each folder has files of 500,000 rows: two numbers (one with gaps), a date, a category of 300 cities
and a free text that differs in every row. Linux only: the peak memory is VmHWM of the process, read
five times a second. Prints rows, size of the folder, seconds, memory and score.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

FILE = 500_000  # rows
WORDS = np.array(["quiet", "bright", "garden", "balcony", "old", "new", "central", "lake"])


def table(n: int, seed: int) -> pa.Table:
    rng = np.random.default_rng(seed)
    city, area = rng.integers(0, 300, n), rng.lognormal(4, 0.5, n)
    words = WORDS[rng.integers(0, len(WORDS), (n, 3))]
    text = [f"{a} {b} {c} no. {i}" for i, (a, b, c) in enumerate(words.tolist(), seed * FILE)]
    y = np.log(area) + np.sin(city) + (words == "lake").any(axis=1) + rng.normal(0, 0.3, n)
    return pa.table(
        {
            "area": pa.array(area, mask=rng.random(n) < 0.1),
            "floor": rng.integers(0, 12, n),
            "sold": np.datetime64("2015-01-01") + rng.integers(0, 3000, n),
            "city": [f"city {i}" for i in city.tolist()],
            "text": text,
            "y": y,
        }
    )


def write(folder: Path, rows: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for number, first in enumerate(range(0, rows, FILE)):
        part = table(min(FILE, rows - first), number)
        pq.write_table(part, folder / f"{number:03d}.parquet", row_group_size=100_000)


def measured(folder: Path, width: int, out: Path) -> tuple[float, float, str]:
    """Seconds, peak megabytes and score of a fit in a separate process."""
    command = [sys.executable, "-m", "quadfeat", "fit", str(folder), "--target", "y", "--json"]
    command += ["--width", str(width), "--no-report", "-o", str(out)]
    began, largest = time.perf_counter(), 0.0
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as process:
        while process.poll() is None:
            try:
                status = Path(f"/proc/{process.pid}/status").read_text()
            except OSError:  # it has ended
                break
            for line in status.splitlines():
                if line.startswith("VmHWM"):
                    largest = max(largest, int(line.split()[1]) * 1024 / 1e6)
            time.sleep(0.2)
        assert process.stdout is not None
        record = json.loads(process.stdout.read())
    score = record["score"]
    return time.perf_counter() - began, largest, f"{score['name']} {score['value']:.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--millions", type=float, nargs="+", default=[1, 4, 20])
    parser.add_argument("--width", type=int, default=512)
    parser.add_argument("--folder", type=Path, help="keep the files in this folder")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        place = options.folder or Path(temporary)
        for millions in options.millions:
            rows = round(1e6 * millions)
            folder = place / f"rows-{rows}"
            write(folder, rows)
            size = sum(path.stat().st_size for path in folder.iterdir()) / 1e6
            seconds, memory, score = measured(folder, options.width, place / "model.qf")
            print(
                f"{rows:,} rows ({size:,.0f} MB): {seconds:,.0f} s, {memory:,.0f} MB at the "
                f"largest, {score}",
                flush=True,
            )


if __name__ == "__main__":
    main()
