"""Cosine transforms: one answer whatever was asked before, and by whom."""

import sys
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import numpy as np
import pytest

from quadfeat.numerics.cosine_transform import CosineTransform, _interpolant

REACHES = [0.5, 1.0, 3.0, 6.0, 11.0, 20.0]
N_THREADS = len(REACHES)


def density(t):
    """Its transform is exp(-at^2 / 2) cos(3 at), which waves up to at = 6."""
    return sum(np.exp(-((t - s) ** 2) / 2) for s in (-3.0, 3.0)) / np.sqrt(8 * np.pi)


def exact(at):
    return np.exp(-(at**2) / 2) * np.cos(3 * at)


@pytest.mark.parametrize("size", [50, 1000])
def test_values_do_not_depend_on_the_order_of_requests(size):
    up, down = CosineTransform(density), CosineTransform(density)
    requests = [np.linspace(0.0, reach, size) for reach in REACHES]
    for transform, order in ((up, requests), (down, requests[::-1])):
        for at in order:
            np.testing.assert_allclose(transform(at), exact(at), atol=1e-12)


@pytest.mark.parametrize("size", [50, 1000])
def test_threads_that_share_a_transform_get_its_values(size):
    requests = [np.linspace(0.0, reach, size) for reach in REACHES]

    def work(transform, at, barrier):
        barrier.wait()
        return np.abs(transform(at) - exact(at)).max()

    switched = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(N_THREADS) as pool:
            for _ in range(10):
                shared, barrier = CosineTransform(density), Barrier(N_THREADS)
                found = [pool.submit(work, shared, at, barrier) for at in requests]
                assert max(each.result() for each in found) <= 1e-12
    finally:
        sys.setswitchinterval(switched)


def test_a_function_that_no_series_resembles_is_itself():
    def edge(x):
        return np.where(np.asarray(x) < 0.5, 1.0, 0.0)

    assert _interpolant(edge, 1.0) is edge
    series = _interpolant(np.cos, 1.0)
    x = np.linspace(0, 1, 50)
    np.testing.assert_allclose(series(x), np.cos(x), rtol=0, atol=1e-13)
