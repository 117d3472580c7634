"""Save and load: one file for every map, kernel and model, without pickle.

Each stored class has a recipe: the attributes that a file holds and what each must be (`recipe` has
the checks; `kernels`, `plans`, `maps`, `tables` and `models` the recipes). `tree` turns objects
into plain values and arrays, and back; `data.archive` reads and writes these. Classes rebuild and
check everything else from the stored attributes (`restored`, `check`).

The rule: whatever a file contains, `load` runs no code from it, needs at most a small multiple of
its size in memory, and returns a working object or raises a ValueError.
"""

from __future__ import annotations

from typing import Any

from .._checks import check_path
from ..data.archive import read, write
from . import maps, models, tables
from .recipe import Recipes
from .tree import Decoder, Encoder

__all__ = ["load", "save"]

RECIPES = Recipes({**maps.RECIPES, **tables.RECIPES, **models.RECIPES})


def save(estimator: Any, path: Any) -> None:
    """Write a fitted map, model or kernel of this library into one file, without pickle.

    The object that `load` returns gives the same results to the bit. The file is written completely
    or not at all.

    Parameters
    ----------
    estimator : FeatureMap, Kernel, TableEncoder, KernelRegressor or KernelClassifier
    path : path

    Raises
    ------
    TypeError
        If a part is code, such as a function inside `Spectral`.
    ValueError
        If `load` would refuse the file.

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
    path = check_path("path", path)
    encoder = Encoder(RECIPES)
    tree = encoder.encode(estimator, type(estimator).__name__)
    if not (isinstance(tree, dict) and "class" in tree):
        raise TypeError(
            f"estimator must be a map, model or kernel of quadfeat, which save stores, got "
            f"{estimator!r}"
        )
    try:
        Decoder(dict(encoder.arrays), RECIPES).decode(tree)
    except Exception as error:
        # Better to fail now than when the file is the only copy of a model.
        raise ValueError(f"this {type(estimator).__name__} cannot be stored: {error}") from error
    write(path, {"estimator": tree}, encoder.arrays)


def load(path: Any) -> Any:
    """Load a map, model or kernel written by `save`.

    A file holds no code, so none is run: classes come from a fixed table, and every array is
    checked before the engine sees it. A damaged or hostile file raises a ValueError.
    """
    manifest, arrays = read(check_path("path", path))
    if "estimator" not in manifest:
        raise ValueError(f"{path} holds no saved estimator, but {', '.join(manifest) or 'nothing'}")
    decoder = Decoder(arrays, RECIPES)
    try:
        estimator = decoder.decode(manifest["estimator"])
        if RECIPES.of(estimator) is None or arrays:
            raise ValueError("its parts do not make one object")
    except Exception as error:
        # A wrong value can raise any error; the cause is the file.
        raise ValueError(
            f"{path} does not describe an estimator of quadfeat: {type(error).__name__}: {error}"
        ) from None
    return estimator
