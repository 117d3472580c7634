"""Rules, sines, certificates, least squares and single precision against their bounds."""

from __future__ import annotations

import lzma
from collections.abc import Iterator

import mpmath
import numpy as np
from numpy.typing import NDArray

from quadfeat.numerics import gauss_hermite, nnls

from .table import ROOT, Effort, Row

Floats = NDArray[np.float64]
TABLE = ROOT / "tests" / "tables" / "hermite.txt.xz"
EPS = float(np.finfo(np.float64).eps)


def run(effort: Effort) -> Iterator[Row]:
    yield from hermite(effort)
    yield from least_squares(effort)


# --- one-dimensional rules ------------------------------------------------------------------------
def ulps(found: Floats, exact: list[mpmath.mpf]) -> Floats:
    """Errors in units in the last place of the exact values."""
    pairs = zip(found.tolist(), exact, strict=True)
    return np.array(
        [float(abs(x - e)) / np.spacing(max(abs(float(e)), 2.0**-1022)) for x, e in pairs]
    )


def hermite(effort: Effort) -> Iterator[Row]:
    """Gauss-Hermite rules against 40 digits, which mpmath computed once."""
    nodes = Row("Gauss-Hermite nodes against 40 digits", bound=1.0, unit="ulp")
    weights = Row("Gauss-Hermite weights, relative", bound=5e-14)
    most = effort.of(300, 2000)
    table: dict[int, list[tuple[str, str]]] = {}
    with lzma.open(TABLE, "rt", encoding="ascii") as lines:
        for line in lines:
            n, _, node, weight = line.split()
            table.setdefault(int(n), []).append((node, weight))
    with mpmath.workdps(45):
        for n, rows in table.items():
            if n > most or (effort.quick and n % 10):
                continue
            x, w = (array[n // 2 :] for array in gauss_hermite(n))
            nodes.add(ulps(x, [mpmath.mpf(node) for node, _ in rows]).max(), case=f"n={n}")
            exact = np.array([float(weight) for _, weight in rows])
            normal = exact > 1e-290
            errors = np.abs(w[normal] / exact[normal] - 1)
            weights.add(float(errors.max()), case=f"n={n}")
    yield nodes
    yield weights


# --- non-negative least squares -------------------------------------------------------------------
def problem(kind: str, seed: int) -> tuple[Floats, Floats]:
    """M and b; all kinds but "plain" are degenerate."""
    rng = np.random.default_rng(seed)
    n, m = int(rng.integers(2, 80)), int(rng.integers(2, 120))
    M = rng.normal(size=(n, m))
    if kind == "scaled":
        M *= 10.0 ** rng.uniform(-4, 4, size=m)
    elif kind == "low rank":
        rank = max(1, min(n, m) // 3)
        M = rng.normal(size=(n, rank)) @ rng.normal(size=(rank, m))
    elif kind == "repeated columns":
        M = np.repeat(M, 3, axis=1)[:, :m]
    elif kind == "cosines":
        gaps = rng.uniform(0, 2, size=n)
        return np.cos(np.outer(gaps, rng.uniform(0, 3, size=m))), np.exp(-(gaps**2))
    elif kind == "zero columns":
        M[:, rng.random(m) < 0.3] = 0.0
    return M, rng.normal(size=n)


def kkt(M: Floats, b: Floats, a: Floats) -> float:
    """The largest violated slope, over the solver's tolerance and the rounding of this sum."""
    lengths = np.linalg.norm(M, axis=0)
    used = lengths > 0
    slopes = (M.T @ (b - M @ a))[used] / lengths[used]
    unit = (np.abs(M.T @ b)[used] / lengths[used]).max(initial=0.0)
    worst = max(slopes.max(initial=0.0), np.abs(slopes[a[used] > 0]).max(initial=0.0))
    return float(worst / (1e-12 * unit + 100 * EPS * (np.abs(M) @ a + np.abs(b)).sum()))


def least_squares(effort: Effort) -> Iterator[Row]:
    degenerate = ("scaled", "low rank", "repeated columns", "cosines", "zero columns")
    for what, kinds, count in (
        ("random", ("plain",), effort.of(100, 1000)),
        ("degenerate", degenerate, effort.of(50, 250)),
    ):
        row = Row(f"non-negative least squares, {what}: KKT residual over its rounding", bound=1.0)
        for i in range(count):
            kind, seed = kinds[i % len(kinds)], effort.seed + i
            M, b = problem(kind, seed)
            solution = nnls.nonnegative_least_squares(M.T @ M, M.T @ b)
            fault = "" if (solution.weights >= 0).all() else "a negative weight"
            row.add(kkt(M, b, solution.weights), fault=fault, case=f"{kind}, seed {seed}")
        yield row
