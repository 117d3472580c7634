"""Fits on a cluster: the local result for any number of workers, and only sums are sent."""

import os
import signal

import dask
import dask.array as da
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest
from distributed import Client, LocalCluster
from sklearn.base import clone

import quadfeat as qf
from quadfeat.data.checkpoint import Checkpoint
from quadfeat.data.dask_source import Partitions
from quadfeat.data.partitioned import MappedRows
from quadfeat.data.sources import source
from quadfeat.models.cluster import ClusterStream

N, D, P = 6000, 5, 64


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(N, D))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] ** 2 + 0.1 * rng.normal(size=N)


@pytest.fixture(scope="module")
def cluster():
    with (
        dask.config.set({"distributed.worker.daemon": False}),
        LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # any free port: several runs may share a machine
            memory_limit="1GB",
        ) as made,
    ):
        yield made


@pytest.fixture(scope="module", params=[2, 4])
def client(request, cluster):
    cluster.scale(request.param)
    with Client(cluster) as made:
        made.wait_for_workers(request.param, timeout=60)
        yield made


def _regressor(**options):
    return qf.KernelRegressor(
        qf.RandomFourier(qf.Gaussian(0.3), n_components=P, random_state=0), **options
    )


def _classifier(**options):
    features = qf.RandomFourier(qf.Gaussian(0.3), n_components=P, random_state=0)
    return qf.KernelClassifier(features, **{"loss": "ridge", **options})


def _lazy(*arrays, chunk=700):
    return [da.from_array(array, chunks=(chunk, *array.shape[1:])) for array in arrays]


def _assert_same(ours, theirs, tolerance=1e-10):
    for name in ("coef_", "intercept_"):
        one, two = np.atleast_1d(getattr(ours, name)), np.atleast_1d(getattr(theirs, name))
        assert np.abs(one - two).max() <= tolerance * np.abs(two).max()


def test_ridge_is_the_local_fit(client, rows):
    X, y = rows
    weight = np.random.default_rng(1).random(N)
    for alpha in (1e-2, "auto"):
        local = _regressor(alpha=alpha).fit(X, y, weight)
        ours = _regressor(alpha=alpha).fit(*_lazy(X, y, weight))
        assert ours.alpha_ == pytest.approx(local.alpha_, rel=1e-12)
        _assert_same(ours, local)
    single = _regressor(alpha=1e-2, dtype="float32")
    _assert_same(single.fit(*_lazy(X, y)), clone(single).fit(X, y), 1e-4)
    labels = np.digitize(y, [0.5, 1.5])
    _assert_same(
        _classifier(alpha=1e-2).fit(*_lazy(X, labels)), _classifier(alpha=1e-2).fit(X, labels)
    )
    auto = _classifier(loss="auto", alpha=1e-2).fit(*_lazy(X, labels))
    assert auto.loss_ == "ridge" and "Dask" in auto.tuning_[0].judge


def test_a_metric_is_a_change_of_coordinates_on_the_workers(client, rows):
    X, y = rows
    metric = np.random.default_rng(2).normal(size=(3, D)) / 2
    kernel = qf.Gaussian(0.3, metric=metric)
    ours = _regressor(alpha=1e-2).set_params(features__kernel=kernel).fit(*_lazy(X, y))
    plain = _regressor(alpha=1e-2).fit(X @ metric.T, y)
    _assert_same(ours, plain)
    lazy = ours.predict(_lazy(X)[0]).compute()
    np.testing.assert_allclose(lazy, plain.predict(X @ metric.T), atol=1e-9)


def test_the_look_at_a_collection_is_the_local_one(rows, monkeypatch):
    monkeypatch.setattr("quadfeat.data.sampling._ROWS", 700)  # so that rows are left out
    X, y = rows
    labels = np.digitize(y, [0.5, 1.5])
    weight = np.maximum(np.random.default_rng(1).normal(size=N), 0.0)
    for given in ((X, labels), (X, labels, weight)):
        local = source(*given).summary(labels=True)
        with dask.config.set(scheduler="synchronous"):
            ours = Partitions(*_lazy(*given)).summary(labels=True)
        assert ours.n_rows == local.n_rows and len(local.drawn.X) < N // 4
        for one, two in zip(ours.drawn, local.drawn, strict=True):
            np.testing.assert_array_equal(one, two)
        assert ours.distinct_share == pytest.approx(local.distinct_share, rel=1e-12)
        np.testing.assert_array_equal(ours.classes, local.classes)
        np.testing.assert_allclose(ours.class_weights, local.class_weights, rtol=1e-13)


