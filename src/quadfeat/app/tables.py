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


def show_record(record: dict[str, Any], as_json: bool) -> None:
    """Print a record as a table, or as a line of JSON."""
    if as_json:
        print(json.dumps(record))
        return
    table = Table(box=None, show_header=False)
    for name, value in record.items():
        table.add_row(name, f"{value:,.4g}" if isinstance(value, float) else escape(str(value)))
    Console().print(table)
