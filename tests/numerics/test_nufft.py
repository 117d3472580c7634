"""Transforms equal the sums they compute, to twelve digits."""

import numpy as np
import pytest

from quadfeat.numerics import nufft


def _modes(shape):
    axes = [np.arange(n) - n // 2 for n in shape]
    return np.stack([grid.ravel() for grid in np.meshgrid(*axes, indexing="ij")], axis=1)


@pytest.fixture
def rows():
    rng = np.random.default_rng(0)

    def draw(n, d):
        return rng.uniform(-4, 4, (n, d)), rng.normal(size=(2, n)) + 1j * rng.normal(size=(2, n))

    return draw


@pytest.mark.parametrize("shape", [(7,), (8,), (5, 6), (3, 4, 5)])
def test_modes_of_points_are_the_direct_sums(shape, rows):
    points, strengths = rows(300, len(shape))
    exact = strengths @ np.exp(1j * points @ _modes(shape).T)
    found = nufft.modes_of_points(points, strengths, shape).reshape(2, -1)
    # The accuracy is relative to sqrt(sum |c|^2 n_modes); a digit for its constant.
    size = np.linalg.norm(strengths) * np.sqrt(exact.shape[1])
    assert np.abs(found - exact).max() <= 1e-11 * size


@pytest.mark.parametrize("shape", [(7,), (8,), (5, 6), (3, 4, 5)])
def test_values_at_points_are_the_direct_sums(shape, rows):
    points, _ = rows(300, len(shape))
    modes = rows(np.prod(shape), 1)[1]
    exact = modes @ np.exp(-1j * _modes(shape) @ points.T)
    found = nufft.values_at_points(points, modes.reshape(2, *shape))
    assert np.abs(found - exact).max() <= 1e-11 * np.abs(modes).sum()


def test_many_rows_are_cut_into_chunks_whose_sums_are_the_whole(monkeypatch, rows):
    points, strengths = rows(1000, 2)
    whole = nufft.modes_of_points(points, strengths, (5, 7))
    monkeypatch.setattr(nufft, "_CHUNK", 128)
    parts = nufft.modes_of_points(points, strengths, (3, 5))
    size = np.linalg.norm(strengths) * np.sqrt(whole[0].size)
    assert np.abs(parts - whole[:, 1:4, 1:6]).max() <= 1e-11 * size
    values = nufft.values_at_points(points, whole)
    monkeypatch.undo()
    assert np.abs(values - nufft.values_at_points(points, whole)).max() <= 1e-11 * size**2
