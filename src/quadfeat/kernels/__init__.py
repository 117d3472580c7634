"""Kernels: k(x - y) and its spectrum.

- `base`: the class `Kernel`, which others derive from, and the `Group`s of axes it sums over
- `stationary`: kernels by a formula: Gaussian, Laplacian, Cauchy, Matern
- `spectral`: kernels by a density: Spectral, and Smoothed
- `composite`: sums, products and multiples of kernels
- `subsets`: sums over subsets of axes: Anova, Convolution

The one rule: a kernel's facts (profile, density, moments, bounds of derivatives, what may be
stored) are in its class, so adding a kernel touches one file.
"""

from .base import Group, Kernel, same
from .composite import Product, ProductAxis, Scaled, Sum
from .spectral import Smoothed, Spectral
from .stationary import Cauchy, Gaussian, Laplacian, Matern
from .subsets import Anova, Convolution

__all__ = [
    "Anova",
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
    "Spectral",
    "Sum",
    "same",
]
