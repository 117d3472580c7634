"""Sums by FFTs equal those of products, however the rows are split."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.models.ridge_sums import NormalSums
from quadfeat.models.toeplitz_sums import ToeplitzSums


def _problem(counts, t=2):
    rng, d = np.random.default_rng(0), len(counts)
    X, Y = rng.normal(size=(300, d)), rng.normal(size=(300, t)) * [[1.0, 1e6][:t]]
    grid = qf.DenseGrid(qf.Gaussian(0.5), n_points=counts, rule="equispaced").fit(X)
    return grid, X, Y, rng.uniform(0, 3, 300)


def _summed(grid, X, Y, weight):
    lattice = grid.lattice()
    sums = ToeplitzSums(lattice.steps, lattice.shape, Y.shape[1])
    sums.add(X[:, lattice.axes], Y, weight)
    return sums


@pytest.mark.parametrize("counts", [[9], [8], [5, 7], [4, 5], [3, 4, 5]])
@pytest.mark.parametrize("weighted", [False, True])
def test_sums_by_transforms_are_those_of_products(counts, weighted):
    grid, X, Y, weight = _problem(counts)
    weight = weight if weighted else None
    exact = NormalSums(grid.n_columns_, 2)
    exact.add(grid.transform(X), Y, weight)
    found = _summed(grid, X, Y, weight).normal(grid.lattice())
    # Transforms are right to 1e-12 of the sums of |strengths|; a digit for their constants.
    np.testing.assert_allclose(np.tril(found.gram), np.tril(exact.gram), atol=1e-11 * exact.weight)
    for j, size in enumerate(np.abs(Y).sum(axis=0)):
        np.testing.assert_allclose(found.cross[:, j], exact.cross[:, j], atol=3e-11 * size)
    np.testing.assert_allclose(found.feature_sum, exact.feature_sum, atol=1e-11 * exact.weight)
    np.testing.assert_allclose(found.target_sum, exact.target_sum, atol=1e-6)
    np.testing.assert_allclose(found.target_square, exact.target_square, rtol=1e-12)
    assert found.weight == pytest.approx(exact.weight, rel=1e-13)
    assert found.n_rows == pytest.approx(exact.n_rows, rel=1e-12)


def test_merged_sums_are_those_of_all_rows():
    grid, X, Y, weight = _problem([5, 7])
    whole = _summed(grid, X, Y, weight)
    first, second = (_summed(grid, X[s], Y[s], weight[s]) for s in (slice(99), slice(99, None)))
    empty = first.blank()()
    for part in (first, second):
        empty.merge(part)
    scale = np.abs(Y).sum()
    np.testing.assert_allclose(empty.generator, whole.generator, atol=1e-11 * whole.weight)
    np.testing.assert_allclose(empty.cross, whole.cross, atol=1e-10 * scale)
    np.testing.assert_array_equal(empty.low, X.min(axis=0))
    np.testing.assert_array_equal(empty.high, X.max(axis=0))


def test_sums_are_restored_to_the_bit():
    grid, X, Y, weight = _problem([4, 5])
    sums = _summed(grid, X, Y, weight)
    again = ToeplitzSums.from_state({k: v.copy() for k, v in sums.state().items()})
    again.check()
    for name, value in sums.state().items():
        np.testing.assert_array_equal(again.state()[name], value)


@pytest.mark.parametrize("name", ["generator", "cross", "steps", "low", "target_square"])
def test_sums_that_do_not_fit_each_other_are_refused(name):
    grid, X, Y, weight = _problem([4, 5])
    state = _summed(grid, X, Y, weight).state()
    state[name] = state[name][:-1]
    with pytest.raises(ValueError):
        ToeplitzSums.from_state(state).check()


def test_rows_without_weight_do_not_widen_the_box():
    grid, X, Y, weight = _problem([5])
    X[0], weight[0] = 1000.0, 0.0
    assert _summed(grid, X, Y, weight).high[0] < 10
