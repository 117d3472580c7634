"""Checkpointed fits: killed, out of disk or given bad data, they lose nothing that was written."""

import contextlib
import errno
import resource

import numpy as np
import pandas as pd
import pytest

import quadfeat as qf
from quadfeat.app import main
from quadfeat.data import archive

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
    """Blocks that the first pass reads whole, and later passes only up to the fifth (`last`)."""

    def __init__(self, X, y):
        self.X, self.y, self.whole, self.broken, self.last = X, y, 0, True, 5

    def __call__(self):
        for number, start in enumerate(range(0, len(self.X), 8192)):
            if self.broken and self.whole and number == self.last:
                raise ValueError("column 'x3' holds text from here on")
            yield self.X[start : start + 8192], self.y[start : start + 8192]
        self.whole += 1


def test_data_that_turns_bad_leaves_the_checkpoint_and_the_same_model_later(rows, tmp_path):
    stream = Breaking(*rows)
    with pytest.raises(ValueError, match="holds text"):
        _ridge(tmp_path / "checkpoint").fit(stream)
    assert archive.read(tmp_path / "checkpoint")[0]["block"] == 5
    stream.broken = False
    resumed = _ridge(tmp_path / "checkpoint").fit(stream)
    assert resumed.coef_.tobytes() == _ridge(None).fit(stream).coef_.tobytes()


@contextlib.contextmanager
def _files_no_longer_than(size):
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.filterwarnings("always:.*checkpoint was not written:UserWarning")
def test_a_full_disk_is_named_leaves_the_earlier_checkpoint_and_does_not_end_a_fit(rows, tmp_path):
    stream, path = Breaking(*rows), tmp_path / "checkpoint"
    with pytest.raises(ValueError, match="holds text"):
        _ridge(path).fit(stream)
    before = path.read_bytes()
    stream.whole, stream.last = 0, 6
    with _files_no_longer_than(len(before) // 2):
        with (
            pytest.warns(UserWarning, match="checkpoint was not written .*the fit continues"),
            pytest.raises(ValueError, match="holds text"),
        ):
            _ridge(path).fit(stream)
        assert path.read_bytes() == before
        assert [each.name for each in tmp_path.iterdir()] == ["checkpoint"]
        stream.broken = False
        with pytest.warns(UserWarning, match="checkpoint was not written .*the fit continues"):
            ended = _ridge(path).fit(stream)
    assert ended.coef_.tobytes() == _ridge(None).fit(stream).coef_.tobytes()
    assert not list(tmp_path.iterdir())


def test_a_checkpoint_that_cannot_be_written_is_noticed_before_a_block_is_read(tmp_path):
    def blocks():
        yield np.zeros((10, 2)), np.zeros(10)
        pytest.fail("the fit has begun")

    (tmp_path / "folder").mkdir()
    for name, why in (("nowhere/c", "No such file"), ("folder", "is a folder")):
        with pytest.raises(OSError, match=f"checkpoint=.*{name}' cannot be used.*{why}"):
            _ridge(tmp_path / name).fit(blocks)
        assert [each.name for each in tmp_path.iterdir()] == ["folder"]


def test_a_link_to_a_checkpoint_stays_and_the_checkpoint_goes(rows, tmp_path):
    X, y = rows
    (tmp_path / "scratch").mkdir()
    (tmp_path / "checkpoint").symlink_to(tmp_path / "scratch" / "c")
    stream = Breaking(X, y)
    with pytest.raises(ValueError, match="holds text"):
        _ridge(tmp_path / "checkpoint").fit(stream)
    assert (tmp_path / "scratch" / "c").exists()
    stream.broken = False
    _ridge(tmp_path / "checkpoint").fit(stream)
    assert (tmp_path / "checkpoint").is_symlink() and not list((tmp_path / "scratch").iterdir())


@pytest.mark.parametrize("target", ["number", "kind"])
def test_the_command_keeps_the_checkpoint_until_the_model_is_on_the_disk(
    target, rows, tmp_path, monkeypatch
):
    X, y = (array[:20_000] for array in rows)
    frame = pd.DataFrame(X, columns=list("abcdef"))
    frame["number"], frame["kind"] = y, np.where(y > 0, "a", "b")
    frame[[*"abcdef", target]].to_parquet(tmp_path / "rows.parquet")
    monkeypatch.setattr("quadfeat.data.checkpoint.Checkpoint.due", lambda self: self.active)
    # Half a minute of each fit, which checkpoints do not keep.
    kernel = qf.Gaussian(0.1)
    monkeypatch.setattr("quadfeat.models.base.choose_kernel", lambda *_, **__: (kernel, []))
    out, checkpoint = tmp_path / "m.qf", tmp_path / "c"

    def fit(name, checkpoint):
        data = tmp_path / "rows.parquet"
        main.fit(
            data, target, name, width=64, alpha=1.0, checkpoint=checkpoint, report=False, quiet=True
        )

    fit(tmp_path / "whole.qf", checkpoint=None)
    out.write_text("earlier")
    with monkeypatch.context() as patch, pytest.raises(OSError, match="No space"):
        patch.setattr(main, "save", _no_space)
        fit(out, checkpoint=checkpoint)
    assert out.read_text() == "earlier"
    blocks = archive.read(checkpoint)[0]["block"]
    assert blocks == 2  # of 8,192: all 16,000 rows that are not held out; little is left to do
    fit(out, checkpoint=checkpoint)
    assert same_model(out, tmp_path / "whole.qf") and not checkpoint.exists()


def _no_space(model, path):
    raise OSError(errno.ENOSPC, "No space left on device")


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
