"""Choice of the bandwidth of a Gaussian kernel by the likelihood of the targets."""

from __future__ import annotations

import numpy as np

from .._progress import step
from .._typing import Floats, Matrix
from ..kernels.stationary import Gaussian
from ..maps.base import FeatureMap
from .ridge_path import RidgePath
from .ridge_sums import NormalSums
from .tuning import Tried, penalties

STEPS = np.arange(-2.0, 1.25, 0.5)  # length scales from 1/4 to 2 median distances, as powers of 2
_ROWS = 5000
_COLUMNS = 2048
_SIGNED_ROWS = 2000  # that are left out in turn for signed maps


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
    """The Gaussian kernel with the highest likelihood of the targets, and all bandwidths tried.

    Each is scored by the restricted likelihood at its best alpha, with at most 2048 columns: on few
    rows (and on many columns) this is far more stable than cross-validation. Signed maps have no
    likelihood and are scored by leave-one-out. The rows of X are distinct; `weight` is the total
    weight of their copies, or if `counts` the number of observations.
    """
    rows = distinct[:_ROWS]
    median = float(Gaussian("median").resolve(np.asarray(rows, dtype=float)).gamma)
    tried: list[Tried] = []

    def score(power: float) -> float:
        step("bandwidth", len(tried), len(STEPS) + 1, verbose=verbose)
        fitted = features.lighter(Gaussian(median / 4.0**power), _COLUMNS).fit(rows)
        lowest = _lowest_score(fitted, X, Y, weight, counts)
        name = "length scale / median distance"
        tried.append(Tried(name, float(2.0**power), lowest, "likelihood of a sample"))
        return lowest

    scores = np.array([score(power) for power in STEPS])
    i = int(np.argmin(scores))
    if 0 < i < len(STEPS) - 1:
        # The vertex of the parabola through the best and its neighbours, at most half a step away.
        before, here, after = scores[i - 1 : i + 2]
        bend = before - 2 * here + after
        if bend > 0:
            score(float(STEPS[i] + 0.25 * (before - after) / bend))
    best = min(tried, key=lambda trial: trial.score)
    return Gaussian(median / best.value**2), tried


def _lowest_score(fitted: FeatureMap, X: Matrix, Y: Floats, weight: Floats, counts: bool) -> float:
    """The score of the best alpha."""
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
