"""Kernels: k(x - y) and its spectrum.

- `base`: the class `Kernel`, which others derive from, the `Group`s of axes it sums over, and
  `WithMetric`, the change of coordinates of a kernel with a metric
- `metric`: the check of a metric, and the refusal of kernels that keep columns apart
- `stationary`: kernels by a formula: Gaussian, Laplacian, Cauchy; `matern`: Matern
- `radial`: loops over pairs of rows that kernels share
- `spectral`: kernels by a density: Spectral, and Smoothed
- `composite`: sums, products and multiples of kernels
- `given`: kernels known by their values only: of a function of two rows, and precomputed
- `subsets`: sums over subsets of axes, and `Anova`; `convolution`: sums over windows;
  `axis_products`: sums of products whose factors are evaluated once

The one rule: a kernel's facts (profile, density, moments, bounds of derivatives, what may be
stored) are in its class, so adding a kernel touches one file.
"""

from .base import Group, Kernel, same
from .composite import Product, ProductAxis, Scaled, Sum
from .convolution import Convolution
from .given import FunctionKernel, GivenKernel, Precomputed
from .matern import Matern
from .spectral import Smoothed, Spectral
from .stationary import Cauchy, Gaussian, Laplacian
from .subsets import Anova

__all__ = [
    "Anova",
    "Cauchy",
    "Convolution",
    "FunctionKernel",
    "Gaussian",
    "GivenKernel",
    "Group",
    "Kernel",
    "Laplacian",
    "Matern",
    "Precomputed",
    "Product",
    "ProductAxis",
    "Scaled",
    "Smoothed",
    "Spectral",
    "Sum",
    "same",
]
