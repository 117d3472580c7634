"""Data in blocks: one partition, whatever holds the rows, and errors that name the place."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from quadfeat.data import source

N, D = 1003, 5


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D)).round(6)
    return X, rng.integers(3, size=N)


def _frame(X, y):
    return (
        pd.DataFrame({f"x{j}": X[:, j] for j in range(D)})
        if y is None
        else pd.DataFrame({**{f"x{j}": X[:, j] for j in range(D)}, "label": y})
    )


def _csv(folder, X, y):
    _frame(X, y).to_csv(folder / "t.csv", index=False)
    return folder / "t.csv", "label"


def _tsv(folder, X, y):
    _frame(X, y).to_csv(folder / "t.tsv", index=False, sep="\t")
    return str(folder / "t.tsv"), "label"


def _parquet(folder, X, y):
    pq.write_table(pa.Table.from_pandas(_frame(X, y)), folder / "t.parquet", row_group_size=77)
    return folder / "t.parquet", "label"


def _npz(folder, X, y):
    np.savez_compressed(folder / "t.npz", X=X, y=y)
    return folder / "t.npz", None


def _npz_fortran(folder, X, y):
    np.savez(folder / "f.npz", X=np.asfortranarray(X), target=y)
    return folder / "f.npz", "target"


def _npy(folder, X, y):
    np.save(folder / "t.npy", X)
    return folder / "t.npy", y


def _svmlight(folder, X, y):
    dump_svmlight_file(X, y, str(folder / "t.svm"), zero_based=False)
    return folder / "t.svm", None


def _memory_map(folder, X, y):
    np.save(folder / "m.npy", X)
    return np.load(folder / "m.npy", mmap_mode="r"), y


CONTAINERS = {
    "array": lambda folder, X, y: (X, y),
    "fortran": lambda folder, X, y: (np.asfortranarray(X), y),
    "lists": lambda folder, X, y: (X.tolist(), y.tolist()),
    "memory-map": _memory_map,
    "csr": lambda folder, X, y: (sparse.csr_array(X), y),
    "coo": lambda folder, X, y: (sparse.coo_matrix(X), y),
    "pandas": lambda folder, X, y: (_frame(X, None), pd.Series(y)),
    "polars": lambda folder, X, y: (pl.from_pandas(_frame(X, None)), pl.Series(y)),
    "list-of-blocks": lambda folder, X, y: (
        [(X[i : i + 37], y[i : i + 37]) for i in range(0, N, 37)],
        None,
    ),
    "function": lambda folder, X, y: (
        lambda: ((X[i : i + 400], y[i : i + 400]) for i in range(0, N, 400)),
        None,
    ),
    "csv": _csv,
    "tsv": _tsv,
    "parquet": _parquet,
    "npz": _npz,
    "npz-fortran": _npz_fortran,
    "npy": _npy,
    "svmlight": _svmlight,
}


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


@pytest.mark.parametrize("name", CONTAINERS)
def test_every_container_gives_the_same_blocks_from_any_block_on(name, table, tmp_path):
    X, y = table
    stream = source(*CONTAINERS[name](tmp_path, X, y), rows=100)
    for start in (0, 3, 10):
        blocks = list(stream.blocks(start))
        assert [len(block) for block in blocks] == [100] * (10 - start) + [3]
        np.testing.assert_array_equal(
            np.concatenate([_dense(b.X) for b in blocks]), X[100 * start :]
        )
        np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y[100 * start :])
        assert all(block.X.dtype == np.float64 for block in blocks)
    assert stream.n_rows in (None, N)
    assert list(stream.blocks(11)) == []


@pytest.mark.parametrize("name", CONTAINERS)
def test_a_fingerprint_is_stable_and_tells_other_data(name, table, tmp_path):
    X, y = table
    given = CONTAINERS[name](tmp_path, X, y)
    first = source(*given).fingerprint
    assert first == source(*given).fingerprint != source(*given, rows=100).fingerprint
    assert first != source(*CONTAINERS[name](tmp_path, X + 1, y)).fingerprint
