"""Constructions: a kernel (and rows) in, a rule or a basis out.

Pure functions: they keep no state, and randomness is an argument.
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
