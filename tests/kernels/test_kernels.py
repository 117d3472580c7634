"""Laws of kernels, over the table in conftest."""

import functools
import operator

import numpy as np
import pytest
from scipy import integrate
from sklearn.base import clone
from sklearn.gaussian_process.kernels import Matern as SklearnMatern
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

import quadfeat as qf
from quadfeat._errors import NotSeparable
from quadfeat.kernels.given import FunctionKernel, Precomputed
from quadfeat.testing import check_kernel

EPS = np.finfo(float).eps


@pytest.mark.parametrize("far", [1e3, 1e9, 1e15, 1e20, 1e155])
def test_a_far_row_does_not_change_the_kernel_of_the_others(far, rng):
    X = rng.normal(size=(40, 3))
    with_it = np.vstack([X, np.full((1, 3), far)])
    for kernel in (qf.Gaussian(1.0), qf.Gaussian(np.array([0.5, 1.0, 2.0]))):
        found = kernel(with_it)
        np.testing.assert_allclose(found[:-1, :-1], kernel(X), rtol=0, atol=1e-13)
        np.testing.assert_array_equal(found[-1, :-1], 0)
        assert found[-1, -1] == 1
        np.testing.assert_allclose(kernel(X, with_it)[:, :-1], kernel(X), rtol=0, atol=1e-13)


def test_rows_are_not_changed_and_weights_count(rng):
    X, Y = rng.normal(size=(9, 3)), rng.normal(size=(5, 3))
    X.flags.writeable = Y.flags.writeable = False
    for kernel in (qf.Gaussian(1.0), qf.Gaussian(np.ones(3)), qf.Laplacian(1.0)):
        np.testing.assert_allclose((3 * kernel)(X, Y), 3 * kernel(X, Y), rtol=1e-15)
        np.testing.assert_array_equal(kernel(X, X), kernel(X))


@pytest.mark.parametrize("d", [1, 2, 5])
def test_every_law_of_a_kernel_holds(kernel_of, d):
    check_kernel(kernel_of(d), n_features=d)


def test_check_kernel_finds_a_gamma_off_by_two():
    class Wrong(qf.Gaussian):
        def __init__(self, gamma=1.0):
            super().__init__(gamma)

        def sample(self, n, d, rng):
            return super().sample(n, d, rng) * np.sqrt(2)

    with pytest.raises(AssertionError, match="standard errors"):
        check_kernel(Wrong(0.3), n_features=2)


def test_check_kernel_finds_a_wrong_density():
    class Wrong(qf.Cauchy):
        def density(self, omega):
            return super().density(omega / 2) / 2

    with pytest.raises(AssertionError, match="density"):
        check_kernel(Wrong(0.3), n_features=1)


def test_grams_are_those_of_scikit_learn(rng):
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(15, 3))
    np.testing.assert_allclose(qf.Gaussian(0.4)(X, Y), rbf_kernel(X, Y, gamma=0.4), rtol=1e-12)
    np.testing.assert_allclose(
        qf.Laplacian(0.4)(X, Y), laplacian_kernel(X, Y, gamma=0.4), rtol=1e-12
    )
    for nu in (0.5, 1.5, 2.5, 1.7, 4.2):
        theirs = SklearnMatern(length_scale=1 / np.sqrt(2 * 0.4), nu=nu)(X, Y)
        np.testing.assert_allclose(qf.Matern(nu, 0.4)(X, Y), theirs, rtol=1e-10)


@pytest.mark.parametrize("d", [1, 2, 5, 54])
def test_gaussian_grams_have_the_digits_of_differences(rng, d):
    X, Y = rng.normal(size=(80, d)), rng.normal(size=(60, d))
    X[7], Y[9] = 1e3 * X[7], 40.0
    X[8], X[9] = Y[9] + 0.1 * rng.normal(size=d), 1e200
    X[10], Y[11] = Y[12], Y[10]
    scale = 2.0 ** -np.ceil(np.log2(2 * d) / 2)  # multiplying by it rounds nothing
    kernel = qf.Gaussian(scale**2)
    for offset in (0.0, 2.0**20):
        x, y = X + offset, Y + offset
        gaps = scale * (x[:, None] - y)
        with np.errstate(over="ignore", under="ignore"):
            square = np.einsum("ijk,ijk->ij", gaps, gaps)
            # Sums of d terms: of a difference, or of lengths, of which that of x is 16 at most.
            bound = np.exp(-square) * 2 * (d + 4) * EPS * (64 + 2 * np.minimum(square, 800))
            gram = kernel(x, y)
            assert (np.abs(gram - np.exp(-square)) <= bound).all()
        assert gram.max() <= 1.0


