"""Maps: scikit-learn transformers whose inner products are a kernel.

Each class names a construction; `FeatureMap` owns `fit` and `transform`. `KernelFeatures` chooses
among all maps.
"""

from .base import FeatureMap
from .chooser import KernelFeatures
from .expansions import HermiteMercer, Landmarks
from .fourier import FourierMap
from .grids import DenseGrid, PolynomiallyExact, SparseGrid, SubsampledGrid
from .learned_grids import FramedGrid, ReweightedGrid
from .random import OrthogonalFourier, QuasiRandomFourier, RandomFourier, SphericalRadial
from .report import Report, Trial

__all__ = [
    "DenseGrid",
    "FeatureMap",
    "FourierMap",
    "FramedGrid",
    "HermiteMercer",
    "KernelFeatures",
    "Landmarks",
    "OrthogonalFourier",
    "PolynomiallyExact",
    "QuasiRandomFourier",
    "RandomFourier",
    "Report",
    "ReweightedGrid",
    "SparseGrid",
    "SphericalRadial",
    "SubsampledGrid",
    "Trial",
]
