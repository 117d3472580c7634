"""The targets of export as functions from an estimator to a function of rows."""

import importlib.util
import tempfile
from pathlib import Path

import numpy as np

import quadfeat as qf


def by_torch(estimator):
    """Rows in, a dictionary of arrays out, computed by torch."""
    import torch

    module = qf.to_torch(estimator)

    def compute(X):
        with torch.no_grad():
            outputs = module.compute(torch.from_numpy(np.ascontiguousarray(X)))
        return {name: value.numpy() for name, value in outputs.items()}

    return compute


def by_onnx(estimator, dtype="float32"):
    """Rows in, a dictionary of arrays out, computed by onnxruntime."""
    import onnxruntime

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.onnx")
        qf.to_onnx(estimator, path, dtype=dtype)
        content = path.read_bytes()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(content, options, providers=["CPUExecutionProvider"])
    names = [output.name for output in session.get_outputs()]
    return lambda X: dict(zip(names, session.run(None, {"X": X}), strict=True))


def installed():
    """(name, function of an estimator and a dtype) of the targets that are installed."""
    targets = []
    if importlib.util.find_spec("torch"):
        targets.append(("torch", lambda estimator, dtype: by_torch(estimator)))
    if importlib.util.find_spec("onnx") and importlib.util.find_spec("onnxruntime"):
        targets.append(("onnx", by_onnx))
    return targets


def largest_angle(features, X):
    """The largest angle of a cosine, whose rounding features have; 0 for expansions."""
    features = getattr(features, "map_", features)
    if not hasattr(features, "plan"):
        return 0.0
    _, matrix = features.kernel_.coordinates(X.shape[1])
    rows = X if matrix is None else X @ matrix.T
    return features.plan.largest_angle(np.abs(rows).max(axis=0).astype(np.float64))
