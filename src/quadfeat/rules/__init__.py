"""Rules: nodes and weights that integrate against a spectrum.

- `rule`: the class `Rule`, the protocol `Axis`, and mirror-symmetric rules
- `gauss`: Gauss rules of a density or of a discrete measure, and orthonormal polynomials
- `interval`: equispaced and Clenshaw-Curtis rules, and the error of equispaced ones
- `lattice`: equispaced rules for a tolerance, and lattices for densities of several axes
- `choice`: the best one-dimensional rule for a range of gaps; `AxisRules` caches it
- `grids`: rules from rules: tensor, sparse and subsampled grids; embedded, mirrored, folded

The one rule: a `Rule` comes from a density or from other rules; nothing here knows a kernel.
"""

from .choice import KINDS, MOST_NODES, AxisRules
from .gauss import discrete_gauss, gauss_hermite, orthonormal
from .grids import (
    concatenate,
    embed,
    fold,
    mirror,
    smolyak,
    smolyak_size,
    subsample,
    tensor,
    tensor_size,
)
from .interval import equispaced
from .rule import Axis, Rule, axis_key, mirrored_nodes, zero_rule

__all__ = [
    "KINDS",
    "MOST_NODES",
    "Axis",
    "AxisRules",
    "Rule",
    "axis_key",
    "concatenate",
    "discrete_gauss",
    "embed",
    "equispaced",
    "fold",
    "gauss_hermite",
    "mirror",
    "mirrored_nodes",
    "orthonormal",
    "smolyak",
    "smolyak_size",
    "subsample",
    "tensor",
    "tensor_size",
    "zero_rule",
]
