"""Errors of candidate maps on rows they did not learn from."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .._typing import Floats, Indices, Matrix
from ..kernels.base import Kernel
from .base import FeatureMap
from .expansions import ExpansionMap, HermiteMercer, Landmarks
from .fourier import FourierMap
from .report import Trial, refused

_JUDGES = 1000  # rows held out to judge on


@dataclass(frozen=True, eq=False)
class ValidationRows:
    """Rows to judge on, the weights of their pairs, and of the typical ones, and the kernel."""

    rows: Matrix
    pairs: Floats
    typical: Floats
    exact: Floats
    at_zero: float

    @classmethod
    def of(
        cls, kernel: Kernel, rows: Matrix, weights: Floats, near: npt.NDArray[np.bool_]
    ) -> ValidationRows:
        def pairs(weights: Floats) -> Floats:
            product = np.multiply.outer(weights, weights)
            if len(product) > 1:
                np.fill_diagonal(product, 0.0)
            return product

        double = rows.astype(np.float64)
        typical = pairs(weights * near) if near.sum() > 1 else pairs(weights)
        return cls(
            rows,
            pairs(weights),
            typical,
            kernel.gram(double, double),
            kernel.at_zero(rows.shape[1]),
        )


def try_candidate(
    name: str,
    candidate: FeatureMap,
    learners: Matrix,
    lessons: dict[type, Any],
    judges: ValidationRows,
) -> Trial:
    try:
        if isinstance(candidate, ExpansionMap):
            candidate._fit_sharing(learners, lessons)
        else:
            candidate._fit_validated(learners)
        error = (
            candidate._approximate_gram(judges.rows, judges.rows) - judges.exact
        ) / judges.at_zero
    except ValueError as refusal:
        # Every map has refusals of its own (kernel, width, memory); the report shows their text.
        return refused(name, str(refusal))
    squares = np.square(error, dtype=np.float64)
    return Trial(
        name,
        candidate.n_columns_,
        float(np.sqrt(np.average(squares, weights=judges.pairs))),
        float(np.abs(error[judges.pairs > 0]).max()),
        cost_per_row(candidate),
        typical=float(np.sqrt(np.average(squares, weights=judges.typical))),
    )


def split_rows(distance: Floats, rng: np.random.Generator) -> tuple[Indices, Floats, Floats]:
    """Rows to judge on, how many rows each stands for, and how many each row not among them does.

    In heavy-tailed data the few outermost rows decide the error of all pairs, and a plain sample
    may hold none of them: the outermost half percent and five percent by `distance`, (n,), are
    sampled more densely, and weigh less. The others of these are then fewer,
    and weigh more; those to judge on stand for 0 among them.
    """
    n = len(distance)
    stands_for = np.ones(n)
    if n < 20:
        return np.arange(0), np.ones(n), stands_for
    ranked = np.argsort(-distance, kind="stable")
    cuts = [0, n // 200, n // 20, n]
    rows, weights = [], []
    for low, high, most in zip(cuts, cuts[1:], (100, 200, _JUDGES - 300), strict=False):
        stratum = ranked[low:high]
        count = min(len(stratum) // (2 if high < n else 4), most)
        if count:
            rows.append(rng.choice(stratum, size=count, replace=False))
            weights.append(np.full(count, len(stratum) / count))
            stands_for[stratum] = len(stratum) / (len(stratum) - count)
    stands_for[np.concatenate(rows)] = 0.0
    return np.concatenate(rows), np.concatenate(weights), stands_for


def weighted_order(weights: Floats, rng: np.random.Generator) -> Indices:
    """Rows of positive weight in an order whose first ones are a sample by weight.

    Each waits for an exponential time at the rate of its weight (Efraimidis and Spirakis, 2006).
    """
    rows = np.flatnonzero(weights)
    return rows[np.argsort(rng.exponential(size=len(rows)) / weights[rows])]


def cost_per_row(fitted: FeatureMap) -> float:
    """About how many multiply-adds a row costs; a sine or exponential counts as ten."""
    p = fitted.n_columns_
    if isinstance(fitted, HermiteMercer):
        basis = fitted.basis_
        made = sum(np.count_nonzero(each.rotation) + len(each.parent) for each in basis.expansions)
        products = [
            product
            for each in basis.expansions
            for product in (each.mixing, each.projection)
            if product is not None
        ]
        products += [] if basis.projection is None else [basis.projection]
        return float(made + sum(product.size for product in products))
    if isinstance(fitted, Landmarks):
        product = p / 2 if fitted.basis_.triangular else p
        return float(len(fitted.basis_.points) * (fitted.n_features_in_ + 10 + product))
    assert isinstance(fitted, FourierMap)
    return 10.0 * p + sum(rule.nodes.size for rule in fitted._group_rules)
