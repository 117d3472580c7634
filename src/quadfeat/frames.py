"""The frame of the data: its moments, principal directions, and grids laid out along them."""

from __future__ import annotations

import heapq
import itertools
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from . import rules
from .kernels import Gaussian
from .rules import Floats, Rule

Matrix = npt.NDArray[np.floating[Any]]
Integers = npt.NDArray[np.int64]

# A covariance of more columns than this is neither stored nor diagonalised: the principal
# directions then come from this many rows.
WIDE = 2048
_BLOCK_ROWS = 4096
_SPREAD_ROWS = 1000  # rows that the deviations of columns are of
_TAIL = 0.01  # share of a column's values at each end that no deviation depends on
TYPICAL = 0.99  # share of rows that are typical
_FAR = 100.0  # times the squared distance that a twentieth of the rows exceed
_FEW_ROWS = 20  # fewer look independent whatever they are
_MOST_SCALES = 1e6  # a grid has 128 nodes on a direction at most


# --- moments ----------------------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class Moments:
    """How many rows were seen or stood for, their mean (d,), and the scatter (d, d) around it."""

    n: float
    mean: Floats
    scatter: Floats

    def __add__(self, other: Moments) -> Moments:
        """The moments of both sets of rows: exact, and stable where the means are large."""
        n = self.n + other.n
        gap = other.mean - self.mean
        between = np.outer(gap, gap) * (self.n * other.n / n)
        return Moments(n, self.mean + gap * (other.n / n), self.scatter + other.scatter + between)


def moments(X: Matrix, weights: Floats | None = None) -> Moments:
    """Mean and scatter in one pass over blocks of rows, in double precision.

    Blocks are centred on their own mean and merged (Chan, Golub and LeVeque, 1983), so a large
    mean costs no digits. n d^2 multiply-adds. With `weights` (n,), a row stands for so many.
    """
    total: Moments | None = None
    for start in range(0, len(X), _BLOCK_ROWS):
        some = slice(start, start + _BLOCK_ROWS)
        block = X[some]
        if weights is None:
            n, mean = float(len(block)), block.mean(axis=0, dtype=np.float64)
            block = block - mean
        else:
            own = weights[some]
            n = float(own.sum())
            if n == 0:
                continue
            mean = own @ block / n
            block = (block - mean) * np.sqrt(own)[:, None]
        part = Moments(n, mean, block.T @ block)
        total = part if total is None else total + part
    if total is None:
        raise ValueError("moments needs at least one row")
    return total


def drawn(n: int, count: int) -> npt.NDArray[np.intp]:
    """At most `count` of n rows, in order, by a seed of their own: rows may come in a cycle."""
    return np.sort(np.random.default_rng(0).permutation(n)[:count])


def distances(X: Matrix, rows: npt.NDArray[np.intp] | None = None) -> Floats:
    """How far out each row is: its squared distance from the middle, in deviations, (n,).

    Medians and winsorised deviations of columns, of some 1000 of all rows or of `rows`: what a few
    far rows are does not matter. The plain deviation serves a column that hardly varies without its
    tails.
    """
    known = np.arange(len(X)) if rows is None else rows
    some = np.asarray(X[known[drawn(len(known), _SPREAD_ROWS)]], dtype=np.float64)
    low, middle, high = np.quantile(some, [_TAIL, 0.5, 1 - _TAIL], axis=0)
    spread = np.clip(some, low, high).std(axis=0)
    deviation = some.std(axis=0)
    spread = np.where(spread > 1e-6 * deviation, spread, deviation)
    inverse = np.divide(1.0, spread, out=np.zeros_like(spread), where=spread > 0)
    blocks = (X[start : start + _BLOCK_ROWS] for start in range(0, len(X), _BLOCK_ROWS))
    scaled = ((block - middle) * inverse for block in blocks)
    return np.concatenate([np.einsum("ij,ij->i", each, each) for each in scaled])


def typical(distance: Floats) -> npt.NDArray[np.bool_]:
    """Which rows are typical, by their `distances`: all but the outermost hundredth, or one."""
    return distance <= np.quantile(distance, TYPICAL, method="lower")


def nearness(distance: Floats) -> Floats:
    """Weights (n,): 1 for nearly all rows, 0 for those that are far out by their `distances`.

    That is ten times as far out as what a twentieth of the rows exceed. Tails that reach less far
    are part of the data: they decide the error of all pairs.
    """
    limit = _FAR * float(np.quantile(distance, 0.95))
    return np.where((distance > limit) & (limit > 0), 0.0, 1.0)


