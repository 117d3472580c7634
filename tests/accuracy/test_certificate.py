"""Certificates are sound, tight and monotone; every term of theirs is needed."""

from functools import partial
from itertools import product
from math import comb

import numpy as np
import pytest

import quadfeat as qf
from quadfeat._errors import NoCertificate
from quadfeat.accuracy import certificate
from quadfeat.accuracy.bounds import Bound, Grid, Reweighted, Sparse, SpectralLattice
from quadfeat.accuracy.certificate import certify
from quadfeat.accuracy.region import Region
from quadfeat.constructions import randomized
from quadfeat.constructions.framed_grid import framed_grid
from quadfeat.kernels.convolution import Convolution
from quadfeat.kernels.spectral import Smoothed
from quadfeat.kernels.stationary import Cauchy, Gaussian, Laplacian
from quadfeat.kernels.subsets import Anova
from quadfeat.rules import choice, grids
from quadfeat.rules.lattice import lattice_bound
from quadfeat.rules.rule import Rule

from .errors import KERNELS, climb, grid_error, points, random_region, random_rule


@pytest.mark.parametrize("seed", range(20))
def test_no_error_on_a_grid_exceeds_its_certificate(seed):
    rng = np.random.default_rng(seed)
    for _ in range(200):
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


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8])
@pytest.mark.parametrize("M", [0.5, 2.0, 6.0])
def test_on_one_axis_a_certificate_is_the_largest_error(n, M):
    for kernel in (qf.Gaussian(0.5), qf.Cauchy(0.5), qf.Laplacian(0.5)):
        rule = choice.axis_rule(kernel, n, kind="equispaced", reach=M)
        t = np.linspace(0, M, 200_001)
        seen = np.abs(kernel.profile(t) - rule(t[:, None])).max()
        found = certify(kernel, [Grid((rule,))], Region.of(d=1, diameter=M)).value
        assert seen <= found <= 1.001 * seen + 1e-13


def test_an_error_of_twice_k_of_zero_is_seen_as_such():
    flat, rule = qf.Gaussian(1e-12), Rule(np.array([[-1.0], [1.0]]), np.array([0.5, 0.5]))
    found = certify(flat, [Grid((rule,))], Region.of(d=1, diameter=4.0)).value
    assert found == pytest.approx(2.0, rel=1e-6)  # at a gap of pi


def test_a_certificate_counts_the_rounding_of_those_who_evaluate_it():
    kernel, region = qf.Gaussian(0.5), Region.of(d=3, diameter=0.5)
    axes = (kernel.gauss(16),) * 3  # the error of the rule itself is below 1e-40
    U = np.random.default_rng(0).normal(size=(500, 3))
    U *= 0.5 / np.linalg.norm(U, axis=1, keepdims=True)
    seen = np.abs(kernel.at(U) - grids.tensor(*axes)(U)).max()
    assert 0 < seen <= certify(kernel, [Grid(axes)], region).value <= 2**-45


def test_the_mass_that_was_moved_is_twice_what_was_dropped_if_made_up_for():
    axes = (qf.Gaussian(0.5).gauss(4),) * 2
    whole = grids.tensor(*axes)
    kept = whole.weights > 0.05
    dropped = whole.weights[~kept].sum()
    pruned = grids.fold(Rule(whole.nodes[kept], whole.weights[kept]))
    scaled = Rule(pruned.nodes, pruned.weights / pruned.weights.sum())
    assert certificate._moved_mass(Grid(axes), pruned) == pytest.approx(dropped)
    assert certificate._moved_mass(Grid(axes), scaled) == pytest.approx(2 * dropped)
    assert certificate._moved_mass(Grid(axes), grids.fold(whole)) == pytest.approx(0.0, abs=1e-15)
    odd = (qf.Gaussian(0.5).gauss(3),)
    square = grids.fold(grids.tensor(*odd, *odd))  # some of its nodes are on one axis alone
    assert certificate._moved_mass(Grid(odd * 2), square) == pytest.approx(0.0, abs=1e-15)
    heavier = Rule(np.zeros((1, 1)), np.array([0.9]))  # 2/3 was there, and 1/3 was dropped
    assert certificate._moved_mass(Grid(odd), heavier) == pytest.approx(0.9 - 2 / 3 + 1 / 3)


