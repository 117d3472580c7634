"""Files written by a release, kept so that later ones can be tried on them.

    python tests/storage/make_fixtures.py FOLDER

Run it once for a release, with that release installed, and never again: a file that is written
anew proves nothing. `answers.npz` holds what each file's object answered then.
"""

import sys
from pathlib import Path

import numpy as np

import quadfeat as qf

COMMON = {"n_components": 12, "random_state": 0}
KERNEL = qf.Gaussian(0.2)


def objects(X, y):
    """name -> fitted map or model."""
    labels = np.where(y > 0.3, "high", np.where(y < -0.3, "low", "middle"))
    anova = qf.Anova(qf.Laplacian(0.3), [[0, 1], [1, 2]], weights=[1.0, 0.5])
    maps = {
        "dense": qf.DenseGrid(KERNEL, n_points=3),
        "sparse-signed": qf.SparseGrid(KERNEL, level=2, weights="signed"),
        "subsampled-anova": qf.SubsampledGrid(anova, **COMMON),
        "reweighted": qf.ReweightedGrid(KERNEL, **COMMON),
        "orthogonal-matern": qf.OrthogonalFourier(qf.Matern(1.5, 0.2), **COMMON),
        "framed": qf.FramedGrid(KERNEL, n_components=12),
        "mercer-compressed": qf.HermiteMercer(KERNEL, compress=True, **COMMON),
        "landmarks": qf.Landmarks(qf.Cauchy(0.2) + qf.Gaussian(0.1), **COMMON),
        "kernel-features": qf.KernelFeatures(KERNEL, **COMMON),
    }
    yield from ((name, features.fit(X)) for name, features in maps.items())
    features = qf.HermiteMercer(KERNEL, **COMMON)
    yield "regressor", qf.KernelRegressor(features, alpha=0.1).fit(X, y)
    yield "classifier", qf.KernelClassifier(features, loss="logistic", alpha=0.1).fit(X, labels)


def answers(fitted, X):
    """What an object says of rows: features, predictions with deviations, probabilities."""
    if hasattr(fitted, "transform"):
        return fitted.transform(X)
    if hasattr(fitted, "predict_proba"):
        return fitted.predict_proba(X)
    return np.column_stack(fitted.predict(X, return_std=True))


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True)
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=80)
    told = {"X": X[:16]}
    for name, fitted in objects(X, y):
        qf.save(fitted, folder / f"{name}.qf")
        told[name] = answers(fitted, X[:16])
    np.savez_compressed(folder / "answers.npz", **told)


if __name__ == "__main__":
    main()
