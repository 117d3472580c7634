"""What a kernel learns from the targets: its bandwidth."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone

from .._progress import step
from .._typing import Floats, Matrix
from ..kernels.stationary import Gaussian
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..maps.expansions import HermiteMercer
from ..maps.random import QuasiRandomFourier
from .ridge_path import RidgePath
from .ridge_sums import NormalSums
from .tuning import Tried, penalties

STEPS = np.arange(-2.0, 1.25, 0.5)  # length scales from 1/4 to 2 median distances, as powers of 2
_ROWS = 5000
_COLUMNS = 2048
_SIGNED_ROWS = 2000  # that are left out in turn under a signed map
_SEED = 0


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
        step("bandwidth", len(tried), len(STEPS) + 1, verbose=verbose)
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
    sums = NormalSums(fitted.n_columns_, Y.shape[1])
    for start in range(0, len(X), 2048):
        some = slice(start, start + 2048)
        rows = X[some]
        Z = np.empty((len(rows), fitted.n_columns_), dtype=X.dtype)
        fitted.write(rows, Z)
        sums.add(Z, Y[some], weight[some])
    share = sums.weight / sums.n_rows if counts else 1.0
    system = sums.system(intercept=True, signs=fitted.signs_, copy=False, distinct_share=share)
    alphas = penalties(system.scale, X.dtype)
    path = RidgePath(system)
    if not path.signed:
        return float(path.evidence(alphas).min())
    Z = np.empty((min(len(X), _SIGNED_ROWS), fitted.n_columns_), dtype=X.dtype)
    fitted.write(X[: len(Z)], Z)
    return float(path.loo_squares(Z, Y[: len(Z)], weight[: len(Z)], alphas, path.units).min())
