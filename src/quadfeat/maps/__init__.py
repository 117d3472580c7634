"""Maps: scikit-learn transformers whose inner products are a kernel.

- `base`: `FeatureMap`, which owns `fit` and `transform`.
- `measured`: its `error` and `certificate`; `pair_errors`: errors on random pairs of rows.
- `coordinates`: the inner kernel and rows of a kernel with a metric, which subclasses see.
- `gradients`: `Differentiable`, the gradients of features with respect to the rows.
- `fourier`: `FourierMap`, cosines and sines at the nodes of a rule; plans from rules.
- `dense_grid`: `DenseGrid`, every node of a tensor grid, or of a lattice for isotropic kernels.
- `lattice`: `Lattice`, the columns of an equispaced grid as complex exponentials.
- `grids`: rules that do not depend on the rows: sparse, subsampled, polynomially exact.
- `learned_grids`: rules fitted to the rows: reweighted, polished, framed.
- `random`: random, orthogonal, quasi-random and spherical-radial nodes.
- `expansions`: `HermiteMercer` and `Landmarks`, expansions around the data.
- `chooser`: `KernelFeatures`, which tries the others and keeps the best.
- `validation`: training and validation rows, and the trial of a candidate.
- `report`: what was tried, and which trial wins.

One rule: a map names a construction and stores its parameters; numerics live in `constructions`. No
final class overrides `fit` or `transform`. Other rooms also use `check_parameters`, `write`,
`write_gradient` and `features_of` (of validated rows), `dense_rows`, `moved_to`, `origin` and
`first_index`, and `lattice` if the map has one.
"""

from .base import FeatureMap
from .chooser import KernelFeatures
from .dense_grid import DenseGrid
from .expansions import HermiteMercer, Landmarks
from .fourier import FourierMap
from .grids import PolynomiallyExact, SparseGrid, SubsampledGrid
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
