"""Choosing a bandwidth and a penalty for the user, and remembering what was tried."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from .adaptive import KernelFeatures
from .expansions import HermiteMercer
from .features import FeatureMap, Matrix
from .kernels import Gaussian
from .peers import QuasiRandomFourier
from .rules import Floats
from .solvers import RidgePath
from .sums import NormalSums

STEPS = np.arange(-2.0, 1.25, 0.5)  # length scales from 1/4 to 2 median distances, as powers of 2
_ROWS = 5000
_COLUMNS = 2048
_SIGNED_ROWS = 2000  # that are left out in turn under a signed map
_SEED = 0
_TIE = 1e-3  # scores that differ by less are equal


@dataclass(frozen=True)
class Tried:
    """One value of a parameter and its score: less is better."""

    parameter: str
    value: float
    score: float
    judge: str


def penalties(scale: float, dtype: Any) -> Floats:
    """Half decades of alpha below the trace of the gram, down to what its rounding leaves.

    By the size of their rounding (an estimate), float32 products leave about 3e-9 of the trace.
    """
    lowest = -8.0 if np.dtype(dtype) == np.float32 else -12.0
    return np.asarray(scale * 10.0 ** np.arange(lowest, 0.25, 0.5))


def seeded(features: FeatureMap | None) -> FeatureMap:
    """A fresh copy of a map; where its random state is open, equal data give equal features."""
    copy = KernelFeatures() if features is None else clone(features)
    if "random_state" in copy.get_params() and copy.get_params()["random_state"] is None:
        copy.set_params(random_state=_SEED)
    return copy


def tune_bandwidth(
    features: FeatureMap,
    X: Matrix,
    distinct: Matrix,
    Y: Floats,
    weight: Floats,
    *,
    counts: bool = False,
    verbose: bool,
) -> tuple[Gaussian, list[Tried]]:
    """The Gaussian kernel under which the targets of a sample are most likely, and all tried.

    The restricted likelihood at the best alpha of each, with at most 2048 columns: on few rows
    (and on many columns) it is far steadier than cross-validation. Signed maps have none and are
    judged by leaving rows out. The rows of X are distinct, and `weight` is that of all their
    copies, or where it `counts` observations their number.
    """
    rows = distinct[:_ROWS]
    median = float(Gaussian("median").resolve(np.asarray(rows, dtype=float)).gamma)
    tried: list[Tried] = []

    def score(power: float) -> float:
        if verbose:
            print(f"bandwidth: {len(tried)} of {len(STEPS) + 1} tried", file=sys.stderr)
        fitted = _cheap(features, Gaussian(median / 4.0**power)).fit(rows)
        least = _least_score(fitted, X, Y, weight, counts)
        name = "length scale / median distance"
        tried.append(Tried(name, float(2.0**power), least, "likelihood of a sample"))
        return least

    scores = np.array([score(power) for power in STEPS])
    i = int(np.argmin(scores))
    if 0 < i < len(STEPS) - 1:
        # The vertex of the parabola through the best and its neighbours, at most half a step away.
        before, here, after = scores[i - 1 : i + 2]
        bend = before - 2 * here + after
        if bend > 0:
            score(float(STEPS[i] + 0.25 * (before - after) / bend))
    best = min(tried, key=lambda each: each.score)
    return Gaussian(median / best.value**2), tried


def _cheap(features: FeatureMap, kernel: Gaussian) -> FeatureMap:
    """A map of the same kind that is quick to fit."""
    width = features.get_params().get("n_components", 256) or 256
    if not isinstance(features, KernelFeatures):
        copy = clone(features).set_params(kernel=kernel)
        if "n_components" in copy.get_params():
            copy.set_params(n_components=min(width, _COLUMNS))
        return copy
    kind = QuasiRandomFourier if features.shift_invariant else HermiteMercer
    return kind(kernel, n_components=min(width, _COLUMNS), random_state=_SEED)


def _least_score(fitted: FeatureMap, X: Matrix, Y: Floats, weight: Floats, counts: bool) -> float:
    """That of the best alpha."""
    sums = NormalSums(fitted._n_features_out, Y.shape[1])
    for start in range(0, len(X), 2048):
        some = slice(start, start + 2048)
        rows = X[some]
        Z = np.empty((len(rows), fitted._n_features_out), dtype=X.dtype)
        fitted._evaluate(rows, Z)
        sums.add(Z, Y[some], weight[some])
    share = sums.weight / sums.n_rows if counts else 1.0
    system = sums.system(intercept=True, signs=fitted.signs_, copy=False, distinct_share=share)
    alphas = penalties(system.scale, X.dtype)
    path = RidgePath(system)
    if not path.signed:
        return float(path.evidence(alphas).min())
    Z = np.empty((min(len(X), _SIGNED_ROWS), fitted._n_features_out), dtype=X.dtype)
    fitted._evaluate(X[: len(Z)], Z)
    return float(path.loo_squares(Z, Y[: len(Z)], weight[: len(Z)], alphas, path.units).min())


def best(alphas: Floats, scores: Floats, judge: str) -> tuple[float, list[Tried]]:
    """The largest alpha whose score is the least, to a thousandth, and what was tried.

    Scores of the smallest alphas often differ by their rounding only, which must not decide.
    """
    if not np.isfinite(scores).any():
        raise ValueError(
            f"no alpha can be judged: the largest, {alphas.max():g}, is too small for the rounding "
            f"of the sums; give a larger alpha"
        )
    tried = [
        Tried("alpha", float(alpha), float(score), judge)
        for alpha, score in zip(alphas, scores, strict=True)
    ]
    return float(alphas[scores <= (1 + _TIE) * scores.min()].max()), tried
