"""A map of a kernel with a metric is the map of the plain kernel on transformed rows."""

import pickle
import tracemalloc

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.linear_model import Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline

import quadfeat as qf
from quadfeat._errors import NoCertificate

from ..conftest import MAPS

GAMMA = 0.2
_draw = np.random.default_rng(7).normal
METRICS = {
    "rank-1": _draw(size=(1, 4)),
    "fewer": _draw(size=(2, 4)),
    "square": _draw(size=(4, 4)) / 2,
    "more": _draw(size=(5, 4)) / 2,
    "diagonal": np.diag([0.5, 2.0, 0.0, -1.0]),
}
pytestmark = pytest.mark.filterwarnings("ignore:.*exact to.*|.*bad choice.*:UserWarning")


def _with_metric(any_map, metric, gamma=GAMMA):
    return clone(any_map).set_params(kernel=qf.Gaussian(gamma, metric=metric))


def _plain(any_map, gamma=GAMMA):
    return clone(any_map).set_params(kernel=qf.Gaussian(gamma))


def _certified(fitted, *args, **region):
    try:
        return fitted.certificate(*args, **region).value
    except NoCertificate:
        return None


@pytest.mark.parametrize("name", METRICS)
def test_a_metric_is_the_plain_map_on_transformed_rows(any_map, name, data):
    metric = METRICS[name]
    image = data @ metric.T
    ours, theirs = _with_metric(any_map, metric).fit(data), _plain(any_map).fit(image)
    np.testing.assert_array_equal(ours.transform(data), theirs.transform(image))
    assert ours.n_features_in_ == 4 and ours.n_columns_ == theirs.n_columns_
    np.testing.assert_array_equal(ours.signs_, theirs.signs_)
    np.testing.assert_array_equal(ours.kernel_.metric, metric)
    np.testing.assert_array_equal(
        ours.approximate_kernel(data[:9], data), theirs.approximate_kernel(image[:9], image)
    )
    # The exact kernel of gaps is rounded otherwise: M x - M y is not M (x - y).
    one, two = ours.error(data, n_pairs=500), theirs.error(image, n_pairs=500)
    assert one.rms == pytest.approx(two.rms, abs=1e-13)
    assert one.bound == pytest.approx(two.bound, abs=1e-13)
    assert _certified(ours, data) == _certified(theirs, image)
    if hasattr(ours, "rule_"):
        gaps = data[:20] - data[20:40]
        mass = np.abs(theirs.rule_.weights).sum()
        error = np.abs(ours.rule_(gaps) - theirs.rule_(gaps @ metric.T)).max()
        assert error <= 1e-12 * mass
    if hasattr(ours, "residual"):
        np.testing.assert_array_equal(ours.residual(data), theirs.residual(image))


def test_single_precision_multiplies_in_single_precision(any_map, data):
    X, metric = data.astype(np.float32), METRICS["square"]
    image = X @ metric.astype(np.float32).T
    ours, theirs = _with_metric(any_map, metric).fit(X), _plain(any_map).fit(image)
    assert ours.transform(X).dtype == np.float32
    assert ours.transform(X).tobytes() == theirs.transform(image).tobytes()


@pytest.mark.parametrize("gamma", ["scale", "median"])
def test_scale_and_median_look_at_transformed_rows(gamma, data):
    metric = METRICS["fewer"]
    for X in (data, data.astype(np.float32)):
        image = X @ metric.astype(X.dtype).T
        fitted = _with_metric(qf.Landmarks(n_components=9), metric, gamma).fit(X)
        assert fitted.kernel_.gamma == qf.Gaussian(gamma).resolve(image).gamma


def test_blocks_rows_sparse_rows_and_pickles_agree(any_map, data):
    thin = np.where(np.abs(data) > 0.5, data, 0.0)
    fitted = _with_metric(any_map, METRICS["more"]).fit(sparse.csr_array(thin))
    whole = fitted.transform(thin)
    dense = _with_metric(any_map, METRICS["more"]).fit(thin).transform(thin)
    # Products by BLAS round by the shape of the block, and frequencies amplify that.
    for other in (
        dense,
        fitted.transform(sparse.csr_array(thin)),
        fitted.transform(thin[::-1])[::-1],
        np.concatenate([fitted.transform(row[None]) for row in thin]),
        np.concatenate([block.copy() for block in fitted.transform_blocks(thin, 7)]),
        pickle.loads(pickle.dumps(fitted)).transform(thin),
    ):
        np.testing.assert_allclose(other, whole, atol=1e-11)


def test_an_identity_is_no_metric(any_map, data):
    ours, plain = _with_metric(any_map, np.eye(4)).fit(data), _plain(any_map).fit(data)
    assert ours.transform(data).tobytes() == plain.transform(data).tobytes()
    for region in ({"diameter": 0.4}, {"box": [0.2, 0.3, 0.1, 0.3]}):
        proven, expected = (_certified(fitted, **region) for fitted in (ours, plain))
        # Regions are rounded up once more.
        assert proven == (
            None if expected is None else pytest.approx(expected, rel=1e-6, abs=1e-12)
        )


