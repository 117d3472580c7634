"""Kernels: k(x - y), and its spectrum.

What is true of a kernel (profile, density, moments, bounds of derivatives, name) is said in its
class, so that adding a kernel touches one file.
"""

from .base import Group, Kernel, same
from .composite import Product, ProductAxis, Scaled, Sum
from .spectral import Smoothed, SmoothedAxis, Spectral, SpectralAxis
from .stationary import Cauchy, Gaussian, Laplacian, Matern
from .subsets import Anova, AxisKernels, Convolution

__all__ = [
    "Anova",
    "AxisKernels",
    "Cauchy",
    "Convolution",
    "Gaussian",
    "Group",
    "Kernel",
    "Laplacian",
    "Matern",
    "Product",
    "ProductAxis",
    "Scaled",
    "Smoothed",
    "SmoothedAxis",
    "Spectral",
    "SpectralAxis",
    "Sum",
    "same",
]
