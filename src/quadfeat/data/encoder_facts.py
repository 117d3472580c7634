"""A fitted `TableEncoder` in a notebook: the encoding of each column."""

from __future__ import annotations

from .._display.html import WithFacts, card, folded, table
from .column_kinds import ColumnReport

_OPEN = 20  # up to so many columns the table is not collapsed


class EncoderFacts(WithFacts):
    """The facts that a notebook shows above the diagram of a fitted encoder."""

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
