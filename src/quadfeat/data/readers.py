"""Files as batches of rows: one function per format, each in bounded memory.

A reader opens a file, checks its header, and returns a `BatchReader`. Batches have as many rows as
suits the format; `Source` cuts them into equal blocks.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from .numpy_files import read_npy, read_npz
from .svmlight import read_svmlight
from .tables import read_csv, read_parquet
from .wanted import BatchReader, Wanted


def open_reader(path: Path, wanted: Wanted, rows: int) -> BatchReader:
    """Open a file with the reader for its ending."""
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


READERS: dict[str, Callable[[Path, Wanted, int], BatchReader]] = {
    ".csv": read_csv,
    ".tsv": read_csv,
    ".parquet": read_parquet,
    ".pq": read_parquet,
    ".npy": read_npy,
    ".npz": read_npz,
    ".svm": read_svmlight,
    ".svmlight": read_svmlight,
    ".libsvm": read_svmlight,
}
