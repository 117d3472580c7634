"""Accuracy: how wrong a map is.

Proofs over a region (`certificate`), estimates from pairs (`estimate`), the paper's theorems
(`theory`), and the smallest grid that meets a tolerance (`tolerance`).
"""

from .axis_cells import ROUNDING
from .bounds import Construction, Grid, Reweighted, Sparse
from .certificate import Certificate, certify, refuse_vacuous
from .estimate import NEW_ROWS, Estimate, draw_pairs
from .region import Region, turned_gaps, turned_rows
from .theory import (
    anova_random_samples,
    anova_samples,
    dense_grid_samples,
    polynomially_exact_samples,
    random_fourier_samples,
    sparse_grid_samples,
)
from .tolerance import GridSearch, columns_of

__all__ = [
    "NEW_ROWS",
    "ROUNDING",
    "Certificate",
    "Construction",
    "Estimate",
    "Grid",
    "GridSearch",
    "Region",
    "Reweighted",
    "Sparse",
    "anova_random_samples",
    "anova_samples",
    "certify",
    "columns_of",
    "dense_grid_samples",
    "draw_pairs",
    "polynomially_exact_samples",
    "random_fourier_samples",
    "refuse_vacuous",
    "sparse_grid_samples",
    "turned_gaps",
    "turned_rows",
]
