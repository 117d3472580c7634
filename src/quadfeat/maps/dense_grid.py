"""`DenseGrid`: the full tensor grid, and for isotropic kernels a lattice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import Constraint, check_choice, check_count, check_memory, check_positive
from .._errors import NoLattice
from .._typing import Floats, Matrix
from ..accuracy.bounds import Construction, Grid
from ..accuracy.region import Region
from ..accuracy.tolerance import GridSearch, columns_of
from ..kernels.base import Kernel
from ..rules import choice, grids
from ..rules.choice import MOST_NODES, AxisRules
from ..rules.rule import Rule
from .coordinates import Coordinates
from .fourier import FourierMap, kronecker_plan, reaches
from .lattice import MOST_AXES, Lattice

MOST_POINTS = 4096  # beyond, a one-dimensional rule takes hours to compute


class DenseGrid(FourierMap):
    """Every node of the tensor grid: n_points**n_features of them, as many columns.

    Exact to degree 2 n_points - 1 on each axis with the Gauss rule; weights positive. For a few
    axes nothing is as accurate; the width is exponential in their number, so beyond about five
    use another map, or an `Anova` kernel with small subsets.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_points : int or one int per axis, nodes on an axis
    rule : "auto", "gauss", "equispaced" or "clenshaw-curtis"
        "auto" takes on each axis the rule with the least error over the range of the data there.

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), all +1
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one

    Examples
    --------
    >>> X = np.random.default_rng(0).normal(size=(100, 2))
    >>> from quadfeat import Gaussian
    >>> DenseGrid(Gaussian(0.5), n_points=12).fit_transform(X).shape
    (100, 144)
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "rule": partial(check_choice, choices=("auto", *choice.KINDS))
    }

    def __init__(
        self, kernel: Kernel | None = None, *, n_points: Any = 5, rule: str = "auto"
    ) -> None:
        self.kernel = kernel
        self.n_points = n_points
        self.rule = rule

    def _check(self) -> None:
        super()._check()
        counts = [self.n_points] if np.ndim(self.n_points) == 0 else list(self.n_points)
        for count in counts:
            check_count("n_points", count, maximum=MOST_POINTS, example=5)

    def _build(self, X: Matrix) -> int:
        d = X.shape[1]
        counts = (
            np.broadcast_to(np.asarray(self.n_points), (d,))
            if np.ndim(self.n_points) == 0
            else np.asarray(self.n_points)
        )
        if len(counts) != d:
            raise ValueError(
                f"n_points has {len(counts)} numbers and {self._coordinates.name} has {d} columns; "
                f"give one number, or one per column"
            )
        width = min(columns_of(self._groups, counts), 1e300)
        check_memory(
            int(8 * width),
            f"n_points={self.n_points} on {max(len(g.axes) for g in self._groups)} axes makes "
            f"{width:.4g} columns: one row",
            "SubsampledGrid or SparseGrid(level=2) has a width of your choice",
        )
        make = AxisRules((self.rule,), reaches(X))
        self._axis_rules = [
            [
                make(group.kernel.axis(i), column, int(counts[column]))
                for i, column in enumerate(group.axes)
            ]
            for group in self._groups
        ]
        self._plan = kronecker_plan(self._groups, self._axis_rules, d)
        self.signs_ = np.ones(self._plan.n_columns)
        return self._plan.n_columns

    def lattice(self) -> Lattice:
        """As of `FeatureMap`."""
        check_is_fitted(self)
        if len(self._groups) != 1:
            raise NoLattice(f"its kernel is a sum of {len(self._groups)} groups, and one is needed")
        axes, _, weight = self._groups[0]
        if len(axes) > MOST_AXES:
            raise NoLattice(f"the grid has {len(axes)} axes")
        return Lattice.of_tensor(self, axes, self._axis_rules[0], weight)

    def coordinate_blocks(self, X: Any, dtype: Any) -> Iterator[tuple[int, Matrix]]:
        """Position of the first row, and rows in the coordinates of the kernel, for blocks of X.

        What the frequencies of the map are multiplied by: moved by `origin`, times the metric.
        """
        for start, rows in self._coordinates.blocks(X, self._origin, dtype):
            self._check_angles(rows)
            yield start, rows

    def _rules_fit(self, n_axes: list[int]) -> bool:
        one = all(rule.nodes.shape[1] == 1 for rules in self._axis_rules for rule in rules)
        return one and [len(rules) for rules in self._axis_rules] == n_axes

    @property
    def _rules_by_group(self) -> list[Rule]:
        return [grids.tensor(*axis) for axis in self._axis_rules]

    def _constructions(self) -> Sequence[Construction]:
        return [Grid(tuple(axis)) for axis in self._axis_rules]

    def _exact_degree(self) -> int | None:
        return 2 * int(np.min(self.n_points)) - 1 if self.rule == "gauss" else None

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        return self._proven_or(super()._largest_error(X, Y), X, Y)

    @classmethod
    def for_tolerance(
        cls, kernel: Kernel, tol: float, diameter: float, *, n_features: int = 1
    ) -> DenseGrid:
        """The smallest grid certified to err by at most `tol` for rows within `diameter`.

        Fitted and ready to transform; rules and nodes per axis are chosen for gaps up to the
        diameter.

        Parameters
        ----------
        kernel : Kernel, a product over axes (or a sum of such), with numbers for parameters
        tol : float, relative to k(0)
        diameter : float
        n_features : int, columns

        Examples
        --------
        >>> from quadfeat import Gaussian
        >>> grid = DenseGrid.for_tolerance(Gaussian(0.5), 1e-6, diameter=4.0, n_features=2)
        >>> bool(grid.certificate(diameter=4.0).value <= 1e-6)
        True
        """
        check_positive("tol", tol, example="1e-3")
        check_positive("diameter", diameter)
        resolved = kernel.resolve(np.outer([0.0, 1.0], np.full(n_features, diameter)))
        inner, matrix = resolved.coordinates(n_features)
        coordinates = Coordinates.of(matrix, n_features)
        region = coordinates.region(Region.of(d=n_features, diameter=diameter))
        corners = np.outer([0.0, 1.0], np.minimum(region.box, region.diameter))
        counts = GridSearch(inner, region, reaches(corners)).fewest(tol)
        if counts is None:
            raise ValueError(
                f"tol={tol:g} over a diameter of {diameter:g} needs more than {MOST_NODES} nodes "
                f"per axis; a larger tol, a smaller diameter or a smoother kernel will do"
            )
        grid = cls(inner, n_points=counts).fit(corners)._seen_from(resolved, n_features)
        grid.kernel = kernel
        return grid
