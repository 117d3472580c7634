"""The paper's orderings come out of the theorems as computed, and the rates hold in simulation."""

from itertools import product
from math import comb, e, factorial, inf, isnan

import numpy as np
import pytest

from quadfeat.accuracy import axis_cells, theory
from quadfeat.accuracy.bounds import Grid
from quadfeat.accuracy.certificate import certify
from quadfeat.accuracy.region import Region
from quadfeat.kernels.stationary import Gaussian
from quadfeat.rules import gauss

EPS = [10.0**-i for i in range(1, 9)]
DIAMETERS = [0.1, 0.3, 1.0, 3.0, 8.0]


def samples(eps, d, M):
    return {
        "exact": theory.polynomially_exact_samples(eps, d, subgaussian=1.0, diameter=M),
        "dense": theory.dense_grid_samples(eps, d, subgaussian=1.0, diameter=M),
        "sparse": theory.sparse_grid_samples(eps, d, subgaussian=1.0, diameter=M),
    }


def random_samples(eps, d, M):
    return theory.random_fourier_samples(eps, d, second_moment=float(d), diameter=M)


@pytest.mark.parametrize("d", [1, 2, 5, 10, 25, 50])
def test_samples_are_numbers_that_grow_with_precision_and_region(d):
    table = {key: samples(*key[:1], d, key[1]) for key in product(EPS, DIAMETERS)}
    for name in ("exact", "dense", "sparse"):
        for field in ("printed", "counted"):
            values = np.array([[getattr(table[e, M][name], field) for M in DIAMETERS] for e in EPS])
            assert not np.isnan(values).any() and (values >= 1).all()
            assert (values[1:] >= values[:-1] * (1 - 1e-9)).all(), (name, field)
            assert (values[:, 1:] >= values[:, :-1] * (1 - 1e-9)).all(), (name, field)
    for eps, M in table:
        options = {"second_moment": float(d), "diameter": M}
        for found in (
            theory.random_fourier_samples(eps, d, **options),
            theory.random_fourier_rate(eps, d, **options),
            theory.quasi_monte_carlo_samples(eps, d),
        ):
            assert 1 <= found < inf and not isnan(found)


def test_what_is_too_large_for_a_number_is_infinite():
    assert theory.polynomially_exact(1000, subgaussian=1.0, diameter=1e3) == inf
    assert theory.gauss_grid(500, subgaussian=1.0, diameter=1e4, normal=False) == inf
    assert theory.polynomially_exact(4, subgaussian=1.0, diameter=0.0) == 0.0
    assert theory.sparse_grid_samples(1e-3, 25, subgaussian=1.0, diameter=8.0).counted == inf


def test_polynomially_exact_rules_beat_random_ones_on_small_regions_only():
    for eps, d in product(EPS, (2, 10, 25, 50)):
        assert samples(eps, d, 0.1)["exact"].counted < random_samples(eps, d, 0.1)
    for d in (10, 25, 50):
        assert samples(0.1, d, 3.0)["exact"].counted > random_samples(0.1, d, 3.0)


def test_dense_grids_win_on_few_axes_as_the_error_goes_to_zero():
    for d, M in product((1, 2, 3), (0.1, 1.0, 3.0)):
        for eps in (1e-4, 1e-6, 1e-8):
            found = samples(eps, d, M)
            assert found["dense"].counted == min(each.counted for each in found.values())
            assert found["dense"].counted < random_samples(eps, d, M)
            assert found["dense"].counted < theory.quasi_monte_carlo_samples(eps, d)


def test_sparse_grids_need_less_than_dense_ones_on_many_axes():
    for eps in (1e-3, 1e-5, 1e-8):
        few, many = samples(eps, 3, 0.1), samples(eps, 25, 0.1)
        assert few["sparse"].counted > few["dense"].counted
        assert many["sparse"].counted < many["dense"].counted


