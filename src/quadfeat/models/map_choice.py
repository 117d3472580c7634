"""Whether landmarks are worth their cost per row, where there are many rows: by the targets."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._display.progress import steps
from .._typing import Matrix
from ..maps.base import FeatureMap
from .kernel_validation import KernelValidation
from .sample import Sample
from .tuning import Tried, marked

_DEARER = 1.5  # times the work of a fit from which maps are compared by the targets
_WORTH = 0.02  # share of the error that such work must take off, as for more columns
_SAVED = 4  # times the work of the comparison that a cheaper map must save
_LEARNED = 6000  # rows, of which landmarks are drawn; validation rows are others
_SAMPLE = 10_000  # rows, at most
_COLUMNS = 1024  # of the maps that are compared, at most


def choose_map(
    features: Any, rows: Matrix, sample: Callable[[], Sample], n_rows: int
) -> tuple[FeatureMap, list[Tried]]:
    """The map of a fitted choice, or a cheaper one that does as well, and what was tried.

    Landmarks have the smaller error of the kernel, at p^2 / 2 multiply-adds per row, in double
    precision; that of the model may be as small without. On validation rows, by up to 1024 columns,
    landmarks must take 2% off the squared error, or off the log loss of classes.

    Parameters
    ----------
    features : FeatureMap, fitted; any but `KernelFeatures` is kept
    rows : (n, d), that it was fitted on
    sample : function that returns the rows to compare them by
    n_rows : int, of the whole fit; 0 if unknown
    """
    report = getattr(features, "report_", None)
    if report is None or not report.chosen.startswith("Landmarks"):
        return features, []
    costs = {trial.name: trial.cost for trial in report.trials if not trial.note}
    dear, cheap = costs[report.chosen], costs.get("QuasiRandomFourier", float("inf"))
    p, compared = features.n_columns_, min(features.n_columns_, _COLUMNS)
    products = p**2 / 2
    if dear + products < _DEARER * (cheap + products):
        return features, []
    comparison = 4 * min(n_rows, _SAMPLE) * compared**2  # two fits, landmarks, validation rows
    if n_rows * (dear - cheap) < _SAVED * comparison:
        return features, []
    drawn, other, means = sample(), features.without_expansions(), []
    n_learned = min(_LEARNED, 3 * len(drawn.X) // 4)
    with steps("comparing maps", [1.0, 1.0]) as step:
        for each in (features, other):
            validation = KernelValidation(each, drawn, n_learned, step.done)
            if drawn.labels:
                losses = validation.log_losses(features.kernel_)
            else:
                losses = validation.errors(features.kernel_, _COLUMNS)
            means.append(validation.mean(losses))
    kind = "log loss" if drawn.labels else "squared error"
    text = f"{kind} of {len(validation.weight)} validation rows"
    tried = [
        Tried("map", name, mean, text)
        for name, mean in zip(("Landmarks", "QuasiRandomFourier"), means, strict=True)
    ]
    worth = means[0] < (1 - _WORTH) * means[1]
    chosen = features if worth else other.fit(rows)
    return chosen, marked(tried, tried[0 if worth else 1])
