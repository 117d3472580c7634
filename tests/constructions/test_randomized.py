"""Rules drawn at random: right on average, with the moments of their spectrum."""

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.constructions import randomized


@pytest.mark.parametrize("gamma", [0.5, np.array([0.2, 0.9])], ids=["one", "per-axis"])
@pytest.mark.parametrize("draw", [randomized.random, randomized.orthogonal])
def test_draws_are_right_on_average(draw, gamma, rng):
    kernel, gaps = qf.Gaussian(gamma), np.array([[1.0, 1.0], [1.0, -1.0], [0.5, 2.0], [2.0, 0.0]])
    found = np.array([draw(kernel, 2, 2, rng)(gaps) for _ in range(4000)])
    error = np.abs(found.mean(axis=0) - kernel.at(gaps))
    assert np.all(error < 5 * found.std(axis=0) / np.sqrt(len(found)))


@pytest.mark.parametrize("n", [4, 8, 9, 11])
def test_spherical_radial_rules_have_second_moments_wherever_their_zero_node_has_a_weight(n, rng):
    seen = 0
    for _ in range(50):
        rule = randomized.spherical_radial(qf.Gaussian(0.5), n, 3, rng)
        assert rule.weights.sum() == pytest.approx(1.0, rel=1e-14)
        if len(rule) == n:  # no zero node: the others were scaled to mass one
            continue
        seen += 1
        moments = (rule.nodes * rule.weights[:, None]).T @ rule.nodes
        assert np.trace(moments) == pytest.approx(3.0, rel=1e-12)
        if n % 4 == 0:  # whole simplices
            np.testing.assert_allclose(moments, np.eye(3), atol=1e-12)
    assert seen > 5


@pytest.mark.parametrize("n, d", [(3, 5), (5, 5), (13, 5), (1, 1)])
def test_directions_are_orthogonal_in_blocks_however_many_are_asked_for(n, d, rng):
    nodes = randomized.orthogonal(qf.Gaussian(0.5), n, d, rng).nodes
    directions = nodes / np.linalg.norm(nodes, axis=1, keepdims=True)
    assert nodes.shape == (n, d)
    for first in range(0, n, d):
        block = directions[first : first + d]
        np.testing.assert_allclose(block @ block.T, np.eye(len(block)), atol=1e-13)


@pytest.mark.parametrize("d", [1, 2, 5, 40])
def test_the_vertices_of_a_simplex_are_of_unit_length_and_equally_far_apart(d):
    vertices = randomized._simplex(d)
    np.testing.assert_allclose(
        vertices @ vertices.T, (1 + 1 / d) * np.eye(d + 1) - 1 / d, atol=1e-13
    )


def test_the_corners_of_the_cube_have_finite_frequencies():
    for kernel in (qf.Gaussian(0.5), qf.Laplacian(0.5), qf.Matern(1.5, 0.5)):
        corners = np.array([[0.0] * kernel.cube(2), [1.0] * kernel.cube(2)])
        assert np.isfinite(randomized._pushed(kernel, corners).nodes).all()
