"""What kernels say of themselves is true of their values: moments, bounds, scales, lengths."""

import mpmath
import numpy as np
import pytest
from scipy import integrate

import quadfeat as qf
from quadfeat._errors import NoDensity, NoMoments, NotSeparable
from quadfeat.kernels.composite import ProductAxis
from quadfeat.kernels.metric import short_text
from quadfeat.kernels.radial import pair_blocks

from ..conftest import KERNELS

EPS = np.finfo(float).eps
D = 3
MORE = {
    "gaussian-axes": lambda d: qf.Anova([qf.Gaussian(0.1 + i) for i in range(d)], [range(d)]),
    "gaussian-and-rough-axes": lambda d: qf.Anova(
        [qf.Gaussian(0.3), qf.Matern(0.8, 0.2, product=True), qf.Laplacian(0.2)], [range(d)]
    ),
    "gaussian-and-open-axes": lambda d: qf.Anova(
        [qf.Spectral(lambda w: np.maximum(0, 1 - np.abs(np.abs(w) - 2)) / 2)]
        + [qf.Gaussian(1)] * 2,
        [range(d)],
    ),
    "product-of-gaussians": lambda d: qf.Gaussian(0.2) * qf.Gaussian([0.1, 0.2, 0.3]),
}
# One kernel for each distinct kind of group of all kernels.
GROUPS = {
    f"{name}-{i}": (group.kernel, len(group.axes))
    for name, make in {**KERNELS, **MORE}.items()
    for i, group in enumerate(make(D).resolve(np.eye(D)).groups(D)[:2])
}
WITH_LENGTHS = {
    "gaussian": qf.Gaussian(),
    "laplacian": qf.Laplacian(),
    "cauchy": qf.Cauchy(),
    **{
        f"matern-{nu}-{product}": qf.Matern(nu, product=product)
        for nu in (0.5, 1.5, 1.7, 2.5)
        for product in (False, True)
    },
}


def _axes(kernel, d):
    try:
        return kernel.axes(d)
    except NotSeparable:
        return []


@pytest.fixture(params=GROUPS)
def group(request):
    return GROUPS[request.param]


def test_spectral_moments_are_those_of_a_gauss_rule_or_infinite(group):
    for axis in _axes(*group):
        moments = axis.spectral_moments()
        assert (
            moments.shape == (17,) and abs(moments[0] - 1) <= 1e-14 and (moments[1::2] == 0).all()
        )
        try:
            rule = axis.gauss(9)
        except (NoMoments, NoDensity):
            assert np.isinf(moments[-1])
            continue
        exact = rule.weights @ rule.nodes ** np.arange(17)
        np.testing.assert_allclose(moments[::2], exact[::2], rtol=1e-9)


def test_no_derivative_of_a_profile_exceeds_its_bound(group):
    """The first two, by differences over a step h, which are derivatives in between."""
    for axis in _axes(*group):
        bounds, u, h = axis.derivative_bounds(), np.linspace(0.02, 6.0, 300), 0.01
        below, here, above = (axis.profile(u + step) for step in (-h, 0.0, h))
        rounding = 4 * (axis.noise + EPS)
        assert bounds.shape == (17,)
        assert np.abs(above - below).max() / (2 * h) <= bounds[1] + rounding / h
        assert np.abs(above - 2 * here + below).max() / h**2 <= bounds[2] + rounding / h**2


def test_second_derivatives_on_all_axes_are_bounded_or_said_not_to_be(group):
    kernel, d = group
    bends, h = kernel.bends(d), 0.01
    axes = _axes(kernel, d)
    if axes:
        known = all(np.isfinite(axis.derivative_bounds()[2]) for axis in axes)
        assert (bends is not None) == known
    if bends is None:
        return
    gaps = np.random.default_rng(0).uniform(2 * h, 3.0, size=(200, d))
    for i, step in enumerate(h * np.eye(d)):
        second = kernel.group_at(gaps + step) - 2 * kernel.group_at(gaps)
        second += kernel.group_at(gaps - step)
        assert np.abs(second).max() <= bends[i] * h**2 * (1 + 1e-9) + 1e-14


