"""Files as batches of rows: one function per format, each in bounded memory.

A reader opens a file, checks what its header tells, and returns a `Table`. Batches have whatever
number of rows suits the format; `data.Source` makes equal blocks of them.
"""

from __future__ import annotations

import importlib
import io
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

# What zipfile and NumPy raise on arrays, or an archive of them, that are damaged, or are none.
_UNPARSED = (OverflowError, SyntaxError, TypeError, tokenize.TokenError)  # headers of NPY
DAMAGED = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError, RuntimeError, ValueError),
    *_UNPARSED,
)
_CHUNK = 1 << 22  # bytes of a text file that are parsed at a time


class Batch(NamedTuple):
    """Some rows of a file: X (n, d), the targets y and the weights, if there are any."""

    X: Any
    y: Any = None
    weight: Any = None


@dataclass(frozen=True)
class Table:
    """A file that can be read in batches, from any row on and any number of times."""

    n_rows: int | None
    names: tuple[str, ...] | None
    read: Callable[[int], Iterator[Batch]]
    first_index: int | None = None  # what indices count from, where columns are numbered


@dataclass(frozen=True)
class Wanted:
    """What a caller asks of a file: the target, the weight and the columns of X, all optional."""

    target: Any = None
    weight: Any = None
    columns: Sequence[str] | int | None = None
    first_index: int | None = None

    def width(self) -> int | None:
        """How many columns X must have, where that is known."""
        known = self.columns is None or isinstance(self.columns, int)
        return self.columns if known else len(self.columns)  # type: ignore[arg-type,return-value]

    def targets(self) -> list[str]:
        if self.target is None:
            return []
        return [self.target] if isinstance(self.target, str) else list(self.target)

    def named(self) -> set[str]:
        """Every name that was given."""
        columns = () if self.columns is None or isinstance(self.columns, int) else self.columns
        return {*self.targets(), *_weights(self), *columns}

    def choose(self, path: Path, names: Sequence[str]) -> list[str]:
        """The columns of X among the names a file has; an error for names it does not have."""
        if len(set(names)) < len(names):
            twice = next(name for name in names if list(names).count(name) > 1)
            raise ValueError(f"{path} has two columns {twice!r}; give them different names")
        asked = [*self.targets(), *([] if self.weight is None else [self.weight])]
        if not (self.columns is None or isinstance(self.columns, int)):
            asked += list(self.columns)
        for name in asked:
            if name not in names:
                raise ValueError(f"{path} has no column {name!r}; its columns are {listed(names)}")
        if self.columns is None or isinstance(self.columns, int):
            others = {*self.targets(), self.weight}
            return [name for name in names if name not in others]
        return list(self.columns)


def open_table(path: Path, wanted: Wanted, rows: int) -> Table:
    """The reader for the ending of a path, opened."""
    if not path.exists():
        raise FileNotFoundError(f"there is no file {path}")
    if path.is_dir():
        raise ValueError(f"{path} is a folder; name a file in it that ends in {', '.join(READERS)}")
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ValueError(
            f"{path} ends in {path.suffix!r}, which is not a known format; give a file that ends "
            f"in {', '.join(READERS)}"
        )
    return reader(path, wanted, rows)


# --- arrays of NumPy ----------------------------------------------------------------------------
def _npy(path: Path, wanted: Wanted, rows: int) -> Table:
    if wanted.targets() or wanted.weight is not None:
        raise ValueError(
            f"{path} holds one array and no names, so y={wanted.target!r} and "
            f"sample_weight={wanted.weight!r} cannot be found in it; give them as arrays, or "
            f"an NPZ file with arrays of these names beside X"
        )
    try:
        whole = np.load(path, mmap_mode="r", allow_pickle=False)
    except DAMAGED as error:
        raise ValueError(f"{path} cannot be read as an NPY file: {_said(error)}") from None
    if not np.ndim(whole):
        raise ValueError(f"{path} is a single number, not rows; give an array (rows, columns)")

    def read(first: int) -> Iterator[Batch]:
        for start in range(first, len(whole), rows):
            # Mapped afresh for every batch, so that no page stays in memory after it.
            yield Batch(np.array(np.load(path, mmap_mode="r")[start : start + rows]))

    return Table(len(whole), None, read)


