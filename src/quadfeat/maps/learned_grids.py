"""Fourier maps fitted to the data: reweighted grids, and grids along its principal directions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone

from .._checks import Constraint, check_choice, check_count, check_memory, generator
from .._typing import Floats, Matrix
from ..accuracy import certificate
from ..accuracy.bounds import Construction, Grid, Reweighted
from ..accuracy.proof import Certificate
from ..accuracy.region import Region, turned_gaps, turned_rows
from ..constructions import framed_grid, reweighted
from ..constructions.polished import MAX_PARAMETERS, descend, outward, polish
from ..constructions.reweighted import Pool
from ..kernels.base import Kernel
from ..kernels.stationary import Gaussian
from ..rules import grids
from ..rules.rule import Rule, zero_rule
from .base import COLUMNS
from .dense_grid import DenseGrid
from .fourier import FourierMap
from .grids import SubsampledGrid
from .random import OrthogonalFourier, QuasiRandomFourier


class ReweightedGrid(FourierMap):
    """The paper's data-dependent map: grid nodes weighted to fit the kernel on the data.

    Least squares over all pairs of `n_samples` training rows, weights non-negative, at most
    `n_components` columns chosen from a pool. On validation rows (a quarter of X if there are few)
    it is never worse than the pool's weights at the same width. It is exact to no degree and has no
    certificate.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_components : int, columns
    pool : FourierMap or None
        Where the nodes come from; None is a `SubsampledGrid` twice as wide.
    n_samples : int, training rows; n_samples**2 pairs
    selection : "prune" or "l1"
        Drop the smallest weights and refit until the width is met, or the paper's l1 penalty
        bisected to it.
    polish : bool
        Move the nodes too, by least squares over fresh pairs; for kernels of one group. The error
        is up to ten times smaller, for a second or more of fitting; wider maps gain less. Fitted on
        at most 20,000 rows, moved outward a little, because new rows may lie farther out.
    random_state : int, RandomState or None

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to about k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    _most_columns = 2**12  # the solver's cost grows with the cube
    _constraints: ClassVar[Mapping[str, Constraint]] = {
        **COLUMNS,
        "n_samples": partial(check_count, example=500),
        "selection": partial(check_choice, choices=("prune", "l1")),
    }

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_components: int = 256,
        pool: FourierMap | None = None,
        n_samples: int = 500,
        selection: str = "prune",
        polish: bool = False,
        random_state: Any = None,
    ) -> None:
        self.kernel = kernel
        self.n_components = n_components
        self.pool = pool
        self.n_samples = n_samples
        self.selection = selection
        self.polish = polish
        self.random_state = random_state

    def _check(self) -> None:
        super()._check()
        if self.pool is not None and not isinstance(self.pool, FourierMap):
            raise TypeError(
                f"pool must be a Fourier map such as SubsampledGrid(n_components=512), or None, "
                f"got {self.pool!r}"
            )

    def _rules(self, X: Matrix) -> list[Rule]:
        rng = generator(self.random_state)
        if self.polish:
            X = outward(X, rng)
        order = rng.permutation(len(X))
        n_training = min(self.n_samples, len(X) - len(X) // 4)
        training = X[order[:n_training]].astype(np.float64)
        validation = X[order[n_training : n_training + self.n_samples]].astype(np.float64)
        if self.n_components == 1 and len(self._groups) == 1:
            return [zero_rule(X.shape[1])]
        check_memory(
            24 * n_training**2,
            f"n_samples={self.n_samples}: a Gram matrix",
            "n_samples=500 will do",
        )
        gram, select = self._kernel.gram(training, training), _SELECTIONS[self.selection]
        for pool in self._pools(X, rng):
            check_memory(
                24 * len(pool.costs) ** 2,
                f"reweighting a pool of {len(pool.costs)} nodes",
                "a narrower pool, or fewer n_components, will do",
            )
            system = reweighted.all_pairs_system(pool.phases(training), gram)
            chosen = select(system, pool.costs, self.n_components)
            spent = pool.costs[chosen.index[chosen.weights > 0]].sum()
            if spent >= self.n_components - 1 or len(pool.costs) > _LARGE_POOL:
                break
        weights = np.zeros(len(pool.costs))
        weights[chosen.index] = chosen.weights
        if len(validation) > 1:
            plain = pool.plain_half(self.n_components, rng)
            phases = pool.phases(validation)
            # If the whole pool fits, its weights are mixed with the new ones, so that no node is
            # lost.
            weights = reweighted.keep_better(
                phases,
                self._kernel.gram(validation, validation),
                plain,
                weights,
                mix=int(pool.costs.sum()) <= self.n_components,
            )
        rules = pool.rules(weights)
        return [self._polished(rules[0], X, rng)] if self.polish else rules

    def _polished(self, rule: Rule, X: Matrix, rng: np.random.Generator) -> Rule:
        if len(self._groups) > 1 or len(self._groups[0].axes) < X.shape[1]:
            raise ValueError(
                f"polish=True moves nodes in the space of all columns, and this kernel sums over "
                f"{len(self._groups)} groups of axes; use polish=False"
            )
        zero = ~rule.nodes.any(axis=1)
        if len(X) < 3 or zero.all():
            return rule
        # Centring keeps the gaps; in units of their spread, the result has no units of X.
        rows = X - X.mean(axis=0, dtype=np.float64)
        spread, kernel = float(rows.std()) or 1.0, self._groups[0].kernel
        rows /= spread
        if rule.nodes.size + len(rule) > MAX_PARAMETERS:

            def gram(rows: Floats) -> Floats:
                scaled = spread * rows.astype(np.float64)
                return kernel.gram(scaled, scaled)

            nodes, weights = descend(spread * rule.nodes, rule.weights, gram, rows, rng)
            return Rule(nodes / spread, weights)
        at_zero = float(rule.weights[zero].sum())

        def others(gaps: Floats) -> Floats:
            return kernel.group_at(spread * gaps) - at_zero

        nodes, weights = polish(spread * rule.nodes[~zero], rule.weights[~zero], others, rows, rng)
        return Rule(
            np.concatenate([nodes / spread, rule.nodes[zero]]),
            np.concatenate([weights, rule.weights[zero]]),
        )

    def _constructions(self) -> Sequence[Construction]:
        if self.polish or not isinstance(self.pool, DenseGrid):
            return self._rules_by_group
        # Nodes of a full grid with other weights: the grid's bound plus the weight moved.
        return [
            Reweighted(grid, grids.mirror(rule)) if isinstance(grid, Grid) else rule
            for grid, rule in zip(self._pool._constructions(), self._rules_by_group, strict=True)
        ]

    def _pools(self, X: Matrix, rng: np.random.Generator) -> Iterator[Pool]:
        """The user's pool; or grids of two, four and eight times the width.

        A larger grid is used if the best weights on one need fewer nodes than the width allows.
        """
        if self.pool is not None:
            pool = clone(self.pool).set_params(kernel=self._kernel)
            if "random_state" in pool.get_params() and pool.random_state is None:
                pool.set_params(random_state=int(rng.integers(2**31 - 1)))
            self._pool = pool._fit_validated(X)
            yield Pool(self._groups, self._pool._rules_by_group)
            return
        fewest = min(len(group.axes) for group in self._groups)
        for times in (2, 4, 8):
            width = max(times * self.n_components, 4 * len(self._groups))
            # The grid must have more nodes than are drawn: 11 per axis as in the paper, or more on
            # few axes.
            n_points = int(np.clip(np.ceil((2 * width) ** (1 / fewest)), 11, 128))
            grid = SubsampledGrid(
                self._kernel,
                n_components=width,
                n_points=n_points,
                random_state=int(rng.integers(2**31 - 1)),
            )
            yield Pool(self._groups, grid._fit_validated(X)._rules_by_group)


# Beyond this a pool is not doubled: the solver's cost grows with its cube.
_LARGE_POOL = 1500
_SELECTIONS = {"prune": reweighted.prune, "l1": reweighted.select_l1}


class FramedGrid(FourierMap):
    """A grid along the principal directions of the data, without the nodes of smallest weight.

    The Gaussian kernel is rotation-invariant, so directions of large spread get many nodes and flat
    ones a single node. Weights are positive. There are exactly `n_components` columns (one less if
    their parity requires it, and fewer if the grid has fewer nodes: no direction gets more than
    128). Excellent up to about five spread directions, useless beyond.

    Parameters
    ----------
    kernel : Gaussian, default Gaussian("scale")
    n_components : int, columns

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    _most_columns = 2**14  # a minute or two
    _constraints = COLUMNS

    def __init__(self, kernel: Kernel | None = None, *, n_components: int = 256) -> None:
        self.kernel = kernel
        self.n_components = n_components

    def _rules(self, X: Matrix) -> list[Rule]:
        if not isinstance(self._kernel, Gaussian):
            raise ValueError(
                f"FramedGrid needs the rotation-invariant Gaussian(gamma), got {self._kernel!r}; "
                f"DenseGrid takes every product kernel"
            )
        self._framed = framed_grid.framed_grid(self._kernel, X, self.n_components)
        return [self._framed.unframed]

    def _certify(self, region: Region, X: Floats | None) -> Certificate:
        """The certificate of the grid in its principal directions, including the weight dropped.

        The part of gaps outside of these directions counts as one more axis, with a single node at
        0.
        """
        assert isinstance(self._kernel, Gaussian)
        framed, axes, nodes = self._framed, self._framed.axes, self._framed.rule.nodes
        scale = np.broadcast_to(np.sqrt(self._kernel.gamma), (self._n_axes,))
        if X is None:
            seen = turned_gaps(framed.directions, scale, region.diameter, region.box)
        else:
            seen = turned_rows(framed.directions, scale, X)
        if len(seen.box) > len(axes):
            axes = (*axes, Rule(np.zeros((1, 1)), np.ones(1)))
            nodes = np.column_stack([nodes, np.zeros(len(nodes))])
        pruned = Reweighted(Grid(axes), Rule(nodes, framed.rule.weights))
        turned = Region.of(diameter=seen.diameter, box=seen.box)
        proven = certificate.certify(Gaussian(1.0), [pruned], turned)
        return replace(proven, region=region, method=f"{proven.method}, in its frame")


def polishing_start(d: int, p: int) -> FourierMap:
    """The best start for polishing nodes, as measured by benchmarks/accuracy.py."""
    if d <= 5:
        return FramedGrid(n_components=p)
    if d <= 40:
        return QuasiRandomFourier(n_components=4 * p)
    return OrthogonalFourier(n_components=p)
