"""A grid along the principal directions of the data, pruned to its largest weights."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from .._rows import WIDE, spread_rows
from .._typing import Floats, Matrix
from ..kernels.stationary import Gaussian
from ..numerics.best_first import largest_products
from ..numerics.principal_frame import distances, frame, moments, nearness, wide_frame
from ..rules import interval
from ..rules.rule import Rule, mirrored_nodes

_MOST_SCALES = 1e6  # length scales that X may span: a direction has at most 128 nodes


@dataclass(frozen=True, eq=False)
class PrunedGrid:
    """The largest weights of a tensor grid of `axes`, for the kernel exp(-|v|^2).

    `rule` (n, m) has mass 1; `omitted` is the mass of the dropped nodes. Everywhere
    |rule - grid| <= 2 omitted, so a certificate of the grid extends to the rule. `directions`
    (d, m) turn gaps u of X into v = u @ directions.
    """

    rule: Rule
    omitted: float
    axes: tuple[Rule, ...]
    directions: Floats

    @property
    def counts(self) -> tuple[int, ...]:
        """The nodes per principal direction before pruning."""
        return tuple(len(axis) for axis in self.axes)

    @property
    def unframed(self) -> Rule:
        """The rule in the space of X, mirror-symmetric to the last bit."""
        half, d = len(self.rule) // 2, len(self.directions)
        right = self.rule.nodes[len(self.rule) - half :] @ self.directions.T
        nodes = np.concatenate([-right[::-1], np.zeros((len(self.rule) % 2, d)), right])
        return Rule(nodes, self.rule.weights)


def framed_grid(kernel: Gaussian, X: Matrix, n: int, *, n_rows: int = 400) -> PrunedGrid:
    """The best grid of `n` columns along the principal directions of X.

    The Gaussian kernel is a product over the axes of any rotation. The principal direction with the
    largest error over the gaps of the data gets the next node, so directions with hardly any
    variance keep one. The `n` largest weights of the product grid are found best-first, without
    building it, and scaled to sum to 1. The result is the grid with the least error over pairs of
    `n_rows` rows, without far rows. Mirror-symmetric to the last bit, weights positive. Useful up
    to about five directions with variance. If the grid has no zero node, an odd `n` leaves one
    column unused; a direction has at most 128 nodes.

    Parameters
    ----------
    kernel : Gaussian
        With its gamma resolved.
    X : (rows, d)
        The data.
    n : int
        Columns.
    n_rows : int
        Rows whose pairs choose the grid.

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2)) * [1.0, 0.1]
    >>> grid = framed_grid(Gaussian(0.5), X, 24)
    >>> len(grid.unframed), grid.counts[0] > grid.counts[1]
    (24, True)
    """
    d = X.shape[1]
    scale = np.sqrt(np.broadcast_to(np.asarray(kernel.gamma, dtype=np.float64), (d,)))
    near = nearness(distances(X))
    fitted = wide_frame(X, scale, near) if d > WIDE else frame(moments(X, near), scale)
    directions = fitted.directions[:, fitted.variance > 0]
    gaps = _some_gaps(X[near == 1], n_rows) @ (directions * scale[:, None])
    if gaps.size and np.abs(gaps).max() > _MOST_SCALES:
        raise ValueError(
            f"X spreads over {np.abs(gaps).max():.1g} length scales of {kernel!r}, too many for "
            f"any grid; standardise X, or use a smaller gamma"
        )
    grid, _ = min(_framed_candidates(gaps, n), key=lambda each: each[1])
    return replace(grid, directions=directions * scale[:, None])


def _some_gaps(X: Matrix, n_rows: int, n_pairs: int = 4000) -> Floats:
    """Differences of at most `n_pairs` pairs of `n_rows` rows spread over X."""
    rows = spread_rows(X, n_rows)
    left, right = np.triu_indices(len(rows), 1)
    some = np.random.default_rng(0).permutation(len(left))[:n_pairs]
    return rows[left[some]] - rows[right[some]]


def _mean_square(rule: Rule, gaps: Floats) -> float:
    return float(np.mean((rule(gaps) - np.exp(-np.einsum("ij,ij->i", gaps, gaps))) ** 2))


def _framed_candidates(gaps: Floats, n: int) -> Iterator[tuple[PrunedGrid, float]]:
    """Grids in principal coordinates pruned to `n` columns, for exp(-|u|^2), from coarse to fine.

    Each comes with its mean squared error over the gaps. The direction with the largest error gets
    the next node, or several if its error is still the largest after them. Stops at 128 nodes on a
    direction, or when finer grids lose more by pruning than they gain.
    """
    axes = [_GapRules(gaps, i) for i in range(gaps.shape[1])]
    counts = [1] * len(axes)
    if not len(gaps) or not axes:
        yield _pruned([axis.rule(1) for axis in axes], n), 0.0
        return
    least, since = np.inf, 0
    while since < 2 * len(axes) + 6 and max(counts) < _GapRules.most:
        errors = [axis.error(count) for axis, count in zip(axes, counts, strict=True)]
        worst = int(np.argmax(errors))
        second = max((error for i, error in enumerate(errors) if i != worst), default=0.0)
        room = -(-n * counts[worst] // math.prod(counts)) - counts[worst]
        counts[worst] += axes[worst].step(counts[worst], second, room)
        if math.prod(counts) < n and max(counts) < _GapRules.most:
            continue
        odd = n % 2 == 0 and all(count % 2 for count in counts)
        # Without a zero node all of an even number of columns are used.
        chosen = [counts[0] + odd, *counts[1:]]
        grid = _pruned([axis.rule(c) for axis, c in zip(axes, chosen, strict=True)], n)
        error = _mean_square(grid.rule, gaps)
        yield grid, error
        since = 0 if error < least else since + 1
        least = min(least, error)


class _GapRules:
    """Rules of one direction; errors are weighted by the other directions' factors of each gap."""

    most = 128

    def __init__(self, gaps: Floats, axis: int) -> None:
        squares = gaps**2
        self._gap = gaps[:, axis]
        self._exact = np.exp(-squares[:, axis])
        self._others = np.exp(squares[:, axis] - squares.sum(axis=1))
        self._cache: dict[int, tuple[Rule, float]] = {}

    def rule(self, n: int) -> Rule:
        return self._best(n)[0]

    def error(self, n: int) -> float:
        return self._best(n)[1]

    def step(self, n: int, error: float, room: int) -> int:
        """Nodes to add to `n`: a quarter, at most `room`, if more than `error` is left; or 1."""
        step = max(1, min(n // 4, room, self.most - n))
        return step if self.error(n) > 10 * error and self.error(n + step) > error else 1

    def _best(self, n: int) -> tuple[Rule, float]:
        if n not in self._cache:
            kernel = Gaussian(1.0)
            candidates = [kernel.gauss(n)]
            if n > 2:  # Gauss is better only below about three length scales
                steps = 12.0 / n * 2.0 ** np.linspace(-2.5, 0.5, 25)
                candidates += [interval.equispaced(kernel.density, n, step) for step in steps]
            errors = [self._weighted_error(rule) for rule in candidates]
            best = int(np.argmin(errors))
            self._cache[n] = candidates[best], errors[best]
        return self._cache[n]

    def _weighted_error(self, rule: Rule) -> float:
        error = (rule(self._gap[:, None]) - self._exact) * self._others
        return float(np.sqrt(np.mean(error**2)))


def _pruned(axes: Sequence[Rule], n: int) -> PrunedGrid:
    """The product of symmetric 1-D rules with only its `n` largest weights, mirrored."""
    # One side of each axis, from the middle outwards: weights decrease there.
    sides = [axis.nodes[len(axis) // 2 :, 0] for axis in axes]
    with np.errstate(divide="ignore"):
        logs = [np.log(axis.weights[len(axis) // 2 :]) for axis in axes]
    falls = np.full((len(axes), max(map(len, logs), default=1)), -np.inf)
    for fall, log in zip(falls, logs, strict=True):
        fall[: len(log) - 1] = log[1:] - log[0]
    order = np.argsort(-falls[:, 0], kind="stable")
    root = sum(float(log[0]) for log in logs)
    # A product has at least one mirrored pair of nodes, unless it is the zero node.
    products = largest_products([root], [falls[order]], n // 2 + 1)
    nodes = [np.array([side[0] for side in sides])]
    right: list[Floats] = []
    weights: list[float] = []
    middle = 0.0
    for i, weight in enumerate(np.exp(products.log).tolist()):
        if i > 0:
            axis = order[products.axis[i]]
            nodes.append(nodes[products.parent[i]].copy())
            nodes[i][axis] = sides[axis][products.factor[i]]
        if not nodes[i].any():
            middle = weight
            continue
        room = (n - (middle > 0)) // 2 - len(right)
        if room == 0:
            break
        images = list(itertools.islice(_sign_changes(nodes[i]), room))
        right += images
        weights += [weight] * len(images)
    unturned = np.eye(len(axes))
    if not right:
        zero = Rule(np.zeros((1, len(axes))), np.ones(1))
        single = Rule(np.zeros((1, 1)), np.ones(1))
        return PrunedGrid(zero, 0.0, (single,) * len(axes), unturned)
    one_side = mirrored_nodes(np.array(right), np.array(weights), middle)
    omitted = max(0.0, 1.0 - 2 * sum(weights) - middle)
    return PrunedGrid(one_side, omitted, tuple(axes), unturned)


def _sign_changes(node: Floats) -> Iterator[Floats]:
    """The images of a node under reflections of single axes; one of each mirrored pair."""
    off = np.flatnonzero(node)
    for signs in itertools.product([1.0, -1.0], repeat=len(off) - 1):
        image = node.copy()
        image[off[1:]] *= signs
        yield image
