"""Laws of grids: what they integrate exactly, how many nodes they have, what may be merged."""

import itertools
from math import comb, prod

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.rules import grids


def normal_moment(exponents):
    """E of the product of powers of independent standard normals."""
    return prod(0 if e % 2 else prod(range(1, e, 2)) for e in exponents)


def worst_moment(rule, degree):
    """The largest miss of a monomial up to `degree`, relative, or absolute where it is zero."""
    d, worst = rule.nodes.shape[1], 0.0
    for exponents in itertools.product(range(degree + 1), repeat=d):
        if sum(exponents) > degree:
            continue
        terms = rule.weights * np.prod(rule.nodes ** np.array(exponents), axis=1)
        exact = normal_moment(exponents)
        worst = max(worst, abs(terms.sum() - exact) / max(1.0, abs(exact), np.abs(terms).sum()))
    return worst


UNIT = qf.Gaussian(0.5)  # spectrum N(0, 1)


def signed(d, level):
    return grids.smolyak([lambda a: UNIT.gauss(2**a)] * d, level)


@pytest.mark.parametrize(("d", "n"), [(1, 9), (2, 5), (3, 4), (5, 2), (6, 2)])
def test_dense_grids_are_exact_to_degree_2n_minus_1(d, n):
    assert worst_moment(grids.tensor(*[UNIT.gauss(n)] * d), 2 * n - 1) <= 1e-12


@pytest.mark.parametrize(("d", "level"), [(1, 3), (2, 3), (3, 2), (5, 2), (6, 1)])
def test_sparse_grids_are_exact_to_degree_2a_plus_1(d, level):
    assert worst_moment(signed(d, level), 2 * level + 1) <= 1e-12


@pytest.mark.parametrize(("d", "degree"), [(1, 4), (2, 4), (3, 4), (5, 2), (6, 2)])
def test_polynomially_exact_maps_are_exact(d, degree, rng):
    fitted = qf.PolynomiallyExact(UNIT, degree=degree, n_components=1600, random_state=0).fit(
        rng.normal(size=(10, d))
    )
    rule = fitted.rule_
    both = qf.Rule(np.vstack([rule.nodes, -rule.nodes]), np.tile(rule.weights / 2, 2))
    assert worst_moment(both, degree + 1) <= 1e-12
    assert np.all(rule.weights >= 0)


def test_the_paper_s_sparse_grid_has_1351_nodes(rng):
    fitted = qf.SparseGrid(UNIT, level=2, weights="signed").fit(rng.normal(size=(5, 25)))
    rule = fitted.rule_
    assert len(rule) == fitted.transform(rng.normal(size=(2, 25))).shape[1] == 1351
    assert rule.weights.sum() == pytest.approx(1, abs=1e-10)
    assert np.abs(rule.weights).sum() == pytest.approx(1201, abs=1e-9)
    assert rule.weights[~rule.nodes.any(axis=1)] == pytest.approx([276])
    assert np.sum(np.isclose(rule.weights, -12)) == 50
    assert np.all(rule.weights != 0)
    assert (fitted.signs_ < 0).any()


@pytest.mark.parametrize("d", [1, 2, 3, 5, 10, 25])
@pytest.mark.parametrize("level", [0, 1, 2, 3])
def test_sparse_grids_stay_below_the_paper_s_count(d, level):
    rule = signed(d, level)
    assert len(rule) == grids.smolyak_size(d, level) <= 3**level * comb(d + level, level)
    assert len(np.unique(rule.nodes, axis=0)) == len(rule)
    assert rule.weights.sum() == pytest.approx(1, abs=1e-9)


def test_dense_features_are_the_product_of_one_dimensional_kernels(rng):
    X = rng.normal(size=(30, 3))
    fitted = qf.DenseGrid(qf.Gaussian([0.2, 0.5, 0.3]), n_points=[3, 4, 5], rule="gauss").fit(X)
    product = 1.0
    for i, (n, gamma) in enumerate([(3, 0.2), (4, 0.5), (5, 0.3)]):
        gaps = X[:, None, i] - X[None, :, i]
        product = product * qf.Gaussian(gamma).gauss(n)(gaps.reshape(-1, 1)).reshape(30, 30)
    np.testing.assert_allclose(fitted.approximate_kernel(X), product, atol=1e-14)
    assert fitted.transform(X).shape == (30, 60)


def test_folding_merges_equal_and_mirrored_nodes_only():
    nodes = np.array([[1.0, 2.0], [0, 0], [-1, -2], [1, 2], [1, -2], [0, -3], [0, 3], [2, 1]])
    folded = grids.fold(qf.Rule(nodes, np.arange(1.0, 9)))
    assert folded.nodes.tolist() == [[1, 2], [0, 0], [1, -2], [0, -3], [2, 1]]
    assert folded.weights.tolist() == [1 + 3 + 4, 2, 5, 6 + 7, 8]


