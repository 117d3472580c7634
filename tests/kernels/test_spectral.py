"""Spectra with narrow peaks: their mass is found, or the density is refused."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

import quadfeat as qf
from quadfeat.rules import gauss
from quadfeat.testing import check_kernel

from ..conftest import KERNELS


class Peaks:
    """Half of the mass at frequency 0 and half at +-`at`, both normal; and its kernel."""

    def __init__(self, widths, at):
        self.widths, self.at = widths, at

    def __call__(self, omega):
        parts = [
            np.exp(-(((omega - centre) / width) ** 2) / 2) / (width * np.sqrt(2 * np.pi))
            for width, centre in zip(
                [self.widths[0], self.widths[1], self.widths[1]],
                [0.0, self.at, -self.at],
                strict=True,
            )
        ]
        return 0.5 * parts[0] + 0.25 * (parts[1] + parts[2])

    def kernel(self, gap):
        smooth, narrow = (np.exp(-((width * gap) ** 2) / 2) for width in self.widths)
        return 0.5 * smooth + 0.5 * narrow * np.cos(self.at * gap)

    def moments(self):
        a, b = (width**2 for width in self.widths)
        square = self.at**2
        return 0.5 * (a + b + square), 0.5 * (3 * a**2 + 3 * b**2 + 6 * b * square + square**2)


PEAKS = {
    "trend-and-period": Peaks((1.0, 0.03), 20.0),
    "far": Peaks((1.0, 0.05), 50.0),
    "yearly": Peaks((0.2, 0.01), 6.283),
}


@pytest.mark.parametrize("named", [False, True])
@pytest.mark.parametrize("density", PEAKS.values(), ids=PEAKS)
def test_narrow_peaks_are_in_the_kernel_its_rules_and_its_certificate(density, named):
    kernel = qf.Spectral(density, peaks=[density.at] if named else None)
    gap = np.linspace(0.0, 3.0, 701)[:, None]
    exact = density.kernel(gap[:, 0])
    assert np.abs(kernel(gap, [[0.0]])[:, 0] - exact).max() <= 1e-11  # what certificates allow for
    assert np.abs(kernel(gap[:99], [[0.0]])[:, 0] - exact[:99]).max() <= 1e-13
    far = np.array([[30.0], [300.0]])
    assert np.abs(kernel(far, [[0.0]])[:, 0] - density.kernel(far[:, 0])).max() <= 1e-11
    gauss = kernel.axis(0).gauss(6)
    found = [gauss.weights @ gauss.nodes[:, 0] ** power for power in (2, 4)]
    np.testing.assert_allclose(found, density.moments(), rtol=1e-12)
    for n_points in (16, 64):
        grid = qf.DenseGrid(kernel, n_points=n_points).fit(gap)
        seen = np.abs(grid.approximate_kernel(gap, [[0.0]])[:, 0] - exact).max()
        assert seen <= grid.certificate(diameter=3.0).value
    assert seen < 1e-6


def test_samples_of_narrow_peaks_average_to_the_kernel(rng):
    density = PEAKS["trend-and-period"]
    omega = qf.Spectral(density).sample(100_000, 1, rng)[:, 0]
    for gap in (0.1, 0.5, 2.0, 30.0):
        cosines = np.cos(gap * omega)
        assert abs(cosines.mean() - density.kernel(gap)) < 5 * cosines.std() / np.sqrt(len(omega))


@pytest.mark.parametrize("named", [False, True])
def test_a_peak_too_narrow_to_be_found_is_refused_unless_it_is_named(named):
    density = Peaks((1.0, 1e-6), 20.0)
    if named:
        gap = np.array([[0.0], [0.5], [2.0]])
        found = qf.Spectral(density, peaks=[-20.0])(gap, [[0.0]])[:, 0]
        # 1e-16 of the frequency is 2e-9 of the width, and so much of the density is rounding.
        assert np.abs(found - density.kernel(gap[:, 0])).max() <= 2e-9
    else:
        with pytest.raises(ValueError, match=r"mass 1 .* its mass is 0\.5.*peaks=\["):
            qf.Spectral(density)([[0.0]])


def test_peaks_on_a_heavy_tail_are_in_the_kernel():
    peaks = PEAKS["trend-and-period"]
    kernel = qf.Spectral(lambda omega: 0.5 / (np.pi * (1 + omega**2)) + 0.5 * peaks(omega))
    gap = np.array([0.0, 0.01, 0.3, 2.0, 25.0])
    exact = 0.5 * np.exp(-gap) + 0.5 * peaks.kernel(gap)
    assert np.abs(kernel(gap[:, None], [[0.0]])[:, 0] - exact).max() <= 1e-11


def test_smoothing_keeps_the_peaks():
    density, width, gap = PEAKS["yearly"], 0.2, np.linspace(0.0, 3.0, 50)
    # A normal peak times exp(-width^2 w^2 / 2) is a normal peak, nearer to zero and narrower.
    mass, kernel = 0.0, np.zeros(len(gap))
    for s, m in zip(density.widths, (0.0, density.at), strict=True):
        shrunk = 1 + (width * s) ** 2
        weight = np.exp(-((width * m) ** 2) / (2 * shrunk)) / np.sqrt(shrunk)
        mass += weight
        kernel += weight * np.exp(-((s * gap) ** 2) / (2 * shrunk)) * np.cos(m * gap / shrunk)
    found = qf.Smoothed(qf.Spectral(density), width).axis(0).profile(gap)
    assert np.abs(found - kernel / mass).max() <= 1e-11


def test_a_jump_in_the_middle_of_a_panel_is_seen():
    kernel = qf.Spectral(lambda omega: (np.abs(omega) <= 3) / 6)  # [2, 4] is halved there
    gap = np.array([0.1, 1.0, 7.0, 40.0])
    found = kernel(gap[:, None], [[0.0]])[:, 0]
    np.testing.assert_allclose(found, np.sin(3 * gap) / (3 * gap), atol=1e-13)


def test_a_mass_off_by_rounding_of_its_constant_is_in_the_certificate():
    gap = np.linspace(0.0, 2.0, 50)[:, None]
    values = [
        qf.DenseGrid(
            qf.Spectral(lambda w, c=constant: c * np.exp(-(w**2) / 2)), n_points=30, rule="gauss"
        )
        .fit(gap)
        .certificate(diameter=2.0)
        .value
        for constant in ((2 * np.pi) ** -0.5, 0.3989422)
    ]
    missing = abs(1 - 0.3989422 * np.sqrt(2 * np.pi))
    assert values[0] < 1e-9 and values[1] >= 2 * missing


@pytest.mark.parametrize(
    ("density", "message"),
    [
        (lambda w: 1 / (1 + np.abs(w)), "finite mass"),
        (lambda w: 1 / np.maximum(np.abs(w), 1e-300), "finite mass"),
        (lambda w: 2 * np.exp(-(w**2) / 2) / np.sqrt(2 * np.pi), "mass 1 .* its mass is 2.*divide"),
        (lambda w: np.zeros_like(w), "mass 1 .* its mass is 0"),
        (lambda w: np.where(np.abs(w) < 2, 0.5, -0.1), r"non-negative numbers, got -0\.1 at "),
        (lambda w: np.where(np.abs(w) < 2, 0.25, np.nan), "non-negative numbers, got nan at "),
        (lambda w: w[:1], "as many non-negative numbers"),
    ],
)
def test_what_is_no_spectrum_is_refused_with_what_works(density, message):
    for use in (qf.Spectral(density), qf.RandomFourier(qf.Spectral(density))):
        with pytest.raises(ValueError, match=message):
            use([[0.0]]) if isinstance(use, qf.Spectral) else use.fit([[0.0], [1.0]])


@pytest.mark.parametrize(
    ("peaks", "error"),
    [(20.0, TypeError), ("20", TypeError), ([None], TypeError), ([np.inf], ValueError)],
)
def test_peaks_that_are_no_frequencies_are_refused(peaks, error):
    with pytest.raises(error, match="peaks must be"):
        qf.Spectral(PEAKS["far"], peaks=peaks)([[0.0]])


def test_a_spectral_kernel_is_cloned_pickled_and_obeys_the_laws():
    kernel = qf.Spectral(PEAKS["yearly"], peaks=[6.283])
    check_kernel(kernel, n_features=2)
    assert clone(kernel).get_params()["peaks"] == [6.283]
    X = np.linspace(0.0, 2.0, 20)[:, None]
    fitted = qf.RandomFourier(kernel, n_components=8, random_state=0).fit(X)
    again = pickle.loads(pickle.dumps(fitted))
    assert np.array_equal(again.transform(X), fitted.transform(X))
    assert np.array_equal(again.kernel_(X), fitted.kernel_(X))


def test_a_kernel_whose_density_hides_a_peak_from_its_panels_has_no_gauss_rule():
    peaks = Peaks((1.0, 1e-4), 50.0)

    class Hidden(qf.kernels.Kernel):
        def profile(self, gap):
            return peaks.kernel(gap)

        def density(self, omega):
            return peaks(omega)

    with pytest.raises(ValueError, match="mass 1"):
        gauss.gauss(Hidden().density, 4)
    with pytest.raises(ValueError, match="mass 1"):
        qf.Smoothed(Hidden(), 0.01)([[0.0]])
    grid = qf.DenseGrid(Hidden(), n_points=16, rule="equispaced").fit([[0.0], [1.0]])
    with pytest.raises(ValueError, match="no certificate"):
        grid.certificate(diameter=1.0)


class Twin(qf.kernels.Kernel):
    """A kernel of one's own with two peaks, at +-4, of deviation 1."""

    def profile(self, gap):
        return np.exp(-(gap**2) / 2) * np.cos(4 * gap)

    def density(self, omega):
        peaks = (np.exp(-((omega + side) ** 2) / 2) for side in (-4.0, 4.0))
        return sum(peaks) / np.sqrt(8 * np.pi)


