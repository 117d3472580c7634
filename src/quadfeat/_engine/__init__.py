"""The engine: plans in, features out.

`plans` and `pair_plan` hold the plans and their rules, `reference` computes features in plain
NumPy, and `dispatch` runs the compiled core (`cpp/`) if it is installed, else `reference`.
`gradients` differentiates features with respect to the rows, by products of features in NumPy.

The rule: every function that evaluates a plan has a twin in `reference`, which defines the answer.
"""

from .dispatch import (
    empty,
    engine_info,
    fill,
    fourier,
    kronecker,
    mercer,
    pairs,
    thread_count,
    touched,
)
from .pair_plan import PairPlan
from .plans import Expansion, FourierPlan, KroneckerPlan, MercerBasis

__all__ = [
    "Expansion",
    "FourierPlan",
    "KroneckerPlan",
    "MercerBasis",
    "PairPlan",
    "empty",
    "engine_info",
    "fill",
    "fourier",
    "kronecker",
    "mercer",
    "pairs",
    "thread_count",
    "touched",
]
