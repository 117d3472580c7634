"""Non-negative weights that integrate polynomials exactly and stay close to uniform."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from math import comb

import numpy as np
import numpy.typing as npt

from .._checks import check_memory
from .._typing import Floats, Indices, Mask
from ..kernels.base import Group
from ..numerics.factorisations import cholesky_solve, plain_cholesky
from ..numerics.nnls import nonnegative_least_squares, require_finite
from ..rules import gauss


@dataclass(frozen=True)
class ExactWeights:
    """Non-negative weights of mirrored candidates and the polynomials they integrate exactly."""

    weights: Floats  # (m,)
    residual: float  # max |V a - mu| over all requested rows
    degree: int  # the largest even degree reached; one more by symmetry
    feasible: bool  # whether all requested rows are met


def even_basis(axes: Floats, degree: int) -> tuple[Floats, Indices]:
    """Products of 1-D polynomials of even total degree <= `degree`, and their degrees.

    Odd degrees vanish on mirrored nodes. The count is sum over even r <= degree of C(d + r - 1, r):
    1 + d (d + 1) / 2 for degree 2. Row 0 is the constant. With orthonormal polynomials of a product
    spectrum, the moments are (1, 0, ..., 0).

    Parameters
    ----------
    axes : (d, degree + 1, m)
        Values at the candidates of the axis' polynomials of degree 0, 1, ..., `degree`.
    """
    d, available, m = axes.shape
    if available <= degree:
        raise ValueError(f"axes has polynomials up to degree {available - 1}; need {degree}")
    rows, degrees = [], []
    for total in range(0, degree + 1, 2):
        for factors in itertools.combinations_with_replacement(range(d), total):
            row = np.ones(m)
            for axis in sorted(set(factors)):
                row = row * axes[axis, factors.count(axis)]
            rows.append(row)
            degrees.append(total)
    return np.array(rows), np.array(degrees, dtype=np.intp)


def polynomially_exact_weights(
    basis: Floats, moments: Floats, degrees: Indices, *, tolerance: float = 1e-13
) -> ExactWeights:
    """The non-negative weights closest to uniform that integrate the basis exactly.

    Minimises |a - 1/m|^2 subject to V a = mu and a >= 0, so weights stay spread out: not a vertex
    with as many nodes as constraints, which is worse than random on large regions. Newton's method
    on the dual, a = max(0, 1/m + V'y): about ten solves with one unknown per constraint.
    If no such weights exist, the rows of the largest feasible degree are met exactly and the others
    in the least-squares sense.

    Parameters
    ----------
    basis : (c, m)
        V: polynomials at the candidates. Row 0 is the constant 1; rows of unit variance.
    moments : (c,)
        mu: their exact means under the spectrum; mu_0 = 1.
    degrees : (c,)
        Degree of each row.
    tolerance : float
        Residual at which a row counts as met, relative to the row's sum of absolute terms.
    """
    if basis.ndim != 2 or moments.shape != basis.shape[:1] or degrees.shape != moments.shape:
        raise ValueError(
            f"basis {basis.shape}, moments {moments.shape}, degrees {degrees.shape}: "
            "need (c, m), (c,), (c,)"
        )
    if not (basis[0] == 1).all() or moments[0] != 1:
        raise ValueError("row 0 of basis must be the constant 1, with moment 1")
    require_finite(basis=basis, moments=moments)
    for degree in sorted(set(degrees.tolist()), reverse=True):
        met = degrees <= degree
        weights = _exact(basis[met], moments[met], tolerance)
        if weights is not None:
            break
    feasible = bool(met.all())
    if not feasible:
        weights = _nearest(basis, moments, met, tolerance)
    assert weights is not None  # degree 0 is always feasible, by uniform weights
    return ExactWeights(weights, _residual(basis, moments, weights), degree, feasible)


def smallest_exact_count(
    columns: Callable[[int], Floats],
    moments: Floats,
    *,
    relative_accuracy: float = 0.02,
    max_work: float = 2e10,
) -> int | None:
    """About the smallest number of candidates with a non-negative exact rule, or None.

    Doubles the number, then bisects over prefixes of the same candidates: once a prefix has a rule,
    every longer one has. For random candidates the answer is near twice the number of constraints
    (Wendel, 1962), a little more for skewed spectra.

    Parameters
    ----------
    columns : callable
        columns(n) is the basis V, (c, n), at n new candidates.
    moments : (c,)
        mu.
    relative_accuracy : float
        The width of the last bracket, relative to the answer.
    max_work : float
        Cap on multiply-adds; the default is about a second on one core.
    """
    constraints, work = len(moments), 0.0
    few = constraints - 1  # fewer candidates than constraints: no rule, almost surely
    pool = np.empty((constraints, 0))
    while True:
        more = pool.shape[1] or 2 * constraints
        work += _work(constraints, pool.shape[1] + more)
        if work > max_work:  # before any candidate is drawn: the basis itself may not fit in memory
            return None
        pool = np.concatenate([pool, columns(more)], axis=1)
        if _exact(pool, moments, 1e-12) is not None:
            break
        few = pool.shape[1]
    many = int(pool.shape[1])
    while many - few > max(1, relative_accuracy * many) and work < max_work:
        middle = (few + many) // 2
        work += _work(constraints, middle)
        if _exact(pool[:, :middle], moments, 1e-12) is not None:
            many = middle
        else:
            few = middle
    return many


def _work(constraints: int, candidates: int) -> float:
    """Multiply-adds of a feasibility test: some ten Newton steps."""
    return 10.0 * constraints**2 * candidates


def _exact(basis: Floats, moments: Floats, tolerance: float) -> Floats | None:
    """Weights closest to uniform with V a = mu and a >= 0, or None if there are none."""
    m = basis.shape[1]
    uniform = np.full(m, 1.0 / m)
    if (np.abs(basis @ uniform - moments) <= tolerance * (np.abs(basis) @ uniform)).all():
        return uniform
    if len(basis) > m:
        return None  # more conditions than unknowns: no solution except for symmetric nodes
    dual = _dual_newton(basis, moments, np.zeros(len(moments)), np.zeros(len(moments)), tolerance)
    if dual is None:
        return None
    weights = _primal(basis, dual)
    return _polished(basis, moments, weights, tolerance)


def _nearest(basis: Floats, moments: Floats, hard: Mask, tolerance: float) -> Floats:
    """Weights that meet the `hard` rows and come closest on the others; near uniform among ties."""
    m = basis.shape[1]
    if len(basis) > m:
        return _nearest_of_few(basis, moments, hard)
    best = np.full(m, 1.0 / m)
    dual, before, error = np.zeros(len(moments)), float(m), np.inf
    for softness in m * np.logspace(0, -8, 9):
        # The multipliers of unmet rows grow as 1 / softness: start each fit from there.
        scaled = np.where(hard, dual, dual * before / softness)
        # Only the hard rows need rounding accuracy, and those are polished below.
        found = _dual_newton(basis, moments, np.where(hard, 0.0, softness), scaled, 1e-8)
        weights = None if found is None else _primal(basis, found)
        if weights is not None:
            weights = _polished(basis[hard], moments[hard], weights, tolerance)
        if found is None or weights is None:
            break
        new = float(np.linalg.norm(moments - basis @ weights))
        if new >= error:
            break
        best = weights
        # A harder fit gains nothing and moves the weights further from uniform.
        if new > 0.98 * error and softness <= 1e-3 * m:
            break
        dual, before, error = found, softness, new
    return best


def _nearest_of_few(basis: Floats, moments: Floats, hard: Mask) -> Floats:
    """The same for fewer candidates than rows, in as many unknowns as candidates."""
    m = basis.shape[1]
    # Hard rows weigh so much that only rounding remains of their residual; the ridge breaks ties.
    scale = np.where(hard, 1e4, 1.0)[:, None]
    gram = (scale * basis).T @ (scale * basis)
    np.fill_diagonal(gram, np.diagonal(gram) + 1e-6 * len(basis))
    linear = (scale * basis).T @ (scale[:, 0] * moments) + 1e-6 * len(basis) / m
    weights = nonnegative_least_squares(gram, linear).weights
    return weights / weights.sum()


def _primal(basis: Floats, dual: Floats) -> Floats:
    weights: Floats = np.maximum(1.0 / basis.shape[1] + dual @ basis, 0.0)
    return weights


def _dual_newton(
    basis: Floats, moments: Floats, softness: Floats, dual: Floats, tolerance: float
) -> Floats | None:
    """The root y of V max(0, 1/m + V'y) + softness * y = mu, or None if there is none.

    The root minimises a convex piecewise quadratic function, so Newton's method with halved steps
    ends after finitely many. Without softness a root may not exist: a hyperplane then separates mu
    from the columns of V, y runs off along its normal, and the test below sees it.
    """
    m = basis.shape[1]
    rigid = not softness.any()
    weights = _primal(basis, dual)
    value = _dual_value(weights, moments, softness, dual)
    for _ in range(200):
        residual = moments - basis @ weights - softness * dual
        scale = np.abs(basis) @ weights + np.abs(moments) + softness * np.abs(dual)
        if (np.abs(residual) <= 0.5 * tolerance * scale).all():
            return dual
        # mu = V a with sum(a) = 1 is a mean of columns: mu . y cannot exceed the largest V_i . y.
        if rigid and dual @ moments > (dual @ basis).max() + 1e-12 * np.abs(dual).sum():
            return None
        active = basis[:, weights > 0]
        normal = active @ active.T
        np.fill_diagonal(normal, np.diagonal(normal) + softness + 1e-13 * m)
        step = cholesky_solve(plain_cholesky(normal), residual)
        found = _halved_step(basis, moments, softness, dual, step, value)
        if found is None:
            return dual
        dual, weights, value = found
    return dual


def _halved_step(
    basis: Floats, moments: Floats, softness: Floats, dual: Floats, step: Floats, value: float
) -> tuple[Floats, Floats, float] | None:
    for halvings in range(40):
        trial = dual + 0.5**halvings * step
        weights = _primal(basis, trial)
        new = _dual_value(weights, moments, softness, trial)
        if new <= value + 1e-15 * abs(value):
            return trial, weights, new
    return None


def _dual_value(weights: Floats, moments: Floats, softness: Floats, dual: Floats) -> float:
    return 0.5 * float(weights @ weights + (softness * dual) @ dual) - float(moments @ dual)


def _polished(basis: Floats, moments: Floats, weights: Floats, tolerance: float) -> Floats | None:
    """The nearest weights on the same nodes with V a = mu up to rounding; None if impossible."""
    weights = weights.copy()
    for _ in range(10):
        residual = moments - basis @ weights
        scale = np.abs(basis) @ weights + np.abs(moments)
        if (np.abs(residual) <= tolerance * scale).all():
            return weights
        used = np.flatnonzero(weights)
        correction = np.linalg.lstsq(basis[:, used], residual, rcond=1e-12)[0]
        weights[used] = np.maximum(weights[used] + correction, 0.0)
    return None


def _residual(basis: Floats, moments: Floats, weights: Floats) -> float:
    return float(np.abs(basis @ weights - moments).max())


def candidates(
    group: Group, degree: int, n: int, rng: np.random.Generator
) -> tuple[Floats, Floats, npt.NDArray[np.intp]]:
    """`n` draws from the group's spectrum, the basis polynomials at them, and their degrees."""
    d, even = len(group.axes), degree - degree % 2
    size = sum(comb(d + r - 1, r) for r in range(0, even + 1, 2))
    check_memory(
        8 * size * max(n, size),
        f"degree={degree} on {d} axes makes {size:,} conditions: their matrix",
        "a smaller degree, or an Anova kernel on subsets of axes, needs fewer",
    )
    # Polynomials orthonormal under each axis' spectrum, so that all means but the first are zero.
    kernels = [group.kernel.axis(i) for i in range(d)]
    nodes = group.kernel.sample(n, d, rng)
    if n >= d and even >= 2:
        nodes = _whitened(nodes, np.array([axis.gauss(2).nodes[1, 0] for axis in kernels]))
    axes = np.stack([gauss.orthonormal(axis, nodes[:, i], even) for i, axis in enumerate(kernels)])
    return nodes, *even_basis(axes, even)


def _whitened(nodes: Floats, deviations: Floats) -> Floats:
    """Candidates transformed linearly to have exactly the spectrum's second moments.

    Equal weights are then exact to degree 2, and few weights change for higher degrees.
    """
    unit = nodes / deviations
    values, vectors = np.linalg.eigh(unit.T @ unit / len(unit))
    return (unit @ (vectors / np.sqrt(values)) @ vectors.T) * deviations


def normal_moments(degrees: npt.NDArray[np.intp]) -> Floats:
    """The spectrum's means of polynomials orthonormal under it: 1 for the constant, else 0."""
    return np.eye(1, len(degrees))[0]
