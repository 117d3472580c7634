"""The paper's sample complexities as numbers: D(eps) over eps, d, M and the size of a sum."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from itertools import pairwise
from math import isfinite, log10
from typing import Any

import numpy as np

import quadfeat as qf

from ..._typing import Floats
from ...accuracy import theory
from ...maps.fourier import FourierMap
from ...plotting.style import figure, legend_below, plain_ticks, style_of, tidy
from ..cell import Cell, Record, Table, Verdict
from ..datasets import Data
from .fig1 import approximate

TITLE = "Theory: how many samples suffice"
ABOUT = (
    "The samples D that the theorems ask for, for a Gaussian kernel of unit length scale, against "
    "the error, the dimension d, the diameter M and the number m of sub-kernels of 5 axes. Solid "
    "lines count the points of the smallest rule that a theorem allows; faint ones are the printed "
    "formulas at their best gamma. Random features are those of Rahimi and Recht (2007)."
)


VERSION = 1
RULES = ("polynomially exact", "dense grid", "sparse grid", "random")
RANK = 5  # axes of a sub-kernel
EPSILON = [10.0**-k for k in range(1, 13)]
TINY = [10.0**-k for k in (2, 4, 8, 16, 32, 64, 128, 250, 300)]
SIZES = (1, 4, 16, 64, 256)
SUMS = (2, 4, 8, 16, 32)  # sizes to build and measure


def cells(scale: str, data: Data) -> list[Cell]:
    parts = {
        "error": [(eps, 5, 1.0) for eps in EPSILON],
        "exponent": [(eps * step, 5, 1.0) for eps in TINY for step in (1.0, 1e-6)],
        "dimension": [(1e-3, d, 1.0) for d in (1, 2, 3, 5, 8, 12, 18, 25)],
        "diameter": [(1e-3, 5, M) for M in (0.1, 0.2, 0.5, 1.0, 1.5, 2.0)],
    }
    seeds = {"small": 3, "paper": 10}[scale]
    samples = {"small": 4000, "paper": 50_000}[scale]
    return [
        *(Cell({"part": part}, partial(bounds, part, at)) for part, at in parts.items()),
        Cell({"part": "sum"}, sum_bounds),
        *(
            Cell({"part": "measured sum", "seed": seed}, partial(measured_sums, seed, samples), 5.0)
            for seed in range(seeds)
        ),
    ]


def bounds(part: str, at: Sequence[tuple[float, int, float]]) -> list[Record]:
    """Logarithms of D, to base 10, of every rule at (eps, d, M)."""
    records = []
    for eps, d, M in at:
        complexities = {
            "polynomially exact": theory.polynomially_exact_samples,
            "dense grid": theory.dense_grid_samples,
            "sparse grid": theory.sparse_grid_samples,
        }
        place = {"part": part, "eps": eps, "d": d, "M": M}
        for rule, samples in complexities.items():
            bound = samples(eps, d, subgaussian=1.0, diameter=M)
            logs = {"counted": _log(bound.counted), "printed": _log(bound.printed)}
            records.append({**place, "rule": rule, **logs})
        if eps > 1e-150:  # its square is a number
            D = theory.random_fourier_samples(eps, d, second_moment=d, diameter=M)
            records.append({**place, "rule": "random", "counted": _log(D), "printed": _log(D)})
    return records


def sum_bounds() -> list[Record]:
    """D for an absolute error of 0.01 of a sum of m sub-kernels that share no axis."""
    records = []
    for m in SIZES:
        ours = theory.anova_samples(
            0.01, size=m, rank=RANK, busiest=1, subgaussian=1.0, diameter=1.0
        )
        random = theory.anova_random_samples(
            0.01, size=m, rank=RANK, second_moment=RANK, diameter=1.0
        )
        for rule, D in (("polynomially exact", ours.counted), ("random", random)):
            records.append({"part": "sum", "rule": rule, "m": m, "counted": _log(D)})
    return records


def measured_sums(seed: int, samples: int) -> list[Record]:
    """The largest error of a sum of m sub-kernels over gaps |u| <= 1, with 100 points for each.

    Gaps are uniform in the whole ball, and in the ball of each of at most eight sub-kernels alone.
    """
    records = []
    rng = np.random.default_rng(seed)
    for m in SUMS:
        subsets = [list(range(RANK * i, RANK * (i + 1))) for i in range(m)]
        kernel = qf.Anova(qf.Gaussian(0.5), subsets)
        columns = 200 * m
        gaps = np.concatenate([_ball(samples, RANK * m, rng), _alone(samples, m, rng)])
        maps: dict[str, FourierMap] = {
            "polynomially exact": qf.PolynomiallyExact(
                kernel, degree=2, n_components=columns, random_state=seed
            ),
            "random": qf.RandomFourier(kernel, n_components=columns, random_state=seed),
        }
        for rule, features in maps.items():
            values = approximate(features.fit(np.zeros((2, RANK * m))), gaps)
            error = float(np.abs(values - kernel.at(gaps)).max())
            place = {"part": "measured sum", "rule": rule, "m": m, "seed": seed}
            records.append({**place, "columns": columns, "error": error})
    return records


def _ball(n: int, d: int, rng: np.random.Generator) -> Floats:
    points = rng.normal(size=(n, d))
    points /= np.linalg.norm(points, axis=1, keepdims=True)
    return np.asarray(points * rng.random((n, 1)) ** (1 / d))


def _alone(n: int, m: int, rng: np.random.Generator) -> Floats:
    """Gaps that are zero outside the axes of one sub-kernel."""
    used = min(m, 8)
    gaps = np.zeros((used, n // used, RANK * m))
    for i in range(used):
        gaps[i, :, RANK * i : RANK * (i + 1)] = _ball(n // used, RANK, rng)
    return gaps.reshape(-1, RANK * m)


def _log(value: float) -> float | None:
    return log10(value) if isfinite(value) else None


# --- from records -------------------------------------------------------------------------------
def _line(
    records: list[Record], part: str, rule: str, x: str, y: str
) -> tuple[list[float], list[float]]:
    chosen = [r for r in records if r["part"] == part and r["rule"] == rule and r[y] is not None]
    return [r[x] for r in chosen], [r[y] for r in chosen]


def exponents(records: list[Record], rule: str, y: str) -> tuple[list[float], list[float]]:
    """The slope of log D against log 1/eps over six decades, at their start."""
    eps, logs = _line(records, "exponent", rule, "eps", y)
    known = dict(zip(eps, logs, strict=True))
    starts = [e for e in TINY if e in known and e * 1e-6 in known]
    return starts, [(known[e * 1e-6] - known[e]) / 6 for e in starts]


def slope(x: Sequence[float], y: Sequence[float]) -> float:
    """The least-squares slope of y against log10 x."""
    return float(np.polyfit(np.log10(x), y, 1)[0])


def draw(records: list[Record]) -> Any:
    picture = figure(5.8, 8.2)
    panels = picture.subplots(3, 2)
    _draw_bounds(panels[0, 0], records, "error", "eps", "error eps (d = 5, M = 1)")
    _draw_bounds(panels[1, 0], records, "dimension", "d", "dimension d (eps = 0.001, M = 1)")
    _draw_bounds(panels[1, 1], records, "diameter", "M", "diameter M (eps = 0.001, d = 5)")
    panels[0, 0].invert_xaxis()
    plain_ticks(panels[1, 0].xaxis, (1, 2, 5, 10, 25))
    plain_ticks(panels[1, 1].xaxis, (0.1, 0.2, 0.5, 1, 2))
    panels[1, 1].set_ylim(0, 60)
    _draw_exponents(panels[0, 1], records)
    _draw_sums(panels[2, 0], panels[2, 1], records)
    for ax in panels.flat:
        tidy(ax)
    legend_below(picture, columns=2)
    return picture


def _draw_bounds(ax: Any, records: list[Record], part: str, x: str, label: str) -> None:
    for rule in RULES:
        colour, marker, line = style_of(rule)
        at, logs = _line(records, part, rule, x, "counted")
        ax.plot(at, logs, line, color=colour, marker=marker, markersize=4, label=rule)
        if rule != "random":
            at, logs = _line(records, part, rule, x, "printed")
            ax.plot(at, logs, line, color=colour, lw=1, alpha=0.45)
    ax.plot([], [], color="#111111", lw=1, alpha=0.45, label="faint: the printed formulas")
    ax.set_xscale("log")
    ax.set_xlabel(label)
    ax.set_ylabel("log10 of samples D")
    ax.set_ylim(bottom=0)


def _draw_exponents(ax: Any, records: list[Record]) -> None:
    for rule in RULES:
        colour, marker, line = style_of(rule)
        eps, slopes = exponents(records, rule, "counted")
        ax.plot([-log10(e) for e in eps], slopes, line, color=colour, marker=marker, markersize=4)
        if rule != "random":
            eps, slopes = exponents(records, rule, "printed")
            ax.plot([-log10(e) for e in eps], slopes, line, color=colour, lw=1, alpha=0.45)
    ax.set_xscale("log")
    plain_ticks(ax.xaxis, (2, 8, 32, 128))
    ax.set_ylim(0, 2.3)
    ax.set_xlabel("digits asked for, log10(1 / eps)")
    ax.set_ylabel("slope of log D in log(1 / eps)")


def _draw_sums(left: Any, right: Any, records: list[Record]) -> None:
    for rule in ("polynomially exact", "random"):
        colour, marker, line = style_of(rule)
        m, logs = _line(records, "sum", rule, "m", "counted")
        left.plot(m, logs, line, color=colour, marker=marker, markersize=4)
        m, errors = mean_errors(records, rule)
        right.plot(m, errors, line, color=colour, marker=marker, markersize=4)
    for ax, ticks in ((left, SIZES), (right, SUMS)):
        ax.set_xscale("log")
        plain_ticks(ax.xaxis, ticks)
        ax.set_xlabel("sub-kernels m")
    left.set_ylabel("log10 of D for an error 0.01")
    right.set_yscale("log")
    right.set_ylim(0.01, 1.0)
    plain_ticks(right.yaxis, (0.01, 0.03, 0.1, 0.3, 1))
    right.set_ylabel("error seen, 100 points each")


def tables(records: list[Record]) -> list[Table]:
    parts = (
        ("error", "eps", "Samples D against the error, d = 5, M = 1"),
        ("dimension", "d", "Samples D against the dimension, eps = 0.001, M = 1"),
        ("diameter", "M", "Samples D against the diameter, eps = 0.001, d = 5"),
    )
    counts = "points of the smallest rule the theorem allows, and the printed formula"
    by_part = [
        _table(records, part, x, f"{caption}: {counts}", RULES, ("counted", "printed"))
        for part, x, caption in parts
    ]
    summed = "Samples D against the sub-kernels m of a sum, absolute error 0.01"
    rules = ("polynomially exact", "random")
    return [*by_part, _table(records, "sum", "m", summed, rules, ("counted",))]


def _table(
    records: list[Record],
    part: str,
    x: str,
    caption: str,
    rules: Sequence[str],
    counts: Sequence[str],
) -> Table:
    columns = {
        f"{rule}, printed" if y == "printed" else rule: dict(
            zip(*_line(records, part, rule, x, y), strict=True)
        )
        for rule in rules
        for y in counts
        if not (rule == "random" and y == "printed")  # there is no smaller one
    }
    places = list(dict.fromkeys(r[x] for r in records if r["part"] == part))
    rows = [[f"{at:g}", *(_power(logs.get(at)) for logs in columns.values())] for at in places]
    return Table(caption, [x, *columns], rows)


def _power(log: float | None) -> str:
    """10^log for readers: whole numbers if they are short."""
    if log is None:
        return "none"
    if log < 6:
        return f"{10**log:,.0f}"
    exponent = int(log + 1 - np.log10(9.95))  # 9.95 and more are read as ten
    return f"{10 ** (log - exponent):.1f}e{exponent}"


def mean_errors(records: list[Record], rule: str) -> tuple[list[float], list[float]]:
    """Sizes of sums, and the mean over seeds of the largest error seen."""
    chosen = [r for r in records if r["part"] == "measured sum" and r["rule"] == rule]
    means = [float(np.mean([r["error"] for r in chosen if r["m"] == m])) for m in SUMS]
    return list(map(float, SUMS)), means


def verdicts(records: list[Record]) -> list[Verdict]:
    return [_slower_than_powers(records), _weaker_than_random(records), _dense(records),
            *_sums(records)]  # fmt: skip


def _slower_than_powers(records: list[Record]) -> Verdict:
    _, printed = exponents(records, "polynomially exact", "printed")
    starts, counted = exponents(records, "polynomially exact", "counted")
    falls = all(b < a for a, b in pairwise(printed))
    return Verdict(
        "D(eps) of polynomially exact rules grows slower than any power of 1 / eps",
        "D(eps) = O(eps^(-1/gamma)) for every gamma > 0",
        f"exponent of the counted D {counted[0]:.2f} at eps = {starts[0]:.0e}, {counted[-1]:.3f} "
        f"at {starts[-1]:.0e}; of the printed formula {printed[0]:.2f} and {printed[-1]:.2f}, "
        f"{'' if falls else 'not '}falling throughout",
        falls and counted[-1] < 0.01,
        "The printed formula approaches zero only like 2 / log log(1 / eps): at the errors anyone "
        "asks for, count the points instead.",
    )


def _weaker_than_random(records: list[Record]) -> Verdict:
    fewer = {}
    for part, x in (("error", "eps"), ("dimension", "d")):
        theirs, ours = (
            dict(zip(*_line(records, part, rule, x, "counted"), strict=True))
            for rule in ("random", "polynomially exact")
        )
        fewer[part] = [place for place in theirs if ours[place] < theirs[place]]
    return Verdict(
        "The dependence on eps is weaker than that of random features, for a factor of 2^d",
        "O(eps^(-1/gamma)) against O(eps^-2)",
        f"at d = 5, M = 1 fewer samples for every eps <= {max(fewer['error']):g}; at eps = 0.001 "
        f"fewer up to d = {max(fewer['dimension']):g} of 25",
        bool(fewer["error"]),
        "Bounds against bounds: both are far above what is needed in practice.",
    )


def _dense(records: list[Record]) -> Verdict:
    d, logs = _line(records, "dimension", "dense grid", "d", "printed")
    per_axis = [value / axes for axes, value in zip(d, logs, strict=True)]
    return Verdict(
        "The samples of the dense grid are doubly exponential in d",
        "sample complexity is doubly-exponential in d",
        f"log10(D) / d is {per_axis[0]:.2f} at d = 1 and {per_axis[-1]:.2f} at d = {d[-1]:g} at "
        f"the best gamma: exponential",
        max(per_axis) > 2 * min(per_axis),
        "The formula is doubly exponential for a fixed gamma. At the best one, which falls like "
        "1 / d, log D is proportional to d, as it must be for L^d points.",
    )


def _sums(records: list[Record]) -> list[Verdict]:
    ours, random = (
        slope(*_line(records, "sum", rule, "m", "counted"))
        for rule in ("polynomially exact", "random")
    )
    grown = {
        rule: slope(m, np.log10(errors).tolist())
        for rule in ("polynomially exact", "random")
        for m, errors in [mean_errors(records, rule)]
    }
    return [
        Verdict(
            "For a sum of m sub-kernels the bound grows linearly in m, not like m^3",
            "D = O(m eps^(-1/gamma)) against r m^3 eps^-2",
            f"exponents of m in the bounds: {ours:.2f} against {random:.2f}",
            abs(ours - 1) < 0.01 and 2.9 < random < 3.3,
        ),
        Verdict(
            "Random features need m^3 samples for such a sum",
            "the cubic dependence is undesirable",
            f"with 100 points for each sub-kernel the largest error grows like m^"
            f"{grown['random']:.2f} (random) and m^{grown['polynomially exact']:.2f} "
            f"(polynomially exact)",
            grown["random"] > 0.9,
            "m^3 would need an error that grows like m at equal points for each. In a region of "
            "fixed diameter the gaps of the sub-kernels share that diameter, for random features "
            "as in the theorem: the cubic comes from the union bound.",
        ),
    ]
