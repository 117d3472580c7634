"""Whether landmarks improve the model enough to be worth their cost per row, for many rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from .._display.progress import steps
from .._typing import Matrix
from ..maps.base import FeatureMap
from .kernel_validation import KernelValidation
from .sample import Sample
from .tuning import Tried, marked

_DEARER = 1.5  # maps are compared if landmarks make a fit so many times more expensive
_WORTH = 0.02  # landmarks must lower the error by this share, as more columns must
_SAVED = 4  # a cheaper map must save so many times the work of the comparison
_LEARNED = 6000  # rows that landmarks are drawn from; the others are validation rows
_SAMPLE = 10_000  # rows, at most
_COLUMNS = 1024  # of the maps that are compared, at most


def choose_map(
    features: Any, rows: Matrix, sample: Callable[[], Sample], n_rows: int
) -> tuple[FeatureMap, list[Tried]]:
    """The map chosen by `KernelFeatures`, or a cheaper one as good for the model; what was tried.

    Landmarks have the smaller kernel error, at p^2 / 2 multiply-adds per row in double precision,
    but the model may be as good without them. On validation rows, with up to 1024 columns,
    landmarks must lower the squared error, or the log loss of classes, by 2%.

    Parameters
    ----------
    features : FeatureMap, fitted; any but `KernelFeatures` is kept
    rows : (n, d), its training rows
    sample : function that returns rows for the comparison
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
