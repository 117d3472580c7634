"""CSV and Parquet files as batches of rows, through pyarrow."""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from .._errors import NeedsEncoding
from .wanted import CHUNK, Batch, BatchReader, Wanted, weight_columns


# --- tables of named columns --------------------------------------------------------------------
def read_parquet(path: Path, wanted: Wanted, rows: int) -> BatchReader:
    """Batches are parts of row groups, so memory does not depend on the size of row groups."""
    pa, parquet = arrow("parquet")
    with _arrow_errors(path, pa), _open_parquet(parquet, path) as file:
        metadata, schema = file.metadata, file.schema_arrow
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    # The index that pandas writes is not a column, unless requested.
    beside = {
        name
        for name in (schema.pandas_metadata or {}).get("index_columns", ())
        if isinstance(name, str) and name not in wanted.named()
    }
    names = wanted.choose(path, [name for name in schema.names if name not in beside])
    dtype = _common_dtype(path, schema, names, pa)
    needed = list(dict.fromkeys([*names, *wanted.targets(), *weight_columns(wanted)]))

    def read(first: int) -> Iterator[Batch]:
        group = int(np.searchsorted(np.cumsum(sizes), first, side="right"))
        skip = first - sum(sizes[:group])
        with _arrow_errors(path, pa), _open_parquet(parquet, path) as file:
            groups = list(range(group, len(sizes)))
            for batch in file.iter_batches(batch_size=rows, row_groups=groups, columns=needed):
                part, skip = batch[skip:], max(0, skip - len(batch))
                if len(part):
                    yield _batch(part, names, wanted, dtype, path, pa)

    return BatchReader(sum(sizes), tuple(names), read)


def _open_parquet(parquet: Any, path: Path) -> Any:
    # Without a buffer size, whole column chunks are held in memory; with pre_buffer, row groups.
    return parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False)


def read_csv(path: Path, wanted: Wanted, rows: int) -> BatchReader:
    """Numbers are float64, except a target of whole numbers, which is int64 to keep all digits.

    If the first line holds only numbers it is data, and columns are f0, f1, ... But a first line of
    0, 1, 2, ... is the header that pandas writes for unnamed columns, and a first line with the
    requested names is a header too.
    """
    pa, csv = arrow("csv")
    parse = csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    with _arrow_errors(path, pa), csv.open_csv(path, parse_options=parse) as file:
        schema = file.schema
    counted = len(schema) > 2 and schema.names == [str(i) for i in range(len(schema))]
    known = counted or wanted.named() & set(schema.names)
    headless = not known and all(is_number(name) for name in schema.names)
    every = [f"f{i}" for i in range(len(schema))] if headless else schema.names
    names = wanted.choose(path, every)
    kinds = dict(zip(every, schema.types, strict=True))
    types = {name: pa.float64() for name in [*names, *wanted.targets(), *weight_columns(wanted)]}
    for name in types:
        if pa.types.is_boolean(kinds[name]):
            types[name] = pa.bool_()
    texts = [name for name in wanted.targets() if not _is_numeric(kinds[name], pa)]
    types |= dict.fromkeys(texts, pa.string())
    if isinstance(wanted.target, str) and pa.types.is_integer(kinds[wanted.target]):
        types[wanted.target] = pa.int64()
    options = csv.ReadOptions(
        use_threads=False,  # with threads, error messages do not always have a line number
        block_size=CHUNK,
        column_names=every if headless else None,
    )

    def batches(types: dict[str, Any]) -> Iterator[Any]:
        convert = csv.ConvertOptions(
            column_types=types, include_columns=list(types), strings_can_be_null=False
        )
        with csv.open_csv(path, options, parse, convert) as file:
            yield from file

    def from_row(first: int) -> Iterator[Any]:
        # Arrow can skip lines, but counts blank lines, which are not rows.
        row = 0
        try:
            for batch in batches(types):
                yield batch[max(first - row, 0) :]
                row += len(batch)
        except pa.ArrowInvalid:
            if pa.int64() not in types.values():
                raise
        else:
            return
        # The target has fractions after whole numbers, or the file is damaged: read it as float64.
        first, row = max(first, row), 0
        for batch in batches({name: _widened(kind, pa) for name, kind in types.items()}):
            yield batch[max(first - row, 0) :]
            row += len(batch)

    def read(first: int) -> Iterator[Batch]:
        with _arrow_errors(path, pa, every):
            for batch in from_row(first):
                if len(batch):
                    _check_texts(batch, texts, path)
                    yield _batch(batch, names, wanted, np.dtype(np.float64), path, pa)

    return BatchReader(None, tuple(names), read)


