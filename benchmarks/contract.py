"""The contract of tolerances: `DenseGrid.for_tolerance` against the best hand-picked grid.

    python benchmarks/contract.py [--quick] [--least TOL] [--diameter M] [--kernels NAME ...]

For every kernel of the tests that factors over axes, d = 1, 2, 3 and 8 tolerances per decade from
1e-1 to 1e-8: the certificate, the largest error on a dense mesh of gaps, the number of columns, and
that of the smallest grid (any nodes per axis, any one rule) whose error on the mesh meets the
tolerance. Writes records (JSON lines) and prints a summary. A kernel whose spectrum decays too
slowly is "refused": no rule of 512 nodes per axis meets the tolerance on the mesh.
"""

from __future__ import annotations

import argparse
import itertools
import json
import sys
import time
from collections.abc import Iterator
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np

from quadfeat._errors import NoMoments, NotSeparable
from quadfeat.accuracy import tolerance
from quadfeat.accuracy.region import Region
from quadfeat.accuracy.tolerance import GridSearch
from quadfeat.kernels.base import Kernel
from quadfeat.rules import choice
from quadfeat.rules.choice import AxisRules
from quadfeat.rules.rule import Rule

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from conftest import KERNELS

Record = dict[str, Any]
TOLERANCES = 10.0 ** -np.linspace(1, 8, 57)
MESH = {1: 4001, 2: 321, 3: 65}  # gaps per axis


