"""The regressor: the dense textbook formulas, noise, penalties, several targets."""

import numpy as np
import pytest

import quadfeat as qf

from .maps import drawn, fixed


def test_mean_and_deviation_are_those_of_the_gaussian_process(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(), alpha=0.2).fit(X, y)
    Z, new = model.features_.transform(X), model.features_.transform(X[:20] + 0.1)
    A = np.column_stack([Z, np.ones(300)])
    penalty = 0.2 * np.diag([1.0] * Z.shape[1] + [0.0])
    inverse = np.linalg.inv(A.T @ A + penalty)
    H = A @ inverse @ A.T
    noise = ((y - H @ y) ** 2).sum() / (300 - np.trace(H))
    rows = np.column_stack([new, np.ones(20)])
    mean, deviation = model.predict(X[:20] + 0.1, return_std=True)
    np.testing.assert_allclose(mean, rows @ inverse @ A.T @ y, rtol=1e-8)
    assert model.noise_ == pytest.approx(noise, rel=1e-8)
    np.testing.assert_allclose(
        deviation, np.sqrt(noise * np.einsum("ij,jk,ik->i", rows, inverse, rows)), rtol=1e-8
    )


def test_the_noise_is_found(waves):
    X, y = waves
    model = qf.KernelRegressor(fixed(200)).fit(X, y)
    assert {each.judge for each in model.tuning_} == {"leave-one-out"}
    assert model.noise_ == pytest.approx(0.01, rel=0.4)  # 0.01 +- 2 * sqrt(2 / 100 left) of it


def test_signed_maps_equal_the_dense_indefinite_ridge(waves):
    X, y = waves
    features = qf.SparseGrid(qf.Gaussian(0.1), level=2, weights="signed")
    model = qf.KernelRegressor(features, alpha=0.5, fit_intercept=False).fit(X, y)
    assert (model.features_.signs_ < 0).any()
    K = model.features_.approximate_kernel(X)
    dense = K @ np.linalg.solve(K + 0.5 * np.eye(300), y)
    np.testing.assert_allclose(model.predict(X), dense, atol=1e-8 * np.abs(dense).max())
    with pytest.raises(ValueError, match="without negative weights"):
        model.predict(X, return_std=True)
    assert qf.KernelRegressor(features).fit(X, y).score(X, y) > 0.5


def test_wide_maps_find_alpha_one_factorisation_at_a_time(waves, monkeypatch):
    X, y = waves
    monkeypatch.setattr("quadfeat.models.ridge_path.MAX_PATH", 16)
    wide = qf.KernelRegressor(fixed()).fit(X, y)
    tried = {each.value: each.score for each in wide.tuning_}
    assert {each.judge for each in wide.tuning_} == {"leave-one-out"}
    assert tried[wide.alpha_] <= 1.001 * min(tried.values())
    Z = wide.features_.transform(X)
    centred = Z - Z.mean(axis=0)
    gram = centred.T @ centred + wide.alpha_ * np.eye(Z.shape[1])
    H = centred @ np.linalg.solve(gram, centred.T) + 1 / 300
    left_out = (y - y.mean() - (H - 1 / 300) @ (y - y.mean())) / (1 - np.diag(H))
    assert tried[wide.alpha_] == pytest.approx(np.mean(left_out**2), rel=1e-6)
    np.testing.assert_allclose(
        wide.coef_, np.linalg.solve(gram, centred.T @ (y - y.mean())), rtol=1e-6, atol=1e-9
    )


def test_a_path_of_alphas_ends_where_its_best_alone_does(waves):
    X, y = waves
    path = qf.KernelRegressor(fixed(), alpha=[1e-3, 1e-1, 10.0]).fit(X, y)
    alone = qf.KernelRegressor(fixed(), alpha=path.alpha_).fit(X, y)
    assert np.array_equal(path.coef_, alone.coef_)
    scores = {each.value: each.score for each in path.tuning_}
    assert path.alpha_ == min(scores, key=scores.get)


def test_a_large_mean_of_the_target_costs_no_digits(waves):
    X, y = waves
    X = X.astype(np.float32)
    plain = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, y)
    moved = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, y + 1e6)
    # y + 1e6 itself has lost 6 digits of 16; single precision products see the rest only.
    np.testing.assert_allclose(moved.predict(X) - 1e6, plain.predict(X), atol=1e-4)


def test_several_targets_are_fitted_as_each_alone(waves):
    X, y = waves
    both = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, np.column_stack([y, -2 * y]))
    alone = qf.KernelRegressor(fixed(), alpha=0.1).fit(X, y)
    mean, deviation = both.predict(X, return_std=True)
    single, spread = alone.predict(X, return_std=True)
    np.testing.assert_allclose(mean, np.column_stack([single, -2 * single]), atol=1e-10)
    np.testing.assert_allclose(deviation, np.column_stack([spread, 2 * spread]), rtol=1e-8)


@pytest.mark.parametrize("y", [[1.0, np.nan], [np.inf, 0.0]])
def test_a_target_that_is_missing_in_a_later_block_is_refused(y, plane):
    X, target = plane
    blocks = [(X, target), (X[:2], np.array(y))]
    with pytest.raises(ValueError, match="missing or"):
        qf.KernelRegressor(drawn(), alpha=1.0).fit(lambda: iter(blocks))


def test_a_batch_with_other_targets_than_the_first_is_refused(plane):
    X, y = plane
    model = qf.KernelRegressor(drawn(), alpha=1.0).partial_fit(X, y)
    with pytest.raises(ValueError, match="targets"):
        model.partial_fit(X, np.column_stack([y, y]))