def test_a_gaussian_scale_is_that_of_the_values(group):
    kernel, d = group
    scale = kernel.gaussian_scale(d)
    if scale is not None:
        gaps = np.random.default_rng(0).normal(size=(50, d))
        exact = np.exp(-np.square(scale * gaps).sum(axis=1))
        np.testing.assert_allclose(kernel.group_at(gaps), exact, rtol=1e-12)


@pytest.mark.parametrize("name", ["gaussian", "gaussian-per-axis", "gaussian-axes", "anova"])
def test_gaussian_kernels_know_their_scale(name):
    kernel, d = GROUPS[f"{name}-0"]
    assert kernel.gaussian_scale(d) is not None


def test_a_density_that_is_said_to_fall_does(group):
    kernel, d = group
    falls = []
    for axis in _axes(kernel, d):
        if not isinstance(axis, ProductAxis):
            values = axis.density(np.linspace(0.0, 8.0, 400))
            falls.append(bool((np.diff(values) <= 4 * EPS * values[0]).all()))
    assert all(falls) or not kernel.unimodal


@pytest.mark.parametrize("name", [*KERNELS, *MORE])
def test_a_sum_is_unimodal_if_all_its_groups_are(name):
    kernel = {**KERNELS, **MORE}[name](D).resolve(np.eye(D))
    assert kernel.unimodal == all(group.kernel.unimodal for group in kernel.groups(D))


@pytest.mark.parametrize("nu", [0.5, 0.8, 1.5, 1.7, 2.5, 4.2, 12.0, 20.0])
def test_values_of_matern_kernels_are_known_to_their_noise(nu):
    axis, gaps = qf.Matern(nu, 0.5, product=True), np.geomspace(1e-3, 20, 25)
    with mpmath.workdps(40):
        t = [mpmath.sqrt(2 * mpmath.mpf(nu)) * mpmath.mpf(float(u)) for u in gaps]
        exact = [
            2 ** (1 - mpmath.mpf(nu)) / mpmath.gamma(nu) * s**nu * mpmath.besselk(nu, s) for s in t
        ]
    error = np.abs(axis.profile(gaps) - np.array(exact, dtype=float)).max()
    assert error <= axis.noise + 4 * EPS
    assert (axis.noise == 0) == (nu in (0.5, 1.5, 2.5))


def test_matern_kernels_of_large_smoothness_have_the_slope_of_a_gaussian_near_zero():
    """k is 1 - u^2 nu / (2 (nu - 1)) + O(u^4), where Bessel functions overflow and where not."""
    u = np.geomspace(1e-6, 1e-2, 40)
    for nu in (20.0, 100.0, 300.0):
        found = qf.Matern(nu, 0.5, product=True).relative_slope(u)
        assert np.abs(found / -u - 1).max() <= 1.1 / (nu - 1) + 1e-3


@pytest.mark.parametrize("name", WITH_LENGTHS)
def test_length_scales_divide_the_gaps(name, rng):
    """A length scale is 1 where k is exp(-|u|^2 / 2), or exp(-|u|_1) for a Laplacian."""
    kernel, lengths, gaps = WITH_LENGTHS[name], np.array([0.5, 1.0, 3.0]), rng.normal(size=(20, D))
    given = kernel.with_lengths(1 / lengths)
    unit = kernel.with_lengths(1.0)
    np.testing.assert_allclose(given.at(gaps), unit.at(gaps / lengths), rtol=1e-12)
    np.testing.assert_allclose(
        given.stretched(2.0).at(gaps), unit.at(gaps / (2 * lengths)), rtol=1e-12
    )
    assert unit.gamma == (1.0 if kernel.linear else 0.5)


