"""Kernels whose parameters say "tuned" or "learned", in maps, pipelines and models."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.pipeline import make_pipeline

import quadfeat as qf
from quadfeat.learning.targets import target_columns

LEARNING = [
    qf.Gaussian("tuned"),
    qf.Gaussian("learned"),
    qf.Laplacian("learned"),
    qf.Cauchy("learned"),
    qf.Matern(1.5, "learned"),
    qf.Matern(2.5, "learned", product=True),
    qf.Gaussian(metric="learned"),
    qf.Gaussian("tuned", metric="learned"),
]


@pytest.fixture
def data(rng):
    X = rng.normal(size=(300, 4))
    return X, np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=300)


@pytest.mark.parametrize("kernel", LEARNING, ids=repr)
def test_maps_pipelines_and_models_learn_the_same_way(kernel, data):
    X, y = data
    features = qf.RandomFourier(kernel, n_components=64, random_state=0)
    fitted = features.fit(X, y).kernel_
    assert not fitted.learns and kernel.learns
    assert features.kernel is kernel  # which is not changed
    assert np.isfinite(features.transform(X)).all()
    pipeline = make_pipeline(features, Ridge(1e-3)).fit(X, y)
    assert repr(pipeline[0].kernel_) == repr(fitted)
    model = qf.KernelRegressor(features).fit(X, y)
    assert not model.features_.kernel_.learns and model.score(X, y) > 0.8
    with pytest.raises(ValueError, match=r"learns from targets.*fit\(X, y\)"):
        features.fit(X)
    with pytest.raises(ValueError, match="targets"):
        kernel(X)


def test_sparse_rows_and_several_targets_are_learned_from(data):
    X, y = data
    dense = qf.Gaussian("learned").learned(X, np.stack([y, -y], axis=1))
    csr = qf.Gaussian("learned").learned(sparse.csr_matrix(X), np.stack([y, -y], axis=1))
    np.testing.assert_array_equal(dense.gamma, csr.gamma)
    assert np.argmax(dense.gamma) == 0


def test_classes_are_learned_from_their_indicators(data):
    X, y = data
    labels = np.where(y > 0, "up", "down")
    kernel = qf.Gaussian("learned").learned(X, labels)
    assert np.argmax(kernel.gamma) == 0
    np.testing.assert_array_equal(kernel.gamma, qf.Gaussian("learned").learned(X, y > 0).gamma)
    assert target_columns(labels, 300).shape == (300, 1)
    assert target_columns(np.arange(300) % 5, 300).shape == (300, 5)
    assert target_columns(np.arange(300), 300).shape == (300, 1)  # too many for classes
    with pytest.raises(ValueError, match="one class"):
        target_columns(np.array(["a"] * 3), 3)
    with pytest.raises(ValueError, match="missing"):
        target_columns(np.array([1.0, np.nan]), 2)
    with pytest.raises(ValueError, match="one row for each"):
        target_columns(np.ones(3), 2)


def test_parts_of_sums_and_products_do_not_learn(data):
    X, y = data
    for kernel in (
        qf.Gaussian("learned") + qf.Gaussian(1.0),
        qf.Anova(qf.Laplacian("tuned"), subsets=[[0], [1]]) + qf.Gaussian(1.0),
    ):
        with pytest.raises(ValueError, match=r"learned from targets.*sum or product"):
            qf.RandomFourier(kernel).fit(X, y)


@pytest.mark.parametrize("kernel", LEARNING, ids=repr)
def test_where_nothing_varies_the_median_distance_is_taken(kernel, data):
    X, _ = data
    fitted = qf.RandomFourier(kernel).fit(X, np.ones(300)).kernel_
    assert np.isfinite(fitted.gamma).all()


def test_a_map_without_such_a_kernel_ignores_y(data):
    X, y = data
    one, other = (qf.KernelFeatures(random_state=0).fit(X, target) for target in (y, None))
    np.testing.assert_array_equal(one.transform(X), other.transform(X))