@dataclass(frozen=True, eq=False)
class Frame:
    """Orthonormal `directions` (d, m) through `mean` (d,), by falling `variance` (m,).

    Directions that are missing (m < d) have no variance.
    """

    mean: Floats
    directions: Floats
    variance: Floats


def frame(moment: Moments, scale: Floats) -> Frame:
    """The principal frame of the rows times `scale` (d,); `mean` stays in the units of the rows.

    Axes that are not correlated, as far as so many rows can tell, are directions themselves: those
    that chance would make of them are no better, and have to be multiplied by. Variances within
    rounding of zero are zero. d^3 operations.
    """
    covariance = moment.scatter * np.multiply.outer(scale, scale) / moment.n
    if _uncorrelated(covariance, moment.n):
        own = np.diag(covariance)
        order = np.argsort(-own, kind="stable")
        return Frame(moment.mean, np.eye(len(own))[:, order], _clean(own[order], len(own)))
    variance, directions = np.linalg.eigh(covariance)
    return Frame(moment.mean, signed(directions[:, ::-1]), _clean(variance[::-1], len(scale)))


def _uncorrelated(covariance: Floats, n: float) -> bool:
    """Whether the squared correlations sum up to what independent columns of n rows show.

    Each is 1 / (n - 1) on average, with a variance of about 2 / n^2: three deviations are allowed,
    to the sum over all pairs and to that of covariances, which the widest columns decide.
    """
    variance = np.diag(covariance)
    varies = _clean(variance, len(variance)) > 0
    pairs = varies.sum() * (varies.sum() - 1) / 2
    if pairs == 0 or n < _FEW_ROWS:
        return bool(pairs == 0)
    spread = np.sqrt(variance[varies])
    upper = np.triu_indices(len(spread), 1)
    squares = np.square(covariance[np.ix_(varies, varies)] / np.multiply.outer(spread, spread))
    shares = np.square(np.multiply.outer(spread, spread) / spread.max() ** 2)
    return all(
        weight @ squares[upper] <= weight.sum() / (n - 1) + 3 * np.sqrt(2 * (weight @ weight)) / n
        for weight in (np.ones(len(upper[0])), shares[upper])
    )


def wide_frame(X: Matrix, scale: Floats, weights: Floats) -> Frame:
    """The frame of very wide rows: the mean of all, directions of at most 2048 of them.

    A row stands for as many as `weights` (n,) says.
    """
    mean: Floats = np.einsum("i,ij->j", weights, X) / weights.sum()
    some = drawn(len(X), WIDE)
    rows, own = X[some], weights[some]
    centred = (rows - mean) * scale * np.sqrt(own)[:, None]
    _, singular, directions = np.linalg.svd(centred, full_matrices=False)
    return Frame(mean, signed(directions.T), _clean(singular**2 / own.sum(), len(rows)))


def _clean(variance: Floats, size: int) -> Floats:
    floor = 4 * size * np.finfo(float).eps * float(variance.max(initial=0.0))
    return np.where(variance > floor, variance, 0.0)


def signed(directions: Floats) -> Floats:
    """Eigenvectors have no sign of their own; the largest entry of each is made positive."""
    return directions * signs(directions)


def signs(columns: Floats) -> Floats:
    """+1 or -1 by the largest entry of each column; the first of those equal to rounding."""
    size = np.abs(columns)
    largest = np.argmax(size >= (1 - 1e-6) * size.max(axis=0), axis=0)
    return np.where(columns[largest, np.arange(columns.shape[1])] < 0, -1.0, 1.0)


# --- products, largest first ------------------------------------------------------------------
class Product(NamedTuple):
    """One product of a group: that of `parent` times factor number `factor` of `axis`.

    `parent` is a position in the order of yielding; -1 marks a group's root, all of whose
    factors are number 0. A parent's axes come before `axis`.
    """

    value: float
    group: int
    parent: int
    axis: int
    factor: int


