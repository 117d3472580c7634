"""The cells of Fig. 2a: settings chosen by cross-validation, and models of every map and width."""

from __future__ import annotations

import time
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np

from ..._typing import Floats, Matrix
from ...data.checkpoint import Checkpoint
from ...kernels.convolution import Convolution
from ...kernels.stationary import Gaussian
from ...maps.base import FeatureMap
from ...maps.chooser import KernelFeatures
from ...models.classifier import KernelClassifier
from ...models.descent import Curvature, Objective, fit_loss
from ...models.losses import Weights, indicators
from ...models.ridge import fit_ridge, ridge_sums
from ...models.stream import Rows
from ...numerics.factorisations import InPlaceCholesky
from ..cell import Cell, Key, Record
from ..contenders import CONTENDERS
from ..datasets import Data, Images

PLAIN = "plain Gaussian"
_TUNING_ROWS, _FOLDS = 10_000, 5
_GAMMAS = (0.05, 0.1, 0.2, 0.4)  # pixels are in [0, 1]
# Smaller ones would be lost in the rounding of float32 products: blank windows give constant
# columns.
_ALPHAS = (1.0, 3.0, 10.0, 30.0)
_SETTINGS_OF = {"reweighted": "subsampled"}  # the same nodes
_HINGE_TOLERANCE = 1e-4  # stop if one more pass would save less than this share of the loss


class _Scale(NamedTuple):
    rows: int
    runs: dict[str, dict[int, int]]  # for each map, columns per window and seeds
    tuning: int  # columns per window
    plain_columns: int


# Widths such that all cells take minutes (small) or about three hours (paper) on two cores, mostly
# for the largest width.
_SCALES = {
    "small": _Scale(
        rows=10_000,
        runs={
            "random": {2: 3, 4: 2, 10: 1},
            "subsampled": {2: 3, 4: 2, 10: 1},
            "reweighted": {2: 1},
            "Hermite-Mercer": {2: 1, 4: 1},
        },
        tuning=2,
        plain_columns=1024,
    ),
    "paper": _Scale(
        rows=60_000,
        runs={
            "random": {2: 5, 4: 5, 10: 3, 20: 3, 50: 3},
            "subsampled": {2: 5, 4: 5, 10: 3, 20: 3, 50: 3},
            "reweighted": {2: 2, 4: 2, 10: 1},
            "Hermite-Mercer": {2: 1, 4: 1, 10: 1},
        },
        tuning=10,
        plain_columns=4096,
    ),
}


class _Work:
    """The images and each map's settings, each computed once."""

    def __init__(self, data: Data, scale: _Scale) -> None:
        self._data, self._scale = data, scale
        self._tried: dict[str, list[Record]] = {}

    @cached_property
    def images(self) -> Images:
        images, rows = self._data.mnist(), self._scale.rows
        return images._replace(X_train=images.X_train[:rows], y_train=images.y_train[:rows])

    @property
    def windows(self) -> int:
        return _kernel(self.images.side, 1.0).size

    def features(self, name: str, gamma: float, per_window: int, seed: int) -> FeatureMap:
        kernel = _kernel(self.images.side, gamma)
        return CONTENDERS[name](kernel, per_window * kernel.size, seed)

    def tried(self, name: str) -> list[Record]:
        """Bandwidths and penalties of a map with their accuracies, and the hinge's penalty."""
        if name not in self._tried:
            trials = self._trials(name)
            gamma = max(trials, key=_validated)["gamma"]
            chosen = {"gamma": gamma, "hinge_alpha": self._hinge_alpha(name, gamma)}
            self._tried[name] = [*trials, {"map": "tuning", "of": name, **chosen}]
        return self._tried[name]

    def recall(self, name: str, tried: list[Record]) -> None:
        """Reuse earlier trials."""
        self._tried[name] = tried

    def settings(self, name: str) -> tuple[float, float, float]:
        """The bandwidth, the ridge penalty and the hinge's."""
        *trials, hinge = self.tried(_SETTINGS_OF.get(name, name))
        best = max(trials, key=_validated)
        return best["gamma"], best["alpha"], hinge["hinge_alpha"]

    def _trials(self, name: str) -> list[Record]:
        images = self.images
        tried: list[Record] = []
        X, y = images.X_train[:_TUNING_ROWS], images.y_train[:_TUNING_ROWS]
        for gamma in _GAMMAS:
            Z = self.features(name, gamma, self._scale.tuning, 0).fit(X).transform(X)
            for alpha, accuracy in cross_validated(Z, y, _ALPHAS).items():
                trial = {"gamma": gamma, "alpha": alpha, "validated": accuracy}
                tried.append({"map": "tuning", "of": name, **trial})
        return tried

    def _hinge_alpha(self, name: str, gamma: float) -> float:
        images = self.images
        features = self.features(name, gamma, self._scale.tuning, 0)
        model = KernelClassifier(features, loss="squared_hinge", alpha="auto")
        model.fit(images.X_train[:_TUNING_ROWS], images.y_train[:_TUNING_ROWS])
        return float(model.alpha_)


