"""`EffectsDisplay`: the effects of a model as curves, maps and bars."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count
from .._typing import Floats, Mask
from .style import ACCENT, INK, REFERENCE, tidy

_LINE, _SIDE = 120, 32  # points of a curve, and on each side of a map
_BINS = 30
_FEW = 12  # values of a column that is drawn by points
_INNER = (0.005, 0.995)  # quantiles of a column between which it is drawn
_BAND = 1.96  # deviations: 95% of a normal distribution
_MOST_BARS = 12
_TIMES = "\N{MULTIPLICATION SIGN}"


class EffectsDisplay:
    """The effects of a fitted model: bars of shares, curves of single columns, maps of pairs.

    Curves have a band of 95% where the model has a posterior, and a histogram of the rows below.
    Maps show only where there are rows. All curves and maps of a figure have one scale.

    Parameters
    ----------
    records : iterable of dict
        One per effect, from `from_estimator`: "name", "columns", "share"; for a curve "x", "value",
        "deviation" or None, "counts" and "edges" of the histogram; for a map "x", "y", "value"
        (len(y), len(x)) and "seen", the same shape. Effects of three columns have a bar only.
    scale : str, what the effects are in, for the labels

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
        self.records = list(records)
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
        X : rows that ranges and histograms are of; default those that effects are centred on
        effects : sequence of names or tuples of columns, or None
            Which are drawn, in this order; by default those of the largest shares.
        n_effects : int, how many of these, at most
        target : int, which target or class, of several
        n_cols : int, panels side by side
        ax : Axes of matplotlib or None, whose place is taken by the panels
        """
        records, scale = _records(estimator, X, effects, n_effects, target)
        return cls(records, scale=scale).plot(n_cols=n_cols, ax=ax)

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
        curves = [r for r in drawn if len(r["columns"]) == 1]
        limits = _limits(curves)
        for place, (panel, record) in enumerate(zip(axes[1:], drawn, strict=True), start=1):
            if len(record["columns"]) == 1:
                first = place % n_cols == 0 or place == 1
                _draw_curve(panel, record, limits, self.scale if first else "")
            else:
                _draw_map(panel, record, self.scale)
            _title(panel, record["name"], f"{record['share']:.1%}")
        self.axes_, self.figure_ = np.array(axes), figure
        return self

    def _draw_bars(self, ax: Any) -> None:
        shown = sorted(self.records, key=lambda record: -record["share"])[:_MOST_BARS][::-1]
        share = np.array([record["share"] for record in shown])
        place = np.arange(len(shown))
        ax.barh(place, 100 * share, color=np.where(share < 0, ACCENT, INK), height=0.7)
        names = [record["name"].replace(f" {_TIMES} ", f" {_TIMES}\n") for record in shown]
        ax.set_yticks(place, names, fontsize=8, linespacing=0.9)
        ax.axvline(0.0, color=REFERENCE, linewidth=0.8)
        ax.set_xlabel("share of the variance of predictions, %", fontsize=8.5)
        ax.tick_params(axis="x", labelsize=8)
        tidy(ax)
        ax.grid(False, axis="y")
        ax.set_axisbelow(True)
        _title(ax, "shares", "")


def _records(
    model: Any, X: Any, effects: Sequence[Any] | None, n_effects: int, target: int
) -> tuple[list[dict[str, Any]], str]:
    check_count("n_effects", n_effects, example=8)
    check_is_fitted(model)
    summary = model.effects_
    rows = model.background(X)
    labels = getattr(model, "classes_", None)
    scale = "effect on the prediction" if labels is None else "effect on the score"
    if effects is None:
        order = np.argsort(-np.abs(summary.shares), kind="stable")[:n_effects].tolist()
    else:
        order = [_position(summary, effect) for effect in effects]
    single = summary.names[: sum(len(subset) == 1 for subset in summary.subsets)]
    names = dict(zip((s[0] for s in summary.subsets if len(s) == 1), single, strict=True))
    records = []
    for i in order:
        subset = summary.subsets[i]
        record = {
            "name": summary.names[i].replace(" x ", f" {_TIMES} "),
            "columns": [names.get(column, f"x{column}") for column in subset],
            "share": float(summary.shares[i]),
        }
        if len(subset) == 1:
            record |= _curve(model, i, rows, subset[0], target)
        elif len(subset) == 2:
            record |= _map(model, i, rows, (subset[0], subset[1]), target)
        records.append(record)
    return records, scale


def _position(summary: Any, effect: Any) -> int:
    known: dict[Any, int] = {name: i for i, name in enumerate(summary.names)}
    known |= {subset: i for i, subset in enumerate(summary.subsets)}
    key = effect if isinstance(effect, str) else tuple(np.atleast_1d(effect).tolist())
    if key not in known:
        raise ValueError(
            f"effects has {effect!r}, and the model has {', '.join(map(repr, summary.names[:8]))}"
        )
    return known[key]


def _curve(model: Any, i: int, rows: Floats, column: int, target: int) -> dict[str, Any]:
    values = rows[:, column]
    x = np.unique(values)
    if len(x) > _FEW:
        low, high = np.quantile(values, _INNER)
        x = np.linspace(low, high, _LINE)
    at = np.tile(rows[:1], (len(x), 1))
    at[:, column] = x
    value, deviation = model.effect(i, at)
    counts, edges = np.histogram(values, bins=_BINS, range=(x[0], x[-1]))
    return {
        "x": x,
        "value": value[:, target],
        "deviation": None if deviation is None else deviation[:, target],
        "counts": counts,
        "edges": edges,
    }


def _map(model: Any, i: int, rows: Floats, columns: tuple[int, int], target: int) -> dict[str, Any]:
    sides = []
    for column in columns:
        x = np.unique(rows[:, column])
        if len(x) > _FEW:
            low, high = np.quantile(rows[:, column], _INNER)
            x = np.linspace(low, high, _SIDE)
        sides.append(x)
    grid = np.meshgrid(*sides)
    at = np.tile(rows[:1], (grid[0].size, 1))
    at[:, list(columns)] = np.column_stack([side.ravel() for side in grid])
    value, _ = model.effect(i, at)
    return {
        "x": sides[0],
        "y": sides[1],
        "value": value[:, target].reshape(grid[0].shape),
        "seen": _seen(rows[:, list(columns)], sides),
    }


def _seen(rows: Floats, sides: list[Floats]) -> Mask:
    """Which points of a grid have two rows nearby, (len(y), len(x))."""
    places = [np.abs(side[:, None] - rows[:, i]).argmin(axis=0) for i, side in enumerate(sides)]
    count = np.zeros((len(sides[1]), len(sides[0])), dtype=np.int64)
    inside = np.all([(rows[:, i] >= s[0]) & (rows[:, i] <= s[-1]) for i, s in enumerate(sides)], 0)
    np.add.at(count, (places[1][inside], places[0][inside]), 1)
    reach = [1 if len(side) > _FEW else 0 for side in sides]
    padded = np.pad(count, [(reach[1], reach[1]), (reach[0], reach[0])])
    near = [
        padded[a : a + count.shape[0], b : b + count.shape[1]]
        for a in range(2 * reach[1] + 1)
        for b in range(2 * reach[0] + 1)
    ]
    return np.asarray(sum(near) > 1)


def _limits(records: list[dict[str, Any]]) -> tuple[float, float]:
    """The least and the greatest value of curves, with all but the widest parts of their bands."""
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
    text = name.replace(f" {_TIMES} ", f" {_TIMES}\n") if long else name
    ax.set_title(text, fontsize=10, loc="left", linespacing=1.0)
    ax.set_title(share, fontsize=9, loc="right", color="#555555")


def _draw_curve(ax: Any, record: dict[str, Any], limits: tuple[float, float], scale: str) -> None:
    x, value = record["x"], record["value"]
    low, high = limits
    room = 0.05 * (high - low or 1.0)
    floor = low - 0.22 * (high - low or 1.0)
    ax.axhline(0.0, color=REFERENCE, linewidth=0.8, linestyle=":")
    if record["deviation"] is not None:
        spread = _BAND * record["deviation"]
        ax.fill_between(x, value - spread, value + spread, color=INK, alpha=0.22, linewidth=0)
    few = len(x) <= _FEW
    ax.plot(x, value, color=INK, linewidth=1.8, marker="o" if few else "", markersize=4)
    counts, edges = record["counts"], record["edges"]
    height = 0.16 * (high - low or 1.0) * counts / (counts.max() or 1)
    ax.bar(edges[:-1], height, np.diff(edges), bottom=floor, align="edge", color="#bbbbbb")
    ax.set_ylim(floor, high + room)
    ax.set_xlabel(record["columns"][0], fontsize=8.5)
    ax.set_ylabel(scale, fontsize=8.5)
    ax.tick_params(labelsize=8)
    tidy(ax)


def _draw_map(ax: Any, record: dict[str, Any], scale: str) -> None:
    from matplotlib.ticker import MaxNLocator

    x, y = record["x"], record["y"]
    value = np.ma.masked_where(~record["seen"], record["value"])
    # Cells with few rows, at the edge, may be far off: they do not set the colours.
    low, high = np.quantile(value.compressed(), [0.02, 0.98]) if value.count() else (0.0, 1.0)
    # Lightness rises with the effect, so that grey print is enough; lines tell the values.
    mesh = ax.pcolormesh(x, y, value, cmap="cividis", vmin=low, vmax=high, shading="nearest")
    if min(len(x), len(y)) > 2 and high > low:
        levels = MaxNLocator(4).tick_values(low, high)
        lines = ax.contour(x, y, value, levels, colors="white", linewidths=0.7, linestyles="-")
        ax.clabel(lines, fontsize=6.5, fmt="%.2g")
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02, extend="both")
    bar.set_label(scale, fontsize=8)
    bar.ax.tick_params(labelsize=7.5)
    ax.set_xlabel(record["columns"][0], fontsize=8.5)
    ax.set_ylabel(record["columns"][1], fontsize=8.5)
    ax.tick_params(labelsize=8)
    ax.spines[["top", "right"]].set_visible(False)
