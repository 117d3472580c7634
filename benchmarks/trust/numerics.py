"""Rules, sines, certificates, least squares and single precision against their bounds."""

from __future__ import annotations

import lzma
import warnings
from collections.abc import Iterator
from functools import partial
from typing import Any

import mpmath
import numpy as np
from numpy.typing import NDArray
from sklearn.base import clone

import quadfeat as qf
from quadfeat import _engine
from quadfeat.accuracy.region import Region
from quadfeat.numerics import gauss_hermite, nnls
from quadfeat.rules import interval
from tests.accuracy.errors import climb
from tests.conftest import MAPS

from .determinism import environment
from .table import ROOT, Effort, Row

Floats = NDArray[np.float64]
Long = NDArray[np.longdouble]
TABLE = ROOT / "tests" / "tables" / "hermite.txt.xz"
EPS = float(np.finfo(np.float64).eps)
PI = np.longdouble("3.14159265358979323846264338327950288")


def run(effort: Effort) -> Iterator[Row]:
    yield from hermite(effort)
    yield from intervals(effort)
    yield from sines(effort)
    yield from least_squares(effort)
    yield from certificates(effort)
    yield single_precision(effort)


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


def intervals(effort: Effort) -> Iterator[Row]:
    """Clenshaw-Curtis and equispaced rules against long double, which has 64 bits or more."""
    # A sine of an angle that three roundings made, times the cut-off: below 1.5 + 1 + 0.5 ulp.
    nodes = Row("Clenshaw-Curtis nodes", bound=3.0, unit="ulp")
    # Sums of n / 2 cosines, whose coefficients are positive and sum to less than 1; a division.
    weights = Row("Clenshaw-Curtis weights, over the largest and n / 2 + 2 roundings", bound=1.0)
    spaced = Row("equispaced nodes", bound=0.5, unit="ulp")
    moments = Row("moments of both rules, over n + degree + 60 roundings", bound=1.0)
    mirrors = Row("rules of every kind mirrored to the last bit, zero in the middle")
    for n in range(2, effort.of(100, 1000), effort.of(7, 1)):
        rule = interval.clenshaw_curtis(np.ones_like, n, 1.0)
        x, w = exact_clenshaw_curtis(n)
        right = slice(n - n // 2, None)
        ulp = np.abs(rule.nodes[right, 0] - x) / np.spacing(x.astype(float))
        nodes.add(float(ulp.max()), case=f"n={n}")
        error = float(np.abs(rule.weights[right] - w).max() / w.max())
        weights.add(error / ((n / 2 + 2) * EPS), case=f"n={n}")
        for degree in range(0, min(n, 40), 2):
            found = float(rule.weights @ rule.nodes[:, 0] ** degree)
            error = abs(found * (degree + 1) - 1) / (degree + 1)  # of sums of weights of mass 1
            moments.add(error / ((n + degree + 60) * EPS), case=f"Clenshaw-Curtis, n={n}")
    rng = np.random.default_rng(effort.seed)
    normal = qf.Gaussian(0.5).axis(0)
    for _ in range(effort.of(20, 300)):
        # Nodes to 10 deviations: tail and aliases are below e^-49. Exponents to 50 are rounded.
        n = int(rng.integers(60, 400))
        step = 20.0 / n
        rule = interval.equispaced(normal.density, n, step)
        exact = (np.arange(n, dtype=np.longdouble) - np.longdouble(n - 1) / 2) * step
        used = exact != 0
        ulp = np.abs(rule.nodes[used, 0] - exact[used]) / np.spacing(
            np.abs(exact[used]).astype(float)
        )
        spaced.add(float(ulp.max()), case=f"n={n}")
        for degree, moment in ((0, 1), (2, 1), (4, 3), (6, 15), (8, 105)):
            error = abs(float(rule.weights @ rule.nodes[:, 0] ** degree) / moment - 1)
            moments.add(error / ((n + degree + 60) * EPS), case=f"equispaced, n={n}")
    for kernel in (qf.Gaussian(0.5), qf.Cauchy(0.5), qf.Laplacian(0.5)):
        axis = kernel.axis(0)
        scale = interval.frequency_scale(axis)
        for n in range(1, effort.of(30, 200)):
            made = [
                interval.equispaced(axis.density, n, scale * rng.uniform(0.1, 1.0)),
                interval.clenshaw_curtis(axis.density, n, scale * rng.uniform(2, 10)),
            ]
            if axis.moments > 2 * n and n < 65:
                made.append(axis.gauss(n))
            for rule in made:
                x, w = rule.nodes[:, 0], rule.weights
                same = np.array_equal(x, -x[::-1]) and np.array_equal(w, w[::-1])
                mirrors.require(same and (n % 2 == 0 or x[n // 2] == 0.0), f"{kernel!r}, n={n}")
    yield from (nodes, weights, spaced, moments, mirrors)


def exact_clenshaw_curtis(n: int) -> tuple[Long, Long]:
    """The positive nodes on [-1, 1] and their weights of mass 1, in long double."""
    j = np.arange(n // 2)[::-1]
    k = np.arange(1, (n - 1) // 2 + 1)
    coefficient = np.where(2 * k == n - 1, 1, 2) / (4 * k.astype(np.longdouble) ** 2 - 1)
    angle = 2 * np.outer(j, k) % (2 * (n - 1)) * (PI / (n - 1))
    weights = (1 - np.cos(angle) @ coefficient) / (n - 1)
    weights[-1] /= 2
    return np.sin(PI * (n - 1 - 2 * j) / (2 * (n - 1))), weights


# --- sines and cosines ----------------------------------------------------------------------------
# What the engine may lose, in units of half an eps. Roundings of Horner's rule in r^2, |r| <= 1/2,
# of r^2 and of the result sum to at most 2.3 (sine) and 1.9 (cosine) with fused multiply-add, to
# 2.9 and 3.1 without. The polynomials are within 0.9 (cosine in float32, sine in float64) and 0.2
# (the others) of the functions. The largest sums are the bounds: 1.5e-7 and 3.6e-16 with fused
# multiply-add, 1.9e-7 and 4.2e-16 without.
_UNITS = {("float32", True): 2.5, ("float64", True): 3.2}
_UNITS |= {("float32", False): 3.1, ("float64", False): 3.8}
_FARTHEST = {"float32": 9e6, "float64": 3e9}  # radians


def sines(effort: Effort) -> Iterator[Row]:
    """Cosines and sines of the engine against long double, for growing arguments.

    The one node is pi, so that a row is its angle in half-turns, to the bit.
    """
    rng = np.random.default_rng(effort.seed)
    plan = _engine.FourierPlan.dense(np.array([[np.pi]]), np.ones(1), 0.0)
    n = effort.of(100_000, 5_000_000)
    for dtype, farthest in _FARTHEST.items():
        for isa in _engine.engine_info()["isas"]:
            for top in (np.pi / 2, 1e3, farthest):
                what = f"sin and cos, {dtype}, {isa}, to {top:.3g} rad"
                units = _UNITS[dtype, isa != "baseline"]
                row = Row(what, bound=units * float(np.finfo(dtype).eps) / 2)
                for start in range(0, n, 100_000):
                    half_turns = (top / np.pi * rng.uniform(-1, 1, 100_000)).astype(dtype)
                    out = np.empty((len(half_turns), 2), dtype)
                    with environment(QUADFEAT_ISA=isa):
                        _engine.fourier(half_turns[:, None], plan, out)
                    angle = PI * np.fmod(half_turns.astype(np.longdouble), 2)
                    exact = np.stack([np.cos(angle), np.sin(angle)], axis=1)
                    row.add(float(np.abs(out - exact).max()), case=f"rows from {start}")
                row.tried = n
                yield row


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


# --- certificates ---------------------------------------------------------------------------------
CERTIFIED: dict[str, Any] = {
    **{
        f"DenseGrid, {rule}": partial(qf.DenseGrid, rule=rule)
        for rule in ("gauss", "equispaced", "clenshaw-curtis")
    },
    "SparseGrid": partial(qf.SparseGrid, level=2),
    "SparseGrid, signed": partial(qf.SparseGrid, level=2, weights="signed"),
    "SubsampledGrid": partial(qf.SubsampledGrid, n_components=40, random_state=0),
    "ReweightedGrid": partial(qf.ReweightedGrid, n_components=40, random_state=0),
    "PolynomiallyExact": partial(qf.PolynomiallyExact, n_components=60, random_state=0),
    "FramedGrid": partial(qf.FramedGrid, n_components=40),
    "RandomFourier": partial(qf.RandomFourier, n_components=40, random_state=0),
    "SphericalRadial": partial(qf.SphericalRadial, n_components=40, random_state=0),
}
_KERNELS = (
    *(qf.Gaussian(0.5), qf.Gaussian(0.5, metric=np.array([[1.0, 0.5, 0.2]])), qf.Cauchy(0.5)),
    *(qf.Laplacian(0.5), qf.Matern(1.5, 0.5, product=True), qf.Matern(1.5, 0.5)),
    qf.Gaussian(0.3) + 0.5 * qf.Laplacian(0.4),
)


def certificates(effort: Effort) -> Iterator[Row]:
    """The largest error that a search finds over balls and boxes, over what is certified."""
    sound = Row("largest error found over its certificate, balls and boxes", bound=1.0)
    slack = {
        "DenseGrid": Row("certificates of full grids over the largest error found"),
        "": Row("certificates of other maps over the largest error found"),
    }
    rng = np.random.default_rng(effort.seed)
    for i in effort.times(effort.of(1, 12), effort.of(1, 12)):
        for kind, make in CERTIFIED.items():
            for kernel in _KERNELS:
                d = 3 if getattr(kernel, "metric", None) is not None else 1 + (i + len(kind)) % 3
                X = rng.normal(size=(60, d))
                size = float(np.exp(rng.uniform(np.log(0.3), np.log(6.0))))
                box = size * rng.uniform(0.2, 1.0, size=d)
                try:
                    features = make(kernel).fit(X)
                    region = {"diameter": size} if rng.random() < 0.5 else {"box": box}
                    told = features.certificate(**region).value
                except ValueError:  # no Gauss rule, or nothing below k(0) is proven
                    continue
                rule, at_zero = features.rule_, features.kernel_.at_zero(d)
                error = partial(_error, features.kernel_.at, rule, at_zero)
                rounds = effort.of(5, 50)
                seen = climb(error, Region.of(d=d, **region), rng, rounds=rounds)
                case = f"{kind}, {kernel!r}, {region}, seed {effort.seed}"
                sound.add(seen / told, case=case)
                if seen > 1e-9:
                    slack["DenseGrid" if kind.startswith("DenseGrid") else ""].add(told / seen)
    yield from (sound, *slack.values())


def _error(kernel_at: Any, rule: qf.Rule, at_zero: float, U: Floats) -> Floats:
    return np.asarray(np.abs(kernel_at(U) - rule(U)) / at_zero)


# --- single precision -----------------------------------------------------------------------------
def single_precision(effort: Effort) -> Row:
    """The kernel of float32 features against that of float64 features of the same rows.

    The bound is that of three digits, from which on maps warn (`FAR_ROUNDING`): the rounding of an
    angle is summed with all weights, and the kernel errs by a part of that.
    """
    row = Row("float32 against float64, far rows: kernel error without a warning", bound=2.0**-10)
    rng = np.random.default_rng(effort.seed)
    plain = rng.normal(size=(effort.of(60, 200), 3))
    offsets = (1e2, 1e6) if effort.quick else (1, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8)
    for scale in (1.0,) if effort.quick else (1e-3, 1.0, 1e3):
        kernel = qf.Gaussian(0.5 / scale**2)
        for name, make in MAPS.items():
            for offset in offsets:
                X = (scale * plain + offset).astype(np.float32)
                case = f"{name}, offset {offset:g}, scale {scale:g}"
                with warnings.catch_warnings(record=True) as caught:
                    warnings.simplefilter("always")
                    try:
                        features = clone(make()).set_params(kernel=kernel).fit(X.astype(float))
                        Z, exact = features.transform(X), features.transform(X.astype(float))
                    except ValueError as refusal:
                        named = "leaves no digit" in str(refusal)
                        row.add(fault="" if named else str(refusal), case=case)
                        continue
                if any("three digits" in str(each.message) for each in caught):
                    row.add()
                    continue
                gap = np.abs((Z * features.signs_) @ Z.T - (exact * features.signs_) @ exact.T)
                row.add(float(gap.max()), case=case)
    return row