def _widened(kind: Any, pa: Any) -> Any:
    return pa.float64() if kind == pa.int64() else kind


def _check_texts(part: Any, names: Sequence[str], path: Path) -> None:
    """Raise an error for empty text, which is how CSV files mark missing values."""
    for name in names:
        if "" in part.column(name).to_pylist():
            raise ValueError(f"column {name!r} of {path} has missing values; leave those rows out")


def _batch(part: Any, names: list[str], wanted: Wanted, dtype: Any, path: Path, pa: Any) -> Batch:
    X = np.empty((len(part), len(names)), dtype=dtype)
    kind = pa.float32() if dtype == np.float32 else pa.float64()
    for j, name in enumerate(names):
        X[:, j] = part.column(name).cast(kind, safe=False).to_numpy(zero_copy_only=False)
    targets = [target_values(part.column(name), pa) for name in wanted.targets()]
    y = None
    if targets:
        y = targets[0] if isinstance(wanted.target, str) else np.column_stack(targets)
    weight = None
    if wanted.weight is not None:
        column = part.column(wanted.weight).cast(pa.float64(), safe=False)
        weight = column.to_numpy(zero_copy_only=False)
    return Batch(X, y, weight)


def target_values(column: Any, pa: Any) -> Any:
    """A column of an Arrow table as targets."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    if _is_text(column.type, pa):
        if column.null_count:
            raise ValueError("the target column has missing values; leave those rows out")
        return np.array(column.to_pylist(), dtype=str)
    if column.null_count or pa.types.is_decimal(column.type):
        column = column.cast(pa.float64(), safe=False)
    return column.to_numpy(zero_copy_only=False)


def _common_dtype(path: Path, schema: Any, names: Sequence[str], pa: Any) -> Any:
    """float32 if all columns are float32 or float16, else float64."""
    types = [schema.field(name).type for name in names]
    for name, kind in zip(names, types, strict=True):
        if not _is_numeric(kind, pa):
            raise NeedsEncoding(
                f"column {name!r} of {path} holds {kind}, and features must be numbers; encode "
                f"it, or choose the columns to read"
            )
    narrow = all(kind in (pa.float16(), pa.float32()) for kind in types)
    return np.dtype(np.float32 if narrow and types else np.float64)


def _is_numeric(kind: Any, pa: Any) -> bool:
    tests = (
        pa.types.is_integer,
        pa.types.is_floating,
        pa.types.is_boolean,
        pa.types.is_decimal,
        pa.types.is_null,
    )
    return any(test(kind) for test in tests)


def _is_text(kind: Any, pa: Any) -> bool:
    return any(
        test(kind)
        for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    )


def arrow(module: str) -> tuple[Any, Any]:
    """pyarrow and one of its modules; an ImportError names the extra to install."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise ImportError(
            f"{module.upper()} files need pyarrow: pip install 'quadfeat[cli]'"
        ) from None


class _arrow_errors:
    """Arrow's errors as ValueErrors with the name of the file, and of the column if known."""

    def __init__(self, path: Path, pa: Any, names: Sequence[str] = ()) -> None:
        self._path, self._pa, self._names = path, pa, names

    def __enter__(self) -> None:
        return None

    def __exit__(self, kind: Any, error: Any, trace: Any) -> None:
        if not isinstance(error, self._pa.ArrowException | OSError):
            return
        if isinstance(error, FileNotFoundError | PermissionError):
            return
        text = str(error).replace("Row #", "line ")
        for i, name in reversed(list(enumerate(self._names))):
            text = text.replace(f"CSV column #{i}:", f"column {name!r}:")
        conversion = "conversion error" in text
        kind_of_error = NeedsEncoding if conversion else ValueError
        raise kind_of_error(f"{self._path} cannot be read: {text}") from None


def is_number(text: str) -> bool:
    """Whether a text is a number."""
    try:
        float(text)
    except ValueError:
        return False
    return True
