"""The contract of tolerances: met, proven, and with hardly more columns than need be."""

from itertools import product

import numpy as np
import pytest

import quadfeat as qf
from quadfeat._errors import NoMoments
from quadfeat.accuracy.region import Region
from quadfeat.accuracy.tolerance import GridSearch, columns_of
from quadfeat.rules import choice

from ..conftest import KERNELS

DIAMETER = 2.0
NO_GRID = {"matern-0.5", "matern-1.5", "matern-1.7", "anova-isotropic"}  # isotropic
# Its region is a ball and a box around an ellipsoid, so more columns are proven than needed.
METRIC = {"gaussian-metric"}
# Spectra that fall like a power of the frequency: 512 nodes per axis do not reach 1e-3.
SLOW = {"laplacian", "laplacian-per-axis", "matern-product", "sum"}


def rows_within(d, n, rng):
    """Rows no further apart than the diameter, many of them at the two ends of a line."""
    X = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.7)
    X *= DIAMETER / 2 / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-9)
    X *= np.where(rng.random((n, 1)) < 0.5, 1.0, rng.random((n, 1)))
    return np.concatenate([X, -X])


def seen(grid, X):
    error = np.abs(grid.approximate_kernel(X) - grid.kernel_(X))
    return error.max() / grid.kernel_.at_zero(X.shape[1])


def smaller_grids(kernel, d, columns):
    """Hand-picked grids of equal axes, of any rule, that have two thirds of the columns or less."""
    groups, corners = kernel.groups(d), np.outer([0.0, 1.0], np.full(d, DIAMETER))
    n = 1
    while columns_of(groups, np.full(d, n)) < columns / 1.5:
        n += 1
    for count in range(max(1, n - 2), n):  # an even and an odd number of nodes
        for rule in ("gauss", "equispaced", "clenshaw-curtis"):
            try:
                yield qf.DenseGrid(kernel, n_points=count, rule=rule).fit(corners)
            except NoMoments:  # no Gauss rule for this spectrum
                continue


@pytest.mark.parametrize("d", [1, 2, 3])
@pytest.mark.parametrize("name", [name for name in KERNELS if name not in NO_GRID | METRIC])
def test_a_grid_for_a_tolerance_meets_it_with_hardly_more_columns_than_any_that_does(name, d):
    rng = np.random.default_rng(0)
    X = rows_within(d, 60, rng)
    for tol in (0.2,) if name in SLOW else (1e-1, 3e-4):
        kernel = KERNELS[name](d)
        grid = qf.DenseGrid.for_tolerance(kernel, tol, DIAMETER, n_features=d)
        assert grid.certificate(diameter=DIAMETER).value <= tol
        assert seen(grid, X) <= tol
        for smaller in smaller_grids(kernel, d, grid.n_columns_):
            assert seen(smaller, X) > tol


def test_axes_that_need_fewer_nodes_get_fewer():
    kernel = qf.Gaussian([2.0, 0.1])
    grid = qf.DenseGrid.for_tolerance(kernel, 1e-4, DIAMETER, n_features=2)
    assert grid.n_points[0] > grid.n_points[1]
    X = np.random.default_rng(0).uniform(-1, 1, size=(200, 3)) * [1.0, 0.1, 0.0]
    front = qf.KernelFeatures(qf.Gaussian(0.5), tol=1e-3).fit(X)
    assert front.map_.n_points[0] > front.map_.n_points[1] > front.map_.n_points[2] == 1


SEARCHES = {
    "alike": (qf.Gaussian(0.5), Region.of(d=2, diameter=3.0)),
    "one axis": (qf.Gaussian(0.5), Region.of(d=1, diameter=3.0)),
    "per axis": (qf.Gaussian([2.0, 0.3]), Region.of(d=2, diameter=3.0)),
    "box": (qf.Gaussian([2.0, 0.3]), Region.of(box=[2.0, 1.0])),
    "box, one kernel": (qf.Gaussian(0.5), Region.of(box=[3.0, 1.5])),
    "three axes": (qf.Gaussian([1.0, 0.5, 0.1]), Region.of(d=3, diameter=2.0)),
    "weighted sum": (
        qf.Anova(qf.Gaussian(0.5), [[0, 1], [1, 2]], weights=[3.0, 0.5]),
        Region.of(d=3, diameter=2.0),
    ),
}
TOLERANCES = (0.3, 0.1, 3e-2, 1e-2, 1e-3, 1e-4)