def test_gaussian_grams_of_rows_beyond_all_measure_are_zero():
    X = np.array([[0.0, 0.0], [0.5, 0.5], [1e308, 0.0]])
    Y = np.array([[1.5e308, 1.5e308], [-1.5e308, -1.5e308], [0.0, 0.0]])  # their mean is 0
    found = qf.Gaussian(1.0)(X, Y)
    np.testing.assert_allclose(found, [[0, 0, 1], [0, 0, np.exp(-0.5)], [0, 0, 0]], rtol=4 * EPS)


def test_scale_is_that_of_scikit_learn(rng):
    X = 3 + rng.normal(size=(50, 4)) * [1, 2, 3, 4]
    assert qf.Gaussian("scale").resolve(X).gamma == pytest.approx(1 / (4 * X.var()), rel=1e-12)


def test_median_puts_the_median_distance_at_one_length_scale(rng):
    X = rng.normal(size=(300, 3))
    gram = qf.Gaussian("median")(X)[np.triu_indices(300, 1)]
    assert np.median(gram) == pytest.approx(np.exp(-0.5), rel=1e-9)


@pytest.mark.parametrize(
    ("gamma", "X", "words"),
    [
        ("scale", [[1e200], [-1e200]], "'scale' needs the variance of X, which overflows"),
        ("median", [[1e200], [-1e200]], "'median' needs distances that do not overflow"),
        ("median", [[1e-200], [-1e-200]], "'median' needs distances that do not underflow"),
    ],
)
def test_a_scale_that_no_number_holds_is_refused(gamma, X, words):
    with pytest.raises(ValueError, match=words):
        qf.Gaussian(gamma).resolve(np.array(X))
    assert qf.Gaussian(gamma).resolve(np.ones((3, 1))).gamma > 0  # one distinct row


def test_inside_groups_scale_looks_at_the_groups_axes(rng):
    X = rng.normal(size=(200, 5)) * [1, 1, 1, 100, 100]
    base = qf.Anova(qf.Gaussian("scale"), [[0, 1], [1, 2]]).resolve(X).base
    expected = 1 / (2 * np.mean([X[:, [0, 1]].var(), X[:, [1, 2]].var()]))
    assert base.gamma == pytest.approx(expected, rel=1e-12)


def test_isotropic_and_product_matern_differ_above_one_axis():
    gap = np.array([[1.0, 1.0]])
    one, other = qf.Matern(1.5, 0.5)(gap, 0 * gap), qf.Matern(1.5, 0.5, product=True)(gap, 0 * gap)
    assert abs(one - other)[0, 0] > 0.01
    np.testing.assert_allclose(
        qf.Matern(1.5, 0.5)(gap[:, :1], 0 * gap[:, :1]),
        qf.Matern(1.5, 0.5, product=True)(gap[:, :1], 0 * gap[:, :1]),
    )


@pytest.mark.parametrize(
    "kernel",
    [
        qf.Matern(1.5),
        qf.Gaussian(1.0) + qf.Cauchy(1.0),
        2 * qf.Gaussian(1.0),
        qf.Gaussian(1.0) * qf.Cauchy(1.0),
        qf.Anova(qf.Gaussian(1.0), [[0], [1]]),
        qf.Smoothed(qf.Matern(1.5), 0.5),
    ],
    ids=repr,
)
def test_a_kernel_that_is_no_product_over_axes_says_so_by_its_own_error(kernel):
    with pytest.raises(NotSeparable):
        kernel.axis(0)


def test_matern_tends_to_the_gaussian():
    gap = np.linspace(0, 3, 20)[:, None]
    far = qf.Matern(200.0, 0.5)(gap, gap[:1])
    assert np.abs(far - qf.Gaussian(0.5)(gap, gap[:1])).max() < 0.005