SMOOTHED = {
    "twin": Twin(),
    "twin-product": Twin() * qf.Gaussian(0.1),
    "twin-sum": 0.5 * qf.Gaussian(0.1) + Twin(),
    "twin-anova": qf.Anova(Twin(), [[0]]),
    "twin-per-axis": qf.Anova([Twin()], [[0]]),
    "twin-smoothed": qf.Smoothed(Twin(), 0.1),
    "spectral": qf.Spectral(PEAKS["far"]),
    "spectral-scaled": 2.0 * qf.Spectral(PEAKS["far"]),
    "gaussian": qf.Gaussian(0.3),
    "laplacian": qf.Laplacian(0.4),
    "cauchy": qf.Cauchy(0.3),
    "matern": qf.Matern(0.7, 0.2, product=True),
    "product": qf.Gaussian(0.1) * qf.Cauchy(0.2),
    "anova": qf.Anova(qf.Laplacian(0.4), [[0]]),
}
SUBGAUSSIAN = {
    # A metric has no axes to integrate over; test_metric.py has its parameter.
    **{name: make(2) for name, make in KERNELS.items() if name != "gaussian-metric"},
    **{f"smoothed-{name}": qf.Smoothed(kernel, 0.6) for name, kernel in SMOOTHED.items()},
}


