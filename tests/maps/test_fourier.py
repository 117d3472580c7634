"""Fourier maps are their quadrature rules."""

import numpy as np
import pytest

import quadfeat as qf


def test_inner_products_of_features_are_the_rule_s_kernel(any_map, data):
    fitted = any_map.fit(data)
    if not hasattr(fitted, "rule_"):
        return
    features, rule = fitted.transform(data[:20]), fitted.rule_
    gaps = (data[:20, None] - data[None, :20]).reshape(-1, 4)
    expected = rule(gaps).reshape(20, 20)
    mass = np.abs(rule.weights).sum()
    np.testing.assert_allclose((features * fitted.signs_) @ features.T, expected, atol=1e-13 * mass)
    np.testing.assert_allclose(fitted.approximate_kernel(data[:20]), expected, atol=1e-13 * mass)


def test_weights_sum_to_k_of_zero(any_map, data):
    fitted = any_map.fit(data)
    if not hasattr(fitted, "rule_"):
        return
    if isinstance(any_map, qf.ReweightedGrid) or any_map.get_params().get("weights") == (
        "nonnegative"
    ):
        tolerance = 0.2  # least squares over pairs promises no mass
    else:
        tolerance = 1e-10
    assert fitted.rule_.weights.sum() == pytest.approx(1.0, abs=tolerance)
