"""Graphs as torch modules; imported only by `to_torch`, because it needs torch."""

from __future__ import annotations

from typing import Any

import torch

from .._typing import Array
from .graph import Graph

_FUNCTIONS: dict[str, Any] = {
    "Add": torch.add,
    "Sub": torch.sub,
    "Mul": torch.mul,
    "Div": torch.div,
    "Neg": torch.neg,
    "Abs": torch.abs,
    "Exp": torch.exp,
    "Log": torch.log,
    "Sqrt": torch.sqrt,
    "Cos": torch.cos,
    "Sin": torch.sin,
    "Tanh": torch.tanh,
    "Floor": torch.floor,
    "Sign": torch.sign,
    "Min": torch.minimum,
    "Max": torch.maximum,
    "MatMul": torch.matmul,
    "Greater": torch.gt,
    "Less": torch.lt,
    "Where": torch.where,
}


class ExportedModule(torch.nn.Module):
    """The features of a map, or the outputs of a model, as a module of torch.

    `forward` returns the first output of `outputs`: features, predictions or scores. Constants are
    buffers in double precision, rounded to the precision of the rows, so one module serves both;
    after `module.float()` everything is computed in single precision, for devices without doubles.

    Parameters
    ----------
    graph : Graph
    precision : "float32", "float64" or None for that of the rows

    Attributes
    ----------
    length_scales : Parameter (d,), those of the kernel, if it has any
    outputs : names of the results of `compute`
    """

    def __init__(self, graph: Graph, precision: str | None = None) -> None:
        super().__init__()
        self.outputs = list(graph.outputs)
        self._places = [value.place for value in graph.outputs.values()]
        self._precision = precision
        self._program: list[tuple[str, tuple[int, ...], dict[str, Any], str]] = []
        for place, step in enumerate(graph.steps):
            options = dict(step.options)
            if step.op == "Parameter":
                self.register_parameter(
                    options["name"], torch.nn.Parameter(_tensor(options.pop("value")))
                )
            elif step.op in ("Constant", "Gather"):
                name = "value" if step.op == "Constant" else "positions"
                self.register_buffer(f"constant_{place}", _tensor(options.pop(name)))
            self._program.append((step.op, step.inputs, options, step.kind))
        self.register_buffer("like", torch.zeros(0, dtype=torch.float64))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """The first output of rows (n, d)."""
        return self.compute(x)[self.outputs[0]]

    def predict_proba(self, x: torch.Tensor) -> torch.Tensor:
        """The probability of each class, (n, classes), of a classifier with probabilities."""
        return self.compute(x)["probabilities"]

    def compute(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        """All outputs of rows (n, d), by name."""
        wide = self.like.dtype
        working = x.dtype if self._precision is None else getattr(torch, self._precision)
        kinds: dict[str, Any] = {
            "wide": wide,
            "working": working if wide == torch.float64 else wide,
            "index": torch.int64,
            "bool": torch.bool,
        }
        results: list[torch.Tensor] = []
        for place, (op, inputs, options, kind) in enumerate(self._program):
            given = [results[i] for i in inputs]
            results.append(self._step(x, place, op, given, options, kinds.get(kind, x.dtype)))
        return dict(zip(self.outputs, (results[i] for i in self._places), strict=True))

    def _step(
        self,
        x: torch.Tensor,
        place: int,
        op: str,
        given: list[torch.Tensor],
        options: dict[str, Any],
        dtype: torch.dtype,
    ) -> torch.Tensor:
        if op in _FUNCTIONS:
            return _FUNCTIONS[op](*given)
        if op == "Input":
            return x
        if op == "Constant":
            return getattr(self, f"constant_{place}").to(dtype)
        if op == "Parameter":
            return getattr(self, options["name"]).to(dtype)
        if op == "Gather":
            positions = getattr(self, f"constant_{place}")
            taken = given[0].index_select(1, positions.reshape(-1))
            return taken.reshape(-1, *positions.shape)
        return _SHAPED[op](*given, dtype=dtype, **options)


_SHAPED: dict[str, Any] = {
    "Cast": lambda x, dtype: x.to(dtype),
    "Concat": lambda *parts, axis, dtype: torch.cat(parts, dim=axis),
    "Reshape": lambda x, shape, dtype: x.reshape(shape),
    "Transpose": lambda x, perm, dtype: x.permute(perm),
    "ReduceSum": lambda x, axis, keep, dtype: x.sum(dim=axis, keepdim=keep),
    "Softmax": lambda x, axis, dtype: torch.softmax(x, dim=axis),
    "ArgMax": lambda x, dtype: x.argmax(dim=-1),
    "GatherRows": lambda table, positions, dtype: table[positions],
}


def _tensor(value: Array) -> torch.Tensor:
    return torch.from_numpy(value.copy())
