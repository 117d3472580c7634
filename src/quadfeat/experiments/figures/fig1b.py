"""Fig. 1b: the sparse grid of level 2 against random features."""

from __future__ import annotations

from typing import Any

import quadfeat as qf

from ..cell import Cell, Record, Verdict
from ..datasets import Data
from . import fig1

TITLE = "Fig. 1b: sparse grid features"
ABOUT = (
    "As Fig. 1a, for the sparse (Smolyak) grid of Gauss-Hermite rules up to total level 2 with its "
    "signed weights, beside random and orthogonal features of as many complex points."
)
VERSION = 1
NAME = "sparse grid"
POINTS = 1351


def cells(scale: str, data: Data) -> list[Cell]:
    def make(seed: int) -> qf.SparseGrid:
        return qf.SparseGrid(fig1.KERNEL, level=2, weights="signed")

    return fig1.cells(scale, {NAME: make}, points=POINTS, columns=POINTS)


def draw(records: list[Record]) -> Any:
    return fig1.draw(records, {NAME: NAME})


def verdicts(records: list[Record]) -> list[Verdict]:
    points = fig1.count(records, NAME, "points")
    ratios = {
        M: fig1.mean_error(records, NAME, M) / fig1.mean_error(records, "random", M)
        for M in fig1.DIAMETERS
    }
    worse = [M for M, ratio in ratios.items() if ratio > 1]
    return [
        Verdict(
            "Level 2 on 25 axes has 1,351 points",
            "D = 1351",
            f"{points:,} distinct points, {fig1.count(records, NAME, 'columns'):,} real columns",
            points == POINTS,
        ),
        Verdict(
            "The error is tiny in small regions",
            "tiny error for small-diameter regions, as a plot",
            f"{fig1.mean_error(records, NAME, 0.1):.1e} at M = 0.1, "
            f"1/{1 / ratios[0.1]:,.0f} of random's",
            ratios[0.1] <= 1 / 5000,
            "Held to at most 1/5000 at M = 0.1.",
        ),
        Verdict(
            "The error grows beyond that of random features",
            "even larger than random's as the diameter increases",
            f"larger from M = {min(worse):g} on; {ratios[8.0]:,.0f} times as large at M = 8"
            if worse
            else "smaller at every diameter",
            bool(worse) and worse[-1] == fig1.DIAMETERS[-1],
            "Its weights have both signs, and their magnitudes sum to "
            f"{fig1.count(records, NAME, 'mass'):,}.",
        ),
        fig1.ours_verdict(records, NAME),
    ]
