"""Fit on Ray Data: python examples/ray_data.py (needs `pip install "ray[data]"`).

Blocks stay where they are; the driver receives a sample of rows and one sum per block. The same
blocks in one process give the same bits.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import ray

import quadfeat as qf
from quadfeat.data import MappedRows


def ray_rows(dataset: ray.data.Dataset, y: str) -> MappedRows:
    """A dataset of numbers as rows to fit; all columns but `y` are columns of X."""
    names = [name for name in dataset.columns() if name != y]
    blocks = dataset.to_arrow_refs()

    @ray.remote
    def partition(task, number: int, table: pa.Table) -> bytes:
        X = np.column_stack([table[name].to_numpy() for name in names])
        return task(number, X, table[y].to_numpy())

    def run(task):
        return ray.get([partition.remote(task, i, block) for i, block in enumerate(blocks)])

    return MappedRows(run, names)


def main() -> None:
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 3))
    y = np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))
    columns = {**dict(zip("abc", X.T, strict=True)), "y": y}
    tables = [pa.table(columns).slice(start, 5000) for start in range(0, len(X), 5000)]

    ray.init(num_cpus=2, include_dashboard=False)
    features = qf.KernelFeatures(qf.Gaussian(0.3), n_components=128)
    model = qf.KernelRegressor(features).fit(ray_rows(ray.data.from_arrow(tables), "y"))

    parts = [(X[i : i + 5000], y[i : i + 5000]) for i in range(0, len(X), 5000)]
    local = qf.KernelRegressor(features).fit(
        MappedRows(lambda task: [task(i, *part) for i, part in enumerate(parts)])
    )
    assert model.coef_.tobytes() == local.coef_.tobytes()
    print(f"R^2 = {local.score(X, y):.4f}, the same coefficients on Ray and in one process")


if __name__ == "__main__":
    main()
