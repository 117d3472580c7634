"""Rows that cannot be learned from are refused with what to give instead."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.datasets import dump_svmlight_file

import quadfeat as qf
from quadfeat._errors import NeedsEncoding
from quadfeat.data.blocks import Block
from quadfeat.data.iterators import IteratorSource
from quadfeat.data.sampling import RowSample, is_table_of_counts
from quadfeat.data.sources import source
from quadfeat.data.summary import SummaryBuilder, check_block, labels_of
from quadfeat.data.table_source import TableBlocks
from quadfeat.data.writers import sink

X, y = np.arange(12.0).reshape(6, 2), np.arange(6.0)


def blocks(given):
    return list(given.blocks())


def test_targets_of_files_that_cannot_hold_them_are_refused(tmp_path):
    np.save(tmp_path / "a.npy", X)
    with pytest.raises(ValueError, match="holds one array and no names, so y='y'"):
        source(tmp_path / "a.npy", "y")
    np.savez(tmp_path / "a.npz", X=X, y=y, z=y)
    with pytest.raises(ValueError, match="the target in an NPZ file is one array, one key"):
        source(tmp_path / "a.npz", ["y", "z"])
    dump_svmlight_file(X, y, str(tmp_path / "a.svmlight"))
    with pytest.raises(ValueError, match="has its labels in front of every line and no names"):
        source(tmp_path / "a.svmlight", "y")
    pd.DataFrame(X).to_csv(tmp_path / "a.csv", index=False)
    with pytest.raises(ValueError, match="does not store its number of rows, so y"):
        source(tmp_path / "a.csv", y)
    with pytest.raises(ValueError, match="columns of it; name them"):
        TableBlocks.of(tmp_path / "a.csv", y)
    with (
        pytest.raises(ValueError, match=r"ends in '\.xlsx', which cannot be written"),
        sink(tmp_path / "a.xlsx", ["a"]),
    ):
        pass


def test_columns_are_names_or_a_number():
    with pytest.raises(TypeError, match=r"a list of names, or how many, got 2\.5"):
        source(X, y, columns=2.5)
    assert blocks(source(X, y, columns=2))[0].X.shape == (6, 2)
    with pytest.raises(ValueError, match="belong into its blocks"):
        source([(X, y)], y)


def test_blocks_of_other_shapes_and_of_text_are_refused():
    with pytest.raises(ValueError, match="must have two dimensions"):
        blocks(source(lambda: iter([(np.zeros((2, 2, 2)), np.zeros(2))])))
    with pytest.raises(ValueError, match=r"X of a block must be \(rows, columns\), got shape"):
        IteratorSource.of(iter([(np.zeros(3), np.zeros(3))]))
    words = np.array([["1", "2"], ["3", "x"]], dtype=object)
    with pytest.raises(NeedsEncoding, match="a value from row 6 on is not a number"):
        blocks(source([(X, y), (words, np.zeros(2))]))


def test_lines_of_comments_alone_are_no_rows(tmp_path):
    path = tmp_path / "a.svmlight"
    path.write_text("# nothing\n\n# at all\n")
    assert source(path).n_rows == 0
    path.write_text("1.5\n2.5\n")  # two rows of zeros
    (block,) = blocks(source(path))
    assert block.X.shape == (2, 0) or not block.X.nnz
    np.testing.assert_array_equal(block.y, [1.5, 2.5])


def test_a_summary_needs_rows_targets_and_weights_within_range():
    def summary(weight, targets=y):
        builder = SummaryBuilder(labels=False)
        builder.add(Block(X, targets, np.asarray(weight, float)), "X")
        return builder.summary("X")

    assert summary(np.ones(6)).n_rows == 6
    with pytest.raises(ValueError, match="X has no rows with a weight above zero"):
        summary(np.zeros(6))
    with pytest.raises(ValueError, match="divide them by their mean"):
        summary(np.full(6, 1e-200))
    with pytest.raises(ValueError, match="X has no target; give y"):
        check_block(Block(X, None), "X")
    with pytest.raises(ValueError, match=r"y has shape \(6, 2\), and a classifier needs one label"):
        labels_of(Block(X, X))
    empty = SummaryBuilder(labels=False)
    with pytest.raises(ValueError, match="has no rows"):
        empty.summary("X")
    other = SummaryBuilder(labels=False)
    other.merge(empty)  # of a partition without rows
    assert other.n_rows == 0 and other.sample is None


def test_a_sample_of_no_rows_is_empty():
    sample = RowSample(10, by_class=False)
    assert len(sample.drawn().X) == 0
    sample.add(Block(X, y, np.zeros(6)))
    assert len(sample.drawn().X) == 0


@pytest.mark.parametrize(("copies", "counts"), [(9, False), (10, True)])
def test_few_distinct_rows_are_counts_where_each_stands_for_many(copies, counts):
    rows = np.repeat(X, copies, axis=0)
    assert is_table_of_counts(rows, np.ones(len(rows))) == counts


# --- streams of tables ----------------------------------------------------------------------------
def test_blocks_of_a_stream_have_the_columns_of_the_first():
    first, second = pd.DataFrame({"a": ["u"], "b": [1.0]}), pd.DataFrame({"a": ["v"], "c": [2.0]})
    stream = TableBlocks.of([(first, [1.0]), (second, [2.0])])
    with pytest.raises(
        ValueError, match="the block from row 1 on has other columns than the first"
    ):
        stream.fitted(qf.TableEncoder())
    turned = TableBlocks.of(lambda: iter([first, pd.DataFrame({"b": [3.0], "a": ["v"]})]))
    assert turned.fitted(qf.TableEncoder()).n_features_in_ == 2
    with pytest.raises(ValueError, match="has no rows; give a table with rows"):
        TableBlocks.of([first[:0]]).fitted(qf.TableEncoder())


def test_a_stream_of_arrays_is_no_stream_of_tables():
    assert TableBlocks.of([(X, y)]) is None and TableBlocks.of([]) is None
    assert TableBlocks.of(sparse.csr_array(X)) is None
    table = TableBlocks.of(pd.DataFrame(X, columns=["a", "b"]), y)
    assert table.chosen(None) is table
    ((rows, *_),) = table.chosen(["b"]).blocks()
    assert rows.names == ("b",)
