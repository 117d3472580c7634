"""A metric is a change of coordinates: k(x, y) is the plain kernel of M x and M y."""

import numpy as np
import pytest
from sklearn.base import clone

import quadfeat as qf
from quadfeat._errors import NotSeparable
from quadfeat.kernels import same

M = np.random.default_rng(5).normal(size=(3, 4))


@pytest.mark.parametrize("gamma", [0.3, "scale", "median"])
@pytest.mark.parametrize("r", [1, 3, 4, 6])
def test_a_kernel_with_a_metric_is_the_plain_one_on_transformed_rows(gamma, r, data):
    metric = np.random.default_rng(r).normal(size=(r, 4))
    kernel, plain = qf.Gaussian(gamma, metric=metric), qf.Gaussian(gamma)
    image = data @ metric.T
    np.testing.assert_allclose(kernel(data), plain(image), rtol=1e-12, atol=1e-15)
    resolved, gaps = kernel.resolve(data), data[:50] - data[50:100]
    assert resolved.gamma == plain.resolve(image).gamma
    np.testing.assert_allclose(
        resolved.at(gaps), plain.resolve(image).at(gaps @ metric.T), rtol=1e-12
    )
    direct = np.exp(-resolved.gamma * np.square(gaps @ metric.T).sum(axis=1))
    np.testing.assert_allclose(resolved.at(gaps), direct, rtol=1e-12)
    assert resolved.at_zero(4) == 1.0


@pytest.mark.parametrize("factor", [None, 0.5])
def test_the_inner_kernel_and_the_matrix_are_told(factor, data):
    kernel = qf.Gaussian("scale", metric=M) if factor is None else 0.5 * qf.Gaussian(1.0, metric=M)
    resolved = kernel.resolve(data)
    inner, matrix = resolved.coordinates(4)
    assert not inner.mixes_axes and resolved.mixes_axes
    np.testing.assert_array_equal(matrix, M)
    np.testing.assert_allclose(inner(data @ M.T), resolved(data), rtol=1e-12)
    assert inner.at_zero(3) == resolved.at_zero(4)
    assert inner.coordinates(3) == (inner, None)


def test_frequencies_are_those_of_the_inner_kernel_in_the_space_of_x(rng):
    kernel, plain = qf.Gaussian(0.3, metric=M), qf.Gaussian(0.3)
    drawn = kernel.sample(7, 4, np.random.default_rng(0))
    np.testing.assert_array_equal(drawn, plain.sample(7, 3, np.random.default_rng(0)) @ M)
    U = rng.random((7, kernel.cube(4)))
    np.testing.assert_array_equal(kernel.spectrum(U), plain.spectrum(U) @ M)


def test_the_subgaussian_parameter_is_that_of_the_longest_direction():
    kernel = qf.Gaussian(0.3, metric=np.diag([1.0, 3.0]))
    assert kernel.subgaussian(2) == pytest.approx(qf.Gaussian(2.7).subgaussian(1))


def test_metrics_are_compared_copied_and_searched_by_value():
    kernel = qf.Gaussian(0.3, metric=M)
    assert same(kernel, clone(kernel)) and clone(kernel).metric is not M
    assert not same(kernel, qf.Gaussian(0.3, metric=M * (1 + 1e-15)))
    assert not same(kernel, qf.Gaussian(0.3))
    assert qf.Gaussian().set_params(metric=M).get_params()["metric"] is M
    resolved = kernel.resolve(np.zeros((1, 4)))
    assert not np.shares_memory(resolved.metric, M)
    nested = qf.Gaussian(0.3, metric=M.tolist())
    assert same(nested, kernel.resolve(np.zeros((1, 4))))
    gaps = np.ones((2, 4))
    np.testing.assert_array_equal(nested.at(gaps), kernel.at(gaps))


def test_a_metric_is_printed_on_one_line_and_a_large_one_by_its_shape():
    small = qf.Gaussian(0.3, metric=np.array([[1.0, 2.0], [3.0, 4.0]]))
    assert repr(small) == "Gaussian(gamma=0.3, metric=array([[1., 2.], [3., 4.]]))"
    assert (
        repr(qf.Gaussian(0.3, metric=np.eye(40))) == "Gaussian(gamma=0.3, metric=<array 40 x 40>)"
    )
    assert repr(qf.Gaussian(0.3)) == "Gaussian(gamma=0.3)"


