"""Small figures as SVG text."""

import re

import pytest

from quadfeat.plotting.vector import bars, ticks


def rectangles(svg):
    """(left, right) of each bar, in the order of the page."""
    found = re.findall(r'<rect class="bar[^"]*" x="([\d.]+)" y="[\d.]+" width="([\d.]+)"', svg)
    return [(float(x), float(x) + float(width)) for x, width in found]


def test_bars_begin_at_zero_or_at_the_left_if_zero_is_outside():
    up, down = rectangles(bars("title", ["a", "b"], [1.0, -1.0], limits=(-2.0, 2.0)))
    assert up[0] == pytest.approx(down[1], abs=0.2)  # both touch zero; a tenth of a pixel each
    assert up[1] - up[0] == pytest.approx(down[1] - down[0], abs=0.2)
    long, small = rectangles(bars("title", ["a", "b"], [2.0, 1.5], limits=(1.0, 2.0)))
    assert long[0] == small[0]
    assert long[1] - long[0] == pytest.approx(2 * (small[1] - small[0]), abs=0.2)


def test_names_are_text():
    assert "<b>" not in bars("<b>", ["<b>x</b>"], [1.0])


def test_a_range_of_one_value_has_one_tick():
    assert ticks(2.5, 2.5) == [2.5]
    assert ticks(3.0, 1.0) == [3.0]