@pytest.mark.parametrize("loss", ["squared_hinge", "logistic"])
def test_other_losses_descend_to_the_local_optimum(cluster, rows, loss):
    X, y = rows
    labels = np.digitize(y, [0.5, 1.5])
    with Client(cluster):
        ours = _classifier(loss=loss, alpha=1.0).fit(*_lazy(X, labels, chunk=2500))
    # Both stop when 1e-9 of the loss is left, which leaves about the root of that in coefficients.
    _assert_same(ours, _classifier(loss=loss, alpha=1.0).fit(X, labels), 1e-4)


def test_data_frames_and_text_labels_are_fitted_where_they_are(cluster, rows):
    X, y = rows
    frame = pd.DataFrame(X, columns=list("abcde")).assign(
        label=np.array(["low", "mid", "high"])[np.digitize(y, [0.5, 1.5])]
    )
    lazy = dd.from_pandas(frame, npartitions=5)
    with Client(cluster):
        ours = _classifier(alpha=1e-2).fit(lazy[list("abcde")], lazy["label"])
        local = _classifier(alpha=1e-2).fit(frame[list("abcde")], frame["label"])
        _assert_same(ours, local)
        assert ours.classes_.tolist() == ["high", "low", "mid"]
        assert ours.feature_names_in_.tolist() == list("abcde")
        predicted = ours.predict(lazy[list("abcde")]).compute()
    np.testing.assert_array_equal(predicted, local.predict(frame[list("abcde")]))


def _chunk(X, number, folder):
    """Rows of a worker that dies when it computes them for the third time, during a fit."""
    if folder and number == 3:
        times = len(list(folder.iterdir()))
        if times < 3:
            (folder / str(times)).touch()
        if times == 2:
            os.kill(os.getpid(), signal.SIGKILL)
    return X


def _made_by_workers(X, folder):
    make = dask.delayed(_chunk, pure=False)
    parts = [
        da.from_delayed(make(X[i : i + 1000], i // 1000, folder), X[i : i + 1000].shape, X.dtype)
        for i in range(0, N, 1000)
    ]
    return da.concatenate(parts)


def test_a_worker_killed_in_the_middle_changes_no_bit(cluster, rows, tmp_path):
    X, y = rows
    (lazy_y,) = _lazy(y, chunk=1000)
    with Client(cluster):
        whole = _regressor(alpha=1e-2).fit(_made_by_workers(X, None), lazy_y)
        survived = _regressor(alpha=1e-2).fit(_made_by_workers(X, tmp_path), lazy_y)
    assert len(list(tmp_path.iterdir())) == 3, "no worker died"
    assert survived.coef_.tobytes() == whole.coef_.tobytes()


def test_only_sums_travel_between_workers(cluster, rows):
    X, y = rows
    p, chunk = 300, 1500
    model = _regressor(alpha=1e-2).set_params(features__n_components=p)
    with Client(cluster) as client:
        client.run(lambda dask_worker: dask_worker.transfer_incoming_log.clear())
        model.fit(*_lazy(X, y, chunk=chunk))
        logs = client.run(lambda dask_worker: list(dask_worker.transfer_incoming_log))
    sizes = [size for log in logs.values() for entry in log for size in entry["keys"].values()]
    # The square sum, the vectors beside it, and what Dask wraps them in.
    assert sizes and max(sizes) < 8 * p * (p + 5) + 10_000 < chunk * p * 8 / 2


class Precisions:
    """Sums that record the dtype of what is added."""

    def __init__(self):
        self.seen = set()

    def blank(self):
        return Precisions

    def add(self, Z, y, weight):
        self.seen.add(Z.dtype.name)

    def merge(self, other):
        self.seen |= other.seen


@pytest.mark.parametrize(("dtype", "seen"), [("float32", "float32"), (None, "float64")])
def test_a_dtype_is_that_of_the_features_on_the_workers(rows, dtype, seen):
    X, y = rows
    parts = Partitions(*_lazy(X.astype(np.float64), y), dtype=dtype)
    # Rows keep their own precision until they are centred, on the client too.
    assert parts.summary(labels=False).drawn.X.dtype == np.float64
    features = qf.RandomFourier(qf.Gaussian(0.3), n_components=8, random_state=0).fit(X)
    found = Precisions()
    ClusterStream(parts, features, lambda block: (block.y, block.weight)).fold(
        found, Checkpoint.none(), "sums"
    )
    assert found.seen == {seen}


def test_text_among_the_numbers_is_named_whatever_the_precision():
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "b": ["1", "x", "3"]})
    lazy = dd.from_pandas(frame, npartitions=1)
    target = dd.from_pandas(pd.Series([1.0, 2.0, 3.0]), npartitions=1)
    for dtype in (None, "float32"):
        with pytest.raises(ValueError, match="column 'b'"):
            _regressor(alpha=1.0, dtype=dtype).fit(lazy, target)