def largest_products(
    roots: Sequence[float], drop: Callable[[int, int, int], float]
) -> Iterator[Product]:
    """The products of one factor per axis, of every group, largest first, each exactly once.

    Values are logarithms: `roots[g]` that of the group's largest product, and
    `drop(g, axis, index)` <= 0 what taking the index-th factor instead of the 0-th costs, -inf
    where there is none. It must fall with the index and, for index 1, with the axis. O(log p) per
    product: each opens at most three more, none larger than itself.
    """
    heap = [(-value, group, -1, -1, 0) for group, value in enumerate(roots)]
    heapq.heapify(heap)
    values: list[float] = []
    while heap:
        negative, group, parent, axis, index = heapq.heappop(heap)
        yield Product(-negative, group, parent, axis, index)
        values.append(-negative)
        following = [(len(values) - 1, axis + 1, 1)]
        if axis >= 0:
            following.append((parent, axis, index + 1))
        if index == 1:
            following.append((parent, axis + 1, 1))
        for owner, next_axis, next_index in following:
            value = values[owner] + drop(group, next_axis, next_index)
            if value > -np.inf:
                heapq.heappush(heap, (-value, group, owner, next_axis, next_index))


# --- grids in the frame -----------------------------------------------------------------------
@dataclass(frozen=True, eq=False)
class PrunedGrid:
    """A pruned grid for the kernel exp(-|v|^2): what was kept of the product of `axes`.

    `rule` (n, m) has mass 1; `omitted` is the mass of the nodes that were dropped. Everywhere
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

    The Gaussian kernel is a product over the axes of any rotation. The principal direction
    that errs most over the gaps of the data gets the next node, so flat ones keep one; of the
    product grid the `n` largest weights are kept, found best-first without building it, and made
    to sum to 1. Of all such grids the one that errs least over pairs of `n_rows` rows, none of
    them far out, is returned. Mirror-symmetric to the last bit, weights positive. Useful up to
    about five spread directions; where the grid has no zero node, an odd `n` leaves one column
    unused, and a single spread direction has at most 128 nodes.

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
    found = wide_frame(X, scale, near) if d > WIDE else frame(moments(X, near), scale)
    directions = found.directions[:, found.variance > 0]
    gaps = _some_gaps(X[near == 1], n_rows) @ (directions * scale[:, None])
    if gaps.size and np.abs(gaps).max() > _MOST_SCALES:
        raise ValueError(
            f"X spreads over {np.abs(gaps).max():.1g} length scales of {kernel!r}, too far for any "
            f"grid; standardise X, or use a smaller gamma"
        )
    grid, _ = min(_framed_candidates(gaps, n), key=lambda each: each[1])
    return replace(grid, directions=directions * scale[:, None])


class Turned(NamedTuple):
    """A region seen in a frame; where m < d, the last side is of what no direction sees."""

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
    """The same for all gaps of a ball and a box at once."""
    sides, turn = scale * np.minimum(box, diameter), directions / scale[:, None]
    radius = min(float(np.linalg.norm(sides)), diameter * float(scale.max()))
    along = np.minimum(np.abs(turn).T @ sides, diameter * np.linalg.norm(directions, axis=0))
    if turn.shape[1] < len(scale):
        missed = np.diag(scale) - turn @ directions.T
        along = np.append(along, diameter * np.linalg.norm(missed, 2))
    return Turned(radius * _UP, np.minimum(along, radius) * _UP)


_UP = 1 + 1e-12  # more than the rounding of a rotation


def spread_rows(X: Matrix, n: int) -> Floats:
    """At most `n` rows of X, which may be sorted or come in a cycle."""
    return np.asarray(X[drawn(len(X), n)], dtype=np.float64)


def _some_gaps(X: Matrix, n_rows: int, n_pairs: int = 4000) -> Floats:
    """Differences of at most `n_pairs` pairs of `n_rows` rows spread over X."""
    rows = spread_rows(X, n_rows)
    left, right = np.triu_indices(len(rows), 1)
    some = np.random.default_rng(0).permutation(len(left))[:n_pairs]
    return rows[left[some]] - rows[right[some]]


def _mean_square(rule: Rule, gaps: Floats) -> float:
    return float(np.mean((rule(gaps) - np.exp(-np.einsum("ij,ij->i", gaps, gaps))) ** 2))


def _framed_candidates(gaps: Floats, n: int) -> Iterator[tuple[PrunedGrid, float]]:
    """Grids in the frame pruned to `n` columns, for a kernel exp(-|u|^2), from coarse to fine.

    Each comes with its mean squared error over the gaps. The direction that errs most gets the
    next node, or several where it will still err most after them. Stops when one direction has as
    many nodes as rules are tuned for, or when the grids have become so fine that they lose more
    by pruning than they gain.
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
    """Rules of one direction, judged where it matters: at gaps whose other factors are large."""

    most = 128

    def __init__(self, gaps: Floats, axis: int) -> None:
        squares = gaps**2
        self._gap = gaps[:, axis]
        self._exact = np.exp(-squares[:, axis])
        self._others = np.exp(squares[:, axis] - squares.sum(axis=1))
        self._made: dict[int, tuple[Rule, float]] = {}

    def rule(self, n: int) -> Rule:
        return self._best(n)[0]

    def error(self, n: int) -> float:
        return self._best(n)[1]

    def step(self, n: int, error: float, room: int) -> int:
        """Nodes to add to `n`: a quarter, at most `room`, where more than `error` is left after."""
        step = min(n // 4, room, self.most - n)
        if step > 1 and self.error(n) > 10 * error and self.error(n + step) > error:
            return step
        return 1

    def _best(self, n: int) -> tuple[Rule, float]:
        if n not in self._made:
            kernel = Gaussian(1.0)
            candidates = [kernel.gauss(n)]
            if n > 2:  # Gauss wins only below about three length scales
                steps = 12.0 / n * 2.0 ** np.linspace(-2.5, 0.5, 25)
                candidates += [rules.equispaced(kernel.density, n, step) for step in steps]
            errors = [self._judge(rule) for rule in candidates]
            best = int(np.argmin(errors))
            self._made[n] = candidates[best], errors[best]
        return self._made[n]

    def _judge(self, rule: Rule) -> float:
        error = (rule(self._gap[:, None]) - self._exact) * self._others
        return float(np.sqrt(np.mean(error**2)))


def _pruned(axes: Sequence[Rule], n: int) -> PrunedGrid:
    """The product of symmetric 1-D rules with only its `n` largest weights, mirrored."""
    # One side of each axis, from the middle outwards: there the weights fall.
    nodes = [axis.nodes[len(axis) // 2 :, 0] for axis in axes]
    with np.errstate(divide="ignore"):
        falls = [np.log(axis.weights[len(axis) // 2 :]) for axis in axes]
    root = sum(float(fall[0]) for fall in falls)
    falls = [np.append(fall - fall[0], -np.inf) for fall in falls]
    order = sorted(range(len(axes)), key=lambda i: -falls[i][1])

    def drop(_: int, axis: int, index: int) -> float:
        return float(falls[order[axis]][index]) if axis < len(order) else -np.inf

    found: list[Product] = []
    right: list[Floats] = []
    weights: list[float] = []
    middle = 0.0
    for product in largest_products([root], drop):
        found.append(product)
        node, step = np.array([side[0] for side in nodes]), product
        while step.axis >= 0:
            node[order[step.axis]] = nodes[order[step.axis]][step.factor]
            step = found[step.parent]
        if not node.any():
            middle = float(np.exp(product.value))
            continue
        room = (n - (middle > 0)) // 2 - len(right)
        if room == 0:
            break
        images = list(itertools.islice(_sign_changes(node), room))
        right += images
        weights += [float(np.exp(product.value))] * len(images)
    unturned = np.eye(len(axes))
    if not right:
        zero = Rule(np.zeros((1, len(axes))), np.ones(1))
        single = Rule(np.zeros((1, 1)), np.ones(1))
        return PrunedGrid(zero, 0.0, (single,) * len(axes), unturned)
    one_side = mirrored_nodes(np.array(right), np.array(weights), middle)
    omitted = max(0.0, 1.0 - 2 * sum(weights) - middle)
    return PrunedGrid(one_side, omitted, tuple(axes), unturned)


def _sign_changes(node: Floats) -> Iterator[Floats]:
    """The images of a node under reflections of single axes, one of each mirrored pair."""
    off = np.flatnonzero(node)
    for signs in itertools.product([1.0, -1.0], repeat=len(off) - 1):
        image = node.copy()
        image[off[1:]] *= signs
        yield image


def mirrored_nodes(right: Floats, weights: Floats, middle: float) -> Rule:
    """The rule of mass 1 of `right` (m, d), its mirror image, and 0 if `middle` has weight."""
    centre = [middle] if middle > 0 else []
    both = np.concatenate([weights[::-1], centre, weights])
    nodes = np.concatenate([-right[::-1], np.zeros((len(centre), right.shape[1])), right])
    return Rule(nodes, both / both.sum())
