"""Files of tables with text, dates and gaps, as Arrow tables: CSV, and Parquet files and folders.

`readers` reads the same formats as arrays of numbers. Here the delimiter, the encoding, the decimal
point and the types of a CSV file are detected, and files of up to half a gigabyte are held in
memory.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import os
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .frame import MISSING
from .tables import arrow, is_number
from .wanted import listed

ROWS = 65_536  # rows of a block
CSV_ENDINGS = (".csv", ".tsv", ".txt", ".tab", ".dat")
PARQUET_ENDINGS = (".parquet", ".pq")
_HEAD = 1 << 18  # bytes inspected to detect the format
_HELD = 1 << 29  # files of up to so many bytes are held in memory
_DELIMITERS = (",", ";", "\t", "|")
_LINES = 50
_DECIMAL_COMMA = re.compile(r"^\s*-?\d+,\d+\s*$")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)


@dataclass(frozen=True, eq=False)
class TableFile:
    """An open table: names of columns, and its rows as Arrow tables, any number of times."""

    name: str
    columns: tuple[str, ...]
    n_rows: int
    _tables: Callable[[Sequence[str]], Iterator[Any]]

    def tables(self, columns: Sequence[str] | None = None) -> Iterator[Any]:
        """Blocks of at most 65,536 rows of these columns, or of all."""
        for name in columns or ():
            self.require(name)
        return self._tables(self.columns if columns is None else columns)

    def require(self, name: str) -> None:
        """Raise a ValueError if there is no column of this name."""
        if name not in self.columns:
            raise ValueError(f"{self.name} has no column {name!r}; it has {listed(self.columns)}")


def is_table_file(path: Path) -> bool:
    """Whether a path is a folder, or ends as CSV and Parquet files do."""
    ending = path.with_suffix("").suffix if path.suffix.lower() == ".gz" else path.suffix
    return path.is_dir() or ending.lower() in (*CSV_ENDINGS, *PARQUET_ENDINGS)


def is_table_folder(X: Any) -> bool:
    """Whether X is the path of a folder, or of a CSV file that is compressed."""
    if not isinstance(X, str | os.PathLike):
        return False
    path = Path(X)
    return path.is_dir() or (path.suffix.lower() == ".gz" and is_table_file(path))


def open_table(path: Path) -> TableFile:
    """A CSV or Parquet file, or a folder of Parquet files, with the types of its columns."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.is_dir() or path.suffix.lower() in PARQUET_ENDINGS:
        return _open_parquet(path)
    if path.stat().st_size == 0:
        raise ValueError(f"{path} is empty; give a file with a header and rows")
    return _Csv(path).opened()


# --- Parquet --------------------------------------------------------------------------------------
def _open_parquet(path: Path) -> TableFile:
    pa, dataset = arrow("dataset")
    try:
        if path.is_dir():
            files = [each for each in path.rglob("*") if each.suffix.lower() in PARQUET_ENDINGS]
            if not files:
                raise ValueError(
                    f"{path} is a folder without Parquet files; name a folder that has some, or a "
                    f"file; join CSV files first"
                )
            data = dataset.dataset(sorted(map(str, files)), format="parquet")
        else:
            data = dataset.dataset(str(path), format="parquet")
        schema, n_rows = data.schema, data.count_rows()
    except (pa.ArrowException, OSError) as error:
        raise ValueError(f"{path} cannot be read as Parquet: {_first_line(error)}") from None
    beside = {
        name
        for name in (schema.pandas_metadata or {}).get("index_columns", ())
        if isinstance(name, str)
    }
    names = tuple(name for name in schema.names if name not in beside)
    for file in data.get_fragments():
        lacking = set(names) ^ (set(file.physical_schema.names) - beside)
        if lacking:
            raise ValueError(
                f"the files of {path} have different columns, not all of them "
                f"{listed(sorted(lacking))}, see {Path(file.path).name}; name one file, or give "
                f"all of them the same columns"
            )
    for name in names:
        kind = schema.field(name).type
        if pa.types.is_nested(kind) or pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
            raise ValueError(
                f"column {name!r} of {path} holds {kind}, and a table holds numbers, text, dates "
                f"and booleans; write it as columns of their own, or leave it out"
            )
    casts = {n: pa.float64() for n in names if pa.types.is_decimal(schema.field(n).type)}

    def tables(columns: Sequence[str]) -> Iterator[Any]:
        # One row group at a time: a scan of all reads far ahead of a slow reader.
        groups = (group for file in data.get_fragments() for group in file.split_by_row_group())
        for group in groups:
            for batch in group.to_batches(
                schema=schema, columns=list(columns), batch_size=ROWS, use_threads=False
            ):
                if batch.num_rows:
                    yield _cast(pa.Table.from_batches([batch]), casts)

    return TableFile(str(path), names, n_rows, tables)


