"""One style for all pictures."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.app import demo
from quadfeat.experiments.contenders import CONTENDERS
from quadfeat.plotting.style import STYLES, curve, figure, legend_below, style_of


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


def test_a_band_is_of_deviations_or_of_the_range_and_one_run_has_none():
    x, runs = [1.0, 2.0], np.array([[1.0, 4.0], [3.0, 4.0], [2.0, 10.0]])
    mean, low, high = runs.mean(axis=0), runs.min(axis=0), runs.max(axis=0)
    spread = runs.std(axis=0, ddof=1)
    for band, given, ends in (
        ("deviation", runs, (np.maximum(mean - spread, low), mean + spread)),
        ("range", runs, (low, high)),
        ("deviation", runs[:1], (runs[0], runs[0])),
    ):
        picture = figure(4, 3)
        ax = picture.subplots()
        curve(ax, "Landmarks", x, given, band=band)
        (line,) = ax.get_lines()
        np.testing.assert_allclose(line.get_ydata(), given.mean(axis=0))
        (filled,) = ax.collections
        corners = filled.get_paths()[0].vertices
        for i in (0, 1):
            at = corners[corners[:, 0] == x[i], 1]
            assert (at.min(), at.max()) == pytest.approx((ends[0][i], ends[1][i]))


def test_a_legend_has_as_many_columns_as_fit_and_each_name_once():
    for width, expected in ((9.0, 3), (2.0, 1)):
        picture = figure(width, 3)
        for ax in picture.subplots(1, 2):
            for name in ("a long name of a map", "another long name", "a third one of them"):
                ax.plot([0, 1], [0, 1], label=name)
        legend_below(picture, columns=3)
        (legend,) = picture.legends
        assert len(legend.get_texts()) == 3 and legend._ncols == expected