def test_a_permutation_is_another_order_of_the_columns(any_map, data):
    order = [2, 0, 3, 1]
    ours = _with_metric(any_map, np.eye(4)[order]).fit(data)
    plain = _plain(any_map).fit(np.ascontiguousarray(data[:, order]))
    theirs = plain.transform(np.ascontiguousarray(data[:, order]))
    assert ours.transform(data).tobytes() == theirs.tobytes()


def _observed(fitted, x, y):
    Z, W = fitted.transform(x), fitted.transform(y)
    approximate = np.einsum("ij,j,ij->i", Z, fitted.signs_, W)
    return np.abs(approximate - fitted.kernel_.at(x - y)).max() / fitted.kernel_.at_zero(x.shape[1])


@pytest.mark.parametrize("metric", [METRICS["fewer"][:, :3], METRICS["square"][:, :3] / 2])
def test_certificates_hold_over_transformed_regions(any_map, metric, rng):
    X = rng.uniform(-1, 1, size=(150, 3)) * [0.6, 0.3, 0.1]
    fitted = _with_metric(any_map, metric).fit(X)
    slack = 1e-12
    proven = fitted.certificate(X)  # every map has one on so small a region
    assert _observed(fitted, X[:75], X[75:]) <= proven.value + slack
    assert "metric (x - y)" in repr(proven) or "rows" in repr(proven)
    if hasattr(fitted, "residual"):
        return  # certified on rows only
    origin = rng.normal(size=(2000, 3))
    direction = rng.normal(size=(2000, 3))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    proven = _certified(fitted, diameter=0.8)
    if proven is not None:
        assert _observed(fitted, origin, origin + 0.8 * direction) <= proven + slack
    box = np.array([0.9, 0.4, 0.2])
    corners = box * rng.choice([-1.0, 1.0], size=(2000, 3))
    by_box = _certified(fitted, box=box)
    if by_box is not None:
        assert _observed(fitted, origin, origin + corners) <= by_box + slack
        both = fitted.certificate(box=box, diameter=float(np.linalg.norm(box)))
        assert both.value <= by_box * (1 + 1e-6) + slack
    if isinstance(fitted, qf.DenseGrid):
        assert proven is not None and by_box is not None
        assert fitted.certificate(diameter=0.8).region.diameter == 0.8


def test_a_grid_for_a_tolerance_knows_the_metric(rng):
    kernel = qf.Gaussian(0.5, metric=[[1.0, -1.0, 0.5], [0.0, 0.0, 0.0]])
    grid = qf.DenseGrid.for_tolerance(kernel, 1e-6, diameter=2.0, n_features=3)
    assert grid.kernel is kernel and grid.n_features_in_ == 3
    assert grid.certificate(diameter=2.0).value <= 1e-6
    # The longest gap in transformed coordinates, which the corners of the cube do not have.
    gap = 2.0 * np.array([[1.0, -1.0, 0.5]]) / 1.5
    assert _observed(grid, np.zeros((1, 3)), gap) <= 1e-6


@pytest.mark.parametrize("sparse_x", [False, True])
def test_a_tolerance_is_met_in_transformed_coordinates(sparse_x, rng):
    X = rng.uniform(size=(12_000 if sparse_x else 500, 3))
    X[-1] = 3.0, -3.0, 3.0  # a row that a sample of a sparse X may miss
    kernel = qf.Gaussian(0.3, metric=[[1.0, -1.0, 0.0]])
    given = sparse.csr_array(X) if sparse_x else X
    features = qf.KernelFeatures(kernel, tol=1e-5, random_state=0).fit(given)
    assert features.report_.chosen == "DenseGrid"
    assert _observed(features, X[:100], X[-100:]) <= 1e-5
    assert features.certificate(X).value <= 1e-5


def test_the_chosen_map_takes_rows_of_x(data):
    for options in ({}, {"shift_invariant": True}, {"tol": 0.2}):
        features = qf.KernelFeatures(
            qf.Gaussian(GAMMA, metric=METRICS["fewer"]), n_components=32, random_state=0, **options
        ).fit(data)
        chosen = features.map_
        assert chosen.n_features_in_ == 4
        assert chosen.transform(data).tobytes() == features.transform(data).tobytes()
        assert chosen.error(data, n_pairs=100) == features.error(data, n_pairs=100)
        again = clone(chosen).fit(data)
        assert again.transform(data).shape == chosen.transform(data).shape


