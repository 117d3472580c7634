"""Choice between ridge and the logistic loss by the log loss of validation rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from .._typing import Floats
from ..data.checkpoint import Checkpoint
from .calibration import log_loss
from .losses import indicators
from .ridge import ridge_sums
from .ridge_path import RidgePath
from .tuning import Tried, marked, penalties
from .validation import Split

_FEW = 50  # with fewer validation rows a comparison is mostly chance
_TIE = 0.01  # share within which two log losses are equal
_MAX_COLUMNS = 4096  # a comparison takes p^3 multiply-adds a few times
_MAX_FEATURES = 2**26  # n p, for rows that are read in every pass: 512 MB in double precision
_MAX_WORK = 2**30  # n p t, half the multiply-adds of a pass
AUTO_TOLERANCE = 1e-4  # 100 passes instead of 780 on letter, to the same errors and log loss
_JUDGE = "log loss of validation rows"


def not_compared(loss: str, why: str) -> list[Tried]:
    """The entry of `tuning_` for a loss taken without a comparison, and why."""
    return [Tried("loss", loss, np.nan, f"not compared: {why}", chosen=True)]


def too_few(splits: Sequence[Split]) -> str:
    """Why the logistic loss is not tried if validation rows are few; empty if it is tried.

    With 20 to 200 rows of two and three classes it was often chosen by luck, and so was its alpha:
    log losses on new rows were up to .5 above those of ridge, which tunes on all rows.
    """
    return f"fewer than {_FEW} validation rows" if splits[0].n_validation < _FEW else ""


def too_costly(n: int, p: int, t: int) -> str:
    """Why the logistic loss of n rows, p columns and t scores is not tried; empty if it is."""
    if p > _MAX_COLUMNS:
        return f"more than {_MAX_COLUMNS} columns"
    if n * p > _MAX_FEATURES:
        return f"n p is above {_MAX_FEATURES:.1e}"
    return f"n p t is above {_MAX_WORK:.1e}" if n * p * t > _MAX_WORK else ""


def compare_losses(
    logistic: float,
    splits: Sequence[Split],
    n_scores: int,
    *,
    alpha: float | None,
    intercept: bool,
    signs: Floats,
    whole: bool,
) -> list[Tried]:
    """Choose ridge or logistic by the log loss on validation rows; the entries of `tuning_`.

    Both are fitted on the training rows with the given alpha or their best one; ridge with its best
    temperature. Within 1% they count as equal: then ridge is chosen, or the logistic loss if the
    fit has more rows than the sample, because it gains more from them. On letter the two had .270
    and .268 on a sample, .225 and .12 with all rows.

    Parameters
    ----------
    logistic : float, the log loss of the logistic loss on the validation rows
    splits : sequence of Split
    n_scores : int
    alpha : float, or None for the best
    intercept : bool
    signs : (p,), of the feature map
    whole : bool, whether the splits contain all rows
    """
    ridge = _ridge_log_loss(splits, n_scores, alpha, intercept, signs)
    tried = [Tried("loss", "ridge", ridge, _JUDGE), Tried("loss", "logistic", logistic, _JUDGE)]
    limit = (1 - _TIE) * ridge if whole else (1 + _TIE) * ridge
    return marked(tried, tried[int(logistic < limit)])


def _ridge_log_loss(
    splits: Sequence[Split],
    n_scores: int,
    alpha: float | None,
    intercept: bool,
    signs: Floats,
) -> float:
    """The lowest log loss of ridge on the validation rows; infinite if no alpha can be solved."""
    codes = np.concatenate([split.validation.y for split in splits])
    mass = np.concatenate([split.validation.mass for split in splits])
    n = sum(split.n_validation for split in splits)
    by_split = [_ridge_scores(split, n_scores, alpha, intercept, signs) for split in splits]
    losses = []
    for scores in zip(*by_split, strict=True):
        solved = [part for part in scores if part is not None]
        if len(solved) == len(splits):
            losses.append(log_loss(np.concatenate(solved), codes, mass, n))
    return min(losses, default=np.inf)


def _ridge_scores(
    split: Split, n_scores: int, alpha: float | None, intercept: bool, signs: Floats
) -> list[Floats | None]:
    """Scores (n, t) of the validation rows for each alpha; None where it cannot be solved."""
    training, validation = split.training, split.validation
    targets = training.targets(indicators(training.y, n_scores))
    sums = ridge_sums(targets, Checkpoint.none(), len(signs), n_scores)
    system = sums.system(intercept=intercept, signs=signs, copy=False)
    alphas = penalties(system.scale, training.Z.dtype) if alpha is None else np.array([alpha])
    path = RidgePath(system)
    centred = np.asarray(validation.Z, dtype=np.float64) - system.feature_mean
    scores: list[Floats | None] = []
    for value in alphas:
        try:
            scores.append(centred @ path.weights(float(value)) + system.target_mean)
        except np.linalg.LinAlgError:
            scores.append(None)
    return scores
