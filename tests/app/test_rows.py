"""Rows of files, and which of them are held out: weights, gaps, pipes and splits."""

import io
import sys

import numpy as np
import pandas as pd
import pytest

from quadfeat.app import holdout
from quadfeat.app.holdout import hold_out
from quadfeat.app.rows import RowBlock, collected, local_file, open_rows


def joined(blocks):
    return RowBlock.joined(list(blocks))


def test_weights_of_a_table_are_read_and_not_learned_from(tmp_path):
    table = pd.DataFrame({"a": np.arange(9.0), "w": np.arange(9) / 4, "y": np.arange(9) * 1.5})
    table.to_csv(tmp_path / "w.csv", index=False)
    stream = open_rows(tmp_path / "w.csv", "y", "w")
    block = joined(stream.blocks())
    assert stream.columns == ("a",) and block.X.column_names == ["a"]
    np.testing.assert_array_equal(block.weight, table["w"])


def test_blocks_of_which_all_rows_are_chosen_stay_whole(tmp_path):
    np.savez(tmp_path / "xy.npz", X=np.arange(20.0)[:, None], y=np.arange(20.0))
    stream = open_rows(tmp_path / "xy.npz", None)
    for chosen in (lambda block, row: block.y >= 0, lambda block, row: block.y % 3 == 1):
        every = joined(stream.where(chosen)())
        expected = [i for i in range(20) if chosen(RowBlock(None, np.float64(i)), 0)]
        np.testing.assert_array_equal(every.y, expected)
        np.testing.assert_array_equal(every.X[:, 0], expected)
    assert list(stream.where(lambda block, row: block.y < 0)()) == []


@pytest.mark.parametrize(
    ("arrays", "words"),
    [
        ({"X": np.ones((4, 2))}, "no target; name the array by --target"),
        ({"X": np.ones((4, 2)), "y": [1.0, np.nan, 2.0, 3.0]}, "the target in row 1 is missing"),
        ({"X": np.ones((0, 2)), "y": []}, "has no rows"),
    ],
)
def test_arrays_without_targets_or_rows_are_refused(arrays, words, tmp_path):
    np.savez(tmp_path / "some.npz", **arrays)
    with pytest.raises(ValueError, match=words):
        open_rows(tmp_path / "some.npz", None)


def test_a_sample_of_no_rows_is_refused():
    with pytest.raises(ValueError, match="one side of the split has no rows"):
        collected(iter(()), 10)


def test_a_sample_of_many_blocks_has_rows_of_all_of_them():
    blocks = [RowBlock(np.full((50, 1), i), np.arange(50) + 50 * i) for i in range(40)]
    block = collected(iter(blocks), 100)
    assert len(block) == 100 and (np.diff(block.y) > 0).all()
    np.testing.assert_array_equal(block.X[:, 0], block.y // 50)
    # 2000 rows in a random order: each half of them has 50 of 100, with a deviation of 5.
    assert 25 < (block.y < 1000).sum() < 75


class Terminal(io.TextIOWrapper):
    def isatty(self):
        return True


def test_a_terminal_is_no_pipe(monkeypatch):
    monkeypatch.setattr(sys, "stdin", Terminal(io.BytesIO(b"")))
    with pytest.raises(ValueError, match="nothing is piped in"), local_file("-"):
        pass


def test_errors_in_a_pipe_name_the_pipe(monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"a,y\n1,2\n1,2,3\n")))
    with (
        pytest.raises(ValueError, match=r"^the pipe") as refused,
        local_file("-") as path,
    ):
        open_rows(path, "y")
    assert "quadfeat-" not in str(refused.value)


# --- rows that are held out -----------------------------------------------------------------------
def table(folder, n, **columns):
    frame = pd.DataFrame({"a": np.arange(n) % 7, "y": np.arange(n) * 0.5} | columns)
    frame.to_parquet(folder / "t.parquet")
    return folder / "t.parquet"


def test_of_many_rows_a_fifth_is_held_out_the_same_in_every_pass(tmp_path, monkeypatch):
    n = 12_000
    split = hold_out(open_rows(table(tmp_path, n), "y"), None, None, None, "y")
    train, test = joined(split.train()), joined(split.test())
    np.testing.assert_array_equal(np.sort(np.append(train.y, test.y)), np.arange(n) * 0.5)
    np.testing.assert_array_equal(test.y, joined(split.test()).y)
    assert split.n_train == len(train)
    assert abs(len(test) - n / 5) < 5 * np.sqrt(n * 0.2 * 0.8)  # five deviations
    monkeypatch.setattr(holdout, "_MOST", 600)
    split = hold_out(open_rows(tmp_path / "t.parquet", "y"), None, None, None, "y")
    assert abs(n - split.n_train - 600) < 5 * np.sqrt(600)


def test_a_split_that_leaves_no_row_is_refused(tmp_path, monkeypatch):
    stream = open_rows(table(tmp_path, 20), "y")
    for rows in (0, 1):
        monkeypatch.setattr(
            holdout,
            "_at_random",
            lambda n, rows=rows: (lambda block, row: np.full(len(block), bool(rows)), ""),
        )
        with pytest.raises(ValueError, match="no row is left for training or for testing"):
            hold_out(stream, None, None, None, "y")


@pytest.mark.parametrize("sizes", [{"a": 18, "b": 2}, {"a": 2, "b": 18}])
def test_the_last_group_always_stays_for_training(sizes, tmp_path):
    path = table(tmp_path, 20, g=np.repeat(list(sizes), list(sizes.values())))
    split = hold_out(open_rows(path, "y", group="g"), None, "g", None, "y")
    train, test = joined(split.train()), joined(split.test())
    assert len(set(train.key)) == len(set(test.key)) == 1 and set(train.key) != set(test.key)


def test_rows_of_one_last_time_are_held_out_together(tmp_path):
    path = table(tmp_path, 20, t=np.repeat([1, 2], [4, 16]))
    split = hold_out(open_rows(path, "y", time="t"), None, None, "t", "y")
    assert set(joined(split.train()).key) == {1.0} and set(joined(split.test()).key) == {2.0}
