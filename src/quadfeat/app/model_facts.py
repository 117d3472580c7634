"""What `quadfeat info` prints about a model's file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .kernel_words import in_words
from .summary import FitSummary


def model_facts(model: Any, path: Path) -> dict[str, Any]:
    """The kind, columns and kernel of a model, map or kernel; its score if `fit` saved one.

    The score is left out if the .json file is missing or is not a summary.
    """
    facts: dict[str, Any] = {"file": str(path), "holds": type(model).__name__}
    if hasattr(model, "feature_names_in_"):
        facts["columns"] = ", ".join(model.feature_names_in_)
    elif hasattr(model, "n_features_in_"):
        facts["columns"] = model.n_features_in_
    if hasattr(model, "features_"):
        features = model.features_
        facts["map"] = type(getattr(features, "map_", features)).__name__
        facts |= {"features": features.n_columns_, "kernel": in_words(features.kernel_)}
        facts["penalty"] = float(model.alpha_)
    if hasattr(model, "classes_"):
        facts["classes"] = ", ".join(map(str, model.classes_))
    try:
        summary = FitSummary.read(path.with_suffix(".json"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return facts
    score = summary.score
    facts |= {"target": summary.target, "data": summary.data}
    facts["score"] = f"{score.name} {score.value:.3f} [{score.low:.3f}, {score.high:.3f}]"
    facts["verdict"] = summary.verdict
    return facts
