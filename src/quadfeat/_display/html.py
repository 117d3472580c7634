"""Tables of facts for notebooks: escaped, without colours, so legible on any page."""

from __future__ import annotations

import html
from collections.abc import Collection, Iterable, Sequence
from itertools import count
from numbers import Integral, Real
from typing import Any

from sklearn import get_config

# Lines and small text take the colour of the page's text; nothing has a background. JupyterLab
# aligns all cells of tables on the right by rules that are more specific.
_STYLE = """<style>
.quadfeat { margin: 0.3em 0 0.6em; line-height: 1.4; }
.quadfeat table { border-collapse: collapse; margin: 0.3em 0; background: none; color: inherit; }
.quadfeat tr { background: none; }
.quadfeat th, .quadfeat td { padding: 0.12em 1em 0.12em 0; border: 0; vertical-align: top;
  text-align: left !important; max-width: 44em; white-space: normal; font-size: 0.95em; }
.quadfeat th { font-weight: normal; opacity: 0.7; }
.quadfeat thead th { border-bottom: 1px solid; }
.quadfeat td.number, .quadfeat th.number { white-space: nowrap; text-align: right !important;
  font-variant-numeric: tabular-nums; }
.quadfeat tr.chosen td { font-weight: bold; }
.quadfeat p { margin: 0.3em 0; max-width: 60em; opacity: 0.8; font-size: 0.95em; }
.quadfeat summary { cursor: pointer; opacity: 0.8; }
</style>"""


def number(value: Any) -> str:
    """A number in at most three digits; whole numbers in full.

    >>> number(0.00123456), number(12345), number(-0.5)
    ('0.00123', '12,345', '-0.5')
    """
    if isinstance(value, Integral):
        return f"{int(value):,}"
    return f"{float(value):.3g}" if isinstance(value, Real) else str(value)


def card(title: str, *parts: str) -> str:
    """A title, as text, and parts, as HTML."""
    content = "".join(parts)
    return f'<div class="quadfeat">{_STYLE}<strong>{html.escape(title)}</strong>{content}</div>'


def facts(rows: Iterable[tuple[str, Any]]) -> str:
    """Names and values, side by side; values of None and "" are left out."""
    cells = "".join(
        f"<tr><th>{html.escape(name)}</th><td>{html.escape(number(value))}</td></tr>"
        for name, value in rows
        if value is not None and not (isinstance(value, str) and value == "")
    )
    return f"<table>{cells}</table>"


def table(
    head: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    numbers: Collection[int] = (),
    chosen: Collection[int] = (),
) -> str:
    """A table with a head.

    Parameters
    ----------
    head : names of the columns
    rows : texts
    numbers : positions of columns that are aligned on the right
    chosen : positions of rows in bold
    """

    def line(cells: Sequence[str], tag: str) -> str:
        kinds = [' class="number"' if i in numbers else "" for i in range(len(cells))]
        return "".join(
            f"<{tag}{kind}>{html.escape(cell)}</{tag}>"
            for kind, cell in zip(kinds, cells, strict=True)
        )

    marks = (' class="chosen"' if i in chosen else "" for i in count())
    body = "".join(
        f"<tr{mark}>{line(row, 'td')}</tr>" for mark, row in zip(marks, rows, strict=False)
    )
    return f"<table><thead><tr>{line(head, 'th')}</tr></thead><tbody>{body}</tbody></table>"


def note(text: str) -> str:
    """A sentence below a table."""
    return f"<p>{html.escape(text)}</p>"


def folded(title: str, content: str) -> str:
    """HTML that is shown when its title is clicked."""
    return f"<details><summary>{html.escape(title)}</summary>{content}</details>"


class WithFacts:
    """A scikit-learn estimator that shows its facts above its diagram, in a notebook."""

    _has_diagram = True

    def _facts(self) -> str:
        """The facts as HTML; "" if there are none, as before `fit`."""
        return ""

    def _repr_html_inner(self) -> str:
        diagram = super()._repr_html_inner() if self._has_diagram else ""  # type: ignore[misc]
        return self._facts() + diagram

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        shown = {"text/plain": repr(self)}
        if get_config()["display"] == "diagram":
            shown["text/html"] = self._repr_html_inner()
        return shown
