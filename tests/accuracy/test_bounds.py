"""Laws of bounds.py: certificates are sound, tight and monotone; theorems and limits hold."""

from functools import partial
from math import comb, e, factorial

import numpy as np
import pytest

from quadfeat._errors import NoCertificate
from quadfeat.accuracy import axis_cells, estimate, theory
from quadfeat.accuracy.bounds import Grid, Reweighted, Sparse
from quadfeat.accuracy.certificate import certify
from quadfeat.accuracy.region import Region
from quadfeat.constructions import randomized
from quadfeat.kernels.spectral import Smoothed
from quadfeat.kernels.stationary import Cauchy, Gaussian, Laplacian, Matern
from quadfeat.kernels.subsets import Anova, Convolution
from quadfeat.rules import choice, gauss, grids, interval, rule
from quadfeat.rules.rule import Rule

KERNELS = [
    Gaussian,
    Cauchy,
    Laplacian,
    lambda gamma: Matern(0.5, gamma, product=True),
    lambda gamma: Matern(1.5, gamma, product=True),
    lambda gamma: Matern(2.5, gamma, product=True),
]


def points(region, n, rng):
    """Gaps of the region: inside, on its boundary, along axes and diagonals."""
    d, widths = len(region.box), np.minimum(region.box, region.diameter)
    U = rng.normal(size=(n, d)) * (rng.random((n, d)) < 0.8)
    U /= np.maximum(np.linalg.norm(U, axis=1, keepdims=True), 1e-300)
    U *= region.diameter * np.minimum(1.0, 1.3 * rng.random((n, 1)) ** (1 / d))
    t = np.linspace(0.0, region.diameter, 65)[:, None]
    lines = [t * np.eye(d)[i] for i in range(d)]
    lines += [t * (np.arange(d) < j) / np.sqrt(j) for j in range(2, d + 1)]
    U = np.clip(np.concatenate([U, *lines]), -widths, widths)
    return U * (1 - 1e-15)


def grid_error(kernel, axes, U):
    q = np.ones(len(U))
    for i, axis in enumerate(axes):
        q *= np.cos(np.outer(U[:, i], axis.nodes[:, 0])) @ axis.weights
    return np.abs(kernel.at(U) - q)


def rule_error(kernel, rule, U):
    return np.abs(kernel.at(U) - rule(U))


def climb(error, region, rng, rounds=50):
    """The largest error a random search with shrinking steps finds."""
    U = points(region, 2000, rng)
    U = U[np.argsort(-error(U))[:40]]
    widths = np.minimum(region.box, region.diameter)
    for i in range(rounds):
        V = np.repeat(U, 20, axis=0)
        V = V + region.diameter * 0.2 * 0.82**i * rng.normal(size=V.shape)
        length = np.linalg.norm(V, axis=1, keepdims=True)
        V = np.clip(V * np.minimum(1.0, region.diameter / length), -widths, widths)
        U = np.concatenate([U, V])
        U = U[np.argsort(-error(U))[:40]]
    return float(error(U[:1])[0])


def random_region(d, rng):
    diameter = float(np.exp(rng.uniform(np.log(0.05), np.log(10.0))))
    kind = rng.integers(3)
    if kind == 0:
        return Region.of(d=d, diameter=diameter)
    box = diameter * rng.uniform(0.05, 1.0, size=d)
    return Region.of(box=box) if kind == 1 else Region.of(diameter=diameter, box=box)


def random_rule(kernel, n, rng):
    """A one-dimensional rule of any kind, good or bad: certificates owe nothing to its quality."""
    axis = kernel.axis(0)
    kind = rng.integers(4)
    if kind == 0 and isinstance(kernel, Gaussian | Cauchy):
        return axis.gauss(n)
    scale = interval.frequency_scale(axis)
    if kind == 1:
        return interval.clenshaw_curtis(axis.density, n, scale * rng.uniform(2, 10))
    if kind == 2:
        half = np.sort(scale * rng.uniform(0.1, 5, size=n))
        return rule.mirrored(half, rng.random(n) + 1e-3)
    return interval.equispaced(axis.density, n, scale * rng.uniform(0.2, 1.5))


