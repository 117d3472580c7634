"""Iterators of blocks: read once, fitted like a list, resumed only over the same rows."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import quadfeat as qf
from quadfeat.data.iterators import IteratorSource

N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    return X, np.sin(2 * X["a"].to_numpy()) + 3 * X["b"].to_numpy()


def _model(**options):
    features = qf.QuasiRandomFourier(qf.Gaussian(0.2), n_components=50, random_state=0)
    return qf.KernelRegressor(features, alpha=0.1, **options)


def test_an_iterator_that_was_read_is_refused(table):
    X, y = table
    blocks = iter([(X, y)])
    _model().fit(blocks)
    with pytest.raises(ValueError, match="has no rows: it is empty, or has been read before"):
        _model().fit(blocks)


def test_an_iterator_resumes_only_over_the_rows_that_were_read(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 2))
    blocks = [(X[i : i + 5000], X[i : i + 5000, 0]) for i in range(0, 60_000, 5000)]
    model = _model(checkpoint=tmp_path / "c", checkpoint_interval=0.0)
    whole = _model().fit(iter(blocks))
    with pytest.raises(ValueError, match="cannot go on"):
        clone(model).fit(_broken(blocks, 10))
    saved = (tmp_path / "c").read_bytes()
    assert np.array_equal(clone(model).fit(iter(blocks)).coef_, whole.coef_)
    (tmp_path / "c").write_bytes(saved)
    other = [*blocks[:7], (blocks[7][0] + 1, blocks[7][1]), *blocks[8:]]
    with pytest.raises(ValueError, match="not those of an earlier pass"):
        clone(model).fit(iter(other))


def _broken(blocks, number):
    yield from blocks[:number]
    raise ValueError("cannot go on")


def test_an_iterator_of_few_rows_is_fitted_as_a_list_is(rng):
    X, y = rng.normal(size=(100, 2)), rng.normal(size=100)
    blocks = [(X[:60], y[:60]), (X[60:], y[60:])]
    model = qf.KernelRegressor(qf.HermiteMercer(n_components=8))
    listed = clone(model).fit(blocks)
    once = clone(model).fit(iter(blocks))
    assert once.alpha_ == listed.alpha_
    np.testing.assert_array_equal(once.coef_, listed.coef_)


def test_an_iterator_is_read_beforehand_only_as_far_as_a_sample_needs(monkeypatch):
    monkeypatch.setattr("quadfeat.data.sampling._ROWS", 100)
    read = []

    def blocks():
        for number in range(20):
            read.append(number)
            yield np.full((30, 2), number), np.full(30, number)

    once = IteratorSource.of(blocks())
    assert len(read) == 4
    assert not once.summary(labels=False).of_all and once.n_rows is None
    assert sum(len(block) for block in once.head.blocks()) == 120
    whole = np.concatenate([block.y for block in once.whole.blocks()])
    assert np.array_equal(whole, np.repeat(np.arange(20), 30))
