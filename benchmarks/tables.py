"""The default models on real tables, with an earlier version, ridge, boosting, xRFM and SVGP.

    python benchmarks/tables.py [--before PYTHON] [--sets NAME ...] [--models NAME ...]
        [--splits S ...] [--threads 1] [--limit 900] [--memory 12] [--retry] [--out FOLDER]
    python benchmarks/tables.py --records FILE ... [--out FOLDER]

Every regression and classification set of the folder that QUADFEAT_DATA names and of scikit-learn,
five splits, the same standardised columns for all models (also the one-hot columns of adult).
covtype and TIMIT are left out because other benchmarks have them. `quadfeat` is `KernelRegressor`
or `KernelClassifier` with `KernelFeatures(n_components=1024)`, otherwise at defaults; `before` is
the same in another interpreter, with the quadfeat installed there (PYTHONPATH is not passed on).
Peers are at their defaults; missing ones are skipped (`pip install lightgbm xgboost xrfm
gpytorch`). Exact kernel ridge runs on sets of up to 8,000 training rows.

Each cell runs in a separate process with limits of CPU time (times threads; 20 times as long on the
clock, for a busy machine) and memory; a failure is also a record. Records (JSON lines) are written
as it goes; cells with a record are not run again (`--retry`: unless they failed). Prints means over
splits with the best of each set marked, mean ranks, ratios to the earlier version, and each target
with the measured figure; draws the ranks. `--records` does this with the records of earlier runs.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tables_cell import CLASSES, EXACT_ROWS, MODELS, REGRESSION, REGRESSION_ONLY, SHIPPED, load
from tables_report import draw, report

Record = dict[str, Any]
SPLITS = (0, 1, 2, 3, 4)


def measure(options: argparse.Namespace) -> list[Record]:
    """Run the cells without a record; returns all records, those of earlier runs first."""
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / "tables.jsonl"
    records = read([path]) if path.exists() else []
    finished = {
        (r["set"], r["split"], r["model"]) for r in records if not (options.retry and "failed" in r)
    }
    with path.open("a") as file:
        for model, name, number in cells(options):
            if (name, number, model) in finished:
                continue
            record = {"set": name, "split": number, "model": model, "threads": options.threads}
            record |= run(record, options)
            records.append(record)
            file.write(json.dumps(record) + "\n")
            file.flush()
            score = record.get("failed") or record.get("rmse", record.get("error"))
            print(f"{model}, {name}, split {number}: {score}", flush=True)
    return latest(records)


def cells(options: argparse.Namespace) -> Iterator[tuple[str, str, int]]:
    """model, set, split of the requested cells whose packages are installed."""
    for model in options.models or MODELS:
        if model == "before" and not options.before:
            print("before: skipped, --before names no interpreter")
            continue
        missing = [name for name in MODELS[model] if importlib.util.find_spec(name) is None]
        if missing:
            print(f"{model}: skipped, {' and '.join(missing)} not installed")
            continue
        for name in options.sets or (*REGRESSION, *CLASSES):
            if name not in SHIPPED and not os.environ.get("QUADFEAT_DATA"):
                print(f"{name}: skipped, QUADFEAT_DATA names no folder")
                continue
            if model in REGRESSION_ONLY and name in CLASSES:
                continue
            if model == "exact kernel ridge" and 0.8 * len(load(name)[0]) > EXACT_ROWS:
                continue
            for number in options.splits or SPLITS:
                yield model, name, number


def run(cell: Record, options: argparse.Namespace) -> Record:
    """The report of a cell's process, or the reason why it failed."""
    threads = str(options.threads)
    environment = os.environ | dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), threads
    )
    python = sys.executable
    if cell["model"] == "before":
        python = options.before
        environment.pop("PYTHONPATH", None)
    limits = {"memory": options.memory, "limit": options.limit}
    script = Path(__file__).with_name("tables_cell.py")
    try:
        done = subprocess.run(
            [python, "-P", str(script), json.dumps(cell | limits)],
            env=environment,
            capture_output=True,
            text=True,
            timeout=20 * options.limit,
        )
    except subprocess.TimeoutExpired:
        return {"failed": f"over {20 * options.limit:g} s"}
    lines = done.stdout.splitlines()
    if done.returncode == 0 and lines:
        return json.loads(lines[-1])
    if done.returncode == -signal.SIGXCPU:
        reason = f"over {options.limit:g} CPU s"
    elif done.returncode < 0:
        reason = signal.Signals(-done.returncode).name
    else:
        reason = (done.stderr.splitlines() or [f"exit code {done.returncode}"])[-1][:200]
    return {"failed": reason}


def read(paths: list[Path]) -> list[Record]:
    lines = [line for path in paths for line in path.read_text().splitlines()]
    return latest([json.loads(line) for line in lines])


def latest(records: list[Record]) -> list[Record]:
    """The last record of each cell."""
    return list({(r["set"], r["split"], r["model"]): r for r in records}.values())


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--before", metavar="PYTHON", help="the interpreter of the version before")
    parser.add_argument("--sets", nargs="+", choices=(*REGRESSION, *CLASSES), metavar="NAME")
    parser.add_argument("--models", nargs="+", choices=MODELS, metavar="NAME")
    parser.add_argument("--splits", nargs="+", type=int, metavar="S")
    parser.add_argument("--threads", type=int, default=1, help="of BLAS, OpenMP and torch")
    parser.add_argument("--limit", type=float, default=900, help="CPU seconds of a cell")
    parser.add_argument("--memory", type=float, default=12, help="GB of address space of a cell")
    parser.add_argument("--retry", action="store_true", help="run cells that failed again")
    parser.add_argument("--out", type=Path, default=Path("quadfeat-bench"))
    parser.add_argument("--records", nargs="+", type=Path, metavar="FILE", help="of earlier runs")
    options = parser.parse_args(arguments)
    records = read(options.records) if options.records else measure(options)
    text = report(records)
    print(text)
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "tables.txt").write_text(text + "\n")
    if any("rmse" in record or "error" in record for record in records):
        draw(records, options.out / "tables.png")


if __name__ == "__main__":
    main()
