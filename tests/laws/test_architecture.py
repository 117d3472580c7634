"""Rooms import rooms before them, private names stay inside, nothing happens at import."""

import ast
import functools
import subprocess
import sys
from pathlib import Path

import pytest

import quadfeat

SOURCE = Path(__file__).parents[2] / "src" / "quadfeat"
# Rooms and single files, in the order of their imports.
ORDER = [
    "_typing",
    "_errors",
    "_checks",
    "_rows",
    "_display",
    "numerics",
    "rules",
    "learning",
    "kernels",
    "_engine",
    "constructions",
    "accuracy",
    "maps",
    "data",
    "models",
    "storage",
    "export",
    "plotting",
    "testing",
    "__init__",
    "experiments",
    "app",
    "__main__",
]
FILES = {
    ".".join(path.relative_to(SOURCE).with_suffix("").parts): path
    for path in sorted(SOURCE.rglob("*.py"))
}
ROOMS = sorted({name.split(".")[0] for name in FILES if "." in name})


@functools.cache
def tree(name):
    return ast.parse(FILES[name].read_text())


def imports(name):
    """(statement, imported module, imported name) for whatever a file imports from quadfeat."""
    package = name.split(".")[:-1]
    for node in ast.walk(tree(name)):
        if not isinstance(node, ast.ImportFrom):
            continue
        if node.level:
            base = package[: len(package) - node.level + 1]
            base += node.module.split(".") if node.module else []
        elif (node.module or "").split(".")[0] == "quadfeat":
            base = node.module.split(".")[1:]
        else:
            continue
        for alias in node.names:
            inner = ".".join([*base, alias.name])
            candidates = [inner, f"{inner}.__init__", ".".join(base)]
            found = [each for each in candidates if each in FILES]
            yield node, found[0] if found else ".".join([*base, "__init__"]), alias.name


def room(name):
    return name.split(".")[0]


def attributes_from_outside(name):
    """Private attributes of anything but the object's own class, or a class of the same room."""
    for node in ast.walk(tree(name)):
        if not isinstance(node, ast.Attribute) or node.attr.startswith("__"):
            continue
        if node.attr.startswith("_") and node.attr not in ("_replace", "_asdict", "_fields"):
            yield node.attr


@functools.cache
def private_names(place):
    """Private functions, classes, methods and attributes that a room defines."""
    found = set()
    for name in FILES:
        if room(name) != place:
            continue
        for node in ast.walk(tree(name)):
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                found.add(node.name)
            elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                found.add(node.id)
            elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store):
                found.add(node.attr)
    return {each for each in found if each.startswith("_") and not each.startswith("__")}


def test_every_file_has_its_place():
    assert {room(name) for name in FILES} == set(ORDER)
    single = [name for name in FILES if "." not in name]
    assert len(single) <= 8, f"{len(single)} files beside the rooms: {single}"


@pytest.mark.parametrize("name", ROOMS)
def test_every_room_has_a_front_page(name):
    page = ast.get_docstring(tree(f"{name}.__init__"))
    assert page and len(page.splitlines()) >= 1


def test_imports_point_one_way():
    for name in FILES:
        for _, other, what in imports(name):
            if name != "__init__" and room(other) != room(name):
                before = ORDER.index(room(other)) < ORDER.index(room(name))
                assert before, f"{name} imports {what} from {other}"


def test_no_private_name_crosses_a_wall():
    for name in FILES:
        for _, other, what in imports(name):
            crosses = room(other) != room(name) and what.startswith("_")
            assert not crosses or what in ORDER or what == "__version__", (
                f"{name} imports {what} from {other}"
            )
        own = private_names(room(name))
        for attribute in attributes_from_outside(name):
            assert attribute in own, f"{name} uses {attribute}, which its room does not define"


def test_imports_inside_functions_are_of_optional_packages():
    for name in FILES:
        inside = {id(node) for node in tree(name).body}
        for node, other, _ in imports(name):
            allowed = id(node) in inside or name == "__init__"
            assert allowed, f"{name} imports {other} inside a function"


def test_no_chain_of_imports_is_longer_than_sixteen_files():
    @functools.cache
    def chain(name):
        # Those of `__init__` are for type checkers: it loads a name when it is used.
        after = {other for _, other, _ in imports(name) if other not in (name, "__init__")}
        return (name, *max((chain(other) for other in after), key=len, default=()))

    longest = max((chain(name) for name in FILES if name != "__init__"), key=len)
    assert len(longest) <= 16, " -> ".join(longest)


def test_files_and_signatures_fit_in_the_head():
    for name, path in FILES.items():
        lines = len(path.read_text().splitlines())
        assert lines <= 450, f"{name} has {lines} lines"
        for node in ast.walk(tree(name)):
            if not isinstance(node, ast.FunctionDef):
                continue
            given = node.args
            every = [*given.posonlyargs, *given.args, *given.kwonlyargs]
            names = [each.arg for each in every if each.arg not in ("self", "cls")]
            estimator = node.name == "__init__" and room(name) in ("maps", "models")
            command = any(isinstance(d, ast.Call) for d in node.decorator_list)
            if not (estimator or (room(name) == "app" and command)):
                assert len(names) <= 7, f"{name}.{node.name} has {len(names)} parameters"


def test_only_the_command_and_progress_print():
    for name in FILES:
        for node in ast.walk(tree(name)):
            prints = isinstance(node, ast.Name) and node.id == "print"
            streams = isinstance(node, ast.Attribute) and node.attr in ("stdout", "stderr")
            assert room(name) in ("app", "_display") or not (prints or streams), name


def test_importing_quadfeat_changes_nothing_and_loads_no_extra():
    code = """
import sys, warnings, numpy as np, scipy.stats, sklearn.kernel_approximation
loaded = set(sys.modules)
before = (np.geterr(), list(warnings.filters), np.random.get_state()[1][:4].tolist())
import quadfeat
assert not {m for m in sys.modules if m.startswith("quadfeat.")}  # a name is loaded when used
for name in quadfeat.__all__:
    assert getattr(quadfeat, name).__name__ == name
assert quadfeat.theory.__name__ == "quadfeat.accuracy.theory"
after = (np.geterr(), list(warnings.filters), np.random.get_state()[1][:4].tolist())
assert before[0] == after[0] and before[2] == after[2]
optional = {"matplotlib", "typer", "rich", "pyarrow", "torch", "pandas", "dask", "onnx"}
extra = optional & (set(sys.modules) - loaded)
assert not extra, extra
"""
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("name", ["data", "grids", "randomized", "rules", "testing", "theory"])
def test_modules_that_users_know_are_attributes(name):
    assert getattr(quadfeat, name).__doc__


def test_type_checkers_see_the_names_that_users_see():
    seen = {
        alias.asname: node.module
        for node in ast.walk(tree("__init__"))
        if isinstance(node, ast.ImportFrom) and node.level == 1
        for alias in node.names
    }
    assert seen == quadfeat._HOMES
