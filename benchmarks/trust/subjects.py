"""What the battery of bad input calls: public names, each with arguments that work.

Parameters come from signatures, so a new one is tried as soon as it exists.
"""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import quadfeat as qf
from quadfeat import data, maps, models, rules, testing, theory

_RNG = np.random.default_rng(0)
X = _RNG.normal(size=(30, 3))
Y = (X[:, 0] > 0).astype(int)
KERNEL = qf.Gaussian(0.5)
QUICK = qf.RandomFourier(KERNEL, n_components=8, random_state=0)
FRAME = pd.DataFrame(
    {"size": X[:, 0], "town": np.array(["here", "there", None])[np.arange(30) % 3]}
)
MAPS = [kind for name, kind in vars(maps).items() if name in qf.__all__ and name != "FeatureMap"]
MODELS = [models.KernelRegressor, models.KernelClassifier]


@dataclass(frozen=True)
class Subject:
    """Something public that can be called by keywords, and arguments with which it works."""

    name: str
    call: Callable[..., Any]
    usual: dict[str, Any]
    parameters: tuple[str, ...]
    may_be_none: tuple[str, ...] = ()  # None is their default


def subjects(folder: Path) -> Iterator[Subject]:
    """All of them; `folder` is where those that write may write."""
    yield from _constructors()
    yield from _kernels()
    yield from _methods()
    yield from _functions(folder)


def _known(call: Callable[..., Any], usual: dict[str, Any]) -> dict[str, Any]:
    return {k: v for k, v in usual.items() if k in inspect.signature(call).parameters}


def _subject(name: str, call: Callable[..., Any], usual: dict[str, Any]) -> Subject:
    """All parameters of a callable that takes what is usual."""
    return Subject(name, call, _known(call, usual), *_parameters(call))


