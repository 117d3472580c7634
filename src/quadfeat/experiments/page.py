"""The page: every figure and claim of the paper next to its measurement, in one HTML file."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from .cell import Table, Verdict
from .journal import Finished

_PHONE_POINTS = 450  # wider pictures have letters below 8 pixels on a phone, 343 pixels wide
_BADGES = {True: ("holds", "✓"), False: ("fails", "✗"), None: ("open", "?")}


_STYLE = """
:root { color-scheme: light dark; --ink: #1b1f24; --soft: #57606a; --paper: #ffffff;
  --card: #f6f8fa; --rule: #d0d7de; --link: #0550ae; --holds: #116329; --fails: #a40e26;
  --open: #6e4b00; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6edf3; --soft: #9da7b3; --paper: #0d1117;
  --card: #161b22; --rule: #30363d; --link: #79b8ff; --holds: #56d364; --fails: #ff8f87;
  --open: #e3b341; } }
* { box-sizing: border-box; }
body { margin: 0 auto; max-width: 56rem; padding: 1rem; background: var(--paper);
  color: var(--ink); font: 1rem/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: 1rem 0 .5rem; }
h2 { font-size: 1.3rem; line-height: 1.25; margin: 0 0 .5rem; }
a { color: var(--link); }
code { font-size: .9em; }
nav ul { list-style: none; padding: 0; margin: 1rem 0; border-top: 1px solid var(--rule); }
nav li { display: flex; flex-wrap: wrap; gap: 0 .75rem; justify-content: space-between;
  padding: .35rem 0; border-bottom: 1px solid var(--rule); }
nav span { color: var(--soft); }
section { margin: 3rem 0; }
figure { margin: 1rem 0; }
figure img { display: block; width: 100%; max-width: 42rem; height: auto; margin: 0 auto;
  background: #fff; border-radius: .4rem; border: 1px solid var(--rule); }
.verdicts { list-style: none; padding: 0; margin: 1rem 0; }
.verdicts li { background: var(--card); border-left: .3rem solid var(--colour);
  border-radius: .3rem; padding: .6rem .8rem; margin: .6rem 0; }
.verdicts p { margin: 0; }
.verdicts dl { display: grid; grid-template-columns: 6rem minmax(0, 1fr); gap: .1rem .6rem;
  margin: .3rem 0; }
.verdicts dt { color: var(--soft); } .verdicts dd { margin: 0; }
.badge { float: right; margin-left: .6rem; padding: 0 .5rem; border: 1px solid var(--colour);
  border-radius: 1rem; color: var(--colour); font-weight: 600; font-size: .85rem; }
.holds { --colour: var(--holds); } .fails { --colour: var(--fails); }
.open { --colour: var(--open); }
.fails { border-left-style: double !important; } .open { border-left-style: dashed !important; }
.table { overflow-x: auto; }
table { border-collapse: collapse; font-size: .85rem; font-variant-numeric: tabular-nums;
  overflow-wrap: normal; margin: .5rem 0; }
th, td { padding: .15rem .6rem; text-align: right; border-bottom: 1px solid var(--rule);
  white-space: nowrap; }
thead th { white-space: normal; vertical-align: bottom; }
th:first-child { text-align: left; padding-left: 0; white-space: nowrap; }
summary { cursor: pointer; color: var(--link); margin: .3rem 0; }
.note, .made, footer { color: var(--soft); font-size: .9rem; }
@media (max-width: 30rem) {
  .wide { overflow-x: auto; } .wide img { width: 36rem; max-width: none; }
  .verdicts dl { grid-template-columns: minmax(0, 1fr); }
  .verdicts dd { margin-bottom: .3rem; } }
@media print { :root { --paper: #fff; --ink: #000; --card: #fff; }
  figure, .verdicts li { break-inside: avoid; } }
"""


@dataclass(frozen=True)
class Section:
    """One experiment on the page; without a picture, `why` says what is missing."""

    name: str
    title: str
    about: str
    command: str
    finished: Finished
    verdicts: Sequence[Verdict]
    picture: bytes
    tables: Sequence[Table]
    why: str = ""


def html(sections: Sequence[Section], scale: str) -> str:
    """The page as one document: pictures inside, no script, nothing fetched."""
    shown = [section for section in sections if section.picture]
    verdicts = [verdict for section in shown for verdict in section.verdicts]
    machines = sorted({m for section in shown for m in section.finished.machines})
    counts = ", ".join(
        f"{sum(v.holds is holds for v in verdicts)} {word}"
        for holds, word in ((True, "hold"), (False, "do not"), (None, "cannot be decided here"))
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Gaussian quadrature for kernel features, reproduced</title>
<link rel="icon" href="data:,">
<style>{_STYLE}</style>
</head>
<body>
<header>
<h1>Gaussian quadrature for kernel features, reproduced</h1>
<p>Every figure and claim of the evaluation in Dao, De Sa and R&eacute; (2017), made again by one
command: <code>quadfeat reproduce all --scale {escape(scale)}</code>. Of {len(verdicts)} claims
checked, {counts}.</p>
{_scale_note(scale)}
</header>
<nav aria-label="Experiments"><ul>
{"".join(_entry(section) for section in sections)}</ul></nav>
<main>
{"".join(_section(section) for section in shown)}</main>
<footer>
<p>Made on: {"; ".join(escape(machine) for machine in machines) or "nothing yet"}.</p>
<p>Figures are drawn from the records beside this page, one line of JSON per finished cell;
<code>quadfeat reproduce all --scale {escape(scale)} --redraw</code> draws them again.</p>
</footer>
</body>
</html>
"""


def _scale_note(scale: str) -> str:
    if scale == "paper":
        return ""
    return (
        '<p class="note">This is the small scale: fewer samples, seeds and columns than in the '
        "paper, to be had in minutes. <code>--scale paper</code> takes them all.</p>"
    )


def _entry(section: Section) -> str:
    if not section.picture:
        return f'<li>{escape(section.title)} <span class="note">{escape(section.why)}</span></li>\n'
    held = sum(verdict.holds is True for verdict in section.verdicts)
    return (
        f'<li><a href="#{section.name}">{escape(section.title)}</a> '
        f"<span>{held} of {len(section.verdicts)} hold</span></li>\n"
    )


def _section(section: Section) -> str:
    source = b64encode(section.picture).decode()
    seeds = section.finished.seeds
    seeded = f"seeds {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"seed {(seeds or [0])[0]}"
    return f"""<section id="{section.name}">
<h2>{escape(section.title)}</h2>
<p>{escape(section.about)}</p>
<figure{_width_class(section.picture)}>
<a href="{section.name}.svg"><img alt="{escape(_alt(section))}"
src="data:image/svg+xml;base64,{source}"></a>
</figure>
{"".join(_table(table) for table in section.tables)}<ul class="verdicts">
{"".join(_verdict(verdict) for verdict in section.verdicts)}</ul>
<p class="made"><code>{escape(section.command)}</code>; {seeded};
{_duration(section.finished.seconds)} of computing;
<a href="{section.name}.jsonl">records</a>, <a href="{section.name}.png">picture</a></p>
</section>
"""


def _width_class(picture: bytes) -> str:
    """The class of a picture that a phone must scroll sideways, lest its letters be too small."""
    width = re.search(rb'<svg[^>]* width="([0-9.]+)pt"', picture)
    return ' class="wide" tabindex="0"' if width and float(width[1]) > _PHONE_POINTS else ""


def _table(table: Table) -> str:
    head = "".join(f'<th scope="col">{escape(text)}</th>' for text in table.head)
    rows = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(text)}</td>" for text in others)
        + "</tr>\n"
        for first, *others in table.rows
    )
    return f"""<details><summary>{escape(table.caption)}</summary><div class="table">
<table><thead><tr>{head}</tr></thead>
<tbody>
{rows}</tbody></table></div></details>
"""


def _alt(section: Section) -> str:
    results = " ".join(f"{v.claim}: {v.measured}." for v in section.verdicts)
    return f"Plot of {section.title}. {results}"


def _verdict(verdict: Verdict) -> str:
    kind, sign = _BADGES[verdict.holds]
    note = f'<p class="note">{escape(verdict.note)}</p>' if verdict.note else ""
    return f"""<li class="{kind}"><span class="badge">{sign} {verdict.word}</span>
<p><strong>{escape(verdict.claim)}</strong></p>
<dl><dt>Paper</dt><dd>{escape(verdict.paper)}</dd>
<dt>Measured</dt><dd>{escape(verdict.measured)}</dd></dl>{note}</li>
"""


def _duration(seconds: float) -> str:
    if seconds < 120:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 7200 else f"{seconds / 3600:.1f} h"
