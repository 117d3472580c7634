"""Numbers from targets for a kernel whose parameters say "tuned" or "learned"."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import clone

from .._typing import Floats
from ..numerics.blas import on_one_thread
from .metric import learn_metric
from .scales import learn_scale, learn_scales
from .targets import target_columns
from .task import ROWS, SUBSET_ROWS, Task


def learned_kernel(kernel: Any, task: Task) -> Any:
    """The kernel with the numbers that it learns from a task.

    "tuned" is one length scale, "learned" one per column. A learned metric starts from a length
    scale per column; a `gamma` that is a number is kept. If rows or targets are constant there is
    nothing to learn, and one length scale is the median distance.
    """
    if not task.can_learn:
        return clone(kernel).set_params(**unlearned(kernel))
    word = kernel.gamma
    blank = clone(kernel).set_params(gamma=1.0)
    if isinstance(getattr(kernel, "metric", None), str):
        blank.set_params(metric=None)
        found = learn_metric(blank, task, learn_scales(blank, task)).kernel
        if isinstance(word, str):
            return found
        metric = found.metric * np.sqrt(found.gamma / word)
        return found.set_params(gamma=word, metric=metric)
    blank = blank.resolve(task.X[:1])  # checks the other parameters
    return (learn_scale if word == "tuned" else learn_scales)(blank, task).kernel


def unlearned(kernel: Any) -> dict[str, Any]:
    """Parameters without targets: the median distance replaces a learned scale."""
    own = {"gamma": "median"} if isinstance(kernel.gamma, str) else {}
    return own | ({"metric": None} if hasattr(kernel, "metric") else {})


@on_one_thread
def learned_from(kernel: Any, X: Any, y: Any) -> Any:
    """`learned_kernel` for the rows and targets of a map, on a sample of the rows."""
    return learned_kernel(kernel, Task.of(*sampled(kernel, X, y, ROWS)))


def sampled(kernel: Any, X: Any, y: Any, most: int = SUBSET_ROWS) -> tuple[Floats, Floats, Floats]:
    """Random rows, their targets as columns and their weights, to learn a kernel from."""
    if y is None:
        raise ValueError(
            f"{kernel!r} learns from targets: call fit(X, y); without targets use gamma='scale' or "
            f"'median', or numbers"
        )
    n = X.shape[0]
    Y = target_columns(y, n)
    some = np.random.default_rng(0).permutation(n)[:most]
    rows = np.asarray(X[some].toarray() if sparse.issparse(X) else X[some], dtype=np.float64)
    return rows, Y[some], np.ones(len(some))
