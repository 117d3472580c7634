"""Common parts of the panels of Fig. 1: the largest error over a ball, against its diameter."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import numpy as np

import quadfeat as qf

from ..._typing import Floats
from ...maps.fourier import FourierMap
from ...numerics.blas import one_thread
from ...plotting.style import curve, figure, legend_below, plain_ticks, tidy
from ..cell import Cell, Record, Verdict

AXES = 25
KERNEL = qf.Gaussian(0.5)  # its spectrum is N(0, I), as in the paper
DIAMETERS = (0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0)
SAMPLES = {"small": 10_000, "paper": 1_000_000}
SEEDS = {"small": 6, "paper": 2}  # a million samples take a minute of a core for each map and seed
_BLOCK = 10_000
Make = Callable[[int], FourierMap]  # takes a seed


def cells(
    scale: str,
    maps: Mapping[str, Make],
    *,
    points: int,
    columns: int,
) -> list[Cell]:
    """The paper's maps and, for comparison, others of the same size.

    Random and orthogonal maps have as many complex points, the Hermite-Mercer map as many columns.
    """
    rivals: dict[str, Make] = {
        "random": lambda seed: qf.RandomFourier(KERNEL, n_components=2 * points, random_state=seed),
        "orthogonal": lambda seed: qf.OrthogonalFourier(
            KERNEL, n_components=2 * points, random_state=seed
        ),
    }
    n = SAMPLES[scale]
    cost = 1.5e-9 * n * 2 * points * len(DIAMETERS)
    planned = [
        Cell({"map": name, "seed": seed}, partial(fourier_errors, name, make, seed, n), cost)
        for name, make in {**maps, **rivals}.items()
        for seed in range(1 if name == "sparse grid" else SEEDS[scale])
    ]
    ours = partial(mercer_errors, columns, n)
    return [*planned, Cell({"map": "Hermite-Mercer", "seed": 0}, ours, 4 * cost)]


def fourier_errors(name: str, make: Make, seed: int, n: int) -> list[Record]:
    """The largest |k - k~| over `n` gaps of each ball; a Fourier map depends only on the gap."""
    features = make(seed).fit(np.zeros((2, AXES)))
    columns = len(features.signs_)
    return rule_errors(name, features.rule_, seed, n, columns, partial(approximate, features))


def approximate(features: FourierMap, gaps: Floats) -> Floats:
    """The kernel of a Fourier map as a function of gaps (n, d), in blocks of rows."""
    at_zero = features.transform(np.zeros((1, gaps.shape[1])))[0] * features.signs_
    # On two threads, products with one vector took six times the processor time of one thread.
    with one_thread():
        return np.concatenate([z @ at_zero for z in features.transform_blocks(gaps, 500)])


def rule_errors(
    name: str,
    rule: qf.Rule,
    seed: int,
    n: int,
    columns: int,
    kernel: Callable[[Floats], Floats],
) -> list[Record]:
    """The records of a rule, whose `kernel` is a function of the gaps."""

    def error(gaps: Floats) -> Floats:
        return np.abs(kernel(gaps) - KERNEL.at(gaps))

    mass = float(np.abs(rule.weights).sum())
    return [
        _record(name, seed, M, _largest(error, M, n), columns, points=len(rule), mass=mass)
        for M in DIAMETERS
    ]


def mercer_errors(columns: int, n: int) -> list[Record]:
    """The same for an expansion around the data, fitted to each ball.

    A gap u is the pair u/2, -u/2: in 25 dimensions nearly all gaps are about as long as the
    diameter, and such pairs lie opposite each other. A Fourier map is exact for a row with itself,
    but these features are not, so pairs of u/2 with itself are included.
    """
    records = []
    for M in DIAMETERS:
        X = next(balls(2000, 0.5 * M, seed=0))
        features = qf.HermiteMercer(KERNEL, n_components=columns).fit(X)

        def error(gaps: Floats, features: qf.FeatureMap = features) -> Floats:
            left, right = features.transform(gaps / 2), features.transform(-gaps / 2)
            apart = np.einsum("ij,ij->i", left, right) - KERNEL.at(gaps)
            alone = np.einsum("ij,ij->i", left, left) - 1.0
            return np.maximum(np.abs(apart), np.abs(alone))

        records.append(_record("Hermite-Mercer", 0, M, _largest(error, M, n), columns))
    return records


def balls(n: int, radius: float, *, seed: int) -> Iterator[Floats]:
    """`n` points uniform in the ball, in blocks, so that a million need little memory."""
    rng = np.random.default_rng(seed)
    for start in range(0, n, _BLOCK):
        points = rng.normal(size=(min(_BLOCK, n - start), AXES))
        points /= np.linalg.norm(points, axis=1, keepdims=True)
        yield radius * points * rng.random((len(points), 1)) ** (1 / AXES)


def _largest(error: Callable[[Floats], Floats], M: float, n: int) -> float:
    return max(float(error(gaps).max()) for gaps in balls(n, M, seed=7))


def _record(name: str, seed: int, M: float, error: float, columns: int, **more: float) -> Record:
    place = {"map": name, "seed": seed, "diameter": M}
    return {**place, "error": error, "columns": columns, **more}


# --- from records -------------------------------------------------------------------------------
def errors(records: list[Record], name: str) -> Floats:
    """The errors of one map, one row per seed, one column per diameter."""
    chosen = [record for record in records if record["map"] == name]
    seeds = sorted({record["seed"] for record in chosen})
    by_place = {(record["seed"], record["diameter"]): record["error"] for record in chosen}
    return np.array([[by_place[seed, M] for M in DIAMETERS] for seed in seeds])


def mean_error(records: list[Record], name: str, M: float) -> float:
    """The mean over seeds of the largest error at one diameter."""
    return float(errors(records, name)[:, DIAMETERS.index(M)].mean())


def count(records: list[Record], name: str, what: str) -> int:
    """The "points", "columns" or "mass" (the sum of |weights|) of a map."""
    return round(next(record[what] for record in records if record["map"] == name))


def draw(records: list[Record], maps: Mapping[str, str]) -> Any:
    """Error against diameter, for the rivals and for `maps` with their styles."""
    picture = figure()
    draw_errors(picture.subplots(), records, maps)
    legend_below(picture, columns=2)
    return picture


def draw_errors(ax: Any, records: list[Record], maps: Mapping[str, str]) -> None:
    """One panel of `draw`."""
    points = count(records, "random", "points")
    for name, style in {"random": "random", "orthogonal": "orthogonal", **maps}.items():
        left = count(records, name, "points")
        label = name if left == points else f"{name}, {left:,} points left"
        curve(ax, style, DIAMETERS, errors(records, name), label=label, band="range")
    ours = f"Hermite-Mercer, {count(records, 'Hermite-Mercer', 'columns'):,} columns"
    curve(ax, "Hermite-Mercer", DIAMETERS, errors(records, "Hermite-Mercer"), label=ours)
    ax.set(xscale="log", yscale="log")
    ax.set_title(f"{AXES} axes, {points:,} complex points", loc="left", fontsize=10)
    ax.set_ylabel("largest kernel error seen, k(0) = 1")
    diameter_axis(ax)


def diameter_axis(ax: Any) -> None:
    plain_ticks(ax.xaxis, (0.1, 0.2, 0.5, 1, 2, 4, 8))
    ax.set_xlabel("diameter M of the region, in length scales of the kernel")
    tidy(ax)


def ours_verdict(records: list[Record], rival: str) -> Verdict:
    """The best map of this library compared with the paper's, at equal columns."""
    gains = {
        M: mean_error(records, rival, M) / mean_error(records, "Hermite-Mercer", M)
        for M in DIAMETERS
    }
    columns = count(records, "Hermite-Mercer", "columns")
    return Verdict(
        f"In small regions Hermite-Mercer features of as many columns ({columns:,}) err less",
        "not in the paper",
        f"{_times(gains[0.1])} times less than {rival} at M = 0.1, {_times(gains[0.5])} at 0.5; "
        f"less up to M = {_run_of(gains):g}",
        _run_of(gains) > 0,
        "These features are fitted to the region. Each gap u is seen as the pair u/2, -u/2, and "
        "u/2 with itself, where Fourier features are exact and these are not.",
    )


def _run_of(gains: Mapping[float, float]) -> float:
    """The largest diameter up to which every gain exceeds 1, or 0."""
    reached = 0.0
    for M, gain in gains.items():
        if gain <= 1:
            break
        reached = M
    return reached


def _times(ratio: float) -> str:
    return f"{ratio:,.0f}" if ratio >= 20 else f"{ratio:.1f}"