def _parameters(call: Callable[..., Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The names of all parameters, and of those that are None by default."""
    found = inspect.signature(call).parameters
    return tuple(found), tuple(name for name, p in found.items() if p.default is None)


def _made(kind: Any, use: Callable[[Any], Any], **parameters: Any) -> Any:
    return use(kind(**parameters))


def _constructors() -> Iterator[Subject]:
    def features(estimator: Any) -> Any:
        return estimator.fit(X, Y).transform(X)

    def predictions(estimator: Any) -> Any:
        return estimator.fit(X, Y).predict(X)

    def encoded(encoder: Any) -> Any:
        return encoder.fit(FRAME, X[:, 1]).transform(FRAME)

    usual = {"kernel": KERNEL, "n_components": 16, "random_state": 0}
    model = {"features": QUICK, "alpha": 1.0, "verbose": False}
    for kinds, use, given in (
        (MAPS, features, usual),
        (MODELS, predictions, model),
        ([qf.TableEncoder], encoded, {}),
    ):
        for kind in kinds:
            call = partial(_made, kind, use)
            yield Subject(kind.__name__, call, _known(kind, given), *_parameters(kind))


def _kernels() -> Iterator[Subject]:
    def values(kernel: Any) -> Any:
        features = qf.RandomFourier(kernel, n_components=16, random_state=0).fit(X, Y)
        return features.kernel_(X), features.transform(X)

    usual: dict[Any, dict[str, Any]] = {
        qf.Gaussian: {"gamma": 0.5},
        qf.Laplacian: {"gamma": 0.5},
        qf.Cauchy: {"gamma": 0.5},
        qf.Matern: {"nu": 1.5, "gamma": 0.5},
        qf.Smoothed: {"kernel": qf.Laplacian(0.5)},
        qf.Spectral: {"density": _hat},
        qf.Anova: {"base": KERNEL, "subsets": [[0, 1], [2]]},
        qf.Convolution: {"shape": (3,), "window": 2, "base": KERNEL},
    }
    for kind, given in usual.items():
        yield Subject(kind.__name__, partial(_made, kind, values), given, *_parameters(kind))


def _hat(omega: Any) -> Any:
    return np.maximum(0.0, 1.0 - np.abs(omega))


# Public methods that take arguments, and what is given to them where it is no default.
_METHODS = (
    *("transform", "transform_blocks", "approximate_kernel", "error", "certificate", "residual"),
    *("gradient", "fit", "predict", "predict_proba", "decision_function", "partial_fit"),
    *("effects", "prediction_bound", "for_tolerance"),
)


def _methods() -> Iterator[Subject]:
    """Methods of fitted maps, models and encoders, and the Gram matrix of a kernel."""
    parts = qf.RandomFourier(qf.Anova(KERNEL, [[0], [1, 2]]), n_components=12, random_state=0)
    fitted = [
        qf.DenseGrid(KERNEL, n_points=3).fit(X),
        QUICK.fit(X),
        qf.HermiteMercer(KERNEL, n_components=8).fit(X),
        qf.Landmarks(KERNEL, n_components=8, random_state=0).fit(X),
        qf.KernelRegressor(parts, alpha=1.0).fit(X, X[:, 0]),
        qf.KernelClassifier(parts, loss="logistic", alpha=1.0).fit(X, Y),
        qf.TableEncoder().fit(FRAME, X[:, 1]),
    ]
    for estimator in fitted:
        kind = type(estimator).__name__
        rows = FRAME if kind == "TableEncoder" else X
        given = {"X": rows, "y": Y, "coefficients": np.ones(getattr(estimator, "n_columns_", 1))}
        given |= {"n_pairs": 100, "rows": 8, "kernel": KERNEL, "tol": 0.01, "diameter": 1.0}
        for name in _METHODS:
            method = getattr(estimator, name, None)
            if method is None:
                continue
            # A region is given by rows or by its sizes, never by both.
            own = {} if name == "certificate" else given
            fresh = partial(_fresh, estimator, name)
            yield Subject(f"{kind}.{name}", fresh, _known(method, own), *_parameters(method))
    call = partial(_fresh, KERNEL, "__call__")
    yield Subject("Gaussian()", call, {"X": X}, ("X", "Y"), ("Y",))


def _fresh(estimator: Any, name: str, **arguments: Any) -> Any:
    """A method of a copy, for fits change their object; what it yields, as a list."""
    found = getattr(copy.deepcopy(estimator), name)(**arguments)
    if hasattr(found, "__next__"):
        return [block.copy() for block in found]
    return found.transform(X) if isinstance(found, qf.FeatureMap) and name == "fit" else found


def _functions(folder: Path) -> Iterator[Subject]:
    fitted = QUICK.fit(X)
    qf.save(fitted, folder / "map.qf")
    axis = rules.gauss_hermite(3)
    usual: dict[str, Any] = {
        **{"estimator": fitted, "path": folder / "map.qf", "n": 3, "step": 0.5, "d": 3},
        **{
            "density": KERNEL.density,
            "level": 2,
            "n_components": 4,
            "n_features": 3,
            "n_points": 3,
        },
        **{"axes": [axis, axis], "axis_rule": rules.gauss_hermite, "kernel": KERNEL},
        **{"degree": 4, "subgaussian": 1.0, "diameter": 1.0, "busiest": 2, "eps": 0.1},
        **{"size": 2, "rank": 2, "second_moment": 1.0, "X": X, "maps": [fitted], "n_pairs": 100},
        **{
            "tolerances": [0.1],
            "records": [],
            "against": "tolerance",
            "rng": np.random.default_rng(0),
        },
    }
    for function in (qf.save, qf.load, rules.gauss_hermite, rules.equispaced, testing.check_kernel):
        yield _subject(function.__name__, function, usual)
    for name, function in vars(theory).items():
        public = inspect.isfunction(function) and function.__module__ == theory.__name__
        if public and not name.startswith("_"):
            yield _subject(f"theory.{name}", function, usual)
    yield Subject("Rule", qf.Rule, {"nodes": X, "weights": X[:, 0]}, ("nodes", "weights"))
    yield _subject("data.source", data.source, {"X": X, "y": Y})
    yield _subject("Anova.random", qf.Anova.random, {"n_features": 4, "n_subsets": 2, "size": 2})
    records = {"records": [], "n_pairs": 100, "maps": [fitted], "estimator": fitted}
    yield _subject("CompareDisplay", qf.CompareDisplay, records)
    yield _subject("ErrorDisplay", qf.ErrorDisplay, records | {"against": "distance"})
    yield _subject("EffectsDisplay", qf.EffectsDisplay, records)
