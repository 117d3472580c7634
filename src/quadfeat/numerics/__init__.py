"""Numerics: arrays in, arrays out. Nothing here knows a kernel.

- `gauss`: nodes and weights of Gauss rules from a recurrence, and recurrences from a measure
- `panels`: Gauss-Legendre panels for the mass of a density; its tail, median and quantiles
- `cosine_transform`: from a density to a profile and back
- `nnls`: non-negative least squares
- `lbfgs`: L-BFGS that requests one gradient at a time and can be stored
- `factorisations`: Cholesky and other factors of symmetric matrices, and solves with them
- `principal_frame`: mean and scatter of rows, principal directions, and far rows
- `evidence`: the likelihood of targets by landmarks, and its derivatives
- `diagonal_evidence`: the likelihood of a ridge regression with a prior variance per coefficient
- `distances`: squared distances between rows; `linear_map`: rows multiplied by a matrix
- `best_first`: the largest products of one factor per axis, in order
- `nufft`: non-uniform fast Fourier transforms, the only caller of FINUFFT
- `toeplitz`: products with Toeplitz matrices by FFTs, conjugate gradients, log-determinants
- `blas`: BLAS on one thread, and large products split among our threads

The one rule: SciPy's LAPACK is called only in this room, and BLAS threads are set only in `blas`.
"""

from .best_first import Products, largest, largest_products
from .blas import on_one_thread, one_thread, product, share
from .cosine_transform import CosineTransform
from .diagonal_evidence import DiagonalEvidence, Ridge, Squares
from .distances import squared_distances
from .factorisations import (
    Factors,
    Indefinite,
    InPlaceCholesky,
    Tridiagonal,
    cholesky_solve,
    factor_raised,
    norms,
    pivoted_inverse_root,
    plain_cholesky,
    triangular_inverse,
)
from .gauss import gauss_hermite, stieltjes, symmetric_gauss
from .lbfgs import LBFGS
from .linear_map import LinearMap
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
    principal,
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
    "DiagonalEvidence",
    "Factors",
    "Frame",
    "InPlaceCholesky",
    "Indefinite",
    "LinearMap",
    "Moments",
    "Products",
    "Ridge",
    "Solution",
    "Squares",
    "Tridiagonal",
    "check_mass",
    "cholesky_solve",
    "distances",
    "factor_raised",
    "find_cutoff",
    "frame",
    "gauss_hermite",
    "inverse_lengths",
    "largest",
    "largest_products",
    "legendre",
    "moments",
    "nearness",
    "nonnegative_least_squares",
    "norms",
    "on_one_thread",
    "one_thread",
    "pivoted_inverse_root",
    "plain_cholesky",
    "principal",
    "product",
    "quantile_table",
    "refined",
    "require_finite",
    "search",
    "share",
    "signs",
    "squared_distances",
    "stieltjes",
    "symmetric_gauss",
    "triangular_inverse",
    "typical",
    "wide_frame",
]