def test_subkernels_cost_each_the_same_against_their_cube():
    sizes = np.array([10, 100, 1000])
    exact, other = (
        np.array([float(of(m)) for m in sizes])
        for of in (
            lambda m: (
                theory.anova_samples(
                    0.1, size=m, rank=3, busiest=3, subgaussian=1.0, diameter=1.0
                ).counted
            ),
            lambda m: theory.anova_random_samples(
                0.1, size=m, rank=3, second_moment=3.0, diameter=1.0
            ),
        )
    )
    np.testing.assert_allclose(exact / sizes, exact[0] / sizes[0])
    power = np.diff(np.log10(other))
    assert np.all((power > 3.0) & (power < 3.5))  # the cube, and a logarithm


@pytest.mark.parametrize("d", [1, 3])
def test_random_features_fail_no_oftener_than_their_bounds_allow(d):
    rng = np.random.default_rng(0)
    M, failure = 2.0, 0.2
    gaps = rng.normal(size=(60, d))
    gaps *= M * rng.random((60, 1)) ** (1 / d) / np.linalg.norm(gaps, axis=1)[:, None]
    exact = np.exp(-(gaps**2).sum(axis=1) / 2)
    for bound, eps in ((theory.random_fourier_samples, 0.2), (theory.random_fourier_rate, 1.0)):
        D = int(bound(eps, d, second_moment=float(d), diameter=M, failure=failure))
        errors = [
            np.abs(np.cos(gaps @ rng.normal(size=(D, d)).T).mean(axis=1) - exact).max()
            for _ in range(10)
        ]
        assert np.mean(np.array(errors) > eps) <= failure


def test_the_constant_of_random_features_is_the_one_that_the_proof_minimises():
    """The bound is the least over r of its two terms, at several dimensions and widths."""
    for d, D, eps, s, M in product((1, 2, 10, 40), (10, 1000), (0.1, 0.5), (1.0, 5.0), (0.5, 4.0)):
        r = np.geomspace(1e-6, 1e6, 100_001)
        with np.errstate(over="ignore"):
            both = 2 * (4 * M / r) ** d * np.exp(-D * eps**2 / 8) + 16 * (s * r / eps) ** 2
        constant = 2.0 ** ((9 * d + 4) / (d + 2)) * (s * M / eps) ** (2 * d / (d + 2))
        stated = constant * np.exp(-D * eps**2 / (4 * (d + 2)))
        least = both.min()
        assert least <= stated * (1 + 1e-6)
        assert stated <= 2 * least * (1 + 1e-6)  # at any r one term is half of it or more
        # Solving the bound for D gives the number of samples.
        if stated < 1:
            found = theory.random_fourier_samples(
                eps, d, second_moment=s**2, diameter=M, failure=stated
            )
            assert abs(found - D) <= 1


SPREAD = {"subgaussian": 1.0, "diameter": 1.0}
MOMENT = {"second_moment": 1.0, "diameter": 1.0, "failure": 0.05}
CALLS = {
    theory.polynomially_exact: {"degree": 4, **SPREAD},
    theory.gauss_grid: {"n_points": 3, **SPREAD},
    theory.sparse_grid: {"level": 70, "d": 2, **SPREAD},
    theory.anova: {"degree": 4, "busiest": 2, **SPREAD},
    theory.polynomially_exact_samples: {"eps": 0.1, "d": 2, "beta": 1.0, **SPREAD},
    theory.dense_grid_samples: {"eps": 0.1, "d": 2, **SPREAD},
    theory.sparse_grid_samples: {"eps": 0.1, "d": 2, **SPREAD},
    theory.anova_samples: {"eps": 0.1, "size": 3, "rank": 2, "busiest": 2, "beta": 1.0, **SPREAD},
    theory.random_fourier_samples: {"eps": 0.1, "d": 2, **MOMENT},
    theory.random_fourier_rate: {"eps": 0.1, "d": 2, **MOMENT},
    theory.anova_random_samples: {"eps": 0.1, "size": 3, "rank": 2, **MOMENT},
    theory.quasi_monte_carlo_samples: {"eps": 0.1, "d": 2},
}


