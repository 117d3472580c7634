"""Curves of the report: score against rows and columns of features, predictions along columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..plotting.vector import Axes, bars
from .learning_curve import gain
from .report_parts import figure, paragraph, section
from .study import Study
from .summary import FitSummary

_BAND = 1.96  # standard deviations: 95% of a normal distribution


def learning(summary: FitSummary | None) -> str:
    """Score against training rows."""
    title = "Would more rows help?"
    points = () if summary is None else summary.learning
    rise = None if summary is None else gain(points, summary.n_train, summary.score.value)
    if summary is None or rise is None:
        why = "quadfeat fit did not store the score against rows, so this is not known."
        return section("rows", title, paragraph(why, "note"))
    name = summary.score.name
    text = f"{_answer(rise)}: the last doubling of the rows changed {name} by {_signed(rise)}."
    every = [*points, (summary.n_train, summary.score.value)]
    note = "Refits keep the encoding and the kernel, so small ones look slightly too good."
    parts = [paragraph(text), figure(_doublings(every, name, "training rows"))]
    return section("rows", title, *parts, paragraph(note, "note"))


def widths(summary: FitSummary | None) -> str:
    """Score against columns of features."""
    title = "Would more features help?"
    points = () if summary is None else summary.widths
    if summary is None or len(points) < 2:
        why = "quadfeat fit did not store the score against features, so this is not known."
        return section("widths", title, paragraph(why, "note"))
    name, (width, score), before = summary.score.name, points[-1], points[-2]
    rise = float((score - before[1]) / np.log2(width / before[0]))
    advice = f" Try --width {width}." * (rise > _SOME and width > summary.n_columns)
    text = f"{_answer(rise)}: {width:,} instead of {before[0]:,} changed {name} by {_signed(rise)}."
    note = (
        "Features are the columns that approximate the kernel. All refits use the same rows, at "
        "most 8,000, and the same kernel."
    )
    parts = [paragraph(text + advice), figure(_doublings(points, name, "features"))]
    return section("widths", title, *parts, paragraph(note, "note"))


_MUCH, _SOME = 0.01, 0.003  # changes of a score


def _signed(value: float) -> str:
    """With three digits, and never -0.000."""
    return f"{round(value, 3) + 0.0:+.3f}"


def _answer(rise: float) -> str:
    return "Yes" if rise > _MUCH else "A little" if rise > _SOME else "Hardly"


def _doublings(points: Sequence[tuple[int, float]], name: str, label: str) -> str:
    """A score against a size, on a logarithmic axis."""
    x = np.log2([size for size, _ in points])
    y = [value for _, value in points]
    room = max(0.02, 0.3 * (max(y) - min(y)))
    axes = Axes(
        (float(x[0]) - 0.3, float(x[-1]) + 0.3),
        (min(y) - room, min(1.0, max(y) + room)),
        f"{name} against {label}: "
        + ", ".join(f"{value:.3f} at {size:,}" for size, value in points),
    )
    far = [i for i in range(len(x)) if i == len(x) - 1 or x[-1] - x[i] > 0.6]
    marks = [(float(x[i]), f"{points[i][0]:,}") for i in far]
    return axes.line(x, y).dots(x, y).svg(label, name, marks)


def curves(study: Study) -> str:
    title = "How do predictions depend on the columns?"
    if not study.curves:
        why = "There are no curves: they need a table with columns that matter."
        return section("curves", title, paragraph(why, "note"), wide=True)
    every = [end for curve in study.curves for side in (-1, 1) for end in _ends(curve, side)]
    room = 0.06 * (max(every) - min(every)) or 0.5
    limits = (min(every) - room, max(every) + room)
    panels = "".join(_curve(curve, limits, study.curve_label) for curve in study.curves)
    note = (
        "The effect of each column alone; all effects add up to the prediction. Bands: 95%; all "
        "on one scale. Grey: where the rows are."
        if study.curve_label.startswith("effect")
        else "Mean prediction with this column set to each value and the others unchanged "
        "(partial dependence); all on one scale. Grey: where the rows are."
    )
    return section("curves", title, paragraph(note, "note"), f'<div class="panels">{panels}</div>',
                    wide=True)  # fmt: skip


def _ends(curve: dict[str, Any], side: int) -> list[float]:
    """The values, or one side of their 95% band."""
    deviation = curve["deviation"] or [0.0] * len(curve["value"])
    return [v + side * _BAND * d for v, d in zip(curve["value"], deviation, strict=True)]


def _curve(curve: dict[str, Any], limits: tuple[float, float], label: str) -> str:
    name, x, value = curve["name"], curve["x"], curve["value"]
    title = f"{label} against {name}"
    if curve["kind"] == "category":
        order = np.argsort(value)[::-1]
        names, values = [str(x[i]) for i in order], [value[i] for i in order]
        digits = int(np.clip(2 - np.floor(np.log10(limits[1] - limits[0])), 0, 6))
        labels = [f"{each:,.{digits}f}" for each in values]
        low, high = _ends(curve, -1), _ends(curve, 1)
        ranges = [(low[i], high[i]) for i in order] if curve["deviation"] else None
        svg = bars(title, names, values, labels=labels, limits=limits, ranges=ranges)
        return figure(svg, name)
    crowd = np.array(curve["counts"], float) / (max(curve["counts"]) or 1)
    axes = Axes((x[0], x[-1]), limits, title)
    heights = limits[0] + 0.18 * (limits[1] - limits[0]) * crowd
    axes.columns(curve["edges"], heights, "crowd")
    if curve["deviation"]:
        axes.band(x, _ends(curve, -1), _ends(curve, 1))
    axes.line(x, value)
    if len(x) <= 12:
        axes.dots(x, value)
    marks = None
    if curve["kind"] == "date":
        days = x[0] + (x[-1] - x[0]) * np.array([0.1, 0.5, 0.9])
        marks = [(float(d), str(np.datetime64(int(d), "D"))) for d in days]
        marks = marks if x[-1] - x[0] < 3 else [(d, text[:7]) for d, text in marks]
    return figure(axes.svg(name, label, marks), name)
