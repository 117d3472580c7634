"""Numerics: arrays in, arrays out.

Gauss rules from their recurrence, non-negative least squares, factorisations, cosine transforms,
principal frames. Nothing here knows a kernel. This is the only room that calls LAPACK, and `blas`
holds the one policy for BLAS threads.
"""

from .best_first import Products, largest_products
from .blas import on_one_thread, one_thread, product, share
from .cosine_transform import CosineTransform
from .factorisations import (
    Factors,
    Indefinite,
    InPlaceCholesky,
    Tridiagonal,
    cholesky,
    factor_raised,
    norms,
)
from .gauss import gauss_hermite, stieltjes, symmetric_gauss
from .lbfgs import LBFGS
from .nnls import Solution, inverse_lengths, nonnegative_least_squares, require_finite
from .panels import (
    MASS_TOLERANCE,
    NO_EDGES,
    POINTS,
    check_mass,
    find_cutoff,
    legendre,
    quantile_table,
    refined,
    search,
)
from .principal_frame import (
    TYPICAL,
    Frame,
    Moments,
    distances,
    frame,
    moments,
    nearness,
    signed,
    signs,
    typical,
    wide_frame,
)

__all__ = [
    "LBFGS",
    "MASS_TOLERANCE",
    "NO_EDGES",
    "POINTS",
    "TYPICAL",
    "CosineTransform",
    "Factors",
    "Frame",
    "InPlaceCholesky",
    "Indefinite",
    "Moments",
    "Products",
    "Solution",
    "Tridiagonal",
    "check_mass",
    "cholesky",
    "distances",
    "factor_raised",
    "find_cutoff",
    "frame",
    "gauss_hermite",
    "inverse_lengths",
    "largest_products",
    "legendre",
    "moments",
    "nearness",
    "nonnegative_least_squares",
    "norms",
    "on_one_thread",
    "one_thread",
    "product",
    "quantile_table",
    "refined",
    "require_finite",
    "search",
    "share",
    "signed",
    "signs",
    "stieltjes",
    "symmetric_gauss",
    "typical",
    "wide_frame",
]
