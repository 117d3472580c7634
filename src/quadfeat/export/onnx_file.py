"""Graphs as ONNX models."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .graph import Graph, Step

OPSET, IR_VERSION = 17, 8  # of 2022: read by onnxruntime 1.12 and later
ML_OPSET = 2  # version of the operators that look texts up
_DTYPES = {"index": np.int64, "bool": np.bool_, "wide": np.float64, "text": np.object_}


class OnnxWriter:
    """Writes a graph step by step.

    Parameters
    ----------
    onnx : the module
    graph : Graph
    given, working : dtypes of the rows, and of the features and outputs
    """

    def __init__(self, onnx: Any, graph: Graph, given: Any, working: Any) -> None:
        self._onnx, self._graph = onnx, graph
        self._dtypes = {**_DTYPES, "input": np.dtype(given), "working": np.dtype(working)}
        self._nodes: list[Any] = []
        self._arrays: list[Any] = []
        self._known: dict[tuple[str, tuple[int, ...], bytes], str] = {}
        for place, step in enumerate(graph.steps):
            self._write(place, step)

    def model(self, n_features: int, labels: Array | None, about: str) -> Any:
        """The ONNX model; with labels, the output "codes" becomes "label"."""
        helper = self._onnx.helper
        outputs = []
        for name, value in self._graph.outputs.items():
            if name == "codes" and labels is not None:
                name, dtype = "label", labels.dtype
                self._node("Gather", [self._constant(labels), f"v{value.place}"], name, axis=0)
            else:
                dtype = self._dtypes[value.kind]
                self._node("Identity", [f"v{value.place}"], name)
            shape = ["n"] if value.width is None else ["n", value.width]
            outputs.append(helper.make_tensor_value_info(name, self._type(dtype), shape))
        inputs = self._inputs(n_features)
        graph = helper.make_graph(self._nodes, "quadfeat", inputs, outputs, self._arrays)
        versions = {"": OPSET, **{node.domain: ML_OPSET for node in self._nodes if node.domain}}
        model = helper.make_model(
            graph,
            opset_imports=[helper.make_opsetid(*version) for version in versions.items()],
            ir_version=IR_VERSION,
            producer_name="quadfeat",
            doc_string=about,
        )
        self._onnx.checker.check_model(model)
        return model

    def _inputs(self, n_features: int) -> list[Any]:
        """ "X" (n, d), or a column (n,) each of a table."""
        shapes = {"Input": ["n", n_features], "Column": ["n"]}
        return [
            self._onnx.helper.make_tensor_value_info(
                step.options.get("name", "X"), self._type(self._dtypes[step.kind]), shapes[step.op]
            )
            for step in self._graph.steps
            if step.op in shapes
        ]

    def _write(self, place: int, step: Step) -> None:
        result, given = f"v{place}", [f"v{i}" for i in step.inputs]
        options, dtype = dict(step.options), self._dtypes[step.kind]
        if step.op == "Input":
            self._node("Identity", ["X"], result)
        elif step.op == "Column":
            self._node("Identity", [options["name"]], result)
        elif step.op == "Lookup":
            self._node(
                "LabelEncoder",
                given,
                result,
                domain="ai.onnx.ml",
                keys_strings=list(options["positions"]),
                values_int64s=list(options["positions"].values()),
                default_int64=options["default"],
            )
        elif step.op in ("Constant", "Parameter"):
            self._node("Identity", [self._constant(options["value"].astype(dtype))], result)
        elif step.op == "Gather":
            positions = self._constant(options["positions"])
            self._node("Gather", [*given, positions], result, axis=options["axis"])
        elif step.op == "GatherRows":
            self._node("Gather", given, result, axis=0)
        elif step.op == "Cast":
            self._node("Cast", given, result, to=self._type(dtype))
        elif step.op == "Reshape":
            self._node("Reshape", [*given, self._constant(np.array(options["shape"]))], result)
        elif step.op == "ReduceSum":
            axes = self._constant(np.array([options["axis"]]))
            self._node("ReduceSum", [*given, axes], result, keepdims=int(options["keep"]))
        elif step.op == "ArgMax":
            self._node("ArgMax", given, result, axis=-1, keepdims=0)
        elif step.op == "Cos" and dtype == np.float64:
            # Earlier runtimes have no cosine of doubles.
            quarter = self._constant(np.array(np.pi / 2))
            self._node("Add", [*given, quarter], f"{result}_moved")
            self._node("Sin", [f"{result}_moved"], result)
        else:
            self._node(step.op, given, result, **options)

    def _node(self, op: str, inputs: list[str], output: str, **options: Any) -> None:
        self._nodes.append(self._onnx.helper.make_node(op, inputs, [output], **options))

    def _constant(self, value: Array) -> str:
        """The name of an array in the file; equal arrays are stored once."""
        key = (value.dtype.str, value.shape, b"" if value.dtype.hasobject else value.tobytes())
        if value.dtype.hasobject or key not in self._known:
            name = f"c{len(self._arrays)}"
            self._arrays.append(self._onnx.numpy_helper.from_array(value, name))
            self._known[key] = name
        return self._known[key]

    def _type(self, dtype: Any) -> int:
        return int(self._onnx.helper.np_dtype_to_tensor_dtype(np.dtype(dtype)))
