"""Sums of parts are those of the whole, and of the definition, for each group of rows."""

import numpy as np
import pytest

from quadfeat.models.iterative_sums import ImageSums, IterativeSystem, TargetSums, _groups
from quadfeat.models.score_bands import CurvatureSums
from quadfeat.numerics.galerkin import Space


def _rows(n=40, p=6, t=2):
    rng = np.random.default_rng(0)
    Z, Y = rng.normal(size=(n, p)) + 1, rng.normal(size=(n, t)) - 2
    return Z, np.column_stack([Y, rng.random(n) < 0.3]), rng.uniform(0.5, 2.0, n)


def _summed(sums, rows, weight, cuts):
    for some in np.split(np.arange(len(rows[0])), cuts):
        part = sums.blank()()
        part.add(*(each[some] for each in rows), None if weight is None else weight[some])
        sums.merge(part)
    return sums


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("cuts", [[], [7, 30]])
@pytest.mark.parametrize("intercept", [False, True])
@pytest.mark.parametrize("n_groups", [1, 2])
def test_the_equations_are_those_of_the_rows(weighted, cuts, intercept, n_groups):
    Z, Y, weight = _rows()
    weight = weight if weighted else None
    sums = _summed(TargetSums(6, 2), (Z, Y), weight, cuts)
    system = IterativeSystem.of(sums, n_groups, intercept=intercept)
    V = np.linalg.qr(np.random.default_rng(1).normal(size=(6, 3)))[0]
    images = ImageSums(V, sums.means(intercept=intercept))
    space = Space(6, 2)
    space.extend(V, _summed(images, (Z, Y), weight, cuts).centred)

    chosen = Y[:, -1] < n_groups
    W = (np.ones(len(Z)) if weight is None else weight)[chosen]
    Z, Y = Z[chosen], Y[chosen, :-1]
    if intercept:
        Z, Y = Z - np.average(Z, axis=0, weights=W), Y - np.average(Y, axis=0, weights=W)
    G = Z.T @ (W[:, None] * Z)
    assert system.cross == pytest.approx(Z.T @ (W[:, None] * Y), abs=1e-10)
    assert system.target_square == pytest.approx(W @ Y**2)
    assert system.scale == pytest.approx(np.trace(G))
    assert system.gram(space) == pytest.approx(V.T @ G @ V, abs=1e-10)
    assert system.image(space, np.eye(3)) == pytest.approx(G @ V, abs=1e-10)


def sums_of(make, Z, Y, weight, parts):
    total = None
    for rows in np.array_split(np.arange(len(Z)), parts):
        sums = make() if total is None else total.blank()()
        sums.add(Z[rows], Y[rows], weight[rows])
        if total is None:
            total = sums
        else:
            total.merge(sums)
    return total


def test_sums_of_parts_are_the_sums_of_all_rows(rng):
    Z, weight = rng.normal(size=(30, 4)), rng.uniform(1, 2, 30)
    marks = np.column_stack([rng.normal(size=(30, 2)), rng.random(30) < 0.3]).astype(float)
    coefficients, vectors = rng.normal(size=4), rng.normal(size=(4, 3))
    for make in (
        lambda: CurvatureSums(coefficients, 0.3),
        lambda: TargetSums(4, 2),
        lambda: ImageSums(vectors, np.ones((2, 4))),
    ):
        one, three = (sums_of(make, Z, marks, weight, parts) for parts in (1, 3))
        assert one.state().keys() == three.state().keys() and one.state()
        for name, value in one.state().items():
            np.testing.assert_allclose(three.state()[name], value, rtol=1e-10, atol=1e-12)
    assert three.centred.shape == (2, 4, 3)
    bands = [sums_of(lambda: CurvatureSums(coefficients, 0.3), Z, marks, weight, n) for n in (1, 3)]
    assert bands[0].total == pytest.approx(bands[1].total)
    assert (
        bands[0].squares == pytest.approx(float(weight @ weight)) == pytest.approx(bands[1].squares)
    )


@pytest.mark.parametrize(("marks", "groups"), [([0, 0], [0]), ([1, 1], [1]), ([0, 1], [0, 1])])
def test_a_block_has_only_the_groups_of_its_rows(marks, groups):
    found = list(_groups(np.array(marks, dtype=float)[:, None], None))
    assert [number for number, _, _ in found] == groups
    assert sum(mass.sum() for _, _, mass in found) == 2
