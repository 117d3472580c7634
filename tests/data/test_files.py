"""Files in and out: what tells one from another, and what a failure leaves."""

import io
import os
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

from quadfeat.data.blocks import Block
from quadfeat.data.sources import source
from quadfeat.data.summary import labels_of
from quadfeat.data.writers import sink
from quadfeat.kernels.stationary import Gaussian
from quadfeat.maps.random import QuasiRandomFourier
from quadfeat.models.regressor import KernelRegressor
from quadfeat.storage import load, save

N = 1003


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)).round(6), rng.integers(3, size=N)


def _frame(X, y):
    return pd.DataFrame({"x0": X[:, 0], "x1": X[:, 1], "x2": X[:, 2], "label": y})


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


def test_arrays_beside_a_file_travel_with_its_rows(table, tmp_path):
    X, y = table
    np.save(tmp_path / "t.npy", X)
    stream = source(tmp_path / "t.npy", y, np.arange(N) + 1.0, rows=100)
    for start in (0, 3):
        weight = np.concatenate([block.weight for block in stream.blocks(start)])
        np.testing.assert_array_equal(weight, np.arange(100 * start, N) + 1.0)


def test_a_fingerprint_tells_other_weights_later_rows_and_another_target(table, tmp_path):
    X, y = table
    weight = np.ones(N)
    prints = {source(X, y, w).fingerprint for w in (None, weight, 2 * weight)}
    assert len(prints) == 3
    long = np.zeros((20_000, 2))
    later = long.copy()
    later[10_000:] = 1.0
    assert source(long).fingerprint != source(later).fingerprint
    path = tmp_path / "t.csv"
    _frame(X, y).to_csv(path, index=False)
    asked = [source(path, name, columns=["x0"]).fingerprint for name in ("label", "x1")]
    assert asked[0] != asked[1]


@pytest.mark.parametrize("size", [77, 100, 250, N])
def test_row_groups_of_any_size_are_read_from_any_block_on(size, table, tmp_path):
    X, y = table
    frame = pa.Table.from_pandas(_frame(X, y))
    pq.write_table(frame, tmp_path / "t.parquet", row_group_size=size)
    stream = source(tmp_path / "t.parquet", "label", rows=100)
    for start in range(11):
        found = np.concatenate([block.X for block in stream.blocks(start)])
        np.testing.assert_array_equal(found, X[100 * start :])


def test_an_array_shorter_than_its_header_says_is_refused(table, tmp_path):
    whole, header = table[0], io.BytesIO()
    np.lib.format.write_array_header_1_0(header, np.lib.format.header_data_from_array_1_0(whole))
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", header.getvalue() + whole[:550].tobytes())
    with pytest.raises(ValueError, match=r"'X' of .*: it ends in row 550"):
        list(source(tmp_path / "t.npz", rows=100).blocks())


_HEADER = "{'descr': '<f8', 'fortran_order': False, 'shape': %s, }"


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (_HEADER % "()", "is a single number, not rows"),
        (_HEADER % "((20, 3)", "header is damaged"),
        (_HEADER % '"""', "header is damaged"),
        (_HEADER % "(99999999999999999999,)", "header is damaged|no array has the shape"),
        (_HEADER % "(-1, 3)", "negative|no array has the shape"),
        ("\0" * 50, "cannot be read"),
    ],
)
def test_a_header_that_describes_no_rows_is_refused_by_name(header, message, tmp_path):
    line = header.encode().ljust(117) + b"\n"
    content = b"\x93NUMPY\x01\x00" + len(line).to_bytes(2, "little") + line + bytes(480)
    (tmp_path / "t.npy").write_bytes(content)
    with zipfile.ZipFile(tmp_path / "t.npz", "w") as archive:
        archive.writestr("X.npy", content)
    for ending in ("npy", "npz"):
        with pytest.raises(ValueError, match=rf"t\.{ending}.*({message})"):
            list(source(tmp_path / f"t.{ending}").blocks())


@pytest.mark.parametrize("index", ["2147483648", "9" * 30])
def test_an_index_that_svmlight_cannot_hold_is_refused_by_name(index, tmp_path):
    (tmp_path / "t.svm").write_text(f"1 1:1 {index}:2\n")
    with pytest.raises(ValueError, match=r"t\.svm .* after row 0: an index is larger than 21474"):
        source(tmp_path / "t.svm")


