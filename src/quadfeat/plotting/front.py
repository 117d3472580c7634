"""One line in colour, the others in grey, each labelled at its end: a picture with one message."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

FRONT = "#0b57d0"  # dark enough to stand out in grey print, too
_PEERS = (("#8c8c8c", "o"), ("#a3a3a3", "s"), ("#757575", "^"), ("#969696", "v"), ("#7f7f7f", "D"))
_TEXT = "#5f5f5f"


def lines_in_front(
    ax: Any,
    curves: Mapping[str, tuple[ArrayLike, ArrayLike]],
    front: str,
    *,
    size: float = 12.0,
) -> None:
    """Draw curves (x, y) by name: `front` thick and coloured, the others thin and grey.

    The names stand at the right ends of the lines, moved apart where they would overlap. Set the
    scales of the axes before: positions are found in points. There may be any number of other
    lines; markers repeat after five.
    """
    ends = {}
    peers = [name for name in curves if name != front]
    for position, name in enumerate([*peers, front]):
        x, y = (np.asarray(values, dtype=float) for values in curves[name])
        if name == front:
            ax.plot(x, y, color=FRONT, lw=3.4, marker="o", markersize=7.5, zorder=3)
        else:
            colour, marker = _PEERS[position % len(_PEERS)]
            ax.plot(x, y, color=colour, lw=1.4, marker=marker, markersize=4.5, zorder=2)
        ends[name] = (x[-1], y[-1])
    names = list(ends)
    ax.autoscale_view()
    heights = ax.transData.transform(list(ends.values()))[:, 1] * 72 / ax.figure.dpi
    for name, height, at in zip(names, heights, spread(heights, 1.25 * size), strict=True):
        ahead = name == front
        ax.annotate(
            name,
            ends[name],
            xytext=(9, at - height),
            textcoords="offset points",
            va="center",
            color=FRONT if ahead else _TEXT,
            fontsize=size,
            fontweight="bold" if ahead else "normal",
            annotation_clip=False,
        )


def spread(heights: ArrayLike, least: float) -> Sequence[float]:
    """The nearest heights in the same order, in least squares, that are at least `least` apart.

    Neighbours that are too close become a block around their mean (pool adjacent violators).

    >>> spread([0.0, 1.0, 20.0], 4.0)
    [-1.5, 2.5, 20.0]
    """
    values = np.asarray(heights, dtype=float)
    order = np.argsort(values, kind="stable")
    shift = least * np.arange(len(values))
    blocks: list[list[float]] = []  # sum and number of the heights minus their shift
    for value in values[order] - shift:
        blocks.append([value, 1])
        while len(blocks) > 1 and blocks[-2][0] / blocks[-2][1] > blocks[-1][0] / blocks[-1][1]:
            total, count = blocks.pop()
            blocks[-1][0] += total
            blocks[-1][1] += count
    means = np.concatenate([[total / count] * int(count) for total, count in blocks] or [[]])
    out = np.empty(len(values))
    out[order] = means + shift
    return [float(value) for value in out]
