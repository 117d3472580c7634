"""Maps, models and kernels in one file, without pickle.

The file is an archive of `_archive`; its manifest describes an object as a tree, whose classes come
from a fixed table and whose arrays are members. What a class stores is in its recipe.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import _model_recipes, _recipes
from ._archive import Array, read, write
from ._recipes import Recipe

RECIPES: dict[str, Recipe] = {**_recipes.RECIPES, **_model_recipes.RECIPES}


def recipe_of(value: Any) -> Recipe | None:
    """The recipe of an object's own class; a subclass of a known class is another class."""
    found = RECIPES.get(type(value).__name__)
    return found if found is not None and found.kind is type(value) else None


def save(estimator: Any, path: Any) -> None:
    """Write a fitted map, model or kernel of this library into one file, without pickle.

    `load` gives back an object whose answers have the same bits. Written as `write` does: all or
    nothing.

    Parameters
    ----------
    estimator : FeatureMap, Kernel, KernelRegressor or KernelClassifier
    path : path

    Raises
    ------
    TypeError
        For what a file without code cannot hold, such as a function inside `Spectral`.
    ValueError
        For what `load` would refuse.

    Examples
    --------
    >>> import tempfile, quadfeat as qf
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = qf.SubsampledGrid(n_components=16, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qf.save(features, f"{folder}/map.qf")
    ...     again = qf.load(f"{folder}/map.qf")
    >>> bool((again.transform(X) == features.transform(X)).all())
    True
    """
    encoder = _Encoder()
    tree = encoder.encode(estimator, type(estimator).__name__)
    if not (isinstance(tree, dict) and "class" in tree):
        raise TypeError(f"save stores maps, models and kernels of quadfeat, not {estimator!r}")
    try:
        _Decoder(dict(encoder.arrays)).decode(tree)
    except Exception as error:
        # What `load` would refuse must not be all that is left of a model.
        raise ValueError(f"this {type(estimator).__name__} cannot be stored: {error}") from error
    write(path, {"estimator": tree}, encoder.arrays)


def load(path: Any) -> Any:
    """The map, model or kernel that `save` wrote.

    No code in the file is run, for it can hold none: classes come from a fixed table, and every
    array is checked before the engine sees it. A damaged or hostile file raises a ValueError.
    """
    manifest, arrays = read(path)
    if "estimator" not in manifest:
        raise ValueError(f"{path} holds no saved estimator, but {', '.join(manifest) or 'nothing'}")
    decoder = _Decoder(arrays)
    try:
        made = decoder.decode(manifest["estimator"])
        if recipe_of(made) is None or arrays:
            raise ValueError("its parts do not make one object")
    except Exception as error:
        # Whatever a false value led to, it is the file that is wrong.
        raise ValueError(
            f"{path} does not describe an estimator of quadfeat: {type(error).__name__}: {error}"
        ) from None
    return made


# --- objects as trees ---------------------------------------------------------------------------
class _Encoder:
    """Objects as what JSON can hold, and their arrays apart."""

    def __init__(self) -> None:
        self.arrays: dict[str, Array] = {}
        self._seen: dict[int, int] = {}  # objects that may be shared, by identity

    def encode(self, value: Any, where: str) -> Any:
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
        recipe = recipe_of(value)
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


class _Decoder:
    """The inverse of `_Encoder`; each array is used once, so nothing grows beyond its file."""

    def __init__(self, arrays: dict[str, Array]) -> None:
        self._arrays = arrays
        self._shared: list[Any] = []

    def decode(self, tree: Any) -> Any:
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
        if name not in RECIPES:
            raise ValueError(f"it names the class {name!r}, which this version does not know")
        recipe = RECIPES[name]
        state = {key: self.decode(item) for key, item in tree.items()}
        checks = {**recipe.stored, **recipe.optional, **recipe.parameters}
        for key, value in state.items():
            if key not in checks and key not in recipe.names:
                raise ValueError(f"{name} has no attribute {key!r}")
            if key in checks and not checks[key](value):
                raise ValueError(f"{key} of {name} is not of its type and shape, or out of range")
        make = recipe.make or recipe.kind
        made = make(**{key: state.pop(key) for key in recipe.names if key in state})
        if state:  # fitted: then all of it
            for key in recipe.stored:
                if key not in state:
                    raise ValueError(f"{key} of {name} is missing")
            vars(made).update(state)
        if state or not recipe.stored:
            recipe.finish(made)
        if recipe.shared:
            self._shared.append(made)
        return made
