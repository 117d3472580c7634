"""The features of fitted maps, as formulas in the rows."""

from __future__ import annotations

from collections import defaultdict
from typing import Any

import numpy as np

from .._engine.plans import Expansion, FourierPlan, KroneckerPlan, MercerBasis
from .._typing import Floats, Integers
from ..constructions.landmarks import LandmarkBasis
from ..kernels.base import Kernel
from ..maps.base import FeatureMap
from ..maps.chooser import KernelFeatures
from ..maps.expansions import ExpansionMap
from ..maps.fourier import FourierMap
from .graph import Value, joined
from .hermite import hermite_tables
from .kernels import gram


def features_of(rows: Value, features: FeatureMap, lengths: Floats | None = None) -> Value:
    """The features of rows, (n, n_columns_), in the working precision.

    Parameters
    ----------
    rows : Value (n, d), in any precision
    features : fitted FeatureMap
    lengths : (d,) or None
        Length scales of the kernel, to record as a parameter: rows are multiplied by the ratio of
        these to the parameter, because another length scale is the same as stretching the rows.
    """
    if isinstance(features, KernelFeatures):
        features = features.map_
    x = rows
    if features.origin is not None:  # before rounding
        x = x.to("wide") - features.origin
    x = x.to("working")
    if lengths is not None:
        x = x * (x.graph.constant(lengths) / x.graph.parameter("length_scales", lengths))
    inner, matrix = features.kernel_.coordinates(features.n_features_in_)
    if matrix is not None:
        x = x @ matrix.T
    if isinstance(features, FourierMap):
        plan = features.plan
        return fourier(x, plan) if isinstance(plan, FourierPlan) else kronecker(x, plan)
    if isinstance(features, ExpansionMap):
        basis = features.basis_
        return mercer(x, basis) if isinstance(basis, MercerBasis) else landmarks(x, inner, basis)
    raise TypeError(f"{type(features).__name__} cannot be exported: maps of quadfeat can")


def fourier(x: Value, plan: FourierPlan) -> Value:
    """Cosines and sines; groups of one size are one product of three axes."""
    sets, groups, stop = plan.node_sets(), plan.group_axes(), 0
    alike: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    columns: list[Integers] = []  # of every group
    for g, (axes, chosen) in enumerate(zip(groups, plan.group_nodes, strict=True)):
        size = len(sets[chosen][1])
        alike[len(axes), size].append(g)
        columns.append(np.arange(stop, stop := stop + 2 * size))
    parts, order = [], []
    for (n_axes, size), members in alike.items():
        if size == 0:
            continue
        axes = np.array([groups[g] for g in members]).reshape(len(members), n_axes)
        chosen = plan.group_nodes[members]
        if (chosen == chosen[0]).all():  # one set of nodes for all groups
            nodes, amplitudes = sets[chosen[0]]
            half_turns = x.take(axes) @ (nodes.T / np.pi)
        else:
            nodes = np.stack([sets[i][0].T for i in chosen])
            amplitudes = np.stack([sets[i][1] for i in chosen])
            half_turns = (x.take(axes.T).transpose(2, 0, 1) @ (nodes / np.pi)).transpose(1, 0, 2)
        both = joined(_waves(half_turns, amplitudes), axis=2)
        parts.append(both.reshape(-1, 2 * size * len(members)))
        order.append(np.concatenate([columns[g] for g in members]))
    if plan.constant:
        parts.append(_spread(x, np.array([plan.constant])))
        order.append(np.array([stop]))
    return _ordered(parts, np.concatenate(order))


