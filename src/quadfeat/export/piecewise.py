"""Functions of one variable as piecewise polynomials, for functions that no runtime has."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Floats, Profile
from .graph import Value

_OCTAVES = 48  # below the reach: kernels may have a kink, or a root, at 0
_DEGREE = 8
_TOLERANCE = 1e-13
_MOST_CELLS = 1024  # of an octave


def tabulated(function: Profile, at: Any, reach: float) -> Value:
    """A function of at >= 0, up to `reach`, by polynomials of degree 8 on cells of octaves.

    [reach / 2, reach], [reach / 4, reach / 2], ... are cut into equal cells, enough for an error of
    1e-13 or of the function's rounding; beyond `reach` the function is constant.
    """
    cells, table = _table(function, reach)
    at = np.minimum(np.maximum(at, reach * 2.0**-_OCTAVES), reach)
    octave = np.floor(np.log(at / reach) * (-1 / np.log(2.0)))
    octave = np.minimum(np.maximum(octave, 0.0), _OCTAVES - 1.0)
    # From [reach 2^-(octave + 1), reach 2^-octave] to [0, cells].
    place = (at * np.exp(octave * np.log(2.0)) * (2.0 / reach) - 1.0) * cells
    cell = np.minimum(np.maximum(np.floor(place), 0.0), cells - 1.0)
    rows = at.graph.constant(table, at.kind).at((octave * cells + cell).to("index"))
    s = (place - cell) * 2.0 - 1.0
    value: Value = rows[:, _DEGREE]
    for k in range(_DEGREE - 1, -1, -1):
        value = value * s + rows[:, k]
    return value


def _table(function: Profile, reach: float) -> tuple[int, Floats]:
    """Cells per octave, and coefficients of powers of s in [-1, 1], (octaves * cells, 9)."""
    nodes = np.cos(np.pi * (np.arange(_DEGREE + 1) + 0.5) / (_DEGREE + 1))
    inverse = np.linalg.inv(np.vander(nodes, increasing=True))
    between = np.linspace(-1.0, 1.0, 2 * _DEGREE + 1)
    ends = reach * 2.0 ** -np.arange(_OCTAVES)
    cells, before = 4, np.inf
    while True:
        middle = (np.arange(cells) + 0.5) / (2 * cells) + 0.5  # of the octave [1/2, 1]

        def at(s: Floats, middle: Floats = middle, cells: int = cells) -> Floats:
            points = ends[:, None, None] * (middle[:, None] + s / (4 * cells))
            return function(points.ravel()).reshape(-1, len(s))

        table = at(nodes) @ inverse.T
        powers = np.vander(between, _DEGREE + 1, increasing=True)
        error = float(np.abs(table @ powers.T - at(between)).max())
        # The rounding of an integral is relative to its largest values, so shorter cells may not
        # help.
        if error <= _TOLERANCE or error > before / 4 or cells == _MOST_CELLS:
            return cells, table
        cells, before = 2 * cells, error
