"""Sums of the iterative solver: right-hand sides, and the gram times vectors; never the gram.

Training rows and held-out rows are summed separately, each centred at its mean, so that the same
passes give the equations of the training rows and of all rows.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, Self

import numpy as np

from .._typing import Floats, Matrix
from ..data.blocks import Block
from ..data.sampling import Keys, row_keys
from ..numerics.blas import on_one_thread, product
from ..numerics.galerkin import Space
from .ridge_sums import CANCELLED, narrowed

_GROUPS = 2  # training rows, held-out rows


@dataclass(frozen=True, eq=False)
class Marked:
    """Encodes a block; the last column of its targets marks held-out rows, found by their x.

    Parameters
    ----------
    encode : function of a Block that returns targets (n, t) and weights
    held_out : sorted keys of x
    """

    encode: Callable[[Block], tuple[Any, Any]]
    held_out: Keys
    _known: dict[bytes, Any] = field(default_factory=dict, repr=False)  # marks from earlier passes

    def __call__(self, block: Block) -> tuple[Any, Any]:
        y, weight = self.encode(block)
        return np.column_stack([y, self._marks(block.X)]), weight

    def _marks(self, X: Any) -> Any:
        if not isinstance(X, np.ndarray):
            return self._looked_up(X)
        # Keys of rows take ten times as long as a digest of the block.
        digest = hashlib.blake2b(np.ascontiguousarray(X).data, digest_size=16).digest()
        if digest not in self._known:
            self._known[digest] = self._looked_up(X)
        return self._known[digest]

    def _looked_up(self, X: Any) -> Any:
        keys = row_keys(X)
        place = np.minimum(np.searchsorted(self.held_out, keys), len(self.held_out) - 1)
        return self.held_out[place] == keys


def _groups(Y: Matrix, weight: Floats | None) -> Iterator[tuple[int, Any, Floats]]:
    """Number, rows and weights of each group in a block."""
    held = Y[:, -1] > 0
    weight = np.ones(len(Y)) if weight is None else weight
    if not held.all():
        yield 0, slice(None), np.where(held, 0.0, weight)  # without a copy of the features
    if held.any():
        yield 1, np.flatnonzero(held), weight[held]


class TargetSums:
    """Z'WY, the trace of Z'WZ, and the sums for centring, of each group.

    Parameters
    ----------
    n_columns : int, p
    n_targets : int, t
    """

    _names = ("cross", "feature_sum", "target_sum", "target_square", "square", "weight")

    def __init__(self, n_columns: int, n_targets: int) -> None:
        self.cross: Floats = np.zeros((_GROUPS, n_columns, n_targets))
        self.feature_sum: Floats = np.zeros((_GROUPS, n_columns))
        self.target_sum: Floats = np.zeros((_GROUPS, n_targets))
        self.target_square: Floats = np.zeros((_GROUPS, n_targets))
        self.square: Floats = np.zeros(_GROUPS)  # of all features
        self.weight: Floats = np.zeros(_GROUPS)

    @on_one_thread
    def add(self, Z: Matrix, Y: Matrix, weight: Floats | None = None) -> None:
        """Add rows: features (n, p), targets (n, t) and the mark, weights (n,)."""
        for group, rows, mass in _groups(Y, weight):
            some, targets = Z[rows], Y[rows, :-1]
            right, unit = narrowed(np.column_stack([targets * mass[:, None], mass]), Z.dtype)
            sums = product(some.T, right) * unit
            self.cross[group] += sums[:, :-1]
            self.feature_sum[group] += sums[:, -1]
            self.target_sum[group] += mass @ targets
            self.target_square[group] += mass @ targets**2
            self.square[group] += mass @ np.einsum("ij,ij->i", some, some)
            self.weight[group] += mass.sum()

    def blank(self) -> Callable[[], TargetSums]:
        """A function that returns empty sums of this shape; small enough to be sent."""
        return functools.partial(TargetSums, *self.cross.shape[1:])

    def merge(self, other: TargetSums) -> None:
        """Add the sums of other rows."""
        for name in self._names:
            getattr(self, name).__iadd__(getattr(other, name))

    def state(self) -> dict[str, Any]:
        """The sums as arrays."""
        return {name: getattr(self, name) for name in self._names}

    def means(self, *, intercept: bool) -> Floats:
        """Mean features of each group, (groups, p); 0 without an intercept."""
        if not intercept:
            return np.zeros_like(self.feature_sum)
        weight = np.where(self.weight > 0, self.weight, 1.0)
        return np.asarray(self.feature_sum / weight[:, None])


class ImageSums:
    """Z'W(Z - mean) V of each group, for vectors V common to all rows.

    Parameters
    ----------
    vectors : (p, s)
    means : (groups, p)
    """

    def __init__(self, vectors: Floats, means: Floats) -> None:
        self._vectors, self._means = vectors, means
        self._moved = means @ vectors
        self.image: Floats = np.zeros((_GROUPS, *vectors.shape))
        self.score_sum: Floats = np.zeros((_GROUPS, vectors.shape[1]))  # 0 except for rounding

    @on_one_thread
    def add(self, Z: Matrix, Y: Matrix, weight: Floats | None = None) -> None:
        """Add rows: features (n, p), the mark of their group, weights (n,)."""
        plain = product(Z, self._vectors.astype(Z.dtype))
        for group, rows, mass in _groups(Y, weight):
            scores = mass[:, None] * (plain[rows] - self._moved[group])
            self.score_sum[group] += scores.sum(axis=0)
            narrow, unit = narrowed(scores, Z.dtype)
            self.image[group] += product(Z[rows].T, narrow) * unit

    def blank(self) -> Callable[[], ImageSums]:
        """A function that returns empty sums for these vectors."""
        return functools.partial(ImageSums, self._vectors, self._means)

    def merge(self, other: ImageSums) -> None:
        """Add the sums of other rows."""
        self.image += other.image
        self.score_sum += other.score_sum

    def state(self) -> dict[str, Any]:
        """The sums as arrays."""
        return {"image": self.image, "score_sum": self.score_sum}

    @property
    def centred(self) -> Floats:
        """(Z - mean)'W(Z - mean) V of each group, (groups, p, s)."""
        return self.image - self._means[:, :, None] * self.score_sum[:, None, :]


