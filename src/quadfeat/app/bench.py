"""Feature generation timed beside its peers and the limits of the machine: `quadfeat bench`."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from .. import _engine
from .._engine import touched
from .._engine.plans import FourierPlan
from .._typing import Array
from ..data.atomic import replace
from ..plotting.style import REFERENCE, figure, plain_ticks, png, style_of, tidy
from .workloads import TARGETS, WORKLOADS, Job, Record, Workload, dense, grids

# ---- measuring ----------------------------------------------------------------------------------


def interleave(jobs: dict[str, Job], repeats: int) -> dict[str, float]:
    """The shortest time of every job, in seconds, over `repeats` rounds; a round runs each once."""
    best = dict.fromkeys(jobs, np.inf)
    for job in jobs.values():
        job()
    for _ in range(repeats):
        for name, job in jobs.items():
            start = time.perf_counter()
            job()
            best[name] = min(best[name], time.perf_counter() - start)
    return best


def limits(work: Workload, dtype: Any, threads: int) -> dict[str, Job]:
    """A pure write of the output, and the bare product if there is one."""
    out = touched(len(work.X), work.columns, dtype)

    def write() -> None:
        _engine.fill(out, 1.5, threads)

    jobs: dict[str, Job] = {"write": write}
    if work.product is not None:
        n, d, m = work.product
        left, right = np.ones((n, d), dtype), np.ones((d, m), dtype)
        result = np.empty((n, m), dtype)
        jobs["product"] = lambda: np.dot(left, right, out=result)
    return jobs


def run(quick: bool = False, progress: Callable[[str], object] | None = None) -> list[Record]:
    """Records of the workloads on one thread and on two, of the sweep and of the paper's claim.

    Parameters
    ----------
    quick : bool
        A quarter of the rows and 3 rounds instead of 7: only rough numbers.
    progress : callable or None
        Called with a line of text before each piece of work.
    """
    say = progress or (lambda text: None)
    repeats, part = (3, 0.25) if quick else (7, 1.0)
    records = []
    for threads in (1, 2):
        for name in WORKLOADS:
            for dtype in (np.float32, np.float64):
                say(f"{TARGETS[name].title}, {np.dtype(dtype).name}, threads: {threads}")
                records.append(measure(name, dtype, threads, repeats, part))
    say("sweep over rows and columns")
    records += sweep(repeats)
    say("the paper's claim")
    return records + claim(repeats, int(2000 * part))


def steps() -> int:
    """How often `run` reports progress."""
    return 4 * len(WORKLOADS) + 2


def measure(name: str, dtype: Any, threads: int, repeats: int, part: float = 1.0) -> Record:
    """Measure one workload on a `part` of its rows."""
    with threadpool_limits(threads):
        work = WORKLOADS[name](dtype, threads, part)
        best = interleave(work.jobs | limits(work, dtype, threads), repeats)
    return record_of(name, dtype, threads, len(work.X), work.columns, best)


def record_of(
    name: str, dtype: Any, threads: int, rows: int, columns: int, seconds: dict[str, float]
) -> Record:
    return {
        "work": name,
        "dtype": np.dtype(dtype).name,
        "threads": threads,
        "rows": rows,
        "columns": columns,
        "seconds": seconds,
        "load": os.getloadavg()[0] if hasattr(os, "getloadavg") else None,
        "cpus": os.cpu_count(),
        "engine": _engine.engine_info(),
    }


def sweep(repeats: int = 7, dtype: Any = np.float32, threads: int = 1) -> list[Record]:
    """Time the dense map over rows and over columns: both should grow linearly."""
    sizes = [("rows", n, 1024) for n in (250, 500, 1000, 2000, 4000, 8000, 16000)]
    sizes += [("columns", 2000, p) for p in (128, 256, 512, 1024, 2048, 4096, 8192)]
    records = []
    with threadpool_limits(threads):
        for axis, n, columns in sizes:
            work = dense(dtype, threads, n=n, columns=columns)
            jobs = {name: work.jobs[name] for name in ("engine", "peer", "numpy")}
            best = interleave(jobs, repeats)
            records.append(record_of(f"sweep {axis}", dtype, threads, n, columns, best))
    return records


def claim(repeats: int = 7, n: int = 2000, threads: int = 1) -> list[Record]:
    """The paper's claim: grid features are cheaper to generate than random ones.

    Both have the same number of columns per group of 3 axes (124) and come from this engine. Random
    features need one multiply per axis and node; a full grid needs one per axis and 1-D node, then
    one per column for each further axis of the product.
    """
    records = []
    for dtype in (np.float32, np.float64):
        work = grids(dtype, threads, n)
        rng = np.random.default_rng(1)
        groups = [np.sort(rng.choice(40, 3, replace=False)) for _ in range(80)]
        nodes = [rng.normal(size=(62, 3)) for _ in groups]
        plan = FourierPlan.from_groups(40, groups, nodes, [np.full(62, 0.1)] * 80)
        out = touched(n, plan.n_columns, dtype)

        def random(X: Array = work.X, plan: FourierPlan = plan, out: Array = out) -> None:
            _engine.fourier(X, plan, out, threads)

        best = interleave({"grid": work.jobs["engine"], "random": random}, repeats)
        record = record_of("claim", dtype, threads, n, plan.n_columns, best)
        record["multiplies"] = {"grid": 40 * 2 + 80 * (25 + 125), "random": 80 * 62 * 3}
        record["sines"] = {"grid": 40 * 4, "random": 80 * 124}
        records.append(record)
    return records


# ---- reporting ----------------------------------------------------------------------------------


_LEGEND = """
vs peer    times faster than the usual way: RBFSampler for the dense map, the same formula in NumPy
           for the others; vs numpy and vs torch compare with carefully tuned code
