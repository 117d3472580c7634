"""Bands of the effects of classifiers, on the scale of their scores."""

import copy

import numpy as np
import pytest
from scipy.special import expit

import quadfeat as qf
from quadfeat.models.score_bands import averaged_root


def model(**options):
    kernel = qf.Anova(qf.Gaussian(4.0), [[0], [1]])
    return qf.KernelClassifier(qf.HermiteMercer(kernel, n_components=40), **options)


def draw(seed, n=1500):
    """Rows, two centred functions of them, and a uniform number each."""
    rng = np.random.default_rng(seed)
    X = rng.uniform(size=(n, 2))
    X[:, 1] = (X[:, 0] + X[:, 1]) / 2
    parts = np.column_stack([np.sin(6 * X[:, 0]), 2 * X[:, 1]])
    return X, parts - parts.mean(axis=0), rng.uniform(size=n)


def coverage(loss, alpha, share_of_ones, draws=60, *, known=True):
    """How often bands hold additive functions that are drawn from the prior of the model.

    If alpha is not known to it, it chooses one.
    """
    found = []
    for seed in range(draws):
        X, _, u = draw(seed, n=400)
        fitted = model(loss=loss, alpha=alpha).fit(X, u < 0.5)  # for its map
        rng = np.random.default_rng(seed)
        drawn = copy.copy(fitted)
        drawn.coef_ = rng.normal(size=fitted.coef_.shape) / np.sqrt(alpha)
        truth = drawn.effects(X)
        score = truth.sum(axis=1)
        fitted.set_params(alpha=alpha if known else "auto").fit(X, u < share_of_ones(score))
        value, deviation = fitted.effects(X, return_std=True)
        found.append(np.mean(np.abs(value - truth) <= 1.96 * deviation))
    return np.mean(found)


# A draw has two curves of two degrees of freedom or more: 240 numbers, of which 95% +- 1.4%
# are inside, so that three standard errors are 5%.
def test_bands_of_a_logistic_fit_hold_an_additive_function():
    assert coverage("logistic", 0.5, expit) == pytest.approx(0.95, abs=0.05)


# 88%, 84% and 87% of points if the penalty that 80 validation rows chose is taken for the true one.
@pytest.mark.parametrize("alpha", [0.05, 0.5, 5.0])
def test_bands_of_a_logistic_fit_hold_a_function_whose_penalty_is_not_known(alpha):
    assert coverage("logistic", alpha, expit, known=False) == pytest.approx(0.95, abs=0.05)


def test_a_root_includes_the_choice_of_the_penalty(rng):
    Z = rng.normal(size=(60, 5)) * [3.0, 1.0, 0.3, 0.1, 0.0]
    gram, v, alpha = Z.T @ Z, 0.1 * rng.normal(size=5), 2.0
    cross = (gram + alpha * np.eye(5)) @ v
    chances, squares = [], []
    for a in alpha * 10 ** np.arange(-4, 4.1, 0.25):
        if a >= 1e-7 * np.trace(gram) / 5:
            inverse = np.linalg.inv(gram + a * np.eye(5))
            volume = np.linalg.det(np.eye(5) + gram / a)
            chances.append(np.exp(cross @ inverse @ cross / 2) / np.sqrt(volume * a))
            moved = inverse @ cross - v
            squares.append(inverse + np.outer(moved, moved))
    root = np.triu(averaged_root(np.tril(gram), v, alpha))
    slow = np.average(squares, axis=0, weights=chances)
    np.testing.assert_allclose(np.linalg.inv(root.T @ root), slow, rtol=1e-9, atol=1e-9)


def test_a_penalty_that_is_given_is_not_doubted():
    X, parts, u = draw(0, n=300)
    y = u < expit(parts.sum(axis=1))
    chosen = model(loss="logistic").fit(X, y)
    given = model(loss="logistic", alpha=chosen.alpha_).fit(X, y)
    np.testing.assert_array_equal(chosen.effects(X), given.effects(X))
    assert np.abs(given.effects(X, True)[1] / chosen.effects(X, True)[1] - 1).max() > 0.01


