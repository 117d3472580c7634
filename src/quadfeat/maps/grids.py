"""Fourier maps whose nodes do not depend on the data: the grids of the paper."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np

from .._checks import Constraint, check_choice, check_count, check_memory, generator
from .._rows import spread_rows
from .._typing import Floats, Matrix
from ..accuracy.bounds import Construction, Sparse
from ..constructions import polynomially_exact, reweighted
from ..constructions.polynomially_exact import candidates, normal_moments
from ..constructions.reweighted import Pool
from ..kernels.base import Group, Kernel
from ..rules import grids
from ..rules.choice import AxisRules
from ..rules.rule import Rule
from .base import COLUMNS
from .fourier import FourierMap, per_group, reaches

# Above these limits one-dimensional rules and exactness conditions take hours to compute.
_MOST_POINTS = 4096
_MOST_LEVELS = 12
_MOST_DEGREES = 100


class SparseGrid(FourierMap):
    """The Smolyak sparse grid of Gauss rules whose nodes double: one, two, four on each axis.

    Its nodes number below 3^A C(d+A, A). Signed weights are the paper's: exact to degree 2 level +
    1, with tiny errors on small regions, useless on large ones, and with signs on the columns. By
    default non-negative weights are refitted on the same nodes by least squares over pairs of the
    data: they are not exact to any degree, but their features work in any linear model.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    level : int, the total level A
    weights : "nonnegative" or "signed"

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), +1 or -1 per column; all +1 with non-negative weights
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0) if signed
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "level": partial(check_count, minimum=0, maximum=_MOST_LEVELS, example=2),
        "weights": partial(check_choice, choices=("nonnegative", "signed")),
    }

    def __init__(
        self, kernel: Kernel | None = None, *, level: int = 2, weights: str = "nonnegative"
    ) -> None:
        self.kernel = kernel
        self.level = level
        self.weights = weights

    def _rules(self, X: Matrix) -> list[Rule]:
        for d in {len(group.axes) for group in self._groups}:
            size = grids.smolyak_size(d, self.level)
            check_memory(
                8 * size * d * len(self._groups),
                f"level={self.level} on {d} axes makes {size:.4g} nodes: the grid",
                f"level={max(0, self.level - 1)} is smaller, SubsampledGrid has any width",
            )
        signed = [self._grid(group) for group in self._groups]
        if self.weights == "signed":
            return signed
        if max(len(group.axes) for group in self._groups) > 5:
            warnings.warn(
                "a sparse grid with non-negative weights is a bad choice above 5 axes: its nodes "
                "lie on few of them; ReweightedGrid or SubsampledGrid will err less at this width",
                UserWarning,
                stacklevel=7,
            )
        pool = Pool(self._groups, signed)
        rows = spread_rows(X, 500)
        fitted = reweighted.refit(pool.phases(rows), self._kernel.gram(rows, rows))
        return pool.rules(fitted.weights)

    def _constructions(self) -> Sequence[Construction]:
        if self.weights == "nonnegative":
            return self._rules_by_group
        return [
            Sparse(
                tuple(
                    tuple(group.kernel.axis(i).gauss(2**a) for a in range(self.level + 1))
                    for i in range(len(group.axes))
                )
            )
            for group in self._groups
        ]

    def _exact_degree(self) -> int | None:
        return 2 * self.level + 1 if self.weights == "signed" else None

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        plain = super()._largest_error(X, Y)
        return self._proven_or(plain, X, Y) if self.weights == "signed" else plain

    def _grid(self, group: Group) -> Rule:
        def rule_of(i: int) -> Callable[[int], Rule]:
            axis = group.kernel.axis(i)
            return functools.cache(lambda level: axis.gauss(2**level))

        return grids.smolyak([rule_of(i) for i in range(len(group.axes))], self.level)


class SubsampledGrid(FourierMap):
    """Nodes drawn from the dense grid by their weights: any width, in any dimension.

    About as accurate as random Fourier features at the same width, with n_points values per axis.
    A grid that fits into the width is used completely. Equal draws are merged, so there may be
    fewer than `n_components` columns.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns
    n_points : int, nodes per axis: Gauss where the spectrum has the moments, else equispaced
    share_groups : bool
        Use one set of nodes for all groups (a true convolution) instead of one set per group.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **COLUMNS,
        "n_points": partial(check_count, maximum=_MOST_POINTS, example=5),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        n_points: int = 5,
        share_groups: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.n_points = n_points
        self.share_groups = share_groups
        self.random_state = random_state

    def _rules(self, X: Matrix) -> list[Rule]:
        make = AxisRules(("gauss", "equispaced"), reaches(X))
        rng = generator(self.random_state)

        def draw(group: Group, budget: int) -> Rule:
            axes = [
                make(group.kernel.axis(i), column, self.n_points)
                for i, column in enumerate(group.axes)
            ]
            if grids.tensor_size(axes) <= budget:
                return grids.tensor(*axes)
            return grids.subsample(axes, budget // 2, rng)

        return per_group(self._groups, self.n_components, self.share_groups, draw)


class PolynomiallyExact(FourierMap):
    """Random nodes reweighted to integrate every polynomial up to `degree` exactly.

    Of all exact non-negative weights these are the closest to uniform, so that small regions gain
    and large ones do not suffer. If none exist at this width, `fit` keeps the nearest non-negative
    weights and warns with the degree that they reach and the width that would be enough.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    degree : int, total degree of the polynomials
    n_components : int, columns; an odd number leaves one unused
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **COLUMNS,
        "degree": partial(check_count, minimum=0, maximum=_MOST_DEGREES, example=2),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        degree: int = 2,
        n_components: int = 256,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.degree = degree
        self.n_components = n_components
        self.random_state = random_state

    def _rules(self, X: Matrix) -> list[Rule]:
        rng = generator(self.random_state)
        short: list[tuple[int, Group, Floats]] = []  # degree reached, if it is less than requested

        def draw(group: Group, budget: int) -> Rule:
            nodes, basis, degrees = candidates(group, self.degree, budget // 2, rng)
            exact = polynomially_exact.polynomially_exact_weights(
                basis, normal_moments(degrees), degrees
            )
            if not exact.feasible:
                short.append((exact.degree, group, basis))
            return Rule(nodes, exact.weights / exact.weights.sum())

        rules = per_group(self._groups, self.n_components, False, draw)
        self._met = min([self.degree, *(met for met, _, _ in short)])
        if short:
            self._warn(*min(short, key=lambda entry: entry[0]), rng)
        return rules

    def _exact_degree(self) -> int | None:
        return self._met

    def _warn(self, met: int, group: Group, basis: Floats, rng: np.random.Generator) -> None:
        """Warn with the degree reached, and the width that would be enough."""
        unused = [basis]

        def more(n: int) -> Floats:
            known = unused.pop() if unused else basis[:, :0]
            fresh = max(0, n - known.shape[1])
            extra = candidates(group, self.degree, fresh, rng)[1]
            return np.concatenate([known, extra], axis=1)

        enough = polynomially_exact.smallest_exact_count(more, np.eye(1, len(basis))[0])
        advice = "use a smaller degree"
        if enough is not None:
            advice = f"n_components={2 * enough * len(self._groups)} would do"
        warnings.warn(
            f"no non-negative rule of n_components={self.n_components} columns is exact to "
            f"degree={self.degree}; the nearest one is exact to degree {met}; {advice}",
            UserWarning,
            stacklevel=8,
        )
