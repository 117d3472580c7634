"""A computation as a list of steps, recorded by running NumPy formulas on symbols.

A `Value` represents an array of rows. Arithmetic, NumPy's functions and indexing of columns are
recorded in its `Graph`, so calling the formula of a kernel, also of your own, records it. Names of
steps are those of ONNX operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from .._typing import Floats, Integers


class NotRecordable(TypeError):
    """A formula with functions that a graph does not support."""


@dataclass(frozen=True, eq=False)
class Step:
    """One operation.

    Parameters
    ----------
    op : str, an ONNX operator; or "Input", "Column", "Lookup", "Constant" or "Parameter"
    inputs : positions of the steps whose results it uses
    options : axis, shape, perm; for a constant its value
    kind : "working" (the precision of the features), "wide" (double), "bool", "index" or "text"
    """

    op: str
    inputs: tuple[int, ...]
    options: Mapping[str, Any]
    kind: str


@dataclass(eq=False)
class Graph:
    """Steps in the order in which they are computed, and the outputs by name."""

    steps: list[Step] = field(default_factory=list)
    outputs: dict[str, Value] = field(default_factory=dict)

    def add(self, op: str, *inputs: Value, kind: str | None = None, **options: Any) -> Value:
        """Record a step; its kind is that of its inputs, unless given."""
        kinds = {value.kind for value in inputs}
        if kind is None:
            (kind,) = kinds
        self.steps.append(Step(op, tuple(value.place for value in inputs), options, kind))
        return Value(self, len(self.steps) - 1)

    def input(self) -> Value:
        """The rows, (n, d), in their given precision."""
        return self.add("Input", kind="input")

    def column(self, name: str, kind: str) -> Value:
        """A column of a table, (n,): "wide" for numbers, "text" for categories."""
        return self.add("Column", kind=kind, name=name)

    def constant(self, value: Any, kind: str = "working") -> Value:
        """An array of numbers; those of kind "working" are rounded to that precision when used."""
        dtype = {"index": np.int64, "bool": np.bool_}.get(kind, np.float64)
        return self.add("Constant", kind=kind, value=np.asarray(value, dtype=dtype))

    def pruned(self) -> Graph:
        """Only the steps that outputs need; formulas that failed to record leave useless ones."""
        needed = {value.place for value in self.outputs.values()}
        for place in range(len(self.steps) - 1, -1, -1):
            if place in needed:
                needed.update(self.steps[place].inputs)
        places = {old: new for new, old in enumerate(sorted(needed))}
        graph = Graph()
        for old in places:
            step = self.steps[old]
            graph.steps.append(replace(step, inputs=tuple(places[i] for i in step.inputs)))
        for name, value in self.outputs.items():
            graph.outputs[name] = Value(graph, places[value.place], value.width)
        return graph

    def parameter(self, name: str, value: Floats) -> Value:
        """A constant that a target may make variable."""
        return self.add("Parameter", kind="working", name=name, value=value)


_UFUNCS: dict[Any, str] = {
    np.add: "Add",
    np.subtract: "Sub",
    np.multiply: "Mul",
    np.divide: "Div",
    np.negative: "Neg",
    np.absolute: "Abs",
    np.exp: "Exp",
    np.log: "Log",
    np.sqrt: "Sqrt",
    np.cos: "Cos",
    np.sin: "Sin",
    np.tanh: "Tanh",
    np.floor: "Floor",
    np.sign: "Sign",
    np.minimum: "Min",
    np.maximum: "Max",
    np.matmul: "MatMul",
}
_NEUTRAL = {np.add: 0, np.multiply: 1}  # start values of sums and products in formulas
_COMPARISONS = {np.greater: "Greater", np.less: "Less"}
_LEAST = 1e-300  # least number under a root, whose slope at 0 is infinite


class Value(np.lib.mixins.NDArrayOperatorsMixin):
    """The result of a step: an array whose number of rows is not known yet."""

    def __init__(self, graph: Graph, place: int, width: int | None = None) -> None:
        self.graph, self.place, self.width = graph, place, width

    @property
    def shape(self) -> tuple[int, int]:
        """Shape, if the number of columns is known; the number of rows is not, and counts as 1."""
        if self.width is None:
            raise NotRecordable("the shape of an array cannot be exported")
        return 1, self.width

    @property
    def kind(self) -> str:
        """The precision, as of `Step`."""
        return self.graph.steps[self.place].kind

    def __len__(self) -> int:
        """1, so that `np.zeros(len(rows))` in a formula is broadcast to all rows."""
        return 1

    # --- NumPy's functions
    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        # A formula may add up in place with `out`: the returned value is the sum.
        if method != "__call__" or options.keys() - {"out"}:
            return NotImplemented
        if ufunc is np.square:
            return self * self
        if ufunc is np.power:
            return _power(*inputs)
        if len(inputs) == 2 and ufunc in _NEUTRAL:
            for one, other in (inputs, inputs[::-1]):
                number = not isinstance(other, Value) and np.size(other) == 1
                if number and other == _NEUTRAL[ufunc]:
                    return one
        kind = next(value.kind for value in inputs if isinstance(value, Value))
        values = [
            value if isinstance(value, Value) else self.graph.constant(value, kind)
            for value in inputs
        ]
        if ufunc in _COMPARISONS:
            return self.graph.add(_COMPARISONS[ufunc], *values, kind="bool")
        if ufunc not in _UFUNCS:
            raise NotRecordable(f"np.{ufunc.__name__} cannot be exported")
        result = self.graph.add(_UFUNCS[ufunc], *values)
        if ufunc is not np.matmul:  # the result has the columns of its input
            widths = [value.width for value in values if value.width is not None]
            result.width = widths[0] if widths else None
        return result

    def __array_function__(
        self, function: Any, types: Any, args: Sequence[Any], options: Mapping[str, Any]
    ) -> Any:
        if function not in _FUNCTIONS:
            raise NotRecordable(f"np.{function.__name__} cannot be exported")
        return _FUNCTIONS[function](*args, **options)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        raise NotRecordable(f"an array's {name} cannot be exported")

    # --- shapes and precisions
    def __getitem__(self, index: Any) -> Value:
        """Columns: `[:, i]`, `[:, positions]` or `[:, first:last]`; positions of any shape."""
        rows, columns = index
        if rows != slice(None) or isinstance(columns, slice):
            raise NotRecordable("only columns can be taken of rows")
        return self.take(np.asarray(columns, dtype=np.int64))

    def take(self, columns: Integers) -> Value:
        """Columns of rows; of an array of positions (g, a) the result is (n, g, a)."""
        taken = self.graph.add("Gather", self, axis=1, positions=columns)
        taken.width = len(columns) if columns.ndim == 1 else None  # a single column has no width
        return taken

    def at(self, positions: Value) -> Value:
        """Rows of this table at computed positions."""
        return self.graph.add("GatherRows", self, positions, kind=self.kind)

    def reshape(self, *shape: int) -> Value:
        """Another shape; -1 for the side that follows from the others."""
        reshaped = self.graph.add("Reshape", self, shape=shape)
        reshaped.width = shape[-1] if len(shape) == 2 else None
        return reshaped

    def transpose(self, *order: int) -> Value:
        """Axes in another order."""
        return self.graph.add("Transpose", self, perm=order)

    def total(self, axis: int = -1, *, keep: bool = False) -> Value:
        """The sum along an axis."""
        return self.graph.add("ReduceSum", self, axis=axis, keep=keep)

    def to(self, kind: str) -> Value:
        """The same numbers in another precision."""
        return self if self.kind == kind else self.graph.add("Cast", self, kind=kind)

    def softmax(self) -> Value:
        """exp(x) over the sum of these along the last axis."""
        return self.graph.add("Softmax", self, axis=-1)

    def argmax(self) -> Value:
        """The position of the largest entry of each row."""
        return self.graph.add("ArgMax", self, kind="index")

    def when(self, condition: Value, other: Any) -> Value:
        """This where the condition holds, elsewhere the other."""
        if not isinstance(other, Value):
            other = self.graph.constant(other, self.kind)
        return self.graph.add("Where", condition, self, other, kind=self.kind)


def joined(parts: Sequence[Value], axis: int = 1) -> Value:
    """Arrays one after the other along an axis."""
    return parts[0] if len(parts) == 1 else parts[0].graph.add("Concat", *parts, axis=axis)


def root(square: Value) -> Value:
    """The square root of a number that may be 0; there its derivative counts as 0."""
    result: Any = np.sqrt(np.maximum(square, _LEAST))
    return result


def _power(base: Any, exponent: Any) -> Any:
    if isinstance(exponent, Value):
        raise NotRecordable("a power with a computed exponent cannot be exported")
    if exponent in (1, 2, 3, 4):
        product = base
        for _ in range(int(exponent) - 1):
            product = product * base
        return product
    return np.exp(exponent * np.log(base))


def _einsum(subscripts: str, left: Value, right: Value) -> Value:
    if subscripts != "ij,ij->i":
        raise NotRecordable(f"np.einsum({subscripts!r}) cannot be exported")
    product: Value = left * right
    return product.total()


def _norm(rows: Value, axis: int) -> Value:
    return root((rows * rows).total(axis))


def _where(condition: Value, one: Any, other: Any) -> Value:
    if not isinstance(one, Value):
        graph = condition.graph
        compared = graph.steps[condition.place].inputs[0]
        kind = other.kind if isinstance(other, Value) else graph.steps[compared].kind
        one = graph.constant(one, kind)
    value: Value = one
    return value.when(condition, other)


_FUNCTIONS: dict[Any, Callable[..., Any]] = {
    np.einsum: _einsum,
    np.linalg.norm: _norm,
    np.where: _where,
}
