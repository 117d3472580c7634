"""Every container gives the same blocks, and errors name file, column and row."""

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from quadfeat.data.sources import source

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


def test_weights_and_text_labels_travel_with_their_rows(table, tmp_path):
    X, y = table
    frame = _frame(X, np.array(["low", "mid", "größer"])[y]).assign(w=np.arange(N) + 1.0)
    frame.to_csv(tmp_path / "t.csv", index=False)
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    frame["label"] = frame["label"].astype("category")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "c.parquet")
    for name in ("t.csv", "t.parquet", "c.parquet"):
        stream = source(tmp_path / name, "label", "w", rows=64)
        assert stream.columns == ("x0", "x1", "x2", "x3", "x4")
        blocks = list(stream.blocks())
        assert [str(v) for b in blocks for v in b.y] == frame["label"].tolist()
        assert [v for b in blocks for v in b.weight] == frame["w"].tolist()
        assert all(b.X.shape[1] == D for b in blocks)


def test_columns_choose_and_order_x(table, tmp_path):
    X, y = table
    for given in (_csv(tmp_path, X, y)[0], _parquet(tmp_path, X, y)[0], _frame(X, y)):
        stream = source(given, columns=["x3", "x0"])
        np.testing.assert_array_equal(next(stream.blocks()).X, X[:, [3, 0]])


def test_several_targets_make_columns_of_y(table, tmp_path):
    X, y = table
    path, _ = _parquet(tmp_path, X, y)
    block = next(source(path, ["x1", "x2"]).blocks())
    np.testing.assert_array_equal(block.y, X[:, [1, 2]])
    np.testing.assert_array_equal(block.X, np.column_stack([X[:, [0, 3, 4]], y]))


def test_float32_stays_and_one_wider_column_decides(tmp_path):
    narrow = {"a": np.float32([1, 2]), "b": np.float32([3, 4])}
    for extra, expected in (
        ({}, np.float32),
        ({"c": np.float16([1, 2])}, np.float32),
        ({"c": np.float64([1, 2])}, np.float64),
        ({"c": np.int8([1, 2])}, np.float64),
        ({"c": np.array([True, False])}, np.float64),
    ):
        columns = {**narrow, **extra}
        pq.write_table(pa.table(columns), tmp_path / "t.parquet")
        for given in (tmp_path / "t.parquet", pd.DataFrame(columns), pl.DataFrame(columns)):
            assert next(source(given).blocks()).X.dtype == expected
    for dtype in (np.float32, np.float16):
        assert next(source(np.ones((3, 2), dtype)).blocks()).X.dtype == np.float32
    for dtype in (np.uint8, np.int64, bool, np.float64):
        assert next(source(np.ones((3, 2), dtype)).blocks()).X.dtype == np.float64


def test_a_first_line_of_numbers_is_data(tmp_path):
    (tmp_path / "t.csv").write_text("1,2,0\n3,4,1\n5,6,0\n")
    blocks = list(source(tmp_path / "t.csv", "f2", rows=2).blocks())
    np.testing.assert_array_equal(np.concatenate([b.X for b in blocks]), [[1, 2], [3, 4], [5, 6]])
    np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), [0, 1, 0])
    (again,) = source(tmp_path / "t.csv", "f2", rows=2).blocks(1)
    np.testing.assert_array_equal(again.X, [[5, 6]])


def test_an_iterator_can_be_read_once_and_says_so(table):
    X, y = table
    stream = source((X[i : i + 10], y[i : i + 10]) for i in range(0, N, 10))
    assert sum(len(block) for block in stream.blocks()) == N
    assert stream.fingerprint == source([(X, y)]).fingerprint
    with pytest.raises(ValueError, match="function that returns a new iterator"):
        next(stream.blocks())


