"""The style of pictures: one per map in all of them, readable in grey and on a phone."""

from __future__ import annotations

import io
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

# More colours: two that also differ in grey print, and that of a reference line.
INK, ACCENT, REFERENCE = "#0b3c5d", "#b3541e", "#777777"


class Style(NamedTuple):
    """How a curve looks."""

    colour: str
    marker: str
    line: str


# Lightness, marker and dash differ, so that grey print is enough.
STYLES = {
    "random": Style("#777777", "o", "--"),
    "orthogonal": Style("#a0a000", "P", ":"),
    "Halton": Style("#8d6e63", "X", ":"),
    "spherical-radial": Style("#00838f", "<", "--"),
    "polynomially exact": Style("#0b3c5d", "s", "-"),
    "dense grid": Style("#c2185b", "D", "-."),
    "sparse grid": Style("#b3541e", "^", "-"),
    "subsampled": Style("#e08214", "v", "-"),
    "reweighted": Style("#2e7d32", "^", "-"),
    "pruned": Style("#0b3c5d", "s", "-"),
    "framed grid": Style("#1565c0", "h", "-."),
    "Hermite-Mercer": Style("#7b4b94", "D", "-"),
    "compressed": Style("#111111", "*", "-"),
    "landmarks": Style("#c2185b", ">", "-"),
    "chosen": Style("#111111", "*", "-"),
    "engine": Style("#111111", "o", "-"),
    "NumPy": Style("#595959", "s", "--"),
    "RBFSampler": Style("#9a9a9a", "o", ":"),
    "Nystroem": Style("#9a9a9a", "s", ":"),
}
_CLASSES = {
    "RandomFourier": "random",
    "OrthogonalFourier": "orthogonal",
    "QuasiRandomFourier": "Halton",
    "SphericalRadial": "spherical-radial",
    "PolynomiallyExact": "polynomially exact",
    "DenseGrid": "dense grid",
    "SparseGrid": "sparse grid",
    "SubsampledGrid": "subsampled",
    "ReweightedGrid": "reweighted",
    "FramedGrid": "framed grid",
    "HermiteMercer": "Hermite-Mercer",
    "Landmarks": "landmarks",
    "KernelFeatures": "chosen",
}


def style_of(name: str, position: int = 0) -> Style:
    """The style of a map, by its name in a figure or the name of its class.

    Any other name has the style at `position` in the table.

    >>> style_of("RandomFourier") == style_of("random")
    True
    >>> style_of("RBFSampler (sklearn)").line
    ':'
    """
    name = name.removesuffix(" (sklearn)")
    every = list(STYLES.values())
    return STYLES.get(_CLASSES.get(name, name), every[position % len(every)])


def new_axes(width: float, height: float) -> Any:
    """The axes of a new figure, shown by a notebook or `plt.show()`; inches."""
    try:
        from matplotlib import pyplot
    except ImportError as missing:
        raise ImportError(
            f"a display needs matplotlib, and {missing.name} is missing: pip install matplotlib"
        ) from missing
    return pyplot.subplots(figsize=(width, height), layout="constrained")[1]


def figure(width: float = 5.4, height: float = 4.4) -> Any:
    """An empty figure that belongs to no window; inches.

    A phone shows about 66 pixels per inch of a figure 5.4 inches wide: letters of 9 pixels.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    picture = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(picture)
    return picture


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
        # Not below the lowest run, so that a logarithmic axis can show it.
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
    colour, marker, line = style_of(name)
    ax.plot(x, mean, line, color=colour, marker=marker, markersize=5, lw=1.6, label=label or name)
    ax.fill_between(x, low, high, color=colour, alpha=0.22, linewidth=0)


def tidy(ax: Any) -> None:
    """A light grid, and no frame where there is no axis."""
    ax.grid(True, which="major", color="#dddddd", linewidth=0.7)
    ax.spines[["top", "right"]].set_visible(False)


def legend_below(picture: Any, *, columns: int = 3) -> None:
    """One legend under all panels, in as many columns as fit the width, at most `columns`."""
    entries: dict[str, Any] = {}
    for ax in picture.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            entries.setdefault(label, handle)
    for n in range(columns, 0, -1):
        legend = picture.legend(
            entries.values(),
            entries.keys(),
            loc="outside lower center",
            ncols=n,
            frameon=False,
            fontsize=9.5,
            columnspacing=1.4,
            handlelength=2.4,
        )
        if legend.get_window_extent().width <= picture.bbox.width or n == 1:
            return
        legend.remove()


def plain_ticks(axis: Any, values: ArrayLike) -> None:
    """Ticks at these values of a logarithmic axis, written as plain numbers."""
    from matplotlib.ticker import FuncFormatter, NullLocator

    axis.set_ticks(np.asarray(values, float))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,g}"))


def svg(picture: Any) -> bytes:
    """The figure as SVG, the same bytes for the same figure, its letters as outlines."""
    from matplotlib import rc_context

    buffer = io.BytesIO()
    with rc_context({"svg.hashsalt": "quadfeat", "svg.fonttype": "path"}):
        picture.savefig(buffer, format="svg", metadata={"Date": None})
    return buffer.getvalue()


def png(picture: Any) -> bytes:
    """The figure as PNG at 150 dots per inch."""
    buffer = io.BytesIO()
    picture.savefig(buffer, format="png", dpi=150)
    return buffer.getvalue()
