"""The outputs of maps and models, as a graph."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from ..maps.base import FeatureMap
from ..models.classifier import KernelClassifier
from ..models.regressor import KernelRegressor
from ..models.ridge_sums import narrowed
from ..numerics.factorisations import triangular_inverse
from .features import features_of
from .graph import Graph, Value, joined
from .kernels import length_scales
from .tables import encoded

Exported = FeatureMap | KernelRegressor | KernelClassifier


def record(estimator: Any, *, learnable: bool = False) -> Graph:
    """The computation of a fitted map or model, with its encoder; `outputs` of the graph are

    - "features" of a map;
    - "predictions" of a regressor, and "deviations" where it has them;
    - "scores" and "codes" (positions in `classes_`) of a classifier, and "probabilities" where it
      has them.

    Parameters
    ----------
    estimator : fitted FeatureMap, KernelRegressor or KernelClassifier
    learnable : bool, whether the length scales of the kernel are a parameter
    """
    if not isinstance(estimator, Exported):
        raise TypeError(
            f"a fitted map, KernelRegressor or KernelClassifier can be exported, got {estimator!r}"
        )
    check_is_fitted(estimator)
    encoder = getattr(estimator, "encoder_", None)
    if encoder is not None and learnable:
        raise ValueError(
            "a model that encodes tables cannot be a module of torch, which has no texts. Fit a "
            "model on the numbers of TableEncoder().fit_transform(X, y) and export that, or use "
            "to_onnx"
        )
    features = estimator if isinstance(estimator, FeatureMap) else estimator.features_
    lengths = length_scales(features.kernel_, features.n_features_in_) if learnable else None
    graph = Graph()
    rows = graph.input() if encoder is None else encoded(graph, encoder).to("input")
    z = features_of(rows, features, lengths)
    z.width = features.n_columns_
    if isinstance(estimator, FeatureMap):
        outputs = {"features": z}
    elif isinstance(estimator, KernelRegressor):
        outputs = _regression(z, estimator)
    else:
        outputs = _classification(z, estimator)
    graph.outputs = outputs
    return graph.pruned()


def _scores(z: Value, model: KernelRegressor | KernelClassifier) -> Value:
    """z'W + b, (n, t); W is scaled by powers of two if single precision could not represent it."""
    W = np.atleast_2d(model.coef_).T
    _, unit = narrowed(W, np.float32)
    scores: Value = (z @ (W / unit)) * unit + np.atleast_1d(model.intercept_)
    scores.width = W.shape[1]
    return scores


def _regression(z: Value, model: KernelRegressor) -> dict[str, Value]:
    mean, single = _scores(z, model), model.coef_.ndim == 1
    outputs = {"predictions": mean[:, 0] if single else mean}
    if (posterior := model.posterior) is not None:
        centred = z.to("wide") - posterior.feature_mean
        # z'(R'R)^-1 z = |z' R^-1|^2: no runtime solves triangular systems.
        half = centred @ triangular_inverse(posterior.root)
        spread = np.sqrt((half * half).total(keep=not single) + posterior.intercept_leverage)
        deviations = (spread * np.sqrt(model.noise_)).to("working")
        deviations.width = None if single else len(model.coef_)
        outputs["deviations"] = deviations
    return outputs


def _classification(z: Value, model: KernelClassifier) -> dict[str, Value]:
    scores = _scores(z, model)
    two = len(model.classes_) == 2
    per_class = joined([scores * -0.5, scores * 0.5]) if two else scores
    outputs = {"scores": scores[:, 0] if two else scores, "codes": per_class.argmax()}
    if (slope := model.slope) is not None:
        outputs["probabilities"] = (per_class * slope).softmax()
        outputs["probabilities"].width = len(model.classes_)
    return outputs