@pytest.mark.parametrize("wrong", [float("nan"), inf, -1.0, -1, None, "1", True], ids=repr)
@pytest.mark.parametrize("function", CALLS, ids=lambda function: function.__name__)
def test_no_theorem_is_evaluated_at_what_is_no_number(function, wrong):
    function(**CALLS[function])
    for name in CALLS[function]:
        with pytest.raises((ValueError, TypeError), match=f"{name} must be"):
            function(**{**CALLS[function], name: wrong})


def test_large_regions_do_not_count_degrees_one_by_one():
    found = theory.dense_grid_samples(1e-3, 2, subgaussian=1e3, diameter=1e3)
    R = found.order
    assert theory.polynomially_exact(R, subgaussian=1e3, diameter=1e3) <= 1e-3
    assert theory.polynomially_exact(R - 2, subgaussian=1e3, diameter=1e3) > 1e-3
    assert theory.random_fourier_rate(0.1, 2, second_moment=1.0, diameter=0.0) == inf


def test_theorem_1_is_its_formula():
    assert theory.polynomially_exact(2, subgaussian=1.0, diameter=1.0) == pytest.approx(1.5 * e)
    assert theory.polynomially_exact(4, subgaussian=2.0, diameter=0.5) == pytest.approx(
        3 * (e / 4) ** 2
    )
    with pytest.raises(ValueError, match="even"):
        theory.polynomially_exact(3, subgaussian=1.0, diameter=1.0)


def test_the_sparse_grid_theorem_is_its_formula_under_its_condition():
    assert theory.sparse_grid(66, 2, subgaussian=1.0, diameter=1.0) == pytest.approx(
        4 * (12 * e / 66) ** 66
    )
    assert theory.sparse_grid(65, 2, subgaussian=1.0, diameter=1.0) == np.inf
    assert theory.sparse_grid(17, 2, subgaussian=1.0, diameter=1.0, sharp=True) == pytest.approx(
        4 * (3 * e / 17) ** 17
    )


def test_bounds_are_ordered_certificate_a_priori_theorem():
    for n in (2, 5, 8, 12):
        for diameter in (0.5, 1.0, 2.0):
            axes = (Gaussian(0.5).gauss(n),) * 3
            region = Region.of(d=3, diameter=diameter)
            found = certify(Gaussian(0.5), [Grid(axes)], region, degree=2 * n - 2)
            normal = theory.gauss_grid(n, subgaussian=1.0, diameter=diameter)
            any_ = theory.gauss_grid(n, subgaussian=1.0, diameter=diameter, normal=False)
            assert found.value <= 1.01 * normal + axis_cells.ROUNDING + 1e-15
            assert normal <= any_ <= found.theorem1


def test_the_steps_that_replace_those_of_the_proofs_hold():
    u = np.linspace(0, 6, 2001)
    k = np.exp(-(u**2) / 2)
    levels = [gauss.gauss_hermite(2**m)(u[:, None]) for m in range(6)]
    for m in range(1, 6):
        c = 2 ** (m - 1)
        assert np.all(np.abs(k - levels[m]) <= (e * u**2 / (4 * c)) ** (2 * c) + 1e-15)
        assert np.all(np.abs(levels[m] - levels[m - 1]) <= 3 * (e * u**2 / (2 * c)) ** c + 1e-15)
    # A 1-subgaussian variable whose fourth moment exceeds the normal one.
    t = np.linspace(1e-3, 12, 100_000)
    assert np.all(np.log1p(2 / 9 * (np.cosh(2 * t) - 1)) <= t**2 / 2)
    assert 2 / 9 * 2**4 > 3