def _npz(path: Path, wanted: Wanted, rows: int) -> Table:
    """Members are decompressed as they are read; one in Fortran order is read whole."""
    with _damage(f"{path}"), zipfile.ZipFile(path) as archive:
        names = archive.namelist()
    keys = [name.removesuffix(".npy") for name in names if name.endswith(".npy")]
    targets = wanted.targets() or (["y"] if "y" in keys else [])
    if len(targets) > 1:
        raise ValueError(f"y={wanted.target!r}: the target in an NPZ file is one array, one key")
    weight = [] if wanted.weight is None else [wanted.weight]
    chosen = ["X", *targets, *weight]
    for key in chosen:
        if key not in keys:
            raise ValueError(f"{path} has no array {key!r}; its arrays are {listed(keys)}")
    lengths = [len(_Member(path, key)) for key in chosen]
    if len(set(lengths)) > 1:
        counts = ", ".join(f"{key} {n}" for key, n in zip(chosen, lengths, strict=True))
        raise ValueError(f"the arrays of {path} differ in rows: {counts}")

    def read(first: int) -> Iterator[Batch]:
        streams = [_Member(path, key).batches(first, rows) for key in chosen]
        for parts in zip(*streams, strict=True):
            X, *rest = parts
            y = rest.pop(0) if targets else None
            yield Batch(X, y, rest[0] if rest else None)

    return Table(lengths[0], None, read)


@contextmanager
def _damage(what: str) -> Iterator[None]:
    """Damage in one sentence; a file that is gone or forbidden has an error of its own."""
    try:
        yield
    except (FileNotFoundError, PermissionError):
        raise
    except DAMAGED as error:
        raise ValueError(f"{what} cannot be read: {_said(error)}; copy it again") from None


def _said(error: Exception) -> str:
    return "its header is damaged" if isinstance(error, _UNPARSED) else str(error)


class _Member:
    """One array of an NPZ file, read in order without being held."""

    def __init__(self, path: Path, key: str) -> None:
        self._path = path
        self._key = key
        self._what = f"array {key!r} of {path}"
        with _damage(self._what), self._open() as stream:
            self._header(stream)
        if self.dtype.hasobject:
            raise ValueError(
                f"{self._what} holds Python objects, which could run code when they "
                f"are read; save it as numbers, or as text (dtype=str)"
            )
        if not self.shape:
            raise ValueError(f"{self._what} is a single number, not rows")

    def __len__(self) -> int:
        return int(self.shape[0])

    def _open(self) -> Any:
        # The member keeps the file open for as long as it is read.
        with zipfile.ZipFile(self._path) as archive:
            return archive.open(f"{self._key}.npy")

    def _header(self, stream: Any) -> None:
        version = np.lib.format.read_magic(stream)
        parse = (
            np.lib.format.read_array_header_1_0
            if version == (1, 0)
            else np.lib.format.read_array_header_2_0
        )
        self.shape, self.fortran, self.dtype = parse(stream)
        if not all(0 <= n < 1 << 62 for n in self.shape):
            raise ValueError(f"no array has the shape {self.shape}")

    def batches(self, first: int, rows: int) -> Iterator[Any]:
        if self.fortran and len(self.shape) > 1:
            with _damage(self._what), np.load(self._path, allow_pickle=False) as arrays:
                whole = arrays[self._key]
            for start in range(first, len(self), rows):
                yield whole[start : start + rows]
            return
        width = int(np.prod(self.shape[1:])) * self.dtype.itemsize
        with _damage(self._what), self._open() as stream:
            self._header(stream)
            _skip(stream, first * width)
            for start in range(first, len(self), rows):
                count = min(rows, len(self) - start)
                data = stream.read(count * width)
                if len(data) < count * width:
                    raise ValueError(f"it ends in row {start + len(data) // width}")
                yield np.frombuffer(data, dtype=self.dtype).reshape(count, *self.shape[1:])


def _skip(stream: Any, count: int) -> None:
    while count > 0:
        read = len(stream.read(min(count, _CHUNK)))
        if not read:
            return
        count -= read


# --- tables of named columns --------------------------------------------------------------------
def _parquet(path: Path, wanted: Wanted, rows: int) -> Table:
    """Batches from inside row groups, so that memory does not depend on their size."""
    pa, parquet = arrow("parquet")
    with _arrow_errors(path, pa), _open_parquet(parquet, path) as file:
        metadata, schema = file.metadata, file.schema_arrow
        sizes = [metadata.row_group(i).num_rows for i in range(metadata.num_row_groups)]
    # The rows' labels that pandas writes beside the columns are none of them, unless asked for.
    beside = {
        name
        for name in (schema.pandas_metadata or {}).get("index_columns", ())
        if isinstance(name, str) and name not in wanted.named()
    }
    names = wanted.choose(path, [name for name in schema.names if name not in beside])
    dtype = _common_dtype(path, schema, names, pa)
    needed = list(dict.fromkeys([*names, *wanted.targets(), *_weights(wanted)]))

    def read(first: int) -> Iterator[Batch]:
        group = int(np.searchsorted(np.cumsum(sizes), first, side="right"))
        skip = first - sum(sizes[:group])
        with _arrow_errors(path, pa), _open_parquet(parquet, path) as file:
            groups = list(range(group, len(sizes)))
            for batch in file.iter_batches(batch_size=rows, row_groups=groups, columns=needed):
                part, skip = batch[skip:], max(0, skip - len(batch))
                if len(part):
                    yield _batch(part, names, wanted, dtype, path, pa)

    return Table(sum(sizes), tuple(names), read)


