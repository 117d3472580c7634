"""Rules: nodes and weights that integrate against a spectrum.

One-dimensional rules (`gauss`, `interval`), the choice among them (`choice`), and rules made from
rules (`grids`). A rule comes from a density or from other rules; nothing here knows a kernel.
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
from .rule import Axis, Rule, mirrored_nodes, zero_rule

__all__ = [
    "KINDS",
    "MOST_NODES",
    "Axis",
    "AxisRules",
    "Rule",
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