@pytest.mark.parametrize("name", SUBGAUSSIAN)
def test_the_subgaussian_parameter_bounds_the_moment_generating_function(name):
    kernel = SUBGAUSSIAN[name]
    d = 2 if name in KERNELS else 1
    b = kernel.subgaussian(d)
    if np.isinf(b):
        assert name in KERNELS or "twin" in name or "spectral" in name
        return
    assert "twin" not in name
    omega = np.linspace(-200.0, 200.0, 400_001)
    for group in kernel.groups(d):
        for i in range(len(group.axes)):
            density = group.kernel.axis(i).density(omega)
            for t in (0.01, 0.1, 0.5, 1.0, 3.0):
                moment = np.trapezoid(density * np.exp(t * omega - (b * t) ** 2 / 2), omega)
                # The trapezoidal rule of a smooth density is exact but for its tails; kinks of
                # the density at 0 cost the square of the step.
                assert moment <= 1 + 1e-6


def test_theorem_1_is_absent_where_a_smoothed_spectrum_may_have_two_peaks():
    gap = np.linspace(0.0, 0.3, 50)[:, None]
    for base in (Twin(), Twin() * qf.Gaussian(0.1)):
        kernel = qf.Smoothed(base, 0.6)
        grid = qf.DenseGrid(kernel, n_points=6, rule="gauss").fit(gap)
        found = grid.certificate(diameter=0.3)
        assert found.theorem1 is None
        seen = np.abs(grid.approximate_kernel(gap, [[0.0]]) - kernel(gap, [[0.0]])).max()
        assert seen <= found.value
    known = qf.DenseGrid(qf.Smoothed(qf.Laplacian(1.0), 0.6), n_points=6, rule="gauss").fit(gap)
    assert known.certificate(diameter=0.3).theorem1 is not None