def test_svmlight_counts_from_zero_or_one_and_takes_a_width(tmp_path):
    path = tmp_path / "t.svmlight"
    path.write_text("# a comment\n1 2:5 4:1\n\n-1 1:2 # another\n")
    stream = source(path)
    (block,) = stream.blocks()
    np.testing.assert_array_equal(block.X.toarray(), [[0, 5, 0, 1], [2, 0, 0, 0]])
    np.testing.assert_array_equal(block.y, [1, -1])
    assert stream.n_rows == 2
    (wide,) = source(path, columns=7, first_index=1).blocks()
    assert wide.X.shape == (2, 7)
    path.write_text("1 0:5 3:1\n")
    np.testing.assert_array_equal(next(source(path).blocks()).X.toarray(), [[5, 0, 0, 1]])
    with pytest.raises(ValueError, match="4 columns, more than the 2"):
        source(path, columns=2)


def test_svmlight_in_many_chunks_is_the_same(table, tmp_path, monkeypatch):
    X, y = table
    path, _ = _svmlight(tmp_path, X, y)
    monkeypatch.setattr("quadfeat.data.wanted.CHUNK", 1000)
    stream = source(path, rows=100)
    for start in (0, 7):
        rows = np.concatenate([block.X.toarray() for block in stream.blocks(start)])
        np.testing.assert_array_equal(rows, X[100 * start :])


def test_a_real_file_is_read_in_blocks(data_folder):
    with np.load(data_folder / "letter.npz") as whole:
        X, y = whole["X"], whole["y"]
    blocks = list(source(data_folder / "letter.npz", rows=3000).blocks())
    np.testing.assert_array_equal(np.concatenate([block.X for block in blocks]), X)
    np.testing.assert_array_equal(np.concatenate([block.y for block in blocks]), y)


# --- errors ---------------------------------------------------------------------------------------
def _consume(*args, **kwargs):
    for _ in source(*args, **kwargs).blocks():
        pass


def test_a_file_that_is_missing_unknown_or_has_no_such_column_is_refused(table, tmp_path):
    with pytest.raises(FileNotFoundError, match=r"nowhere\.csv"):
        source(tmp_path / "nowhere.csv")
    (tmp_path / "t.xlsx").write_text("")
    with pytest.raises(ValueError, match=r"'\.xlsx'.*\.parquet"):
        source(tmp_path / "t.xlsx")
    for write in (_csv, _parquet):
        with pytest.raises(ValueError, match=r"no column 'price'.*'x0', 'x1'.*'label'"):
            source(write(tmp_path, *table)[0], "price")
    with pytest.raises(ValueError, match=r"no array 'price'.*'X', 'y'"):
        source(_npz(tmp_path, *table)[0], "price")


def test_a_number_that_turns_to_text_is_named_by_column_row_and_value(tmp_path):
    path = tmp_path / "t.csv"
    lines = [f"{i},{i / 2}" for i in range(300_000)]
    lines[250_000] = "7,oops"
    path.write_text("a,b\n" + "\n".join(lines))
    for given in ({}, {"y": "b"}):
        with pytest.raises(ValueError, match=r"t\.csv.*'b'.*line 250002.*oops"):
            _consume(path, **given)


def test_text_among_features_is_named(table, tmp_path):
    X, y = table
    frame = _frame(X, y).assign(city="Bern")
    pq.write_table(pa.Table.from_pandas(frame), tmp_path / "t.parquet")
    frame.to_csv(tmp_path / "t.csv", index=False)
    for given in (tmp_path / "t.parquet", tmp_path / "t.csv", frame, pl.from_pandas(frame)):
        with pytest.raises(ValueError, match="'city'"):
            _consume(given)


@pytest.mark.parametrize("share", [0.001, 0.3, 0.9, 0.999])
@pytest.mark.parametrize("write", [_parquet, _npy, _npz], ids=["parquet", "npy", "npz"])
def test_a_truncated_file_is_refused_by_name(write, share, table, tmp_path):
    path, y = write(tmp_path, *table)
    whole = path.read_bytes()
    path.write_bytes(whole[: int(share * len(whole))])
    with pytest.raises(ValueError, match=path.name):
        _consume(path, y)


def test_a_damaged_page_of_parquet_is_refused_by_name(table, tmp_path):
    path, y = _parquet(tmp_path, *table)
    whole = bytearray(path.read_bytes())
    whole[200:4000] = bytes(3800)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=path.name):
        _consume(path, y)


