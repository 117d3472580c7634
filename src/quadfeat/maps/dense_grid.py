"""`DenseGrid`: the full tensor grid, and for isotropic kernels a lattice."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import (
    Constraint,
    axes_of,
    check_choice,
    check_count,
    check_memory,
    check_positive,
    optional,
)
from .._engine.plans import FourierPlan
from .._errors import NoLattice
from .._typing import Floats, Integers, Matrix
from ..accuracy.bounds import Construction, Grid, SpectralLattice
from ..accuracy.region import Region
from ..accuracy.tolerance import GridSearch, columns_of
from ..kernels.base import Kernel
from ..kernels.matern import Matern
from ..rules import choice, grids
from ..rules.choice import MOST_NODES, AxisRules
from ..rules.lattice import (
    MOST_AXIS_NODES,
    axis_rule_for,
    best_steps,
    lattice_for,
    lattice_rule,
)
from ..rules.rule import Axis, Rule, axis_key
from .coordinates import Coordinates
from .fourier import FourierMap, fourier_plan, kronecker_plan, reaches
from .lattice import MOST_AXES, Lattice

_MARGIN = 1.05  # margin of the box for a tolerance: models fit maps on a sample
MOST_POINTS = 4096  # beyond, a one-dimensional rule takes hours to compute


class DenseGrid(FourierMap):
    """Every node of the tensor grid: n_points**n_features of them, as many columns.

    Exact to degree 2 n_points - 1 on each axis with the Gauss rule; weights positive. The most
    accurate map for a few axes. The width grows exponentially with their number, so beyond about
    five use another map, or an `Anova` kernel with small subsets.

    Parameters
    ----------
    kernel : Kernel, default Gaussian("scale")
    n_points : int or one int per axis, nodes on an axis
    rule : "auto", "gauss", "equispaced" or "clenshaw-curtis"
        "auto" takes on each axis the rule with the smallest error over the range of the data.
        With "equispaced" an isotropic `Matern` kernel has a grid in up to 3 axes too: a lattice,
        of an odd number of nodes on each axis, with weights as the spectral density.
    tol : float or None
        In place of `n_points`: the fewest equispaced nodes whose error is certified to be at most
        `tol` times k(0) over a box 5% larger than that of X. The period is the side of the box plus
        a decay length of the kernel; the cut-off is where little of the spectrum is left.

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
    >>> grid = DenseGrid(Gaussian(0.5), tol=1e-3).fit(X)
    >>> bool(grid.certificate(X).value <= 1e-3)
    True
    """

    _constraints: ClassVar[Mapping[str, Constraint]] = {
        "rule": partial(check_choice, choices=("auto", *choice.KINDS)),
        "tol": optional(partial(check_positive, example="1e-3")),
    }
    _steps: Floats | None = None  # steps of the lattice of an isotropic kernel

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        n_points: Any = 5,
        rule: str = "auto",
        tol: float | None = None,
    ) -> None:
        self.kernel = kernel
        self.n_points = n_points
        self.rule = rule
        self.tol = tol

    def _check(self) -> None:
        super()._check()
        counts = [self.n_points] if axes_of("n_points", self.n_points) == 0 else list(self.n_points)
        for count in counts:
            check_count("n_points", count, maximum=MOST_POINTS, example=5)
        if self.tol is not None and self.rule not in ("auto", "equispaced"):
            raise ValueError(
                f"tol={self.tol:g} is for rule='equispaced', whose error is known, got "
                f"rule={self.rule!r}; leave tol=None, or give rule='equispaced'"
            )

    def _build(self, X: Matrix) -> int:
        d = X.shape[1]
        self.__dict__.pop("_steps", None)
        reach = np.maximum(reaches(X), 1e-100)
        if self._is_isotropic:
            return self._build_lattice(reach)
        if self.tol is None:
            self._axis_rules = self._rules_of_counts(X)
        else:
            self._axis_rules = self._rules_of_tolerance(self.tol, _MARGIN * reach)
        self._plan = kronecker_plan(self._groups, self._axis_rules, d)
        self.signs_ = np.ones(self._plan.n_columns)
        return self._plan.n_columns

    def _counts(self, d: int) -> Integers:
        counts = np.asarray(self.n_points)
        if np.ndim(self.n_points) == 0:
            return np.broadcast_to(counts, (d,))
        if len(counts) != d:
            raise ValueError(
                f"n_points has {len(counts)} numbers and {self._coordinates.name} has {d} columns; "
                f"give one number, or one per column"
            )
        return counts

    def _check_width(self, width: float, what: str) -> None:
        check_memory(
            int(8 * min(width, 1e300)),
            f"{what} on {max(len(g.axes) for g in self._groups)} axes makes "
            f"{width:.4g} columns: one row",
            "SubsampledGrid or SparseGrid(level=2) has a width of your choice",
        )

    def _rules_of_counts(self, X: Matrix) -> list[list[Rule]]:
        counts = self._counts(X.shape[1])
        width = min(columns_of(self._groups, counts), 1e300)
        self._check_width(width, f"n_points={self.n_points}")
        make = AxisRules((self.rule,), reaches(X))
        return [
            [
                make(group.kernel.axis(i), column, int(counts[column]))
                for i, column in enumerate(group.axes)
            ]
            for group in self._groups
        ]

    def _rules_of_tolerance(self, tol: float, reach: Floats) -> list[list[Rule]]:
        """Rules whose bounds add up to `tol` over the axes of every group."""
        known: dict[Any, Rule] = {}

        def made(axis: Axis, column: int, tol: float) -> Rule:
            if not axis.decreasing:
                raise ValueError(
                    f"tol={self.tol:g} is for kernels that fall with the gap, such as Gaussian, "
                    f"and {axis!r} is not known to; give n_points=64 instead"
                )
            key = axis_key(axis), float(reach[column]), tol
            if key not in known:
                rule = axis_rule_for(axis, tol, float(reach[column]))
                if rule is None:
                    raise self._too_fine(reach)
                known[key] = rule
            return known[key]

        return [
            [
                made(axis, int(column), tol / len(group.axes))
                for axis, column in zip(group.kernel.axes(len(group.axes)), group.axes, strict=True)
            ]
            for group in self._groups
        ]

    def _too_fine(self, reach: Floats) -> ValueError:
        return ValueError(
            f"tol={self.tol:g} over a box of {reach.round(4).tolist()} needs more than "
            f"{MOST_AXIS_NODES:,} nodes on an axis, or 2^24 in all; a larger tol, such as "
            f"{10 * (self.tol or 0):g}, a smoother kernel or a longer length scale needs fewer"
        )

    # --- isotropic kernels
    @property
    def _is_isotropic(self) -> bool:
        """Whether the map is a lattice, as for the isotropic Matern kernel on request."""
        asked = self.tol is not None or self.rule == "equispaced"
        kernel, axes = self._groups[0].kernel, self._groups[0].axes
        isotropic = isinstance(kernel, Matern) and not kernel.product
        return asked and isotropic and len(self._groups) == 1 and len(axes) <= MOST_AXES

    def _build_lattice(self, reach: Floats) -> int:
        axes, kernel, _ = self._groups[0]
        assert isinstance(kernel, Matern)
        box, scales = reach[axes], kernel.frequency_scales(len(axes))
        spectrum = kernel.group_at, kernel.joint_density, scales
        if self.tol is not None:
            chosen = lattice_for(*spectrum, self.tol, _MARGIN * box)
            if chosen is None:
                raise self._too_fine(box)
            self._steps, counts = chosen
        else:
            counts = self._counts(self._n_axes)[axes] // 2 * 2 + 1
            self._steps = best_steps(*spectrum, counts, box)
        self._check_width(float(np.prod(counts, dtype=float)), f"n_points={counts.tolist()}")
        self._axis_rules = []
        self._made_rules = [lattice_rule(kernel.joint_density, self._steps, counts)]
        self._plan, self.signs_ = fourier_plan(self._groups, self._made_rules, self._n_axes)
        return self._plan.n_columns

    def lattice(self) -> Lattice:
        """As of `FeatureMap`."""
        check_is_fitted(self)
        if len(self._groups) != 1:
            raise NoLattice(f"its kernel is a sum of {len(self._groups)} groups, and one is needed")
        axes, _, weight = self._groups[0]
        if len(axes) > MOST_AXES:
            raise NoLattice(f"the grid has {len(axes)} axes")
        if self._steps is not None:
            assert isinstance(self._plan, FourierPlan)
            return Lattice.of_nodes(self, axes, self._steps, self._plan)
        return Lattice.of_tensor(self, axes, self._axis_rules[0], weight)

    def proven_error(self, box: Floats) -> float:
        """A proven bound of |k - k~| / k(0) for gaps up to `box` on the axes of the lattice."""
        sides = np.zeros(self._n_axes)
        sides[self._groups[0].axes] = box
        return self._certify(Region.of(d=self._n_axes, box=sides), None).value

    def coordinate_blocks(self, X: Any, dtype: Any) -> Iterator[tuple[int, Matrix]]:
        """Position of the first row, and rows in the coordinates of the kernel, for blocks of X.

        The frequencies of the map multiply these: rows minus `origin`, times the metric.
        """
        for start, rows in self._coordinates.blocks(X, self._origin, dtype):
            self._check_angles(rows)
            yield start, rows

    def _rules_fit(self, n_axes: list[int]) -> bool:
        if self._steps is not None:
            return super()._rules_fit(n_axes) and [len(self._steps)] == n_axes
        one = all(rule.nodes.shape[1] == 1 for rules in self._axis_rules for rule in rules)
        return one and [len(rules) for rules in self._axis_rules] == n_axes

    @property
    def _rules_by_group(self) -> list[Rule]:
        if self._steps is not None:
            return self._made_rules
        return [grids.tensor(*axis) for axis in self._axis_rules]

    def _constructions(self) -> Sequence[Construction]:
        kernel = self._groups[0].kernel
        if self._steps is not None and isinstance(kernel, Matern):
            counts = np.array(self.lattice().shape)
            return [SpectralLattice(self._steps, counts, kernel.joint_density)]
        return [Grid(tuple(axis)) for axis in self._axis_rules]

    def _exact_degree(self) -> int | None:
        return 2 * int(np.min(self.n_points)) - 1 if self.rule == "gauss" else None

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        return self._proven_or(super()._largest_error(X, Y), X, Y)

    @classmethod
    def for_tolerance(
        cls, kernel: Kernel, tol: float, diameter: float, *, n_features: int = 1
    ) -> DenseGrid:
        """The smallest grid with a certified error of at most `tol` for rows within `diameter`.

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
        if not isinstance(kernel, Kernel):
            raise TypeError(f"kernel must be a Kernel such as Gaussian(0.5), got {kernel!r}")
        check_positive("tol", tol, example="1e-3")
        check_positive("diameter", diameter)
        check_count("n_features", n_features, maximum=10**6, example=2)
        resolved = kernel.resolve(np.outer([0.0, 1.0], np.full(n_features, diameter)))
        inner, matrix = resolved.coordinates(n_features)
        coordinates = Coordinates.of(matrix, n_features)
        region = coordinates.region(Region.of(d=n_features, diameter=diameter))
        corners = np.outer([0.0, 1.0], np.minimum(region.box, region.diameter))
        counts = GridSearch(inner, region, reaches(corners)).fewest(tol)
        if counts is None:
            raise ValueError(
                f"tol={tol:g} over a diameter of {diameter:g} needs more than {MOST_NODES} nodes "
                f"per axis; use a larger tol, a smaller diameter or a smoother kernel"
            )
        grid = cls(inner, n_points=counts).fit(corners)._seen_from(resolved, n_features)
        grid.kernel = kernel
        return grid
