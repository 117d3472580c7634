"""Export: fitted maps and models for other runtimes.

- `to_torch`: as a module of torch; `to_onnx`: as an ONNX file
- `graph`: a computation as a list of steps, recorded by running NumPy formulas on symbols
- `features`: the formulas of maps; `hermite` and `kernels`: of their parts
- `outputs`: what maps, regressors and classifiers compute; `tables`: the encoders before them
- `torch_module` and `onnx_file`: a graph as torch module, and as ONNX file

The one rule: a formula is written once, in NumPy, and translated to every target; no target knows a
map or a kernel.
"""

from __future__ import annotations

import importlib
from typing import Any

import numpy as np

from .._checks import check_choice
from ..data.atomic import replace
from ..maps.base import FeatureMap
from ..models.base import DTYPES
from ..models.classifier import KernelClassifier
from .onnx_file import OnnxWriter
from .outputs import record

__all__ = ["to_onnx", "to_torch"]


def to_torch(estimator: Any) -> Any:
    """A fitted map or model as a `torch.nn.Module` with the same values.

    `forward(X)` returns features of a map, predictions of a regressor, or scores of a classifier
    (its `decision_function`) for a tensor X (n, d), in the precision of X. `compute(X)` returns all
    outputs by name: "deviations" (`return_std`), "probabilities", "codes" (positions in
    `classes_`). Differentiable with respect to X and, if the kernel has them, its `length_scales`
    (d,), a parameter; freeze it with `module.requires_grad_(False)`. Buffers follow the module to
    any device. X is not checked.

    Parameters
    ----------
    estimator : fitted FeatureMap, KernelRegressor or KernelClassifier

    Examples
    --------
    >>> import quadfeat as qf
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = qf.RandomFourier(qf.Gaussian(0.5), n_components=16, random_state=0).fit(X)
    >>> module = qf.to_torch(features)  # doctest: +SKIP
    >>> module(torch.from_numpy(X)).shape  # doctest: +SKIP
    torch.Size([100, 16])
    """
    try:
        importlib.import_module("torch")
    except ImportError as error:
        raise ImportError("to_torch needs torch: pip install 'quadfeat[torch]'") from error
    module = importlib.import_module(".torch_module", __name__)
    return module.ExportedModule(record(estimator, learnable=True), _precision(estimator))


def to_onnx(estimator: Any, path: Any, *, dtype: str = "float32") -> None:
    """Write a fitted map or model into an ONNX file, for onnxruntime and other runtimes.

    The input is "X" (n, d). A model that was fitted to a table with text or gaps has an input for
    each column that it uses, by its name, of shape (n,): doubles for numbers and booleans, NaN for
    gaps; texts for categories, "" for gaps. Dates and free text cannot be exported. Outputs are
    "features" of a map; "predictions" of a regressor and, for maps without negative weights,
    "deviations" (`return_std`); "label", "scores" and, where the loss has them, "probabilities" of
    a classifier. Values are those of `transform` and `predict`, up to rounding. X is not checked.

    Parameters
    ----------
    estimator : fitted FeatureMap, KernelRegressor or KernelClassifier
    path : path
    dtype : "float32" or "float64"
        The precision of X and of the outputs; a model with a `dtype` computes its features in that.
        `Landmarks` computes kernel values in double precision.

    Examples
    --------
    >>> import tempfile, quadfeat as qf
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = qf.RandomFourier(qf.Gaussian(0.5), n_components=16, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:  # doctest: +SKIP
    ...     qf.to_onnx(features, f"{folder}/map.onnx")
    """
    check_choice("dtype", dtype, DTYPES)
    try:
        onnx = importlib.import_module("onnx")
    except ImportError as error:
        raise ImportError("to_onnx needs onnx: pip install 'quadfeat[onnx]'") from error
    graph = record(estimator)
    features = estimator if isinstance(estimator, FeatureMap) else estimator.features_
    if features.origin is not None and dtype == "float32":
        raise ValueError(
            f"dtype='float32' would round columns that lie up to {np.abs(features.origin).max():g} "
            f"from 0 before they are centred; use dtype='float64'"
        )
    labels = _labels(estimator) if isinstance(estimator, KernelClassifier) else None
    writer = OnnxWriter(onnx, graph, dtype, _precision(estimator) or dtype)
    about = f"{type(estimator).__name__} of quadfeat; kernel {features.kernel_!r}"
    model = writer.model(features.n_features_in_, labels, about)
    replace(path, model.SerializeToString())


def _precision(estimator: Any) -> str | None:
    """The precision of the features of a model, None for that of the rows."""
    return None if isinstance(estimator, FeatureMap) else estimator.dtype


def _labels(model: KernelClassifier) -> Any:
    """Classes as an array that ONNX can hold."""
    labels = np.asarray(model.classes_)
    if labels.dtype.kind in "OU":
        return np.array([str(label) for label in labels], dtype=object)
    return labels
