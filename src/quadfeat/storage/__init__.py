"""Save and load: one file for every map, kernel and model, without pickle."""

from __future__ import annotations

from typing import Any

from ..data.archive import read, write
from . import maps, models
from .recipe import Recipes
from .tree import Decoder, Encoder

RECIPES = Recipes({**maps.RECIPES, **models.RECIPES})


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
    >>> import tempfile, numpy as np, quadfeat as qf
    >>> X = np.random.default_rng(0).normal(size=(100, 3))
    >>> features = qf.SubsampledGrid(n_components=16, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     qf.save(features, f"{folder}/map.qf")
    ...     again = qf.load(f"{folder}/map.qf")
    >>> bool((again.transform(X) == features.transform(X)).all())
    True
    """
    encoder = Encoder(RECIPES)
    tree = encoder.encode(estimator, type(estimator).__name__)
    if not (isinstance(tree, dict) and "class" in tree):
        raise TypeError(f"save stores maps, models and kernels of quadfeat, not {estimator!r}")
    try:
        Decoder(dict(encoder.arrays), RECIPES).decode(tree)
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
    decoder = Decoder(arrays, RECIPES)
    try:
        made = decoder.decode(manifest["estimator"])
        if RECIPES.of(made) is None or arrays:
            raise ValueError("its parts do not make one object")
    except Exception as error:
        # Whatever a false value led to, it is the file that is wrong.
        raise ValueError(
            f"{path} does not describe an estimator of quadfeat: {type(error).__name__}: {error}"
        ) from None
    return made
