"""Blocks of a stream: columns matched by name, one form for all, nothing dropped silently."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse

import quadfeat as qf
from quadfeat.data.sources import source

N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    return X, np.sin(2 * X["a"].to_numpy()) + 3 * X["b"].to_numpy()


def _model(**options):
    features = qf.QuasiRandomFourier(qf.Gaussian(0.2), n_components=50, random_state=0)
    return qf.KernelRegressor(features, alpha=0.1, **options)


def _pieces(X, y, *orders):
    edges = np.linspace(0, len(X), len(orders) + 1).astype(int)
    return [
        (X[i:j][order], y[i:j]) for i, j, order in zip(edges[:-1], edges[1:], orders, strict=True)
    ]


# --- names ----------------------------------------------------------------------------------------
@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
@pytest.mark.parametrize("form", [list, lambda blocks: lambda: iter(blocks), iter])
def test_columns_are_found_by_name_in_every_block_of_a_fit_and_a_prediction(table, make, form):
    X, y = table
    orders = [["c", "a", "b"], ["a", "b", "c"], ["b", "c", "a"]]
    blocks = [(make(part), target) for part, target in _pieces(X, y, *orders)]
    whole = _model().fit(X[["c", "a", "b"]], y)
    model = _model().fit(form(blocks))
    assert model.feature_names_in_.tolist() == ["c", "a", "b"]
    assert np.array_equal(model.coef_, whole.coef_)
    expected = whole.predict(X[["c", "a", "b"]])
    assert np.array_equal(model.predict(form([make(X[["b", "a", "c"]])])), expected)
    assert np.array_equal(whole.predict(form([make(X)])), expected)


def test_a_column_too_few_or_too_many_is_named(table):
    X, y = table
    for second, message in (
        (X[["a", "c"]], "from row 600 on has no column 'b'; it has 'a', 'c'"),
        (X.assign(d=1.0), "from row 600 on has a column 'd'"),
        (X.rename(columns={"b": "a"}), "has two columns 'a'"),
    ):
        with pytest.raises(ValueError, match=message):
            list(source([(X, y), (second, y)]).blocks())
    model = _model().fit([(X, y)])
    with pytest.raises(ValueError, match="no column 'c'"):
        model.predict([X[["a", "b"]]])


def test_blocks_with_names_and_without_are_not_mixed(table):
    X, y = table
    for blocks in ([(X, y), (X.to_numpy(), y)], [(X.to_numpy(), y), (X, y)]):
        with pytest.raises(ValueError, match="all blocks as DataFrames, or all as arrays"):
            list(source(blocks).blocks())
    model = _model().fit([(X, y)])
    assert np.array_equal(model.predict([X.to_numpy()]), model.predict(X))


def test_targets_are_found_by_name_too(table):
    X, y = table
    Y = pd.DataFrame({"s": y, "t": -y})
    (block,) = source([(X, Y), (X, Y[["t", "s"]])]).blocks()
    assert np.array_equal(block.y, np.concatenate([Y, Y]))
    with pytest.raises(ValueError, match="no target 't'"):
        list(source([(X, Y), (X, Y.rename(columns={"t": "u"}))]).blocks())


def test_partitions_of_a_collection_are_ordered_by_name(table):
    X, y = table
    parts = [dask.delayed(X[:300]), dask.delayed(X[300:][["c", "b", "a"]])]
    lazy = dd.from_delayed(parts, meta=X.iloc[:0], verify_meta=False)
    targets = [dask.delayed(pd.Series(y[:300])), dask.delayed(pd.Series(y[300:]))]
    ours = _model().fit(lazy, dd.from_delayed(targets, meta=pd.Series(y[:0])))
    local = _model().fit(X, y)
    np.testing.assert_allclose(ours.predict(X), local.predict(X), rtol=1e-8, atol=1e-10)


# --- weights and targets --------------------------------------------------------------------------
def test_weights_and_targets_are_given_to_all_blocks_or_to_none(table):
    X, y = table
    with_weight, without = (X, y, np.ones(N)), (X, y)
    for blocks, message in (
        ([without, with_weight], "there are weights from row 600 on and no weights before"),
        ([with_weight, without], "there are no weights from row 600 on and weights before"),
        ([(X, y), (X,)], "there are no targets from row 600 on and targets before"),
    ):
        for form in (list, iter):
            with pytest.raises(ValueError, match=message):
                _model().fit(form(blocks))


# --- what would be dropped in silence -------------------------------------------------------------
def _masked(X):
    return np.ma.masked_array(X, mask=X > 2)


@pytest.mark.parametrize("form", ["whole", "block", "frame", "file"])
def test_complex_numbers_are_refused(form, tmp_path):
    X = np.ones((9, 2)) + 1j
    np.savez(tmp_path / "t.npz", X=X, y=np.arange(9.0))
    given = {
        "whole": (X, np.arange(9.0)),
        "block": ([(X, np.arange(9.0))],),
        "frame": ([(pd.DataFrame(X, columns=["a", "b"]), np.arange(9.0))],),
        "file": (tmp_path / "t.npz", "y"),
    }[form]
    with pytest.raises(ValueError, match=r"[Cc]omplex"):
        _model().fit(*given)
    sound = np.random.default_rng(0).normal(size=(9, 2))
    with pytest.raises(ValueError, match="y is complex"):
        _model().fit([(sound, np.arange(9.0) + 1j)])
    with pytest.raises(ValueError, match="complex"):
        list(source(sparse.csr_array(X)).blocks())


@pytest.mark.parametrize("make", [pd.DataFrame, pl.from_pandas], ids=["pandas", "polars"])
def test_dates_among_features_are_named(make):
    days = pd.date_range("2024-01-01", periods=5)
    for column in (days, days - days[0]):
        frame = make(pd.DataFrame({"x": np.arange(5.0), "day": column}))
        for given in (frame, [(frame, np.arange(5.0))]):
            with pytest.raises(ValueError, match="'day' holds dates or times"):
                list(source(given).blocks())
    with pytest.raises(ValueError, match="dates or times"):
        list(source(np.array([days, days])).blocks())


def test_masked_entries_are_refused_and_a_mask_of_nothing_is_not(table):
    X, y = table[0].to_numpy(), table[1]
    for given in ((_masked(X), y), (X, _masked(y)), ([(_masked(X), y)],), ([(X, _masked(y))],)):
        with pytest.raises(ValueError, match="masked entries"):
            _model().fit(*given)
    model = _model().fit(np.ma.masked_array(X), y)
    assert np.array_equal(model.coef_, _model().fit(X, y).coef_)
    with pytest.raises(ValueError, match="masked entries"):
        model.predict(_masked(X))


def test_sparse_and_dense_blocks_are_not_mixed(table):
    X, y = table[0].to_numpy(), table[1]
    with pytest.raises(ValueError, match="blocks are sparse before row 600 or from there on"):
        _model().fit([(X, y), (sparse.csr_array(X), y)])


@pytest.mark.parametrize("order", [1, -1])
def test_text_and_numbers_are_not_labels_of_one_stream(order, rng):
    X, y = rng.normal(size=(20, 2)), np.arange(20) % 2
    with pytest.raises(ValueError, match="targets are text before row 20"):
        qf.KernelClassifier().fit([(X, y), (X, y.astype(str))][::order])
