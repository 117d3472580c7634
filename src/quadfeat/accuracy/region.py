"""Regions: the gaps u = x - y that a certificate covers, in a ball and a box around 0.

A `Region` holds all gaps of the rows it was made from, rounded up. `turned_rows` and `turned_gaps`
bound the same gaps along the principal directions of a framed grid.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import hypot, inf
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from scipy.spatial.distance import pdist

from .._typing import Axes, Floats


class Turned(NamedTuple):
    """A region along principal directions; if m < d, the last side is for all other directions."""

    diameter: float
    box: Floats


def turned_rows(directions: Floats, scale: Floats, X: Floats) -> Turned:
    """The region of the gaps between rows; `directions` (d, m) are scaled as in `PrunedGrid`."""
    scaled, turn = (X - X.mean(axis=0)) * scale, directions / scale[:, None]
    inside = scaled @ turn
    box = np.ptp(inside, axis=0)
    if turn.shape[1] < len(scale):
        missed = np.linalg.norm(scaled - inside @ turn.T, axis=1)
        box = np.append(box, 2 * missed.max())
    far = 2 * np.linalg.norm(scaled, axis=1).max()
    return Turned(float(min(far, np.linalg.norm(box))) * _UP, box * _UP)


def turned_gaps(directions: Floats, scale: Floats, diameter: float, box: Sequence[float]) -> Turned:
    """The region of all gaps of a ball and a box, along `directions` (d, m) as in `turned_rows`."""
    sides, turn = scale * np.minimum(box, diameter), directions / scale[:, None]
    radius = min(float(np.linalg.norm(sides)), diameter * float(scale.max()))
    along = np.minimum(np.abs(turn).T @ sides, diameter * np.linalg.norm(directions, axis=0))
    if turn.shape[1] < len(scale):
        missed = np.diag(scale) - turn @ directions.T
        along = np.append(along, diameter * np.linalg.norm(missed, 2))
    return Turned(radius * _UP, np.minimum(along, radius) * _UP)


_UP = 1 + 1e-12  # more than the rounding of a rotation, or of a product with a matrix
_LARGEST = 1e150  # beyond it squares overflow
_WANTED = {
    "diameter": f"one finite number from 0 to {_LARGEST:g}, such as 4.0",
    "box": f"finite widths from 0 to {_LARGEST:g}, such as [4.0, 2.0]",
}


@dataclass(frozen=True)
class Region:
    """Gaps u with |u| <= diameter and |u_i| <= box[i]; either may be infinite, not both."""

    diameter: float
    box: tuple[float, ...]

    @classmethod
    def of(
        cls,
        X: npt.ArrayLike | None = None,
        *,
        d: int | None = None,
        diameter: float | None = None,
        box: npt.ArrayLike | None = None,
    ) -> Region:
        """The gaps between rows of X, or those of a ball, a box, or both at once."""
        if X is not None:
            if diameter is not None or box is not None:
                raise ValueError("give X, or a diameter and a box, not both")
            rows = np.asarray(X, dtype=np.float64)
            if rows.ndim != 2 or len(rows) == 0 or not np.isfinite(rows).all():
                raise ValueError("X must be finite, with at least one row and one column")
            if (largest := np.abs(rows).max(initial=0.0)) > _LARGEST / 4:
                raise ValueError(
                    f"X has values up to {largest:g}, and squares of gaps overflow beyond "
                    f"{_LARGEST:g}; standardise X, or leave such rows out"
                )
            widths = np.ptp(rows, axis=0)
            far = 2 * np.sqrt(((rows - (rows.min(0) + widths / 2)) ** 2).sum(axis=1).max())
            if 1 < len(rows) <= 2000:
                far = pdist(rows).max()
            return cls(_up(min(far, np.linalg.norm(widths))), tuple(map(_up, widths)))
        if diameter is None and box is None:
            raise ValueError("a certificate needs a region: give X, diameter=4.0 or box=[4.0, 2.0]")
        if box is None and d is None:
            raise ValueError("diameter needs d, the number of columns")
        radius = inf if diameter is None else float(_lengths("diameter", diameter))
        # With a ball, a box may be infinite in some or all directions.
        widths = np.full(d, inf) if box is None else np.atleast_1d(_lengths("box", box, radius))
        if d is not None and len(widths) != d:
            raise ValueError(f"box has {len(widths)} widths and the kernel {d} columns")
        radius = hypot(*widths) if diameter is None else radius
        return cls(radius, tuple(widths.tolist()))

    def on(self, axes: Axes) -> Region:
        """The gaps of the region on some axes alone: the smallest ball and box of them."""
        widths = np.minimum(np.array(self.box)[axes], self.diameter)
        # A slightly larger region is valid too, so that no axis and no ball is empty.
        widths = np.maximum(widths, max(1e-9 * self.diameter, 1e-100))
        return Region(
            max(widths.max(), min(self.diameter, _up(np.linalg.norm(widths)))),
            tuple(widths.tolist()),
        )

    def transformed(self, matrix: Floats) -> Region:
        """A region that holds M u for every gap u of this one; M is `matrix` (r, d).

        |M u| <= |M|_2 |u|, and |(M u)_i| is at most sum_j |M_ij| box_j and |M_i| |u|.
        """
        sides = np.minimum(self.box, self.diameter)
        box = np.minimum(np.abs(matrix) @ sides, np.linalg.norm(matrix, axis=1) * self.diameter)
        far = min(float(np.linalg.norm(matrix, 2)) * self.diameter, float(np.linalg.norm(box)))
        return Region(far * _UP, tuple((box * _UP).tolist()))

    def rounded_up(self) -> Region:
        """A slightly larger region shared with others: one width, a power of 2^(1/8)."""
        size = 2.0 ** (np.ceil(8 * np.log2([max(self.box), self.diameter])) / 8) * (1 + 1e-15)
        return Region(float(size[1]), (float(min(size)),) * len(self.box))

    def __repr__(self) -> str:
        widths = np.array(self.box)
        ball = f"|u| <= {self.diameter:.6g}"
        if np.all(widths >= self.diameter):
            return ball
        sides = ", ".join(f"{w:.4g}" for w in widths[:4]) + (", ..." if len(widths) > 4 else "")
        box = f"|u_i| <= ({sides})"
        whole = np.linalg.norm(widths) <= self.diameter * (1 + 1e-9)
        return box if whole else f"{ball} and {box}"


def _lengths(name: str, value: Any, ball: float = inf) -> npt.NDArray[np.float64]:
    """`value` as numbers of at least 0, not huge unless within a ball; else an error."""
    try:
        numbers = np.asarray(value).astype(np.float64, casting="safe")
    except (TypeError, ValueError):  # texts, complex numbers, rows of unequal length
        numbers = np.array(np.nan)
    length = hypot(*np.minimum(numbers, ball).ravel())
    if numbers.ndim > (name == "box") or not (np.all(numbers >= 0) and length <= _LARGEST):
        raise ValueError(f"{name} must be {_WANTED[name]}, got {value!r}")
    return numbers


def _up(x: Any) -> float:
    return float(x) * (1 + 2.0**-50)
