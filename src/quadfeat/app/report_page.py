"""The report of a model: one self-contained HTML page without scripts, to send around."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from ..plotting.vector import Axes, bars, cut, short
from .kernel_words import in_words, length_scales
from .report_curves import curves, learning, widths
from .report_parts import figure, paragraph, section, table
from .report_style import STYLE
from .study import Study
from .summary import Contender, FitSummary

_CELL = 120.0  # width in pixels of a value in a table of rows
_LENGTHS = 20  # length scales shown, at most


def page(summary: FitSummary | None, study: Study, model: Any, command: str) -> str:
    """The report as one document.

    Parameters
    ----------
    summary : the results of `quadfeat fit`, or None if its record is not beside the model
    study : the model on the rows of this report
    model : fitted
    command : str, the exact command that wrote the page
    """
    target = "the target" if summary is None else summary.target
    sections = [
        _scores(summary, study),
        learning(summary),
        widths(summary),
        *_quality(study),
        _importances(summary, model),
        curves(study),
        _unlike(summary, study),
        _map(study, model),
        _columns(summary, model),
        _usage(summary, command),
    ]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>A model of {escape(target)}</title>
<link rel="icon" href="data:,">
<style>{STYLE}</style>
</head>
<body>
<header>
<h1>A model of {escape(target)}</h1>
{_verdict(summary, study)}
{_facts(summary, study, model)}
</header>
<main>
{"".join(sections)}</main>
<footer><p>Written by quadfeat {escape(__version__)}. This file is self-contained.</p>
</footer>
</body>
</html>
"""


def _same_rows(summary: FitSummary | None, study: Study) -> bool:
    """Whether the page uses the rows that `fit` held out."""
    return summary is not None and study.score.value == summary.score.value


def _verdict(summary: FitSummary | None, study: Study) -> str:
    if summary is not None and _same_rows(summary, study):
        text = summary.verdict
    elif np.isnan(study.score.value):
        text = f"There is no {study.score.name} of {study.rows}: all targets are the same."
    elif study.score.learned:
        text = f"The model has {study.score} on {study.rows}."
    else:
        text = f"Nothing was learned: the model has {study.score} on {study.rows}."
    kind = "verdict" if study.score.learned else "verdict none"
    return paragraph(text, kind)


def _facts(summary: FitSummary | None, study: Study, model: Any) -> str:
    score = study.score
    facts = []
    if not np.isnan(score.value):
        facts.append((score.name, f"{score.value:.3f} (95%: {score.low:.3f} to {score.high:.3f})"))
    facts += [(name, f"{value:.4g}") for name, value in study.more_scores.items()]
    facts.append(("scored on", study.rows))
    if summary is not None:
        facts.append(("learned from", f"{summary.n_train:,} rows of {Path(summary.data).name}"))
    kernel = in_words(model.features_.kernel_)
    facts.append(("model", f"{kernel}; {model.features_.n_columns_} features"))
    items = "".join(f"<div><dt>{escape(a)}</dt><dd>{escape(b)}</dd></div>" for a, b in facts)
    return f'<dl class="facts">{items}</dl>'


def _scores(summary: FitSummary | None, study: Study) -> str:
    title = "How good is it?"
    if summary is None:
        why = (
            "The .json file of quadfeat fit is not beside the model, so the mean, a linear model "
            "and gradient boosting are left out."
        )
        care = "If the model was fitted to these rows, its score here is too good."
        only = figure(_score_bars([Contender("this model", study.score, 0.0)]))
        return section("score", title, only, paragraph(why, "note"), paragraph(care, "note"))
    ours = Contender("this model", summary.score, summary.fit_seconds)
    every = [ours, *summary.contenders]
    text = (
        f"{summary.score.name} on {summary.n_test:,} held-out rows ({summary.held_out}); whiskers "
        f"are 95% intervals."
    )
    parts = [figure(_score_bars(every)), paragraph(text, "note")]
    if not _same_rows(summary, study):
        parts.append(paragraph(f"On {study.rows}, this model has {study.score}."))
    return section("score", title, *parts)