def test_sample_counts_are_those_of_the_least_order():
    found = theory.polynomially_exact_samples(1e-3, 3, subgaussian=1.0, diameter=1.0, beta=2.0)
    R = found.order
    assert R % 2 == 0
    assert theory.polynomially_exact(R, subgaussian=1.0, diameter=1.0) <= 1e-3
    assert theory.polynomially_exact(R - 2, subgaussian=1.0, diameter=1.0) > 1e-3
    assert found.counted == 2 * comb(3 + R, 3)
    dense = theory.dense_grid_samples(1e-3, 3, subgaussian=1.0, diameter=1.0)
    assert dense.order == R and dense.counted == pytest.approx((R // 2 + 1) ** 3)
    sparse = theory.sparse_grid_samples(1e-3, 3, subgaussian=1.0, diameter=0.3)
    A = sparse.order
    assert 24 * e * 0.09 <= A and sparse.counted == pytest.approx(3**A * comb(3 + A, A))


def test_the_printed_formula_is_least_at_its_gamma():
    found = theory.polynomially_exact_samples(1e-4, 5, subgaussian=1.0, diameter=0.7)
    for gamma in found.gamma * np.array([0.7, 0.9, 1.0, 1.1, 1.4]):
        value = 2**5 * max(np.exp(np.exp(2 * gamma + 1) * 0.49), (3 / 1e-4) ** (1 / gamma))
        assert found.printed <= value * (1 + 1e-6)


def test_samples_fall_short_of_random_ones_as_eps_goes_to_zero():
    """The paper's ordering: slower than any power of 1 / eps, against eps^-2."""
    growth = []
    for eps in (1e-2, 1e-4, 1e-8):
        exact = theory.polynomially_exact_samples(eps, 5, subgaussian=1.0, diameter=1.0)
        other = theory.random_fourier_samples(eps, 5, second_moment=5.0, diameter=1.0)
        growth.append(other / exact.counted)
    assert growth == sorted(growth) and growth[-1] > 1e10


def test_quasi_monte_carlo_beats_random_only_past_its_hump():
    assert theory.quasi_monte_carlo_samples(1e-6, 2) < theory.random_fourier_samples(
        1e-6, 2, second_moment=2.0, diameter=1.0
    )
    assert theory.quasi_monte_carlo_samples(1e-2, 25) > np.exp(25)


def test_the_subgaussian_moment_lemma_is_false_for_five_axes():
    d, p = 5, 2
    assert d > p * 2 ** (p / 2) * factorial(p // 2 - 1)


@pytest.mark.parametrize("busiest", [1, 2, 5])
def test_sub_kernels_need_what_each_does_for_its_share_of_the_error(busiest):
    """An error eps of the sum is eps / Delta of Theorem 1 on the axes of one sub-kernel."""
    options = {"subgaussian": 1.0, "diameter": 1.5, "beta": 2.0}
    for eps in (0.5, 0.01):
        found = theory.anova_samples(eps, size=7, rank=3, busiest=busiest, **options)
        each = theory.polynomially_exact_samples(eps / busiest, 3, **options)
        assert found.printed == pytest.approx(7 * each.printed, rel=1e-9)
        assert (found.counted, found.order) == (pytest.approx(7 * each.counted), each.order)
        assert found.gamma == pytest.approx(each.gamma)


@pytest.mark.parametrize("d", [1, 2, 5, 25])
@pytest.mark.parametrize("eps", [0.3, 1e-2, 1e-9])
def test_quasi_monte_carlo_s_rate_has_fallen_to_eps_at_its_samples_and_not_before(d, eps):
    n = theory.quasi_monte_carlo_samples(eps, d)
    here, before = (d * np.log(np.log(D)) - np.log(D) for D in (float(n), n - 1.0))
    assert here <= np.log(eps) + 1e-9
    assert before >= np.log(eps) - 1e-9 or n - 1 <= np.exp(d)


def test_few_samples_reach_a_large_error():
    d = 3
    least = theory.quasi_monte_carlo_samples(0.99 * (d / np.e) ** d, d)
    assert least == pytest.approx(np.exp(d), rel=0.7) and least >= np.exp(d)
    # log(D)^d / D is (d / e)^d at its maximum e^d, and says nothing before.
    assert theory.quasi_monte_carlo_samples(1.0, d) == pytest.approx(
        _first(lambda n: np.log(n) ** d / n <= 1.0, np.exp(d)), rel=1e-6, abs=1
    )


def _first(holds, n):
    while not holds(n):
        n += 1
    return n
