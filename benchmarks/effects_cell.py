"""One cell of benchmarks/effects.py: one model on one split of one set, in a separate process.

    python benchmarks/effects_cell.py '{"set": "bike15", "split": 0, "model": "EBM"}'

Prints the record as the last line of its output. Peers run in the interpreter that has them.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from typing import Any

import numpy as np
from sklearn.metrics import log_loss
from tables_cell import CLASSES, split

Record = dict[str, Any]
ROWS = 4000  # most training rows: EBM takes minutes for more
# Columns of features: with pairs, of main effects, and of smooth main effects.
COLUMNS, MAIN_COLUMNS, SMOOTH_COLUMNS = 1024, 512, 128


def quadfeat(classes: bool, order: int = 2) -> Any:
    import quadfeat as qf

    columns = COLUMNS if order > 1 else MAIN_COLUMNS
    features = qf.Landmarks(qf.Anova(order=order), n_components=columns)
    return qf.KernelClassifier(features) if classes else qf.KernelRegressor(features)


def main_effects(classes: bool) -> Any:
    """No pairs: the functions that pyGAM fits."""
    return quadfeat(classes, order=1)


def smooth(classes: bool) -> Any:
    """Smooth main effects: functions like those of pyGAM, by the quickest fit."""
    import quadfeat as qf

    features = qf.HermiteMercer(qf.Anova(order=1), n_components=SMOOTH_COLUMNS)
    return qf.KernelClassifier(features) if classes else qf.KernelRegressor(features)


def ebm(classes: bool) -> Any:
    from interpret.glassbox import ExplainableBoostingClassifier, ExplainableBoostingRegressor

    return ExplainableBoostingClassifier() if classes else ExplainableBoostingRegressor()


def pygam(classes: bool) -> Any:
    from pygam import LinearGAM, LogisticGAM

    return LogisticGAM() if classes else LinearGAM()


class SearchedGam:
    """pyGAM with the best of eleven penalties, by its `gridsearch`."""

    def __init__(self, classes: bool) -> None:
        self._model = pygam(classes)

    def fit(self, X: Any, y: Any) -> None:
        self._model = self._model.gridsearch(X, y, progress=False)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)


MODELS = {
    "quadfeat": quadfeat,
    "quadfeat, order=1": main_effects,
    "quadfeat, smooth": smooth,
    "EBM": ebm,
    "pyGAM": pygam,
    "pyGAM, searched": SearchedGam,
}


def measure(cell: Record) -> Record:
    """Fit and test one model."""
    X, y, X_test, y_test = split(cell["set"], cell["split"])
    X, y = X[:ROWS], y[:ROWS]
    classes = cell["set"] in CLASSES
    model = MODELS[cell["model"]](classes)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start, cpu = time.perf_counter(), time.process_time()
        model.fit(X, y)
        times = {"fit": time.perf_counter() - start, "fit_cpu": time.process_time() - cpu}
        if classes:
            shares = model.predict_proba(X_test)
            if np.ndim(shares) == 1:
                shares = np.column_stack([1 - shares, shares])
            return {"log_loss": float(log_loss(y_test, np.clip(shares, 1e-15, 1)))} | times
        rmse = float(np.sqrt(np.mean((model.predict(X_test) - y_test) ** 2)))
    return {"rmse": rmse} | times


if __name__ == "__main__":
    print(json.dumps(measure(json.loads(sys.argv[1]))))
