"""Non-negative least squares: an active-set solver that handles rank-deficient systems."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._typing import Floats, Indices, Mask
from .factorisations import cholesky, cholesky_solve

# Candidates that join in one round, relative to those already in; benchmarks/nnls.py compared 1/16
# to 2. Smaller needs more passes over all candidates, larger more factorisations; the errors after
# stopping at 500 or 1,000 nodes agree to 10%.
_GROWTH = 0.25


@dataclass(frozen=True)
class Solution:
    """Weights a >= 0 and how far they are from optimal.

    `kkt_residual` is the largest violated slope (M_i'(b - M a) / |M_i| where it is positive, and
    its absolute value where a_i > 0) relative to the largest |M_i'b| / |M_i|: 0 at the optimum.
    """

    weights: Floats  # (m,)
    kkt_residual: float
    iterations: int


class _Problem:
    """min |M a - b|^2 over a >= 0, given by G = M'M and c = M'b, with columns of unit length."""

    def __init__(self, gram: Floats, linear: Floats) -> None:
        self.gram = gram
        self.linear = linear
        # (m,) 1 / |M_i|, and 0 for columns without length, which keep weight 0
        self.scale = inverse_lengths(np.diagonal(gram))

    def slopes(self, weights: Floats) -> Floats:
        """M'(b - M a) for all candidates, (m,)."""
        passive = np.flatnonzero(weights)
        scaled = self.scale * weights
        if 4 * len(passive) < len(weights):
            # Few rows: gathering them moves fewer bytes than all of G.
            return self.scale * (self.linear - scaled[passive] @ self.gram[passive])
        return self.scale * (self.linear - self.gram @ scaled)

    def passive_slopes(self, passive: Indices, values: Floats) -> Floats:
        """The same, given that only the candidates `passive` have weights."""
        scale = self.scale[passive]
        block = self.gram[np.ix_(passive, passive)]
        slopes: Floats = scale * (self.linear[passive] - block @ (scale * values))
        return slopes

    def passive_gram(self, passive: Indices) -> Floats:
        """M'M over `passive`: a fresh array."""
        scale = self.scale[passive]
        block: Floats = self.gram[np.ix_(passive, passive)]
        block *= scale
        block *= scale[:, None]
        return block


def nonnegative_least_squares(
    gram: Floats,
    linear: Floats,
    *,
    start: Floats | None = None,
    max_iterations: int | None = None,
    max_support: int | None = None,
    tolerance: float = 1e-12,
) -> Solution:
    """The minimiser of a'Ga - 2c'a over a >= 0, for a positive semi-definite G.

    A block active set: groups of candidates with the steepest slopes join, a Cholesky factor gives
    the unconstrained minimiser over the joined ones, and a projected step towards it drops those
    that would become negative (Bertsekas 1982, after Lawson and Hanson 1974). The objective falls
    at every step, so it cannot cycle; rank-deficient G is damped; scaling c, or rows and columns of
    G, changes nothing. From a Gram matrix the residual norm is resolved to about 1e-8 of |b|.

    Parameters
    ----------
    gram : (m, m)
        G = M'M.
    linear : (m,)
        c = M'b.
    start : (m,), optional
        Non-negative weights to start from; zero without it.
    max_iterations : int, optional
        Cap on rounds of joining candidates; 10 (m + 10) without it.
    max_support : int, optional
        Stop as soon as this many weights are positive: greedy selection, not the optimum.
    tolerance : float
        KKT residual at which to stop.

    Examples
    --------
    >>> solution = nonnegative_least_squares(np.eye(2), np.array([3.0, -1.0]))
    >>> solution.weights
    array([3., 0.])
    """
    gram, linear = np.asarray(gram, dtype=np.float64), np.asarray(linear, dtype=np.float64)
    if gram.ndim != 2 or gram.shape != (len(linear), len(linear)):
        raise ValueError(
            f"gram has shape {gram.shape}, linear {linear.shape}: need (m, m) and (m,)"
        )
    require_finite(gram=gram, linear=linear)
    problem = _Problem(gram, linear)
    return _active_set(problem, start, max_iterations, max_support, tolerance)


def _active_set(
    problem: _Problem,
    start: Floats | None,
    max_iterations: int | None,
    max_support: int | None,
    tolerance: float,
) -> Solution:
    """Let candidates join until no slope exceeds `tolerance`; weights times column lengths."""
    m = len(problem.scale)
    limit = m if max_support is None else max_support
    cap = 10 * (m + 10) if max_iterations is None else max_iterations
    unit = float(np.abs(problem.slopes(np.zeros(m))).max(initial=0.0))
    weights = _scaled_start(start, problem.scale, limit)
    if unit == 0.0:  # b is orthogonal to every column: zero is optimal whatever the start
        return Solution(np.zeros(m), 0.0, 0)
    weights = _settle(problem, weights, np.flatnonzero(weights), tolerance * unit)
    group, iterations, refused = 1.0, 0, np.zeros(m, dtype=bool)
    slopes = problem.slopes(weights)
    while iterations < cap:
        support = np.flatnonzero(weights)
        open_ = (weights == 0) & (slopes > tolerance * unit) & ~refused
        room = min(limit - len(support), max(1, int(group * (4 + _GROWTH * len(support)))))
        joining = _largest(slopes, np.flatnonzero(open_), room)
        if not len(joining):
            break
        iterations += 1
        weights = _settle(
            problem, weights, np.concatenate([support, joining]), 0.1 * tolerance * unit
        )
        if weights[joining].any():
            group, refused = 1.0, np.zeros(m, dtype=bool)
        elif len(joining) > 1:
            group = 0.0  # rounding refused the whole group: try the steepest one alone
        else:
            refused[joining] = True  # if that is refused too, skip it until other weights change
        slopes = problem.slopes(weights)
    return Solution(weights * problem.scale, _kkt_residual(weights, slopes) / unit, iterations)