def test_what_a_cluster_cannot_do_is_said(rows, tmp_path):
    X, y = rows
    lazy_X, lazy_y = _lazy(X, y)
    with pytest.raises(TypeError, match=r"y must be a Dask collection.*from_array"):
        _regressor().fit(lazy_X, y)
    with pytest.raises(ValueError, match="6000 rows"):
        _regressor().fit(lazy_X, lazy_y[:-1])
    with pytest.raises(ValueError, match="checkpoint=None"):
        _regressor(checkpoint=tmp_path / "c").fit(lazy_X, lazy_y)
    bad = da.where(lazy_X > 3, np.nan, lazy_X)
    with pytest.raises(ValueError, match="not finite"):
        _regressor().fit(bad, lazy_y)


def test_predictions_are_lazy_and_those_of_the_model(client, rows):
    X, y = rows
    labels = np.array(["low", "mid", "high"])[np.digitize(y, [0.5, 1.5])]
    (lazy,) = _lazy(X)
    regressor = _regressor(alpha=1e-2).fit(X, y)
    predicted = regressor.predict(lazy)
    assert isinstance(predicted, da.Array) and predicted.chunks[0] == lazy.chunks[0]
    np.testing.assert_allclose(predicted.compute(), regressor.predict(X), rtol=1e-12, atol=1e-12)
    classifier = _classifier(alpha=1e-2).fit(X, labels)
    for name in ("predict", "decision_function", "predict_proba"):
        ours, local = getattr(classifier, name)(lazy), getattr(classifier, name)(X)
        assert ours.shape == local.shape and ours.dtype == local.dtype
        if name == "predict":
            np.testing.assert_array_equal(ours.compute(), local)
        else:
            np.testing.assert_allclose(ours.compute(), local, rtol=1e-9, atol=1e-11)
    with pytest.raises(ValueError, match="no other argument"):
        regressor.predict(lazy, return_std=True)


def test_partitions_without_rows_or_weights_are_nothing(rows):
    X, y = pd.DataFrame(rows[0][:300], columns=list("abcde")), rows[1][:300]
    table = dd.from_pandas(X.assign(y=y, w=1.0 * (np.arange(300) >= 100)), npartitions=3)
    none = table[table.a > 1e9]
    table = dd.concat([none, table, none])
    model = qf.KernelRegressor(qf.HermiteMercer(n_components=16))
    with dask.config.set(scheduler="threads"):
        theirs = clone(model).fit(table[list("abcde")], table.y, table.w)
        predicted = theirs.predict(table[list("abcde")]).compute()
    ours = clone(model).fit(X[100:], y[100:])
    np.testing.assert_allclose(predicted, ours.predict(X), rtol=0, atol=1e-8)


def test_workers_and_one_process_with_the_same_partitions_have_the_same_bits(rows, client):
    X, y = rows
    lazy = da.from_array(X, chunks=(1500, D)), da.from_array(y, chunks=1500)
    parts = [(X[i : i + 1500], y[i : i + 1500]) for i in range(0, N, 1500)]
    local = _regressor().fit(MappedRows(lambda task: [task(i, *p) for i, p in enumerate(parts)]))
    spread = _regressor().fit(*lazy)
    assert spread.coef_.tobytes() == local.coef_.tobytes()
    assert (spread.intercept_, spread.alpha_) == (local.intercept_, local.alpha_)
