"""Pictures of the pages, drawn when the site is built: `python docs/figures.py FOLDER` writes them.

`choosing` is a drawing; `promises` computes its figures; `fits` and `transforms` are drawn from
records in docs/timings.jsonl, which benchmarks/timings.py writes.
"""

from __future__ import annotations

import json
import sys
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

import quadfeat as qf
from quadfeat.plotting.style import ACCENT, INK, REFERENCE, figure, plain_ticks, style_of, svg, tidy

RECORDS = Path(__file__).with_name("timings.jsonl")

# ---- which map? ----------------------------------------------------------------------------------
# question, (answer that leaves the path, what to take then, why)
QUESTIONS = [
    ("Fewer than about 3,000 rows?", "yes", "exact kernel", "SVC or KernelRidge: no error"),
    ("Do you just want it to work?", "yes", "KernelFeatures", "tries the others, says why"),
    ("Must the error be proven?", "yes, few axes", "DenseGrid", "certificate; n^axes columns"),
    ("Will new rows drift away?", "yes", "ReweightedGrid", "depends on x - y alone"),
    ("Is the kernel Gaussian?", "no", "Landmarks", "any kernel, any function"),
    ("Tight clusters, heavy tails?", "yes", "Landmarks", "points where the rows are"),
]
LAST = ("HermiteMercer", "least error and cheapest on smooth data")