def _score_bars(every: Sequence[Contender]) -> str:
    known = [each for each in every if np.isfinite(each.score.value)]
    scores = [each.score for each in known]
    if not scores:
        return ""
    low = scores[0].chance if scores[0].name == "AUROC" else 0.0
    high = max(end for score in scores for end in (score.value, score.high) if np.isfinite(end))
    return bars(
        "; ".join(f"{each.name}: {each.score}" for each in known),
        [each.name for each in known],
        [score.value for score in scores],
        ranges=[(score.low, score.high) for score in scores],
        labels=[f"{score.value:.3f}" for score in scores],
        limits=(low, max(high, low + 0.1)),
        front=1,
    )


def _quality(study: Study) -> list[str]:
    """Calibration and errors, ordered to fill two columns."""
    if "bins" in study.calibration:
        return [_confusion(study.errors), _reliability(study)]
    return [*_calibration(study), _residuals(study.errors)]


def _calibration(study: Study) -> list[str]:
    found = study.calibration
    points = np.array(found["points"])
    low, high = (float(e) for e in np.quantile(points, [0.003, 0.997])) if len(points) else (0, 1)
    ends = [low, high]
    axes = Axes((low, high), (low, high), "Observed against predicted, with means of ten bins")
    axes.line(ends, ends, "rule").dots(points[:, 0], points[:, 1], "cloud", 1.8)
    axes.line(found["predicted"], found["seen"]).dots(found["predicted"], found["seen"])
    text = "Grey: rows. Line: means of ten equal bins; on the dashed line predictions are right."
    parts = [figure(axes.svg("predicted", "observed")), paragraph(text, "note")]
    first = section("calibration", "Are predictions right on average?", *parts)
    if not found["coverage"]:
        why = "This model has no standard deviations, so there are no intervals to check."
        return [first, section("coverage", "Can its intervals be trusted?", paragraph(why, "note"))]
    levels = [level for level, _ in found["coverage"]]
    shares = [share for _, share in found["coverage"]]
    worst = max(zip(levels, shares, strict=True), key=lambda pair: abs(pair[0] - pair[1]))
    good = abs(worst[0] - worst[1]) < 0.05
    word = "Yes" if good else "Too wide" if worst[1] > worst[0] else "Too narrow"
    text = f"{word}: {worst[0]:.0%} intervals contain {worst[1]:.1%} of the rows."
    axes = Axes((0.4, 1.0), (0.4, 1.0), "Share of rows inside against the level of intervals")
    axes.line([0.4, 1], [0.4, 1], "rule").line(levels, shares).dots(levels, shares)
    marks = [(level, f"{level:.0%}") for level in levels]
    marks = [mark for mark in marks if mark[1] != "90%"]
    svg = axes.svg("level of the interval", "share of rows inside", marks)
    return [
        first,
        section("coverage", "Can its intervals be trusted?", paragraph(text), figure(svg)),
    ]


def _reliability(study: Study) -> str:
    found = study.calibration
    share, seen, low, high, count = (list(each) for each in zip(*found["bins"], strict=True))
    title = f"Observed share against predicted probability of {found['event']}"
    axes = Axes((0.0, 1.0), (0.0, 1.0), title)
    crowd = 0.25 * np.array(count) / max(count)
    for x, height in zip(share, crowd, strict=True):
        axes.columns([max(x - 0.03, 0.0), min(x + 0.03, 1.0)], [height], "crowd")
    axes.line([0, 1], [0, 1], "rule").whiskers(share, low, high).line(share, seen)
    axes.dots(share, seen)
    off = float(np.average(np.abs(np.subtract(share, seen)), weights=count))
    text = f"Probabilities are off by {off:.1%} on average."
    note = "Whiskers: 95% intervals. Grey: how many rows have this probability."
    svg = axes.svg(f"predicted probability of {found['event']}", "observed share")
    title = "Can its probabilities be trusted?"
    return section("calibration", title, paragraph(text), figure(svg), paragraph(note, "note"))


