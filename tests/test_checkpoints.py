"""Checkpointed fits: killed, out of disk or given bad data, they lose nothing that was written."""

import resource

import numpy as np
import pytest

import quadfeat as qf
from quadfeat import _archive

from .killing import duration, killed_until_done, same_model

FEATURES = qf.QuasiRandomFourier(qf.Gaussian(0.1), n_components=64, random_state=0)


def _ridge(path):
    return qf.KernelRegressor(FEATURES, checkpoint=path, checkpoint_interval=0)


def _logistic(path):
    return qf.KernelClassifier(
        FEATURES, loss="logistic", alpha=1.0, checkpoint=path, checkpoint_interval=0
    )


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60_000, 6)).astype(np.float32)
    return X, np.sin(X[:, 0]) + X[:, 1]


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
@pytest.mark.parametrize("make", [_ridge, _logistic], ids=["ridge", "logistic"])
def test_a_fit_killed_at_random_moments_ends_in_the_same_bits(make, rows, tmp_path):
    X, y = rows
    data = (X, y) if make is _ridge else (X[:20_000], y[:20_000] > 0)
    whole, killed = tmp_path / "whole", tmp_path / "killed"
    whole.mkdir()
    killed.mkdir()
    seconds = duration(make, data, whole)
    killed_until_done(make, data, killed, seconds, np.random.default_rng(0), kills=5)
    assert same_model(killed / "model.qf", whole / "model.qf")
    assert {path.name for path in killed.iterdir()} <= {"checkpoint", "model.qf"}


class Breaking:
    """Blocks that can be looked at once, and then cannot be read beyond the fifth."""

    def __init__(self, X, y):
        self.X, self.y, self.whole, self.broken = X, y, 0, True

    def __call__(self):
        for number, start in enumerate(range(0, len(self.X), 8192)):
            if self.broken and self.whole and number == 5:
                raise ValueError("column 'x3' holds text from here on")
            yield self.X[start : start + 8192], self.y[start : start + 8192]
        self.whole += 1


def test_data_that_turns_bad_leaves_the_checkpoint_and_the_same_model_later(rows, tmp_path):
    stream = Breaking(*rows)
    with pytest.raises(ValueError, match="holds text"):
        _ridge(tmp_path / "checkpoint").fit(stream)
    assert _archive.read(tmp_path / "checkpoint")[0]["block"] == 5
    stream.broken = False
    resumed = _ridge(tmp_path / "checkpoint").fit(stream)
    assert resumed.coef_.tobytes() == _ridge(None).fit(stream).coef_.tobytes()


def test_a_full_disk_is_named_and_leaves_the_earlier_checkpoint(rows, tmp_path):
    stream, path = Breaking(*rows), tmp_path / "checkpoint"
    with pytest.raises(ValueError, match="holds text"):
        _ridge(path).fit(stream)
    stream.broken, before = False, path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) // 2, hard))
    try:
        with pytest.raises(OSError, match="checkpoint was not written"):
            _ridge(path).fit(stream)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert path.read_bytes() == before
    assert [each.name for each in tmp_path.iterdir()] == ["checkpoint"]


@pytest.mark.usefixtures("killed_at_the_end")
def test_a_checkpoint_is_not_taken_for_a_stream_that_has_grown(rows, tmp_path):
    X, y = rows
    grown = [(X[:20_000], y[:20_000]), (X[20_000:], y[20_000:])]
    _ridge(tmp_path / "checkpoint").fit(lambda: iter(grown[:1]))
    with pytest.raises(ValueError, match="a fit with other data"):
        _ridge(tmp_path / "checkpoint").fit(lambda: iter(grown))


@pytest.mark.usefixtures("killed_at_the_end")
def test_parameters_may_be_lists_of_different_lengths(tmp_path, rng):
    X = rng.normal(size=(100, 3))
    kernel = qf.Anova(qf.Gaussian(0.5), [[0, 1], [2]])
    grid = qf.DenseGrid(kernel, n_points=3)
    model = qf.KernelRegressor(grid, alpha=1.0, checkpoint=tmp_path / "c", checkpoint_interval=0)
    model.fit(X, X[:, 0])
    other = qf.DenseGrid(qf.Anova(qf.Gaussian(0.5), [[0], [1, 2]]), n_points=3)
    with pytest.raises(ValueError, match="other parameters"):
        model.set_params(features=other).fit(X, X[:, 0])
