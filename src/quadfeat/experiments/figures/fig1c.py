"""Fig. 1c: points drawn from the dense grid against random features."""

from __future__ import annotations

from functools import partial
from typing import Any

import quadfeat as qf

from ...plotting.style import figure, legend_below, style_of
from ..cell import Cell, Record, Verdict
from ..datasets import Data
from . import fig1

TITLE = "Fig. 1c: subsampled dense grid features"
ABOUT = (
    "As Fig. 1a, for 1,000 points drawn by weight from the dense grid of L Gauss-Hermite nodes per "
    "axis. The paper does not say L; four are shown, and below them their errors over that of "
    "random features, with a band of 0.8 to 1.25."
)


VERSION = 1
COLUMNS = 2000
ALIKE = (0.8, 1.25)  # ratios to the error of random features that count as equal
NODES = {2: "dense grid", 3: "sparse grid", 5: "subsampled", 11: "polynomially exact"}  # L: style


def _name(n_points: int) -> str:
    return f"subsampled, L = {n_points}"


def cells(scale: str, data: Data) -> list[Cell]:
    def make(n_points: int, seed: int) -> qf.SubsampledGrid:
        return qf.SubsampledGrid(
            fig1.KERNEL, n_components=COLUMNS, n_points=n_points, random_state=seed
        )

    maps = {_name(n_points): partial(make, n_points) for n_points in NODES}
    return fig1.cells(scale, maps, points=COLUMNS // 2, columns=COLUMNS)


def draw(records: list[Record]) -> Any:
    """Errors above; below their ratios, which separate curves that overlap."""
    picture = figure(height=6.4)
    above, below = picture.subplots(2, 1, height_ratios=[3, 2])
    fig1.draw_errors(above, records, {_name(n): style for n, style in NODES.items()})
    above.set_xlabel("")
    random = fig1.errors(records, "random").mean(axis=0)
    below.axhspan(*ALIKE, color="#eeeeee", zorder=0)
    below.axhline(1.0, color=style_of("random").colour, linestyle="--")
    for n, style in NODES.items():
        ratio = fig1.errors(records, _name(n)).mean(axis=0) / random
        colour, marker, line = style_of(style)
        below.plot(fig1.DIAMETERS, ratio, line, color=colour, marker=marker, markersize=5)
    below.set_xscale("log")
    below.set_ylim(0.6, max(1.4, 1.05 * below.dataLim.y1))
    below.set_ylabel("error / random's")
    fig1.diameter_axis(below)
    legend_below(picture, columns=2)
    return picture


def verdicts(records: list[Record]) -> list[Verdict]:
    ratios = {
        n_points: [
            fig1.mean_error(records, _name(n_points), M) / fig1.mean_error(records, "random", M)
            for M in fig1.DIAMETERS
        ]
        for n_points in NODES
    }
    enough = {
        (n_points, M): ratio
        for n_points in NODES
        if n_points >= 3
        for M, ratio in zip(fig1.DIAMETERS, ratios[n_points], strict=True)
    }
    least, most = min(enough.values()), max(enough.values())
    worst = max(enough, key=lambda place: enough[place])
    small = [ratios[n_points][0] for n_points in NODES if n_points >= 3]
    return [
        Verdict(
            "Subsampled grids err as much as random features at every diameter",
            "essentially the same across all diameters",
            f"{least:.2f} to {most:.2f} times random's for L >= 3, the most with L = {worst[0]} "
            f"at M = {worst[1]:g}; {min(small):.2f} to {max(small):.2f} at "
            f"M = {fig1.DIAMETERS[0]:g}; {min(ratios[2]):.2f} to {max(ratios[2]):.2f} for L = 2",
            least >= ALIKE[0] and most <= ALIKE[1],
            "Held to 0.8 to 1.25 for L >= 3. Few nodes per axis are too few in regions between "
            "small ones, where they are exact enough, and large ones, where the kernel is zero.",
        ),
        fig1.ours_verdict(records, _name(5)),
    ]
