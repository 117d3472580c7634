"""One line in front: coloured and thick, peers grey, names at the ends and apart."""

from itertools import pairwise

import numpy as np
import pytest
from matplotlib.colors import to_rgb

from quadfeat.plotting.front import lines_in_front, spread
from quadfeat.plotting.style import figure


def drawn(ends):
    ax = figure(6, 4).subplots()
    ax.set(xscale="log", yscale="log")
    curves = {f"peer {i}": ([16, 64], [1.0, end]) for i, end in enumerate(ends)}
    lines_in_front(ax, {"ours": ([16, 64], [0.5, 0.01]), **curves}, "ours")
    return ax


def test_the_line_in_front_is_the_only_coloured_one_and_the_thickest():
    ax = drawn([0.1, 0.2])
    *peers, ours = ax.lines
    assert len(set(to_rgb(ours.get_color()))) > 1
    for peer in peers:
        assert len(set(to_rgb(peer.get_color()))) == 1
        assert peer.get_linewidth() < ours.get_linewidth() / 2
        # In grey print, too: darker than its peers (luminance of Rec. 601).
        weights = [0.299, 0.587, 0.114]
        assert np.dot(weights, to_rgb(ours.get_color())) < np.dot(weights, to_rgb(peer.get_color()))


@pytest.mark.parametrize(
    "ends", [[0.1, 0.1, 0.1], [0.011, 0.0105, 0.2], list(np.geomspace(0.1, 0.2, 6))]
)
def test_names_at_the_ends_do_not_overlap_and_there_is_no_legend(ends):
    ax = drawn(ends)
    assert ax.get_legend() is None
    ax.figure.draw_without_rendering()
    boxes = sorted((t.get_window_extent() for t in ax.texts), key=lambda box: box.y0)
    assert len(boxes) == len(ends) + 1
    assert all(low.y1 <= high.y0 + 1 for low, high in pairwise(boxes))


def test_heights_are_moved_apart_and_no_further(rng):
    for _ in range(50):
        heights = rng.normal(size=rng.integers(1, 9))
        moved = np.array(spread(heights, 0.5))
        assert np.diff(np.sort(moved)).min(initial=np.inf) >= 0.5 - 1e-12
        order = np.argsort(heights)
        assert (np.diff(moved[order]) > 0).all()
        # Least squares keeps the mean: shifting all by a constant would be nearer otherwise.
        assert moved.mean() == pytest.approx(heights.mean())
        if np.diff(np.sort(heights)).min(initial=np.inf) >= 0.5:
            np.testing.assert_allclose(moved, heights)
