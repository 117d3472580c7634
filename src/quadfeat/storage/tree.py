"""Objects as trees of plain values, with their arrays apart, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._typing import Array
from .recipe import Recipes


class Encoder:
    """Turns an object into a tree that JSON can hold; `arrays` are its arrays by name."""

    def __init__(self, recipes: Recipes) -> None:
        self._recipes = recipes
        self.arrays: dict[str, Array] = {}
        self._seen: dict[int, int] = {}  # objects that may be shared, by identity

    def encode(self, value: Any, where: str) -> Any:
        """The tree of a value; `where` names it in messages."""
        if isinstance(value, np.generic):
            value = value.item()
        if value is None or isinstance(value, bool | int | float | str):
            return value
        if isinstance(value, np.ndarray):
            return self._array(value, where)
        if isinstance(value, list | tuple):
            items = [self.encode(item, f"{where}[{i}]") for i, item in enumerate(value)]
            return items if isinstance(value, list) else {"tuple": items}
        if isinstance(value, dict):
            pairs = value.items()
            return {
                "dict": [
                    [self.encode(part, f"{where}[{k!r}]") for part in (k, v)] for k, v in pairs
                ]
            }
        return self._object(value, where)

    def _array(self, value: Array, where: str) -> Any:
        if value.dtype.hasobject:
            if not all(isinstance(item, str) for item in value.ravel()):
                raise TypeError(f"{where} holds Python objects, which a file cannot hold")
            return {"texts": self._array(value.astype(str), where)["array"]}
        name = str(len(self.arrays))
        self.arrays[name] = value
        return {"array": name}

    def _object(self, value: Any, where: str) -> Any:
        recipe = self._recipes.of(value)
        if recipe is None:
            raise TypeError(
                f"{where} is {value!r}, which cannot be stored: a file holds numbers, text and "
                f"quadfeat's own classes, and no code"
            )
        if recipe.shared and id(value) in self._seen:
            return {"same": self._seen[id(value)]}
        state = recipe.state(value)
        known = {*recipe.names, *recipe.stored, *recipe.optional}
        for name in state.keys() - known - {*recipe.derived, *recipe.forgotten}:
            raise TypeError(f"{where}.{name} is not an attribute that {recipe.kind.__name__} has")
        tree = {
            "class": recipe.kind.__name__,
            "state": {
                name: self.encode(item, f"{where}.{name}")
                for name, item in state.items()
                if name in known
            },
        }
        if recipe.shared:
            self._seen[id(value)] = len(self._seen)
        return tree


class Decoder:
    """The inverse of `Encoder`; each array is used once, so a file cannot multiply its arrays."""

    def __init__(self, arrays: dict[str, Array], recipes: Recipes) -> None:
        self._recipes = recipes
        self._arrays = arrays
        self._shared: list[Any] = []

    def decode(self, tree: Any) -> Any:
        """The value of a tree; a ValueError if a part is unknown, missing or out of range."""
        if isinstance(tree, list):
            return [self.decode(item) for item in tree]
        if not isinstance(tree, dict):
            return tree
        if "class" in tree:
            return self._object(str(tree["class"]), tree["state"])
        ((kind, content),) = tree.items()
        if kind == "array":
            return self._arrays.pop(content)
        if kind == "texts":
            return self._arrays.pop(content).astype(object)
        if kind == "tuple":
            return tuple(self.decode(item) for item in content)
        if kind == "dict":
            return {self.decode(key): self.decode(item) for key, item in content}
        if kind == "same":
            return self._shared[content]
        raise ValueError(f"there is no {kind!r} in this format")

    def _object(self, name: str, tree: dict[str, Any]) -> Any:
        if name not in self._recipes:
            raise ValueError(f"it names the class {name!r}, which this version does not know")
        recipe = self._recipes[name]
        state = {key: self.decode(item) for key, item in tree.items()}
        checks = {**recipe.stored, **recipe.optional, **recipe.parameters}
        for key, value in state.items():
            if key not in checks and key not in recipe.names:
                raise ValueError(f"{name} has no attribute {key!r}")
            if key in checks and not checks[key](value):
                raise ValueError(f"{key} of {name} is not of its type and shape, or out of range")
        make = recipe.make or recipe.kind
        loaded = make(**{key: state.pop(key) for key in recipe.names if key in state})
        if state:  # a fitted object has all fitted attributes
            for key in recipe.stored:
                if key not in state:
                    raise ValueError(f"{key} of {name} is missing")
            vars(loaded).update(state)
        if state or not recipe.stored:
            recipe.finish(loaded)
        if recipe.shared:
            self._shared.append(loaded)
        return loaded
