"""Passes over changing data are refused, within a fit and when it is resumed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

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


class Changing:
    """A function that returns other blocks in later passes."""

    def __init__(self, blocks, later):
        self._blocks, self._later, self._passes = blocks, later, 0

    def __call__(self):
        self._passes += 1
        return iter(self._blocks if self._passes == 1 else self._later)


@pytest.mark.parametrize("rows", [100, 8192])
def test_a_pass_with_other_rows_than_the_first_is_refused(table, rows):
    X, y = table[0].to_numpy(), table[1]
    ones = np.ones(N)
    blocks = [(X, y, ones), (X + 1, y, ones), (X + 2, y, ones)]
    later = y.copy()
    later[17] += 1e-12
    for others in (
        blocks[:2],
        [*blocks, blocks[0]],
        [blocks[0], blocks[1], (X + 3, y, ones)],
        [blocks[0], (X + 1, later, ones), blocks[2]],
        [blocks[0], (X + 1, y, 2 * ones), blocks[2]],
        [],
    ):
        stream = source(Changing(blocks, others), rows=rows)
        assert sum(len(block) for block in stream.blocks()) == 3 * N
        with pytest.raises(ValueError, match="not those of an earlier pass"):
            list(stream.blocks())
    again = source(
        Changing(
            blocks,
            [
                (
                    np.concatenate([b[0] for b in blocks]),
                    *[np.concatenate([b[i] for b in blocks]) for i in (1, 2)],
                )
            ],
        ),
        rows=rows,
    )
    assert len(list(again.blocks())) == len(list(again.blocks())), "the same rows in other pieces"


def test_a_fit_whose_data_changes_between_passes_is_refused(table, tmp_path):
    X, y = table[0].to_numpy(), table[1]
    used = iter([(X, y)])
    for stream in (Changing([(X, y), (X, y)], [(X, y)]), lambda: used):
        with pytest.raises(ValueError, match="a function that returns a new iterator"):
            _model().fit(stream)
    path = tmp_path / "t.csv"
    table[0].assign(y=y).to_csv(path, index=False)
    stream = source(path, "y")
    list(stream.blocks())
    with path.open("a") as file:
        file.write("1,2,3,4\n")
    with pytest.raises(ValueError, match=r"t\.csv: rows 0 to 600 are not those.*nobody writes to"):
        list(stream.blocks())


@pytest.mark.usefixtures("killed_at_the_end")
@pytest.mark.parametrize("row", [0, 7, 9_999])
def test_one_changed_target_is_other_data(row, tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(10_000, 2))
    y = X[:, 0].copy()
    model = _model(checkpoint=tmp_path / "c", checkpoint_interval=0.0).fit(X, y)
    y[row] += 1.0
    with pytest.raises(ValueError, match="other data"):
        clone(model).fit(X, y)


def test_a_metric_is_part_of_the_parameters_by_value(table, tmp_path, killed_at_the_end):
    X, y = table
    metric = np.random.default_rng(0).normal(size=(40, 3))

    def model(metric):
        features = qf.RandomFourier(qf.Gaussian(0.1, metric=metric), n_components=8, random_state=0)
        return qf.KernelRegressor(
            features, alpha=0.1, checkpoint=tmp_path / "checkpoint", checkpoint_interval=0
        )

    model(metric).fit(X, y)
    model(metric.copy()).fit(X, y)
    other = metric.copy()
    other[20, 1] = np.nextafter(other[20, 1], 9.0)
    with pytest.raises(ValueError, match="from a fit with other parameters"):
        model(other).fit(X, y)
