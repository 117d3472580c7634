"""Contenders on one table: their scores with intervals, and how long each takes to fit."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from .style import INK, REFERENCE, figure

_ROW = 0.32  # inches


def comparison_figure(records: Sequence[dict[str, Any]], title: str) -> Any:
    """A figure with one row per contender; the others are compared with the first.

    Parameters
    ----------
    records : dicts with "name", "ours", "score" ("name", "value", "low", "high"), "difference"
        (value, low, high) or None for the first, "fit_seconds"; those without a score are left out
    title : str

    Returns
    -------
    matplotlib Figure
    """
    shown = [record for record in records if record["score"] is not None]
    first = shown[0]["score"]
    picture = figure(6.4, 1.3 + _ROW * len(shown))
    ax = picture.subplots()
    ax.axvline(first["value"], color=REFERENCE, lw=1, ls=(0, (4, 4)))
    ends = []
    for y, record in enumerate(shown):
        score, gap = record["score"], record["difference"]
        low, high = (
            (score["value"],) * 2 if gap is None else (first["value"] + gap[i] for i in (1, 2))
        )
        ends += [low, high]
        colour = INK if record["ours"] else REFERENCE
        marker = "D" if y == 0 else "o" if record["ours"] else "s"
        ax.plot([low, high], [y, y], color=colour, lw=2)
        ax.plot(score["value"], y, marker, color=colour, markersize=6 if y else 8)
        ax.text(
            1.01,
            y,
            f"{score['value']:.3f}   {record['fit_seconds']:.2g} s",
            transform=ax.get_yaxis_transform(),
            va="center",
            fontsize=9.5,
            color="black" if record["ours"] else "#555555",
        )
    room = 0.06 * (max(ends) - min(ends)) or 0.05
    ax.set_xlim(min(ends) - room, max(ends) + room)
    ax.set_yticks(range(len(shown)), [record["name"] for record in shown], fontsize=9.5)
    for label, record in zip(ax.get_yticklabels(), shown, strict=True):
        label.set_color("black" if record["ours"] else "#555555")
    ax.get_yticklabels()[0].set_fontweight("bold")
    ax.set_ylim(len(shown) - 0.5, -0.5)
    ax.tick_params(axis="y", length=0)
    ax.grid(True, axis="x", color="#dddddd", linewidth=0.7)
    ax.set_axisbelow(True)
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.set_xlabel(f"{first['name']}; lines: 95% intervals of the difference to {shown[0]['name']}")
    ax.set_title(title, loc="left", fontsize=11)
    ax.text(
        1.01, 1.01, "score, fit", transform=ax.transAxes, va="bottom", fontsize=9, color="#555555"
    )
    return picture