def test_folding_merges_no_nodes_that_differ_however_little():
    nodes = np.array([[1.0, 1e-20], [1.0, 2e-20], [-1.0, -1e-20], [1.0 + 2.0**-52, 1e-20]])
    folded = grids.fold(qf.Rule(nodes, np.arange(1.0, 5)))
    assert folded.nodes.tolist() == nodes[[0, 1, 3]].tolist()
    assert folded.weights.tolist() == [1 + 3, 2, 4]


@pytest.mark.parametrize("n", [4, 5])
def test_folding_a_symmetric_grid_keeps_its_kernel_and_halves_its_nodes(n, rng):
    rule = grids.tensor(*[UNIT.gauss(n)] * 3)
    folded = grids.fold(rule)
    assert len(folded) == (n**3 + 1) // 2
    gaps = rng.normal(size=(20, 3))
    np.testing.assert_allclose(folded(gaps), rule(gaps), atol=1e-14)


def test_folding_a_random_rule_copies_nothing(rng):
    rule = qf.Rule(rng.normal(size=(100, 7)), np.full(100, 0.01))
    assert grids.fold(rule) is rule


def test_subsampling_is_unbiased(rng):
    axes = [UNIT.gauss(3)] * 4
    gaps = rng.normal(size=(5, 4))
    draws = np.array([grids.subsample(axes, 20, rng)(gaps) for _ in range(2000)])
    error = np.abs(draws.mean(axis=0) - grids.tensor(*axes)(gaps))
    assert np.all(error < 5 * draws.std(axis=0) / np.sqrt(len(draws)))


def test_subsampling_a_thousand_axes_never_builds_the_grid(rng):
    import resource

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    X = rng.normal(size=(20, 1000))
    fitted = qf.SubsampledGrid(qf.Gaussian(1e-3), n_components=10_000, random_state=0).fit(X)
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    assert fitted.rule_.nodes.shape == (5000, 1000)
    assert grown < 200_000  # kilobytes: the fit and, once more, rule_


def test_zero_nodes_of_all_groups_are_one_column(rng):
    X = rng.normal(size=(20, 6))
    kernel = qf.Anova(qf.Gaussian(0.3), [[0, 1], [2, 3], [4, 5]])
    for fitted in (
        qf.DenseGrid(kernel, n_points=3).fit(X),
        qf.SparseGrid(kernel, level=1, weights="signed").fit(X),
    ):
        alone = type(fitted)(**{**fitted.get_params(deep=False), "kernel": qf.Gaussian(0.3)})
        width = alone.fit(X[:, :2]).transform(X[:, :2]).shape[1]
        assert fitted.transform(X).shape[1] == 3 * (width - 1) + 1


def test_shared_groups_use_one_set_of_nodes(rng):
    X = rng.normal(size=(10, 12))
    kernel = qf.Convolution((12,), 3, base=qf.Gaussian(0.5))
    for share, n_sets in ((True, 1), (False, 10)):
        fitted = qf.RandomFourier(kernel, n_components=200, share_groups=share, random_state=0).fit(
            X
        )
        sets = {rule.nodes.tobytes() for rule in fitted._rules_by_group}
        assert len(sets) == n_sets


@pytest.mark.parametrize(
    ("kernel", "alike"),
    [
        (qf.Gaussian(0.05) + qf.Gaussian(5.0), False),
        (qf.Gaussian(0.3) + qf.Cauchy(0.3), False),
        (qf.Gaussian(0.3) + 2.0 * qf.Gaussian(0.3), True),
        (qf.Convolution((4,), 2, base=qf.Gaussian([0.1, 0.1, 5.0, 5.0])), False),
        (qf.Convolution((4,), 2, base=qf.Gaussian([0.3, 0.5, 0.3, 0.5])), False),
        (qf.Convolution((4,), 2, stride=2, base=qf.Gaussian([0.3, 0.5, 0.3, 0.5])), True),
        (qf.Anova([qf.Gaussian(g) for g in (1, 2, 1, 2)], [[0, 1], [2, 3]]), True),
        (qf.Anova([qf.Gaussian(g) for g in (1, 2, 3, 4)], [[0, 1], [2, 3]]), False),
        ((qf.Gaussian(0.1) + qf.Gaussian(0.4)) * qf.Cauchy(0.2), False),
        ((qf.Gaussian(0.1) + qf.Gaussian(0.1)) * qf.Cauchy(0.2), True),
    ],
    ids=repr,
)
def test_groups_share_nodes_only_where_their_kernels_are_one(kernel, alike, rng):
    X = rng.normal(size=(60, 4))
    shared = qf.RandomFourier(kernel, n_components=8000, share_groups=True, random_state=0)
    if not alike:
        with pytest.raises(ValueError, match=r"(?s)one kernel for all groups.*share_groups=False"):
            shared.fit(X)
        return
    # The largest of 60 * 59 / 2 errors of 2000 shared pairs: five standard errors.
    error = np.abs(shared.fit(X).approximate_kernel(X) - kernel(X)).max() / kernel.at_zero(4)
    assert error < 5 / np.sqrt(2000)


