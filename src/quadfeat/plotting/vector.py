"""Small figures as SVG text that takes its colours from the page around it.

There are no colours here: shapes have classes (`line`, `band`, `bar`, `dot`, `rule`, ...) and the
page's style sheet defines how each looks in light, in dark and in print. Letters stay text, so a
figure is a few kilobytes and can be searched. Every text is escaped.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

import numpy as np
from numpy.typing import ArrayLike

_WIDTH, _HEIGHT = 360.0, 230.0
_LEFT, _RIGHT, _TOP, _BOTTOM = 62.0, 16.0, 12.0, 42.0
# Widths of letters of 12 pixels in a wide font (DejaVu Sans), rounded up.
_NARROW, _BROAD = frozenset("iljtfrI.,:;'|!() "), frozenset("mwMWO%@<>=+~_&\u2026")
_TICKS = 5
_NAME = 150.0  # most width of the name of a bar


def ticks(low: float, high: float, most: int = _TICKS) -> list[float]:
    """Round numbers between low and high: steps of 1, 2 or 5 times a power of ten.

    >>> ticks(0.0, 1.0)
    [0.0, 0.2, 0.4, 0.6, 0.8, 1.0]
    """
    if not high > low:
        return [low]
    raw = (high - low) / most
    power = 10.0 ** np.floor(np.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw * (1 - 1e-9))
    first, last = np.ceil(low / step - 1e-9), np.floor(high / step + 1e-9)
    digits = max(0, -int(np.floor(np.log10(step))))
    return [round(float(i * step), digits) + 0.0 for i in np.arange(first, last + 1)]


def short(value: float) -> str:
    """A number in at most about six letters.

    >>> short(0.25), short(1234.5), short(2_500_000), short(0.00012)
    ('0.25', '1,234', '2.5M', '1.2e-04')
    """
    size = abs(value)
    if size >= 1e12 or 0 < size < 1e-3:
        return f"{value:.1e}"
    for unit, letter in ((1e9, "G"), (1e6, "M"), (1e4, "k")):
        if size >= unit:
            scale = 1e3 if letter == "k" else unit
            return f"{value / scale:.4g}{letter}"
    return f"{value:,.0f}" if size >= 1000 else f"{value:.3g}"


def width_of(text: str) -> float:
    """The width of a text of 12 pixels, or a little more."""
    return sum(5.0 if c in _NARROW else 12.0 if c in _BROAD else 8.0 for c in text)


def cut(text: str, most: float) -> str:
    """The text, or as much of its beginning as fits into `most` pixels, and an ellipsis.

    >>> cut("short", 100), cut("a very long name of a column", 80)
    ('short', 'a very lon\u2026')
    """
    if width_of(text) <= most:
        return text
    n = next(n for n in range(len(text), -1, -1) if width_of(text[:n]) + 12 <= most)
    return text[:n] + "\u2026"


@dataclass
class Axes:
    """A figure of one panel, on linear axes; methods add shapes, `svg` is the text.

    Parameters
    ----------
    x, y : (low, high), the ranges of the axes
    title : description of the figure, for readers who cannot see it
    """

    x: tuple[float, float]
    y: tuple[float, float]
    title: str
    shapes: list[str] = field(default_factory=list)

    def _at(self, x: ArrayLike, y: ArrayLike) -> list[tuple[float, float]]:
        places = []
        for values, (low, high), start, size in (
            (x, self.x, _LEFT, _WIDTH - _LEFT - _RIGHT),
            (y, self.y, _HEIGHT - _BOTTOM, -(_HEIGHT - _TOP - _BOTTOM)),
        ):
            share = (np.asarray(values, float) - low) / ((high - low) or 1.0)
            places.append(start + size * np.clip(share, -0.02, 1.02))
        return [(float(a), float(b)) for a, b in zip(*places, strict=True)]

    def _path(self, x: ArrayLike, y: ArrayLike) -> str:
        return " ".join(f"{a:.1f},{b:.1f}" for a, b in self._at(x, y))

    def line(self, x: ArrayLike, y: ArrayLike, kind: str = "line") -> Axes:
        self.shapes.append(f'<polyline class="{kind}" points="{self._path(x, y)}"/>')
        return self

    def band(self, x: ArrayLike, low: ArrayLike, high: ArrayLike) -> Axes:
        x, low, high = (np.asarray(each, float) for each in (x, low, high))
        both = self._path(np.append(x, x[::-1]), np.append(low, high[::-1]))
        self.shapes.append(f'<polygon class="band" points="{both}"/>')
        return self

    def dots(self, x: ArrayLike, y: ArrayLike, kind: str = "dot", radius: float = 3.5) -> Axes:
        parts = "".join(
            f'<circle cx="{a:.1f}" cy="{b:.1f}" r="{radius:g}"/>' for a, b in self._at(x, y)
        )
        self.shapes.append(f'<g class="{kind}">{parts}</g>')
        return self

    def whiskers(self, x: ArrayLike, low: ArrayLike, high: ArrayLike) -> Axes:
        ends = zip(self._at(x, low), self._at(x, high), strict=True)
        parts = "".join(f"M{a:.1f},{b:.1f}V{d:.1f}" for (a, b), (_, d) in ends)
        self.shapes.append(f'<path class="whisker" d="{parts}"/>')
        return self

    def columns(self, edges: ArrayLike, heights: ArrayLike, kind: str = "bar") -> Axes:
        """A histogram: bars between edges (n + 1,), from the floor to heights (n,)."""
        edges, heights = np.asarray(edges, float), np.asarray(heights, float)
        tops = self._at(edges[:-1], heights)
        ends = self._at(edges[1:], np.full(len(heights), self.y[0]))
        parts = "".join(
            f'<rect x="{a:.1f}" y="{b:.1f}" width="{max(c - a - 0.6, 0.4):.1f}" '
            f'height="{max(d - b, 0):.1f}"/>'
            for (a, b), (c, d) in zip(tops, ends, strict=True)
        )
        self.shapes.append(f'<g class="{kind}">{parts}</g>')
        return self

    def svg(
        self, x_label: str, y_label: str, x_ticks: Sequence[tuple[float, str]] | None = None
    ) -> str:
        """The figure, with a grid, ticks and labels."""
        x_marks = [(t, short(t)) for t in ticks(*self.x)] if x_ticks is None else x_ticks
        parts = []
        for value in ticks(*self.y):
            ((_, at),) = self._at([self.x[0]], [value])
            parts.append(f'<path class="grid" d="M{_LEFT},{at:.1f}H{_WIDTH - _RIGHT}"/>')
            parts.append(_text(_LEFT - 6, at + 4, short(value), "end"))
        floor = _HEIGHT - _BOTTOM
        for value, label in x_marks:
            ((at, _),) = self._at([value], [self.y[0]])
            parts.append(f'<path class="axis" d="M{at:.1f},{floor}v4"/>')
            parts.append(_text(at, floor + 17, label, "middle"))
        parts.append(f'<path class="axis" d="M{_LEFT},{floor}H{_WIDTH - _RIGHT}"/>')
        middle = (_LEFT + _WIDTH - _RIGHT) / 2
        parts.append(_text(middle, _HEIGHT - 6, cut(x_label, 280), "middle", "label"))
        turned = f'transform="rotate(-90 12 {floor / 2 + 6:.0f})"'
        parts.append(_text(12, floor / 2 + 6, cut(y_label, 180), "middle", "label", turned))
        return _document(self.title, _WIDTH, _HEIGHT, [*parts, *self.shapes])


def bars(
    title: str,
    names: Sequence[str],
    values: Sequence[float],
    *,
    ranges: Sequence[tuple[float, float]] | None = None,
    labels: Sequence[str] | None = None,
    limits: tuple[float, float] | None = None,
    front: int | None = None,
) -> str:
    """Horizontal bars.

    Parameters
    ----------
    ranges : intervals around the values
    labels : texts at the right, by default the values
    limits : the values at the left and at the right; by default 0 and the largest. Bars begin at
        0, or at the left if 0 is outside
    front : how many bars have the front colour; by default all
    """
    names = [cut(name, _NAME) for name in names]
    room = max(map(width_of, names)) + 10
    written = [short(value) for value in values] if labels is None else list(labels)
    right = max(map(width_of, written)) + 10
    if limits is None:
        ends = [0.0, *values, *(end for pair in ranges or () for end in pair)]
        limits = 0.0, max(end for end in ends if np.isfinite(end))
    low, high = limits
    start = 0.0 if low <= 0 <= high else low
    width = _WIDTH - room - right
    step, parts = 27.0, []

    def at(value: float) -> float:
        share = (value - low) / ((high - low) or 1.0)
        return room + width * float(np.clip(np.nan_to_num(share), 0.0, 1.0))

    for i, (name, value) in enumerate(zip(names, values, strict=True)):
        top = 6 + i * step
        a, b = sorted((at(start), at(value)))
        kind = "bar front" if front is None or i < front else "bar"
        parts.append(_text(room - 8, top + 14, name, "end"))
        parts.append(
            f'<rect class="{kind}" x="{a:.1f}" y="{top:.1f}" width="{max(b - a, 0.8):.1f}" '
            f'height="18"/>'
        )
        if ranges is not None and np.isfinite(ranges[i]).all():
            c, d = (at(end) for end in ranges[i])
            y = top + 9
            parts.append(
                f'<path class="whisker" d="M{c:.1f},{y:.1f}H{d:.1f}M{c:.1f},{y - 4:.1f}v8'
                f'M{d:.1f},{y - 4:.1f}v8"/>'
            )
        parts.append(_text(_WIDTH - right + 8, top + 14, written[i], "start"))
    height = 10 + step * len(names)
    parts.append(f'<path class="axis" d="M{at(start):.1f},2V{height - 4:.1f}"/>')
    return _document(title, _WIDTH, height, parts)


def _text(x: float, y: float, text: str, anchor: str, kind: str = "tick", more: str = "") -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}" {more}>'
        f"{escape(text)}</text>"
    )


def _document(title: str, width: float, height: float, parts: Sequence[str]) -> str:
    label = escape(title)
    inside = "\n".join(parts)
    return (
        f'<svg viewBox="0 0 {width:g} {height:g}" role="img" aria-label="{label}">\n{inside}\n'
        f"</svg>\n"
    )
