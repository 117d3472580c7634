"""Plotting: pictures drawn from records, in one style."""

from .displays import CompareDisplay, ErrorDisplay
from .style import STYLES, banded, curve, figure, legend_below, plain_ticks, png, svg, tidy

__all__ = [
    "STYLES",
    "CompareDisplay",
    "ErrorDisplay",
    "banded",
    "curve",
    "figure",
    "legend_below",
    "plain_ticks",
    "png",
    "svg",
    "tidy",
]