# --- products and other kernels made of kernels ------------------------------------------------
BOX = qf.Spectral(lambda omega: 0.5 * (np.abs(omega) <= 1))
PRODUCTS = {
    "smoothed-gaussian-times-gaussian": qf.Smoothed(qf.Gaussian(0.5), 0.1) * qf.Gaussian(0.5),
    "smoothed-product": qf.Smoothed(qf.Laplacian(0.5) * qf.Gaussian(0.5)),
    "smoothed-squared": qf.Smoothed(qf.Laplacian(0.5)) * qf.Smoothed(qf.Laplacian(0.2), 0.5),
    "box-times-cauchy": BOX * qf.Cauchy(0.3),
    "peaks-times-gaussian": qf.Spectral(PEAKS["yearly"]) * qf.Gaussian(0.5),
}


@pytest.mark.parametrize("name", PRODUCTS)
def test_products_of_smoothed_and_spectral_kernels_have_grids(name):
    kernel, gap = PRODUCTS[name], np.linspace(0.0, 2.0, 101)[:, None]
    axis = kernel.groups(1)[0].kernel.axis(0)
    omega = np.linspace(0.0, 40.0, 4001)
    step, density = omega[1], axis.density(omega)
    assert np.all(density >= 0)
    # The trapezoidal rule errs by the tail beyond 40 and, at jumps and kinks, by the step.
    transform = 2 * step * (density @ np.cos(omega[:, None] * [0.0, 0.7, 2.0]) - density[0] / 2)
    tail = 2 * 40 * density[-1]
    expected = axis.profile(np.array([0.0, 0.7, 2.0]))
    assert np.abs(transform - expected).max() <= tail + 1e-3 * step
    for n_points in (3, 12):
        grid = qf.DenseGrid(kernel, n_points=n_points).fit(gap)
        seen = np.abs(grid.approximate_kernel(gap, [[0.0]]) - kernel(gap, [[0.0]])).max()
        assert seen <= grid.certificate(diameter=2.0).value


def test_two_boxes_make_a_hat():
    axis = (BOX * BOX).groups(1)[0].kernel.axis(0)
    omega = np.array([0.0, 0.5, 1.0, 1.9, 2.1])
    np.testing.assert_allclose(axis.density(omega), [0.5, 0.375, 0.25, 0.025, 0.0], atol=1e-14)


def test_what_products_cannot_do_is_refused():
    three = qf.Smoothed(qf.Laplacian(0.5)) * qf.Gaussian(0.5) * qf.Gaussian(0.2)
    X = np.linspace(0.0, 1.0, 20)[:, None]
    with pytest.raises(ValueError, match=r"three or more kernels.*rule='gauss'"):
        qf.DenseGrid(three, n_points=4, rule="equispaced").fit(X)
    grid = qf.DenseGrid(three, n_points=12, rule="gauss").fit(X)
    seen = np.abs(grid.approximate_kernel(X) - three(X)).max()
    assert seen <= grid.certificate(diameter=1.0).value
    with pytest.raises(ValueError, match=r"width=99\.0 leaves"):
        qf.Smoothed(Twin() * qf.Gaussian(0.1), 99.0).groups(1)[0].kernel.axis(0)
    slow = type("Slow", (qf.kernels.Kernel,), {"profile": lambda self, u: np.cos(u) / (1 + u**2)})()
    with pytest.raises(ValueError, match="changes its sign"):
        (slow * qf.Cauchy(1.0)).groups(1)[0].kernel.axis(0).density(np.zeros(1))


def test_kernels_made_of_astronomically_many_are_refused():
    product = total = qf.Gaussian(0.1)
    for _ in range(50):
        product, total = product * product, total + total
    long = qf.Gaussian(0.1)
    for _ in range(2000):
        long = long * qf.Gaussian(0.1)
    for kernel in (product, total, long):
        with pytest.raises(ValueError, match="a kernel may be made of 250 kernels"):
            kernel(np.zeros((2, 1)))
    fifty = qf.Gaussian(0.1)
    for _ in range(49):
        fifty = fifty * qf.Gaussian(0.1)
    np.testing.assert_allclose(fifty([[0.0]], [[0.3]]), np.exp(-50 * 0.1 * 0.09), rtol=1e-13)


