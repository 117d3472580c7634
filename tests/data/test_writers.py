"""Rows written block by block: any lengths, any format, text too."""

import numpy as np
import pandas as pd
import pytest

from quadfeat.data.writers import sink


@pytest.mark.parametrize("ending", [".csv", ".parquet", ".npy"])
@pytest.mark.parametrize("lengths", [(), (0,), (0, 3, 0, 2)])
def test_blocks_of_any_length_are_written_one_after_the_other(ending, lengths, tmp_path):
    blocks = [np.arange(2.0 * n).reshape(n, 2) + n for n in lengths]
    path = tmp_path / f"rows{ending}"
    with sink(path, ["a", "b"]) as opened:
        for block in blocks:
            opened.write(block)
    whole = np.concatenate([np.empty((0, 2)), *blocks])
    if ending == ".npy":
        assert np.array_equal(np.load(path), whole)
    else:
        found = pd.read_csv(path) if ending == ".csv" else pd.read_parquet(path)
        assert list(found.columns) == ["a", "b"] and np.array_equal(found.to_numpy(), whole)


def test_text_is_written_after_blocks_without_rows(tmp_path):
    for ending in (".csv", ".parquet"):
        with sink(tmp_path / f"labels{ending}", ["label"]) as opened:
            for block in (np.empty(0), np.array(["a", "bc"]), np.empty(0, dtype=object)):
                opened.write(block)
    assert pd.read_csv(tmp_path / "labels.csv")["label"].tolist() == ["a", "bc"]
    assert pd.read_parquet(tmp_path / "labels.parquet")["label"].tolist() == ["a", "bc"]
