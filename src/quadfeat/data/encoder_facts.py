"""A fitted `TableEncoder` in a notebook: what became of each column."""

from __future__ import annotations

from .._display.html import WithFacts, card, folded, table
from .column_kinds import ColumnReport

_OPEN = 20  # columns, up to which the table is not folded


class EncoderFacts(WithFacts):
    """What a fitted encoder shows before its diagram."""

    report_: tuple[ColumnReport, ...]

    def _facts(self) -> str:
        if not hasattr(self, "report_"):
            return ""
        rows = [
            (
                each.name,
                "left out" if each.kind == "drop" else each.kind,
                f"{each.outputs:,}",
                f"{each.gaps:,}" if each.gaps else "",
                f"{each.distinct:,}",
                each.why,
            )
            for each in self.report_
        ]
        head = ("column", "is", "becomes", "gaps", "different values", "why")
        columns = table(head, rows, numbers=(2, 3, 4))
        made = sum(each.outputs for each in self.report_)
        title = f"{type(self).__name__}, fitted: {len(rows):,} columns became {made:,}"
        return card(title, columns if len(rows) <= _OPEN else folded("columns", columns))