@pytest.mark.parametrize("nu", [0.7, 1.0, 2.0, 3.3, 10.0])
def test_a_product_of_matern_kernels_of_any_smoothness_is_certified(nu):
    kernel = qf.Matern(nu, 0.3, product=True)
    X = np.random.default_rng(0).uniform(-0.5, 0.5, size=(40, 2))
    grid = qf.DenseGrid(kernel, n_points=12).fit(X)
    seen = np.abs(grid.approximate_kernel(X) - kernel(X)).max()
    assert seen <= grid.certificate(X).value
    assert 0 <= grid.error(X, random_state=0).rms <= 1
    found = qf.DenseGrid.for_tolerance(kernel, 0.2, 1.5, n_features=2)
    assert np.abs(found.approximate_kernel(X) - kernel(X)).max() <= 0.2


@pytest.mark.parametrize(
    "kernel",
    [
        qf.Gaussian("scale"),
        qf.Laplacian("median"),
        2.0 * qf.Matern(1.5, "scale"),
        qf.Gaussian(0.1) + qf.Gaussian("median"),
        qf.Anova(qf.Gaussian("median"), [[0, 1], [1, 2]]),
        qf.Convolution((3,), 2),
    ],
    ids=repr,
)
def test_a_kernel_that_depends_on_rows_is_not_evaluated_between_two_sets(kernel, rng):
    A, B = rng.normal(size=(20, 3)), 9 * rng.normal(size=(30, 3))
    for pair in ((A, B), (B, A), (A, A[::-1])):
        with pytest.raises(ValueError, match=r"depends on the rows.*resolve\(X_train\)\(X, Y\)"):
            kernel(*pair)
    assert np.array_equal(kernel(A), kernel(A, A))
    assert np.array_equal(kernel(A), kernel(A, A.copy()))
    fixed = kernel.resolve(A)
    np.testing.assert_allclose(fixed(A, B), fixed(B, A).T, atol=1e-12)
    np.testing.assert_allclose(fixed(A), kernel(A), atol=0)


GOOD = qf.Gaussian(1.0)


@pytest.mark.parametrize(
    ("kernel", "error", "message"),
    [
        (qf.kernels.Sum(None, GOOD), TypeError, "left of Sum must be a Kernel.*None"),
        (qf.kernels.Sum(GOOD, 3), TypeError, "right of Sum must be a Kernel.*3"),
        (qf.kernels.Product(GOOD, "x"), TypeError, "right of Product must be a Kernel.*'x'"),
        (qf.kernels.Scaled(None, 2.0), TypeError, "kernel of Scaled must be a Kernel.*None"),
        (qf.kernels.Scaled(GOOD, None), TypeError, "factor must be.*None"),
        (qf.kernels.Scaled(GOOD, np.nan), ValueError, "factor must be.*nan"),
        (qf.kernels.Scaled(GOOD, [1.0]), TypeError, r"factor must be.*\[1.0\]"),
        (qf.Anova(GOOD, None), TypeError, "subsets must be.*None"),
        (qf.Anova(GOOD, 3), TypeError, "subsets must be.*3"),
        (qf.Anova(GOOD, "01"), TypeError, "subsets must be.*'01'"),
        (qf.Anova(GOOD, [[0, [1]]]), TypeError, "subsets must be"),
        (qf.Anova(GOOD, [0, 1]), TypeError, "subsets must be"),
        (qf.Anova(GOOD, [[0.5]]), TypeError, "subsets must be"),
        (qf.Anova(GOOD, (subset for subset in [[0]])), TypeError, "subsets must be"),
        (qf.Anova(GOOD, {(0, 1)}), TypeError, "subsets must be"),
        (qf.Anova(GOOD, [[0]], weights=2.0), TypeError, "weights must be a list.*2.0"),
        (qf.Anova(GOOD, [[0]], weights=[None]), TypeError, "weights must be.*None"),
        (qf.Anova([GOOD, None], [[0]]), TypeError, "base must hold Kernels.*None"),
    ],
)
def test_kernels_made_of_what_is_no_kernel_say_so(kernel, error, message):
    for use in (lambda X: kernel(X), lambda X: qf.RandomFourier(kernel, n_components=4).fit(X)):
        with pytest.raises(error, match=message):
            use(np.zeros((3, 2)))


@pytest.mark.parametrize("other", [None, "k", 3.0])
def test_adding_what_is_no_kernel_is_a_type_error(other):
    with pytest.raises(TypeError, match="unsupported operand"):
        GOOD + other
