"""Regions hold all gaps they were made from, and are refused with advice."""

from itertools import product

import numpy as np
import pytest

from quadfeat.accuracy.bounds import Grid
from quadfeat.accuracy.certificate import certify
from quadfeat.accuracy.region import Region, turned_gaps, turned_rows
from quadfeat.kernels.stationary import Gaussian


def test_the_region_of_data_holds_all_its_gaps():
    X = np.random.default_rng(0).normal(size=(50, 3))
    region, gaps = Region.of(X), (X[:, None] - X[None]).reshape(-1, 3)
    assert np.linalg.norm(gaps, axis=1).max() <= region.diameter
    assert np.all(np.abs(gaps) <= region.box)
    many = np.random.default_rng(0).normal(size=(3000, 3))
    assert np.linalg.norm(many - many[:1], axis=1).max() <= Region.of(many).diameter


def test_a_constant_column_is_no_obstacle():
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 0.0]
    axes = (Gaussian(0.5).gauss(8),) * 2
    assert certify(Gaussian(0.5), [Grid(axes)], Region.of(X)).value < 1.0


def test_a_region_must_be_given_and_finite():
    with pytest.raises(ValueError, match=r"diameter=4\.0"):
        Region.of()
    with pytest.raises(ValueError, match="finite"):
        Region.of(d=2, diameter=np.inf)
    with pytest.raises(ValueError, match="not both"):
        Region.of(np.ones((2, 2)), diameter=1.0)
    with pytest.raises(ValueError, match="needs d"):
        Region.of(diameter=1.0)
    with pytest.raises(ValueError, match="box has 3 widths and the kernel 2"):
        Region.of(d=2, box=[1.0, 1.0, 1.0])


@pytest.mark.parametrize("value", ["a", -1, np.nan, np.inf, 1j, [1.0]])
def test_a_diameter_that_is_none_is_named(value):
    with pytest.raises(ValueError, match=r"diameter must be.*4\.0, got"):
        Region.of(d=2, diameter=value)


@pytest.mark.parametrize(
    "value", ["ab", [1.0, -1.0], [1.0, np.inf], [1e308, 1.7e308], [1.0, 1j], [[1.0], [1, 2]]]
)
def test_a_box_that_is_none_is_named(value):
    with pytest.raises(ValueError, match=r"box must be.*\[4\.0, 2\.0\], got"):
        Region.of(d=2, box=value)


def test_a_box_may_be_open_inside_a_ball():
    assert Region.of(diameter=2.0, box=[1.0, np.inf]).diameter == 2.0
    assert Region.of(d=2, diameter=0).box == (np.inf, np.inf)


@pytest.mark.parametrize("seed", range(20))
def test_what_is_in_a_region_is_in_what_some_axes_see_of_it_and_in_that_rounded_up(seed):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    box = rng.uniform(0.1, 3.0, d)
    regions = [Region.of(box=box), Region.of(d=d, diameter=2.0), Region.of(diameter=2.0, box=box)]
    for region in regions:
        ends = np.array(list(product((0.0, 0.5, 1.0), repeat=d))) * np.minimum(box, 2.0)
        gaps = np.concatenate([ends, 2.0 * np.eye(d), rng.normal(size=(200, d))])
        gaps *= np.minimum(1, region.diameter / np.maximum(np.linalg.norm(gaps, axis=1), 1e-9))[
            :, None
        ]
        gaps = np.clip(gaps, -np.array(region.box), region.box)
        axes = np.sort(rng.permutation(d)[: rng.integers(1, d + 1)])
        part = region.on(axes)
        for small in (part, part.rounded_up()):
            assert np.all(np.abs(gaps[:, axes]) <= np.array(small.box) * (1 + 1e-12))
            length = np.linalg.norm(gaps[:, axes], axis=1)
            assert np.all(length <= small.diameter * (1 + 1e-12))
        assert part.rounded_up().diameter <= part.diameter * 2 ** (1 / 8) * (1 + 1e-12)
    assert regions[0].diameter == pytest.approx(np.linalg.norm(box))


