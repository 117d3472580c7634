"""A file imports only from those above it, and nothing happens at import."""

import ast
import subprocess
import sys
from pathlib import Path

import quadfeat

SOURCE = Path(__file__).parents[1] / "src" / "quadfeat"
ORDER = [
    "_blas",
    "_checks",
    "_atomic",
    "_archive",
    "_readers",
    "_sinks",
    "_identity",
    "_blocks",
    "data",
    "_progress",
    "_gauss",
    "_panels",
    "_nnls",
    "_exact",
    "rules",
    "_kernel",
    "_stationary",
    "kernels",
    "grids",
    "randomized",
    "reweight",
    "frames",
    "lbfgs",
    "polish",
    "_reference",
    "_engine",
    "mercer",
    "eigenfunctions",
    "compression",
    "landmarks",
    "theory",
    "regions",
    "_enclosure",
    "_any_rule",
    "bounds",
    "estimates",
    "tolerances",
    "features",
    "fourier",
    "learned_grids",
    "peers",
    "expansions",
    "adaptive",
    "sums",
    "solvers",
    "losses",
    "calibration",
    "sampling",
    "survey",
    "streaming",
    "tuning",
    "fitting",
    "distributed",
    "_kernel_model",
    "models",
    "_recipes",
    "_model_recipes",
    "storage",
    "files",
    "testing",
    "plotting",
    "demo",
    "bench",
    "__init__",
    "experiments",
    "cli",
]


def imported(path):
    """The quadfeat modules that a file imports, wherever in it."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and (node.level or "").__class__ is int:
            module = (node.module or "").removeprefix("quadfeat").lstrip(".")
            own = node.level > 0 or (node.module or "").split(".")[0] == "quadfeat"
            if own and module:
                yield module.split(".")[0]
            elif own:
                yield from (alias.name for alias in node.names)


def test_every_module_has_its_place():
    modules = {p.stem if p.parent == SOURCE else p.parent.name for p in SOURCE.rglob("*.py")}
    assert modules == set(ORDER)


def test_imports_point_one_way():
    for path in SOURCE.rglob("*.py"):
        name = path.stem if path.parent == SOURCE else path.parent.name
        for other in imported(path):
            if other in ORDER and other != name:
                assert ORDER.index(other) < ORDER.index(name), f"{name} imports {other}"


def test_importing_quadfeat_changes_nothing_and_loads_no_extra():
    code = """
import sys, warnings, numpy as np, scipy.stats, sklearn.kernel_approximation
loaded = set(sys.modules)
before = (np.geterr(), list(warnings.filters), np.random.get_state()[1][:4].tolist())
import quadfeat
assert not {m for m in sys.modules if m.startswith("quadfeat.")}  # a name is loaded when used
for name in quadfeat.__all__:
    assert getattr(quadfeat, name).__name__ == name
assert quadfeat.theory.__name__ == "quadfeat.theory"
after = (np.geterr(), list(warnings.filters), np.random.get_state()[1][:4].tolist())
assert before[0] == after[0] and before[2] == after[2]
optional = {"matplotlib", "typer", "rich", "pyarrow", "torch", "pandas", "dask"}
extra = optional & (set(sys.modules) - loaded)
assert not extra, extra
"""
    subprocess.run([sys.executable, "-c", code], check=True)


def test_type_checkers_see_the_names_that_users_see():
    tree = ast.parse((SOURCE / "__init__.py").read_text())
    seen = {
        alias.asname: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    assert seen == quadfeat._HOMES
