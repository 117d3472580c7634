"""Kernel machines at linear cost: deterministic quadrature features for scikit-learn.

The rooms of this package, in the order of their imports: `numerics`, `rules`, `kernels`, `_engine`,
`constructions`, `accuracy`, `maps`, `data`, `models`, `storage`, `export`, `plotting`,
`experiments`, `app`. Each has a front page that says what lives there. Names are imported when they
are first used: `import quadfeat` itself takes a millisecond.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._engine import engine_info as engine_info
    from .data.encoder import TableEncoder as TableEncoder
    from .export import to_onnx as to_onnx
    from .export import to_torch as to_torch
    from .kernels.base import Kernel as Kernel
    from .kernels.convolution import Convolution as Convolution
    from .kernels.matern import Matern as Matern
    from .kernels.spectral import Smoothed as Smoothed
    from .kernels.spectral import Spectral as Spectral
    from .kernels.stationary import Cauchy as Cauchy
    from .kernels.stationary import Gaussian as Gaussian
    from .kernels.stationary import Laplacian as Laplacian
    from .kernels.subsets import Anova as Anova
    from .maps.base import FeatureMap as FeatureMap
    from .maps.chooser import KernelFeatures as KernelFeatures
    from .maps.dense_grid import DenseGrid as DenseGrid
    from .maps.expansions import HermiteMercer as HermiteMercer
    from .maps.expansions import Landmarks as Landmarks
    from .maps.grids import PolynomiallyExact as PolynomiallyExact
    from .maps.grids import SparseGrid as SparseGrid
    from .maps.grids import SubsampledGrid as SubsampledGrid
    from .maps.learned_grids import FramedGrid as FramedGrid
    from .maps.learned_grids import ReweightedGrid as ReweightedGrid
    from .maps.random import OrthogonalFourier as OrthogonalFourier
    from .maps.random import QuasiRandomFourier as QuasiRandomFourier
    from .maps.random import RandomFourier as RandomFourier
    from .maps.random import SphericalRadial as SphericalRadial
    from .models.classifier import KernelClassifier as KernelClassifier
    from .models.regressor import KernelRegressor as KernelRegressor
    from .plotting.displays import CompareDisplay as CompareDisplay
    from .plotting.displays import ErrorDisplay as ErrorDisplay
    from .plotting.effects import EffectsDisplay as EffectsDisplay
    from .rules.rule import Rule as Rule
    from .storage import load as load
    from .storage import save as save

__version__ = "0.1.0"

_HOMES = {
    "engine_info": "_engine",
    "TableEncoder": "data.encoder",
    "Kernel": "kernels.base",
    "Smoothed": "kernels.spectral",
    "Spectral": "kernels.spectral",
    "Cauchy": "kernels.stationary",
    "Gaussian": "kernels.stationary",
    "Laplacian": "kernels.stationary",
    "Matern": "kernels.matern",
    "Anova": "kernels.subsets",
    "Convolution": "kernels.convolution",
    "FeatureMap": "maps.base",
    "KernelFeatures": "maps.chooser",
    "HermiteMercer": "maps.expansions",
    "Landmarks": "maps.expansions",
    "DenseGrid": "maps.dense_grid",
    "PolynomiallyExact": "maps.grids",
    "SparseGrid": "maps.grids",
    "SubsampledGrid": "maps.grids",
    "FramedGrid": "maps.learned_grids",
    "ReweightedGrid": "maps.learned_grids",
    "OrthogonalFourier": "maps.random",
    "QuasiRandomFourier": "maps.random",
    "RandomFourier": "maps.random",
    "SphericalRadial": "maps.random",
    "KernelClassifier": "models.classifier",
    "KernelRegressor": "models.regressor",
    "CompareDisplay": "plotting.displays",
    "ErrorDisplay": "plotting.displays",
    "EffectsDisplay": "plotting.effects",
    "Rule": "rules.rule",
    "load": "storage",
    "save": "storage",
    "to_onnx": "export",
    "to_torch": "export",
}

_MODULES = {
    "data": "data",
    "grids": "rules.grids",
    "randomized": "constructions.randomized",
    "rules": "rules",
    "testing": "testing",
    "theory": "accuracy.theory",
}

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{_MODULES[name]}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'quadfeat' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