def _residuals(found: dict[str, Any]) -> str:
    edges, counts = found["edges"], found["counts"]
    axes = Axes((edges[0], edges[-1]), (0, max(counts) * 1.05 or 1), "Histogram of residuals")
    axes.columns(edges, counts).line([0, 0], [0, max(counts)], "rule")
    text = (
        f"Half of the rows are within {short(found['median'])}, nine in ten within "
        f"{short(found['nine_in_ten'])}; on average the observed value is "
        f"{short(abs(found['bias']))} {'above' if found['bias'] > 0 else 'below'} predicted."
    )
    svg = axes.svg("observed minus predicted", "rows")
    return section("errors", "How far is it off?", paragraph(text), figure(svg))


def _confusion(found: dict[str, Any]) -> str:
    labels, counts = found["labels"], found["counts"]
    head = "".join(f"<th class=n>{escape(label)}</th>" for label in labels)
    body = ""
    for label, row in zip(labels, counts, strict=True):
        total = sum(row) or 1
        cells = "".join(f'<td style="--share:{n / total:.2f}">{n:,}</td>' for n in row)
        body += f"<tr><th>{escape(label)}</th>{cells}</tr>\n"
    others = f" The {found['others']} rarest classes are not shown." if found["others"] else ""
    return section(
        "errors",
        "Which classes are confused?",
        paragraph(f"{found['right']:.1%} of the rows are right.{others}"),
        f'<div class="table"><table class="confusion"><thead><tr><th>observed\\predicted</th>{head}'
        f"</tr></thead>\n{body}</table></div>",
    )


def _importances(summary: FitSummary | None, model: Any) -> str:
    shown = [each for each in importances(summary, model) if each[1] > 0][:12]
    if not shown:
        return section(
            "matters", "What matters?", paragraph("This model has no importances.", "note")
        )
    names, shares = [name for name, _ in shown], [share for _, share in shown]
    svg = bars(
        "Importances: " + ", ".join(f"{name} {share:.0%}" for name, share in shown),
        names,
        shares,
        labels=[f"{share:.0%}" for share in shares],
    )
    note = "How much predictions change with each column; not causes. Correlated columns share it."
    return section("matters", "What matters?", figure(svg), paragraph(note, "note"))


def importances(summary: FitSummary | None, model: Any) -> tuple[tuple[str, float], ...]:
    """(column, share) from large to small."""
    if summary is not None:
        return summary.importances
    shares = getattr(model, "feature_importances_", np.empty(0))
    names = getattr(model, "feature_names_in_", [f"column {i}" for i in range(len(shares))])
    order = np.argsort(-shares, kind="stable")
    return tuple((str(names[i]), float(shares[i])) for i in order)


def _unlike(summary: FitSummary | None, study: Study) -> str:
    title, found = "Rows unlike the training data", study.unlike
    if "why" in found:
        return section("unlike", title, paragraph(found["why"], "note"))
    residual = f"residual of the feature map above {found['usual']:.2g}"
    text = (
        f"{found['share']:.1%} of the rows are further from the training rows than 99% of the "
        f"held-out rows ({residual})."
    )
    if summary is not None and _same_rows(summary, study):
        text = f"The rows furthest from the training rows; 99% are nearer ({residual})."
    head = [*found["names"], "observed", "predicted", "residual"]
    numbers = range(len(head) - 3, len(head))
    rows = [[cut(cell, _CELL) for cell in row] for row in found["rows"]]
    shown = table([cut(name, _CELL) for name in head], rows, numbers, "table short")
    return section("unlike", title, paragraph(text), shown if rows else "")


