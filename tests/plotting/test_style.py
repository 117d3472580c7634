"""One style for all pictures."""

import pytest

import quadfeat as qf
from quadfeat.app import demo
from quadfeat.experiments.contenders import CONTENDERS
from quadfeat.plotting.style import STYLES, style_of


def _maps():
    named = (getattr(qf, name) for name in qf.__all__)
    return [
        item.__name__
        for item in named
        if isinstance(item, type) and issubclass(item, qf.FeatureMap) and item is not qf.FeatureMap
    ]


@pytest.mark.parametrize("name", _maps())
def test_every_map_has_a_style_that_does_not_depend_on_its_position(name):
    assert {style_of(name, position) for position in range(30)} == {style_of(name)}


@pytest.mark.parametrize("names", [list(demo.MAPS), list(CONTENDERS)], ids=["demo", "Fig. 2"])
def test_maps_of_one_picture_differ_without_colour(names):
    without_colour = {(style.marker, style.line) for style in map(style_of, names)}
    assert len(without_colour) == len(names)


def test_names_that_are_no_map_have_the_style_of_their_position():
    assert [style_of("another", k) for k in range(len(STYLES))] == list(STYLES.values())
