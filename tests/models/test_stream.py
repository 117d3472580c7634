"""Streams: features in a buffer of limited size, checkpoints between blocks only."""

import numpy as np
import pytest

from quadfeat.data.sources import source
from quadfeat.models import stream
from quadfeat.models.stream import FeatureStream, LocalStream, Rows, gathered

from .maps import fixed


def encode(block):
    return block.y, block.weight


class Columns:
    """A map that repeats the first column of X."""

    def __init__(self, n_columns):
        self.n_columns_ = n_columns

    def write(self, X, out):
        out[:] = X[:, :1]


class Counted:
    """Sums that count rows, and a checkpoint that is always or never due."""

    def __init__(self, *, due=False):
        self.n, self.written, self._due = 0, [], due

    def add(self, Z, y, weight):
        self.n += len(Z)

    def state(self):
        return {"n": np.array(self.n)}

    def due(self):
        return self._due

    def write(self, stage, done, arrays):
        self.written.append((stage, done, int(arrays["n"]), int(arrays["seen"])))


class Pieces(LocalStream):
    """Two blocks of two pieces each."""

    def pieces(self, label, start=0):
        for done in (None, 1, None, 2):
            yield Rows(np.zeros((5, 1)), np.zeros((5, 1)), None), done

    def checksums(self, done):
        return np.array(100 + done)

    def expect(self, checksums):
        pass


@pytest.mark.parametrize("due", [True, False])
def test_checkpoints_are_written_when_due_and_never_inside_a_block(due):
    sums = Counted()
    checkpoint = Counted(due=due)
    Pieces().fold(sums, checkpoint, "sums")
    assert sums.n == 20
    whole = [("sums", 1, 10, 101), ("sums", 2, 20, 102)]
    assert checkpoint.written == (whole if due else [])


@pytest.mark.parametrize(("dtype", "longest"), [(np.float64, 1000), (np.float32, 2000)])
def test_features_at_a_time_take_no_more_memory_than_the_buffer(dtype, longest, monkeypatch):
    monkeypatch.setattr(stream, "_BUFFER", 8 * 600 * 1000)
    X = np.arange(5000.0, dtype=dtype)[:, None]
    rows = FeatureStream(source(X, X[:, :1]), Columns(600), encode)
    pieces = [(piece.Z[:, -1].copy(), done) for piece, done in rows.pieces("sums")]
    assert [len(Z) for Z, _ in pieces[:-1]] == [longest] * (len(pieces) - 1)
    np.testing.assert_array_equal(np.concatenate([Z for Z, _ in pieces]), X[:, 0])
    assert [done for _, done in pieces] == [None] * (len(pieces) - 1) + [1]


@pytest.mark.parametrize(("n_columns", "longest"), [(1, 8192), (10**6, 512)])
def test_products_are_neither_too_long_nor_too_short(n_columns, longest, monkeypatch):
    made = []
    monkeypatch.setattr(
        stream, "empty", lambda n, p, dtype: [made.append((n, p)), np.empty((n, 1), dtype)][1]
    )
    X = np.zeros((9000, 1))
    list(FeatureStream(source(X, X), Columns(n_columns), encode).pieces("sums"))
    assert made == [(longest, n_columns)]


@pytest.mark.parametrize("keep", [True, False])
def test_every_pass_has_the_same_features(keep, rng):
    X = rng.normal(size=(300, 2))
    features = fixed(20).fit(X)
    rows = FeatureStream(source(X, X), features, encode, keep=keep)
    for _ in range(2):
        Z = np.concatenate([piece.Z.copy() for piece, _ in rows.pieces("sums")])
        np.testing.assert_array_equal(Z, features.transform(X))


def test_gathered_pieces_end_with_blocks_and_hold_enough_rows():
    pieces = [
        (Rows(np.full((3, 1), float(i)), np.full((3, 1), float(i)), None), i if i % 2 else None)
        for i in range(8)
    ]
    found = list(gathered(iter(pieces), 7))
    assert [(len(rows.Z), done) for rows, done in found] == [(12, 3), (12, 7)]
    np.testing.assert_array_equal(
        np.concatenate([rows.Z for rows, _ in found])[:, 0], np.repeat(np.arange(8.0), 3)
    )


def test_pieces_are_joined_up_to_the_rows_that_are_asked_for():
    def pieces(sizes):
        for i, n in enumerate(sizes):
            yield Rows(np.full((n, 1), float(i)), np.full((n, 1), float(i)), None), i

    joined = [(len(rows.Z), done) for rows, done in gathered(pieces([3, 3, 3, 1]), 5)]
    assert joined == [(6, 1), (4, 3)]
    joined = [(len(rows.Z), done) for rows, done in gathered(pieces([3, 3]), 5)]
    assert joined == [(6, 1)]
    rows = next(pieces([4]))[0]
    assert len(rows.checksums(0)) == 0
    rows.expect(None)