def test_bands_of_a_ridge_fit_hold_an_additive_probability():
    # Small functions, so that y = -1 or 1 has a variance of nearly 1, as the prior assumes.
    assert coverage("ridge", 30.0, lambda f: (1 + f) / 2) == pytest.approx(0.95, abs=0.05)


@pytest.mark.parametrize("intercept", [True, False])
def test_deviations_are_those_of_the_inverse_hessian(rng, intercept):
    X, parts, u = draw(0, n=300)
    weight = rng.uniform(0.5, 2.0, size=300)
    y = u < 1 / (1 + np.exp(-parts.sum(axis=1)))
    fitted = model(loss="logistic", alpha=0.5, fit_intercept=intercept)
    fitted.fit(X, y, sample_weight=weight)
    deviation = fitted.effects(X, return_std=True)[1]
    Z = fitted.features_.transform(X)
    p = fitted.predict_proba(X)[:, 1]
    unit = (weight**2).sum() / weight.sum()
    full = np.column_stack([Z, np.ones((300, int(intercept)))])
    hessian = (full * (weight * p * (1 - p))[:, None]).T @ full
    hessian[np.diag_indices(Z.shape[1])] += 0.5
    covariance = unit * np.linalg.inv(hessian)[: Z.shape[1], : Z.shape[1]]
    anchor = np.median(X, axis=0)
    for column in (0, 1):  # features of an effect: those of its column alone, centred
        at = np.tile(anchor, (300, 1))
        at[:, column] = X[:, column]
        features = fitted.features_.transform(at)
        features -= features.mean(axis=0)
        slow = np.sqrt(np.einsum("ij,jk,ik->i", features, covariance, features))
        np.testing.assert_allclose(deviation[:, column], slow, rtol=1e-6)


def test_multiplied_weights_and_penalty_change_no_band():
    X, parts, u = draw(1, n=200)
    y = u < 1 / (1 + np.exp(-parts.sum(axis=1)))
    plain = model(loss="logistic", alpha=0.5).fit(X, y).effects(X, return_std=True)[1]
    weight = np.full(200, 8.0)
    times = model(loss="logistic", alpha=4.0).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(times.effects(X, return_std=True)[1], plain, rtol=1e-6)


def test_bands_survive_saving(tmp_path):
    X, _, u = draw(2, n=200)
    fitted = model(loss="logistic").fit(X, u < X[:, 0])
    qf.save(fitted, tmp_path / "model.qf")
    loaded = qf.load(tmp_path / "model.qf")
    for mine, theirs in zip(
        fitted.effects(X, return_std=True), loaded.effects(X, return_std=True), strict=True
    ):
        np.testing.assert_array_equal(mine, theirs)


def test_three_classes_have_bands_of_the_ridge_fit_only():
    X, _, u = draw(3, n=300)
    y = np.digitize(X[:, 0] + 0.2 * u, [0.4, 0.8])
    value, deviation = model(loss="ridge").fit(X, y).effects(X, return_std=True)
    assert value.shape == deviation.shape == (300, 2, 3) and (deviation > 0).all()
    for loss in ("logistic", "squared_hinge"):
        fitted = model(loss=loss).fit(X, y)
        with pytest.raises(ValueError, match="use loss='ridge'"):
            fitted.effects(X, return_std=True)
        assert fitted.effects(X).shape == (300, 2, 3)


def test_a_classifier_without_effects_keeps_no_posterior():
    X, _, u = draw(4, n=200)
    fitted = qf.KernelClassifier(qf.HermiteMercer(n_components=20), loss="ridge").fit(X, u < 0.5)
    assert not hasattr(fitted, "_posterior")


def test_another_fit_forgets_the_posterior():
    X, _, u = draw(5, n=200)
    fitted = model(loss="ridge").fit(X, u < X[:, 0])
    fitted.set_params(loss="squared_hinge").fit(X, u < X[:, 0])
    with pytest.raises(ValueError, match="return_std=True needs a posterior"):
        fitted.effects(X, return_std=True)
