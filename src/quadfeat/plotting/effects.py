"""`EffectsDisplay`: the effects of a model as curves, maps and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_records
from .._typing import Floats
from .effect_panels import TIMES, chosen_panels, record_of
from .style import ACCENT, INK, REFERENCE, tidy

_BAND = 1.96  # standard deviations: 95% of a normal distribution
_MOST_BARS = 12
_PALE = "#7d97ab"  # a lighter INK, on which error bars are visible
_LONG = 14  # longer labels are turned


class EffectsDisplay:
    """The effects of a fitted model: bars of shares, curves of single columns, maps of pairs.

    Curves have a 95% band if the model has a posterior, and a histogram of the rows below.
    Categories, and columns of up to 12 values, have bars with 95% error bars instead. Maps are
    drawn only where there are rows. All curves and bars of a figure share one scale. For a model
    with an encoder, effects are drawn for the columns of the table, in their units: all encoded
    columns of a table's column together.

    Parameters
    ----------
    records : iterable of dict
        One per effect, from `from_estimator`: "name", "columns", "share"; for a curve "x", "value",
        "deviation" or None, "counts" and "edges" of the histogram; for categories the same with
        "labels" and without "edges"; for a map "x", "y", "x_labels", "y_labels", "value"
        (len(y), len(x)) and "seen", the same shape. Effects of three columns have a share only.
    scale : str, the unit of the effects, for the labels

    Attributes
    ----------
    axes_ : array of Axes of matplotlib, once drawn: bars first, then an effect each
    figure_ : Figure of matplotlib, once drawn

    Examples
    --------
    >>> import numpy as np
    >>> import quadfeat as qf
    >>> X = np.random.default_rng(0).uniform(size=(300, 2))
    >>> kernel = qf.Anova(qf.Gaussian(8.0), [[0], [1]])
    >>> model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=40))
    >>> display = qf.EffectsDisplay.from_estimator(model.fit(X, X[:, 0] + X[:, 1] ** 2), X)
    >>> [record["name"] for record in display.records], len(display.axes_)
    (['x1', 'x0'], 3)
    """

    def __init__(self, records: Iterable[dict[str, Any]], *, scale: str = "effect") -> None:
        self.records = check_records("records", records)
        self.scale = scale

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any = None,
        *,
        effects: Sequence[Any] | None = None,
        n_effects: int = 8,
        target: int = 0,
        n_cols: int = 3,
        ax: Any = None,
    ) -> Self:
        """Draw the effects of a fitted `KernelRegressor` or `KernelClassifier`.

        Parameters
        ----------
        estimator : model on a kernel of subsets, such as `Anova`
        X : rows for ranges and histograms; by default those that effects are centred on
        effects : sequence of names, or tuples of names or numbers of columns, or None
            Which effects to draw, in this order; by default those with the largest shares. The
            first column of a tuple is on the x-axis; by default the first of the table, except
            longitudes and latitudes, which are as on maps.
        n_effects : int, the most effects to draw
        target : int, which target or class, of several
        n_cols : int, panels side by side
        ax : Axes of matplotlib or None, to be replaced by the panels
        """
        check_count("n_effects", n_effects, example=8)
        check_is_fitted(estimator)
        rows = estimator.background(X)
        panels = chosen_panels(estimator, effects, n_effects)
        records = [record_of(estimator, panel, rows, target) for panel in panels]
        moved = "score" if hasattr(estimator, "classes_") else "prediction"
        return cls(records, scale=f"effect on the {moved}").plot(n_cols=n_cols, ax=ax)

    def plot(self, *, n_cols: int = 3, ax: Any = None) -> Self:
        """Draw on a new figure, or in the place of `ax`; the result has `axes_` and `figure_`."""
        import matplotlib.pyplot as plt

        check_count("n_cols", n_cols, example=3)
        drawn = [record for record in self.records if "value" in record]
        n_rows = -(-(len(drawn) + 1) // n_cols)
        if ax is None:
            size = (3.4 * n_cols, 2.75 * n_rows)
            figure = plt.figure(figsize=size, layout="constrained")
            grid = figure.add_gridspec(n_rows, n_cols)
        else:
            figure = ax.figure
            grid = ax.get_subplotspec().subgridspec(n_rows, n_cols)
            ax.set_axis_off()
        axes = [figure.add_subplot(grid[i // n_cols, i % n_cols]) for i in range(len(drawn) + 1)]
        self._draw_bars(axes[0])
        limits = _limits([record for record in drawn if "y" not in record])
        for place, (panel, record) in enumerate(zip(axes[1:], drawn, strict=True), start=1):
            if "y" in record:
                _draw_map(panel, record, self.scale)
            else:
                first = place % n_cols == 0 or place == 1
                draw = _draw_categories if "labels" in record else _draw_curve
                draw(panel, record, limits, self.scale if first else "")
            _title(panel, record["name"], f"{record['share']:.1%}")
        self.axes_, self.figure_ = np.array(axes), figure
        return self

    def _draw_bars(self, ax: Any) -> None:
        shown = sorted(self.records, key=lambda record: -record["share"])[:_MOST_BARS][::-1]
        share = np.array([record["share"] for record in shown])
        place = np.arange(len(shown))
        ax.barh(place, 100 * share, color=np.where(share < 0, ACCENT, INK), height=0.7)
        names = [record["name"].replace(f" {TIMES} ", f" {TIMES}\n") for record in shown]
        ax.set_yticks(place, names, fontsize=8, linespacing=0.9)
        ax.axvline(0.0, color=REFERENCE, linewidth=0.8)
        ax.set_xlabel("share of the variance of predictions, %", fontsize=8.5)
        ax.tick_params(axis="x", labelsize=8)
        tidy(ax)
        ax.grid(False, axis="y")
        ax.set_axisbelow(True)
        _title(ax, "shares", "")


def _limits(records: list[dict[str, Any]]) -> tuple[float, float]:
    """The range of curves, including all but the widest parts of their bands."""
    ends = [0.0]
    for record in records:
        value, spread = record["value"], record["deviation"]
        low, high = float(np.min(value)), float(np.max(value))
        if spread is not None:
            low = min(low, float(np.quantile(value - _BAND * spread, 0.05)))
            high = max(high, float(np.quantile(value + _BAND * spread, 0.95)))
        ends += [low, high]
    return min(ends), max(ends)


def _title(ax: Any, name: str, share: str) -> None:
    long = len(name) + len(share) > 26
    text = name.replace(f" {TIMES} ", f" {TIMES}\n") if long else name
    ax.set_title(text, fontsize=10, loc="left", linespacing=1.0)
    ax.set_title(share, fontsize=9, loc="right", color="#555555")


def _draw_curve(ax: Any, record: dict[str, Any], limits: tuple[float, float], scale: str) -> None:
    x, value = record["x"], record["value"]
    ax.axhline(0.0, color=REFERENCE, linewidth=0.8, linestyle=":")
    if record["deviation"] is not None:
        spread = _BAND * record["deviation"]
        ax.fill_between(x, value - spread, value + spread, color=INK, alpha=0.22, linewidth=0)
    ax.plot(x, value, color=INK, linewidth=1.8)
    edges = record["edges"]
    _draw_rows(ax, edges[:-1], np.diff(edges), record["counts"], limits)
    _finish(ax, record, scale)


def _draw_categories(
    ax: Any, record: dict[str, Any], limits: tuple[float, float], scale: str
) -> None:
    place, value, deviation = record["x"], record["value"], record["deviation"]
    ax.axhline(0.0, color=REFERENCE, linewidth=0.8)
    ax.bar(place, value, 0.62, color=_PALE)
    if deviation is not None:
        ax.errorbar(
            place, value, _BAND * deviation, fmt="none", ecolor="black", elinewidth=1.2, capsize=3
        )
    _draw_rows(ax, place - 0.31, np.full(len(place), 0.62), record["counts"], limits)
    _finish(ax, record, scale)
    _label(ax.set_xticks, place, record["labels"])
    room = max(0.5, (4 - len(place)) / 2)  # so that two bars are not wider than four
    ax.set_xlim(-room, len(place) - 1 + room)


def _draw_rows(
    ax: Any, left: Floats, width: Floats, counts: Any, limits: tuple[float, float]
) -> None:
    """Grey bars below all curves: how many rows there are."""
    low, high = limits
    size = high - low or 1.0
    floor = low - 0.22 * size
    height = 0.16 * size * counts / (counts.max() or 1)
    ax.bar(left, height, width, bottom=floor, align="edge", color="#bbbbbb")
    ax.set_ylim(floor, high + 0.05 * size)


def _finish(ax: Any, record: dict[str, Any], scale: str) -> None:
    ax.set_xlabel(record["columns"][0], fontsize=8.5)
    ax.set_ylabel(scale, fontsize=8.5)
    ax.tick_params(labelsize=8)
    tidy(ax)
    ax.set_axisbelow(True)


def _label(set_ticks: Any, place: Floats, labels: Sequence[str]) -> None:
    """Names of categories at an axis, shortened, and turned if they are many."""
    short = [
        label if len(label) <= _LONG else f"{label[: _LONG - 1]}\N{HORIZONTAL ELLIPSIS}"
        for label in labels
    ]
    across = set_ticks.__name__ == "set_xticks" and sum(map(len, short)) + 2 * len(short) > 36
    turned = {"rotation": 50, "ha": "right", "rotation_mode": "anchor"} if across else {}
    set_ticks(place, short, fontsize=7.5, **turned)


def _draw_map(ax: Any, record: dict[str, Any], scale: str) -> None:
    x, y = record["x"], record["y"]
    value = np.ma.masked_where(~record["seen"], record["value"])
    # Cells with few rows, at the edge, may be far off, so they do not set the colour scale.
    most = float(np.quantile(np.abs(value.compressed()), 0.95)) if value.count() else 1.0
    # Red rises, blue lowers and white is 0; grey is where there are no rows.
    ax.set_facecolor("#dddddd")
    colours = {"cmap": "RdBu_r", "vmin": -most, "vmax": most}
    mesh = ax.pcolormesh(x, y, value, shading="nearest", **colours)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02, extend="both")
    bar.set_label(scale, fontsize=8)
    bar.ax.tick_params(labelsize=7.5)
    ax.set_xlabel(record["columns"][0], fontsize=8.5)
    ax.set_ylabel(record["columns"][1], fontsize=8.5)
    ax.tick_params(labelsize=8)
    for set_ticks, side in ((ax.set_xticks, "x"), (ax.set_yticks, "y")):
        if record[f"{side}_labels"]:
            _label(set_ticks, record[side], record[f"{side}_labels"])
    ax.spines[["top", "right"]].set_visible(False)