def test_a_moved_mass_is_an_error_where_cosines_say_so():
    """Far from the grid's own error: a cosine of the dropped nodes is 1 at 0, and so is k."""
    axes = (qf.Gaussian(0.5).gauss(6),) * 4
    whole = grids.tensor(*axes)
    kept = whole.weights > 1e-4
    pruned = grids.fold(Rule(whole.nodes[kept], whole.weights[kept]))
    region = Region.of(d=4, diameter=0.4)
    found = certify(qf.Gaussian(0.5), [Reweighted(Grid(axes), pruned)], region).value
    dropped = 1 - pruned.weights.sum()
    assert dropped <= found <= 1.001 * dropped


def test_groups_share_a_diameter_as_well_as_they_can():
    """Against every division of |u|^2 among three groups, to the width of a cell."""
    rng = np.random.default_rng(0)
    step, cells = 0.1, 30
    region = Region.of(d=3, diameter=np.sqrt(step * cells))
    for case in range(20):
        groups = qf.Anova(qf.Gaussian(0.5), [[0], [1], [2]], rng.uniform(0.3, 3, 3)).groups(3)
        upper = np.cumsum(rng.random((3, cells)) ** (1 + case), axis=1)
        made = [Bound(step, own, "") for own in upper]
        found = certificate._sum_over_groups(groups, made, region)
        weights = np.array([group.weight for group in groups])
        # Just above i * step a gap is in cell i: so may be three that sum to just above 29 steps.
        seen = [
            weights @ upper[[0, 1, 2], [i, j, cells - 1 - i - j]]
            for i, j in product(range(cells), repeat=2)
            if i + j <= cells - 1
        ]
        assert max(seen) <= found
        if case == 0:  # nearly straight lines, of which nothing but a few cells can be gained
            assert found <= max(seen) + 4 * np.diff(upper, axis=1).max() * weights.max()


def test_an_axis_in_two_groups_is_spent_twice():
    """Both groups see the whole gap, so the error is theirs together, not half."""
    kernel = qf.Anova(qf.Gaussian(0.5), [[0, 1], [0, 2]])
    rule = qf.Gaussian(0.5).gauss(2)
    region = Region.of(d=3, diameter=1.0)
    found = certify(kernel, [Grid((rule, rule))] * 2, region).value
    U = np.array([[1.0, 0.0, 0.0]])
    seen = float(abs(kernel.at(U)[0] / 2 - rule(U[:, :1])[0]))
    assert seen <= found <= 1.3 * seen


def test_a_certificate_of_a_lattice_is_not_below_its_bound():
    kernel, reach = qf.Matern(1.5, 2.0), np.array([1.0, 0.7])
    steps, counts = 2 * np.pi / (reach + 2.0), np.array([9, 7])
    construction = SpectralLattice(steps, counts, kernel.joint_density)
    bound = lattice_bound(kernel.group_at, kernel.joint_density, steps, counts, reach)
    found = certify(kernel, [construction], Region.of(box=reach)).value
    assert bound <= found <= bound * (1 + 1e-11)


def test_a_kernel_that_hardly_falls_is_certified_on_1024_cells():
    kernel, axes = Gaussian(0.01), (Gaussian(0.01).gauss(2),) * 2
    region = Region.of(d=2, diameter=1.0)
    default = certify(kernel, [Grid(axes)], region)
    assert default == certify(kernel, [Grid(axes)], region, cells=1024)
    assert default != certify(kernel, [Grid(axes)], region, cells=1023)


def test_a_kernel_of_two_groups_needs_two_rules():
    kernel = qf.Anova(qf.Gaussian(0.3), [[0], [1]])
    with pytest.raises(ValueError, match="the kernel has 2 groups, and 1 rules were given"):
        certify(kernel, [Rule(np.zeros((1, 1)), np.ones(1))], Region.of(d=2, diameter=1.0))


def test_a_reweighted_rule_lies_on_its_grid(rng):
    X = rng.normal(size=(60, 2))
    framed = framed_grid(qf.Gaussian(0.5), X, 24)
    moved = Rule(framed.rule.nodes + 0.01, framed.rule.weights)
    grid = Reweighted(Grid(framed.axes), moved)
    with pytest.raises(ValueError, match="has nodes that are not on the grid"):
        certify(qf.Gaussian(1.0), [grid], Region.of(d=2, diameter=0.5))
