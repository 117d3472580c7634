"""Parts of the report as HTML; every text is escaped."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape


def section(name: str, title: str, *parts: str, wide: bool = False) -> str:
    kind = ' class="wide"' * wide
    inside = "\n".join(parts)
    return f'<section id="{name}"{kind}>\n<h2>{escape(title)}</h2>\n{inside}</section>\n'


def paragraph(text: str, kind: str = "") -> str:
    return f'<p class="{kind}">{escape(text)}</p>' if kind else f"<p>{escape(text)}</p>"


def figure(svg: str, title: str = "") -> str:
    if not svg:
        return ""
    head = f"<h3>{escape(title)}</h3>" if title else ""
    return f"<figure>{head}{svg}</figure>"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    numbers: Sequence[int] = (),
    kind: str = "table",
) -> str:
    def cell(tag: str, i: int, text: str) -> str:
        return f"<{tag}{' class=n' * (i in numbers)}>{escape(text)}</{tag}>"

    first = "".join(cell("th", i, text) for i, text in enumerate(head))
    body = "".join(
        "<tr>" + "".join(cell("td", i, text) for i, text in enumerate(row)) + "</tr>\n"
        for row in rows
    )
    inside = f"<thead><tr>{first}</tr></thead>\n{body}"
    return f'<div class="{kind}" tabindex="0"><table>{inside}</table></div>'