def test_a_pool_and_polished_nodes_are_in_transformed_coordinates(data):
    for pool in (None, qf.FramedGrid(n_components=32), qf.DenseGrid(n_points=5)):
        polish = isinstance(pool, qf.FramedGrid)
        made = qf.ReweightedGrid(n_components=16, pool=pool, polish=polish, random_state=0)
        metric = METRICS["fewer"]
        ours, theirs = _with_metric(made, metric).fit(data), _plain(made).fit(data @ metric.T)
        assert ours.transform(data).tobytes() == theirs.transform(data @ metric.T).tobytes()
        assert _certified(ours, data) == _certified(theirs, data @ metric.T)


def test_a_multiple_of_a_kernel_with_a_metric_has_maps(data):
    metric = METRICS["fewer"]
    ours = qf.DenseGrid(0.5 * qf.Gaussian(GAMMA, metric=metric), n_points=6).fit(data)
    theirs = qf.DenseGrid(0.5 * qf.Gaussian(GAMMA), n_points=6).fit(data @ metric.T)
    assert ours.transform(data).tobytes() == theirs.transform(data @ metric.T).tobytes()
    assert ours.certificate(data).value == theirs.certificate(data @ metric.T).value


def test_rows_are_moved_before_they_are_multiplied(data):
    far = np.array([1e9, -1e9, 1e9, 0.0])
    for make in (MAPS["random"], MAPS["landmarks"], MAPS["dense"], MAPS["kernel-features"]):
        near = _with_metric(make(), METRICS["square"]).fit(data)
        moved = _with_metric(make(), METRICS["square"]).fit(data).moved_to(far)
        rounding = 1e-5  # of x + 1e9, times the largest frequency
        np.testing.assert_allclose(moved.transform(data + far), near.transform(data), atol=rounding)
        assert moved.error(data + far, n_pairs=100).bound == pytest.approx(
            near.error(data, n_pairs=100).bound, abs=1e-4
        )


def test_a_transform_makes_no_copy_of_all_rows(rng):
    X = rng.normal(size=(100_000, 20))
    metric = rng.normal(size=(40, 20)) / 20
    fitted = qf.RandomFourier(qf.Gaussian(0.1, metric=metric), n_components=2).fit(X[:100])
    tracemalloc.start()
    fitted.transform(X)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < X.nbytes  # X @ metric.T alone is twice that


@pytest.mark.parametrize("far", [1e200, 1.7e308])
@pytest.mark.parametrize("kind", [qf.HermiteMercer, qf.Landmarks])
def test_rows_infinitely_far_from_the_data_have_no_features(kind, far, data):
    fitted = kind(qf.Gaussian(0.5, metric=METRICS["square"]), n_components=16).fit(data)
    rows = far * np.array([[1.0, 1.0, -1.0, 1.0]])
    np.testing.assert_array_equal(fitted.transform(rows), 0.0)
    np.testing.assert_array_equal(fitted.residual(rows), 1.0)


def test_rows_that_overflow_by_the_metric_are_named(data):
    kernel = qf.Gaussian(0.5, metric=1e140 * np.eye(4))
    with pytest.raises(ValueError, match=r"X @ metric.T has values up to .*squares overflow"):
        qf.RandomFourier(kernel).fit(1e10 * data)
    fitted = qf.RandomFourier(qf.Gaussian(0.5, metric=METRICS["square"]), n_components=8).fit(data)
    with pytest.raises(ValueError, match=r"X @ metric.T has values up to .*leaves no digit"):
        fitted.transform(1e300 * data)
    with pytest.raises(ValueError, match=r"n_points has 4 numbers and X @ metric.T has 2 columns"):
        qf.DenseGrid(qf.Gaussian(0.5, metric=METRICS["fewer"]), n_points=[2] * 4).fit(data)


def test_a_metric_works_in_a_pipeline_a_search_and_with_names(data):
    frame = pd.DataFrame(data, columns=list("abcd"))
    metric = METRICS["fewer"]
    y = np.sin(data @ metric[0])
    pipe = make_pipeline(qf.HermiteMercer(qf.Gaussian(GAMMA), n_components=30), Ridge(1e-3))
    search = GridSearchCV(pipe, {"hermitemercer__kernel__metric": [None, metric]}, cv=3)
    search.fit(frame, y)
    np.testing.assert_array_equal(search.best_params_["hermitemercer__kernel__metric"], metric)
    plain = make_pipeline(qf.HermiteMercer(qf.Gaussian(GAMMA), n_components=30), Ridge(1e-3))
    expected = plain.fit(data @ metric.T, y).predict(data @ metric.T)
    np.testing.assert_allclose(search.predict(frame), expected, atol=1e-10)
    named = qf.RandomFourier(qf.Gaussian(GAMMA, metric=metric), n_components=4).fit(frame)
    assert list(named.feature_names_in_) == list("abcd")
    assert qf.RandomFourier().set_params(kernel__metric=metric).kernel.metric is metric