# --- soundness: 10,500 cases ---------------------------------------------------------------------
@pytest.mark.parametrize("seed", range(20))
def test_no_error_on_a_grid_exceeds_its_certificate(seed):
    rng = np.random.default_rng(seed)
    for _ in range(400):
        d = int(rng.integers(1, 6))
        make = KERNELS[rng.integers(len(KERNELS))]
        gamma = float(np.exp(rng.uniform(-2, 1)))
        kernel = make(gamma)
        if rng.random() < 0.3:
            kernel = make(gamma * np.exp(rng.uniform(-1, 1, size=d)))
        n = int(rng.integers(1, 21))
        same = rng.random() < 0.7
        first = random_rule(make(gamma), n, rng)
        axes = tuple(
            first if same else random_rule(make(gamma), int(rng.integers(1, 12)), rng)
            for _ in range(d)
        )
        region = random_region(d, rng)
        found = certify(kernel, [Grid(axes)], region, cells=16)
        seen = grid_error(kernel, axes, points(region, 200, rng)).max()
        assert seen <= found.value, (kernel, n, d, region, found)


def test_no_error_of_any_rule_exceeds_its_certificate():
    rng = np.random.default_rng(1)
    certified = 0
    for _ in range(1000):
        d = int(rng.integers(1, 9))
        kernel = [Gaussian(0.5), Cauchy(0.5), Gaussian(np.linspace(0.3, 0.6, d))][rng.integers(3)]
        rule = randomized.random(kernel, int(rng.integers(4, 60)), d, rng)
        region = random_region(d, rng)
        try:
            found = certify(kernel, [rule], region, budget=1e5)
        except NoCertificate as refusal:
            assert "error(X)" in str(refusal)
            continue
        certified += 1
        U = points(region, 200, rng)
        assert np.abs(kernel.at(U) - rule(U)).max() <= found.value
    assert certified > 500


def test_no_error_of_a_sparse_grid_exceeds_its_certificate():
    rng = np.random.default_rng(2)
    for _ in range(600):
        d, level = int(rng.integers(1, 6)), int(rng.integers(0, 4))
        kernel = [Gaussian(0.5), Gaussian(np.linspace(0.2, 1.0, d))][rng.integers(2)]
        levels = tuple(
            tuple(kernel.axis(i).gauss(2**own) for own in range(level + 1)) for i in range(d)
        )
        rule = grids.smolyak([axis.__getitem__ for axis in levels], level)
        region = random_region(d, rng)
        found = certify(kernel, [Sparse(levels)], region, cells=24)
        U = points(region, 200, rng)
        seen = np.abs(kernel.at(U) - rule(U)).max()
        assert seen <= found.value * (1 + 1e-12) + 1e-15 * np.abs(rule.weights).sum()


def test_no_error_of_a_pruned_or_reweighted_grid_exceeds_its_certificate():
    rng = np.random.default_rng(3)
    for case in range(600):
        d = int(rng.integers(1, 4))
        kernel = KERNELS[rng.integers(len(KERNELS))](0.5)
        axes = tuple(random_rule(kernel, int(rng.integers(2, 7)), rng) for _ in range(d))
        whole = grids.tensor(*axes)
        keep = whole.weights > np.quantile(whole.weights, 0.3)
        weights = whole.weights[keep]
        if case % 3 == 1:
            weights = weights / weights.sum()
        if case % 3 == 2:
            weights = weights * rng.uniform(0.9, 1.1, size=len(weights))
        rule = grids.fold(Rule(whole.nodes[keep], weights))
        region = random_region(d, rng)
        try:
            found = certify(kernel, [Reweighted(Grid(axes), rule)], region, cells=24, budget=1e5)
        except NoCertificate as refusal:
            assert "error(X)" in str(refusal)
            continue
        U = points(region, 200, rng)
        assert np.abs(kernel.at(U) - rule(U)).max() <= found.value


def test_no_error_of_an_anova_kernel_exceeds_its_certificate():
    rng = np.random.default_rng(4)
    for _ in range(300):
        d, size, m = int(rng.integers(3, 8)), int(rng.integers(1, 4)), int(rng.integers(2, 6))
        m = min(m, comb(d, size))
        weights = rng.uniform(0.5, 2.0, size=m)
        base = Gaussian(0.5) if rng.random() < 0.5 else Cauchy(0.5)
        kernel = Anova.random(d, m, size, int(rng.integers(1000)), base=base)
        kernel = Anova(base, kernel.subsets, weights)
        axes = tuple(random_rule(base, int(rng.integers(2, 9)), rng) for _ in range(size))
        region = random_region(d, rng)
        found = certify(kernel, [Grid(axes)] * m, region, cells=24)
        U = points(region, 200, rng)
        error = sum(
            w * (base.at(U[:, s]) - grids.tensor(*axes)(U[:, s]))
            for w, s in zip(weights, kernel.subsets, strict=True)
        )
        assert np.abs(error).max() / weights.sum() <= found.value