def _open_parquet(parquet: Any, path: Path) -> Any:
    # Without a buffer size, whole column chunks are held; with pre_buffer, whole row groups.
    return parquet.ParquetFile(path, buffer_size=1 << 16, pre_buffer=False)


def _csv(path: Path, wanted: Wanted, rows: int) -> Table:
    """Numbers are float64, but a target of whole numbers is int64, which keeps all their digits.

    A first line of numbers alone is data: columns are then f0, f1, ... But 0, 1, 2, ... are what
    pandas writes above columns without names, and a first line that has the names asked for holds
    names.
    """
    pa, csv = arrow("csv")
    parse = csv.ParseOptions(delimiter="\t" if path.suffix.lower() == ".tsv" else ",")
    with _arrow_errors(path, pa), csv.open_csv(path, parse_options=parse) as file:
        schema = file.schema
    counted = len(schema) > 2 and schema.names == [str(i) for i in range(len(schema))]
    known = counted or wanted.named() & set(schema.names)
    headless = not known and all(_is_number(name) for name in schema.names)
    every = [f"f{i}" for i in range(len(schema))] if headless else schema.names
    names = wanted.choose(path, every)
    found = dict(zip(every, schema.types, strict=True))
    types = {name: pa.float64() for name in [*names, *wanted.targets(), *_weights(wanted)]}
    for name in types:
        if pa.types.is_boolean(found[name]):
            types[name] = pa.bool_()
    texts = [name for name in wanted.targets() if not _is_numeric(found[name], pa)]
    types |= dict.fromkeys(texts, pa.string())
    if isinstance(wanted.target, str) and pa.types.is_integer(found[wanted.target]):
        types[wanted.target] = pa.int64()
    options = csv.ReadOptions(
        use_threads=False,  # with them, an error does not always know its line
        block_size=_CHUNK,
        column_names=every if headless else None,
    )

    def batches(types: dict[str, Any]) -> Iterator[Any]:
        convert = csv.ConvertOptions(
            column_types=types, include_columns=list(types), strings_can_be_null=False
        )
        with csv.open_csv(path, options, parse, convert) as file:
            yield from file

    def from_row(first: int) -> Iterator[Any]:
        # Arrow could skip lines, but it counts blank ones, which are no rows.
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
        # The target began with whole numbers and turns to fractions, or something else is wrong.
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

    return Table(None, tuple(names), read)


def _widened(kind: Any, pa: Any) -> Any:
    return pa.float64() if kind == pa.int64() else kind


def _check_texts(part: Any, names: Sequence[str], path: Path) -> None:
    """A text that is missing in a CSV file is an empty one."""
    for name in names:
        if "" in part.column(name).to_pylist():
            raise ValueError(f"column {name!r} of {path} has missing values; leave those rows out")


def _batch(part: Any, names: list[str], wanted: Wanted, dtype: Any, path: Path, pa: Any) -> Batch:
    X = np.empty((len(part), len(names)), dtype=dtype)
    kind = pa.float32() if dtype == np.float32 else pa.float64()
    for j, name in enumerate(names):
        X[:, j] = part.column(name).cast(kind, safe=False).to_numpy(zero_copy_only=False)
    targets = [_target(part.column(name), pa) for name in wanted.targets()]
    y = None
    if targets:
        y = targets[0] if isinstance(wanted.target, str) else np.column_stack(targets)
    weight = None
    if wanted.weight is not None:
        column = part.column(wanted.weight).cast(pa.float64(), safe=False)
        weight = column.to_numpy(zero_copy_only=False)
    return Batch(X, y, weight)


