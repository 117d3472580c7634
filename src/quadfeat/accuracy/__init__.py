"""Accuracy: how wrong a map is. Proofs, estimates, theorems, and grids for a tolerance.

One rule: a proof never depends on observed errors. Errors are |k - k~| over k(0).

- `proof`: `Certificate`, and the error if nothing can be proven.
- `certificate`: the largest error over a region, proven for the rule at hand; sums over groups.
- `bounds`: constructions that can be certified (`Grid`, `Sparse`, `Reweighted`), bounds on cells.
- `tensor_grid`: the bound of a tensor grid, from its axes.
- `sparse_grid`: the bound of a Smolyak grid, from its levels.
- `covering`: the bound of any rule on up to three axes, by branch and bound.
- `taylor`: the bound of any rule over a small region, by moments.
- `axis_cells`: enclosures of k, of a rule and of their difference on one axis; `ROUNDING`.
- `region`: the gaps of a certificate: a ball and a box, also along principal directions.
- `estimate`: RMS, quantiles and largest error of random pairs, with confidence limits.
- `theory`: the paper's theorems, and how many samples each needs.
- `tolerance`: the smallest grid that is certified to meet a tolerance.
"""

from .axis_cells import ROUNDING
from .bounds import Construction, Grid, Reweighted, Sparse
from .certificate import certify
from .estimate import NEW_ROWS, Estimate, draw_pairs
from .proof import Certificate, refuse_vacuous
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