def kronecker(x: Value, plan: KroneckerPlan) -> Value:
    """Products of the features of single axes: as many factors as the largest group has."""
    counts, middle = np.diff(plan.entry_ptr), plan.entry_middle
    half_turns = x.take(np.repeat(plan.entry_axis, counts)) * (plan.entry_nodes / np.pi)
    waves = _waves(half_turns, plan.entry_amplitudes)
    table = joined([*waves, _spread(x, np.append(middle, 1.0))])
    n, one = len(plan.entry_nodes), 2 * len(plan.entry_nodes) + len(middle)
    places = [
        np.concatenate([np.full(int(middle[t] != 0), 2 * n + t), some, some + n])
        for t, some in enumerate(np.split(np.arange(n), plan.entry_ptr[1:-1]))
    ]
    groups = plan.groups()
    depth, factors, scales, constants = max(map(len, groups)), [], [], []
    for entries, scale in zip(groups, plan.group_scale, strict=True):
        product = np.stack(
            [axis.ravel() for axis in np.meshgrid(*(places[t] for t in entries), indexing="ij")]
        )
        if (middle[entries] != 0).all():  # the first column is constant
            constants.append(scale * middle[entries].prod())
            product = product[:, 1:]
        ones = np.full((depth - len(entries), product.shape[1]), one)
        factors.append(np.concatenate([product, ones]))
        scales.append(np.full(product.shape[1], scale))
    features = _spread(x, np.concatenate(scales))
    for chosen in np.concatenate(factors, axis=1):
        features = features * table.take(chosen)
    if constants:
        features = joined([features, _spread(x, np.sqrt([np.square(constants).sum()]))])
    return features


def mercer(x: Value, basis: MercerBasis) -> Value:
    """The columns of all expansions, projected."""
    pool = joined([_expansion(x, expansion) for expansion in basis.expansions])
    return pool if basis.projection is None else pool @ basis.projection


def _expansion(x: Value, expansion: Expansion) -> Value:
    centred = x.take(expansion.axes) - expansion.mean
    t = centred @ expansion.rotation
    if expansion.mixing is not None:
        straight = expansion.scale / np.sqrt(expansion.length)
        t = centred * straight + t @ expansion.mixing
    tables, place = hermite_tables(t, expansion)
    decay = np.where(np.arange(len(expansion.sizes)) > 0, expansion.envelope, 0.0)
    exponent: Value = (t * t) @ decay[:, None]
    if len(expansion.sizes) < len(expansion.axes):
        scaled = centred * expansion.scale
        rest = (scaled * scaled).total(keep=True) - (t * t) @ expansion.length[:, None]
        exponent = exponent + np.maximum(rest, 0.0)
    base = np.exp(-exponent) * expansion.amplitude
    # A column is one factor of a table times its parent: all columns of one depth at once.
    depth = np.zeros(len(expansion.parent), dtype=np.int64)
    for j, parent in enumerate(expansion.parent):
        depth[j] = 0 if parent < 0 else depth[parent] + 1
    levels: list[Value] = []
    order = np.empty(len(depth), dtype=np.int64)
    for level in range(depth.max() + 1):
        members = np.flatnonzero(depth == level)
        factor = tables.take(place[expansion.direction[members], expansion.degree[members]])
        before = base if level == 0 else levels[-1].take(order[expansion.parent[members]])
        levels.append(factor * before)
        order[members] = np.arange(len(members))
    members = np.argsort(depth, kind="stable")
    columns = _ordered(levels, members)
    return columns if expansion.projection is None else columns @ expansion.projection


def landmarks(x: Value, kernel: Kernel, basis: LandmarkBasis) -> Value:
    """Kernel values with the landmarks, projected; in double precision, as in `transform`."""
    pairs = gram(x.to("wide"), kernel, basis.points)
    features: Value = pairs @ basis.projection
    return features.to("working")


def _waves(half_turns: Value, amplitudes: Floats) -> list[Value]:
    """Cosines and sines, rounded as in the engine: whole turns are dropped exactly."""
    angles: Any = (half_turns - 2.0 * np.floor(0.5 * half_turns + 0.5)) * np.pi
    return [np.cos(angles) * amplitudes, np.sin(angles) * amplitudes]


def _spread(x: Value, row: Floats) -> Value:
    """A row of constants for every row of x."""
    value: Value = (x.take(np.zeros(1, dtype=np.int64)) * 0.0) + row
    return value


def _ordered(parts: list[Value], order: Integers) -> Value:
    """The columns of all parts; column j goes to position order[j]."""
    columns = joined(parts)
    sorted_already = bool((order == np.arange(len(order))).all())
    return columns if sorted_already else columns.take(np.argsort(order))
