"""The demo: `KernelFeatures` and scikit-learn's maps on the digits that ship with scikit-learn.

Two questions for each number of columns: how wrong is the kernel, and how many digits are misread?
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
from sklearn.datasets import load_digits
from sklearn.kernel_approximation import Nystroem, RBFSampler
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import RidgeClassifier
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import LabelBinarizer

from .._typing import Floats
from ..kernels.stationary import Gaussian
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..maps.expansions import HermiteMercer, Landmarks
from ..maps.grids import PolynomiallyExact, SubsampledGrid
from ..maps.learned_grids import ReweightedGrid
from ..maps.random import OrthogonalFourier, QuasiRandomFourier, RandomFourier, SphericalRadial

Record = dict[str, Any]
Maker = Callable[[Gaussian, int, int], Any]  # takes a kernel, a number of columns and a seed
OURS, LINEAR, EXACT = "KernelFeatures", "linear model", "exact kernel"
RBF_SAMPLER, NYSTROEM = "RBFSampler (sklearn)", "Nystroem (sklearn)"
PEERS = (RBF_SAMPLER, "OrthogonalFourier", NYSTROEM)
WIDTHS = (16, 32, 64, 128, 256)
EVERY_WIDTH = (64, 256, 1024)
_SPLITS = 3  # training and test images; errors are means over these
MAPS: dict[str, Maker] = {
    RBF_SAMPLER: lambda k, p, s: RBFSampler(gamma=k.gamma, n_components=p, random_state=s),
    NYSTROEM: lambda k, p, s: Nystroem(gamma=k.gamma, n_components=p, random_state=s),
    "RandomFourier": lambda k, p, s: RandomFourier(k, n_components=p, random_state=s),
    "SubsampledGrid": lambda k, p, s: SubsampledGrid(k, n_components=p, random_state=s),
    "PolynomiallyExact": lambda k, p, s: PolynomiallyExact(k, n_components=p, random_state=s),
    "SphericalRadial": lambda k, p, s: SphericalRadial(k, n_components=p, random_state=s),
    "QuasiRandomFourier": lambda k, p, s: QuasiRandomFourier(k, n_components=p, random_state=s),
    "OrthogonalFourier": lambda k, p, s: OrthogonalFourier(k, n_components=p, random_state=s),
    "ReweightedGrid": lambda k, p, s: ReweightedGrid(k, n_components=p, random_state=s),
    "HermiteMercer": lambda k, p, s: HermiteMercer(k, n_components=p),
    "Landmarks": lambda k, p, s: Landmarks(k, n_components=p, random_state=s),
    OURS: lambda k, p, s: KernelFeatures(k, n_components=p, random_state=s),
}


def steps(*, every: bool = False) -> int:
    """How many records `run` yields."""
    return 2 + (len(MAPS) * len(EVERY_WIDTH) if every else (len(PEERS) + 1) * len(WIDTHS))


def run(*, every: bool = False) -> Iterator[Record]:
    """Fit maps at each width and yield a record of error, accuracy and times.

    Numbers are means over three splits of the images, each with its own seed. `every` fits all maps
    on one split, also at 1024 columns.
    """
    splits = [Digits.load(seed) for seed in range(1 if every else _SPLITS)]
    yield {"map": LINEAR, **_mean([split.linear() for split in splits])}
    yield {"map": EXACT, **_mean([split.exact() for split in splits])}
    for width in EVERY_WIDTH if every else WIDTHS:
        for name in MAPS if every else (*PEERS, OURS):
            runs = [split.measure(name, width) for split in splits]
            yield {"map": name, "width": width, **_mean(runs)}


def _mean(runs: list[dict[str, float]]) -> Record:
    """The mean of each number; columns stay a whole number."""
    means: Record = {key: float(np.mean([run[key] for run in runs])) for key in runs[0]}
    return {**means, "columns": round(means["columns"])}


class Digits(NamedTuple):
    """Training and test images, the kernel, and its exact matrix on the test images."""

    X_train: Floats
    X_test: Floats
    y_train: Any
    y_test: Any
    kernel: Gaussian
    matrix: Floats
    seed: int

    @classmethod
    def load(cls, seed: int) -> Digits:
        X, y = load_digits(return_X_y=True)
        X_train, X_test, y_train, y_test = train_test_split(
            X / 16.0, y, test_size=0.4, random_state=seed
        )
        kernel = Gaussian("median").resolve(X_train)
        return cls(X_train, X_test, y_train, y_test, kernel, kernel(X_test), seed)

    def linear(self) -> dict[str, float]:
        model = RidgeClassifier(alpha=1e-2).fit(self.X_train, self.y_train)
        accuracy = model.score(self.X_test, self.y_test)
        return {"columns": self.X_train.shape[1], "accuracy": accuracy}

    def exact(self) -> dict[str, float]:
        """The exact kernel machine, which the features approximate."""
        labels = LabelBinarizer(neg_label=-1)
        start = time.perf_counter()
        model = KernelRidge(kernel="rbf", gamma=self.kernel.gamma, alpha=1e-2)
        model.fit(self.X_train, labels.fit_transform(self.y_train))
        predicted = labels.classes_[model.predict(self.X_test).argmax(axis=1)]
        return {
            "columns": len(self.X_train),
            "accuracy": float((predicted == self.y_test).mean()),
            "rms": 0.0,
            "max": 0.0,
            "fit": time.perf_counter() - start,
        }

    def measure(self, name: str, width: int) -> dict[str, float]:
        """Errors, accuracy and times of one fit."""
        features = MAPS[name](self.kernel, width, self.seed)
        with warnings.catch_warnings():
            # From maps too narrow to be exact to their degree.
            warnings.simplefilter("ignore", UserWarning)
            start = time.perf_counter()
            features.fit(self.X_train)
            fitted = time.perf_counter()
            Z_test = features.transform(self.X_test)
            done = time.perf_counter()
        signs = features.signs_ if isinstance(features, FeatureMap) else 1.0
        error = (Z_test * signs) @ Z_test.T - self.matrix
        apart = error[np.triu_indices(len(error), 1)]
        model = RidgeClassifier(alpha=1e-2).fit(features.transform(self.X_train), self.y_train)
        return {
            "columns": Z_test.shape[1],
            "rms": float(np.sqrt((apart**2).mean())),
            "max": float(np.abs(apart).max()),
            "accuracy": model.score(Z_test, self.y_test),
            "fit": fitted - start,
            "transform": done - fitted,
        }
