"""`TableBlocks`: streams of tables, and the sample that an encoder is fitted on."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from quadfeat.data import table_source
from quadfeat.data.table_source import TableBlocks

SAMPLE, ROWS, N_BLOCKS = 60, 25, 40


class Recorder:
    """Stands in for an encoder: keeps what it is fitted on."""

    def fit_sample(self, frame, y, weight, n_rows, *, named):
        self.frame, self.y, self.weight, self.n_rows = frame, y, weight, n_rows
        return self


def block(i, make):
    rows = np.arange(ROWS * i, ROWS * (i + 1))
    texts = [f"text {row:05d}" for row in rows]
    texts[3] = None
    return make(pd.DataFrame({"number": rows + 0.5, "text": texts})), rows.astype(float), rows + 1.0


@pytest.fixture
def small_sample(monkeypatch):
    monkeypatch.setattr(table_source, "_SAMPLE", SAMPLE)


def sampled(make):
    stream = TableBlocks("the rows", None, lambda: (block(i, make) for i in range(N_BLOCKS)))
    return stream.fitted(Recorder())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_sample_of_many_blocks_keeps_rows_together(small_sample, make):
    found = sampled(make)
    assert found.n_rows == ROWS * N_BLOCKS
    assert len(found.y) == SAMPLE
    np.testing.assert_array_equal(found.frame.column("number").values, found.y + 0.5)
    np.testing.assert_array_equal(found.weight, found.y + 1.0)
    column = found.frame.column("text")
    for row, code in zip(found.y.astype(int), column.values, strict=True):
        assert (code == -1) if row % ROWS == 3 else column.texts[code] == f"text {row:05d}"


def test_a_sample_is_the_rows_with_the_smallest_keys(small_sample):
    keys = np.random.default_rng(0).random(ROWS * N_BLOCKS)  # block after block
    np.testing.assert_array_equal(
        sampled(pd.DataFrame).y, np.sort(np.argsort(keys, kind="stable")[:SAMPLE])
    )


def test_a_sample_does_not_keep_texts_of_other_rows(small_sample):
    """Else the memory of a fit would grow with the rows of a file whose texts all differ."""
    column = sampled(pa.Table.from_pandas).frame.column("text")
    known = column.values >= 0
    assert len(column.texts) == known.sum()
    np.testing.assert_array_equal(np.unique(column.values[known]), np.arange(len(column.texts)))
