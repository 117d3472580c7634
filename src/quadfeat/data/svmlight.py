"""svmlight files as batches of sparse rows."""

from __future__ import annotations

import io
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from scipy import sparse

from .wanted import CHUNK, Batch, BatchReader, Wanted


# --- svmlight -----------------------------------------------------------------------------------
def read_svmlight(path: Path, wanted: Wanted, rows: int) -> BatchReader:
    """Lines `label index:value ...` as CSR rows; a first pass finds the largest index.

    Indices count from 0 if one of them is 0, else from 1, unless `wanted.first_index` says.
    """
    if wanted.targets() or wanted.weight is not None:
        raise ValueError(
            f"{path} has its labels in front of every line and no names; leave out "
            f"y={wanted.target!r} and sample_weight={wanted.weight!r}"
        )
    marks, n_rows, widest, has_zero = _first_pass(path)
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
            f"{path} has an index 0, but the indices of the earlier file start at 1; write both "
            f"with the same zero_based, with a 0 in the first if they start at 0"
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

    return BatchReader(n_rows, None, read, first_index)


def _first_pass(path: Path) -> tuple[list[tuple[int, int]], int, int, bool]:
    """(row, byte) of the start of each chunk, number of rows, largest index + 1, any index 0."""
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
    from sklearn.datasets import load_svmlight_file  # its import takes as long as that of quadfeat

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
    """Chunks of whole lines of a text file, and the byte where each begins."""
    with path.open("rb") as file:
        file.seek(offset)
        while chunk := file.read(CHUNK):
            chunk += file.readline()
            yield chunk, offset
            offset += len(chunk)
