"""The engine: plans in, features out.

Every function has a twin in `reference`, which defines the answer. `dispatch` runs the compiled one
(`cpp/`) where it is installed.
"""

from .dispatch import (
    empty,
    engine_info,
    fill,
    fourier,
    kronecker,
    mercer,
    thread_count,
    touched,
)
from .plans import Expansion, FourierPlan, KroneckerPlan, MercerBasis

__all__ = [
    "Expansion",
    "FourierPlan",
    "KroneckerPlan",
    "MercerBasis",
    "empty",
    "engine_info",
    "fill",
    "fourier",
    "kronecker",
    "mercer",
    "thread_count",
    "touched",
]
