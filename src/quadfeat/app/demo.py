"""The demo: every map on the digits that ship with scikit-learn, beside scikit-learn's own maps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

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
WIDTHS = (64, 256, 1024)
_MAPS: dict[str, Callable[[Gaussian, int], Any]] = {
    "RBFSampler (sklearn)": lambda k, p: RBFSampler(gamma=k.gamma, n_components=p, random_state=0),
    "Nystroem (sklearn)": lambda k, p: Nystroem(gamma=k.gamma, n_components=p, random_state=0),
    "RandomFourier": lambda k, p: RandomFourier(k, n_components=p, random_state=0),
    "SubsampledGrid": lambda k, p: SubsampledGrid(k, n_components=p, random_state=0),
    "PolynomiallyExact": lambda k, p: PolynomiallyExact(k, n_components=p, random_state=0),
    "SphericalRadial": lambda k, p: SphericalRadial(k, n_components=p, random_state=0),
    "QuasiRandomFourier": lambda k, p: QuasiRandomFourier(k, n_components=p, random_state=0),
    "OrthogonalFourier": lambda k, p: OrthogonalFourier(k, n_components=p, random_state=0),
    "ReweightedGrid": lambda k, p: ReweightedGrid(k, n_components=p, random_state=0),
    "HermiteMercer": lambda k, p: HermiteMercer(k, n_components=p),
    "Landmarks": lambda k, p: Landmarks(k, n_components=p, random_state=0),
    "KernelFeatures": lambda k, p: KernelFeatures(k, n_components=p, random_state=0),
}


def steps() -> int:
    """How many records `run` yields."""
    return 2 + len(_MAPS) * len(WIDTHS)


def run() -> Iterator[Record]:
    """Fit each map at each width and yield a record of its error, accuracy and times."""
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    kernel = Gaussian("median").resolve(X_train)
    exact = kernel(X_test)
    yield _linear(X_train, X_test, y_train, y_test)
    yield _exact(kernel, X_train, X_test, y_train, y_test)
    for width in WIDTHS:
        for name, make in _MAPS.items():
            yield _measure(name, make(kernel, width), exact, X_train, X_test, y_train, y_test)


def _linear(X_train: Floats, X_test: Floats, y_train: Any, y_test: Any) -> Record:
    model = RidgeClassifier(alpha=1e-2).fit(X_train, y_train)
    return _record("linear model", X_train.shape[1], accuracy=model.score(X_test, y_test))


def _exact(kernel: Gaussian, X_train: Floats, X_test: Floats, y_train: Any, y_test: Any) -> Record:
    """The exact kernel machine, which the features approximate."""
    labels = LabelBinarizer(neg_label=-1)
    start = time.perf_counter()
    model = KernelRidge(kernel="rbf", gamma=kernel.gamma, alpha=1e-2)
    model.fit(X_train, labels.fit_transform(y_train))
    accuracy = float((labels.classes_[model.predict(X_test).argmax(axis=1)] == y_test).mean())
    return _record(
        "exact kernel",
        len(X_train),
        accuracy=accuracy,
        rms=0.0,
        max=0.0,
        fit=time.perf_counter() - start,
    )


def _measure(
    name: str,
    features: Any,
    exact: Floats,
    X_train: Floats,
    X_test: Floats,
    y_train: Any,
    y_test: Any,
) -> Record:
    with warnings.catch_warnings():
        warnings.simplefilter(
            "ignore", UserWarning
        )  # of maps too narrow to be exact to their degree
        start = time.perf_counter()
        features.fit(X_train)
        fitted = time.perf_counter()
        Z_test = features.transform(X_test)
        done = time.perf_counter()
        error = _gram(features, Z_test) - exact
    model = RidgeClassifier(alpha=1e-2).fit(features.transform(X_train), y_train)
    apart = error[np.triu_indices(len(error), 1)]
    return _record(
        name,
        Z_test.shape[1],
        rms=float(np.sqrt((apart**2).mean())),
        max=float(np.abs(apart).max()),
        accuracy=model.score(Z_test, y_test),
        fit=fitted - start,
        transform=done - fitted,
    )


def _gram(features: Any, Z: Floats) -> Floats:
    signs = features.signs_ if isinstance(features, FeatureMap) else 1.0
    return np.asarray((Z * signs) @ Z.T)


def _record(name: str, columns: int, **numbers: Any) -> Record:
    return {"map": name, "columns": columns, **numbers}
