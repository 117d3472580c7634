"""The pictures of docs/effects.md and of the README.

    python docs/effects.py [FOLDER]

The second one needs california_housing.npz in the folder that QUADFEAT_DATA names.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np
from sklearn.datasets import load_diabetes

import quadfeat as qf
from quadfeat.plotting import png

CALIFORNIA = (
    "income",
    "house age",
    "rooms",
    "bedrooms",
    "population",
    "people per home",
    "latitude",
    "longitude",
)


def diabetes() -> qf.EffectsDisplay:
    """Effects of four columns on the progression of the disease."""
    X, y = load_diabetes(return_X_y=True, as_frame=True, scaled=False)
    model = qf.KernelRegressor(qf.Landmarks(qf.Anova(), n_components=256)).fit(X, y)
    return qf.EffectsDisplay.from_estimator(model, X, n_effects=5)


def california() -> qf.EffectsDisplay:
    """House prices of 1990."""
    import pandas as pd

    file = np.load(Path(os.environ["QUADFEAT_DATA"]) / "california_housing.npz")
    X, y = pd.DataFrame(file["X"].astype(float)), file["y"]
    X.columns = list(CALIFORNIA)
    kernel = qf.Anova(qf.Gaussian("learned"))  # smooth curves, for the eye
    model = qf.KernelRegressor(qf.HermiteMercer(kernel, n_components=1024)).fit(X, y)
    return qf.EffectsDisplay.from_estimator(model, X, n_effects=8)


def main(folder: Path) -> None:
    (folder / "effects_diabetes.png").write_bytes(png(diabetes().figure_))
    if os.environ.get("QUADFEAT_DATA"):
        (folder / "effects_california.png").write_bytes(png(california().figure_))


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