@pytest.mark.parametrize("width", [0.3, 1.0])
def test_smoothing_is_a_convolution_with_a_gaussian(width):
    def convolved(u):
        return integrate.quad(
            lambda t: np.exp(-abs(u - t)) * np.exp(-(t**2) / (2 * width**2)),
            -30,
            30,
            points=[u, 0.0],
            epsabs=1e-13,
            limit=200,
        )[0]

    kernel = qf.Smoothed(qf.Laplacian(1.0), width)
    for u in (0.0, 0.4, 2.0):
        expected = convolved(u) / convolved(0.0)
        assert kernel([[u]], [[0.0]])[0, 0] == pytest.approx(expected, rel=1e-9)


def test_a_box_spectrum_is_the_sinc_kernel():
    kernel = qf.Spectral(lambda omega: 0.5 * (np.abs(omega) <= 1))
    u = np.linspace(0.1, 20, 30)[:, None]
    np.testing.assert_allclose(kernel(u, [[0.0]])[:, 0], np.sin(u[:, 0]) / u[:, 0], atol=1e-10)


def test_a_heavy_tailed_spectrum_of_the_user_gives_its_kernel():
    kernel = qf.Spectral(lambda omega: 1 / (np.pi * (1 + omega**2)))
    u = np.array([[0.0], [0.5], [2.0]])
    np.testing.assert_allclose(kernel(u, [[0.0]])[:, 0], np.exp(-u[:, 0]), atol=1e-9)


def test_convolution_windows_cover_series_images_and_channels():
    assert qf.Convolution((28, 28), 5).size == 576
    assert qf.Convolution((28, 28), (5, 3), stride=(2, 1)).size == 12 * 26
    assert qf.Convolution((10,), 4, stride=2).size == 4
    coloured = qf.Convolution((6, 5, 3), 2, base=qf.Gaussian(1.0))
    assert coloured.size == 20 and coloured.rank == 12
    assert coloured.groups(90)[0].axes.tolist() == [0, 1, 2, 3, 4, 5, 15, 16, 17, 18, 19, 20]


def test_anova_counts_are_the_paper_s():
    kernel = qf.Anova.random(40, 50, 5, random_state=0)
    assert (kernel.rank, kernel.size) == (5, 50)
    busiest = max(sum(i in s for s in kernel.subsets) for i in range(40))
    assert kernel.degree == busiest
    assert len({tuple(s) for s in kernel.subsets}) == 50


def test_subgaussian_parameters_bound_the_moment_generating_function(rng):
    t = rng.normal(size=(5, 3))
    for kernel in (
        qf.Gaussian(0.3),
        qf.Gaussian([0.1, 0.2, 0.3]),
        qf.Smoothed(qf.Laplacian(0.5), 1.0),
        qf.Smoothed(qf.Gaussian(0.3), 1.0),
        qf.Anova(qf.Gaussian(0.3), [[0, 1], [2]]),
        qf.Gaussian(0.1) * qf.Gaussian(0.2),
    ):
        draws = kernel.sample(100_000, 3, rng)
        values = np.exp(draws @ t.T)
        slack = 5 * values.std(axis=0) / np.sqrt(len(draws))
        bound = np.exp(kernel.subgaussian(3) ** 2 * (t**2).sum(axis=1) / 2)
        assert np.all(values.mean(axis=0) <= bound + slack)
    assert np.isinf(qf.Laplacian(1.0).subgaussian(3))


def test_kernels_are_cloned_searched_and_printed():
    kernel = 0.5 * qf.Gaussian(0.3) + qf.Matern(1.5, 0.2)
    copy = clone(kernel)
    copy.set_params(left__kernel__gamma=0.9)
    assert kernel.left.kernel.gamma == 0.3 and copy.left.kernel.gamma == 0.9
    assert "Gaussian" in repr(kernel)


