"""`NormalSums`, the sums of ridge regression; `RidgeSystem`, the equations to solve."""

from __future__ import annotations

import functools
import io
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Self
from zipfile import BadZipFile

import numpy as np

from .._typing import Floats, Matrix
from ..numerics.blas import on_one_thread, share

_PANEL = 1024  # columns of the gram that are centred at a time
_TILE = 256  # minimum rows of a tile; smaller ones take longer in total
CANCELLED = 1e-13  # share of a sum of squares below which a difference is rounding error
_FAR = 32  # exponent beyond which squares and sums of float32 may overflow or underflow


class NormalSums:
    """Z'WZ, Z'WY and the sums for centring, over streamed rows.

    Products are computed in the precision of the features and added in float64: a float32 sum over
    many rows is not positive definite. Memory is one float64 (p, p) array, of which only the lower
    triangle is used, and at most 4 MB per thread. n p^2 multiply-adds for n rows.

    Parameters
    ----------
    n_columns : int, p
    n_targets : int, t

    Examples
    --------
    >>> sums = NormalSums(2, 1)
    >>> sums.add(np.array([[1.0, 2.0]]), np.array([[3.0]]))
    >>> sums.cross
    array([[3.],
           [6.]])
    """

    def __init__(self, n_columns: int, n_targets: int) -> None:
        self.gram: Floats = np.zeros((n_columns, n_columns))
        self.cross: Floats = np.zeros((n_columns, n_targets))
        self.feature_sum: Floats = np.zeros(n_columns)
        self.target_sum: Floats = np.zeros(n_targets)
        self.target_square: Floats = np.zeros(n_targets)
        self.weight = 0.0
        self.weight_square = 0.0  # the sum of the squared weights

    @on_one_thread
    def add(self, Z: Matrix, Y: Matrix, weight: Floats | None = None) -> None:
        """Add rows: features (n, p), targets (n, t), weights (n,); ignores targets if t is 0."""
        Y = np.asarray(Y, dtype=np.float64) if len(self.target_sum) else np.empty((len(Z), 0))
        root = np.ones(len(Z)) if weight is None else np.sqrt(weight)
        narrow, unit = narrowed(root, Z.dtype)
        if weight is not None:
            Z = Z * narrow[:, None]
            Y = Y * root[:, None]
        self._add_gram(Z, float(unit**2))
        targets, scale = narrowed(Y, Z.dtype)
        self.cross += (Z.T @ targets) * (scale * unit)
        self.feature_sum += (Z.T @ narrow) * unit**2
        self.target_sum += Y.T @ root
        self.target_square += np.einsum("ij,ij->j", Y, Y)
        self.weight += float(root @ root)
        self.weight_square += len(Z) if weight is None else float(weight @ weight)

    def _add_gram(self, Z: Matrix, factor: float) -> None:
        p = Z.shape[1]
        width = int(np.clip(-(-p // 4), _TILE, 2 * _TILE))
        cuts = [slice(start, min(start + width, p)) for start in range(0, p, width)]
        # Twice as wide as high: fewer, larger products, and still enough for all threads.
        tiles = [
            (rows, slice(start, min(start + 2 * width, rows.start)))
            for rows in cuts
            for start in range(0, rows.start, 2 * width)
        ]

        def add(tile: tuple[slice, slice]) -> None:
            rows, columns = tile
            product = Z[:, rows].T @ Z[:, columns]
            self.gram[tile] += product if factor == 1.0 else product.astype(np.float64) * factor

        # Diagonal tiles come last: for Z'Z NumPy computes a symmetric product, half the work.
        share(add, tiles + [(cut, cut) for cut in cuts])

    @property
    def n_rows(self) -> float:
        """The effective number of rows, (sum w)^2 / sum w^2 (Kish, 1965)."""
        return self.weight**2 / self.weight_square

    def blank(self) -> Callable[[], NormalSums]:
        """A function that returns empty sums of this shape; small enough to be sent."""
        return functools.partial(NormalSums, *self.cross.shape)

    def merge(self, other: NormalSums) -> None:
        """Add the sums of other rows; the order of merging affects rounding only."""
        for name, value in other._arrays().items():
            getattr(self, name).__iadd__(value)
        self.weight += other.weight
        self.weight_square += other.weight_square

    def _arrays(self) -> dict[str, Floats]:
        names = ("gram", "cross", "feature_sum", "target_sum", "target_square")
        return {name: getattr(self, name) for name in names}

    def state(self) -> dict[str, Any]:
        """Arrays from which `from_state` restores the sums to the bit."""
        counts = {"weight": self.weight, "weight_square": self.weight_square}
        return {**self._arrays(), **{name: np.array(value) for name, value in counts.items()}}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        """The sums with this `state`; uses the arrays without copying."""
        sums = cls.__new__(cls)
        for name in ("gram", "cross", "feature_sum", "target_sum", "target_square"):
            setattr(sums, name, state[name])
        sums.weight = float(state["weight"])
        if "weight_square" in state:
            sums.weight_square = float(state["weight_square"])
        else:  # files of version 0.1.0 store a number of rows
            sums.weight_square = sums.weight**2 / float(state["n_rows"])
        return sums

    def to_bytes(self) -> bytes:
        """The sums as bytes, to send them or to store them; without pickle."""
        buffer = io.BytesIO()
        np.savez(buffer, allow_pickle=False, **self.state())
        return buffer.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The sums written by `to_bytes`, to the bit; a ValueError for any other bytes."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
                sums = cls.from_state({name: arrays[name] for name in arrays.files})
            sums.check()
        except (ValueError, KeyError, TypeError, EOFError, AttributeError, BadZipFile) as error:
            raise ValueError(f"these bytes hold no sums of NormalSums.to_bytes: {error}") from None
        return sums

    def check(self) -> None:
        """Raise a ValueError if the arrays of loaded sums do not fit each other."""
        p, t = self.cross.shape
        shapes = {"gram": (p, p), "feature_sum": (p,), "target_sum": (t,), "target_square": (t,)}
        for name, shape in shapes.items():
            if getattr(self, name).shape != shape:
                raise ValueError(f"{name} of the sums is not of shape {shape}")
        weights = [self.weight, self.weight_square]
        if not (np.concatenate([self.gram.diagonal(), self.target_square, weights]) >= 0).all():
            raise ValueError("a sum of squares or weights is negative")

    def fit(self, p: int, n_targets: int) -> bool:
        """Whether these sums have this number of columns and targets."""
        return self.cross.shape == (p, n_targets)

    def system(
        self, *, intercept: bool, signs: Floats, copy: bool, distinct_share: float = 1.0
    ) -> RidgeSystem:
        """The normal equations; features and targets are centred if there is an intercept.

        Parameters
        ----------
        intercept : bool
        signs : (p,) +1 or -1, of the feature map
        copy : bool, False to centre in place, after which the sums cannot be used
        distinct_share : float, effective number of distinct rows / that of all rows
        """
        gram = self.gram.copy() if copy else self.gram
        cross, target_square = self.cross, self.target_square
        feature_mean, target_mean = np.zeros(len(gram)), np.zeros(cross.shape[1])
        if intercept:
            feature_mean = self.feature_sum / self.weight
            target_mean = self.target_sum / self.weight
            cross = cross - np.outer(self.feature_sum, target_mean)
            centred = target_square - target_mean * self.target_sum
            # For a constant target the difference is rounding error.
            target_square = np.where(centred > CANCELLED * target_square, centred, 0.0)
            for start in range(0, len(gram), _PANEL):
                some = slice(start, start + _PANEL)
                gram[start:, some] -= np.outer(self.feature_sum[start:], feature_mean[some])
        return RidgeSystem(
            gram,
            cross,
            target_square,
            feature_mean,
            target_mean,
            self.weight,
            distinct_share * self.n_rows,
            intercept,
            signs,
        )


def narrowed(values: Matrix, dtype: Any) -> tuple[Matrix, Any]:
    """Values scaled to fit the range of a dtype, and the factor that undoes it in products.

    The factor is a power of two for each column, or 1 if the range is wide enough.
    """
    largest = np.abs(values).max(axis=0, initial=0.0)
    exponent = np.frexp(largest)[1]
    exponent = np.where(np.abs(exponent) > _FAR, exponent, 0)
    if np.dtype(dtype) == np.float64 or not exponent.any():
        return values.astype(dtype, copy=False), np.float64(1.0)
    return np.ldexp(values, -exponent).astype(dtype), np.ldexp(1.0, exponent)


@dataclass(frozen=True, eq=False)
class RidgeSystem:
    """The equations (gram + alpha diag(signs)) v = cross; `gram` has only its lower triangle."""

    gram: Floats
    cross: Floats
    target_square: Floats
    feature_mean: Floats
    target_mean: Floats
    weight: float  # total, of all rows
    n_rows: float  # effective number of distinct rows
    intercept: bool
    signs: Floats

    @property
    def scale(self) -> float:
        """The trace of the gram, the scale of penalties; 1 if it is 0."""
        return float(np.trace(self.gram)) or 1.0

    @property
    def units(self) -> Floats:
        """Units of squared errors, (t,): t times each variance if t > 1, else 1."""
        variance = self.target_square / self.weight
        several = len(variance) > 1
        return np.where((variance > 0) & several, len(variance) * variance, 1.0)

    @property
    def intercept_leverage(self) -> float:
        """The intercept's part of the leverage of a row of weight 1."""
        return 1 / self.weight if self.intercept else 0.0

    @property
    def mean_weight(self) -> float:
        """The mean weight of a distinct row, the unit of weights and penalties."""
        return self.weight / self.n_rows
