"""How the figures look: one style per map in all of them, readable in grey and on a phone."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

# Readable in grey and by the colour-blind: lightness rises along the list, and markers differ.
CYCLE = [
    ("#0b3c5d", "o", "-"),
    ("#b3541e", "s", "-"),
    ("#2e7d32", "^", "-"),
    ("#7b4b94", "D", "-"),
    ("#c2185b", "v", "-"),
    ("#00838f", "P", "--"),
    ("#6d6d6d", "X", "--"),
    ("#9e9d24", "<", "--"),
    ("#8d6e63", ">", "--"),
    ("#1565c0", "*", "-"),
    ("#ad1457", "h", "--"),
    ("#455a64", "d", "-"),
]


PEER = ("#9a9a9a", ":")
# Colour, marker and line of a map; lightness, marker and dash differ, so that grey print is enough.
STYLES: dict[str, tuple[str, str, str]] = {
    "random": ("#777777", "o", "--"),
    "orthogonal": ("#a0a000", "P", ":"),
    "Halton": ("#8d6e63", "X", ":"),
    "polynomially exact": ("#0b3c5d", "s", "-"),
    "dense grid": ("#c2185b", "D", "-."),
    "sparse grid": ("#b3541e", "^", "-"),
    "subsampled": ("#e08214", "v", "-"),
    "reweighted": ("#2e7d32", "^", "-"),
    "pruned": ("#0b3c5d", "s", "-"),
    "Hermite-Mercer": ("#7b4b94", "D", "-"),
    "compressed": ("#111111", "*", "-"),
}


def figure(width: float = 5.4, height: float = 4.4) -> Any:
    """An empty figure that belongs to no window; inches.

    A phone shows about 66 pixels per inch of a figure 5.4 inches wide: letters of 9 pixels.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    made = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(made)
    return made


def curve(
    ax: Any, name: str, x: ArrayLike, runs: ArrayLike, *, label: str = "", band: str = "deviation"
) -> None:
    """The mean of runs (n_runs, n_x) in the style of `name`, within a band.

    Parameters
    ----------
    band : "deviation" (mean -+ one standard deviation) or "range" (least to greatest run)
    """
    values = np.atleast_2d(np.asarray(runs, float))
    mean, low, high = values.mean(axis=0), values.min(axis=0), values.max(axis=0)
    if len(values) > 1 and band == "deviation":
        spread = values.std(axis=0, ddof=1)
        # No lower than the least run, so that a logarithmic axis can show it.
        low, high = np.maximum(mean - spread, low), mean + spread
    banded(ax, name, x, mean, low, high, label=label)


def banded(
    ax: Any,
    name: str,
    x: ArrayLike,
    mean: ArrayLike,
    low: ArrayLike,
    high: ArrayLike,
    *,
    label: str = "",
) -> None:
    """A line in the style of `name` within a band."""
    colour, marker, line = STYLES[name]
    ax.plot(x, mean, line, color=colour, marker=marker, markersize=5, lw=1.6, label=label or name)
    ax.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0)


def tidy(ax: Any) -> None:
    """A light grid, and no frame where there is no axis."""
    ax.grid(True, which="major", color="#dddddd", linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(made: Any, *, columns: int = 3) -> None:
    """One legend under all panels, where it hides no data, in as many columns as the width holds
    but no more than `columns`."""
    entries: dict[str, Any] = {}
    for ax in made.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    for n in range(columns, 0, -1):
        legend = made.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=n,
            frameon=False,
            fontsize=9.5,
            columnspacing=1.4,
            handlelength=2.4,
        )
        if legend.get_window_extent().width <= made.bbox.width or n == 1:
            return
        legend.remove()


def plain_ticks(axis: Any, values: ArrayLike) -> None:
    """Ticks at these values of a logarithmic axis, written as plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    axis.set_ticks(np.asarray(values, float))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def svg(made: Any) -> bytes:
    """The figure as SVG, the same bytes for the same figure, its letters as outlines."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "quadfeat", "svg.fonttype": "path"}):
        made.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def png(made: Any) -> bytes:
    """The figure as PNG at 150 dots per inch."""
    buffer = io.BytesIO()
    made.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