def test_an_archive_of_an_unknown_kind_or_that_is_gone_is_told_apart(table, tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=table[0])
    whole = path.read_bytes()
    unknown = bytearray(whole)
    unknown[whole.index(b"PK\x01\x02") + 6] = 122  # the version of zip that it needs: 12.2
    path.write_bytes(unknown)
    with pytest.raises(ValueError, match=r"t\.npz cannot be read: zip file version.*copy it"):
        source(path)
    path.write_bytes(whole)
    opened = source(path)
    path.unlink()
    with pytest.raises(FileNotFoundError, match=r"t\.npz"):
        list(opened.blocks())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("part", [0.1, 0.5, 0.9])
def test_a_damaged_array_of_an_archive_is_refused_by_name(table, tmp_path, part, order, save):
    path, y = tmp_path / "t.npz", table[1]
    whole_numbers = (1e6 * table[0]).astype(np.int64)  # whatever is read of them is finite
    save(path, X=np.asarray(whole_numbers, order=order))
    whole = bytearray(path.read_bytes())
    start = int(part * len(whole))
    whole[start : start + 40] = bytes(40)
    path.write_bytes(whole)
    with pytest.raises(ValueError, match=r"'X' of .*t\.npz cannot be read: .*; copy it again"):
        _consume(path, y, rows=100)


@pytest.mark.parametrize("name", sorted(CONTAINERS.keys() - {"svmlight"}))
def test_a_value_that_is_not_finite_is_found(name, table, tmp_path):
    X, y = table
    X = X.copy()
    X[517, 3] = np.nan
    with pytest.raises(ValueError, match=r"row 517.*column ('x3'|3)"):
        _consume(*CONTAINERS[name](tmp_path, X, y), rows=100)
    (tmp_path / "n.svm").write_text("1 1:2\n1 1:nan\n")
    with pytest.raises(ValueError, match="row 1, column 0"):
        _consume(tmp_path / "n.svm")


def test_a_missing_target_is_found(table, tmp_path):
    X, y = table
    for values in (
        np.where(np.arange(N) == 17, np.nan, y),
        np.where(np.arange(N) == 17, None, "a"),
    ):
        pq.write_table(pa.Table.from_pandas(_frame(X, values)), tmp_path / "t.parquet")
        with pytest.raises(ValueError, match=r"target.*missing"):
            _consume(tmp_path / "t.parquet", "label")
    with pytest.raises(ValueError, match="target in row 17"):
        _consume(X, np.where(np.arange(N) == 17, np.nan, y), rows=10)


def test_python_objects_in_files_are_refused(tmp_path):
    class Surprise:
        def __reduce__(self):
            return (sys.exit, (1,))

    np.save(tmp_path / "t.npy", np.array([Surprise()], dtype=object))
    np.savez(tmp_path / "t.npz", X=np.array([[Surprise()]], dtype=object))
    for name in ("t.npy", "t.npz"):
        with pytest.raises(ValueError, match=name):
            _consume(tmp_path / name)


def test_blocks_of_changing_width_or_wrong_form_are_refused(table):
    X, y = table
    with pytest.raises(ValueError, match="4 columns from row 10 on, expected 5"):
        _consume([(X[:10], y[:10]), (X[10:20, :4], y[10:20])])
    with pytest.raises(ValueError, match="expected 3"):
        _consume(X, columns=3)
    with pytest.raises(ValueError, match="tuple of 4"):
        _consume([(X, y, y, y)])
    with pytest.raises(ValueError, match="shape"):
        _consume([(X, y[:-1])])
    with pytest.raises(ValueError, match="two dimensions"):
        _consume(X[:, 0], y)
    with pytest.raises(ValueError, match="1003 rows"):
        _consume(X, y[:-1])
    with pytest.raises(ValueError, match="belong into its blocks"):
        _consume([(X, y)], y)
    with pytest.raises(TypeError, match="only a file has"):
        _consume(X, "label")
    with pytest.raises(ValueError, match="rows must be at least 1"):
        source(X, rows=0)


