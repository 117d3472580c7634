"""Rows in partitions of any engine: Spark, Dask and one process give the same bits."""

import sys

import dask
import dask.array as da
import numpy as np
import pytest

import quadfeat as qf
from quadfeat.data import MappedRows, spark_rows

SIZES = (900, 700, 400, 1000)


@pytest.fixture
def rows(rng):
    X = rng.normal(size=(sum(SIZES), 3))
    return X, np.sin(2 * X[:, 0]) + X[:, 1] * X[:, 2] + 0.1 * rng.normal(size=len(X))


def parts_of(*arrays):
    return list(zip(*(np.split(a, np.cumsum(SIZES)[:-1]) for a in arrays), strict=True))


def one_process(parts):
    """Partitions that are asked in reverse, as an engine may answer in any order."""
    numbered = list(enumerate(parts))[::-1]
    return MappedRows(lambda task: [task(number, *part) for number, part in numbered])


def regressor():
    return qf.KernelRegressor(qf.KernelFeatures(qf.Gaussian(0.3), n_components=32))


def assert_same_bits(one, other):
    assert one.coef_.tobytes() == other.coef_.tobytes()
    assert np.array_equal(one.intercept_, other.intercept_) and one.alpha_ == other.alpha_


def test_dask_in_threads_and_one_process_have_the_same_coefficients(rows):
    lazy = [da.from_array(a, chunks=(SIZES, *a.shape[1:])) for a in rows]
    with dask.config.set(scheduler="threads", num_workers=2):
        assert_same_bits(regressor().fit(*lazy), regressor().fit(one_process(parts_of(*rows))))


@pytest.mark.filterwarnings("ignore:PySpark does not yet fully support pandas:FutureWarning")
def test_spark_and_one_process_have_the_same_coefficients(rows, monkeypatch):
    sql = pytest.importorskip("pyspark.sql")
    X, y = rows
    weight = np.linspace(1.0, 2.0, len(y))
    local = regressor().fit(one_process(parts_of(X, y, weight)))
    table = np.column_stack([X, y, weight])
    parts = [part.tolist() for (part,) in parts_of(table)]
    parts.insert(2, [])  # a partition without rows is left out
    monkeypatch.setenv("PYSPARK_PYTHON", sys.executable)
    monkeypatch.setenv("SPARK_LOCAL_IP", "127.0.0.1")
    session = (
        sql.SparkSession.builder.master("local[1]")
        .config("spark.ui.enabled", "false")
        .config("spark.driver.memory", "512m")
        # A process of seconds spends most of them on compiling and on threads that collect.
        .config("spark.driver.extraJavaOptions", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        .getOrCreate()
    )
    try:
        spread = session.sparkContext.parallelize(parts, len(parts)).flatMap(lambda part: part)
        columns = [f"{name} double" for name in ("a", "b", "c", "y", "weight")]
        frame = session.createDataFrame(spread, ", ".join(columns))
        model = regressor().fit(spark_rows(frame, "y", "weight"))
    finally:
        session.stop()
    assert_same_bits(model, local)
    assert list(model.feature_names_in_) == ["a", "b", "c"]


def test_partitions_that_change_are_refused(rows, rng):
    def changing(task):
        return [task(i, X + rng.normal(), y) for i, (X, y) in enumerate(parts_of(*rows))]

    with pytest.raises(ValueError, match="has other rows than"):
        regressor().fit(MappedRows(changing))


def test_what_does_not_fit_partitions_is_refused(rows):
    local = one_process(parts_of(*rows))
    with pytest.raises(TypeError, match="MappedRows contain targets"):
        regressor().fit(local, rows[1])
    with pytest.raises(ValueError, match="have no rows"):
        regressor().fit(MappedRows(lambda task: []))
