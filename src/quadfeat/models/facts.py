"""A fitted model in a notebook: what it predicts, how, and which columns matter."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._display.html import WithFacts, card, facts, number
from ..kernels.facts import brief
from ..maps.base import FeatureMap
from .tuning import Tuning

_MOST = 5  # classes, columns


class ModelFacts(WithFacts):
    """The facts that a notebook shows above the diagram of a fitted model."""

    features_: FeatureMap
    coef_: Any
    alpha_: float
    tuning_: Tuning
    n_features_in_: int

    def _facts(self) -> str:
        if not hasattr(self, "coef_"):
            return ""
        features = self.features_
        chosen = getattr(getattr(features, "report_", None), "chosen", type(features).__name__)
        rows = [
            ("predicts", self._predicted()),
            ("features", f"{chosen}: {features.n_columns_:,} columns"),
            ("kernel", brief(features.kernel_)),
            ("loss", getattr(self, "loss_", None)),
            ("penalty", self._penalty()),
            ("noise", self._noise_told()),
            ("what matters", self._importances()),
            ("table", self._encoded_columns()),
        ]
        return card(f"{type(self).__name__}, fitted", facts(rows))

    def _predicted(self) -> str:
        classes = getattr(self, "classes_", None)
        if classes is None:
            count = len(np.atleast_2d(self.coef_))
            return "a number" if count == 1 else f"{count:,} numbers"
        shown = [str(label) for label in classes[:_MOST].tolist()]
        more = [f"{len(classes) - _MOST:,} more"] if len(classes) > _MOST else []
        return f"{len(classes):,} classes: {', '.join([*shown, *more])}"

    def _penalty(self) -> str:
        tried = [each for each in self.tuning_ if each.parameter == "alpha" and each.chosen]
        text = f"alpha {number(self.alpha_)}"
        if not tried:
            return text
        edge = ", at an edge of the grid" if tried[0].edge else ""
        return f"{text}, by {tried[0].judge} ({number(tried[0].score)}{edge})"

    def _noise_told(self) -> str | None:
        noise = getattr(self, "noise_", None)
        if noise is None:
            return None
        deviations = [number(each) for each in np.sqrt(np.atleast_1d(noise))[:_MOST].tolist()]
        return f"standard deviation {', '.join(deviations)}"

    def _importances(self) -> str | None:
        shares = getattr(self, "feature_importances_", None)
        if shares is None:
            return None
        names = getattr(self, "feature_names_in_", None)
        order = np.argsort(-shares, kind="stable")[:_MOST].tolist()
        return ", ".join(
            f"{f'column {i}' if names is None else names[i]} {shares[i]:.0%}" for i in order
        )

    def _encoded_columns(self) -> str | None:
        encoder = getattr(self, "encoder_", None)
        if encoder is None:
            return None
        left_out = [each.name for each in encoder.report_ if each.kind == "drop"]
        text = f"{len(encoder.report_):,} columns became {self.features_.n_features_in_:,}"
        return text + (f"; left out: {', '.join(left_out)}" if left_out else "")
