"""Fig. 1c: points drawn from the dense grid against random features."""

from __future__ import annotations

from functools import partial
from typing import Any

import quadfeat as qf

from . import fig1
from .datasets import Data
from .frame import Cell, Record, Verdict

TITLE = "Fig. 1c: subsampled dense grid features"
ABOUT = (
    "As Fig. 1a, for 1,000 points drawn by weight from the dense grid of L Gauss-Hermite nodes per "
    "axis. The paper does not say L; four are shown."
)
VERSION = 1
COLUMNS = 2000
NODES = {2: "dense grid", 3: "sparse grid", 5: "subsampled", 11: "polynomially exact"}  # L: style


def _name(n_points: int) -> str:
    return f"subsampled, L = {n_points}"


def cells(scale: str, data: Data) -> list[Cell]:
    def make(n_points: int, seed: int) -> qf.SubsampledGrid:
        return qf.SubsampledGrid(
            fig1.KERNEL, n_components=COLUMNS, n_points=n_points, random_state=seed
        )

    maps = {_name(n_points): partial(make, n_points) for n_points in NODES}
    return fig1.cells(scale, maps, points=COLUMNS // 2, columns=COLUMNS, seeds=6)


def draw(records: list[Record]) -> Any:
    return fig1.draw(records, {_name(n_points): style for n_points, style in NODES.items()})


def verdicts(records: list[Record]) -> list[Verdict]:
    ratios = {
        n_points: [
            fig1.mean_error(records, _name(n_points), M) / fig1.mean_error(records, "random", M)
            for M in fig1.DIAMETERS
        ]
        for n_points in NODES
    }
    enough = [ratio for n_points in NODES if n_points >= 3 for ratio in ratios[n_points]]
    return [
        Verdict(
            "Subsampled grids err as much as random features at every diameter",
            "essentially the same across all diameters",
            f"{min(enough):.2f} to {max(enough):.2f} times random's for L >= 3; "
            f"{min(ratios[2]):.2f} to {max(ratios[2]):.2f} for L = 2",
            min(enough) >= 0.8 and max(enough) <= 1.25,
            "Held to 0.8 to 1.25 for L >= 3. Two nodes per axis are too few: in large regions the "
            "grid itself errs.",
        ),
        fig1.ours_verdict(records, _name(5)),
    ]