def _validated(trial: Record) -> float:
    return float(trial["validated"])


def _kernel(side: int, gamma: float) -> Convolution:
    return Convolution((side, side), 5 if side == 28 else 3, base=Gaussian(gamma))


def cross_validated(
    Z: Matrix, y: np.ndarray[Any, Any], alphas: tuple[float, ...]
) -> dict[float, float]:
    """Five-fold accuracy of a ridge classifier with each penalty, its intercept free.

    The sums of all rows minus those of a fold are the sums of the others: n p^2 + 5 p^3 / 3 per
    penalty. Products over a fold have the precision of Z and are added in float64.
    """
    # Centred before multiplying: windows that are always blank give constant columns, which would
    # differ from the intercept only by the rounding of float32.
    Z = Z - Z.mean(axis=0, dtype=np.float64).astype(Z.dtype)
    classes = np.unique(y)
    targets = np.where(y[:, None] == classes, 1.0, -1.0).astype(Z.dtype)
    folds = [slice(fold, None, _FOLDS) for fold in range(_FOLDS)]
    parts = [_sums(Z[fold], targets[fold]) for fold in folds]
    whole = [sum(terms) for terms in zip(*parts, strict=True)]
    right = dict.fromkeys(alphas, 0)
    for fold, part in zip(folds, parts, strict=True):
        n, mean, height, gram, cross = (a - b for a, b in zip(whole, part, strict=True))
        mean, height = mean / n, height / n
        gram -= n * np.outer(mean, mean)
        cross -= n * np.outer(mean, height)
        cholesky = InPlaceCholesky(gram)
        for alpha in alphas:
            cholesky.factor(alpha)
            weights = cholesky.solve(cross)
            scores = Z[fold] @ weights.astype(Z.dtype) + (height - mean @ weights)
            right[alpha] += int(np.sum(classes[scores.argmax(axis=1)] == y[fold]))
    return {alpha: count / len(y) for alpha, count in right.items()}


def _sums(Z: Matrix, targets: Matrix) -> list[Any]:
    """Rows, sums of features and targets, and their products, in float64."""
    products = ((Z.T @ other).astype(np.float64) for other in (Z, targets))
    return [len(Z), *(a.sum(axis=0, dtype=np.float64) for a in (Z, targets)), *products]


# --- cells ---------------------------------------------------------------------------------------
def cells(scale: str, data: Data) -> list[Cell]:
    chosen, images = _SCALES[scale], data.mnist_name()
    work = _Work(data, chosen)
    windows = 576 if images == "MNIST" else 36

    def cell(name: str, per_window: int, seed: int, *, tuning: bool = False) -> Cell:
        run = _tuning if tuning else _plain_model if name == PLAIN else _both_losses

        def records() -> list[Record]:
            return [{**record, "data": images} for record in run(work, name, per_window, seed)]

        key: Key = {"map": name, "width": per_window, "seed": seed, "data": images}
        if tuning:
            key = {**key, "map": "tuning", "of": name}
        cost = _seconds(name, per_window * windows, chosen.rows, tuning=tuning)
        return Cell(key, records, cost, partial(work.recall, name) if tuning else None)

    return [
        *(
            cell(name, chosen.tuning, 0, tuning=True)
            for name in chosen.runs
            if name not in _SETTINGS_OF
        ),
        *(
            cell(name, per_window, seed)
            for name, runs in chosen.runs.items()
            for per_window, seeds in runs.items()
            for seed in range(seeds)
        ),
        cell(PLAIN, chosen.plain_columns, 0),
    ]


def _tuning(work: _Work, name: str, _width: int, _seed: int) -> list[Record]:
    return work.tried(name)


