"""A sample depends on the values of rows, not on their order, blocks, copies or machine."""

import numpy as np
import pytest
from scipy import sparse

from quadfeat.data.blocks import Block
from quadfeat.data.sampling import RowSample, row_keys, target_keys


def drawn(X, y=None, weight=None, *, limit=100, by_class=False, rows=64):
    sample = RowSample(limit, by_class=by_class)
    for start in range(0, len(X), rows):
        some = slice(start, start + rows)
        parts = [None if part is None else part[some] for part in (X, y, weight)]
        sample.add(Block(*parts))
    return sample.drawn()


def same(one, two):
    for left, right in zip(one, two, strict=True):
        np.testing.assert_allclose(left, right, rtol=1e-12)


@pytest.fixture
def rows(rng):
    return rng.normal(size=(1000, 3)), rng.normal(size=1000)


# --- keys -----------------------------------------------------------------------------------------
def test_the_key_of_a_row_is_that_of_its_values(rng):
    X = rng.integers(-2, 3, size=(200, 4)).astype(float)
    X[3], X[4] = 0.0, -0.0
    keys = row_keys(X)
    for other in (X.astype(np.float32), sparse.csr_matrix(X), np.asfortranarray(X)):
        assert np.array_equal(keys, row_keys(other))
    distinct = np.unique(X, axis=0)
    assert len(np.unique(keys)) == len(distinct) and keys[3] == keys[4]
    assert row_keys(X[:, ::-1])[0] != keys[0]  # the order of columns counts


def test_keys_are_uniform_whatever_the_values(rng):
    for X in (np.arange(4096.0)[:, None], rng.normal(size=(4096, 2)), sparse.eye(4096)):
        share = row_keys(X) / 2.0**64
        counts = np.histogram(share, bins=16, range=(0, 1))[0]
        # Binomial counts of mean 256: five deviations.
        assert np.abs(counts - 256).max() < 5 * np.sqrt(256)


def test_the_key_of_a_target_tells_every_label_apart():
    large = np.array([2**53, 2**53 + 1, -(2**63), -(2**63) + 1, 5, -5])
    assert len(np.unique(target_keys(large))) == 6
    assert target_keys(large)[4] == target_keys(np.array([5.0]))[0]
    unsigned = np.array([2**64 - 1, 2**64 - 2, 7], dtype=np.uint64)
    assert len(np.unique(target_keys(unsigned))) == 3
    text = np.array(["a", "b", "ab"])
    assert len(np.unique(target_keys(text))) == 3
    assert np.array_equal(target_keys(text), target_keys(text.astype(object)))


# --- laws -----------------------------------------------------------------------------------------
@pytest.mark.parametrize("by_class", [False, True])
def test_order_and_blocks_change_nothing(rows, rng, by_class):
    X, y = rows
    y = (y > 1).astype(int) if by_class else y
    weight, order = rng.uniform(1, 2, size=1000), rng.permutation(1000)
    one = drawn(X, y, weight, by_class=by_class)
    for size in (1, 7, 1000):
        same(one, drawn(X, y, weight, by_class=by_class, rows=size))
        same(one, drawn(X[order], y[order], weight[order], by_class=by_class, rows=size))


@pytest.mark.parametrize("by_class", [False, True])
def test_copies_are_weights_and_weights_of_zero_are_nothing(rows, rng, by_class):
    X, y = rows
    y = (y > 1).astype(int) if by_class else y
    copies = rng.integers(0, 4, size=1000)
    each = rng.permutation(np.repeat(np.arange(1000), copies))
    same(
        drawn(X, y, copies.astype(float), by_class=by_class),
        drawn(X[each], y[each], by_class=by_class),
    )


def test_samples_of_parts_merge_to_that_of_the_whole(rows):
    X, y = rows
    labels = np.digitize(y, [-1.5, 2.0])
    whole = drawn(X, labels, by_class=True)
    for cut in (1, 300, 999):
        total = RowSample(100, by_class=True)
        for some in (slice(0, cut), slice(cut, None)):
            part = RowSample(100, by_class=True)
            part.add(Block(X[some], labels[some]))
            total.merge(part)
        same(whole, total.drawn())


def test_keys_alone_decide_what_another_pass_draws(rows):
    X, y = rows
    labels = np.digitize(y, [-1.5, 2.0])
    first = RowSample(100, by_class=True)
    first.add(Block(X, labels))
    keys = first.keys_only()
    assert keys.drawn().X.shape[1] == 0
    again = keys.blank()()
    again.add(Block(X, labels))
    same(first.drawn(), again.drawn())


def test_a_smaller_sample_is_that_of_the_data_itself(rows):
    X, y = rows
    labels = np.digitize(y, [-1.5, 2.0])
    whole = RowSample(400, by_class=True)
    whole.add(Block(X, labels))
    same(whole.limited(60).drawn(), drawn(X, labels, limit=60, by_class=True))


def test_targets_that_equal_their_row_are_drawn_like_others(rng):
    x = rng.normal(size=1000)
    assert len(drawn(x[:, None], x, limit=2000).X) == 1000


def test_periodic_data_are_seen_in_every_phase(rng):
    hour = np.arange(24 * 2000) % 24
    X = np.column_stack([hour, rng.normal(size=len(hour))])
    counts = np.bincount(drawn(X, X[:, 1], limit=2400).X[:, 0].astype(int), minlength=24)
    assert np.abs(counts - 100).max() < 5 * np.sqrt(100)


def test_every_class_is_in_the_sample_and_weighs_what_it_does_in_the_data(rng):
    n = 50_000
    X = rng.normal(size=(n, 2))
    y = np.zeros(n, dtype=int)
    y[rng.choice(n, 150, replace=False)] = 1
    y[:3] = 2
    sample = drawn(X, y, limit=1000, by_class=True, rows=8192)
    counts = np.bincount(sample.y)
    assert counts[1] == 100 and counts[2] == 3 and 880 <= len(sample.X) <= 1103
    mass = sample.weight / sample.share
    total = mass.sum() / n  # of a row that stands for as many as most do
    for label, count in ((1, 150), (2, 3)):
        # The share of a class is known to about 1 / sqrt(100) of it, or exactly.
        assert mass[sample.y == label].sum() == pytest.approx(count * total, rel=0.5)


def test_the_number_of_distinct_rows_is_known_about(rng):
    X = np.repeat(rng.normal(size=(30_000, 1)), 2, axis=0)
    sample = RowSample(2000, by_class=False)
    for start in range(0, len(X), 8192):
        sample.add(Block(X[start : start + 8192]))
    sample.drawn()
    assert not sample.complete
    assert sample.n_distinct == pytest.approx(30_000, rel=5 / np.sqrt(2000))
    few = RowSample(2000, by_class=False)
    few.add(Block(X[:100]))
    few.drawn()
    assert few.complete and few.n_distinct == 50


def test_wide_sparse_rows_are_made_dense_only_if_they_are_drawn(rng):
    where = rng.integers(100_000, size=(2, 30_000)) % [[3000], [100_000]]
    X = sparse.csr_matrix((rng.normal(size=30_000), where), shape=(3000, 100_000))
    sample = RowSample(20, by_class=False)
    sample.add(Block(X))
    assert sample.drawn().X.shape == (20, 100_000)