def test_a_certificate_notices_an_error_that_is_not_there():
    """The laws above can fail: half of a certificate is exceeded almost everywhere."""
    rng = np.random.default_rng(5)
    kernel, exceeded = Gaussian(0.5), 0
    for _ in range(50):
        axes = (kernel.gauss(int(rng.integers(2, 8))),) * 2
        region = Region.of(d=2, diameter=rng.uniform(1, 4))
        found = certify(kernel, [Grid(axes)], region, cells=128)
        exceeded += grid_error(kernel, axes, points(region, 500, rng)).max() > 0.5 * found.value
    assert exceeded >= 48


def test_equal_rules_are_certified_alike_whoever_made_them():
    kernel = Smoothed(Laplacian(1.0), 0.5)
    region = Region.of(d=2, diameter=2.0)
    axes = (kernel.axis(0).gauss(12),) * 2
    found = certify(kernel, [Grid(axes)], region)
    U = points(region, 2000, np.random.default_rng(0))
    seen = grid_error(kernel, axes, U).max()
    assert seen <= found.value <= 1.1 * seen


# --- tightness -----------------------------------------------------------------------------------
@pytest.mark.parametrize("kind", ["gauss", "equispaced"])
@pytest.mark.parametrize("n", [2, 8, 20])
@pytest.mark.parametrize("d", [1, 3, 5])
def test_certificates_of_grids_are_within_a_tenth_of_the_largest_error(kind, n, d):
    rng = np.random.default_rng(0)
    kernels = [Gaussian(0.5), Cauchy(0.5)] + ([Laplacian(0.5)] if kind == "equispaced" else [])
    for kernel in kernels:
        for diameter in (1.0, 3.0, 8.0):
            rule = choice.axis_rule(kernel, n, kind=kind, reach=diameter)
            axes, region = (rule,) * d, Region.of(d=d, diameter=diameter)
            found = certify(kernel, [Grid(axes)], region)
            seen = climb(partial(grid_error, kernel, axes), region, rng)
            assert seen <= found.value
            assert seen < 1e-12 or found.value <= 1.1 * seen, (kernel, diameter, found, seen)


def test_certificates_on_data_boxes_are_within_five_times_the_largest_error():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 4)) * [2.0, 1.0, 0.5, 0.1]
    region = Region.of(X)
    gaps = (X[:, None] - X[None]).reshape(-1, 4)
    for n in (4, 8, 12):
        axes = tuple(choice.axis_rule(Gaussian(0.5), n, reach=float(width)) for width in region.box)
        found = certify(Gaussian(0.5), [Grid(axes)], region)
        seen = grid_error(Gaussian(0.5), axes, gaps).max()
        assert seen <= found.value <= 5 * seen


@pytest.mark.parametrize("d", [1, 2, 3])
def test_covering_is_within_a_tenth_of_the_largest_error(d):
    rng = np.random.default_rng(d)
    for kernel in (Gaussian(0.5), Matern(1.5, 0.5), Cauchy(0.5)):
        rule = randomized.random(kernel, 64, d, rng)
        region = Region.of(d=d, diameter=3.0)
        found = certify(kernel, [rule], region)
        seen = climb(partial(rule_error, kernel, rule), region, rng)
        assert found.method == "covering"
        assert seen <= found.value <= 1.1 * seen


def test_covering_ends_within_its_budget_and_is_sound():
    kernel, rng = Gaussian(0.5), np.random.default_rng(0)
    rule, region = randomized.random(kernel, 64, 3, rng), Region.of(d=3, diameter=3.0)
    loose = certify(kernel, [rule], region, budget=3e6)
    tight = certify(kernel, [rule], region)
    assert tight.value <= loose.value
    U = points(region, 5000, rng)
    assert np.abs(kernel.at(U) - rule(U)).max() <= loose.value


