"""Maps of cosines and sines at the nodes of a rule."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .. import _engine
from .._checks import check_memory, require
from .._engine.gradients import fourier_gradient, kronecker_gradient
from .._engine.plans import FourierPlan, KroneckerPlan
from .._errors import NoCertificate, NoDensity
from .._typing import Floats, Matrix
from ..accuracy import certificate
from ..accuracy.bounds import Construction
from ..accuracy.proof import Certificate
from ..accuracy.region import Region
from ..kernels.base import Group, same
from ..rules import grids
from ..rules.rule import Rule, zero_rule
from .base import FAR_ROUNDING, FeatureMap, warn_far


class FourierMap(FeatureMap):
    """A map of cosines and sines at the nodes of a quadrature rule: shift-invariant.

    Subclasses name their construction in `_rules`.

    Attributes
    ----------
    kernel_ : Kernel, with its numbers resolved on X
    signs_ : (n_columns_,), +1 or -1 per column; all +1 unless the rule has negative weights
    n_columns_ : int, columns of the features
    rule_ : Rule, nodes and weights in the space of X; the weights sum to about k(0)
    n_features_in_ : int, columns of X
    feature_names_in_ : (n_features_in_,), names of the columns of X, if all have one
    """

    _plan: FourierPlan | KroneckerPlan
    _made_rules: list[Rule]  # one per group of the kernel; stored in files under this name

    def _build(self, X: Matrix) -> int:
        self._made_rules = self._rules(X)
        self._plan, self.signs_ = fourier_plan(self._groups, self._made_rules, X.shape[1])
        return self._plan.n_columns

    def _rules(self, X: Matrix) -> list[Rule]:
        """One rule per group of the kernel, on the axes of that group; called by `_build`."""
        raise NotImplementedError

    def _restored_columns(self) -> int:
        groups = [group.axes for group in self._groups]
        require(self._plan.n_features == self._n_axes, "the plan has other columns")
        fit = self._rules_fit([len(axes) for axes in groups])
        require(fit, "the rules are not those of the kernel's groups")
        planned = self._plan.group_axes()
        same = len(planned) == len(groups) and all(map(np.array_equal, planned, groups))
        require(same, "the plan is not one for the kernel's groups")
        return self._plan.n_columns

    def _rules_fit(self, n_axes: list[int]) -> bool:
        """Whether loaded rules have these numbers of axes."""
        return [rule.nodes.shape[1] for rule in self._made_rules] == n_axes

    @property
    def _rules_by_group(self) -> list[Rule]:
        return self._made_rules

    @property
    def plan(self) -> FourierPlan | KroneckerPlan:
        """What the engine evaluates."""
        check_is_fitted(self)
        return self._plan

    @property
    def rule_(self) -> Rule:
        """The quadrature rule in the space of X; its weights sum to k(0)."""
        check_is_fitted(self)
        d = self._n_axes
        size = sum(len(rule) for rule in self._rules_by_group)
        n_bytes = 8 * size * max(d, self.n_features_in_)
        check_memory(n_bytes, f"rule_ of {size} nodes", "transform does not need it")
        embedded = [
            grids.embed(rule, group.axes, d)
            for rule, group in zip(self._rules_by_group, self._groups, strict=True)
        ]
        rule = grids.concatenate(embedded, [group.weight for group in self._groups])
        if self._coordinates.linear is None:
            return rule
        return Rule(self._coordinates.nodes(rule.nodes), rule.weights)

    def _constructions(self) -> Sequence[Construction]:
        """The construction of each group, in the form that has the strongest proof."""
        return self._rules_by_group

    def _exact_degree(self) -> int | None:
        """The degree to which the rules are exact; None if unknown."""
        return None

    def _certify(self, region: Region, X: Floats | None) -> Certificate:
        return certificate.certify(
            self._kernel, self._constructions(), region, degree=self._exact_degree()
        )

    def _largest_anywhere(self) -> float:
        mass = sum(
            group.weight * float(np.abs(rule.weights).sum())
            for group, rule in zip(self._groups, self._rules_by_group, strict=True)
        )
        return 1.0 + mass / self._kernel.at_zero(self._n_axes)

    def _largest_error(self, X: Floats, Y: Floats) -> float:
        return self._largest_anywhere()

    def _proven_or(self, plain: float, X: Floats, Y: Floats) -> float:
        """The smaller of a plain bound and the certificate over these rows, if there is one."""
        rows = np.concatenate([X, Y])
        try:
            return min(plain, self._certify(Region.of(rows), rows).value)
        except (NoCertificate, NoDensity):
            return plain

    def _evaluate(self, X: Matrix, out: Matrix) -> None:
        self._check_angles(X)
        if isinstance(self._plan, FourierPlan):
            _engine.fourier(X, self._plan, out)
        else:
            _engine.kronecker(X, self._plan, out)

    def _differentiate(self, X: Matrix, coefficients: Floats, out: Matrix) -> None:
        self._check_angles(X)
        if isinstance(self._plan, FourierPlan):
            fourier_gradient(X, self._plan, coefficients, out)
        else:
            kronecker_gradient(X, self._plan, coefficients, out)

    def _largest_factor(self) -> float:
        return self._n_axes * self.n_columns_

    def _check_angles(self, X: Matrix) -> None:
        """Raise an error if rounding leaves no digit of an angle, warn if it loses the kernel."""
        largest = float(np.abs(X).max(initial=0.0))
        eps = float(np.finfo(X.dtype).eps)
        if largest * self._plan.largest_node * eps <= FAR_ROUNDING:
            return
        # The largest value may be in a column of small frequencies, or in one that no node uses.
        reach = np.abs(X).max(axis=0).astype(np.float64)
        with np.errstate(over="ignore", invalid="ignore"):
            angle = self._plan.largest_angle(reach)
            typical = float(self._plan.mean_frequencies @ reach)
        if not angle * eps <= 1.0:
            raise ValueError(
                f"{self._coordinates.name} has values up to {largest:g}, and an angle up to "
                f"{angle:g} at the largest frequencies (kernel_: {self.kernel_!r}), of which "
                f"{X.dtype} leaves no digit; standardise X, or use a smaller gamma"
            )
        # A few high frequencies of a heavy tail may be lost, and the kernel is there all the same.
        if typical * eps > FAR_ROUNDING * self._kernel.at_zero(self._n_axes):
            warn_far(self._coordinates.name, X.dtype)


# --- from rules to plans ------------------------------------------------------------------------
def fourier_plan(
    groups: Sequence[Group], group_rules: Sequence[Rule], d: int
) -> tuple[FourierPlan, Floats]:
    """The plan of cosine and sine columns, equal and mirrored nodes merged, and its signs."""
    sets: dict[tuple[int, float], int] = {}  # groups with one rule and weight share its nodes
    nodes, weights, middles, which = [], [], [], []
    for group, rule in zip(groups, group_rules, strict=True):
        key = (id(rule), group.weight)
        if key not in sets:
            sets[key] = len(sets)
            half = grids.fold(rule)
            zero = ~half.nodes.any(axis=1)
            used = ~zero & (half.weights != 0)
            nodes.append(half.nodes if used.all() else half.nodes[used])
            weights.append(group.weight * half.weights[used])
            middles.append(group.weight * float(half.weights[zero].sum()))
        which.append(sets[key])
    constant = sum(middles[i] for i in which)
    plan = FourierPlan.from_groups(
        d,
        [group.axes for group in groups],
        nodes,
        [np.sqrt(np.abs(set_weights)) for set_weights in weights],
        which,
        constant=float(np.sqrt(abs(constant))),
    )
    signs = [np.tile(np.sign(weights[i]), 2) for i in which]
    return plan, np.concatenate([*signs, [np.sign(constant)] * (constant != 0)])


def kronecker_plan(
    groups: Sequence[Group], axis_rules: Sequence[Sequence[Rule]], d: int
) -> KroneckerPlan:
    """The plan of full grids; groups share the features of common axes."""
    entries: list[tuple[int, Floats, Floats, float]] = []
    known: dict[tuple[int, int], int] = {}
    members = []
    for group, rules in zip(groups, axis_rules, strict=True):
        for column, rule in zip(group.axes, rules, strict=True):
            key = (int(column), id(rule))
            if key not in known:
                known[key] = len(entries)
                nodes, weights = rule.nodes[:, 0], rule.weights
                right, middle = nodes > 0, float(weights[nodes == 0].sum())
                amplitudes = np.sqrt(2 * weights[right])
                entries.append((int(column), nodes[right], amplitudes, middle**0.5))
        members.append([known[int(c), id(r)] for c, r in zip(group.axes, rules, strict=True)])
    scale = np.sqrt([group.weight for group in groups])
    return KroneckerPlan.from_groups(d, entries, members, scale)


def _budgets(n_components: int, n_groups: int) -> list[int]:
    """Columns of each group: even, at least two, as equal as possible."""
    if n_groups == 1:
        return [n_components]
    if n_components < 2 * n_groups:
        raise ValueError(
            f"n_components={n_components} is less than two columns for each of the kernel's "
            f"{n_groups} groups; give at least {2 * n_groups}"
        )
    pairs, extra = divmod(n_components // 2, n_groups)
    return [2 * (pairs + (i < extra)) for i in range(n_groups)]


def reaches(X: Matrix) -> Floats:
    """The largest gap between two rows on each axis."""
    with np.errstate(over="ignore"):
        return np.asarray(X.max(axis=0) - X.min(axis=0), dtype=np.float64)


def per_group(
    groups: Sequence[Group],
    n_components: int,
    share: bool,
    draw: Callable[[Group, int], Rule],
) -> list[Rule]:
    """A rule per group, within its share of the columns, or one rule for all groups."""
    budgets = _budgets(n_components, len(groups))
    # Two columns per node, which is drawn, folded and packed: three copies of 8 bytes.
    entries = sum(p * len(group.axes) for group, p in zip(groups, budgets, strict=True))
    n_bytes = 12 * entries
    check_memory(n_bytes, f"the nodes of n_components={n_components:,}", "use fewer columns")
    if budgets == [1]:
        return [zero_rule(len(groups[0].axes))]
    if not share:
        return list(map(draw, groups, budgets))
    if len({len(group.axes) for group in groups}) > 1:
        raise ValueError(
            "share_groups=True needs groups of one size, as a Convolution has; use "
            "share_groups=False"
        )
    for group in groups:
        if not same(group.kernel, groups[0].kernel):
            raise ValueError(
                f"share_groups=True needs one kernel for all groups, and this one has "
                f"{groups[0].kernel!r} and {group.kernel!r}; use share_groups=False"
            )
    shared = draw(groups[0], budgets[-1])
    return [shared] * len(groups)
