"""A metric learned from targets."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.learning.metric import learn_metric
from quadfeat.learning.scales import learn_scales
from quadfeat.learning.task import Task
from quadfeat.numerics.blas import one_thread


@pytest.fixture(autouse=True)
def _one_thread():
    with one_thread():
        yield


def test_two_directions_of_twenty_are_found_within_five_degrees(rng):
    X = rng.normal(size=(3000, 20))
    directions = np.linalg.qr(rng.normal(size=(20, 2)))[0]
    U = X @ directions
    y = np.sin(2 * U[:, 0]) * U[:, 1] + 0.05 * rng.normal(size=3000)
    metric = qf.Gaussian(metric="learned").learned(X, y).metric
    leading = np.linalg.svd(metric)[2][:2]
    cosines = np.linalg.svd(leading @ directions)[1]
    assert np.degrees(np.arccos(cosines.min())) < 5
    assert len(metric) < 20


def test_the_likelihood_is_at_least_that_of_the_scales_it_starts_from(rng):
    X = rng.normal(size=(500, 4))
    y = np.sin(X[:, 0] - X[:, 1]) + 0.05 * rng.normal(size=500)
    task = Task.of(X, y[:, None], np.ones(500))
    scales = learn_scales(qf.Gaussian(), task)
    assert learn_metric(qf.Gaussian(), task, scales).value < scales.value


def test_a_metric_of_some_columns_leaves_out_the_others(rng):
    X = rng.normal(size=(500, 5))
    y = np.sin(X[:, 0] - X[:, 3])
    task = Task.of(X, y[:, None], np.ones(500))
    columns = np.array([True, False, False, True, False])
    scales = learn_scales(qf.Gaussian(), task)
    metric = learn_metric(qf.Gaussian(), task, scales, columns=columns).kernel.metric
    assert (metric[:, ~columns] == 0).all()
    assert (metric[:, columns] != 0).all()


def test_more_landmarks_go_on_from_a_metric(rng):
    X = rng.normal(size=(800, 4)) * [1.0, 10.0, 0.1, 3.0]
    y = np.sin(X[:, 0] - X[:, 1] / 10) + 0.05 * rng.normal(size=800)
    few, many = (Task.of(X, y[:, None], np.ones(800), n_landmarks=size) for size in (32, 256))
    scales = learn_scales(qf.Gaussian(), few)
    start = learn_metric(qf.Gaussian(), few, scales)
    as_it_is = learn_metric(qf.Gaussian(), many, start, steps=0)
    np.testing.assert_allclose(
        as_it_is.kernel.gram(X[:9], X[:9]), start.kernel.gram(X[:9], X[:9]), atol=0.01
    )
    assert learn_metric(qf.Gaussian(), many, start).value < as_it_is.value


def test_a_number_for_gamma_is_kept(rng):
    X = rng.normal(size=(300, 3))
    y = np.sin(X[:, 0] + X[:, 1])
    one, other = (qf.Gaussian(gamma, metric="learned").learned(X, y) for gamma in (0.5, 2.0))
    assert other.gamma == 2.0
    np.testing.assert_allclose(one.gram(X[:5], X[:5]), other.gram(X[:5], X[:5]), atol=1e-12)