def _target(column: Any, pa: Any) -> Any:
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
    """float32 where every column fits into it; one float64 or integer column makes it float64."""
    types = [schema.field(name).type for name in names]
    for name, kind in zip(names, types, strict=True):
        if not _is_numeric(kind, pa):
            raise ValueError(
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


def _weights(wanted: Wanted) -> list[str]:
    return [] if wanted.weight is None else [wanted.weight]


def arrow(module: str) -> tuple[Any, Any]:
    """pyarrow and one of its modules, or an error that names the extra which brings them."""
    try:
        return importlib.import_module("pyarrow"), importlib.import_module(f"pyarrow.{module}")
    except ImportError:
        raise ImportError(
            f"{module.upper()} files need pyarrow: pip install 'quadfeat[cli]'"
        ) from None


class _arrow_errors:
    """Arrow's errors with the file's name, and the column's name where Arrow counts columns."""

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
        raise ValueError(f"{self._path} cannot be read: {text}") from None


# --- svmlight -----------------------------------------------------------------------------------
def _svmlight(path: Path, wanted: Wanted, rows: int) -> Table:
    """Lines `label index:value ...` as CSR rows; a first reading finds the largest index.

    Indices count from 0 if one of them is 0, else from 1, unless the caller knows.
    """
    if wanted.targets() or wanted.weight is not None:
        raise ValueError(
            f"{path} has its labels in front of every line and no names; leave out "
            f"y={wanted.target!r} and sample_weight={wanted.weight!r}"
        )
    marks, n_rows, widest, has_zero = _survey(path)
    first_index, asked = wanted.first_index, wanted.width()
    if first_index is None:
        first_index = 0 if has_zero else 1
        if asked is not None and not has_zero and widest <= asked:
            raise ValueError(
                f"{path} has indices from 1 to {widest - 1} of {asked} columns, which may count "
                f"from 0 or from 1; read it with sklearn.datasets.load_svmlight_file(path, "
                f"n_features={asked}, zero_based=...) and give its rows"
            )
    if has_zero and first_index == 1:
        raise ValueError(
            f"{path} has an index 0, and those of the file before counted from 1; write both with "
            f"the same zero_based, with a 0 in the first of them if they count from there"
        )
    width = widest - first_index
    if asked is not None:
        if asked < width:
            raise ValueError(f"{path} has {width} columns, more than the {asked} that are expected")
        width = asked

    def read(first: int) -> Iterator[Batch]:
        place = int(np.searchsorted([row for row, _ in marks], first, side="right")) - 1
        row, offset = marks[max(place, 0)] if marks else (0, 0)
        for chunk, _ in _line_chunks(path, offset):
            X, y = _parse(chunk, path, row)
            skip = min(max(first - row, 0), len(y))
            row += len(y)
            X = X[:, 1:] if first_index else X
            X = sparse.csr_matrix((X.data, X.indices, X.indptr), shape=(len(y), width))
            if skip < len(y):
                yield Batch(X[skip:], y[skip:])

    return Table(n_rows, None, read, first_index)


def _survey(path: Path) -> tuple[list[tuple[int, int]], int, int, bool]:
    """(row, byte) where chunks begin, the number of rows, 1 + the largest index, and whether 0 is
    an index."""
    marks, row, widest, zero_based = [], 0, 1, False
    for chunk, offset in _line_chunks(path, 0):
        X, y = _parse(chunk, path, row)
        marks.append((row, offset))
        row += len(y)
        if X.nnz:
            widest = max(widest, int(X.indices.max()) + 1)
            zero_based = zero_based or bool(X.indices.min() == 0)
    return marks, row, widest, zero_based


def _parse(chunk: bytes, path: Path, row: int) -> tuple[Any, Any]:
    from sklearn.datasets import load_svmlight_file  # takes as long to import as all of quadfeat

    try:
        return load_svmlight_file(io.BytesIO(chunk), zero_based=True)
    except OverflowError:
        raise ValueError(
            f"{path} cannot be read after row {row}: an index is larger than {2**31 - 1}; count "
            f"the columns from 1"
        ) from None
    except ValueError as error:
        if not any(line.split(b"#")[0].strip() for line in chunk.splitlines()):
            return sparse.csr_matrix((0, 1)), np.empty(0)
        raise ValueError(f"{path} cannot be read after row {row}: {error}") from None


def _line_chunks(path: Path, offset: int) -> Iterator[tuple[bytes, int]]:
    """The bytes of a text file in pieces that end with a line, and where each begins."""
    with path.open("rb") as file:
        file.seek(offset)
        while chunk := file.read(_CHUNK):
            chunk += file.readline()
            yield chunk, offset
            offset += len(chunk)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def listed(names: Sequence[str]) -> str:
    """Names for a message, not too many of them."""
    shown = ", ".join(map(repr, names[:20]))
    return shown if len(names) <= 20 else f"{shown} and {len(names) - 20} more"


READERS: dict[str, Callable[[Path, Wanted, int], Table]] = {
    ".csv": _csv,
    ".tsv": _csv,
    ".parquet": _parquet,
    ".pq": _parquet,
    ".npy": _npy,
    ".npz": _npz,
    ".svm": _svmlight,
    ".svmlight": _svmlight,
    ".libsvm": _svmlight,
}