@pytest.mark.parametrize("product", [False, True])
@pytest.mark.parametrize("nu", [0.5, 1.5, 1.7, 2.5, 30.0])
def test_matern_falls_to_zero_however_large_the_gap(nu, product):
    gaps = np.array([[10.0**k, 0.0] for k in range(-3, 308)])
    kernel = qf.Matern(nu, 0.5, product=product)
    with np.errstate(over="ignore"):  # of the squares of the gaps
        found = kernel.at(gaps), kernel(gaps, gaps[:1] * 0.0)[:, 0]
    for values in found:
        assert (np.diff(values) <= 0).all()
        assert values[0] == pytest.approx(1.0, abs=0.01)
        assert values[-1] == 0.0


@pytest.mark.parametrize(
    "subsets", [[["a", "b"], ["c"]], [[0.5, 1.0]], [0, 1], [[True, False]], "ab", 3, [[[0, 1]]]]
)
def test_subsets_are_lists_of_column_numbers(subsets, data):
    kernel = qf.Anova(qf.Gaussian(1.0), subsets)
    for use in (kernel, qf.RandomFourier(kernel).fit):
        with pytest.raises(TypeError, match=r"column numbers such as \[\[0, 1\], \[2\]\], got"):
            use(data)


@pytest.mark.parametrize("kind", [np.int32, np.uint8, np.int64, int])
def test_subsets_may_be_arrays_of_any_whole_numbers(kind, data):
    subsets = [np.array([0, 1], dtype=kind), (2, 3)]
    expected = qf.Anova(qf.Gaussian(1.0), [[0, 1], [2, 3]])(data)
    np.testing.assert_array_equal(qf.Anova(qf.Gaussian(1.0), subsets)(data), expected)


def test_weights_and_bases_that_do_not_fit_are_refused(rng):
    X = rng.normal(size=(4, 3))
    with pytest.raises(ValueError, match="weights has 3 values for 2 subsets"):
        qf.Anova(qf.Gaussian(0.3), [[0, 1], [1, 2]], weights=[1.0, 2.0, 3.0]).resolve(X)
    with pytest.raises(TypeError, match="base must be a Kernel"):
        qf.Convolution((3,), 2, base="gaussian").resolve(X)
    with pytest.raises(ValueError, match="shape=4 means 4 columns, but X has 3"):
        qf.Convolution(4, 2, base=qf.Gaussian(0.3)).resolve(X)


def test_a_deep_product_is_printed_at_once():
    # Twice as long for every level would be hours.
    kernel = functools.reduce(operator.mul, [qf.Gaussian(0.01)] * 40)
    assert repr(kernel).count("Gaussian(gamma=0.01)") == 40
    assert repr(qf.DenseGrid(kernel)).count("Product") > 1
    assert repr(qf.Gaussian()) == "Gaussian()"
    assert repr(qf.Gaussian("scale") * qf.Matern(1.5)) == (
        "Product(left=Gaussian(gamma='scale'), right=Matern())"
    )


def test_a_gram_matrix_that_does_not_fit_into_memory_is_refused(rng):
    X = np.broadcast_to(rng.normal(size=(1, 2)), (10**7, 2))
    features = qf.RandomFourier(qf.Gaussian(0.5), n_components=4, random_state=0).fit(X[:10])
    for gram in (qf.Gaussian(0.5), features.approximate_kernel):
        with pytest.raises(ValueError, match="of 10,000,000 and 10,000,000 rows would take"):
            gram(X)
        with pytest.raises(ValueError, match="of 10,000,000 and 5,000,000 rows would take"):
            gram(X, X[::2])
    with pytest.raises(ValueError, match="would take 800,000,000,000,000 bytes"):
        qf.Gaussian(0.5)(X)  # of 8 each


def test_a_function_as_a_kernel_must_be_finite():
    X = np.arange(3.0)[:, None]
    kernel = FunctionKernel(lambda x, y: float(x @ y))
    np.testing.assert_array_equal(kernel.gram(X, X), X @ X.T)
    np.testing.assert_array_equal(kernel.diagonal(X), [0.0, 1.0, 4.0])
    with (
        np.errstate(divide="ignore"),
        pytest.raises(ValueError, match="must return finite numbers"),
    ):
        FunctionKernel(lambda x, y: np.float64(1.0) / (x @ y)).gram(X, X)
    gram = np.array([[2.0, 1.0], [1.0, 3.0]])
    np.testing.assert_array_equal(Precomputed.diagonal(None, gram), [2.0, 3.0])
