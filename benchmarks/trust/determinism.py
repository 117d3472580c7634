"""The same bits for any blocks, threads, process and hash seed, and golden outputs.

Features have the same bits whatever rows come with a row. Fits have the same bits where equal
blocks are summed in the same order. Instruction sets differ in the last bits: each has its own
golden outputs, in tests/golden, which `python -m benchmarks.trust.determinism` wrote.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

import quadfeat as qf
from quadfeat import _engine

from .table import ROOT, Effort, Row

Array = NDArray[Any]
GOLDEN = ROOT / "tests" / "golden" / "features.json"
ISAS = ("avx512", "avx2", "baseline")
EPS = {"float32": 2.0**-23, "float64": 2.0**-52}


def run(effort: Effort) -> Iterator[Row]:
    yield from transforms(effort)
    yield processes(effort)
    yield from golden()
    yield fits(effort)
    yield products(effort)


def maps() -> dict[str, qf.FeatureMap]:
    """Fitted maps of every kind."""
    from tests.conftest import MAPS

    return {name: make().fit(rows(200)) for name, make in MAPS.items()}


def rows(n: int, dtype: Any = np.float64) -> Array:
    """Made of whole numbers alone, so that every machine has the same bits."""
    numbers = (np.arange(3 * n, dtype=np.uint64) * np.uint64(2654435761)) % np.uint64(2**16)
    return (numbers.astype(np.float64).reshape(n, 3) / 2**14 - 2).astype(dtype)


@contextmanager
def environment(**values: str | None) -> Iterator[None]:
    """Variables of the environment, for a while."""
    before = {name: os.environ.get(name) for name in values}
    try:
        for name, value in values.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value
        yield
    finally:
        for name, value in before.items():
            os.environ.pop(name, None)
            if value is not None:
                os.environ[name] = value


def transforms(effort: Effort) -> Iterator[Row]:
    """One answer for a row, whatever comes with it and however it is stored."""
    blocks = Row("features by blocks of any size, single rows, any order: the same bits")
    layouts = Row("features of Fortran order, strides, CSR, read-only: the same bits")
    threads = Row("features by 1, 2, 3 and 16 threads: the same bits")
    projected = Row(
        "blocks of any size where features end in a product: over its rounding", bound=1
    )
    rng = np.random.default_rng(effort.seed)
    for name, features in maps().items():
        for dtype in ("float32", "float64"):
            X = rows(effort.of(150, 3000), dtype)
            case = f"{name}, {dtype}"
            with environment(OMP_NUM_THREADS="1"):
                Z = features.transform(X)
                order = rng.permutation(len(X))
                others = {"any order": features.transform(X[order])[np.argsort(order)]}
                for size in (1, 7, 64, len(X)):
                    parts = [z.copy() for z in features.transform_blocks(X, size)]
                    others[f"blocks of {size}"] = np.concatenate(parts)
                rounding = _rounding(features, dtype)
                for way, other in others.items():
                    if rounding and way != f"blocks of {len(X)}":
                        gap = float(np.abs(other - Z).max())
                        projected.add(gap / rounding, case=f"{case}, {way}")
                    else:
                        blocks.require(np.array_equal(other, Z), f"{case}, {way}")
                wide = np.zeros((len(X), 7), dtype)
                wide[:, ::3] = X
                frozen = X.copy()
                frozen.flags.writeable = False
                for way in (np.asfortranarray(X), wide[:, ::3], frozen, sparse.csr_matrix(X)):
                    layouts.require(np.array_equal(features.transform(way), Z), case)
            for count in ("2", "3", "16"):
                threads.require(np.array_equal(_threaded(features, X, int(count)), Z), case)
    yield from (blocks, projected, layouts, threads)


def _rounding(features: Any, dtype: str) -> float:
    """How far two orders of summation may be apart where features end in a product; else 0.

    BLAS sums products of few rows in another order than those of many. Each of two sums of K
    products of columns, at most 1, with the weights of a projection is off by K eps sum |weights|.
    """
    basis = getattr(getattr(features, "map_", features), "basis_", None)
    projection = getattr(basis, "projection", None)
    if projection is None:
        return 0.0
    eps = EPS["float64" if hasattr(basis, "points") else dtype]
    return float(2 * len(projection) * eps * np.abs(projection).sum(axis=0).max()) + EPS[dtype]


def _threaded(features: qf.FeatureMap, X: Array, count: int) -> Array:
    """Features by so many threads, also where there are fewer processors."""
    from quadfeat._engine import dispatch

    original = dispatch.thread_count
    dispatch.thread_count = lambda: count
    try:
        return features.transform(X)
    finally:
        dispatch.thread_count = original


_DIGESTS = (
    "import json; from benchmarks.trust import determinism as d; "
    "print(json.dumps(d.digests(d.maps())))"
)


def digests(fitted: dict[str, qf.FeatureMap]) -> dict[str, str]:
    """A digest of the features of every map."""
    return {
        name: hashlib.sha256(features.transform(rows(100)).tobytes()).hexdigest()[:16]
        for name, features in fitted.items()
    }


def processes(effort: Effort) -> Row:
    """Fits and features of other processes, with other hash seeds."""
    row = Row("maps fitted in another process with another hash seed: the same bits")
    told = digests(maps())
    for seed in range(1, 1 + effort.of(1, 5)):
        with environment(PYTHONHASHSEED=str(seed), PYTHONPATH=str(ROOT)):
            out = subprocess.check_output([sys.executable, "-c", _DIGESTS], text=True)
        for name, digest in json.loads(out).items():
            row.require(digest == told[name], f"{name}, hash seed {seed}")
    return row


# --- golden outputs -------------------------------------------------------------------------------
def golden_plans() -> dict[str, tuple[Any, Any]]:
    """A function of the engine and its plan, of numbers that every machine has: name -> both."""
    nodes, scale = rows(24)[:, :2] + 0.25, np.linspace(0.25, 1.0, 24)
    fourier = _engine.FourierPlan.dense(nodes, scale, 0.5)
    entries = [(t, np.array([0.5, 1.25]), np.array([0.5, 0.25]), 0.5) for t in range(2)]
    grid = _engine.KroneckerPlan.from_groups(2, entries, [[0, 1]], np.array([1.0]))
    return {"fourier": (_engine.fourier, fourier), "kronecker": (_engine.kronecker, grid)}


def golden_digests(isa: str) -> dict[str, str]:
    """Digests of the bits that an instruction set gives."""
    found = {}
    with environment(QUADFEAT_ISA=isa):
        for name, (evaluate, plan) in golden_plans().items():
            for dtype in ("float32", "float64"):
                X = np.ascontiguousarray(rows(67, dtype)[:, :2])
                out = np.empty((len(X), plan.n_columns), dtype)
                evaluate(X, plan, out)
                found[f"{name} {dtype}"] = hashlib.sha256(out.tobytes()).hexdigest()[:16]
    return found


def golden() -> Iterator[Row]:
    """The bits of earlier versions and machines, for each instruction set that this one has."""
    told = json.loads(GOLDEN.read_text())
    have = _engine.engine_info()["isas"]
    for isa in ISAS:
        if isa not in have:
            continue  # the table of another machine has it
        row = Row(f"golden outputs of the engine, {isa}: the same bits")
        for name, digest in golden_digests(isa).items():
            row.require(digest == told[isa][name], name)
        yield row
    row = Row("instruction sets against NumPy, in units of rounding", bound=20.0, unit="eps")
    for isa in have:
        for name, (evaluate, plan) in golden_plans().items():
            for dtype, eps in EPS.items():
                X = np.ascontiguousarray(rows(67, dtype)[:, :2])
                found = [np.empty((len(X), plan.n_columns), dtype) for _ in range(2)]
                for which, out in zip((isa, "numpy"), found, strict=True):
                    with environment(QUADFEAT_ISA=which):
                        evaluate(X, plan, out)
                gap = float(np.abs(found[0] - found[1]).max())
                row.add(gap / eps, case=f"{isa}, {name}, {dtype}")
    yield row


# --- fits -----------------------------------------------------------------------------------------
def fits(effort: Effort) -> Row:
    """Streams of equal blocks, files and processes give one model; other blocks nearly so."""
    from sklearn.base import clone

    row = Row("fits from arrays, streams and files of equal blocks: the same bits")
    X = rows(effort.of(20_000, 100_000))
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    np.savez(effort.folder / "rows.npz", X=X, y=y)
    features = qf.RandomFourier(qf.Gaussian(0.5), n_components=32, random_state=0)
    labels = (y > 0).astype(int)
    for model, target in (
        (qf.KernelRegressor(features, verbose=False), y),
        (qf.KernelClassifier(features, loss="logistic", alpha=1.0, verbose=False), labels),
    ):
        whole = clone(model).fit(X, target)
        kind = type(model).__name__
        again = clone(model).fit(X, target)
        row.require(np.array_equal(again.coef_, whole.coef_), f"{kind}, twice")
        for size in (8192, 1000):
            stream = clone(model).fit(
                lambda size=size, target=target: (
                    (X[i : i + size], target[i : i + size]) for i in range(0, len(X), size)
                )
            )
            row.require(np.array_equal(stream.coef_, whole.coef_), f"{kind}, blocks of {size}")
    file = clone(qf.KernelRegressor(features, verbose=False)).fit(effort.folder / "rows.npz")
    whole = qf.KernelRegressor(features, verbose=False).fit(X, y)
    row.require(np.array_equal(file.coef_, whole.coef_), "a file")
    return row


_PREDICTIONS = (
    "import json; from benchmarks.trust import determinism as d; "
    "print(json.dumps(d.predictions({n})))"
)
ALPHA = 1.0


def predictions(n: int) -> dict[str, Any]:
    """Predictions of a ridge fit to n rows, and what bounds their rounding."""
    X = rows(n)
    y = np.sin(X[:, 0]) + X[:, 1] * X[:, 2]
    features = qf.RandomFourier(qf.Gaussian(0.5), n_components=64, random_state=0)
    model = qf.KernelRegressor(features, alpha=ALPHA, verbose=False).fit(X, y)
    size = float(np.linalg.norm(model.coef_))
    return {"values": model.predict(X[:500]).tolist(), "size": size, "y": float(np.abs(y).max())}


def products(effort: Effort) -> Row:
    """Other threads and routines of BLAS: as far apart as sums in another order may be.

    A = Z'Z + alpha I and b = Z'y are sums of n products, and |z| = 1: they are off by n eps n and
    n eps n max|y| at most, a Cholesky solution with p columns as if A were off by 4 p^2 eps |A|,
    and |inverse of A| <= 1 / alpha. Two fits differ by twice that.
    """
    n, p, eps = effort.of(2_000, 50_000), 64, EPS["float64"]
    row = Row("fits by other threads and routines of BLAS: difference over its rounding", bound=1)
    ways: list[dict[str, str]] = [{"OPENBLAS_NUM_THREADS": "1"}]
    ways += [{"OPENBLAS_NUM_THREADS": "4"}] + [
        {"OPENBLAS_CORETYPE": kind}
        for kind in effort.of(("Prescott",), ("Prescott", "Haswell", "SkylakeX"))
    ]
    found = []
    for way in ways:
        with environment(**way, PYTHONPATH=str(ROOT)):
            command = [sys.executable, "-c", _PREDICTIONS.format(n=n)]
            found.append(json.loads(subprocess.check_output(command, text=True)))
    first = found[0]
    wrong_sums = n * eps * n * (first["y"] + first["size"])
    wrong_solution = 4 * p**2 * eps * (n + ALPHA) * first["size"]
    bound = 2 * (wrong_sums + wrong_solution) / ALPHA
    for way, other in zip(ways[1:], found[1:], strict=True):
        gap = float(np.abs(np.subtract(other["values"], first["values"])).max())
        row.add(gap / bound, case=way)
    return row


def main() -> None:
    """Write the golden outputs of all instruction sets of this machine, and keep the others."""
    told = json.loads(GOLDEN.read_text()) if GOLDEN.exists() else {}
    told |= {isa: golden_digests(isa) for isa in _engine.engine_info()["isas"]}
    GOLDEN.parent.mkdir(exist_ok=True)
    GOLDEN.write_text(json.dumps(told, indent=1) + "\n")


if __name__ == "__main__":
    main()
