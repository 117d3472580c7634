"""The rows that `fit` reads from a file, block by block, with targets, groups and times."""

from __future__ import annotations

import shutil
import sys
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import blake2b
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from ..data.frame import frame
from ..data.sources import source
from ..data.table_files import is_table_file, open_table, table_of_array
from ..data.table_source import column_values
from ..data.tables import arrow

TEST_ROWS = 50_000  # most held-out rows to score
_HASHED = 100_000  # most values in the fingerprint of a file
_NUMBER_FILES = (".npz", ".svm", ".svmlight", ".libsvm")
_MAGIC = ((b"PAR1", ".parquet"), (b"\x93NUMPY", ".npy"), (b"PK\x03\x04", ".npz"))


@dataclass(frozen=True, eq=False)
class RowBlock:
    """Some rows: a table or matrix X, targets, weights, and the group or time of each row."""

    X: Any
    y: Any
    weight: Any = None
    key: Any = None

    def __len__(self) -> int:
        return len(self.y)

    def at(self, rows: Any) -> RowBlock:
        """The rows where this is True."""
        X = self.X.filter(rows) if hasattr(self.X, "filter") else self.X[rows]
        y, weight, key = (None if v is None else v[rows] for v in (self.y, self.weight, self.key))
        return RowBlock(X, y, weight, key)

    def without(self, names: Iterable[str]) -> RowBlock:
        """The rows without some columns of X; names that a table does not have are ignored."""
        if not hasattr(self.X, "drop_columns"):
            return self
        return replace(self, X=self.X.drop_columns([n for n in names if n in self.X.column_names]))

    @staticmethod
    def joined(blocks: Sequence[RowBlock]) -> RowBlock:
        """All rows of several blocks."""
        first = blocks[0]
        if hasattr(first.X, "filter"):
            X = arrow("compute")[0].concat_tables([block.X for block in blocks])
        else:
            stack: Any = sparse.vstack if sparse.issparse(first.X) else np.concatenate
            X = stack([block.X for block in blocks])
            X = X.tocsr() if sparse.issparse(X) else X
        y, weight, key = (
            None if parts[0] is None else np.concatenate(parts)
            for parts in zip(*((b.y, b.weight, b.key) for b in blocks), strict=True)
        )
        return RowBlock(X, y, weight, key)