def search_of(name):
    kernel, region = SEARCHES[name]
    return GridSearch(kernel, region, np.minimum(region.box, region.diameter))


@pytest.mark.parametrize("name", SEARCHES)
def test_no_grid_inside_the_one_that_is_found_is_certified(name):
    search = search_of(name)
    for tol in TOLERANCES:
        found = search.fewest(tol)
        assert search.certified(np.array(found)) <= tol
        for smaller in map(np.array, product(*(range(1, n + 1) for n in found))):
            if tuple(smaller) != found and search.seen(smaller) <= tol:
                assert search.certified(smaller) > tol, (tol, found)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_search_stops_at_its_limit_and_not_before(name):
    kernel, region = SEARCHES[name]
    for tol in TOLERANCES[::2]:
        found = search_of(name).fewest(tol)
        columns = columns_of(kernel.groups(len(region.box)), np.array(found))
        assert search_of(name).fewest(tol, limit=columns) == found
        assert search_of(name).fewest(tol, limit=columns - 1) is None


@pytest.mark.parametrize("name", SEARCHES)
def test_what_a_search_sees_is_at_most_what_it_proves_and_not_far_below(name):
    search = search_of(name)
    for tol in TOLERANCES:
        counts = np.array(search.fewest(tol))
        assert 0.1 * search.certified(counts) <= search.seen(counts) <= search.certified(counts)


@pytest.mark.parametrize("name", ["alike", "one axis"])
def test_what_a_search_sees_is_never_taken_for_a_proof(name, monkeypatch):
    monkeypatch.setattr(GridSearch, "seen", lambda self, counts: 0.0)
    search = search_of(name)
    for tol in TOLERANCES:
        assert search.certified(np.array(search.fewest(tol))) <= tol
        least, most = (np.full(len(search._reaches), n) for n in (1, 12))
        assert search.certified(search._between(least, least, most, tol)) <= tol


def test_the_error_of_an_axis_is_its_largest_up_to_the_whole_reach():
    search = search_of("alike")
    t = np.linspace(0, 3.0, 10_001)
    for n in (2, 3):
        rule = choice.axis_rule(qf.Gaussian(0.5), n, reach=3.0)
        error = np.abs(qf.Gaussian(0.5).profile(t) - rule(t[:, None])).max()
        assert search.error(0, n) == pytest.approx(error, rel=1e-3)


@pytest.mark.parametrize("n", [1, 2, 4])
def test_an_error_of_just_the_tolerance_is_within_it(n):
    search = search_of("one axis")
    assert search._least(search.error(0, n), np.inf).tolist() == [n]


@pytest.mark.long
def test_of_many_axes_none_can_spare_a_node():
    d = 11  # 2^11 grids between two neighbours are too many to try
    kernel, region = qf.Gaussian(np.geomspace(0.02, 0.3, d)), Region.of(d=d, diameter=2.0)
    search = GridSearch(kernel, region, np.full(d, 2.0))
    found = np.array(search.fewest(1e-2))
    assert search.certified(found) <= 1e-2
    for axis in np.flatnonzero(found > 1):
        assert search.certified(found - np.eye(d, dtype=np.intp)[axis]) > 1e-2


def test_a_tolerance_out_of_reach_says_so():
    with pytest.raises(ValueError, match="smoother kernel"):
        qf.DenseGrid.for_tolerance(qf.Laplacian(1.0), 1e-6, diameter=2.0)


@pytest.mark.parametrize("name", SEARCHES)
def test_a_tolerance_that_is_a_grid_s_certificate_is_met_by_that_grid(name):
    kernel, region = SEARCHES[name]
    groups, search = kernel.groups(len(region.box)), search_of(name)
    for tol in TOLERANCES[1:4]:
        counts = np.array(search.fewest(tol))
        again = search.fewest(search.certified(counts))
        assert columns_of(groups, np.array(again)) <= columns_of(groups, counts)


def test_a_tolerance_beyond_the_limit_has_no_grid():
    kernel, region = qf.Gaussian(np.array([0.3, 0.3])), Region.of(d=2, diameter=4.0)
    search = GridSearch(kernel, region, np.array([4.0, 4.0]))
    counts = search.fewest(1e-3)
    columns = int(np.prod(counts))
    assert search.fewest(1e-3, limit=columns) is not None
    assert GridSearch(kernel, region, np.array([4.0, 4.0])).fewest(1e-3, limit=columns // 2) is None
