"""Fits that are interrupted go on to the same bits, and never from something else."""

import numpy as np
import pytest
from sklearn.base import clone

import quadfeat as qf
from quadfeat import _archive

ROWS = 10_000  # two blocks


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(ROWS, 3))
    return X, np.digitize(np.sin(2 * X).sum(axis=1) + 0.3 * rng.normal(size=ROWS), [-1.0, 0.0, 1.0])


def features():
    return qf.HermiteMercer(qf.Gaussian(0.3), n_components=12)


MODELS = {
    "regressor": lambda: qf.KernelRegressor(features()),
    "ridge": lambda: qf.KernelClassifier(features()),
    "squared_hinge": lambda: qf.KernelClassifier(features(), loss="squared_hinge", alpha=1.0),
    "logistic": lambda: qf.KernelClassifier(features(), loss="logistic", alpha=1.0),
    "rank": lambda: qf.KernelClassifier(features(), loss="logistic", alpha=1.0, rank=2),
}


class _Stopped(Exception):
    pass


def stopped_after(monkeypatch, writes):
    """Checkpoints that stop the fit after so many of them, as a kill would."""
    done, write = [], _archive.write

    def counted(*arguments):
        write(*arguments)
        done.append(None)
        if len(done) == writes:
            raise _Stopped

    monkeypatch.setattr(_archive, "write", counted)


@pytest.fixture(scope="module", params=MODELS)
def whole(request, rows):
    """A fit that nothing interrupted."""
    return MODELS[request.param]().fit(*rows)


@pytest.mark.parametrize("share", [0.0, 0.4, 1.0])
def test_a_fit_that_was_stopped_goes_on_to_the_same_bits(whole, share, rows, tmp_path, monkeypatch):
    X, y = rows
    path = tmp_path / "checkpoint"
    model = clone(whole).set_params(checkpoint=path, checkpoint_interval=0.0)
    writes = 2 * (1 + getattr(whole, "n_passes_", 0))
    with monkeypatch.context() as patch, pytest.raises(_Stopped):
        stopped_after(patch, 1 + int(share * (writes - 1)))
        model.fit(X, y)
    resumed = clone(model).fit(X, y)
    assert np.array_equal(resumed.coef_, whole.coef_)
    assert np.array_equal(resumed.intercept_, whole.intercept_)
    assert np.array_equal(resumed.predict(X[:100]), whole.predict(X[:100]))


@pytest.mark.usefixtures("killed_at_the_end")
def test_a_checkpoint_of_other_data_or_parameters_is_refused(rows, tmp_path):
    X, y = rows
    path = tmp_path / "checkpoint"
    model = qf.KernelRegressor(features(), alpha=1.0, checkpoint=path, checkpoint_interval=0.0)
    model.fit(X, y)
    with pytest.raises(ValueError, match="other data"):
        clone(model).fit(X[:-1], y[:-1])
    with pytest.raises(ValueError, match="other parameters"):
        clone(model).set_params(alpha=2.0).fit(X, y)
    with pytest.raises(ValueError, match="other parameters"):
        clone(model).set_params(features__n_components=13).fit(X, y)
    with pytest.raises(ValueError, match="give a seed"):
        generator = np.random.RandomState(0)
        maps = qf.RandomFourier(n_components=8, random_state=generator)
        qf.KernelRegressor(maps, checkpoint=path).fit(X, y)
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(ValueError, match="checkpoint"):
        clone(model).fit(X, y)


def test_a_checkpoint_is_gone_when_its_fit_is_over(whole, rows, tmp_path):
    X, y = rows
    model = clone(whole).set_params(checkpoint=tmp_path / "checkpoint", checkpoint_interval=0.0)
    for order in (slice(None), slice(None, None, -1)):  # other rows are no trouble then
        model.fit(X[order], y[order])
        assert not any(tmp_path.iterdir())


def test_ctrl_c_says_how_to_go_on(rows, tmp_path):
    X, y = rows
    path = tmp_path / "checkpoint"
    passes = []

    def blocks():
        passes.append(None)
        for start in range(0, ROWS, 1000):
            if len(passes) == 2 and start == 9000:  # survey, sums
                raise KeyboardInterrupt
            yield X[start : start + 1000], y[start : start + 1000]

    model = qf.KernelRegressor(features(), alpha=1.0, checkpoint=path, checkpoint_interval=0.0)
    with pytest.raises(KeyboardInterrupt, match="goes on from there"):
        model.fit(blocks)
    whole = qf.KernelRegressor(features(), alpha=1.0).fit(X, y)
    assert np.array_equal(model.fit(blocks).coef_, whole.coef_)


def test_a_block_of_several_pieces_is_done_with_its_last(rows, tmp_path, monkeypatch):
    X, y = rows
    monkeypatch.setattr("quadfeat.streaming._BUFFER", 1)  # pieces of 512 rows
    model = qf.KernelRegressor(features(), alpha=1.0)
    whole = clone(model).fit(X, y)
    model.set_params(checkpoint=tmp_path / "checkpoint", checkpoint_interval=0.0)
    with monkeypatch.context() as patch, pytest.raises(_Stopped):
        stopped_after(patch, 1)
        model.fit(X, y)
    assert np.array_equal(model.fit(X, y).coef_, whole.coef_)


def test_checkpoints_are_as_far_apart_as_was_asked_for(rows, tmp_path):
    path = tmp_path / "checkpoint"
    model = qf.KernelRegressor(features(), alpha=1.0, checkpoint=path, checkpoint_interval=1e6)
    model.fit(*rows)
    assert not path.exists()


@pytest.mark.usefixtures("killed_at_the_end")
@pytest.mark.parametrize("parameter", ["alpha", "features__kernel__gamma"])
def test_a_checkpoint_knows_the_numbers_in_arrays_of_parameters(parameter, rows, tmp_path):
    model = qf.KernelRegressor(features(), alpha=1.0)
    model.set_params(checkpoint=tmp_path / "checkpoint", checkpoint_interval=0.0)
    model.set_params(**{parameter: np.array([0.2, 0.3, 0.4])}).fit(*rows)
    with pytest.raises(ValueError, match="other parameters"):
        clone(model).set_params(**{parameter: np.array([0.2, 0.3, 0.5])}).fit(*rows)


def test_ctrl_c_without_a_checkpoint_promises_nothing(rows):
    X, y = rows
    passes = []

    def blocks():
        passes.append(None)
        yield X[:5000], y[:5000]
        if len(passes) == 2:  # survey, sums
            raise KeyboardInterrupt
        yield X[5000:], y[5000:]

    with pytest.raises(KeyboardInterrupt) as stopped:
        qf.KernelRegressor(features(), alpha=1.0).fit(blocks)
    assert "checkpoint" not in str(stopped.value)
