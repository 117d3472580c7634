"""Constructions: a kernel (and rows) in, a rule or a basis out.

One rule: pure functions without state; randomness is an argument.

- `randomized`: rules drawn from the spectrum: random, orthogonal, structured, Sobol, Halton,
  spherical-radial.
- `polynomially_exact`: non-negative weights that integrate polynomials exactly.
- `reweighted`: weights refitted on given nodes, and nodes selected from a pool.
- `framed_grid`: a grid along principal directions, pruned to its largest weights.
- `polished`: nodes moved and weights refitted to lower the error over pairs of the data.
- `mercer`: Hermite-Mercer expansions: frames, spread and columns chosen on rows of the data.
- `expander`: the columns of such an expansion, and the engine's plan for them.
- `compression`: the columns of an expansion projected on their principal directions.
- `landmarks`: Nystroem features of points drawn by randomly pivoted Cholesky.
"""

from .compression import compress
from .framed_grid import PrunedGrid
from .landmarks import LandmarkBasis, PointDraw, draw, evaluate, landmarks_of
from .mercer import MANY, FittedFrames, fit_frames, hermite_mercer
from .polished import MAX_PARAMETERS, descend, outward, polish
from .polynomially_exact import (
    candidates,
    normal_moments,
    polynomially_exact_weights,
    smallest_exact_count,
)
from .randomized import Draw, halton, orthogonal, random, sobol, spherical_radial, structured
from .reweighted import Pool, all_pairs_system, keep_better, prune, refit, select_l1

__all__ = [
    "MANY",
    "MAX_PARAMETERS",
    "Draw",
    "FittedFrames",
    "LandmarkBasis",
    "PointDraw",
    "Pool",
    "PrunedGrid",
    "all_pairs_system",
    "candidates",
    "compress",
    "descend",
    "draw",
    "evaluate",
    "fit_frames",
    "halton",
    "hermite_mercer",
    "keep_better",
    "landmarks_of",
    "normal_moments",
    "orthogonal",
    "outward",
    "polish",
    "polynomially_exact_weights",
    "prune",
    "random",
    "refit",
    "select_l1",
    "smallest_exact_count",
    "sobol",
    "spherical_radial",
    "structured",
]
