"""`sink`: rows to a CSV, Parquet or NPY file, block by block."""

from __future__ import annotations

import contextlib
import csv
import io
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np

from .atomic import replacing
from .tables import arrow
from .wanted import listed

_HEADER = np.lib.format.write_array_header_1_0  # padded, so that the row count can grow


@contextlib.contextmanager
def sink(path: Path, names: Sequence[str], kept: Sequence[str] = ()) -> Iterator[Any]:
    """An object with `write(block, table)` for arrays (n,) or (n, k); the file appears at the end.

    Parameters
    ----------
    path : Path, ending in .csv, .parquet or .npy
    names : names of the k columns
    kept : names of columns of the Arrow tables that are written before them
    """
    kind = SINKS.get(path.suffix.lower())
    if kind is None:
        raise ValueError(
            f"{path} ends in {path.suffix!r}, which cannot be written; give a file that ends in "
            f"{', '.join(SINKS)}"
        )
    if twice := set(names) & set(kept):
        raise ValueError(
            f"{path} would have two columns {twice.pop()!r}: one kept from the data and one of the "
            f"model; rename that of the data, or do not keep it"
        )
    with replacing(path) as file, kind(file, list(names), list(kept)) as opened:
        yield opened


class _Csv:
    def __init__(self, file: BinaryIO, names: list[str], kept: list[str]) -> None:
        self._file, self._width, self._kept = file, len(names), kept
        self._write([[*kept, *names]])

    def __enter__(self) -> _Csv:
        return self

    def write(self, block: Any, table: Any = None) -> None:
        rows = np.asarray(block).reshape(len(block), self._width).tolist()
        if self._kept:
            beside = zip(*(table.column(name).to_pylist() for name in self._kept), strict=True)
            rows = [[*some, *row] for some, row in zip(beside, rows, strict=True)]
        self._write(rows)

    def _write(self, rows: list[Any]) -> None:
        text = io.StringIO(newline="")
        csv.writer(text, lineterminator="\n").writerows(rows)
        self._file.write(text.getvalue().encode())

    def __exit__(self, *error: Any) -> None:
        pass


class _Parquet:
    def __init__(self, file: BinaryIO, names: list[str], kept: list[str]) -> None:
        self._file, self._names, self._kept = file, names, kept
        self._writer: Any = None
        self._arrow, self._parquet = arrow("parquet")

    def __enter__(self) -> _Parquet:
        return self

    def write(self, block: Any, table: Any = None) -> None:
        if len(block):  # without rows, its dtype may differ from that of other blocks
            self._write(block, table)

    def _write(self, block: Any, beside: Any) -> None:
        columns = np.asarray(block).reshape(len(block), len(self._names)).T
        # NumPy's text dtypes have a width, which differs from block to block.
        parts = [part.tolist() if part.dtype.kind == "U" else part for part in columns]
        kept = {name: beside.column(name) for name in self._kept}
        table = self._arrow.table(kept | dict(zip(self._names, parts, strict=True)))
        if self._writer is None:
            self._writer = self._parquet.ParquetWriter(self._file, table.schema)
        self._writer.write_table(table)

    def __exit__(self, *error: Any) -> None:
        if self._writer is None:  # no rows, so the dtype is unknown: float64
            nothing = self._arrow.table({name: self._arrow.array([]) for name in self._kept})
            self._write(np.empty((0, len(self._names))), nothing)
        self._writer.close()


class _Npy:
    def __init__(self, file: BinaryIO, names: list[str], kept: list[str]) -> None:
        if kept:
            raise ValueError(
                f"an NPY file holds one array of numbers and cannot keep {listed(kept)}; write "
                f".csv or .parquet"
            )
        self._file = file
        self._rows = 0
        self._first = np.empty(
            (0, len(names)) if len(names) > 1 else 0
        )  # used if there are no rows

    def __enter__(self) -> _Npy:
        return self

    def write(self, block: Any, table: Any = None) -> None:
        block = np.ascontiguousarray(block)
        if block.dtype.kind in "UO":
            raise ValueError("an NPY file holds numbers; write text into .csv or .parquet")
        if not self._rows:
            self._first = block
            self._file.seek(0)
            self._write_header()
        self._file.write(block.astype(self._first.dtype).data)
        self._rows += len(block)

    def _write_header(self) -> None:
        described = np.lib.format.header_data_from_array_1_0(self._first)
        described["shape"] = (self._rows, *self._first.shape[1:])
        _HEADER(self._file, described)

    def __exit__(self, *error: Any) -> None:
        self._file.seek(0)
        self._write_header()


SINKS: dict[str, Any] = {".csv": _Csv, ".parquet": _Parquet, ".npy": _Npy}
