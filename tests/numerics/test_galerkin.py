"""A space solves its projected equations, for every alpha, and loses nothing that it keeps."""

import numpy as np
import pytest

from quadfeat.numerics.galerkin import Projected, Space


def _problem(p=12, t=2):
    rng = np.random.default_rng(0)
    root = rng.normal(size=(p, p))
    return root @ root.T, rng.normal(size=(p, t)), rng


def _space(G, *directions, dtype=np.float64):
    space = Space(len(G), 1)
    for some in directions:
        new = space.outside(some, dtype)
        space.extend(new, (G @ new)[None])
    return space


def _solution(space, B, alpha):
    projected = Projected(space.grams[0], space.overlap, space.vectors.T @ B)
    return space.vectors @ projected.at(alpha), projected.energy(alpha)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_space_of_all_directions_has_the_solution(dtype):
    G, B, rng = _problem()
    space = _space(G, *np.split(rng.normal(size=(12, 12)), 3, axis=1), dtype=dtype)
    for alpha in (1e-3, 1.0, 1e3):
        exact = np.linalg.solve(G + alpha * np.eye(12), B)
        found, energy = _solution(space, B, alpha)
        # Rounded vectors are not quite orthogonal, which their overlap makes up for.
        assert found == pytest.approx(exact, rel=1e-8)
        assert energy == pytest.approx((B * exact).sum(axis=0), rel=1e-8)


def test_the_solution_is_the_best_one_in_the_space():
    G, B, rng = _problem()
    space = _space(G, rng.normal(size=(12, 2)), rng.normal(size=(12, 3)))
    found, energy = _solution(space, B, 0.5)
    residual = B - G @ found - 0.5 * found
    assert np.abs(space.vectors.T @ residual).max() < 1e-12 * np.abs(B).max() * 100
    assert (energy <= (B * np.linalg.solve(G + 0.5 * np.eye(12), B)).sum(axis=0)).all()


def test_directions_that_are_known_are_not_added():
    G, _, rng = _problem()
    directions = rng.normal(size=(12, 3))
    space = _space(G, directions)
    assert space.outside(directions @ rng.normal(size=(3, 2)), np.float64).shape == (12, 0)
    assert space.outside(np.zeros((12, 2)), np.float64).shape == (12, 0)
    twice = rng.normal(size=(12, 1))
    assert space.outside(np.hstack([twice, twice]), np.float64).shape == (12, 1)


def test_a_space_that_keeps_a_solution_still_finds_it():
    G, B, rng = _problem()
    space = _space(G, rng.normal(size=(12, 6)))
    found, _ = _solution(space, B, 0.5)
    space.replace(np.hstack([space.vectors.T @ found, np.eye(6)[:, -1:]]))
    assert space.size == 3
    assert space.images[0] == pytest.approx(G @ space.vectors, abs=1e-10)
    assert _solution(space, B, 0.5)[0] == pytest.approx(found, abs=1e-10)