@dataclass(frozen=True, eq=False)
class RowStream:
    """The rows of a file that have a target; every pass reads the file again.

    `key` is the column of groups or times that splits the rows.
    """

    name: str
    n_rows: int | None
    columns: tuple[str, ...] | None
    blocks: Callable[[], Iterator[RowBlock]]
    without_target: int = 0

    def fingerprint(self) -> str:
        """The number of rows and a hash of the first ones, to recognise a file."""
        first = next(self.blocks())
        n_columns = len(self.columns or ()) or first.X.shape[1]
        few = max(1, min(1000, _HASHED // n_columns))
        if hasattr(first.X, "filter"):
            rows = repr(first.X.slice(0, few).to_pydict())
        else:
            head = first.X[:few]
            rows = repr((head.toarray() if sparse.issparse(head) else head).tolist())
        text = f"{rows}\n{first.y[:1000].tolist()}"
        return f"{self.n_rows}-{blake2b(text.encode(), digest_size=8).hexdigest()}"

    def where(self, chosen: Callable[[RowBlock, int], Any]) -> Callable[[], Iterator[RowBlock]]:
        """A function that reads the rows for which `chosen(block, its first row)` is True."""

        def blocks() -> Iterator[RowBlock]:
            row = 0
            for block in self.blocks():
                rows = chosen(block, row)
                row += len(block)
                if rows.all():
                    yield block
                elif rows.any():
                    yield block.at(rows)

        return blocks


def open_rows(
    path: Path,
    target: str | None,
    weight: str | None = None,
    group: str | None = None,
    time: str | None = None,
) -> RowStream:
    """The rows of any file; a ValueError says what is wrong with it.

    Target, weight and group are not used as columns to learn from; time is.
    """
    key = group or time
    if not path.exists():
        fix = "; name one file, or a folder of Parquet files" if "*" in path.name else ""
        fix = "; save what is there as a file first" if ":/" in str(path) else fix
        raise FileNotFoundError(f"there is no file {path}{fix}")
    if not path.is_dir() and path.suffix.lower() in _NUMBER_FILES:
        return _of_numbers(path, target, weight, key)
    if not (is_table_file(path) or path.suffix.lower() == ".npy"):
        raise ValueError(
            f"{path} {_ending(path)}; give a file that ends in .csv, .tsv, .parquet, .npy, .npz "
            f"or .svmlight, or a folder of Parquet files"
        )
    file = table_of_array(path) if path.suffix.lower() == ".npy" else open_table(path)
    if target is None:
        shown = ", ".join(map(repr, file.columns[:20]))
        raise ValueError(
            f"{path} has no target yet: name one with --target; its columns are {shown}"
        )
    for name in (target, weight, key):
        if name is not None:
            file.require(name)
    if target in (weight, key):
        raise ValueError(f"{target!r} is the target and cannot also be the weight, group or time")
    out = [name for name in file.columns if name not in (target, weight, group)]
    if not out:
        raise ValueError(f"{path} has no column except {target!r}; it needs columns to learn from")

    def blocks() -> Iterator[RowBlock]:
        for table in file.tables():
            yield _row_block(table, target, weight, key, out)

    stream = RowStream(str(path), file.n_rows, tuple(out), blocks)
    return _checked(stream, file.n_rows, target)


def _ending(path: Path) -> str:
    if not path.suffix:
        return "has no ending that tells its format"
    return f"ends in {path.suffix!r}, which is not a known format"


def _row_block(
    table: Any, target: str, weight: str | None, key: str | None, out: list[str]
) -> RowBlock:
    pa, compute = arrow("compute")
    column = table.column(target)
    if pa.types.is_temporal(column.type):
        raise ValueError(
            f"the target {target!r} holds dates, and a model predicts numbers or classes; give a "
            f"number such as days since a date"
        )
    valid = compute.is_valid(column)
    if pa.types.is_floating(column.type):
        valid = compute.and_(valid, compute.invert(compute.is_nan(column.fill_null(0.0))))
    if not compute.all(valid).as_py():
        table = table.filter(valid)
    y = column_values(table, target)
    w = None if weight is None else _weights(table, weight, pa)
    keys = None if key is None else _keys(table, key)
    return RowBlock(table.select(out), y, w, keys)


def _weights(table: Any, name: str, pa: Any) -> Any:
    try:
        values = column_values(table, name).astype(np.float64)
    except (TypeError, ValueError):
        raise ValueError(
            f"the weight {name!r} holds no numbers; name a column of numbers"
        ) from None
    if not (np.isfinite(values).all() and (values >= 0).all()):
        raise ValueError(
            f"the weight {name!r} has missing or negative values; give weights above 0"
        )
    return values


def _keys(table: Any, name: str) -> Any:
    """Groups as texts, or times as numbers, (n,); gaps are a separate group, or NaN."""
    column = frame(table.select([name])).column(name)
    if column.kind in ("date", "number", "boolean"):
        return column.as_number().values
    return np.array([*column.texts, ""], dtype=object)[column.values]


def _checked(stream: RowStream, n_read: int | None, target: str) -> RowStream:
    """The stream with the number of its rows that have a target."""
    count = 0
    for block in stream.blocks():
        _check_finite(block.X, count, stream.name)
        count += len(block)
    if count == 0:
        why = "no rows" if not n_read else f"no value of the target {target!r}"
        raise ValueError(f"{stream.name} has {why}; give a file with rows to learn from")
    return replace(stream, n_rows=count, without_target=(n_read or count) - count)


def _check_finite(table: Any, row: int, name: str) -> None:
    """Raise an error for infinite numbers, with their column and row."""
    pa, compute = arrow("compute")
    for column in table.column_names:
        values = table.column(column)
        if pa.types.is_floating(values.type):
            infinite = compute.is_inf(values).fill_null(False)
            if compute.any(infinite).as_py():
                at = row + compute.index(infinite, True).as_py()
                raise ValueError(
                    f"{name}: column {column!r} has an infinite value in row {at}, counted from 0; "
                    f"replace it by a number, or leave it empty"
                )


def _of_numbers(path: Path, target: str | None, weight: str | None, key: str | None) -> RowStream:
    if key is not None:
        raise ValueError(f"{path} has no named columns, so rows cannot be split by {key!r}")
    data = source(path, target, weight)
    count = 0
    for block in data.blocks():
        if block.y is None:
            raise ValueError(f"{path} has no target; name the array by --target, such as y")
        count += len(block)
    if count == 0:
        raise ValueError(f"{path} has no rows; give a file with rows to learn from")

    def blocks() -> Iterator[RowBlock]:
        for block in data.blocks():
            yield RowBlock(block.X, np.asarray(block.y), block.weight)

    return RowStream(str(path), count, None, blocks)


def collected(blocks: Iterator[RowBlock], limit: int) -> RowBlock:
    """A random sample of at most `limit` rows, in their order."""
    rng = np.random.default_rng(0)
    kept: list[RowBlock] = []
    keys: list[Any] = []
    cut = np.inf  # rows with larger keys are not in the sample
    for block in blocks:
        key = rng.random(len(block))
        below = key < cut
        kept.append(block if below.all() else block.at(below))
        keys.append(key[below])
        if sum(map(len, kept)) > 2 * limit:
            kept, keys = _smallest(kept, keys, limit)
            cut = float(keys[0].max())
    if not kept:
        raise ValueError("one side of the split has no rows; give more rows")
    return _smallest(kept, keys, limit)[0][0]


def _smallest(
    blocks: list[RowBlock], keys: list[Any], limit: int
) -> tuple[list[RowBlock], list[Any]]:
    key, joined = np.concatenate(keys), RowBlock.joined(blocks)
    if len(joined) <= limit:
        return [joined], [key]
    chosen = np.zeros(len(key), dtype=bool)
    chosen[np.argsort(key, kind="stable")[:limit]] = True
    return [joined.at(chosen)], [key[chosen]]


def dropped(kinds: dict[str, str] | None) -> list[str]:
    """The columns of kind "drop"."""
    return [name for name, kind in (kinds or {}).items() if kind == "drop"]


@contextmanager
def local_file(path: Path) -> Iterator[Path]:
    """The path itself, or for "-" a temporary file with the contents of the pipe."""
    if str(path) != "-":
        yield path
        return
    if sys.stdin.isatty():
        raise ValueError(
            "- reads a pipe, and nothing is piped in: cat data.csv | quadfeat fit - ..."
        )
    with tempfile.TemporaryDirectory(prefix="quadfeat-") as folder:
        spooled = Path(folder) / "pipe"
        with spooled.open("wb") as file:
            shutil.copyfileobj(sys.stdin.buffer, file)
        with spooled.open("rb") as file:
            head = file.read(8)
        if not head:
            raise ValueError("- reads a pipe, and the pipe was empty; pipe a CSV file into it")
        ending = next((end for magic, end in _MAGIC if head.startswith(magic)), ".csv")
        spooled = spooled.rename(spooled.with_suffix(ending))
        try:
            yield spooled
        except ValueError as error:
            raise ValueError(str(error).replace(str(spooled), "the pipe")) from None