# --- regions -------------------------------------------------------------------------------------
def test_certificates_grow_with_the_region():
    axes = (Gaussian(0.5).gauss(6),) * 3
    values = [
        certify(Gaussian(0.5), [Grid(axes)], Region.of(d=3, diameter=r)).value
        for r in (0.5, 1.0, 2.0, 4.0)
    ]
    assert values == sorted(values)
    ball = Region.of(d=3, diameter=2.0)
    both = Region.of(diameter=2.0, box=[2.0, 0.5, 0.1])
    box = Region.of(box=[2.0, 2.0, 2.0])
    small, middle, large = (
        certify(Gaussian(0.5), [Grid(axes)], region).value for region in (both, ball, box)
    )
    assert small <= middle * (1 + 1e-9) <= large * (1 + 1e-2)


def test_the_region_of_data_holds_all_its_gaps():
    X = np.random.default_rng(0).normal(size=(50, 3))
    region, gaps = Region.of(X), (X[:, None] - X[None]).reshape(-1, 3)
    assert np.linalg.norm(gaps, axis=1).max() <= region.diameter
    assert np.all(np.abs(gaps) <= region.box)
    many = np.random.default_rng(0).normal(size=(3000, 3))
    assert np.linalg.norm(many - many[:1], axis=1).max() <= Region.of(many).diameter


def test_a_constant_column_is_no_obstacle():
    X = np.random.default_rng(0).normal(size=(50, 2)) * [1.0, 0.0]
    axes = (Gaussian(0.5).gauss(8),) * 2
    assert certify(Gaussian(0.5), [Grid(axes)], Region.of(X)).value < 1.0


def test_a_region_must_be_given_and_finite():
    with pytest.raises(ValueError, match=r"diameter=4\.0"):
        Region.of()
    with pytest.raises(ValueError, match="finite"):
        Region.of(d=2, diameter=np.inf)
    with pytest.raises(ValueError, match="not both"):
        Region.of(np.ones((2, 2)), diameter=1.0)
    with pytest.raises(ValueError, match="needs d"):
        Region.of(diameter=1.0)
    with pytest.raises(ValueError, match="box has 3 widths and the kernel 2"):
        Region.of(d=2, box=[1.0, 1.0, 1.0])


@pytest.mark.parametrize("value", ["a", -1, np.nan, np.inf, 1j, [1.0]])
def test_a_diameter_that_is_none_is_named(value):
    with pytest.raises(ValueError, match=r"diameter must be.*4\.0, got"):
        Region.of(d=2, diameter=value)


@pytest.mark.parametrize(
    "value", ["ab", [1.0, -1.0], [1.0, np.inf], [1e308, 1.7e308], [1.0, 1j], [[1.0], [1, 2]]]
)
def test_a_box_that_is_none_is_named(value):
    with pytest.raises(ValueError, match=r"box must be.*\[4\.0, 2\.0\], got"):
        Region.of(d=2, box=value)


def test_a_box_may_be_open_inside_a_ball():
    assert Region.of(diameter=2.0, box=[1.0, np.inf]).diameter == 2.0
    assert Region.of(d=2, diameter=0).box == (np.inf, np.inf)


def test_what_cannot_be_certified_is_refused_with_advice():
    kernel = Gaussian(0.5)
    rule = randomized.random(kernel, 100, 20, np.random.default_rng(0))
    with pytest.raises(ValueError, match=r"DenseGrid.*error\(X\)"):
        certify(kernel, [rule], Region.of(d=20, diameter=5.0))


def test_the_repr_names_the_region_the_method_and_theorem_1():
    axes = (Gaussian(0.5).gauss(8),)
    found = certify(Gaussian(0.5), [Grid(axes)], Region.of(d=1, diameter=2.0), degree=14)
    assert repr(found).startswith("Certificate(4.8")
    assert "|u| <= 2, by its axes; Theorem 1: 0.511" in repr(found)


# --- groups --------------------------------------------------------------------------------------
def test_groups_share_the_diameter_as_in_the_anova_theorem():
    """Disjoint subsets: the error of the sum is that of one subset, not of all."""
    base, m = Gaussian(0.5), 10
    kernel = Anova(base, [[2 * i, 2 * i + 1] for i in range(m)])
    axes = (base.gauss(6),) * 2
    one = certify(base, [Grid(axes)], Region.of(d=2, diameter=1.5)).value
    all_ = certify(kernel, [Grid(axes)] * m, Region.of(d=2 * m, diameter=1.5)).value
    assert one / m <= all_ <= 1.02 * one / m


