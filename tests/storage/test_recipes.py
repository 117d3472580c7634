"""Recipes cover every class, and neither refuse nor admit more than its objects can hold."""

import functools
import json
import os
from contextlib import nullcontext

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.data import archive
from quadfeat.storage import RECIPES
from quadfeat.storage.kernels import _extent
from quadfeat.storage.tree import Encoder

from ..conftest import KERNELS, MAPS

KERNEL = qf.Gaussian(0.3)
CHAIN = qf.Anova(KERNEL, [[0, 1], [1, 2], [3]])
SMALL = qf.RandomFourier(KERNEL, n_components=8, random_state=0)


def _rows(d):
    return np.random.default_rng(0).normal(size=(60, d))


def _lattice(d, y, **parameters):
    grid = qf.DenseGrid(KERNEL, n_points=[3, 5, 4][:d], rule="equispaced")
    model = qf.KernelRegressor(grid, alpha=1.0, solver="toeplitz", **parameters)
    return model.partial_fit(_rows(d), y).fit(_rows(d), y).partial_fit(_rows(d), y)


def _table():
    """A table with a column of every kind, and gaps."""
    rng = np.random.default_rng(0)
    words = ["alpha", "beta", "gamma", "delta", "epsilon"]
    frame = pd.DataFrame(
        {
            "size": rng.normal(size=200),
            "city": rng.choice([f"city {i}" for i in range(12)], 200),
            "colour": rng.choice(["red", "green", "blue"], 200),
            "sold": pd.Timestamp("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 200), "D"),
            "note": [" ".join(rng.choice(words, 4)) + f" no. {i}" for i in range(200)],
        }
    )
    frame.loc[::5, ["size", "colour"]] = None
    return frame, rng.normal(size=200)


OBJECTS = {
    **{f"map {name}": (lambda make=make: make().fit(_rows(4))) for name, make in MAPS.items()},
    **{
        f"kernel {name}": (lambda make=make: make(4))
        for name, make in KERNELS.items()
        if name != "spectral"
    },
    "precomputed": lambda: qf.Landmarks("precomputed", n_components=8, random_state=0).fit(
        KERNEL(_rows(4))
    ),
    "arrays of columns": lambda: qf.Anova(KERNEL, [np.array([0, 1]), np.array([2])]),
    "an array of subsets": lambda: qf.Anova(KERNEL, np.array([[0, 1], [2, 3]])),
    "arrays of sizes": lambda: qf.Convolution(np.array([2, 2]), np.array([1, 2]), base=KERNEL),
    "one column": lambda: qf.DenseGrid(KERNEL, n_points=3).fit(_rows(1)),
    "one landmark": lambda: qf.Landmarks(KERNEL, n_components=1, random_state=0).fit(_rows(4)),
    "one component": lambda: qf.HermiteMercer(KERNEL, n_components=1).fit(_rows(4)),
    "far rows": lambda: qf.DenseGrid(KERNEL, n_points=3).fit(_rows(4)).moved_to(np.full(4, 1e6)),
    "tolerance": lambda: qf.DenseGrid(KERNEL, tol=0.1).fit(_rows(2)),
    "points": lambda: qf.Landmarks(KERNEL, points=_rows(4)[:5]).fit(_rows(4)),
    "table": lambda: qf.TableEncoder().fit(*_table()),
    "kinds": lambda: qf.TableEncoder(columns={"city": "drop"}).fit(*_table()),
    "model of a table": lambda: qf.KernelRegressor(SMALL).fit(*_table()),
    "one target": lambda: qf.KernelRegressor(SMALL, solver="products").partial_fit(
        _rows(4), _rows(1)[:, 0]
    ),
    "many targets": lambda: qf.KernelRegressor(SMALL).partial_fit(_rows(4), _rows(2)),
    "classes": lambda: qf.KernelClassifier(SMALL).partial_fit(_rows(4), np.arange(60) % 3),
    "texts": lambda: qf.KernelClassifier(SMALL, loss="logistic", alpha=1.0).fit(
        _rows(4), np.array(["a", "b"])[np.arange(60) % 2]
    ),
    "wide": lambda: qf.KernelRegressor(
        qf.RandomFourier(KERNEL, n_components=100, random_state=0), alpha=1.0
    ).fit(_rows(4), _rows(1)[:, 0]),
    "iterated": lambda: qf.KernelRegressor(SMALL, alpha=1.0, solver="iterative").fit(
        _rows(4), _rows(1)[:, 0]
    ),
    **{
        f"lattice of {d} axes, {t} targets": (lambda d=d, t=t: _lattice(d, _rows(t)))
        for d in (1, 2, 3)
        for t in (1, 2)
    },
}


@pytest.fixture(autouse=True)
def _not_synced(monkeypatch):
    monkeypatch.setattr(os, "fsync", lambda _: None)  # would take most of the time


@functools.cache
def _made(name):
    return OBJECTS[name]()


@functools.cache
def _stored(name):
    """The tree of an object and its arrays."""
    encoder = Encoder(RECIPES)
    return encoder.encode(_made(name), name), encoder.arrays


def _classes(tree):
    """The names of classes in a tree."""
    if isinstance(tree, dict):
        found = {tree["class"]} if isinstance(tree.get("class"), str) else set()
        return found.union(*map(_classes, tree.values()))
    return set().union(*map(_classes, tree)) if isinstance(tree, list) else set()


@pytest.mark.filterwarnings("ignore:.*polynomial.*|.*degree.*:UserWarning")
@pytest.mark.parametrize("name", OBJECTS)
def test_an_object_that_comes_back_is_stored_as_before(name, tmp_path):
    tree, arrays = _stored(name)
    archive.write(tmp_path / "m.qf", {"estimator": tree}, arrays)
    loaded, again = qf.load(tmp_path / "m.qf"), Encoder(RECIPES)
    assert repr(loaded) == repr(_made(name)) and vars(loaded).keys() == vars(_made(name)).keys()
    found = again.encode(loaded, name)
    assert json.dumps(found) == json.dumps(tree)  # as text, in which NaN is equal to itself
    assert again.arrays.keys() == arrays.keys()
    for key, array in again.arrays.items():
        assert array.dtype == arrays[key].dtype and array.shape == arrays[key].shape
        assert array.tobytes() == arrays[key].tobytes()


@pytest.mark.filterwarnings("ignore:.*polynomial.*|.*degree.*:UserWarning")
def test_every_class_that_has_a_recipe_is_stored_by_some_object():
    assert set().union(*(_classes(_stored(name)[0]) for name in OBJECTS)) == RECIPES.keys()


@pytest.mark.parametrize("name", RECIPES)
def test_bounds_of_stored_numbers_are_at_zero(name):
    """Numbers of any size above zero are refused together or not at all."""
    recipe = RECIPES[name]
    for check in {**recipe.stored, **recipe.optional, **recipe.parameters}.values():
        assert check(2.0) == check(5e-324)
        for axes in range(6):
            assert check(np.full((1,) * axes, 2.0)) == check(np.full((1,) * axes, 5e-324))


# Each is a kernel of four columns; no two factors of a product look at one column.
PAIRS = [qf.Anova(KERNEL, subsets) for subsets in ([[0], [1]], [[2], [2, 3], [3]])]
EXTENTS = {
    **KERNELS,
    "sum of groups": lambda d: CHAIN + qf.Convolution((4,), 2, base=KERNEL),
    "groups of sums": lambda d: qf.Anova(KERNEL + qf.Cauchy(0.2), [[0, 1], [2]]),
    "windows of sums": lambda d: qf.Convolution((4,), 2, base=KERNEL + qf.Cauchy(0.2)),
    "windows of an image": lambda d: qf.Convolution((2, 2), (1, 2), base=KERNEL),
    "windows of channels": lambda d: qf.Convolution((2, 1, 2), 1, base=KERNEL),
    "windows with a stride": lambda d: qf.Convolution((4,), 2, stride=2, base=KERNEL),
    "groups on all columns": lambda d: CHAIN * KERNEL,
    "product of groups": lambda d: PAIRS[0] * PAIRS[1],
    "scaled": lambda d: 2.0 * CHAIN,
}


@pytest.mark.parametrize("name", EXTENTS)
def test_groups_and_their_axes_are_counted_without_making_them(name):
    kernel = EXTENTS[name](4)
    groups = kernel.groups(4)
    assert _extent(kernel, 4) == (len(groups), sum(len(group.axes) for group in groups))


def test_a_product_of_overlapping_groups_has_at_most_the_axes_of_both():
    n_groups, n_axes = _extent(CHAIN * CHAIN, 4)
    groups = (CHAIN * CHAIN).groups(4)
    assert n_groups == len(groups) == 9
    assert sum(len(group.axes) for group in groups) <= n_axes == 3 * 5 + 5 * 3


@pytest.mark.parametrize("shape", [[2**15], [2**9, 2**6]])
def test_many_groups_of_one_axis_are_refused_before_they_are_made(shape, tmp_path):
    """Landmarks do not say how many groups there are, so nothing else refuses them."""
    tree, arrays = _stored("one landmark")
    kernel = {"class": "Convolution", "state": {"shape": shape, "window": 1}}
    state = {**tree["state"], "kernel_": kernel, "n_features_in_": 2**15}
    archive.write(tmp_path / "m.qf", {"estimator": {**tree, "state": state}}, arrays)
    with pytest.raises(ValueError, match="32768 groups with 32768 axes"):
        qf.load(tmp_path / "m.qf")


@pytest.mark.filterwarnings("ignore:.*polynomial.*|.*degree.*:UserWarning")
@pytest.mark.parametrize("name", sorted(OBJECTS.keys() - {"points"}))  # a parameter, checked in fit
def test_arrays_with_one_more_axis_are_refused(name, tmp_path):
    tree, arrays = _stored(name)
    for key, array in arrays.items():
        archive.write(tmp_path / "m.qf", {"estimator": tree}, {**arrays, key: array[None]})
        with pytest.raises(ValueError, match="does not describe"):
            qf.load(tmp_path / "m.qf")


@pytest.mark.parametrize("output", [["transform", "code"], ["fit", "pandas"], ["transform", 1]])
def test_a_kind_of_output_that_scikit_learn_does_not_have_is_refused(output, tmp_path):
    tree, arrays = _stored("map random")
    for config, refused in (
        ({"dict": [["transform", "pandas"]]}, False),
        ({"dict": [output]}, True),
    ):
        state = {**tree["state"], "_sklearn_output_config": config}
        archive.write(tmp_path / "m.qf", {"estimator": {**tree, "state": state}}, arrays)
        with pytest.raises(ValueError, match="_config of") if refused else nullcontext():
            qf.load(tmp_path / "m.qf")
