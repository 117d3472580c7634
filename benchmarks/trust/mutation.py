"""Small faults in source code: where they can be made, and the code that has one."""

from __future__ import annotations

import ast
import copy
import hashlib
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

_SWAPS: dict[type, type] = {
    **{ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt},
    **{ast.Eq: ast.NotEq, ast.NotEq: ast.Eq, ast.Is: ast.IsNot, ast.IsNot: ast.Is},
    **{ast.In: ast.NotIn, ast.NotIn: ast.In, ast.And: ast.Or, ast.Or: ast.And},
    **{ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult},
    **{ast.FloorDiv: ast.Mult, ast.Mod: ast.Mult, ast.Pow: ast.Mult},
}
_NAMES = {
    **{"min": "max", "max": "min", "any": "all", "all": "any", "floor": "ceil", "ceil": "floor"},
    **{"minimum": "maximum", "maximum": "minimum", "argmin": "argmax", "argmax": "argmin"},
    **{"zeros": "ones", "ones": "zeros"},
}
# What says how a thing is called, shown or refused is not computed with.
_LEFT_ALONE = (ast.JoinedStr, ast.Raise, ast.arg, ast.AnnAssign, ast.Import, ast.ImportFrom)
_SHORT = 70  # characters
_SHOWING = {"__repr__", "__str__", "_repr_html_"}


@dataclass(frozen=True)
class Mutant:
    """One fault: `index` counts the places in its file."""

    file: str  # below the package
    function: str
    change: str  # "old -> new", as code
    occurrence: int  # of the same change in the same function
    index: int

    @property
    def name(self) -> str:
        """The same for as long as the function has this code, wherever it is in the file."""
        again = f" ({self.occurrence + 1})" if self.occurrence else ""
        return f"{self.file}, {self.function}: {self.change}{again}"


def mutants(package: Path, room: str, seed: int) -> list[Mutant]:
    """All mutants of a room, in a random order that does not depend on other functions."""
    found = []
    for path in sorted((package / room).rglob("*.py")):
        counts: Counter[tuple[str, str]] = Counter()
        for index, (function, change, _) in enumerate(_places(ast.parse(path.read_text()))):
            key = (function, change)
            file = path.relative_to(package).as_posix()
            found.append(Mutant(file, function, change, counts[key], index))
            counts[key] += 1
    return sorted(found, key=lambda m: hashlib.sha256(f"{seed} {m.name}".encode()).digest())


def mutated(source: str, index: int) -> str:
    """The source with the fault of that place."""
    tree = ast.parse(source)
    for i, (_, _, apply) in enumerate(_places(tree)):
        if i == index:
            apply()
            return ast.unparse(ast.fix_missing_locations(tree))
    raise IndexError(index)


Place = tuple[str, str, Callable[[], None]]  # function, change, and what makes it


def _places(tree: ast.Module) -> Iterator[Place]:
    for node, function in _walk(tree, ""):
        for field, value in ast.iter_fields(node):
            for i, child in enumerate(value) if isinstance(value, list) else [(None, value)]:
                new = _fault(child) if isinstance(child, ast.AST) else None
                if new is not None:
                    yield _place(node, function, (field, i), child, new)


def _place(
    node: ast.AST, function: str, slot: tuple[str, int | None], old: ast.AST, new: ast.AST
) -> Place:
    """The place of a child in the tree, shown with the short expression that it is part of."""
    field, i = slot

    def apply(target: ast.AST = node) -> None:
        if i is None:
            setattr(target, field, new)
        else:
            getattr(target, field)[i] = new

    before = ast.unparse(node) if isinstance(node, ast.expr | ast.keyword) else ""
    if isinstance(old, ast.expr | ast.stmt) and not 0 < len(before) <= _SHORT:
        return function, f"{ast.unparse(old)} -> {ast.unparse(new)}", apply
    after = copy.deepcopy(node)
    apply(after)
    return function, f"{before} -> {ast.unparse(after)}", apply


def _walk(node: ast.AST, function: str) -> Iterator[tuple[ast.AST, str]]:
    """The nodes that compute, each with the name of its function."""
    yield node, function
    for field, value in ast.iter_fields(node):
        if field in ("annotation", "returns", "decorator_list"):
            continue
        for child in value if isinstance(value, list) else [value]:
            if not isinstance(child, ast.AST) or isinstance(child, _LEFT_ALONE):
                continue
            inner = function
            if isinstance(child, ast.FunctionDef | ast.ClassDef):
                inner = f"{function}.{child.name}".lstrip(".")
                if child.name in _SHOWING:
                    continue
            yield from _walk(child, inner)


def _fault(node: ast.AST) -> ast.AST | None:
    """What stands in for a node, None if it is left alone."""
    if type(node) in _SWAPS:
        return _SWAPS[type(node)]()
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not | ast.USub):
        return node.operand
    if isinstance(node, ast.Constant):
        return _number(node.value)
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return ast.Name(_NAMES[node.id], node.ctx)
    if isinstance(node, ast.Attribute) and node.attr in _NAMES:
        return ast.Attribute(node.value, _NAMES[node.attr], node.ctx)
    if isinstance(node, ast.AugAssign):
        return ast.Pass()
    if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call):
        return ast.Pass()
    return None


def _number(value: object) -> ast.Constant | None:
    if isinstance(value, bool):
        return ast.Constant(not value)
    if isinstance(value, int):
        return ast.Constant(value + 1)
    if isinstance(value, float):
        return ast.Constant(2 * value if value else 1.0)
    return None