# --- what people have -----------------------------------------------------------------------------
def test_blocks_may_reuse_their_buffers(table):
    X, y = table

    def refilled():
        rows, labels = np.empty((50, D)), np.empty(50)
        for start in range(0, 1000, 50):
            rows[:], labels[:] = X[start : start + 50], y[start : start + 50]
            yield rows, labels

    for stream in (source(refilled, rows=300), source(refilled(), rows=300)):
        blocks = list(stream.blocks())
        assert np.array_equal(np.concatenate([b.X for b in blocks]), X[:1000])
        assert np.array_equal(np.concatenate([b.y for b in blocks]), y[:1000])


def test_blocks_may_be_data_frames_and_rows_may_be_tuples(table):
    X, y = table
    frame = _frame(X, y)
    chunks = [(part.drop(columns="label"), part["label"]) for part in (frame[:600], frame[600:])]
    (block,) = source(chunks).blocks()
    assert np.array_equal(block.X, X) and np.array_equal(block.y, y)
    (block,) = source([tuple(row) for row in X[:7]], y[:7]).blocks()
    assert np.array_equal(block.X, X[:7])


def test_the_labels_of_rows_that_pandas_writes_are_no_column(table, tmp_path):
    X, y = table
    _frame(X, y).sample(frac=1.0, random_state=0).to_parquet(tmp_path / "t.parquet")
    assert "__index_level_0__" in pq.read_schema(tmp_path / "t.parquet").names
    assert source(tmp_path / "t.parquet", "label").columns == tuple(f"x{j}" for j in range(D))
    asked = source(tmp_path / "t.parquet", "label", columns=["x1", "__index_level_0__"])
    assert next(asked.blocks()).X.shape == (N, 2)


def test_numbers_above_the_columns_are_names_where_they_count_or_are_asked_for(table, tmp_path):
    X, _ = table
    pd.DataFrame(X).to_csv(tmp_path / "t.csv", index=False)
    assert next(source(tmp_path / "t.csv").blocks()).X.shape == X.shape
    pd.DataFrame(X[:, :2]).to_csv(tmp_path / "two.csv", index=False)
    assert next(source(tmp_path / "two.csv", columns=["1", "0"]).blocks()).X[0, 0] == X[0, 1]
    (tmp_path / "t.csv").write_text("a,a,y\n1,2,3\n")
    with pytest.raises(ValueError, match="two columns 'a'"):
        source(tmp_path / "t.csv", "y")


def test_truth_values_and_prices_are_read_and_missing_labels_are_not(tmp_path):
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": [True, False, True], "t": [False, True, True]})
    frame.to_csv(tmp_path / "t.csv", index=False)
    (block,) = source(tmp_path / "t.csv", "t").blocks()
    assert block.X.tolist() == [[1, 1], [2, 0], [3, 1]] and block.y.tolist() == [False, True, True]
    (tmp_path / "n.csv").write_text("a,t\n1,0\n2,1\n3,1\n")
    assert next(source(tmp_path / "n.csv", "t").blocks()).y.dtype == np.int64
    (tmp_path / "n.csv").write_text("a,t\n" + "1,2\n" * 400_000 + "1,0.5\n")
    assert [b.y.max() + b.y.min() for b in source(tmp_path / "n.csv", "t").blocks()][-1] == 2.5
    prices = pa.array([1, 2, 3]).cast(pa.decimal128(25, 2))
    pq.write_table(pa.table({"a": [1.0, 2.0, 3.0], "price": prices}), tmp_path / "t.parquet")
    assert next(source(tmp_path / "t.parquet", "price").blocks()).y.dtype == np.float64
    (tmp_path / "t.csv").write_text("a,kind\n1,small\n2,\n")
    with pytest.raises(ValueError, match=r"'kind'.*has missing values"):
        list(source(tmp_path / "t.csv", "kind").blocks())


@pytest.mark.parametrize("nothing", [None, float("nan"), pd.NA], ids=["None", "NaN", "NA"])
def test_a_missing_target_among_objects_is_found(table, nothing):
    X, y = table
    targets = y.astype(object)
    targets[3] = nothing
    with pytest.raises(ValueError, match="target in row 3 is missing"):
        list(source([(X, targets)]).blocks())
