"""Kernel machines at linear cost: deterministic quadrature features for scikit-learn.

Names are imported when they are first used: `import quadfeat` itself takes a millisecond.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._engine import engine_info as engine_info
    from .adaptive import FramedGrid as FramedGrid
    from .adaptive import KernelFeatures as KernelFeatures
    from .expansions import HermiteMercer as HermiteMercer
    from .expansions import Landmarks as Landmarks
    from .features import FeatureMap as FeatureMap
    from .fourier import DenseGrid as DenseGrid
    from .fourier import OrthogonalFourier as OrthogonalFourier
    from .fourier import PolynomiallyExact as PolynomiallyExact
    from .fourier import QuasiRandomFourier as QuasiRandomFourier
    from .fourier import RandomFourier as RandomFourier
    from .fourier import ReweightedGrid as ReweightedGrid
    from .fourier import SparseGrid as SparseGrid
    from .fourier import SphericalRadial as SphericalRadial
    from .fourier import SubsampledGrid as SubsampledGrid
    from .kernels import Anova as Anova
    from .kernels import Cauchy as Cauchy
    from .kernels import Convolution as Convolution
    from .kernels import Gaussian as Gaussian
    from .kernels import Kernel as Kernel
    from .kernels import Laplacian as Laplacian
    from .kernels import Matern as Matern
    from .kernels import Smoothed as Smoothed
    from .kernels import Spectral as Spectral
    from .models import KernelClassifier as KernelClassifier
    from .models import KernelRegressor as KernelRegressor
    from .plotting import CompareDisplay as CompareDisplay
    from .plotting import ErrorDisplay as ErrorDisplay
    from .rules import Rule as Rule
    from .storage import load as load
    from .storage import save as save

__version__ = "0.1.0"

_HOMES = {
    "engine_info": "_engine",
    "FramedGrid": "adaptive",
    "HermiteMercer": "expansions",
    "KernelFeatures": "adaptive",
    "Landmarks": "expansions",
    "FeatureMap": "features",
    "DenseGrid": "fourier",
    "OrthogonalFourier": "fourier",
    "PolynomiallyExact": "fourier",
    "QuasiRandomFourier": "fourier",
    "RandomFourier": "fourier",
    "ReweightedGrid": "fourier",
    "SparseGrid": "fourier",
    "SphericalRadial": "fourier",
    "SubsampledGrid": "fourier",
    "Anova": "kernels",
    "Cauchy": "kernels",
    "Convolution": "kernels",
    "Gaussian": "kernels",
    "Kernel": "kernels",
    "Laplacian": "kernels",
    "Matern": "kernels",
    "Smoothed": "kernels",
    "Spectral": "kernels",
    "KernelClassifier": "models",
    "KernelRegressor": "models",
    "CompareDisplay": "plotting",
    "ErrorDisplay": "plotting",
    "Rule": "rules",
    "load": "storage",
    "save": "storage",
}

__all__ = sorted(_HOMES)


_MODULES = ("data", "grids", "randomized", "rules", "testing", "theory")


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return import_module(f".{name}", __name__)
    if name not in _HOMES:
        raise AttributeError(f"module 'quadfeat' has no attribute {name!r}")
    value = getattr(import_module(f".{_HOMES[name]}", __name__), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return [*globals(), *__all__]
