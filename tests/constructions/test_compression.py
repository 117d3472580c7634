"""Laws of compressed expansions: a projection that no truncation beats."""

from __future__ import annotations

import numpy as np
import pytest

import quadfeat as qf
from quadfeat.constructions import compression
from quadfeat.constructions.mercer import hermite_mercer
from quadfeat.kernels.stationary import Gaussian
from quadfeat.kernels.subsets import Anova

from .expansion_laws import (
    DATA,
    EPS,
    features,
    violations,
)


def test_directions_of_a_compression_have_a_sign_of_their_own():
    pool = hermite_mercer(Gaussian(0.05), DATA["wine"], 60)
    projection = compression.compress(pool, DATA["wine"], 15).projection
    assert (projection.max(axis=0) == np.abs(projection).max(axis=0)).all()


@pytest.mark.parametrize("name", ["cancer", "digits", "heavy"])
def test_compression_is_a_projection_no_truncation_beats(name):
    X, p = DATA[name], 20
    kernel = Gaussian("median").resolve(X)
    pool = hermite_mercer(kernel, X, 4 * p)
    compressed = compression.compress(pool, X, p)
    P = compressed.projection
    assert np.abs(P.T @ P - np.eye(p)).max() < 100 * EPS
    Z, wide = features(X, compressed), features(X, pool)
    assert violations(kernel, X, Z) == 0
    best = np.sort((wide**2).sum(axis=0))[::-1][:p].sum()
    assert (Z**2).sum() >= best * (1 - 100 * EPS)


def test_compression_shares_columns_among_groups():
    X = DATA["cancer"]
    kernel = Anova(Gaussian(0.1), [[0, 1, 2], [3, 4], [5, 6, 7, 8]])
    pool = hermite_mercer(kernel, X, 120)
    compressed = compression.compress(pool, X, 30)
    assert compressed.n_columns == 30
    assert len(compressed.expansions) == 3
    Z = features(X, compressed)
    assert violations(kernel, X, Z) == 0
    plain = features(X, hermite_mercer(kernel, X, 30))
    assert (Z**2).sum() > (plain**2).sum()


def test_many_columns_are_compressed_one_group_at_a_time(rng, monkeypatch):
    """Joint directions are at least as good as those of single groups, and both are principal."""
    X = rng.normal(size=(200, 3))
    kernel = Anova(Gaussian(0.3), [[0, 1], [1, 2]])
    pool = qf.HermiteMercer(kernel, n_components=60).fit(X).basis_
    joint = compression.compress(pool, X, 16)
    assert joint.n_columns == 16
    monkeypatch.setattr(compression, "_JOINT", 20)
    apart = compression.compress(pool, X, 16)
    assert apart.n_columns == 16 and apart.projection is None
    assert all(each.projection is not None for each in apart.expansions)

    whole = compression._second_moments(X, pool)
    least = np.linalg.eigvalsh(whole)[-16:].sum()  # of any 16 directions
    kept = np.trace(compression._second_moments(X, apart))
    assert 0.5 * least < kept <= least * (1 + 1e-12)
