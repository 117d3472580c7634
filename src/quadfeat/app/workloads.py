"""The workloads that `quadfeat bench` measures, each beside its peers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from sklearn.kernel_approximation import RBFSampler

from .. import _engine
from .._engine import reference, touched
from .._engine.plans import FourierPlan, KroneckerPlan
from .._typing import Array
from ..numerics.blas import on_one_thread

Record = dict[str, Any]
Job = Callable[[], object]


class Target(NamedTuple):
    """The title of a workload, and the required minimum speed of the engine."""

    title: str
    float32: float  # times faster than the peer
    float64: float
    share: float | None  # required share of the machine's limit, in float32


TARGETS = {
    "W1": Target("dense map, 64 axes", 6, 13, 1.0),
    "W2": Target("ANOVA, 50 groups of 5 axes", 8, 20, 0.40),
    "W3 shared": Target("5x5 windows, shared nodes", 6, 15, 0.35),
    "W3 distinct": Target("5x5 windows, distinct nodes", 3.5, 7, 0.20),
    "W4": Target("grids, 80 groups of 3 axes", 12, 20, 0.45),
    "W2 fresh": Target("ANOVA, into new memory", 4, 6, None),
}


@dataclass
class Workload:
    """Jobs that write the same features: the engine, its peer, and careful NumPy or torch."""

    name: str
    X: Array
    columns: int
    jobs: dict[str, Job]
    product: tuple[int, int, int] | None = None  # rows, axes, nodes of the bare product


# ---- workloads ----------------------------------------------------------------------------------


def dense(dtype: Any, threads: int, n: int = 4000, d: int = 64, columns: int = 4096) -> Workload:
    """W1: a dense map, in which every node uses every axis; the peer is RBFSampler."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d)).astype(dtype)
    nodes = rng.normal(size=(columns // 2, d)) / np.sqrt(d)
    plan = FourierPlan.dense(nodes, np.full(columns // 2, np.sqrt(2 / columns)))
    out = touched(n, columns, dtype)
    sampler = RBFSampler(gamma=0.5 / d, n_components=columns, random_state=0).fit(X)
    weights = np.ascontiguousarray(nodes.T.astype(dtype))
    jobs: dict[str, Job] = {
        "engine": lambda: _engine.fourier(X, plan, out, threads),
        "peer": lambda: sampler.transform(X),
        "numpy": lambda: _pairs(X, weights, out, dtype(np.sqrt(2 / columns))),
    }
    _add_torch(jobs, X, weights, out, threads, np.sqrt(2 / columns))
    return Workload("W1", X, columns, jobs, (n, d, columns // 2))


def anova(dtype: Any, threads: int, n: int = 2000) -> Workload:
    """W2: an ANOVA kernel of 50 groups of 5 of 40 axes, 100 nodes each.

    The peer is one product with a matrix that is zero outside the groups, as in RBFSampler.
    """
    X = np.random.default_rng(1).normal(size=(n, 40)).astype(dtype)
    groups, nodes, plan = _anova_plan()
    out = touched(n, plan.n_columns, dtype)
    weights = np.zeros((40, 10_000), dtype)
    for g, (axes, values) in enumerate(zip(groups, nodes, strict=True)):
        weights[axes, 200 * g : 200 * g + 100] = values.T
        weights[axes, 200 * g + 100 : 200 * g + 200] = values.T
    phases = np.tile(np.repeat([0, -np.pi / 2], 100), 50).astype(dtype)
    jobs: dict[str, Job] = {
        "engine": lambda: _engine.fourier(X, plan, out, threads),
        "peer": lambda: _sklearn_style(X, weights, phases, dtype(0.1)),
        "numpy": alone(lambda: reference.fourier(X, plan, out)),
    }
    half = np.ascontiguousarray(weights.reshape(40, 50, 2, 100)[:, :, 0].reshape(40, -1))
    _add_torch(jobs, X, half, out, threads, 0.1)
    return Workload("W2", X, plan.n_columns, jobs)


def _anova_plan() -> tuple[list[Array], list[Array], FourierPlan]:
    """The groups, their nodes, and the plan of both."""
    rng = np.random.default_rng(0)
    groups = [np.sort(rng.choice(40, 5, replace=False)) for _ in range(50)]
    nodes = [rng.normal(size=(100, 5)) for _ in groups]
    return groups, nodes, FourierPlan.from_groups(40, groups, nodes, [np.full(100, 0.1)] * 50)


def windows(dtype: Any, threads: int, shared: bool, n: int = 1000) -> Workload:
    """W3: the 576 windows of 5x5 pixels of 28x28 images, 25 nodes each, shared by all or distinct.

    The peer copies the windows and multiplies them in NumPy.
    """
    rng = np.random.default_rng(0)
    X = rng.uniform(size=(n, 784)).astype(dtype)
    corner = np.arange(24)
    patch = (28 * np.arange(5)[:, None] + np.arange(5)).ravel()
    axes = (28 * corner[:, None] + corner).reshape(-1, 1) + patch  # (576, 25)
    nodes = rng.normal(size=(1 if shared else 576, 25, 25))
    plan = FourierPlan.from_groups(
        784,
        list(axes),
        list(nodes),
        [np.full(25, 0.2)] * len(nodes),
        np.zeros(576, int) if shared else None,
    )
    out = touched(n, plan.n_columns, dtype)
    turned = np.ascontiguousarray(nodes.transpose(0, 2, 1).astype(dtype))

    def im2col() -> Array:
        angles = X[:, axes] @ (turned[0] if shared else turned)
        z = np.empty((n, 576, 2, 25), dtype)
        np.cos(angles, out=z[:, :, 0])
        np.sin(angles, out=z[:, :, 1])
        z *= dtype(0.2)
        return z.reshape(n, -1)

    def batched() -> Array:
        patches = np.ascontiguousarray(X[:, axes].transpose(1, 0, 2))
        angles = patches @ turned
        z = np.empty((n, 576, 2, 25), dtype)
        np.cos(angles.transpose(1, 0, 2), out=z[:, :, 0])
        np.sin(angles.transpose(1, 0, 2), out=z[:, :, 1])
        z *= dtype(0.2)
        return z.reshape(n, -1)

    jobs: dict[str, Job] = {
        "engine": lambda: _engine.fourier(X, plan, out, threads),
        "peer": im2col if shared else alone(batched),
        "numpy": alone(lambda: reference.fourier(X, plan, out)),
    }
    return Workload("W3 shared" if shared else "W3 distinct", X, plan.n_columns, jobs)


def grids(dtype: Any, threads: int, n: int = 2000) -> Workload:
    """W4: full grids of 5 nodes per axis for 80 groups of 3 of 40 axes; the peer is that of W2."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 40)).astype(dtype)
    points, weights = np.polynomial.hermite_e.hermegauss(5)
    half, amplitude = points[3:], np.sqrt(2 * weights[3:] / weights.sum())
    middle = float(np.sqrt(weights[2] / weights.sum()))
    groups = [np.sort(rng.choice(40, 3, replace=False)) for _ in range(80)]
    entries = [(axis, half, amplitude, middle) for axis in range(40)]
    plan = KroneckerPlan.from_groups(40, entries, groups)
    out = touched(n, plan.n_columns, dtype)
    # the same kernel as plain nodes: half of the 124 that are not zero, a cosine and a sine each
    grid = np.stack(np.meshgrid(points, points, points, indexing="ij"), -1).reshape(-1, 3)[:62]
    matrix = np.zeros((40, 80 * 124), dtype)
    for g, axes in enumerate(groups):
        matrix[axes, 124 * g : 124 * g + 62] = grid.T
        matrix[axes, 124 * g + 62 : 124 * g + 124] = grid.T
    phases = np.tile(np.repeat([0, -np.pi / 2], 62), 80).astype(dtype)
    jobs: dict[str, Job] = {
        "engine": lambda: _engine.kronecker(X, plan, out, threads),
        "peer": lambda: _sklearn_style(X, matrix, phases, dtype(0.1)),
        "numpy": alone(lambda: reference.kronecker(X, plan, out)),
    }
    return Workload("W4", X, plan.n_columns, jobs)


def fresh(dtype: Any, threads: int, n: int = 2000) -> Workload:
    """W2 into newly allocated memory."""
    work, plan = anova(dtype, threads, n), _anova_plan()[2]

    def engine() -> Array:
        out = _engine.empty(n, plan.n_columns, dtype)
        _engine.fourier(work.X, plan, out, threads)
        return out

    jobs = {"engine": engine, "peer": work.jobs["peer"]}
    return Workload("W2 fresh", work.X, work.columns, jobs)


def alone(job: Job) -> Job:
    """The job with BLAS on one thread: on two, many small products took up to 7 times as long."""
    return on_one_thread(job)


def _sklearn_style(X: Array, weights: Array, phases: Array, scale: Any) -> Array:
    projection = X @ weights
    projection += phases
    np.cos(projection, projection)
    projection *= scale
    return projection


def _pairs(X: Array, weights: Array, out: Array, scale: Any) -> None:
    """Carefully tuned NumPy: blocks of rows that stay in the cache, no allocations."""
    m, rows = weights.shape[1], 32
    angles = np.empty((rows, m), X.dtype)
    for start in range(0, len(X), rows):
        x = X[start : start + rows]
        z = out[start : start + rows]
        np.dot(x, weights, out=angles[: len(x)])
        np.cos(angles[: len(x)], out=z[:, :m])
        np.sin(angles[: len(x)], out=z[:, m:])
        z *= scale


def _add_torch(
    jobs: dict[str, Job], X: Array, weights: Array, out: Array, threads: int, scale: float
) -> None:
    try:
        import torch
    except ImportError:
        return
    x, w, z = torch.from_numpy(X), torch.from_numpy(weights), torch.from_numpy(out)
    m = weights.shape[1]

    def run() -> None:
        torch.set_num_threads(threads)
        angles = x @ w
        torch.cos(angles, out=z[:, :m])
        torch.sin(angles, out=z[:, m:])
        z.mul_(scale)

    jobs["torch"] = run


WORKLOADS: dict[str, Callable[[Any, int, float], Workload]] = {
    "W1": lambda t, k, part: dense(t, k, n=int(4000 * part)),
    "W2": lambda t, k, part: anova(t, k, n=int(2000 * part)),
    "W3 shared": lambda t, k, part: windows(t, k, True, n=int(1000 * part)),
    "W3 distinct": lambda t, k, part: windows(t, k, False, n=int(1000 * part)),
    "W4": lambda t, k, part: grids(t, k, n=int(2000 * part)),
    "W2 fresh": lambda t, k, part: fresh(t, k, n=int(2000 * part)),
}