def _map(study: Study, model: Any) -> str:
    found = study.map
    parts = []
    if "rms" in found:
        parts.append(paragraph(
            f"The feature map approximates the kernel with an RMS error of {found['rms']:.1e} of "
            f"k(0), at most {found['limit']:.1e} with 95% confidence; the largest error of 10,000 "
            f"{found['population']} is {found['largest']:.1e}."
        ))  # fmt: skip
    if found["certificate"]:
        parts.append(
            paragraph(f"Proven for all pairs of these rows: at most {found['certificate']}.")
        )
    elif found["refusal"]:
        parts.append(paragraph(f"Not proven, only estimated: {found['refusal']}.", "note"))
    parts.append(paragraph(f"{in_words(model.features_.kernel_)}."))
    parts.append(_lengths(model))
    if found["trials"]:
        rows = [
            [name + "  (chosen)" * chosen, f"{columns:,}", f"{rms:.1e}"]
            for name, columns, rms, chosen in found["trials"]
        ]
        tried = table(["map", "columns", "RMS error"], rows, (1, 2))
        reason = paragraph(found["reason"] + ".", "note")
        parts.append(f"<details><summary>Maps tried</summary>{reason}{tried}</details>")
    return section("map", "How exact is the kernel?", *parts)


def _lengths(model: Any) -> str:
    """The length scales, collapsed; nothing if there is only one."""
    d = model.features_.n_features_in_
    encoder = getattr(model, "encoder_", None)
    known = getattr(model, "feature_names_in_", [f"column {i}" for i in range(d)])
    names = [str(name) for name in (known if encoder is None else encoder.get_feature_names_out())]
    lengths = length_scales(model.features_.kernel_, names)
    if not lengths:
        return ""
    rows = [[name, short(float(f"{length:.3g}"))] for name, length in lengths[:_LENGTHS]]
    more = f" The {len(lengths) - len(rows)} longest are not shown." * (len(lengths) > len(rows))
    units = "the scaled columns" if encoder is not None else "the columns"
    note = paragraph(
        f"In units of {units}: predictions change quickly along a short one, slowly along a long "
        f"one.{more}",
        "note",
    )
    shown = table(["column", "length scale"], rows, (1,))
    return f"<details><summary>Length scales</summary>{note}{shown}</details>"


def _columns(summary: FitSummary | None, model: Any) -> str:
    inputs = summary.inputs if summary is not None else ()
    inputs = inputs or getattr(getattr(model, "encoder_", None), "report_", ())
    if not inputs:
        why = f"{model.n_features_in_} columns of numbers, used directly."
        return section("columns", "The columns as found", paragraph(why), wide=True)
    rows = [
        [each.name, "left out" if each.kind == "drop" else each.kind, f"{each.distinct:,}",
         f"{each.gaps:,}", str(each.outputs), each.why]
        for each in inputs
    ]  # fmt: skip
    head = ["column", "kind", "different values", "gaps", "numbers made of it", "why"]
    parts = [table(head, rows, (2, 3, 4))]
    if summary is not None:
        parts += [paragraph(note, "note") for note in summary.notes]
    return section("columns", "The columns as found", *parts, wide=True)


def _usage(summary: FitSummary | None, command: str) -> str:
    file = "model.qf" if summary is None or not summary.file else summary.file
    data = "new.csv" if summary is None else f"new{Path(summary.data).suffix or '.csv'}"
    read = "read_parquet" if data.endswith(".parquet") else "read_csv"
    code = f"""import pandas as pd
import quadfeat as qf

model = qf.load({file!r})
print(model.predict(pd.{read}({data!r})))"""
    parts = [f"<pre>{escape(code)}</pre>"]
    commands = [] if summary is None or not summary.command else [summary.command]
    commands += [command] * (command not in commands)
    parts.append(
        paragraph("The commands behind this page:" if len(commands) > 1 else "The command:")
    )
    parts += [f'<pre class="wrap">{escape(each)}</pre>' for each in commands]
    return section("use", "Use it", *parts, wide=True)
