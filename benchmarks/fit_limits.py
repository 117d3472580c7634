"""The cost of a fit beyond its products, against rows, columns, axes and threads, and its peers.

    python benchmarks/fit_limits.py [--only NAME ...] [--quick] [--out FILE]

`products`: a ridge fit (QuasiRandomFourier, 16 axes, kernel and alpha given) compared with the bare
symmetric products of its shapes, `syrk`, of rows that are already in the cache: the minimum for any
fit by sums. They take turns in one process; CPU seconds of one thread. `streamed` is the sums of
the rows, features included; the fit also includes the map, the solution and the noise. `choosing`:
the same with alpha or the map chosen. `growth`: seconds and memory of fits, each in a separate
process, against one size at a time, with slopes, and the same for RBFSampler + Ridge, Nystroem +
Ridge, GaussianProcessRegressor, and GPyTorch's SVGP if it is installed; the picture is written next
to the records.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

Record = dict[str, Any]
AXES = 16
GAMMA = 0.05
BLOCK = 8192  # rows of a product
BASE = {"rows": 20_000, "columns": 512, "axes": AXES, "threads": 1}
SWEEPS: dict[str, tuple[int, ...]] = {
    "rows": (5_000, 20_000, 80_000),
    "columns": (256, 1024, 2048),
    "axes": (16, 256),
    "threads": (1, 2),
}
WARM = 1_000  # rows of a warm-up fit
EXACT = (1_000, 2_000, 4_000)  # rows of a Gaussian process with the exact kernel
VARIATIONAL = (5_000, 20_000)  # rows of SVGP, which takes minutes
OURS = ("quadfeat", "bare products")
PEERS = ("RBFSampler + Ridge", "Nystroem + Ridge", "GaussianProcessRegressor", "SVGP")


def data(n: int, d: int, dtype: Any) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=n)


def products(n: int, p: int, dtype: Any) -> Callable[[], None]:
    """The symmetric products of n rows of p columns, summed in their own precision."""
    from scipy.linalg.blas import dsyrk, ssyrk

    syrk = ssyrk if dtype == np.float32 else dsyrk
    Z = np.random.default_rng(0).normal(size=(min(n, BLOCK), p)).astype(dtype)
    total = np.zeros((p, p), dtype=dtype, order="F")

    def run() -> None:
        for start in range(0, n, BLOCK):
            syrk(1.0, Z[: min(BLOCK, n - start)].T, 1.0, total, 0, 1, 1)

    return run


def streamed(features: Any, X: Any, y: Any) -> None:
    """Features computed and summed, block by block, as in a fit."""
    from quadfeat.models import NormalSums

    sums = NormalSums(features.n_columns_, 1)
    buffer = np.empty((min(BLOCK, len(X)), features.n_columns_), dtype=X.dtype)
    for start in range(0, len(X), BLOCK):
        some = slice(start, min(start + BLOCK, len(X)))
        Z = buffer[: some.stop - start]
        features.write(X[some], Z)
        sums.add(Z, y[some, None])


def cpu_seconds(jobs: dict[str, Callable[[], Any]], rounds: int) -> dict[str, float]:
    """The least CPU time of each job over rounds in which they take turns."""
    best = dict.fromkeys(jobs, np.inf)
    for _ in range(rounds):
        for name, job in jobs.items():
            start = time.process_time()
            job()
            best[name] = min(best[name], time.process_time() - start)
    return best


def beside_products(columns: int, kind: str, quick: bool) -> Record:
    """A fit of many rows: besides products it has features, and work independent of the rows."""
    import quadfeat as qf

    dtype = np.dtype(kind)
    n = max(8, int((2e10 if quick else 2e11) / columns**2 / BLOCK)) * BLOCK
    X, y = data(n, AXES, dtype)
    features = qf.QuasiRandomFourier(qf.Gaussian(GAMMA), n_components=columns, random_state=0)
    fitted = qf.QuasiRandomFourier(qf.Gaussian(GAMMA), n_components=columns, random_state=0).fit(X)
    jobs = {
        "syrk": products(n, columns, dtype),
        "streamed": partial(streamed, fitted, X, y),
        "fit": partial(qf.KernelRegressor(features, alpha=1.0, verbose=False).fit, X, y),
    }
    seconds = cpu_seconds(jobs, 2)
    return {"rows": n, "columns": columns, "dtype": kind, **seconds}


def beside_choices(rows: int, columns: int) -> Record:
    """A fit in float32 with everything given, alpha chosen, and the map chosen too."""
    import quadfeat as qf

    X, y = data(rows, AXES, np.float32)
    kernel = qf.Gaussian(GAMMA)
    given = qf.QuasiRandomFourier(kernel, n_components=columns, random_state=0)
    front = qf.KernelFeatures(kernel, n_components=columns)
    models = {
        "given": qf.KernelRegressor(given, alpha=1.0, verbose=False),
        "alpha chosen": qf.KernelRegressor(given, verbose=False),
        "map and alpha chosen": qf.KernelRegressor(front, verbose=False),
    }
    jobs = {"syrk": products(rows, columns, np.dtype(np.float32))}
    jobs |= {name: partial(model.fit, X, y) for name, model in models.items()}
    return {"rows": rows, "columns": columns, **cpu_seconds(jobs, 2)}


def grown(name: str, rows: int, columns: int, axes: int, threads: int) -> Record:
    """Seconds and peak memory of one fit in float32."""
    from sklearn.gaussian_process import GaussianProcessRegressor
    from sklearn.gaussian_process.kernels import RBF, WhiteKernel
    from sklearn.kernel_approximation import Nystroem, RBFSampler
    from sklearn.linear_model import Ridge
    from sklearn.pipeline import make_pipeline

    import quadfeat as qf

    X, y = data(max(rows, WARM), axes, np.float32)
    gamma = GAMMA * AXES / axes
    width: dict[str, Any] = {"n_components": columns, "random_state": 0}
    features = qf.QuasiRandomFourier(qf.Gaussian(gamma), **width)
    process = RBF((2 * gamma) ** -0.5) + WhiteKernel(0.01)
    models = {
        "quadfeat": qf.KernelRegressor(features, alpha=1.0, verbose=False),
        PEERS[0]: make_pipeline(RBFSampler(gamma=gamma, **width), Ridge()),
        PEERS[1]: make_pipeline(Nystroem(gamma=gamma, **width), Ridge()),
        PEERS[2]: GaussianProcessRegressor(process, optimizer=None),
    }

    bare = products(rows, columns, np.dtype(np.float32))

    def fit(n: int) -> None:
        if name in models:
            models[name].fit(X[:n], y[:n])
        elif name == "SVGP":
            from tables_cell import SVGP

            SVGP(threads).fit(X[:n].astype(np.float64), y[:n])
        else:
            bare()

    if name != "SVGP":  # it takes minutes anyway
        fit(WARM)  # imports of the first fit are not counted
    start, cpu = time.perf_counter(), time.process_time()
    fit(rows)
    return {
        "seconds": time.perf_counter() - start,
        "cpu_seconds": time.process_time() - cpu,
        "peak_gb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


def in_process(threads: int, *job: Any) -> Record:
    """A job in a separate process, with this number of threads."""
    environment = os.environ | dict.fromkeys(
        ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), str(threads)
    )
    command = [sys.executable, __file__, "--job", json.dumps(job)]
    done = subprocess.run(command, capture_output=True, text=True, env=environment, check=False)
    if done.returncode:
        sys.exit(f"{job} failed:\n{done.stderr}")
    return dict(json.loads(done.stdout.splitlines()[-1]))


def limit_records(quick: bool) -> Iterator[Record]:
    for kind in ("float32", "float64"):
        for columns in (1024, 2048, 4096):
            record = in_process(1, "beside_products", columns, kind, quick)
            yield {"part": "products", **record}
            shares = [f"{name} {record[name] / record['syrk']:.3f}" for name in ("streamed", "fit")]
            print(f"{kind}, {columns} columns, {record['rows']:,} rows:", *shares, flush=True)


def choice_records(quick: bool) -> Iterator[Record]:
    for rows, columns in ((10_000, 256), (20_000, 1024), (100_000, 1024)):
        record = in_process(1, "beside_choices", rows // 10 if quick else rows, columns)
        yield {"part": "choosing", **record}
        shares = [f"{name} {s / record['syrk']:.2f}" for name, s in list(record.items())[3:]]
        print(f"{record['rows']:,} rows, {columns} columns:", ", ".join(shares), flush=True)


def growth_records(quick: bool) -> Iterator[Record]:
    special = {"GaussianProcessRegressor": EXACT, "SVGP": VARIATIONAL}
    names = [name for name in (*OURS, *PEERS) if name != "SVGP" or _has_gpytorch()]
    for size, values in SWEEPS.items():
        for name in names:
            rows = special.get(name, values) if size == "rows" else ()
            for value in rows if name in special else values:
                chosen = BASE | {size: value}
                chosen["rows"] //= 10 if quick else 1
                record = in_process(chosen["threads"], "grown", name, *chosen.values())
                yield {"part": "growth", "size": size, "name": name, **chosen, **record}


def _has_gpytorch() -> bool:
    return importlib.util.find_spec("gpytorch") is not None


def slope(records: list[Record], size: str, name: str, what: str) -> float:
    """The exponent of the growth between the two largest sizes."""
    known = [r for r in records if (r["size"], r["name"]) == (size, name)]
    if len(known) < 2:
        return float("nan")
    (a, b) = known[-2:]
    return float(np.log(b[what] / a[what]) / np.log(b[size] / a[size]))


def report(records: list[Record]) -> None:
    for size in SWEEPS:
        for name in (*OURS, *PEERS):
            known = [r for r in records if (r["size"], r["name"]) == (size, name)]
            if known:
                seconds = ", ".join(f"{r[size]:,}: {r['cpu_seconds']:.2f}" for r in known)
                text = f"{size:8} {name:26} CPU s {seconds}; "
                text += f"{size}^{slope(records, size, name, 'cpu_seconds'):.2f}; "
                print(text + f"peak {known[-1]['peak_gb']:.2f} GB")


def draw(records: list[Record], path: Path) -> None:
    """CPU seconds against rows and columns, log-log."""
    from quadfeat.plotting.front import lines_in_front
    from quadfeat.plotting.style import figure, plain_ticks, png, tidy

    picture = figure(11, 4.2)
    panels = picture.subplots(1, 2, sharey=True)
    for panel, size in zip(panels, ("rows", "columns"), strict=True):
        curves = {}
        for name in (*OURS, *PEERS):
            known = [r for r in records if (r["size"], r["name"]) == (size, name)]
            if known:
                curves[name] = ([r[size] for r in known], [r["cpu_seconds"] for r in known])
        panel.set_xscale("log")
        panel.set_yscale("log")
        tidy(panel)
        lines_in_front(panel, curves, "quadfeat", size=10.0)
        first = EXACT[:1] if size == "rows" else ()
        plain_ticks(panel.xaxis, np.array([*first, *SWEEPS[size]], dtype=float))
    panels[0].set_xlabel(f"rows, at {BASE['columns']} columns")
    panels[1].set_xlabel(f"columns, at {BASE['rows']:,} rows")
    panels[0].set_ylabel("CPU seconds of a fit")
    path.write_bytes(png(picture))


PARTS = {"products": limit_records, "choosing": choice_records, "growth": growth_records}


def main() -> None:
    parser = argparse.ArgumentParser(description=str(__doc__).splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows: a look")
    parser.add_argument("--only", nargs="+", choices=PARTS, default=list(PARTS))
    parser.add_argument("--out", type=Path, default=Path("build/fit_limits.jsonl"))
    parser.add_argument("--job", type=json.loads, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.job:
        name, *arguments = options.job
        print(json.dumps(globals()[name](*arguments)))
        return
    records = [record for part in options.only for record in PARTS[part](options.quick)]
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text("".join(json.dumps(record) + "\n" for record in records))
    if growth := [record for record in records if record["part"] == "growth"]:
        report(growth)
        draw(growth, options.out.with_suffix(".png"))


if __name__ == "__main__":
    main()
