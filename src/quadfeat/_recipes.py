"""What of each class is stored in a file, and what makes an object from a file whole again.

A file may be damaged on purpose and still have the right checksums, so nothing in it is believed:
every attribute has a check of its type, shape and range, and every object a last step that rebuilds
what can be rebuilt and refuses parts that do not belong together. What is rebuilt is small beside
the arrays of the file, whatever its numbers say. After it, evaluating the object can index no array
out of range and needs no memory that the sizes in the file do not account for.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from typing import Any

import numpy as np

from . import (
    adaptive,
    expansions,
    fourier,
    frames,
    kernels,
    landmarks,
    learned_grids,
    mercer,
    peers,
)
from ._reference import FourierPlan, KroneckerPlan
from .features import FeatureMap, FourierMap
from .kernels import Kernel
from .rules import Rule

Check = Callable[[Any], bool]

_MOST_FEATURES = 1 << 24
_AXES_PER_NUMBER = 64  # in the groups of a kernel, for every number in the arrays of a map
_FEW_AXES = 1 << 16  # which need no such number
_GROUP = 64  # axes that take as much memory as what else a group has
_DEEPEST_KERNEL = 50


@dataclass(frozen=True)
class Recipe:
    """How a class is stored.

    Parameters
    ----------
    kind : class
    stored : name -> check
        Attributes beside the constructor's parameters; those in `optional` may be absent.
    parameters : name -> check, for the constructor's parameters that have one
    derived : attributes that `finish` makes again
    finish : makes them, and raises ValueError or TypeError if the parts do not fit together
    forgotten : parameters that are not stored: after loading they have their defaults
    shared : whether one object may appear in several places
    state, make : to take an object apart and to put it together, where these are not `vars` and
        the constructor
    """

    kind: type
    stored: Mapping[str, Check] = field(default_factory=dict)
    parameters: Mapping[str, Check] = field(default_factory=dict)
    optional: Mapping[str, Check] = field(default_factory=dict)
    derived: tuple[str, ...] = ()
    finish: Callable[[Any], None] = lambda made: None
    forgotten: tuple[str, ...] = ()
    shared: bool = False
    state: Callable[[Any], dict[str, Any]] = vars
    make: Callable[..., Any] | None = None

    @property
    def names(self) -> list[str]:
        """The parameters that `make` takes."""
        if self.make is not None:
            return list(self.parameters)
        return [n for n in inspect.signature(self.kind).parameters if n not in self.forgotten]


# --- checks -----------------------------------------------------------------------------------
def instance(*kinds: type) -> Check:
    """Whether a value is an instance; bool does not pass for int."""
    return lambda value: isinstance(value, kinds) and (bool in kinds or not isinstance(value, bool))


def number(kind: Check, least: float = -np.inf, *, above: float = -np.inf) -> Check:
    """Whether a value is a finite number of a kind and in range."""
    return lambda value: (
        kind(value) and np.isfinite(value) and bool(value >= least and value > above)
    )


def whole(value: Any) -> bool:
    """Whether a value is an int that NumPy can hold."""
    return type(value) is int and abs(value) < 1 << 53


def array(kind: str, *ndims: int, least: float = -np.inf, above: float = -np.inf) -> Check:
    """Whether a value is a finite array of one of the dtypes, numbers of axes, and in range."""

    def check(value: Any) -> bool:
        return (
            isinstance(value, np.ndarray)
            and value.dtype.name in kind.split()
            and value.ndim in ndims
            and bool(np.isfinite(value).all() and (value >= least).all() and (value > above).all())
        )

    return check


def list_of(check: Check) -> Check:
    """Whether a value is a list (or tuple) whose items all pass."""
    return lambda value: isinstance(value, list | tuple) and all(map(check, value))


def either(*checks: Check) -> Check:
    """Whether a value passes one of the checks."""
    return lambda value: any(check(value) for check in checks)


def absent(value: Any) -> bool:
    """Whether a value is None."""
    return value is None


def plain(value: Any) -> bool:
    """Whether a value is made of numbers, text and containers alone."""
    if isinstance(value, list | tuple):
        return all(map(plain, value))
    if isinstance(value, dict):
        return all(map(plain, value.values()))
    return value is None or isinstance(value, bool | int | float | str | np.ndarray)


def require(holds: bool, otherwise: str) -> None:
    """Raise a ValueError that says `otherwise`, unless it holds."""
    if not holds:
        raise ValueError(otherwise)


_floats, _integers = "float64", "int64"
count = number(whole, 0)
finite = number(instance(float))
not_negative = number(instance(float), 0.0)


# --- kernels ----------------------------------------------------------------------------------
def _extent(kernel: Kernel, d: int, depth: int = 0) -> tuple[int, int]:
    """How many groups a kernel has and how many axes they have in all, at most, uncounted."""
    require(depth <= _DEEPEST_KERNEL, f"a kernel is nested more than {_DEEPEST_KERNEL} deep")
    inner = [
        _extent(part, d, depth + 1) for part in vars(kernel).values() if isinstance(part, Kernel)
    ]
    if isinstance(kernel, kernels.Sum):
        return inner[0][0] + inner[1][0], inner[0][1] + inner[1][1]
    if isinstance(kernel, kernels.Product):
        groups = inner[0][0] * inner[1][0]
        axes = inner[0][0] * inner[1][1] + inner[0][1] * inner[1][0]
        return groups, min(axes, groups * d)
    own = inner[0] if inner else (1, d)
    if isinstance(kernel, kernels.Anova):
        counts = [len(subset) for subset in kernel.subsets]
        return len(counts) * own[0], sum(counts) * own[0]
    if isinstance(kernel, kernels.Convolution):
        shape, window, stride = kernel._geometry()
        sides = zip(shape[:2], window, stride, strict=True)
        places = [(n - w) // s + 1 for n, w, s in sides]
        n_windows, size = int(np.prod(places, dtype=float)), int(np.prod(window, dtype=float))
        return n_windows * own[0], n_windows * size * max(1, *shape[2:], 1) * own[0]
    return own


def checked_kernel(kernel: Kernel, d: int, stored: int, n_groups: int | None) -> Kernel:
    """The kernel of a map of d columns, resolved: with numbers for parameters, all in range.

    Refused, uncounted, if it has other than `n_groups` groups, where that is known, or more than go
    with the `stored` numbers of the map.
    """
    require(1 <= d <= _MOST_FEATURES, f"{d} is not a number of columns")
    groups, axes = _extent(kernel, d)
    fit = axes + _GROUP * groups <= _FEW_AXES + _AXES_PER_NUMBER * stored
    fit = fit and n_groups in (None, groups)
    require(fit, f"its kernel has {groups} groups with {axes} axes in all")
    require(_resolved(kernel), "the parameters of its kernel are not all numbers")
    return kernel.resolve(np.broadcast_to(0.0, (1, d)))  # rows that take no memory


def _resolved(part: Any) -> bool:
    """Whether nothing in a kernel is left for data to decide."""
    if isinstance(part, list | tuple):
        return all(map(_resolved, part))
    if not isinstance(part, Kernel):
        return not isinstance(part, str)
    return getattr(part, "base", part) is not None and all(map(_resolved, vars(part).values()))


_kernel = instance(Kernel)
_positive = number(either(whole, instance(float)), above=0)
_numbers = either(
    _positive,
    lambda value: value in ("scale", "median") if isinstance(value, str) else False,
    array(f"{_floats} float32 int64", 0, 1, above=0),
    list_of(_positive),
)
_counts = either(count, list_of(count), array(_integers, 1, least=0))
_subsets = list_of(either(list_of(count), array(_integers, 1, least=0)))

_KERNELS = (
    Recipe(kernels.Gaussian, parameters={"gamma": _numbers}),
    Recipe(kernels.Laplacian, parameters={"gamma": _numbers}),
    Recipe(kernels.Cauchy, parameters={"gamma": _numbers}),
    Recipe(
        kernels.Matern,
        parameters={"nu": _positive, "gamma": _numbers, "product": instance(bool)},
    ),
    Recipe(kernels.Smoothed, parameters={"kernel": _kernel, "width": _positive}),
    Recipe(kernels.Sum, parameters={"left": _kernel, "right": _kernel}),
    Recipe(kernels.Product, parameters={"left": _kernel, "right": _kernel}),
    Recipe(kernels.Scaled, parameters={"kernel": _kernel, "factor": _positive}),
    Recipe(
        kernels.Anova,
        parameters={
            "base": either(_kernel, list_of(_kernel)),
            "subsets": either(_subsets, array(_integers, 2, least=0)),
            "weights": either(
                absent, list_of(_positive), array(f"{_floats} {_integers}", 1, above=0)
            ),
        },
    ),
    Recipe(
        kernels.Convolution,
        parameters={
            "shape": _counts,
            "window": _counts,
            "stride": _counts,
            "base": either(absent, _kernel),
        },
    ),
)


# --- rules, plans and bases ---------------------------------------------------------------------
def _check_pointer(ptr: Any, total: int, name: str) -> None:
    holds = len(ptr) > 0 and ptr[0] == 0 and ptr[-1] == total and bool((np.diff(ptr) >= 0).all())
    require(holds, f"{name} does not cut {total} entries")


def _check_indices(values: Any, count: int, name: str) -> None:
    inside = values.size == 0 or (values.min() >= 0 and values.max() < count)
    require(inside, f"{name} has an index outside of [0, {count})")


def _finish_fourier_plan(plan: FourierPlan) -> None:
    _check_pointer(plan.axes_ptr, len(plan.axes), "axes_ptr")
    _check_pointer(plan.node_ptr, len(plan.amplitudes), "node_ptr")
    _check_indices(plan.axes, plan.n_features, "axes")
    _check_indices(plan.group_nodes, len(plan.node_ptr) - 1, "group_nodes")
    require(len(plan.group_nodes) == len(plan.axes_ptr) - 1, "group_nodes is not one per group")
    lengths = np.zeros(len(plan.node_ptr) - 1, dtype=np.int64)
    lengths[plan.group_nodes] = np.diff(plan.axes_ptr)
    same = np.array_equal(lengths[plan.group_nodes], np.diff(plan.axes_ptr))
    require(same, "groups of different sizes share their nodes")
    needed = sum(int(n) * int(g) for n, g in zip(np.diff(plan.node_ptr), lengths, strict=True))
    require(len(plan.nodes) == needed, f"there are {len(plan.nodes)} nodes, not {needed}")


def _finish_kronecker_plan(plan: KroneckerPlan) -> None:
    n_entries = len(plan.entry_axis)
    _check_indices(plan.entry_axis, plan.n_features, "entry_axis")
    _check_pointer(plan.entry_ptr, len(plan.entry_nodes), "entry_ptr")
    _check_pointer(plan.group_ptr, len(plan.group_entries), "group_ptr")
    _check_indices(plan.group_entries, n_entries, "group_entries")
    require(
        len(plan.entry_ptr) == n_entries + 1
        and len(plan.entry_amplitudes) == len(plan.entry_nodes)
        and len(plan.entry_middle) == n_entries
        and len(plan.group_scale) == len(plan.group_ptr) - 1,
        "the arrays of a plan differ in length",
    )


def _finish_pruned(grid: frames.PrunedGrid) -> None:
    m = len(grid.axes)
    require(
        grid.rule.nodes.shape[1] == m
        and grid.directions.shape[1] == m
        and all(axis.nodes.shape[1] == 1 for axis in grid.axes),
        "a pruned grid has other axes than its frame",
    )


def _kronecker_columns(plan: KroneckerPlan) -> int:
    """`plan.n_columns`, in whole numbers that cannot overflow."""
    widths = (2 * np.diff(plan.entry_ptr) + (plan.entry_middle != 0)).tolist()
    total, dropped = 0, 0
    for group in plan.groups():
        columns = 1
        for entry in group.tolist():
            columns = min(columns * widths[entry], 1 << 62)
        total += columns
        dropped += bool(np.all(plan.entry_middle[group] != 0))
    return total - dropped + (dropped > 0)


def _finish_expansion(own: mercer.Expansion) -> None:
    a, m, columns = len(own.axes), len(own.sizes), len(own.parent)
    shapes = {
        "scale": (a,),
        "mean": (a,),
        "rotation": (a, m if own.mixing is None else len(own.mixing)),
        "envelope": (m,),
        "length": (m,),
        "ratio": (m,),
        "direction": (columns,),
        "degree": (columns,),
    }
    for name, shape in shapes.items():
        found = getattr(own, name).shape
        require(found == shape, f"{name} has shape {found}, not {shape}")
    require(a > 0 and m > 0 and columns > 0, "an expansion is empty")
    require(bool((own.parent >= -1).all()), "parent is below -1")
    require(bool((own.parent < np.arange(columns)).all()), "a parent comes after its child")
    _check_indices(own.direction, m, "direction")
    require(bool((own.degree >= 0).all()), "a degree is negative")
    sizes = np.ones(m, dtype=np.int64)
    np.maximum.at(sizes, own.direction, own.degree + 1)
    # Equality also bounds the tables: their entries are chained by the columns that use them.
    require(np.array_equal(sizes, own.sizes), "sizes are not those that the degrees need")
    require(int(sizes.max()) <= columns, "a degree is larger than the number of columns")
    if own.mixing is not None:
        require(a == m == own.mixing.shape[1], "a mixing does not fit its axes and directions")
        require(bool((own.length > 0).all()), "a direction has no length")
    if own.projection is not None:
        require(len(own.projection) == columns, "a projection does not fit its columns")


def _finish_basis(basis: mercer.MercerBasis) -> None:
    require(len(basis.expansions) > 0, "a basis is empty")
    if basis.projection is not None:
        require(len(basis.projection) == basis.n_pool, "a projection does not fit its columns")


def _finish_landmarks(basis: landmarks.LandmarkBasis) -> None:
    require(len(basis.projection) == len(basis.points) > 0, "landmarks and projection differ")


_TYPES: dict[Any, Check] = {
    "int": count,
    "float": finite,
    "str": instance(str),
    "Indices": array(_integers, 1),
    "Integers": array(_integers, 1),
    "Doubles": array(_floats, 1),
    "Floats": array(_floats, 1, 2),
    "Floats | None": either(absent, array(_floats, 2)),
}


_amplitudes = array(_floats, 1, least=0.0)


def _error(value: Any) -> bool:
    """Whether a value may be an error or a cost; what could not be made has infinite ones."""
    return isinstance(value, float) and not value < 0


def data_class(kind: type, finish: Any = None, shared: bool = False, **checks: Check) -> Recipe:
    """The recipe of a frozen bundle, from the types of its fields."""
    parameters = {each.name: checks.get(each.name) or _TYPES[each.type] for each in fields(kind)}
    nothing = Recipe(kind).finish

    def state(bundle: Any) -> dict[str, Any]:  # without what it has worked out since
        return {name: getattr(bundle, name) for name in parameters}

    return Recipe(kind, parameters=parameters, finish=finish or nothing, shared=shared, state=state)


_BUNDLES = (
    data_class(Rule, shared=True, nodes=array(_floats, 2), weights=array(_floats, 1)),
    data_class(FourierPlan, _finish_fourier_plan, amplitudes=_amplitudes, constant=not_negative),
    data_class(
        KroneckerPlan,
        _finish_kronecker_plan,
        entry_amplitudes=_amplitudes,
        entry_middle=_amplitudes,
        group_scale=_amplitudes,
    ),
    data_class(
        mercer.Expansion,
        _finish_expansion,
        scale=array(_floats, 1, above=0.0),
        envelope=array(_floats, 1, above=0.0),
        ratio=_amplitudes,
        amplitude=not_negative,
    ),
    data_class(mercer.MercerBasis, _finish_basis, expansions=list_of(instance(mercer.Expansion))),
    data_class(
        landmarks.LandmarkBasis,
        _finish_landmarks,
        points=array(_floats, 2),
        projection=array(_floats, 2),
    ),
    data_class(
        frames.PrunedGrid,
        _finish_pruned,
        rule=instance(Rule),
        axes=list_of(instance(Rule)),
        directions=array(_floats, 2),
    ),
    data_class(adaptive.Trial, rms=_error, max=_error, cost=_error, typical=_error),
    data_class(adaptive.Report, trials=list_of(instance(adaptive.Trial))),
)


# --- maps -----------------------------------------------------------------------------------------
def _finish_map(made: FeatureMap) -> None:
    made._check()
    d = made.n_features_in_
    holder = made.map_ if isinstance(made, adaptive.KernelFeatures) else made
    plan = getattr(holder, "_plan", None)
    stored = _stored(plan if plan is not None else getattr(holder, "basis_", None))
    made.kernel_ = checked_kernel(made.kernel_, d, stored, _groups_of(plan))
    made._groups = made.kernel_.groups(d)
    names = getattr(made, "feature_names_in_", None)
    require(names is None or len(names) == d, "the names of columns are not one per column")
    require(made._origin is None or len(made._origin) == d, "the origin has other columns")
    columns = _columns(made, d)
    require(made.signs_.shape == (columns,), f"{len(made.signs_)} signs for {columns} columns")
    require(bool(np.isin(made.signs_, (-1.0, 0.0, 1.0)).all()), "signs are not -1, 0 or 1")
    made._n_features_out = columns


def _stored(part: Any) -> int:
    """How many numbers the arrays of a plan or basis hold."""
    if isinstance(part, np.ndarray):
        return part.size
    parts = part if isinstance(part, tuple) else vars(part).values() if is_dataclass(part) else ()
    return sum(map(_stored, parts))


def _groups_of(plan: FourierPlan | KroneckerPlan | None) -> int | None:
    """How many groups a plan has, where there is one."""
    if plan is None:
        return None
    return len(plan.axes_ptr if isinstance(plan, FourierPlan) else plan.group_ptr) - 1


def _columns(made: Any, d: int) -> int:
    """The number of columns, after checking that the parts of a map fit together."""
    if isinstance(made, adaptive.KernelFeatures):
        require(made.map_.n_features_in_ == d, "the map chosen has other columns")
        require(not isinstance(made.map_, adaptive.KernelFeatures), "a choice of a choice")
        made.signs_ = made.map_.signs_
        return int(made.map_._n_features_out)
    if isinstance(made, expansions.HermiteMercer):
        for each in made.basis_.expansions:
            _check_indices(each.axes, d, "axes")
        return made.basis_.n_columns
    if isinstance(made, expansions.Landmarks):
        require(made.basis_.points.shape[1] == d, "the landmarks have other columns")
        return int(made.basis_.projection.shape[1])
    return _fourier_columns(made, d)


def _fourier_columns(made: Any, d: int) -> int:
    plan, axes = made._plan, [group.axes for group in made._groups]
    require(plan.n_features == d, "the plan has other columns")
    if isinstance(made, fourier.DenseGrid):
        found = [plan.entry_axis[entries] for entries in plan.groups()]
        rules_of: Sequence[Sequence[Rule]] = made._axis_rules
        fit = [len(own) for own in rules_of] == [len(own) for own in axes]
        fit = fit and all(rule.nodes.shape[1] == 1 for own in rules_of for rule in own)
        columns = _kronecker_columns(plan)
    else:
        found = np.split(plan.axes, plan.axes_ptr[1:-1])
        fit = [rule.nodes.shape[1] for rule in made._made_rules] == [len(own) for own in axes]
        columns = plan.n_columns
    require(fit, "the rules are not those of the kernel's groups")
    same = len(found) == len(axes) and all(map(np.array_equal, found, axes))
    require(same, "the plan is not one for the kernel's groups")
    return columns


def _output_config(value: Any) -> bool:
    """What scikit-learn's set_output leaves."""
    return isinstance(value, dict) and all(
        key == "transform" and config in (None, "default", "pandas", "polars")
        for key, config in value.items()
    )