of limit   share of the speed of the limit: the bare matrix product, or writing the output once
must be    the required minimum for this engine"""


def table(records: list[Record]) -> str:
    """Speed against the peer and the limit, next to the required minimum; then the claim."""
    head = ("features", "dtype", "threads", "ms", "vs peer", "must be", "of limit", "must be",
            "limit", "vs numpy", "vs torch")  # fmt: skip
    lines: list[tuple[str, ...]] = [head]
    chosen = [record for record in records if record["work"] in TARGETS]
    for record in chosen:
        best, target = record["seconds"], TARGETS[record["work"]]
        limit = "product" if "product" in best else "write"
        single = record["dtype"] == "float32"
        lines.append(
            (
                target.title,
                record["dtype"],
                str(record["threads"]),
                f"{1e3 * best['engine']:.1f}",
                f"{best['peer'] / best['engine']:.1f}",
                f"{target.float32 if single else target.float64:g}",
                f"{100 * best[limit] / best['engine']:.0f}%",
                f"{100 * target.share:.0f}%" if single and target.share else "",
                limit,
                f"{best['numpy'] / best['engine']:.1f}" if "numpy" in best else "",
                f"{best['torch'] / best['engine']:.1f}" if "torch" in best else "",
            )
        )
    text = _columns(lines) + _LEGEND
    loads = [record["load"] for record in chosen if record["load"] is not None]
    if loads:
        text += (
            f"\nload average {min(loads):.1f} to {max(loads):.1f} on {chosen[0]['cpus']} CPUs: "
            "where it exceeds the threads in use, other programs slowed this one down"
        )
    for record in records:
        if record["work"] == "claim":
            best, count, sines = record["seconds"], record["multiplies"], record["sines"]
            text += (
                f"\nthe paper's claim, {record['dtype']}: grid features take "
                f"{best['grid'] / best['random']:.2f} of the time of random ones; per row "
                f"{count['grid']:,} multiplies and {sines['grid']:,} sines or cosines against "
                f"{count['random']:,} and {sines['random']:,}"
            )
    return text


def _columns(lines: list[tuple[str, ...]]) -> str:
    widths = [max(len(line[i]) for line in lines) for i in range(len(lines[0]))]
    return "\n".join(
        "  ".join([line[0].ljust(widths[0]), *map(str.rjust, line[1:], widths[1:])])
        for line in lines
    )


def draw(records: list[Record], path: Path) -> None:
    """The sweep: milliseconds against rows and against columns, log-log, with a line of slope 1."""
    from matplotlib.ticker import FuncFormatter, NullFormatter

    labels = {"peer": "RBFSampler", "numpy": "NumPy", "engine": "engine"}
    picture = figure(9, 4)
    for panel, axis in zip(picture.subplots(1, 2, sharey=True), ("rows", "columns"), strict=True):
        chosen = [r for r in records if r["work"] == f"sweep {axis}"]
        x = np.array([r[axis] for r in chosen], float)
        for name, label in labels.items():
            times = [1e3 * r["seconds"][name] for r in chosen]
            colour, marker, line = style_of(label)
            panel.loglog(x, times, line, color=colour, marker=marker, label=label, markersize=5)
        if chosen:
            last = 1e3 * chosen[-1]["seconds"]["engine"]
            slope = 0.4 * last * x / x[-1]
            panel.loglog(x, slope, "-", color=REFERENCE, lw=0.8, label="slope 1")
            other = "columns" if axis == "rows" else "rows"
            panel.set_title(f"{chosen[0][other]:,} {other}", fontsize=11)
        plain_ticks(panel.xaxis, x)
        panel.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
        panel.yaxis.set_minor_formatter(NullFormatter())
        tidy(panel)
        panel.set_xlabel(axis)
    picture.axes[0].set_ylabel("milliseconds (minimum)")
    picture.axes[0].legend(frameon=False)
    picture.suptitle("Dense features of 64 axes, float32, one thread", fontsize=12)
    replace(path, png(picture))
