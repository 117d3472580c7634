"""Draw the rooms of the package and their imports: python docs/rooms.py writes docs/rooms.svg.

Rooms are in the order of their imports, the first at the bottom; the length of a bar is the room's
number of lines of Python. An arrow points from a room to one that it imports; implied arrows (a
imports b, b imports c, and a imports c) are light.
"""

from __future__ import annotations

import ast
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]
SOURCE = ROOT / "src" / "quadfeat"
FOUNDATIONS = "_typing ... _display"
# Beside the rooms: the doors of the package and of the command, and the laws for kernels of others.
DOORS = {"__init__", "__main__", "testing"}
ROOMS = [
    FOUNDATIONS, "numerics", "rules", "kernels", "_engine", "constructions", "accuracy", "maps",
    "data", "models", "storage", "export", "plotting", "experiments", "app",
]  # fmt: skip
Edge = tuple[str, str]


def room_of(parts: tuple[str, ...]) -> str | None:
    """The room of a module, by the parts of its name below quadfeat."""
    if not parts or parts[0] in DOORS:
        return None
    return parts[0] if parts[0] in ROOMS else FOUNDATIONS


def imported(path: Path) -> set[str]:
    """The rooms that a file imports from."""
    package = path.relative_to(SOURCE).parts[:-1]
    rooms = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if not isinstance(node, ast.ImportFrom):
            continue
        module = tuple((node.module or "").split(".")) if node.module else ()
        if node.level:
            base = package[: len(package) - node.level + 1] + module
        elif module[:1] == ("quadfeat",):
            base = module[1:]
        else:
            continue
        named = [base] if base else [(alias.name,) for alias in node.names]
        rooms |= {room for parts in named if (room := room_of(parts)) and parts[0][:2] != "__"}
    return rooms


def graph() -> tuple[dict[str, int], set[Edge]]:
    """Lines of Python by room, and (room, room that it imports)."""
    lines, edges = dict.fromkeys(ROOMS, 0), set()
    for path in sorted(SOURCE.rglob("*.py")):
        room = room_of(path.relative_to(SOURCE).with_suffix("").parts)
        if room is not None:
            lines[room] += len(path.read_text().splitlines())
            edges |= {(room, other) for other in imported(path) if other != room}
    return lines, edges


def implied(edges: set[Edge]) -> set[Edge]:
    """The edges that follow from others."""
    reach: dict[str, set[str]] = {}
    for room in ROOMS:  # before any room that imports it
        direct = {b for a, b in edges if a == room}
        reach[room] = direct.union(*(reach[b] for b in direct if b in reach))
    return {
        (a, c) for a, c in edges if any((a, b) in edges and c in reach[b] for b in ROOMS if b != c)
    }


ROW, TOP, BARS, ARROWS, WIDTH = 46, 34, 200, 460, 760


def svg(lines: dict[str, int], edges: set[Edge]) -> str:
    """The picture; the title of each arrow names its two rooms."""
    place = {room: TOP + ROW * i for i, room in enumerate(reversed(ROOMS))}
    height = TOP + ROW * len(ROOMS) - 8
    light = implied(edges)
    shapes = []
    for room, y in place.items():
        length = max(6, round(180 * lines[room] / max(lines.values())))
        shapes += [
            f'<text x="{BARS - 12}" y="{y + 5}" class="name">{room}</text>',
            f'<rect x="{BARS}" y="{y - 11}" width="{length}" height="22" rx="3"/>',
            f'<text x="{BARS + length + 6}" y="{y + 4}" class="lines">'
            f"{round(lines[room], -2):,}</text>",
        ]
    # Light arrows first, so that the others lie on top; ends at one room are set apart.
    for a, b in sorted(edges, key=lambda edge: (edge not in light, edge)):
        start, end = place[a] + 4, place[b] - 4
        bulge = ARROWS + 20 + 24 * (ROOMS.index(a) - ROOMS.index(b))
        kind = "light" if (a, b) in light else "dark"
        shapes.append(
            f'<path d="M{ARROWS} {start} C{bulge} {start} {bulge} {end} {ARROWS + 7} {end}" '
            f'class="{kind}"><title>{a} imports {b}</title></path>'
        )
    body = "\n".join(shapes)
    return f"""<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" \
font-family="sans-serif">
<title>The rooms of quadfeat and their imports</title>
<defs>
<marker id="tip" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="7" markerHeight="7" \
markerUnits="userSpaceOnUse" orient="180"><path d="M0 0 L8 4 L0 8 Z" fill="#333333"/></marker>
</defs>
<style>
rect {{ fill: #0b3c5d; }}
.name {{ font-size: 15px; font-weight: bold; text-anchor: end; fill: #111111; }}
.lines {{ font-size: 12px; fill: #555555; }}
.dark {{ fill: none; stroke: #333333; stroke-width: 1.6; marker-end: url(#tip); }}
.light {{ fill: none; stroke: #c4c4c4; stroke-width: 0.8; }}
</style>
<rect x="0" y="0" width="{WIDTH}" height="{height}" style="fill: #ffffff"/>
<text x="{BARS}" y="14" class="lines">lines of Python</text>
<text x="{ARROWS}" y="14" class="lines">imports (light: also implied by others)</text>
{body}
</svg>
"""


if __name__ == "__main__":
    target = Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "rooms.svg"
    target.write_text(svg(*graph()))