def test_a_folder_is_not_taken_for_a_file_of_rows(tmp_path):
    for name in ("adir", "adir.csv"):
        (tmp_path / name).mkdir()
        with pytest.raises(ValueError, match=rf"{name} is a folder; name a file in it .*\.csv"):
            source(tmp_path / name)


def test_an_index_of_zero_anywhere_makes_svmlight_count_from_zero(tmp_path, monkeypatch):
    monkeypatch.setattr("quadfeat.data.wanted.CHUNK", 64)
    lines = ["1 0:5 2:7", *("0 1:1 2:2" for _ in range(50))]
    (tmp_path / "t.svm").write_text("\n".join(lines) + "\n")
    found = np.vstack([_dense(block.X) for block in source(tmp_path / "t.svm").blocks()])
    assert np.array_equal(found, [[5, 0, 7], *([[0, 1, 2]] * 50)])


def test_a_file_is_known_by_every_row_and_not_by_when_it_was_written(tmp_path):
    path, size = tmp_path / "t.npy", 40_000
    np.save(path, np.zeros((size, 1)))
    before, first = path.stat(), source(path).fingerprint
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 10**9))
    assert source(path).fingerprint == first
    for row in (0, 12_345, size - 1):
        X = np.zeros((size, 1))
        X[row] = 1.0
        np.save(path, X)
        os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert source(path).fingerprint != first


def test_arrays_of_different_lengths_in_one_file_are_refused(table, tmp_path):
    X, y = table
    np.savez(tmp_path / "t.npz", X=X, y=y[:-1])
    with pytest.raises(ValueError, match=f"differ in rows: X {N}, y {N - 1}"):
        source(tmp_path / "t.npz")


def test_a_zero_and_a_one_above_two_columns_are_data(tmp_path):
    (tmp_path / "t.csv").write_text("0,1\n1,0\n")
    (block,) = source(tmp_path / "t.csv").blocks()
    assert np.array_equal(block.X, [[0.0, 1.0], [1.0, 0.0]])


@pytest.mark.parametrize("blank", ["\n", "\r\n"])
def test_blank_lines_of_a_csv_file_are_no_rows_from_any_block_on(blank, tmp_path):
    rows = [f"{i},{2 * i}" for i in range(60)]
    lines = ["a,b", "", *rows[:7], "", "", *rows[7:30], "", *rows[30:], "", ""]
    (tmp_path / "t.csv").write_bytes(blank.join(lines).encode())
    stream = source(tmp_path / "t.csv", "b", rows=8)
    for start in (0, 1, 3, 5, 7):
        found = np.concatenate([block.y for block in stream.blocks(start)])
        np.testing.assert_array_equal(found, 2 * np.arange(8 * start, 60))


def test_whole_labels_of_a_csv_file_keep_all_their_digits(tmp_path):
    labels = [2**53, 2**53 + 1, -(2**62) - 1, 7]
    lines = [f"{i},{label}" for i, label in enumerate(labels)]
    (tmp_path / "t.csv").write_text("a,label\n" + "\n".join(lines))
    (block,) = source(tmp_path / "t.csv", "label").blocks()
    assert block.y.tolist() == labels
    with pytest.raises(
        ValueError, match=r"labels up to 4\.61169e\+18 as float64.*int64 or as text"
    ):
        labels_of(Block(block.X, block.y.astype(float)))