_seed = either(absent, instance(int))
any_estimator: dict[str, Check] = {
    "feature_names_in_": lambda value: (
        isinstance(value, np.ndarray) and value.ndim == 1 and value.dtype.kind in "OU"
    ),
    "_sklearn_output_config": _output_config,
    "_first_index": instance(int),
}
_common: dict[str, Check] = {"n_features_in_": count, "kernel_": _kernel}
_signed: dict[str, Check] = {**_common, "signs_": array(_floats, 1)}
_fourier: dict[str, Check] = {
    **_signed,
    "_plan": instance(FourierPlan),
    "_made_rules": list_of(instance(Rule)),
}
_grid: dict[str, Check] = {
    **_signed,
    "_plan": instance(KroneckerPlan),
    "_axis_rules": list_of(list_of(instance(Rule))),
}
_map_parameters: dict[str, Check] = {
    "kernel": either(absent, _kernel),
    "random_state": _seed,
    "pool": either(absent, instance(FourierMap)),
}


def _map(kind: type, stored: dict[str, Check], *more: str, **maybe: Check) -> Recipe:
    names = inspect.signature(kind).parameters
    return Recipe(
        kind,
        stored=stored,
        parameters={name: _map_parameters.get(name, plain) for name in names},
        optional={**any_estimator, "_origin": array(_floats, 1), **maybe},
        derived=("_groups", "_n_features_out", *more),
        finish=_finish_map,
    )


