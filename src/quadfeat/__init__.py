"""Kernel machines at linear cost: deterministic quadrature features for scikit-learn."""

from ._engine import engine_info
from .adaptive import FramedGrid, HermiteMercer, KernelFeatures, Landmarks
from .features import FeatureMap
from .fourier import (
    DenseGrid,
    OrthogonalFourier,
    PolynomiallyExact,
    QuasiRandomFourier,
    RandomFourier,
    ReweightedGrid,
    SparseGrid,
    SphericalRadial,
    SubsampledGrid,
)
from .kernels import (
    Anova,
    Cauchy,
    Convolution,
    Gaussian,
    Kernel,
    Laplacian,
    Matern,
    Smoothed,
    Spectral,
)
from .models import KernelClassifier, KernelRegressor
from .plotting import CompareDisplay, ErrorDisplay
from .rules import Rule
from .storage import load, save

__version__ = "0.1.0"

__all__ = [
    "Anova",
    "Cauchy",
    "CompareDisplay",
    "Convolution",
    "DenseGrid",
    "ErrorDisplay",
    "FeatureMap",
    "FramedGrid",
    "Gaussian",
    "HermiteMercer",
    "Kernel",
    "KernelClassifier",
    "KernelFeatures",
    "KernelRegressor",
    "Landmarks",
    "Laplacian",
    "Matern",
    "OrthogonalFourier",
    "PolynomiallyExact",
    "QuasiRandomFourier",
    "RandomFourier",
    "ReweightedGrid",
    "Rule",
    "Smoothed",
    "SparseGrid",
    "Spectral",
    "SphericalRadial",
    "SubsampledGrid",
    "engine_info",
    "load",
    "save",
]
