"""Subsets learned from targets."""

import numpy as np
import pytest
from sklearn.datasets import make_friedman1

import quadfeat as qf
from quadfeat.learning.subset_rows import SubsetRows
from quadfeat.learning.subsets import learn_subsets


def learned(X, y, **options):
    return qf.Anova(qf.Gaussian("learned"), subsets="learned", **options).learned(X, y)


def test_friedman1_has_five_main_effects_and_a_pair():
    X, y = make_friedman1(4000, n_features=12, noise=1.0, random_state=1)
    kernel = learned(X, y)
    assert kernel.subsets == [[0], [1], [2], [3], [4], [0, 1]]
    lengths = 1 / np.sqrt(2 * np.asarray(kernel.base.gamma))
    assert lengths[2] < lengths[3]  # a parabola, and a line
    assert np.mean(kernel.weights) == pytest.approx(1)


def test_a_product_of_three_needs_order_three_and_brings_its_parts(rng):
    X = rng.uniform(-1, 1, size=(3000, 6))
    y = 4 * X[:, 1] * X[:, 3] * X[:, 5] + X[:, 0] + 0.5 * rng.normal(size=3000)
    assert learned(X, y).subsets == [[0]]
    parts = [[0], [1], [3], [5], [1, 3], [1, 5], [3, 5], [1, 3, 5]]
    assert learned(X, y, order=3).subsets == parts


def test_one_of_two_equal_columns_is_enough(rng):
    X = rng.normal(size=(2000, 5))
    X[:, 4] = X[:, 1]
    kernel = learned(X, np.sin(2 * X[:, 1]) + X[:, 0] + 0.3 * rng.normal(size=2000))
    assert [0] in kernel.subsets
    assert ([1] in kernel.subsets) != ([4] in kernel.subsets)


def test_how_stable_a_choice_is_is_told(rng):
    X = rng.uniform(-1, 1, size=(1200, 6))
    weak = 0.13 * X[:, 1]
    y = X[:, 0] + weak + rng.normal(size=1200) * 0.5
    options = {"order": 2, "tied": False}
    rows = SubsetRows.of(X, y[:, None], np.ones(1200))
    found = learn_subsets(qf.Gaussian(), rows, **options)
    assert found.chosen[found.subsets.index((0,))] == 1
    assert all(share > 0.5 for share in found.chosen)
    assert 0.38 < found.unexplained < 0.48  # noise 0.25, of 0.25 + 1 / 3 + 0.0056: 0.42, +- 0.03


def test_weights_of_rows_count_as_copies(rng):
    X = rng.uniform(-1, 1, size=(1200, 4))
    y = np.where(np.arange(1200) < 600, np.sin(3 * X[:, 0]), np.sin(3 * X[:, 1]))
    options = {"order": 1, "tied": False}
    weight = np.where(np.arange(1200) < 600, 1.0, 1e-6)
    order = rng.permutation(1200)
    rows = SubsetRows.of(X[order], y[order, None] + 0.0, weight[order])
    found = learn_subsets(qf.Gaussian(), rows, **options)
    assert found.subsets[0] == (0,) and (1,) not in found.subsets


def test_few_rows_keep_weak_main_effects():
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(300, 4))
    kernel = learned(X, X @ [1.0, 0.5, 0.0, 0.0] + rng.normal(size=300))
    assert [0] in kernel.subsets and [1] in kernel.subsets


def test_length_scales_of_given_subsets_are_learned(rng):
    X = rng.uniform(-1, 1, size=(1500, 3))
    y = np.sin(9 * X[:, 0]) + X[:, 1] + 0.1 * rng.normal(size=1500)
    kernel = qf.Anova(qf.Gaussian("learned"), [[0], [1, 2]]).learned(X, y)
    gamma = np.asarray(kernel.base.gamma)
    assert gamma[0] > 4 * gamma[1] and kernel.subsets == [[0], [1, 2]]
    one = qf.Anova(qf.Gaussian("tuned"), [[0], [1, 2]]).learned(X, y)
    assert np.ndim(one.base.gamma) == 0


def test_given_length_scales_are_kept(rng):
    X = rng.uniform(-1, 1, size=(500, 3))
    kernel = qf.Anova(qf.Gaussian(2.0), "learned").learned(X, np.sin(3 * X[:, 0]))
    assert kernel.base.gamma == 2.0 and [0] in kernel.subsets


@pytest.mark.parametrize(
    ("kernel", "error", "words"),
    [
        (qf.Anova(qf.Gaussian(), "learned", order=4), ValueError, "order must be 1, 2 or 3, got 4"),
        (qf.Anova([qf.Gaussian()] * 3, "learned"), TypeError, "base must be one kernel"),
        (qf.Anova(qf.Gaussian(), "learned", weights=[1]), ValueError, "leave weights=None"),
        (qf.Anova(qf.Gaussian(), "all"), TypeError, "subsets must be 'learned'"),
        (qf.Anova(qf.Gaussian("learned"), [[0, 1, 2, 3]]), ValueError, "up to 3"),
        (qf.Anova(subsets=[[0, 1, 2, 3]]), ValueError, "up to 3"),
        (qf.Anova(weights=[1]), ValueError, "leave weights=None"),
    ],
)
def test_what_cannot_be_learned_is_refused(kernel, error, words, rng):
    X = rng.normal(size=(50, 4))
    with pytest.raises(error, match=words):
        qf.HermiteMercer(kernel, n_components=20).fit(X, X[:, 0])


def test_without_targets_nothing_is_learned(rng):
    with pytest.raises(ValueError, match="learns from targets"):
        qf.HermiteMercer(qf.Anova(qf.Gaussian(), "learned")).fit(rng.normal(size=(50, 2)))
    with pytest.raises(ValueError, match="chosen by targets"):
        qf.Anova(qf.Gaussian(), "learned")(rng.normal(size=(5, 2)))
    with pytest.raises(ValueError, match="base=None is learned from targets"):
        qf.Anova(subsets=[[0], [1]])(rng.normal(size=(5, 2)))
    with pytest.raises(ValueError, match="learns from targets"):
        qf.Landmarks(qf.Anova()).fit(rng.normal(size=(50, 2)))


def test_an_open_family_is_gaussian_for_maps_that_need_it(rng):
    X = rng.uniform(-1, 1, size=(400, 2))
    y = np.abs(X[:, 0]) + np.sign(X[:, 1])  # which a Gaussian kernel does not suit
    smooth = qf.HermiteMercer(qf.Anova(), n_components=40).fit(X, y)
    assert isinstance(smooth.kernel_.base, qf.Gaussian)
    rough = qf.Landmarks(qf.Anova(), n_components=40, random_state=0).fit(X, y)
    assert not isinstance(rough.kernel_.base, qf.Gaussian)
    assert rough.kernel_.subsets == smooth.kernel_.subsets == [[0], [1]]