@dataclass(frozen=True, eq=False)
class IterativeSystem:
    """The equations (G + alpha I) X = cross of training rows, or of all rows; G is never formed.

    Parameters
    ----------
    n_groups : int, 1 for training rows, 2 for all
    shift : (p,), G is the sum of the groups' grams + shift shift'
    cross : (p, t)
    target_square, target_mean : (t,)
    feature_mean : (p,)
    weight : float
    scale : float, the trace of G; 1 if it is 0
    """

    n_groups: int
    shift: Floats
    cross: Floats
    target_square: Floats
    target_mean: Floats
    feature_mean: Floats
    weight: float
    scale: float

    @classmethod
    def of(cls, sums: TargetSums, n_groups: int, *, intercept: bool) -> Self:
        """The equations of the first groups."""
        weight, cross = float(sums.weight[:n_groups].sum()), sums.cross[:n_groups].sum(axis=0)
        square, trace = sums.target_square[:n_groups].sum(axis=0), sums.square[:n_groups].sum()
        target_mean, feature_mean = np.zeros(cross.shape[1]), np.zeros(len(cross))
        shift = np.zeros(len(cross))
        if intercept:
            target_sum = sums.target_sum[:n_groups].sum(axis=0)
            target_mean = target_sum / weight
            feature_mean = sums.feature_sum[:n_groups].sum(axis=0) / weight
            cross = cross - np.outer(feature_mean, target_sum)
            centred = square - target_mean * target_sum
            square = np.where(centred > CANCELLED * square, centred, 0.0)
            trace = max(trace - weight * float(feature_mean @ feature_mean), 0.0)
            if n_groups > 1 and sums.weight.all():
                means = sums.means(intercept=True)
                shift = np.sqrt(sums.weight.prod() / weight) * (means[0] - means[1])
        return cls(
            n_groups,
            shift,
            cross,
            square,
            target_mean,
            feature_mean,
            weight,
            float(trace) or 1.0,
        )

    @property
    def units(self) -> Floats:
        """Units of squared errors, (t,): t times each variance if t > 1, else 1."""
        variance = self.target_square / self.weight
        several = len(variance) > 1
        return np.where((variance > 0) & several, len(variance) * variance, 1.0)

    def gram(self, space: Space) -> Floats:
        """V'G V, (k, k)."""
        moved = self.shift @ space.vectors
        return np.asarray(space.grams[: self.n_groups].sum(axis=0) + np.outer(moved, moved))

    def image(self, space: Space, y: Floats) -> Floats:
        """G V y, (p, t)."""
        moved = self.shift @ (space.vectors @ y)
        image = np.outer(self.shift, moved)
        for part in space.images[: self.n_groups]:
            image += part @ y
        return image
