"""How well kernels predict rows that are left out."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.learning.families import unexplained_by


def test_rows_left_out_are_those_of_fits_without_them(rng):
    n, p = 40, 20  # landmarks are half of the rows
    X = rng.uniform(-1, 1, size=(n, 2))
    Y = (np.sin(3 * X[:, 0]) + 0.3 * rng.normal(size=n))[:, None]
    weight = rng.uniform(0.5, 1.5, size=n)
    kernel = qf.Gaussian(2.0)
    weight = weight / weight.mean()
    cross = kernel(X, X[:p])
    jitter = 1e-8 * np.eye(p)
    Z = np.linalg.solve(np.linalg.cholesky(cross[:p] + jitter), cross.T).T
    Z -= np.average(Z, axis=0, weights=weight)
    trace = (weight[:, None] * Z**2).sum()
    ones = np.column_stack([Z, np.ones(n)])
    errors = []
    for alpha in trace * 10.0 ** np.arange(-9.0, -0.75, 0.5):
        penalty = np.diag(np.append(np.full(p, alpha), 0.0))
        squares = []
        for i in range(p, n):
            others = np.arange(n) != i
            root = weight[others, None] * ones[others]
            system = root.T @ ones[others] + penalty
            w = np.linalg.solve(system, root.T @ Y[others, 0])
            squares.append((Y[i, 0] - ones[i] @ w) ** 2)
        errors.append(np.average(squares, weights=weight[p:]))
    mean = np.average(Y[:, 0], weights=weight)
    variance = np.average((Y[:, 0] - mean) ** 2, weights=weight)
    # Penalties of 1e-9 of the trace leave about 1e-16 / 1e-9 of the digits of both.
    assert unexplained_by(kernel, X, Y, weight) == pytest.approx(min(errors) / variance, rel=1e-5)


def test_weights_do_not_depend_on_their_unit_and_one_row_explains_nothing(rng):
    X, kernel = rng.normal(size=(60, 2)), qf.Gaussian(0.5)
    Y = X[:, :1] ** 2
    one = unexplained_by(kernel, X, Y, np.ones(60))
    assert unexplained_by(kernel, X, 7 * Y + 3, np.full(60, 5.0)) == pytest.approx(one, rel=1e-9)
    assert unexplained_by(kernel, X[:1], Y[:1], np.ones(1)) == 1


@pytest.mark.parametrize("truth", [qf.Gaussian(8.0), qf.Laplacian(6.0)])
def test_smooth_targets_get_a_smooth_family_and_rough_ones_a_rough_one(truth, rng):
    X = rng.uniform(0, 1, size=(900, 3))
    smooth = isinstance(truth, qf.Gaussian)
    truth = qf.Anova(truth, [[0], [1]])
    draw = np.linalg.cholesky(truth(X) + 1e-8 * np.eye(900)) @ rng.normal(size=900)
    y = draw + 0.05 * rng.normal(size=900)
    found = qf.Anova(subsets=[[0], [1]]).learned_anova(X, y[:, None], np.ones(900))
    assert isinstance(found.kernel.base, qf.Gaussian) == smooth
    assert found.kernel.subsets == [[0], [1]] and found.kernel.weights is None
    best = min(found.families, key=found.families.get)
    assert best.split()[0] == type(found.kernel.base).__name__
    assert found.subsets is None
