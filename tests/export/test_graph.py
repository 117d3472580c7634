"""Formulas as graphs: what is recorded computes the same numbers, and the rest is refused."""

import numpy as np
import pytest

from quadfeat.export.graph import Graph, NotRecordable

torch = pytest.importorskip("torch")
from quadfeat.export.torch_module import ExportedModule  # noqa: E402

FORMULAS = {
    "square": np.square,
    "powers": lambda x: x + x**2 + x**3 + x**4,
    "another power": lambda x: np.abs(x) ** 0.7,
    "a number where a condition holds": lambda x: np.where(x > 0.0, 0.5, x),
    "a number elsewhere": lambda x: np.where(x > 0.0, x, 0.5),
    "numbers only": lambda x: x + np.where(x < 0.0, 1.0, 2.0),
    "rows of products": lambda x: (
        np.einsum("ij,ij->i", x, x)[:, None] if _is_array(x) else _columns(x)
    ),
    "columns by position": lambda x: x[:, np.array([2, 0])],
}
REFUSED = {
    "a power that is computed": lambda x: 2.0**x,
    "another sum": lambda x: np.einsum("ij,ik->i", x, x),
    "an unknown function": np.arctan,
    "an unknown function of arrays": np.cumsum,
    "a sum by a method": lambda x: x.sum(axis=1),
    "rows": lambda x: x[:3, 0],
    "a slice of columns": lambda x: x[:, 1:],
    "a shape that is not known": lambda x: (x @ np.ones((3, 2))).shape,
    "a reduction": np.add.reduce,
}


def _is_array(x):
    return isinstance(x, np.ndarray)


def _columns(x):
    return np.einsum("ij,ij->i", x, x).reshape(-1, 1)


def recorded(formula):
    graph = Graph()
    x = graph.input().to("wide")
    x.width = 3
    graph.outputs["features"] = formula(x)
    return ExportedModule(graph.pruned(), None)


@pytest.mark.parametrize("name", FORMULAS)
def test_a_formula_computes_what_it_computes_in_numpy(name, rng):
    X = rng.normal(size=(20, 3))
    actual = recorded(FORMULAS[name])(torch.from_numpy(X)).numpy()
    np.testing.assert_allclose(actual, FORMULAS[name](X), rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("name", REFUSED)
def test_what_a_graph_does_not_know_is_refused(name):
    with pytest.raises(
        (NotRecordable, TypeError), match=r"cannot be exported|only columns|NotImplemented"
    ):
        recorded(REFUSED[name])


def test_a_value_is_no_array(rng):
    value = Graph().input()
    assert not hasattr(value, "__array_interface__") and len(value) == 1
    with pytest.raises(NotRecordable, match="an array's T cannot be exported"):
        _ = value.T
