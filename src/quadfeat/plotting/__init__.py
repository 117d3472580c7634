"""Plotting: pictures drawn from records, in one style.

Rule: a picture is a function of records, never of live arrays; matplotlib is imported inside the
functions that draw, so that the library works without it.

- `style`: the style of each map, and the figure, axes, legend, SVG and PNG of all pictures.
- `displays`: `CompareDisplay` and `ErrorDisplay`, in scikit-learn's convention.
- `comparison`: `comparison_figure`, contenders on one table.
- `effects`: `EffectsDisplay`, the effects of a model; `effect_panels`: its panels and their values.
- `front`: one highlighted line and its competitors, with names at the ends of the lines.
- `vector`: small figures as SVG text, with the colours of the page they are in.
"""

from .comparison import comparison_figure
from .displays import CompareDisplay, ErrorDisplay
from .effects import EffectsDisplay
from .style import (
    STYLES,
    banded,
    curve,
    figure,
    legend_below,
    plain_ticks,
    png,
    style_of,
    svg,
    tidy,
)

__all__ = [
    "STYLES",
    "CompareDisplay",
    "EffectsDisplay",
    "ErrorDisplay",
    "banded",
    "comparison_figure",
    "curve",
    "figure",
    "legend_below",
    "plain_ticks",
    "png",
    "style_of",
    "svg",
    "tidy",
]
