"""When `solver="auto"` does without the gram: by memory, or by operations."""

from types import SimpleNamespace

import pytest

from quadfeat.models import wide
from quadfeat.models.ridge_path import MAX_PATH
from quadfeat.models.wide import WideModel


def gain(n, p, d, alpha, *, n_targets=1):
    model = SimpleNamespace(
        features_=SimpleNamespace(n_columns_=p, n_features_in_=d),
        alpha=alpha,
        _n_outputs=n_targets,
    )
    return WideModel._gain(model, SimpleNamespace(n_rows=n))


@pytest.fixture(autouse=True)
def memory(monkeypatch):
    monkeypatch.setattr(wide, "available_memory", lambda: 2**40)


def test_a_search_of_the_penalty_makes_products_cost_more():
    """p^3 / 3 multiply-adds of one factorisation, and about 2.5 p^3 of a search."""
    for n, several, one in ((4_000, True, True), (20_000, True, False), (60_000, False, False)):
        assert bool(gain(n, 10_000, 1000, "auto")) == several
        assert bool(gain(n, 10_000, 1000, [0.1, 1.0])) == several
        assert bool(gain(n, 10_000, 1000, 0.1)) == bool(gain(n, 10_000, 1000, [0.1])) == one


def test_cheap_features_are_computed_many_times_rather_than_multiplied_once():
    assert "fewer operations" in gain(10**6, 10_000, 10, 0.1)
    assert not gain(10**6, 10_000, 10, 0.1, n_targets=100)
    assert not gain(10**6, MAX_PATH, 10, 0.1)


def test_a_matrix_that_takes_half_of_the_memory_is_not_made(monkeypatch):
    p = 10_000
    monkeypatch.setattr(wide, "available_memory", lambda: 2 * 8 * p**2 - 1)
    assert "10,000 x 10,000 matrix" in gain(10**6, p, 10**4, 0.1)
    monkeypatch.setattr(wide, "available_memory", lambda: 2 * 8 * p**2)
    assert not gain(10**6, p, 10**4, 0.1)