_MAPS = (
    _map(fourier.DenseGrid, _grid),
    _map(fourier.SparseGrid, _fourier),
    _map(fourier.SubsampledGrid, _fourier),
    _map(fourier.PolynomiallyExact, {**_fourier, "_met": number(whole, -1)}),
    _map(learned_grids.ReweightedGrid, _fourier, _pool=instance(FourierMap)),
    _map(peers.RandomFourier, _fourier),
    _map(peers.OrthogonalFourier, _fourier),
    _map(peers.QuasiRandomFourier, _fourier),
    _map(peers.SphericalRadial, _fourier),
    _map(learned_grids.FramedGrid, {**_fourier, "_framed": instance(frames.PrunedGrid)}),
    _map(expansions.HermiteMercer, {**_signed, "basis_": instance(mercer.MercerBasis)}),
    _map(expansions.Landmarks, {**_signed, "basis_": instance(landmarks.LandmarkBasis)}),
    _map(
        adaptive.KernelFeatures,
        {**_common, "map_": instance(FeatureMap), "report_": instance(adaptive.Report)},
        "signs_",
    ),
)


# --- the table ------------------------------------------------------------------------------------
RECIPES = {recipe.kind.__name__: recipe for recipe in (*_KERNELS, *_BUNDLES, *_MAPS)}