def _settle(problem: _Problem, weights: Floats, passive: Indices, tolerance: float) -> Floats:
    """Minimise over the columns `passive`, dropping columns that reach zero."""
    values = weights[passive]
    factor: Floats | None = None
    gram = np.empty((0, 0))
    for _ in range(len(passive) + 20):  # drops are finite; the rest is refinement
        slopes = problem.passive_slopes(passive, values)
        if not len(passive) or (np.abs(slopes).max() <= tolerance and bool((values > 0).all())):
            break
        if factor is None:
            gram = problem.passive_gram(passive)
            factor = cholesky(gram)
        direction = cholesky_solve(factor, slopes)
        step = _plunge(values, direction, slopes, gram)
        if step is None:
            step = _projected_step(values, direction, slopes, gram)
        if step is None:
            break
        values, stay = step
        if not stay.all():
            passive, values, factor = passive[stay], values[stay], None
    settled = np.zeros(len(weights))
    settled[passive] = values
    return settled


def _plunge(
    values: Floats, direction: Floats, slopes: Floats, gram: Floats
) -> tuple[Floats, Mask] | None:
    """Drop all columns that would become negative and solve again until none does; None if worse.

    Usually right, and then a few factorisations replace hundreds of single drops.
    """
    stay = values + direction > 0
    while not stay.all():
        kept = np.flatnonzero(stay)
        if not len(kept):
            return None
        gone = ~stay
        # Minimise over the kept columns from `values` with the others moved to zero.
        slopes_kept = slopes[kept] + gram[np.ix_(kept, np.flatnonzero(gone))] @ values[gone]
        block = gram[np.ix_(kept, kept)]
        moved = np.zeros(len(values))
        moved[kept] = values[kept] + cholesky_solve(cholesky(block), slopes_kept)
        negative = stay & (moved <= 0)
        if not negative.any():
            return (moved, stay) if _lowers(moved - values, slopes, gram) else None
        stay &= ~negative
    return None


def _lowers(step: Floats, slopes: Floats, gram: Floats) -> bool:
    """Whether the step lowers the objective by at least a tenth of what its slope predicts.

    Computed from the step: differences of objectives would be lost in rounding at slopes of 1e-8.
    """
    linear = float(slopes @ step)
    return linear > 0 and float(step @ gram @ step) - 2 * linear <= -0.1 * linear


def _projected_step(
    values: Floats, direction: Floats, slopes: Floats, gram: Floats
) -> tuple[Floats, Mask] | None:
    """Values after a step that lowers the objective, and which columns stay; None at the minimum.

    First t = 1, 1/2, ... along max(0, values + t direction), which may drop many columns at once.
    If the objective turns up before that (nearly dependent columns), it takes the steps of Lawson
    and Hanson: columns at zero that would become negative leave, and then the one that reaches zero
    first. Up to there the objective falls, because it is convex, so the number of steps is finite.
    """
    for halvings in range(8):
        moved = np.maximum(values + 0.5**halvings * direction, 0.0)
        if _lowers(moved - values, slopes, gram):
            return moved, moved > 0
    blocked = (values == 0) & (direction <= 0)
    if blocked.any():
        return values, ~blocked
    falling = np.flatnonzero((values > 0) & (direction < 0))
    if not len(falling):
        return None
    reach = values[falling] / -direction[falling]
    if reach.min() >= 1.0:
        return None
    moved = np.maximum(values + reach.min() * direction, 0.0)
    moved[falling[np.argmin(reach)]] = 0.0
    return moved, moved > 0


def _scaled_start(start: Floats | None, scale: Floats, limit: int) -> Floats:
    if start is None:
        return np.zeros(len(scale))
    start = np.asarray(start, dtype=np.float64)
    if start.shape != scale.shape:
        raise ValueError(f"start has shape {start.shape}; the problem has {len(scale)} candidates")
    require_finite(start=start)
    if (start < 0).any():
        raise ValueError(f"start has the negative weight {start.min():g}; weights must be >= 0")
    scaled = np.divide(start, scale, out=np.zeros(len(scale)), where=scale > 0)
    if np.count_nonzero(scaled) > limit:
        raise ValueError(
            f"start has {np.count_nonzero(scaled)} positive weights, more than max_support={limit}"
        )
    return scaled


def _kkt_residual(weights: Floats, slopes: Floats) -> float:
    violations = np.where(weights > 0, np.abs(slopes), np.maximum(slopes, 0.0))
    return float(violations.max(initial=0.0))


def inverse_lengths(squares: Floats) -> Floats:
    """1 / sqrt, and 0 for columns so short that the longest makes them rounding error."""
    if not np.isfinite(squares).all():
        raise ValueError(
            "squared column lengths overflow; divide the columns by their largest entry"
        )
    floor = np.finfo(np.float64).eps ** 2 * max(float(squares.max(initial=0.0)), 0.0)
    lengths = np.sqrt(np.maximum(squares, 0.0))
    return np.divide(1.0, lengths, out=np.zeros(len(squares)), where=squares > floor)


def _largest(values: Floats, among: Indices, count: int) -> Indices:
    """The `count` indices of `among` with the largest values, largest first; ties by index."""
    if count <= 0:
        return among[:0]
    if count < len(among):
        among = np.sort(among[np.argpartition(-values[among], count - 1)[:count]])
    ordered: Indices = among[np.argsort(-values[among], kind="stable")]
    return ordered


def require_finite(**arrays: Floats) -> None:
    for name, array in arrays.items():
        if not np.isfinite(array).all():
            raise ValueError(f"{name} contains NaN or infinity; every entry must be finite")
