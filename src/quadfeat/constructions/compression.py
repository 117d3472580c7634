"""Compression: the columns of an expansion projected on their principal directions on the data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .. import _engine
from .._engine.plans import MercerBasis
from .._rows import BLOCK_ENTRIES
from .._typing import Floats, Matrix
from ..numerics import best_first, principal_frame

_JOINT = 4096  # with more columns eigenvectors take minutes


def compress(basis: MercerBasis, X: Matrix, p: int) -> MercerBasis:
    """Project the columns of a basis to `p`: principal directions of their second-moment matrix.

    The projection has orthonormal columns, so the residual law still holds; on the rows used, no
    other p linear combinations of a single group's pool have a smaller sum of residuals (Eckart and
    Young, 1936). Several groups are first compressed separately to 1.5 p columns in total, by their
    largest second moments, and then jointly, because groups that share axes overlap; with more than
    4096 such columns only separately, to p. A fit costs rows * pool^2 and the eigenvectors of the
    pool, a row pool * p: for p up to about 512 per group.
    """
    if len(basis.expansions) > 1:
        joint = int(1.5 * p) <= _JOINT
        basis = _compress_groups(basis, X, int(1.5 * p) if joint else p)
        if not joint:
            return basis
    moment = _second_moments(X, basis)
    return replace(basis, projection=np.ascontiguousarray(principal_frame.principal(moment, p)[1]))


def _compress_groups(basis: MercerBasis, X: Matrix, p: int) -> MercerBasis:
    """Each group's columns on their principal directions; at least one each if p allows."""
    singles = [MercerBasis((expansion,)) for expansion in basis.expansions]
    spectra = [principal_frame.principal(_second_moments(X, single), p) for single in singles]
    values = np.concatenate([values for values, _ in spectra])
    owner = np.repeat(np.arange(len(spectra)), [len(values) for values, _ in spectra])
    counts = np.bincount(owner[best_first.largest(values, owner, p)], minlength=len(spectra))
    groups = zip(basis.expansions, spectra, counts, strict=True)
    return MercerBasis(
        tuple(
            replace(expansion, projection=np.ascontiguousarray(vectors[:, :count]))
            for expansion, (_, vectors), count in groups
            if count
        )
    )


def _second_moments(X: Matrix, basis: MercerBasis) -> Floats:
    """The mean of z z' over the rows, (columns, columns)."""
    total = np.zeros((basis.n_columns, basis.n_columns))
    rows = max(1, 4 * BLOCK_ENTRIES // basis.n_columns)
    for start in range(0, len(X), rows):
        some = np.asarray(X[start : start + rows], dtype=np.float64)
        Z = np.empty((len(some), basis.n_columns))
        _engine.mercer(some, basis, Z)
        total += Z.T @ Z
    return total / len(X)