class Cell:
    """One kernel on d axes: its search, and errors seen on a mesh of the ball."""

    def __init__(self, kernel: Kernel, d: int, diameter: float) -> None:
        self.kernel = kernel.resolve(np.zeros((2, d)))
        self.groups = self.kernel.groups(d)
        reaches = np.full(d, diameter)
        self.search = GridSearch(self.kernel, Region.of(d=d, diameter=diameter), reaches)
        self._axes = [g.kernel.axes(len(g.axes)) for g in self.groups]
        self._t = diameter * np.linspace(0.0, 1.0, MESH[d])
        squares = np.add.outer if d > 1 else None
        self._ball = reduce(squares, [self._t**2] * d) if squares else self._t**2
        self._ball = self._ball <= diameter**2 * (1 + 1e-12)
        self._make = {kind: AxisRules((kind,), reaches) for kind in choice.KINDS}
        self._tables: dict[Any, Any] = {}
        self.d = d
        self._exact = [[axis.profile(self._t) for axis in axes] for axes in self._axes]

    def seen(self, made: list[list[Rule]]) -> float:
        """The largest |k - k~| / k(0) on the mesh, for a grid with these one-dimensional rules."""
        error = np.zeros((len(self._t),) * self.d)
        for group, exact, own in zip(self.groups, self._exact, made, strict=True):
            shape = [len(self._t) if i in group.axes else 1 for i in range(self.d)]
            table = [self._table(rule) for rule in own]
            term = reduce(np.multiply.outer, exact) - reduce(np.multiply.outer, table)
            order = np.argsort(group.axes)
            error = error + group.weight * np.transpose(term, order).reshape(shape)
        total = sum(group.weight for group in self.groups)
        return float(np.abs(error[self._ball]).max() / total)

    def _table(self, rule: Rule) -> Any:
        if id(rule) not in self._tables:
            self._tables[id(rule)] = rule, rule(self._t[:, None])
        return self._tables[id(rule)][1]

    def rules(self, kind: str, counts: tuple[int, ...]) -> list[list[Rule]]:
        return [
            [self._make[kind](a, int(c), counts[c]) for a, c in zip(axes, g.axes, strict=True)]
            for g, axes in zip(self.groups, self._axes, strict=True)
        ]

    def hand_picked(self, tol: float, ours: tuple[int, ...]) -> float:
        """The fewest columns, up to ours, of a grid that meets the tolerance on the mesh."""
        best = tolerance.columns_of(self.groups, np.array(ours))
        for kind in choice.KINDS:
            floor = self._floor(kind, tol, 2 * max(ours))
            if floor is None:
                continue
            near = itertools.product(*[range(n, n + 3) for n in floor])
            choices = sorted((tolerance.columns_of(self.groups, np.array(c)), c) for c in near)
            for columns, counts in choices:
                if columns >= best:
                    break
                try:
                    if self.seen(self.rules(kind, counts)) <= tol:
                        best = columns
                except NoMoments:  # no Gauss rule of so many nodes
                    continue
        return best

    def _floor(self, kind: str, tol: float, most: int) -> list[int] | None:
        """The fewest nodes on each axis alone, from below: errors need not decrease."""
        counts = []
        for column in range(self.d):
            n, last = 1, 0
            while self._alone(kind, column, n) > tol:
                n, last = n + max(1, n // 16), n
                if last > most:
                    return None
            between = range(last + 1, n + 1)
            counts.append(next(m for m in between if self._alone(kind, column, m) <= tol))
        return counts

    def _alone(self, kind: str, column: int, n: int) -> float:
        key = kind, column, n
        if key not in self._tables:
            total, gap = np.zeros(len(self._t)), np.zeros(())
            try:
                for group, axes, exact in zip(self.groups, self._axes, self._exact, strict=True):
                    for axis, c, values in zip(axes, group.axes, exact, strict=True):
                        if c == column:
                            rule = self._make[kind](axis, column, n)
                            total += group.weight * (values - self._table(rule))
                gap = np.abs(total).max() / sum(group.weight for group in self.groups)
            except NoMoments:  # no Gauss rule of so many nodes
                gap = np.array(np.inf)
            self._tables[key] = float(gap)
        return float(self._tables[key])


def run(names: list[str], tols: Any, diameter: float) -> Iterator[Record]:
    for name, d in itertools.product(names, (1, 2, 3)):
        cell, started = Cell(KERNELS[name](d), d, diameter), time.perf_counter()
        for tol in sorted(tols, reverse=True):
            record: Record = {"kernel": name, "d": d, "diameter": diameter, "tol": float(tol)}
            counts = cell.search.fewest(tol)
            if counts is None:
                yield record | {"refused": True}
                continue
            columns = tolerance.columns_of(cell.groups, np.array(counts))
            yield record | {
                "refused": False,
                "n_points": counts,
                "columns": columns,
                "certificate": cell.search.certified(np.array(counts)),
                "seen": cell.seen(cell.search.rules(np.array(counts))),
                "hand_picked": cell.hand_picked(tol, counts),
                "seconds": time.perf_counter() - started,
            }


def certifiable(name: str) -> bool:
    """Whether the kernel factors over axes, so that it has grids at all."""
    try:
        [g.kernel.axes(len(g.axes)) for g in KERNELS[name](2).groups(2)]
    except NotSeparable:
        return False
    return True


def summary(records: list[Record]) -> str:
    lines = [f"{'kernel':20} d  cases  refused from  met  columns / best: mean, largest"]
    for (name, d), group in itertools.groupby(records, key=lambda r: (r["kernel"], r["d"])):
        own = list(group)
        done = [r for r in own if not r["refused"]]
        met = sum(max(r["certificate"], r["seen"]) <= r["tol"] for r in done)
        ratio = [r["columns"] / r["hand_picked"] for r in done] or [np.nan]
        refused = max((r["tol"] for r in own if r["refused"]), default=0.0)
        since = f"{refused:.1e}" if refused else "-"
        lines.append(
            f"{name:20} {d} {len(own):6} {since:>13} {met:4}/{len(done):<4}"
            f" {np.mean(ratio):.2f} {np.max(ratio):.2f}"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--quick", action="store_true", help="two tolerances per decade")
    parser.add_argument("--least", type=float, default=1e-8, help="the smallest tolerance")
    parser.add_argument("--diameter", type=float, default=2.0)
    parser.add_argument("--kernels", nargs="+", default=[n for n in KERNELS if certifiable(n)])
    parser.add_argument("--out", type=Path, default=Path("contract.jsonl"))
    options = parser.parse_args()
    tols = TOLERANCES[options.least * (1 - 1e-9) <= TOLERANCES][:: 4 if options.quick else 1]
    records = []
    with options.out.open("w") as file:
        for record in run(options.kernels, tols, options.diameter):
            records.append(record)
            print(json.dumps(record), file=file, flush=True)
    print(summary(records))


if __name__ == "__main__":
    main()