@pytest.mark.parametrize("name", WITH_LENGTHS)
def test_slopes_by_length_scales_are_derivatives_of_the_gram(name, rng):
    X, Y, weights = rng.normal(size=(9, D)), rng.normal(size=(7, D)), rng.normal(size=(9, 7))
    inverse, step = np.array([0.5, 0.8, 0.3]), 1e-5
    kernel = WITH_LENGTHS[name].with_lengths(inverse)
    up, down = (
        [
            (weights * WITH_LENGTHS[name].with_lengths(inverse * np.exp(e)).gram(X, Y)).sum()
            for e in sign * step * np.eye(D)
        ]
        for sign in (1, -1)
    )
    expected = (np.array(up) - down) / (2 * step)
    found = kernel.length_slopes(X, Y, weights * kernel.gram(X, Y))
    assert np.abs(found - expected).max() <= 1e-7 * np.abs(expected).max()


@pytest.mark.parametrize("nu", [0.5, 1.5, 2.2])
def test_marginals_of_a_joint_density_are_the_density(nu):
    """Student's t on two axes has Student's t on each."""
    gamma = np.array([0.3, 2.0])
    kernel, omega = qf.Matern(nu, gamma), np.array([0.0, 0.5, 3.0])
    alone = qf.Matern(nu, gamma[0], product=True).density(omega)
    np.testing.assert_allclose(
        qf.Matern(nu, gamma[:1]).joint_density(omega[:, None]), alone, rtol=1e-12
    )
    found = [
        integrate.quad(lambda v, w=w: kernel.joint_density(np.array([[w, v]]))[0], -np.inf, np.inf)[
            0
        ]
        for w in omega
    ]
    np.testing.assert_allclose(found, alone, rtol=1e-7)


@pytest.mark.parametrize("kind", [qf.Gaussian, qf.Laplacian, qf.Cauchy, qf.Matern])
def test_a_gamma_may_be_anything_whose_square_is_a_number(kind):
    X = np.zeros((2, 2))
    for gamma in (1e-150, 1e150, [1e-150, 1e150]):
        assert (kind(gamma=gamma)(X) == 1).all()
    for gamma in (0.999e-150, 1.001e150, [1.0, 0.0]):
        with pytest.raises(ValueError, match="gamma"):
            kind(gamma=gamma)(X)


def test_median_of_a_kernel_of_absolute_gaps_is_a_median_of_those(rng):
    X = rng.normal(size=(300, 3)) * 5
    gram = qf.Laplacian("median")(X)[np.triu_indices(300, 1)]
    assert np.median(gram) == pytest.approx(np.exp(-1), rel=1e-9)


@pytest.mark.parametrize("nu", [0.0, -1.0, np.nan, "1.5"])
def test_a_smoothness_that_is_not_positive_is_refused(nu, data):
    with pytest.raises((ValueError, TypeError), match="nu must be"):
        qf.Matern(nu)(data)


def test_subsets_name_columns_that_there_are(data):
    assert qf.Anova(qf.Gaussian(1.0), [[0, 3]])(data).shape == (200, 200)
    for subset in ([0, 4], [-1]):
        with pytest.raises(ValueError, match=r"X has 4 columns: axes go from 0 to 3"):
            qf.Anova(qf.Gaussian(1.0), [subset])(data)


@pytest.mark.parametrize("kind", [list, np.array])
def test_up_to_eight_values_are_told_one_by_one(kind):
    assert short_text(kind([1.0] * 8)).count("1.") == 8
    assert short_text(kind([1.0] * 9)).startswith("<9 values")


@pytest.mark.parametrize(("n", "m"), [(100, 10_000), (7, 10**6), (40_000, 3), (5, 0), (0, 5)])
def test_loops_over_pairs_of_rows_take_every_row_once_and_few_pairs_at_a_time(n, m):
    blocks = pair_blocks(np.zeros((n, 1)), np.zeros((m, 1)))
    rows = [np.arange(n)[block] for block in blocks]
    assert np.array_equal(np.concatenate([*rows, np.zeros(0, dtype=int)]), np.arange(n))
    assert all(len(some) * m <= 2**15 or len(some) == 1 for some in rows)
