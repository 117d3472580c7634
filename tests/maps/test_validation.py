"""Validation rows, their weights, and what trials measure."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.maps import validation
from quadfeat.numerics import principal_frame


def test_an_order_by_weight_starts_with_a_sample_by_weight(rng):
    weights = np.repeat([0.0, 1.0, 3.0], 1000)
    first = validation.weighted_order(weights, rng)
    assert sorted(first) == list(range(1000, 3000))
    share = np.mean(first[:200] >= 2000)
    assert abs(share - 0.75) < 5 * np.sqrt(0.75 * 0.25 / 200)


def test_the_cost_of_reflections_is_that_of_both_products(rng):
    X = rng.normal(size=(900, 60)) @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    X = X @ np.diag(np.linspace(2, 1, 60)) @ np.linalg.qr(rng.normal(size=(60, 60)))[0]
    features = qf.HermiteMercer(qf.Gaussian(0.002), n_components=70).fit(X)
    (own,) = features.basis_.expansions
    assert own.mixing is not None
    assert validation.cost_per_row(features) <= 2 * 60 * len(own.mixing) + 70
    assert validation.cost_per_row(features) > 1.8 * 60 * len(own.mixing)


def test_a_trial_has_the_error_of_pairs_of_distinct_rows_and_the_cost_of_its_columns(rng):
    X, kernel = rng.normal(size=(15, 3)), qf.Gaussian(0.5)
    features = qf.KernelFeatures(kernel, n_components=8, random_state=0).fit(X)
    trials = {trial.name: trial for trial in features.report_.trials}
    error = qf.HermiteMercer(kernel, n_components=8).fit(X).approximate_kernel(X) - kernel(X)
    apart = error[~np.eye(15, dtype=bool)]
    assert trials["HermiteMercer"].rms == pytest.approx(np.sqrt(np.mean(apart**2)), rel=1e-9)
    assert trials["HermiteMercer"].max == pytest.approx(np.abs(apart).max(), rel=1e-9)
    # Per point: a distance, an exponential, and half a row of a product, or a whole one.
    assert trials["Landmarks"].cost == 8 * (3 + 10 + 4)
    assert trials["Landmarks(compress=True)"].cost == 15 * (3 + 10 + 8)
    assert trials["QuasiRandomFourier"].cost == 10 * 8 + 4 * 3


def test_validation_rows_are_more_of_the_outermost_and_weigh_as_many_as_there_are(rng):
    X = rng.standard_t(2, size=(20_000, 4)) * [1.0, 10.0, 100.0, 1000.0]
    distance = principal_frame.distances(X)
    rows, weights, row_weights = validation.split_rows(distance, rng)
    assert len(np.unique(rows)) == len(rows) == 50 + 200 + 700
    assert weights.sum() == pytest.approx(len(X))
    rank = np.argsort(np.argsort(-distance))[rows]
    counts = [np.sum((low <= rank) & (rank < high)) for low, high in ((0, 100), (100, 1000))]
    assert counts == [50, 200]
    assert weights[rank < 100] == pytest.approx(100 / 50)
    assert weights[rank >= 1000] == pytest.approx(19_000 / 700)
    # Training rows make up for the validation rows of their stratum.
    ranks = np.argsort(np.argsort(-distance))
    assert not row_weights[rows].any()
    for low, high in ((0, 100), (100, 1000), (1000, 20_000)):
        own = row_weights[(low <= ranks) & (ranks < high)]
        assert own.sum() == pytest.approx(high - low)
        assert len(np.unique(own)) == 2