@pytest.mark.parametrize("r", [1, 2, 3, 5])
def test_a_transformed_region_holds_the_images_of_all_gaps(r):
    rng = np.random.default_rng(r)
    matrix = rng.normal(size=(r, 3)) * [1.0, 3.0, 0.1]
    for region in (
        Region.of(d=3, diameter=2.0),
        Region.of(box=[1.0, 0.2, 3.0]),
        Region.of(box=[1.0, 0.2, np.inf], diameter=2.0),
    ):
        gaps = rng.choice([-1.0, 1.0], size=(4000, 3)) * np.minimum(region.box, region.diameter)
        gaps[2000:] *= rng.random((2000, 3))
        # The longest image of a ball, and the furthest on each axis.
        rows = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
        gaps = np.concatenate([gaps, region.diameter * np.linalg.svd(matrix)[2], 2.0 * rows])
        inside = np.all(np.abs(gaps) <= region.box, axis=1)
        inside &= np.linalg.norm(gaps, axis=1) <= region.diameter * (1 + 1e-15)
        images, image = gaps[inside] @ matrix.T, region.transformed(matrix)
        assert len(images) > 9 and len(image.box) == r
        assert np.linalg.norm(images, axis=1).max() <= image.diameter
        assert np.all(np.abs(images) <= image.box)


def test_a_transformed_region_is_no_larger_than_it_must_be():
    turn = np.linalg.qr(np.random.default_rng(0).normal(size=(3, 3)))[0]
    ball = Region.of(d=3, diameter=2.0).transformed(turn)
    assert ball.diameter == pytest.approx(2.0) and ball.box == pytest.approx((2.0,) * 3)
    box = Region.of(box=[1.0, 2.0, 0.0]).transformed(np.array([[1.0, -1.0, 5.0]]))
    assert box.diameter == pytest.approx(3.0) and box.box == pytest.approx((3.0,))


@pytest.mark.parametrize("n", [2, 100, 1000, 1001, 1500])
def test_the_region_of_rows_on_a_sphere_is_the_sphere_however_many_there_are(n):
    """Up to 2,000 rows all distances are computed; of more, those to the middle of the columns."""
    X = np.random.default_rng(0).normal(size=(n, 3))
    X = (
        np.concatenate([X, np.eye(3)])
        / np.linalg.norm(np.concatenate([X, np.eye(3)]), axis=1)[:, None]
    )
    region = Region.of(5.0 + np.concatenate([X, -X]))
    assert region.diameter == pytest.approx(2.0, rel=1e-9) and region.diameter >= 2.0 - 1e-14
    assert region.box == pytest.approx((2.0,) * 3)


@pytest.mark.parametrize("axes", [[0], [1, 2], [0, 1, 2]])
def test_what_some_axes_see_of_a_region_is_no_larger_than_it_must_be(axes):
    for region in (Region.of(diameter=2.0, box=[1.0, 5.0, np.inf]), Region.of(box=[1.0, 2.0, 3.0])):
        widths = np.minimum(region.box, region.diameter)[axes]
        part = region.on(np.array(axes))
        assert part.box == pytest.approx(tuple(widths))
        assert part.diameter == pytest.approx(min(region.diameter, np.linalg.norm(widths)))


def test_rows_and_gaps_along_principal_directions_take_no_more_room_than_they_need():
    """Two directions of three; what they miss is a side of its own, of twice the furthest row."""
    X = np.array([[3.0, 0.0, 0.0], [-3.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, -2.0, 0.0]])
    X = np.concatenate([X, [[0.0, 0.0, 1.0], [0.0, 0.0, -1.0]]])
    turned = turned_rows(np.eye(3)[:, :2], np.ones(3), X)
    assert turned.box == pytest.approx([6.0, 4.0, 2.0]) and turned.diameter == pytest.approx(6.0)
    turned = turned_gaps(np.eye(3)[:, :2], np.ones(3), 5.0, [6.0, 4.0, 2.0])
    assert turned.box == pytest.approx([5.0, 4.0, 5.0]) and turned.diameter == pytest.approx(5.0)


@pytest.mark.parametrize("X", [np.zeros(3), np.zeros((0, 2)), [[np.nan]], [[np.inf]]])
def test_the_region_of_no_rows_is_refused(X):
    with pytest.raises(ValueError, match="X must be finite, with at least one row and one column"):
        Region.of(X)
