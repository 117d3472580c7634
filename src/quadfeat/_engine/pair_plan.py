"""The plan of kernel values of rows with points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import require
from .._typing import Floats

# exp(-|u|^2), exp(-|u|_1), and Matern kernels at sqrt(2 nu) length scales: of |u|, and products of
# those of every axis.
PAIR_FORMS = (
    "gaussian",
    "laplacian",
    "matern 0.5",
    "matern 1.5",
    "matern 2.5",
    "product of matern 1.5",
    "product of matern 2.5",
)


@dataclass(frozen=True, eq=False)
class PairPlan:
    """Kernel values of rows with points: one column per point.

    Parameters
    ----------
    n_features : int
        Columns of X.
    form : int
        How differences in length scales become a value: an index into `PAIR_FORMS`.
    scale : (n_features,) float64
        Inverse length scales.
    points : flat float64
        Row-major (points, n_features).
    """

    n_features: int
    form: int
    scale: Floats
    points: Floats

    @classmethod
    def of(cls, form: str, scale: Floats, points: Floats) -> PairPlan:
        """A plan from the name of its form, inverse length scales (d,) and points (m, d)."""
        return cls(
            n_features=points.shape[1],
            form=PAIR_FORMS.index(form),
            scale=np.ascontiguousarray(scale, dtype=np.float64),
            points=np.ascontiguousarray(points, dtype=np.float64).ravel(),
        )

    def check(self) -> None:
        """Raise a ValueError if the arrays do not fit together or are not finite."""
        require(self.n_features > 0, "n_features must be positive")
        require(0 <= self.form < len(PAIR_FORMS), f"form holds {self.form}, no index of PAIR_FORMS")
        whole = self.n_columns * self.n_features
        for name, length in (("scale", self.n_features), ("points", whole)):
            values = getattr(self, name)
            require(len(values) == length, f"{name} has {len(values)} values, not {length}")
            require(bool(np.isfinite(values).all()), f"{name} must be finite")

    @property
    def n_columns(self) -> int:
        """Points."""
        return len(self.points) // self.n_features