def _cast(table: Any, types: dict[str, Any]) -> Any:
    for name, kind in types.items():
        if name in table.column_names:
            i = table.column_names.index(name)
            table = table.set_column(i, name, table.column(name).cast(kind))
    return table


# --- CSV ------------------------------------------------------------------------------------------
class _Csv:
    """The format of a CSV file: its delimiter, encoding, decimal point, header and types."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._pa, self._csv = arrow("csv")
        with path.open("rb") as file:
            head = file.read(_HEAD)
        self._zipped = head[:2] == b"\x1f\x8b"
        if self._zipped:
            try:
                with gzip.open(path) as file:
                    head = file.read(_HEAD)
            except (OSError, EOFError) as error:
                raise ValueError(f"{path} is damaged gzip: {error}; copy it again") from None
        self._encoding = encoding_of(head)
        text = head.decode(self._encoding, "ignore")
        if "\x00" in text:
            raise ValueError(
                f"{path} is not text; give a CSV file, or an ending for its format: .parquet, "
                f".npy, .npz, .svmlight"
            )
        if text.lstrip()[:1] in ("<", "{", "["):
            other = "HTML" if text.lstrip().startswith("<") else "JSON"
            raise ValueError(f"{path} looks like {other}; give a CSV file, with a header")
        self._delimiter = delimiter_of(text)
        lines = fields_of(text, self._delimiter)
        if not lines:
            raise ValueError(f"{path} is empty; give a file with a header and rows")
        cells = [cell for line in lines[1:] for cell in line]
        self._comma = self._delimiter != "," and any(map(_DECIMAL_COMMA.match, cells))
        # A column without a name, as pandas writes the index, gets the name that pandas gives it.
        first = [cell.strip() or f"Unnamed: {i}" for i, cell in enumerate(lines[0])]
        blank = [not line.strip() for line in text.splitlines()]
        self._header = blank.index(False)  # the line of the header, from 0
        counted = len(first) > 2 and first == [str(i) for i in range(len(first))]
        headless = not counted and all(is_number(cell) for cell in first)
        self.names = [f"f{i}" for i in range(len(first))] if headless else first
        self._headless = headless
        for name in self.names:
            if self.names.count(name) > 1:
                raise ValueError(f"{path} has two columns {name!r}; give them different names")

    def opened(self) -> TableFile:
        """The file, after a pass that detects the types of its columns."""
        types: dict[str, Any] = {}
        while True:
            held: list[Any] | None = [] if self._path.stat().st_size <= _HELD else None
            n_rows = 0
            try:
                for batch in self._batches(self.names, types):
                    if n_rows == 0:  # Arrow took types from the first block; later ones follow
                        kinds = zip(batch.schema.names, batch.schema.types, strict=True)
                        types = {name: types.get(name, kind) for name, kind in kinds}
                    n_rows += batch.num_rows
                    if held is not None:
                        held.append(batch)
                break
            except self._pa.ArrowInvalid as error:
                name = self._column_of(error)
                if name is None:
                    raise self._error(error) from None
                types[name] = self._wider(types.get(name))
        pa = self._pa
        for name, kind in types.items():
            if pa.types.is_null(kind):  # no value in the first block, so none anywhere
                types[name] = pa.string()
        table = None
        if held:
            table = pa.Table.from_batches(held)
            casts = {n: k for n, k in types.items() if table.schema.field(n).type != k}
            table = _cast(table, casts)

        def tables(columns: Sequence[str]) -> Iterator[Any]:
            if table is not None:
                for start in range(0, n_rows, ROWS):
                    yield table.select(list(columns)).slice(start, ROWS)
                return
            try:
                for batch in self._batches(columns, types):
                    yield pa.Table.from_batches([batch])
            except pa.ArrowInvalid as error:
                raise self._error(error) from None

        return TableFile(str(self._path), tuple(self.names), n_rows, tables)

    def _batches(self, columns: Sequence[str], types: dict[str, Any]) -> Iterator[Any]:
        options = self._csv.ReadOptions(
            use_threads=False,  # with threads, errors do not always have a line number
            block_size=1 << 22,
            column_names=self.names,
            skip_rows=0 if self._headless else self._header + 1,
            encoding="utf8" if self._encoding == "utf-8" else self._encoding,
        )
        parse = self._csv.ParseOptions(delimiter=self._delimiter, newlines_in_values=True)
        convert = self._csv.ConvertOptions(
            column_types={name: kind for name, kind in types.items() if name in columns},
            include_columns=list(columns),
            null_values=sorted(MISSING),
            strings_can_be_null=True,
            decimal_point="," if self._comma else ".",
        )
        compression = "gzip" if self._zipped else None
        with (
            self._pa.input_stream(str(self._path), compression=compression) as stream,
            self._csv.open_csv(stream, options, parse, convert) as file,
        ):
            for batch in file:
                if batch.num_rows:
                    yield batch

    def _column_of(self, error: Exception) -> str | None:
        """The column whose value is not of the type of the first block."""
        found = re.search(r"In CSV column #(\d+)", str(error))
        if found is None or "conversion error" not in str(error):
            return None
        return self.names[int(found.group(1))]

    def _wider(self, kind: Any) -> Any:
        pa = self._pa
        return pa.float64() if kind is not None and pa.types.is_integer(kind) else pa.string()

    def _error(self, error: Exception) -> ValueError:
        text = _first_line(error)
        if self.names[0].startswith("#"):
            return ValueError(
                f"{self._path} begins with {self.names[0]!r}, a comment, not a header; remove the "
                f"lines above the header"
            )
        found = re.search(r"(?:Row #(\d+): )?Expected (\d+) columns, got (\d+)", text)
        if found:
            where = f"line {found.group(1)}" if found.group(1) else "a line"
            return ValueError(
                f"{self._path}: {where} has {found.group(3)} fields, and the header has "
                f"{found.group(2)}; quote fields that contain {self._delimiter!r}, or correct the "
                f"line"
            )
        if "Empty CSV file" in text or "Could not skip" in text:
            return ValueError(f"{self._path} has no rows; give a file with rows under its header")
        return ValueError(f"{self._path} cannot be read: {text}")


def encoding_of(head: bytes) -> str:
    """utf-8 or utf-16 by their byte order marks, utf-8 if valid, else cp1252 (Latin-1 and more)."""
    for mark, name in _BOMS:
        if head.startswith(mark):
            return name
    try:
        codecs.getincrementaldecoder("utf-8")().decode(head)
    except UnicodeDecodeError:
        return "cp1252"
    return "utf-8"


def fields_of(text: str, delimiter: str) -> list[list[str]]:
    """The fields of the first 50 lines that are not blank; the last line may be cut, and is left
    out unless it is the only one.
    """
    lines = [line for line in text.splitlines() if line.strip()][: _LINES + 1]
    lines = lines[:-1] if len(lines) > 1 and not text.endswith("\n") else lines
    return [row for row in csv.reader(lines, delimiter=delimiter) if row]


def delimiter_of(text: str) -> str:
    """The delimiter that gives the most fields, equally many in every line."""

    def fitness(delimiter: str) -> tuple[float, int]:
        counts = [len(row) for row in fields_of(text, delimiter)]
        if not counts or counts[0] < 2:
            return 0.0, 0
        return sum(count == counts[0] for count in counts) / len(counts), counts[0]

    return max(_DELIMITERS, key=fitness)


def _first_line(error: BaseException) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__


# --- arrays ---------------------------------------------------------------------------------------
def table_of_array(path: Path) -> TableFile:
    """The columns f0, f1, ... of an array (n, d) in an NPY file."""
    pa, _ = arrow("compute")
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise ValueError(f"{path} is not an array of numbers: {_first_line(error)}") from None
    if array.ndim != 2 or array.dtype.kind not in "biufU":
        raise ValueError(
            f"{path} holds {array.dtype} of shape {array.shape}; give numbers of shape (rows, "
            f"columns)"
        )
    names = tuple(f"f{i}" for i in range(array.shape[1]))

    def tables(columns: Sequence[str]) -> Iterator[Any]:
        for start in range(0, len(array), ROWS):
            some = np.asarray(array[start : start + ROWS])
            yield pa.table({name: some[:, names.index(name)] for name in columns})

    return TableFile(str(path), names, len(array), tables)
