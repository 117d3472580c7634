"""The tables that the command prints."""

from __future__ import annotations

import json
from typing import Any

from rich import box
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from ..experiments.cell import Table as Numbers
from ..experiments.runner import Outcome
from . import demo as demonstration


def verdict_table(outcomes: list[Outcome]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in ("", "Claim", "The paper says", "Measured", "Holds"):
        table.add_column(heading, overflow="fold")
    words = {True: "[green]yes[/]", False: "[red]no[/]", None: "[yellow]open[/]"}
    for one in outcomes:
        for i, verdict in enumerate(one.verdicts):
            cells = (escape(verdict.claim), escape(verdict.paper), escape(verdict.measured))
            table.add_row(one.name if i == 0 else "", *cells, words[verdict.holds])
        if one.verdicts:
            table.add_section()
    return table


def number_table(numbers: Numbers) -> Table:
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0))
    for heading in numbers.head:
        table.add_column(heading, justify="right")
    for row in numbers.rows:
        table.add_row(*row)
    return table


def demo_table(records: list[dict[str, Any]]) -> Table:
    table = Table(
        title="Digits (1797 images, 64 pixels), Gaussian kernel at the median distance",
        title_justify="left",
        caption="RMS and max: kernel error over all pairs of 719 test images; accuracy: ridge on "
        "the features; bold: the least RMS at this width",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
        padding=(0, 1, 0, 0),
    )
    table.add_column("map", no_wrap=True)
    for heading in ("columns", "RMS", "max", "accuracy", "fit", "transform"):
        table.add_column(heading, justify="right", no_wrap=True)
    width: int | None = None
    for record in records:
        band = _band(record)
        if width is not None and band != width:
            table.add_section()
        width = band
        rivals = [r["rms"] for r in records if "transform" in r and _band(r) == band]
        best = "transform" in record and record["rms"] == min(rivals)
        table.add_row(
            record["map"],
            str(record["columns"]),
            _number(record.get("rms"), "{:.1e}"),
            _number(record.get("max"), "{:.1e}"),
            _number(record.get("accuracy"), "{:.1%}"),
            _number(record.get("fit"), "{:.2f} s"),
            _number(record.get("transform"), "{:.1f} ms", 1e3),
            style="bold" if best else None,
        )
    return table


def _band(record: dict[str, Any]) -> int:
    """The width that a map was given; it may leave columns unused."""
    if "transform" not in record:
        return 0
    return min(w for w in demonstration.WIDTHS if record["columns"] <= w)


def demo_verdict(records: list[dict[str, Any]]) -> str:
    at = {(r["map"], _band(r)): r for r in records if "transform" in r}
    width = demonstration.WIDTHS[1]
    theirs = at["RBFSampler (sklearn)", width]
    rivals = [r for (name, w), r in at.items() if w == width and "sklearn" not in name]
    ours = min(rivals, key=lambda r: r["rms"])
    return (
        f"\nAt {width} columns [bold]{ours['map']}[/] has "
        f"[bold]{theirs['rms'] / ours['rms']:.1f}x[/] less RMS error than RBFSampler."
    )


def _number(value: float | None, form: str, unit: float = 1.0) -> str:
    return "" if value is None else form.format(unit * value)


def show_record(record: dict[str, Any], as_json: bool) -> None:
    """Print a record as a table, or as a line of JSON."""
    if as_json:
        print(json.dumps(record))
        return
    table = Table(box=None, show_header=False)
    for name, value in record.items():
        table.add_row(name, f"{value:,.4g}" if isinstance(value, float) else escape(str(value)))
    Console().print(table)