def choosing() -> str:
    """The questions in a column, with the answers next to them."""
    step, width, left, box, right = 74, 700, 10, 250, 400
    height = step * (len(QUESTIONS) + 1) + 6
    shapes = []
    for i, (question, answer, name, why) in enumerate(QUESTIONS):
        y = 10 + step * i
        shapes += [
            f'<rect x="{left}" y="{y}" width="{box}" height="46" rx="8" class="ask"/>',
            f'<text x="{left + box / 2}" y="{y + 28}" class="mid">{escape(question)}</text>',
            f'<path d="M{left + box} {y + 23} H{right - 8}" class="go"/>',
            f'<text x="{(left + box + right) / 2 - 4}" y="{y + 16}" class="small">{answer}</text>',
            f'<rect x="{right}" y="{y}" width="290" height="46" class="take"/>',
            f'<text x="{right + 12}" y="{y + 19}" class="name">{name}</text>',
            f'<text x="{right + 12}" y="{y + 37}" class="why">{escape(why)}</text>',
            f'<path d="M{left + box / 2} {y + 46} V{y + step - 8}" class="go"/>',
        ]
    y = 10 + step * len(QUESTIONS)
    shapes += [
        f'<rect x="{left}" y="{y}" width="{box + 60}" height="46" class="take"/>',
        f'<text x="{left + 12}" y="{y + 19}" class="name">{LAST[0]}</text>',
        f'<text x="{left + 12}" y="{y + 37}" class="why">{LAST[1]}</text>',
    ]
    body = "\n".join(shapes)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" \
width="{width}" height="{height}" font-family="sans-serif" role="img">
<title>Which map: six questions, each with the map to take</title>
<defs><marker id="tip" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8" markerHeight="8" \
markerUnits="userSpaceOnUse" orient="auto"><path d="M0 0 L8 4 L0 8 Z" fill="#333333"/></marker>
</defs>
<style>
.ask {{ fill: #ffffff; stroke: #333333; stroke-width: 1.4; }}
.take {{ fill: #e6ecf1; stroke: #0b3c5d; stroke-width: 1.4; }}
.mid {{ font-size: 15px; text-anchor: middle; fill: #111111; }}
.name {{ font-size: 15px; font-weight: bold; fill: #0b3c5d; }}
.why {{ font-size: 13px; fill: #333333; }}
.small {{ font-size: 13px; text-anchor: middle; fill: #333333; }}
.go {{ fill: none; stroke: #333333; stroke-width: 1.4; marker-end: url(#tip); }}
</style>
<rect width="{width}" height="{height}" fill="#ffffff"/>
{body}
</svg>
"""


# ---- what was promised, and what is there --------------------------------------------------------
def promises() -> str:
    """Certified and estimated errors against observed ones, on rows that the map never saw."""
    made = figure(7.2, 3.8)
    left, right = made.subplots(1, 2)
    tolerances = 10.0 ** -np.arange(1, 11)
    for d, colour, marker in ((1, INK, "o"), (2, ACCENT, "s"), (3, "#7b4b94", "^")):
        display = qf.ErrorDisplay.from_tolerances(
            qf.Gaussian(0.5), tolerances[: 10 if d < 3 else 6], 4.0, n_features=d, ax=_spare()
        )
        promised = [record["promised"] for record in display.records]
        seen = [record["observed"] for record in display.records]
        left.loglog(promised, seen, marker, color=colour, markersize=5, label=f"{d} axes")
    left.loglog([1e-11, 1], [1e-11, 1], color=REFERENCE, linewidth=1)
    left.set(xlabel="proven", ylabel="largest of 20,000 gaps", title="Certificates")
    left.legend(frameon=False)
    tidy(left)
    rng = np.random.default_rng(0)
    for name, maker in {
        "RandomFourier": lambda p: qf.RandomFourier(None, n_components=p, random_state=0),
        "Landmarks": lambda p: qf.Landmarks(None, n_components=p, random_state=0),
        "HermiteMercer": lambda p: qf.HermiteMercer(None, n_components=p),
    }.items():
        promised, true = [], []
        for p in (16, 32, 64, 128, 256):
            X = rng.normal(size=(2000, 4)) @ np.diag([1.0, 0.8, 0.5, 0.3])
            features = maker(p).set_params(kernel=qf.Gaussian(0.5)).fit(X[:1000])
            rows = X[1000:]
            told = features.error(rows, n_pairs=20_000)
            errors = np.abs(features.approximate_kernel(rows) - features.kernel_(rows, rows))
            errors = errors[~np.eye(1000, dtype=bool)]  # of all pairs
            promised.append((told.rms_limit, told.quantile_limits[0.99]))
            true.append((np.sqrt(np.mean(errors**2)), np.quantile(errors, 0.99)))
        style, promised, true = style_of(name), np.array(promised), np.array(true)
        look = {"color": style.colour, "markersize": 5}
        right.loglog(promised[:, 0], true[:, 0], style.marker, label=name, **look)
        right.loglog(promised[:, 1], true[:, 1], style.marker, fillstyle="none", **look)
    right.loglog([1e-5, 1], [1e-5, 1], color=REFERENCE, linewidth=1)
    right.set(xlabel="95% limit, from 20,000 pairs", ylabel="of all 499,500 pairs")
    right.set_title("RMS (full), 99% quantile (open)")
    right.legend(frameon=False)
    tidy(right)
    return svg(made).decode()


def _spare() -> Any:
    """Axes for a display to draw on, which are not shown."""
    return figure().subplots()


# ---- times ---------------------------------------------------------------------------------------
def _records(part: str) -> list[dict[str, Any]]:
    lines = map(json.loads, RECORDS.read_text().splitlines())
    return [line for line in lines if line["part"] == part]


def fits() -> str:
    """CPU time of a fit against its rows."""
    made = figure(7.2, 3.8)
    ax = made.subplots()
    records = _records("fit")
    lines = {"the": (INK, "o-"), "one": ("#1565c0", "s-"), "eve": ("#111111", "*-")}
    for how in dict.fromkeys(record["how"] for record in records):
        colour, line = lines.get(how[:3], (REFERENCE, "D:"))
        some = [record for record in records if record["how"] == how]
        rows = [record["rows"] for record in some]
        ax.loglog(rows, [record["seconds"] for record in some], line, color=colour, label=how)
    ax.set(xlabel="rows", ylabel="CPU seconds of a fit")
    plain_ticks(ax.xaxis, sorted({record["rows"] for record in records}))
    plain_ticks(ax.yaxis, [0.1, 0.2, 0.5, 1, 2, 5, 10])
    ax.legend(frameon=False)
    tidy(ax)
    return svg(made).decode()


def transforms() -> str:
    """CPU time per row against the error."""
    made = figure(7.2, 3.8)
    ax = made.subplots()
    for record in _records("transform"):
        style = style_of(record["map"])
        ax.loglog(
            1e6 * record["seconds"], record["rms"], style.marker, color=style.colour, markersize=9
        )
        ax.annotate(
            record["map"], (1e6 * record["seconds"], record["rms"]),
            xytext=(8, -14 if record["map"] == "Landmarks" else 6), textcoords="offset points",
        )  # fmt: skip
    ax.set(xlabel="CPU microseconds per row", ylabel="RMS error of the kernel", xlim=(0.2, 20))
    ax.margins(y=0.2)
    plain_ticks(ax.xaxis, [0.2, 0.5, 1, 2, 5, 10, 20])
    tidy(ax)
    return svg(made).decode()


ALL = {"choosing": choosing, "promises": promises, "fits": fits, "transforms": transforms}

if __name__ == "__main__":
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, picture in ALL.items():
        (folder / f"{name}.svg").write_text(picture())