@pytest.mark.parametrize("make", [qf.SubsampledGrid, qf.RandomFourier, qf.SphericalRadial])
@pytest.mark.parametrize("share", [False, True])
def test_one_column_is_the_constant_whether_or_not_groups_share(make, share, rng):
    X = rng.normal(size=(20, 3))
    features = make(qf.Gaussian(0.3), n_components=1, share_groups=share, random_state=0)
    np.testing.assert_array_equal(features.fit(X).transform(X), np.ones((20, 1)))


@pytest.mark.parametrize("make", [qf.SubsampledGrid, qf.RandomFourier, qf.SphericalRadial])
@pytest.mark.parametrize("share", [False, True])
@pytest.mark.parametrize("n", [6, 7, 8, 11, 12, 20])
def test_every_group_is_seen_or_the_width_is_refused(make, share, n, rng):
    kernel = qf.Anova(qf.Gaussian(0.3), [[0, 1], [2, 3], [4, 5]])
    X = np.repeat(rng.normal(size=(1, 6)), 4, axis=0)
    X[1:] += np.kron(np.eye(3), [1.0, 0.3])  # rows that differ in one group each
    features = make(kernel, n_components=n, share_groups=share, random_state=0)
    if make is qf.SphericalRadial and n < 12:
        with pytest.raises(ValueError, match=rf"n_components={n} .*3 groups.*at least 12"):
            features.fit(X)
        return
    if make is qf.SubsampledGrid:
        features.set_params(n_points=4)  # without a zero node, which is the same for all rows
    Z = features.fit(X).transform(X)
    assert Z.shape[1] <= n
    # A group without a node gives rows that are equal; a node may be nearly orthogonal to a gap.
    assert (np.abs(Z[1:] - Z[0]).max(axis=1) > 1e-6).all()


def test_no_two_nodes_of_a_subsample_are_one_cosine(rng):
    for points in (2, 3):
        rule = grids.subsample([UNIT.gauss(points)] * 3, 200, rng)
        assert len(grids.fold(rule)) == len(rule) == (points**3 + 1) // 2


def test_mirroring_a_rule_keeps_its_kernel_and_its_mass(rng):
    nodes = np.vstack([np.zeros(3), rng.normal(size=(6, 3))])
    rule = qf.Rule(nodes, rng.uniform(size=7))
    mirrored, gaps = grids.mirror(rule), rng.normal(size=(20, 3))
    assert len(mirrored) == 13 and mirrored.weights.sum() == pytest.approx(rule.weights.sum())
    np.testing.assert_allclose(mirrored(gaps), rule(gaps), atol=1e-14)


def test_an_embedded_rule_looks_at_its_axes_alone(rng):
    rule, gaps = grids.tensor(UNIT.gauss(3), UNIT.gauss(4)), rng.normal(size=(20, 5))
    wide = grids.embed(rule, np.array([3, 1]), 5)
    np.testing.assert_allclose(wide(gaps), rule(gaps[:, [3, 1]]), atol=1e-14)
    both = grids.concatenate([wide, wide], [0.5, 2.0])
    np.testing.assert_allclose(both(gaps), 2.5 * wide(gaps), atol=1e-14)


class _Lattice:
    """Draws that are evenly spaced, ends of intervals among them, and each with each."""

    def __init__(self, n, d):
        grid = np.meshgrid(*[np.arange(n) / n] * d, indexing="ij")
        self._columns = iter([axis.ravel() for axis in grid])

    def random(self, n):
        return next(self._columns)


def test_subsampling_takes_each_node_as_often_as_its_weight_says():
    """Weights are multiples of 1/8 and so are draws: an edge belongs to the node that it begins."""
    axis = qf.Rule(np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([1, 3, 3, 1]) / 8)
    rule = grids.subsample([axis, axis], 64, _Lattice(8, 2))
    found, exact = (
        {
            tuple(node * np.sign(node[0])): float(w)
            for node, w in zip(r.nodes, r.weights, strict=True)
        }
        for r in (rule, grids.fold(grids.tensor(axis, axis)))
    )
    assert found == exact


def test_subsampling_draws_no_node_of_weight_zero():
    axis = qf.Rule(np.array([[-2.0], [-1.0], [1.0], [2.0]]), np.array([0.0, 0.5, 0.5, 0.0]))
    rule = grids.subsample([axis, axis], 64, _Lattice(8, 2))
    assert np.all(np.abs(rule.nodes) == 1)


def test_subsampling_s_last_draw_is_a_node_however_weights_are_rounded():
    axis = qf.Rule(np.linspace(-1, 1, 10)[:, None], np.full(10, 0.1))
    assert np.cumsum(axis.weights)[-1] < 1

    class Last:
        def random(self, n):
            return np.full(n, 1 - 2.0**-53)

    rule = grids.subsample([axis, axis], 4, Last())
    np.testing.assert_array_equal(rule.nodes, [[1.0, 1.0]])
