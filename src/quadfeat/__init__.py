"""Kernel machines at linear cost: deterministic quadrature features for scikit-learn.

Names are imported when they are first used: `import quadfeat` itself takes a millisecond.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from ._engine import engine_info as engine_info
    from .adaptive import KernelFeatures as KernelFeatures
    from .expansions import HermiteMercer as HermiteMercer
    from .expansions import Landmarks as Landmarks
    from .features import FeatureMap as FeatureMap
    from .fourier import DenseGrid as DenseGrid
    from .fourier import PolynomiallyExact as PolynomiallyExact
    from .fourier import SparseGrid as SparseGrid
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
    from .learned_grids import FramedGrid as FramedGrid
    from .learned_grids import ReweightedGrid as ReweightedGrid
    from .models import KernelClassifier as KernelClassifier
    from .models import KernelRegressor as KernelRegressor
    from .peers import OrthogonalFourier as OrthogonalFourier
    from .peers import QuasiRandomFourier as QuasiRandomFourier
    from .peers import RandomFourier as RandomFourier
    from .peers import SphericalRadial as SphericalRadial
    from .plotting import CompareDisplay as CompareDisplay
    from .plotting import ErrorDisplay as ErrorDisplay
    from .rules import Rule as Rule
    from .storage import load as load
    from .storage import save as save

__version__ = "0.1.0"

_HOMES = {
    "engine_info": "_engine",
    "KernelFeatures": "adaptive",
    "HermiteMercer": "expansions",
    "Landmarks": "expansions",
    "FeatureMap": "features",
    "DenseGrid": "fourier",
    "PolynomiallyExact": "fourier",
    "SparseGrid": "fourier",
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
    "FramedGrid": "learned_grids",
    "ReweightedGrid": "learned_grids",
    "KernelClassifier": "models",
    "KernelRegressor": "models",
    "OrthogonalFourier": "peers",
    "QuasiRandomFourier": "peers",
    "RandomFourier": "peers",
    "SphericalRadial": "peers",
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