def test_many_windows_are_certified_within_seconds():
    kernel = Convolution((28, 28), 5, base=Gaussian(0.1))
    levels = (tuple(Gaussian(0.1).gauss(2**own) for own in range(2)),) * 25
    rng = np.random.default_rng(0)
    X = rng.random((200, 784)) * rng.random(784)
    for region in (Region.of(d=784, diameter=2.0), Region.of(X)):
        found = certify(kernel, [Sparse(levels)] * 576, region)
        assert 0 < found.value < 1
    nodes = [np.sqrt(0.2) * rng.normal(size=(60, 25)) for _ in range(576)]
    made = [Rule(W, np.full(60, 1 / 60)) for W in nodes]
    assert certify(kernel, made, Region.of(d=784, diameter=1.0)).value < 0.05


# --- theorems ------------------------------------------------------------------------------------
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


# --- held-out estimates --------------------------------------------------------------------------
@pytest.mark.parametrize("confidence", [0.8, 0.95])
def test_limits_hold_as_often_as_they_say(confidence):
    rng = np.random.default_rng(0)
    held = np.zeros(3)
    true_rms, q90 = 0.1 * np.sqrt(1 / 3), 0.09
    for _ in range(1000):
        errors = 0.1 * rng.uniform(-1, 1, size=500)
        found = estimate.estimate(errors, confidence=confidence, bound=0.1, quantiles=(0.9,))
        held += [
            found.rms_limit >= true_rms,
            found.quantile_limits[0.9] >= q90,
            estimate.share_beyond(errors, 0.08, confidence=confidence) >= 0.2,
        ]
    spread = 3 * np.sqrt(confidence * (1 - confidence) / 1000)
    assert np.all(held / 1000 >= confidence - min(spread, 0.02))
    # Quantiles and shares are exact up to the jumps of a binomial variable, so not far above.
    assert np.all(held[1:] / 1000 <= confidence + spread + 0.03)


def test_limits_hold_for_skewed_errors_of_a_real_map():
    rng = np.random.default_rng(1)
    kernel = Gaussian(0.5)
    rule = randomized.random(kernel, 64, 3, rng)
    X = rng.normal(size=(400, 3))
    gaps = (X[:, None] - X[None]).reshape(-1, 3)
    every = (kernel.at(gaps) - rule(gaps)).reshape(400, 400)
    everyone = every[~np.eye(400, dtype=bool)]
    true = np.sqrt((everyone**2).mean()), np.quantile(np.abs(everyone), 0.99)
    held = np.zeros(2)
    for _ in range(1000):
        pairs = estimate.draw_pairs(400, 1000, rng)
        found = estimate.estimate(every[pairs.left, pairs.right], quantiles=(0.99,))
        held += [found.rms_limit >= true[0], found.quantile_limits[0.99] >= true[1]]
    assert np.all(held >= 930)


def test_the_limit_of_the_rms_is_within_twice_the_rms():
    rng = np.random.default_rng(0)
    found = estimate.estimate(0.03 * rng.normal(size=100_000))
    assert found.rms_limit <= 2 * found.rms
    proven = estimate.estimate(np.clip(1e-6 * rng.normal(size=100_000), -1e-5, 1e-5), bound=1e-5)
    assert proven.rms_limit <= 1.1 * proven.rms


def test_pairs_say_what_they_are_a_sample_of():
    rng = np.random.default_rng(0)
    few = estimate.draw_pairs(100, 50, rng)
    assert "new rows" in few.population
    assert len(np.unique(np.concatenate([few.left, few.right]))) == 100
    many = estimate.draw_pairs(100, 51, rng)
    assert many.population == "pairs of these 100 rows"
    assert np.all(many.left != many.right)
    text = repr(estimate.estimate([0.1, 0.2], population=many.population))
    assert text.startswith("Estimate from 2 pairs of these 100 rows, limits at 95%")


def test_too_few_pairs_leave_the_proven_range():
    found = estimate.estimate([0.1, 0.2], bound=0.3)
    assert found.rms_limit == 0.3
    assert set(found.quantile_limits.values()) == {0.3}
    with pytest.raises(ValueError, match="exceeds bound"):
        estimate.estimate([0.1, 0.4], bound=0.3)