def _plain_model(work: _Work, name: str, width: int, seed: int) -> list[Record]:
    """The model chooses the bandwidth and the penalty itself, on 10,000 rows."""
    images = work.images
    model = KernelClassifier(KernelFeatures(n_components=width, random_state=seed))
    start = time.perf_counter()
    model.fit(images.X_train, images.y_train)
    seconds = time.perf_counter() - start
    measured = _measured(images, model.features_, model.predict(images.X_test))
    chosen = {"loss": "ridge", "alpha": model.alpha_, "fit_seconds": round(seconds, 2)}
    return [{"map": name, "width": width, "seed": seed, **chosen, **measured}]


def _both_losses(work: _Work, name: str, per_window: int, seed: int) -> list[Record]:
    """Ridge, and the squared hinge from the same features and their products."""
    images = work.images
    gamma, ridge_alpha, hinge_alpha = work.settings(name)
    start = time.perf_counter()
    features = work.features(name, gamma, per_window, seed).fit(images.X_train)
    Z = features.transform(images.X_train)
    p = Z.shape[1]
    classes, codes = np.unique(images.y_train, return_inverse=True)
    rows = Rows(Z, indicators(codes, len(classes)), None)
    nothing = Checkpoint.none()
    sums = ridge_sums(rows, nothing, p, len(classes))
    system = sums.system(intercept=True, signs=np.ones(p), copy=False)
    fit = fit_ridge(system, ridge_alpha, Z.dtype, rows)
    solved = time.perf_counter()
    W, b, passes = fit_loss(
        Objective(
            "squared_hinge", Weights(p, len(classes), rank=None, intercept=True), hinge_alpha
        ),
        Rows(Z, codes, None),
        nothing,
        tolerance=_HINGE_TOLERANCE,
        curved=Curvature.of_ridge(fit),
    )
    ended = time.perf_counter()
    del Z, rows  # gigabytes
    common = {"map": name, "width": per_window * work.windows, "seed": seed, "gamma": gamma}
    ridge = {"loss": "ridge", "alpha": ridge_alpha, "fit_seconds": round(solved - start, 2)}
    hinge = {"loss": "squared_hinge", "alpha": hinge_alpha, "fit_seconds": round(ended - start, 2)}
    weights = [(fit.coefficients, fit.intercept), (W, b)]
    return [
        {**common, **chosen, **_measured(images, features, classes[codes])}
        for chosen, codes in zip(
            (ridge, {**hinge, "passes": passes}),
            _labels(features, images.X_test, weights),
            strict=True,
        )
    ]


def _labels(
    features: FeatureMap, X: Matrix, models: list[tuple[Floats, Floats]]
) -> list[np.ndarray[Any, Any]]:
    """The codes that each model predicts; features are computed once for all models."""
    labels: list[list[Any]] = [[] for _ in models]
    for Z in features.transform_blocks(X):
        for (W, b), codes in zip(models, labels, strict=True):
            codes.append((Z @ W.astype(Z.dtype) + b).argmax(axis=1))
    return [np.concatenate(codes) for codes in labels]


def _measured(images: Images, features: FeatureMap, predicted: np.ndarray[Any, Any]) -> Record:
    wrong = np.flatnonzero(predicted != images.y_test)
    generated = min(_generation_seconds(features, images.X_train) for _ in range(3))
    return {
        "columns": features.transform(images.X_test[:1]).shape[1],
        "accuracy": 1 - len(wrong) / len(images.y_test),
        "wrong": wrong.tolist(),
        "rows": len(images.y_train),
        "tested": len(images.y_test),
        "generation_seconds": round(generated, 3),
    }


def _generation_seconds(features: FeatureMap, X: Matrix) -> float:
    """Time to compute all features of X, in a reused buffer."""
    start = time.perf_counter()
    for _ in features.transform_blocks(X):
        pass
    return time.perf_counter() - start


def _seconds(name: str, columns: int, rows: int, *, tuning: bool) -> float:
    """Expected time of a cell on two cores."""
    p = columns / 1000
    gram, cholesky = 1.1e-5 * rows * p**2, 0.005 * p**3
    if name == PLAIN:
        return 30.0 + 1.1e-5 * rows * 16
    if tuning:
        return 4 * (0.1 * p**2 + 20 * cholesky + (4.0 if name == "Hermite-Mercer" else 0.5))
    fit = {"reweighted": 1.5 * p**2, "Hermite-Mercer": 4.0}.get(name, 0.5)
    passes = 60 * 1.2e-6 * rows * p
    return fit + gram + cholesky + passes  # the descent is preconditioned by the ridge system
