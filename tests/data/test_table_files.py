"""CSV files: types that a later block widens, files too large to hold, and what cannot be read."""

import gzip

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from quadfeat.data import table_files
from quadfeat.data.table_files import is_table_folder, open_table

N = 400_000  # rows; Arrow takes types from the first 4 MiB, which is less than half of them


def whole(file, columns=None):
    return pa.concat_tables(file.tables(columns))


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """Columns whose last value tells more of their type than all before it."""
    path = tmp_path_factory.mktemp("late") / "late.csv"
    last = {"whole": "2.5", "text": "none of these", "gaps": "7", "both": "word"}
    first = {"whole": "12345", "text": "12345", "gaps": "", "both": "1.5"}
    lines = [",".join(last), *[",".join(first.values())] * (N - 1), ",".join(last.values())]
    path.write_text("\n".join(lines) + "\n")
    return path


@pytest.mark.parametrize("held", [1 << 29, 0])
def test_a_later_block_widens_the_type_of_a_column(late, held, monkeypatch):
    monkeypatch.setattr(table_files, "_HELD", held)
    file = open_table(late)
    assert file.n_rows == N
    table = whole(file)
    assert all(len(part) <= table_files.ROWS or not held for part in file.tables())
    values = {name: table.column(name).to_pylist() for name in table.column_names}
    assert values["whole"][0] == 12345.0 and values["whole"][-1] == 2.5
    assert values["text"][0] == "12345" and values["text"][-1] == "none of these"
    assert values["gaps"][:2] == [None, None] and str(values["gaps"][-1]) == "7"
    assert values["both"][0] == "1.5" and values["both"][-1] == "word"
    assert whole(file, ["gaps", "whole"]).column_names == ["gaps", "whole"]
    with pytest.raises(ValueError, match="has no column 'z'"):
        file.tables(["whole", "z"])


def test_a_large_file_that_changes_after_the_first_pass_is_refused(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "_HELD", 0)
    path = tmp_path / "a.csv"
    path.write_text("a,b\n1,2\n3,4\n")
    file = open_table(path)
    assert whole(file).to_pydict() == {"a": [1, 3], "b": [2, 4]}
    path.write_text("a,b\n1,2\n3,x\n")
    with pytest.raises(ValueError, match=r"a\.csv cannot be read: .*'x'"):
        whole(file)
    path.write_text("a,b\n1,2\n3,4,5\n")
    with pytest.raises(ValueError, match="line 3 has 3 fields, and the header has 2"):
        whole(file)


def test_what_is_no_table_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"there is no file .*none\.csv"):
        open_table(tmp_path / "none.csv")
    (tmp_path / "blank.csv").write_text("\n  \n\n")
    with pytest.raises(ValueError, match="is empty; give a file with a header and rows"):
        open_table(tmp_path / "blank.csv")
    assert not is_table_folder(3) and is_table_folder(tmp_path)
    assert is_table_folder(tmp_path / "a.csv.gz") and not is_table_folder(tmp_path / "a.csv")


def test_row_groups_without_rows_and_other_columns_change_nothing(tmp_path):
    table = pa.table({"a": [1.0, 2.0], "b": pa.array([1, 2], pa.decimal128(4, 1)), "c": [5, 6]})
    with pq.ParquetWriter(tmp_path / "t.parquet", table.schema) as writer:
        for part in (table.slice(0, 0), table.slice(0, 1), table.slice(0, 0), table.slice(1)):
            writer.write_table(part)
    file = open_table(tmp_path / "t.parquet")
    assert file.n_rows == 2
    assert whole(file).to_pydict() == {"a": [1.0, 2.0], "b": [1.0, 2.0], "c": [5, 6]}
    assert whole(file, ["c", "a"]).to_pydict() == {"c": [5, 6], "a": [1.0, 2.0]}


def test_a_packed_file_is_read_as_the_plain_one(tmp_path):
    frame = pd.DataFrame({"a": np.arange(5), "b": list("uvwxy")})
    frame.to_csv(tmp_path / "p.csv", index=False)
    (tmp_path / "z.csv.gz").write_bytes(gzip.compress((tmp_path / "p.csv").read_bytes()))
    plain, packed = (whole(open_table(tmp_path / name)) for name in ("p.csv", "z.csv.gz"))
    assert plain.equals(packed)