@pytest.mark.parametrize(
    ("metric", "error", "message"),
    [
        (
            np.ones((2, 3)),
            ValueError,
            r"metric must be a 2-D array .* 4 columns.*eye\(4\).*\(2, 3\)",
        ),
        (np.ones(4), ValueError, r"shape \(4,\); np.diag\(metric\)"),
        (np.ones((1, 2, 4)), ValueError, r"2-D .* \(1, 2, 4\)"),
        (np.ones((0, 4)), ValueError, r"\(0, 4\)"),
        (2.0, ValueError, r"2-D .* got 2\.0"),
        (np.full((2, 4), np.nan), ValueError, "metric must hold finite numbers.*nan"),
        (np.full((2, 4), np.inf), ValueError, "metric must hold finite numbers.*inf"),
        (np.diag([1.0, np.nan, 1.0, 1.0]), ValueError, "metric must hold finite numbers.*nan"),
        (np.zeros((2, 4)), ValueError, "metric must not be all zero"),
        (np.full((2, 4), 1e200), ValueError, r"between 1e-150 and 1e\+150, got 1e\+200"),
        (np.full((2, 4), 1e-200), ValueError, "between 1e-150 and .*got 1e-200"),
        ("euclidean", TypeError, "metric must be a 2-D array .*or None, got 'euclidean'"),
        ([[1.0, 2.0], [3.0]], TypeError, r"metric must be .*got \[\[1.0, 2.0\], \[3.0\]\]"),
        (np.ones((2, 4)) * 1j, TypeError, "metric must be"),
        (np.ones((2, 4), dtype=bool), TypeError, "metric must be"),
    ],
)
def test_what_is_no_metric_is_refused_with_what_works(metric, error, message, data):
    with pytest.raises(error, match=message):
        qf.Gaussian(0.3, metric=metric)(data)
    with pytest.raises(error, match=message):
        qf.RandomFourier(qf.Gaussian(0.3, metric=metric)).fit(data)


def test_one_gamma_per_axis_belongs_into_the_metric(data):
    with pytest.raises(ValueError, match=r"gamma must be one number.*got 4 values.*metric=metric"):
        qf.Gaussian(np.ones(4), metric=M)(data)
    scales = np.array([0.1, 0.2, 0.3, 0.4])
    by_metric = qf.Gaussian(1.0, metric=np.eye(4) * np.sqrt(scales))
    np.testing.assert_allclose(by_metric(data), qf.Gaussian(scales)(data), rtol=1e-12)


@pytest.mark.parametrize(
    "kernel",
    [
        qf.Gaussian(0.3, metric=M) + qf.Gaussian(0.3),
        qf.Laplacian(0.3) + 0.5 * qf.Gaussian(0.3, metric=M),
        qf.Gaussian(0.3, metric=M) * qf.Gaussian(0.3),
        qf.Smoothed(qf.Gaussian(0.3, metric=M)),
        qf.Anova(qf.Gaussian(0.3, metric=M), [[0, 1]]),
        qf.Anova([qf.Gaussian(0.3, metric=[[2.0]])] * 4, [[0, 1]]),
        qf.Convolution((4,), 2, base=qf.Gaussian("scale", metric=M)),
    ],
    ids=["sum", "sum-of-multiple", "product", "smoothed", "anova", "anova-list", "convolution"],
)
def test_kernels_that_keep_columns_apart_refuse_a_metric(kernel, data):
    for use in (kernel, qf.RandomFourier(kernel).fit):
        with pytest.raises(
            ValueError, match=r"cannot hold .*a metric mixes the columns.*metric\.T"
        ):
            use(data)


def test_one_axis_of_a_kernel_with_a_metric_is_refused():
    kernel = qf.Gaussian(0.3, metric=M)
    for ask in (
        lambda: kernel.axis(0),
        lambda: kernel.restrict(np.array([0, 1])),
        lambda: kernel.profile(np.zeros(1)),
        lambda: kernel.density(np.zeros(1)),
        lambda: kernel.quantile(np.array([0.5])),
        lambda: kernel.gauss(3),
        kernel.spectral_moments,
    ):
        with pytest.raises(NotSeparable, match="does not factor over the columns"):
            ask()
    assert kernel.gaussian_scale(4) is None and not kernel.rotation_invariant
