"""Partitions that change between passes are refused."""

import dask
import dask.dataframe as dd
import numpy as np
import pandas as pd
import pytest

import quadfeat as qf

N = 600


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(3)
    X = pd.DataFrame(rng.normal(size=(N, 3)), columns=["a", "b", "c"])
    return X, np.sin(2 * X["a"].to_numpy()) + 3 * X["b"].to_numpy()


def _model(**options):
    features = qf.QuasiRandomFourier(qf.Gaussian(0.2), n_components=50, random_state=0)
    return qf.KernelRegressor(features, alpha=0.1, **options)


class _Fickle:
    """A partition with other rows when it is computed for the third time."""

    def __init__(self, X):
        self._X, self._times = X, 0

    def __call__(self):
        self._times += 1
        return self._X if self._times < 3 else self._X + 1


def test_a_partition_that_is_not_what_was_looked_at_is_refused(table):
    X, y = table
    fickle = dask.delayed(_Fickle(X), pure=False)
    target = dask.delayed(lambda: pd.Series(y), pure=False)
    with (
        dask.config.set(scheduler="synchronous"),
        pytest.raises(ValueError, match=r"other rows than in the first pass.*persist"),
    ):
        _model().fit(
            dd.from_delayed([fickle()], meta=X.iloc[:0]),
            dd.from_delayed([target()], meta=pd.Series(y[:0])),
        )