@pytest.mark.parametrize("first", ["train", "new"])
def test_a_model_of_one_svmlight_file_reads_another_as_the_first(first, tmp_path):
    """Index 0 in only one of two files that both count from 0."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4)) * (rng.random((300, 4)) < 0.7)
    y = X @ [3.0, 1.0, -1.0, 2.0]
    halves = {"train": X[:200].copy(), "new": X[200:].copy()}
    halves["new" if first == "train" else "train"][:, 0] = 0.0
    for name, part in halves.items():
        path = str(tmp_path / f"{name}.svm")
        dump_svmlight_file(part, np.zeros(len(part)) + y[: len(part)], path, zero_based=True)
    features = QuasiRandomFourier(Gaussian(0.1), n_components=64, random_state=0)
    model = KernelRegressor(features, alpha=0.1).fit(tmp_path / "train.svm")
    save(model, tmp_path / "m.qf")
    for each in (model, load(tmp_path / "m.qf")):
        if first == "new":
            with pytest.raises(ValueError, match="index 0"):
                each.predict(tmp_path / "new.svm")
        else:
            found = each.predict(tmp_path / "new.svm")
            np.testing.assert_allclose(found, model.predict(halves["new"]), rtol=1e-5, atol=1e-5)


def test_a_target_that_turns_to_fractions_has_every_row_once(tmp_path, monkeypatch):
    monkeypatch.setattr("quadfeat.data.wanted.CHUNK", 100_000)
    n, path = 150_000, tmp_path / "t.csv"  # longer than what the types are guessed from
    y = np.arange(float(n))
    y[n - 100] += 0.5
    text = "a,y\n" + "\n".join(f"{i},{value:.7g}" for i, value in enumerate(y))
    path.write_text(text)
    stream = source(path, "y")
    for start in (0, 2, 18):
        blocks = list(stream.blocks(start))
        np.testing.assert_array_equal(np.concatenate([b.y for b in blocks]), y[8192 * start :])
        found = np.concatenate([b.X[:, 0] for b in blocks])
        np.testing.assert_array_equal(found, np.arange(8192 * start, n))
    assert [block.y.dtype.kind for block in blocks] == ["f"]
    path.write_text(text.replace(".5", "oops"))
    with pytest.raises(ValueError, match=r"t\.csv.*'y'.*line 149902.*oops"):
        list(source(path, "y").blocks())


def _columns_1_and_3(path, *, zero_based, with_zero):
    """Two rows of four columns, of which the first may be empty."""
    X = np.array([[5.0 * with_zero, 2, 0, 3], [0, 0, 0, 1]])
    dump_svmlight_file(X, [1, 2], str(path), zero_based=zero_based)
    return X


@pytest.mark.parametrize("zero_based", [True, False])
@pytest.mark.parametrize("with_zero", [True, False])
def test_indices_of_a_second_file_count_from_where_the_first_did(zero_based, with_zero, tmp_path):
    _columns_1_and_3(tmp_path / "first.svm", zero_based=zero_based, with_zero=True)
    first = source(tmp_path / "first.svm").first_index
    assert first == 1 - zero_based
    X = _columns_1_and_3(tmp_path / "second.svm", zero_based=zero_based, with_zero=with_zero)
    (block,) = source(tmp_path / "second.svm", columns=4, first_index=first).blocks()
    np.testing.assert_array_equal(block.X.toarray(), X)


def test_indices_that_may_count_from_0_or_1_are_refused_where_it_matters(tmp_path):
    path = tmp_path / "t.svm"
    _columns_1_and_3(path, zero_based=True, with_zero=False)
    with pytest.raises(ValueError, match=r"from 1 to 3 of 4 columns, which may count from 0 or"):
        source(path, columns=4)
    _columns_1_and_3(path, zero_based=False, with_zero=False)
    assert next(source(path, columns=4).blocks()).X.toarray()[0].tolist() == [0, 2, 0, 3]
    _columns_1_and_3(path, zero_based=True, with_zero=True)
    with pytest.raises(ValueError, match="has an index 0, but the indices of the earlier"):
        source(path, columns=5, first_index=1)


# --- out ------------------------------------------------------------------------------------------
@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
def test_a_file_that_could_not_be_finished_leaves_the_earlier_one_alone(ending, tmp_path):
    path = tmp_path / f"out{ending}"
    path.write_text("earlier")
    with pytest.raises(ValueError, match="stopped"), sink(path, ["a"]) as out:
        out.write(np.arange(3.0))
        raise ValueError("stopped")
    assert path.read_text() == "earlier"
    assert [each.name for each in tmp_path.iterdir()] == [path.name]


def test_an_npy_file_has_the_type_of_its_first_rows_and_holds_no_text(tmp_path):
    with sink(tmp_path / "out.npy", ["a"]) as out:
        for dtype in (np.float32, np.float64):
            out.write(np.arange(3, dtype=dtype))
    found = np.load(tmp_path / "out.npy")
    assert found.dtype == np.float32 and np.array_equal(found, [0, 1, 2, 0, 1, 2])
    with (
        pytest.raises(ValueError, match="holds numbers"),
        sink(tmp_path / "text.npy", ["a"]) as out,
    ):
        out.write(np.array(["a", "b"]))
