"""Interrupted fits resume to the same bits, and never from another fit's checkpoint."""

import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from sklearn.base import clone

import quadfeat as qf
from quadfeat.data import archive
from quadfeat.data.identity import parameters_fingerprint

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
    "auto": lambda: qf.KernelClassifier(features()),
    "ridge": lambda: qf.KernelClassifier(features(), loss="ridge"),
    "squared_hinge": lambda: qf.KernelClassifier(features(), loss="squared_hinge", alpha=1.0),
    "logistic": lambda: qf.KernelClassifier(features(), loss="logistic", alpha=1.0),
    "rank": lambda: qf.KernelClassifier(features(), loss="logistic", alpha=1.0, rank=2),
}


class _Stopped(Exception):
    pass


def stopped_after(monkeypatch, writes):
    """Stop the fit after so many checkpoints, as a kill would."""
    done, write = [], archive.write

    def counted(*arguments):
        write(*arguments)
        done.append(None)
        if len(done) == writes:
            raise _Stopped

    monkeypatch.setattr(archive, "write", counted)


@pytest.fixture(scope="module", params=MODELS)
def whole(request, rows):
    """An uninterrupted fit."""
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
            if len(passes) == 2 and start == 9000:  # summary, sums
                raise KeyboardInterrupt
            yield X[start : start + 1000], y[start : start + 1000]

    model = qf.KernelRegressor(features(), alpha=1.0, checkpoint=path, checkpoint_interval=0.0)
    with pytest.raises(KeyboardInterrupt, match="resumes from there"):
        model.fit(blocks)
    whole = qf.KernelRegressor(features(), alpha=1.0).fit(X, y)
    assert np.array_equal(model.fit(blocks).coef_, whole.coef_)


def test_a_block_of_several_pieces_is_done_with_its_last(rows, tmp_path, monkeypatch):
    X, y = rows
    monkeypatch.setattr("quadfeat.models.stream._BUFFER", 1)  # pieces of 512 rows
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
        if len(passes) == 2:  # summary, sums
            raise KeyboardInterrupt
        yield X[5000:], y[5000:]

    with pytest.raises(KeyboardInterrupt) as stopped:
        qf.KernelRegressor(features(), alpha=1.0).fit(blocks)
    assert "checkpoint" not in str(stopped.value)


# --- code that is a parameter ---------------------------------------------------------------------
def _made(text, **known):
    """The object `made` that this source text defines, as if imported by another process."""
    space = {"__name__": "somewhere", "np": np, "qf": qf, **known}
    exec(text, space)
    return space["made"]


_HELPED = "def bump(w):\n    return {}\ndef made(w):\n    return bump(w)"
_KERNEL = """
class made(qf.Gaussian):
    \"\"\"A kernel of the user's.\"\"\"
    def profile(self, gap):
        return {}
"""
_INSTANCE = """
class Density:
    def __init__(self, width):
        self.width = width
    def __call__(self, w):
        return np.exp(-abs(w) * {})
made = Density({})
"""
EDITS = {
    "a constant": ("made = lambda w: np.exp(-2 * w**2)", "made = lambda w: np.exp(-3 * w**2)"),
    "an operator": ("made = lambda w: np.exp(-w**2)", "made = lambda w: np.cos(-w**2)"),
    "a default": ("def made(w, a=1):\n    return a", "def made(w, a=2):\n    return a"),
    "a keyword": ("def made(w, *, a=1):\n    return a", "def made(w, *, a=2):\n    return a"),
    "a closure": (
        "def outer(a):\n    return lambda w: a * w\nmade = outer(1.0)",
        "def outer(a):\n    return lambda w: a * w\nmade = outer(2.0)",
    ),
    "a global": ("A = 1.0\nmade = lambda w: A * w", "A = 2.0\nmade = lambda w: A * w"),
    "an array": (
        "A = np.arange(2000.0)\nmade = lambda w: A * w",
        "A = np.arange(2000.0)\nA[1000] = 7.0\nmade = lambda w: A * w",
    ),
    "a helper": (_HELPED.format("w"), _HELPED.format("2 * w")),
    "an inner function": (
        "def made(w):\n    f = lambda u: u + 1\n    return f(w)",
        "def made(w):\n    f = lambda u: u + 2\n    return f(w)",
    ),
    "a set": ("made = lambda w: w in {'a', 'b'}", "made = lambda w: w in {'a', 'c'}"),
    "an argument": (
        "import functools\nmade = functools.partial(pow, 2)",
        "import functools\nmade = functools.partial(pow, 3)",
    ),
    "a method": (_KERNEL.format("np.exp(-gap**2)"), _KERNEL.format("np.exp(-gap**4)")),
    "an attribute": (_INSTANCE.format("self.width", 1.0), _INSTANCE.format("self.width", 2.0)),
    "a method of an object": (_INSTANCE.format(1.0, 1.0), _INSTANCE.format(2.0, 1.0)),
}


@pytest.mark.parametrize("edit", EDITS)
def test_edited_code_is_another_parameter_and_the_same_code_is_not(edit):
    before, after = EDITS[edit]
    first = parameters_fingerprint({"density": _made(before)})
    assert parameters_fingerprint({"density": _made(before)}) == first
    assert parameters_fingerprint({"density": _made("\n\n" + before)}) == first, "moved in a file"
    assert parameters_fingerprint({"density": _made(after)}) != first


def test_functions_that_call_each_other_have_a_fingerprint():
    text = "def odd(n):\n    return n and made(n - 1)\ndef made(n):\n    return not n or odd(n - 1)"
    first = parameters_fingerprint({"f": _made(text)})
    assert parameters_fingerprint({"f": _made(text)}) == first
    assert parameters_fingerprint({"f": _made(text.replace("not n", "n == 1"))}) != first


def test_another_process_finds_the_same_fingerprint():
    code = (
        "import quadfeat as qf\n"
        "from quadfeat.data.identity import parameters_fingerprint\n"
        "class Mine(qf.Gaussian):\n"
        "    names = {'a', 'b', 'c', 'd'}\n"
        "    def profile(self, gap):\n"
        "        return gap in {'x', 'y', 'z'}\n"
        "kernel = Mine(2.0)\n"
        "given = {'kernel': kernel, 'density': lambda w: kernel(w), 'weights': {1: 2.0, 'b': 3}}\n"
        "print(parameters_fingerprint(given))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", code],
            env={**os.environ, "PYTHONHASHSEED": str(seed)},
            capture_output=True,
            check=True,
        ).stdout
        for seed in (1, 2)
    }
    assert len(found) == 1


def test_what_another_process_cannot_recognise_is_refused():
    with pytest.raises(ValueError, match=r"lock holds <unlocked _thread\.lock object at"):
        parameters_fingerprint({"lock": threading.Lock()})


@pytest.mark.usefixtures("killed_at_the_end")
def test_an_edited_density_does_not_resume_the_old_fit(rows, tmp_path):
    X, y = rows
    model = qf.KernelRegressor(alpha=1.0, checkpoint=tmp_path / "c", checkpoint_interval=0.0)

    def given(text):
        kernel = qf.Spectral(_made(text))
        return clone(model).set_params(features=qf.DenseGrid(kernel, n_points=3))

    given("made = lambda w: np.exp(-(w**2)) / np.pi**0.5").fit(X, y)
    given("made = lambda w: np.exp(-(w**2)) / np.pi**0.5").fit(X, y)
    with pytest.raises(ValueError, match="other parameters"):
        given("made = lambda w: np.exp(-2 * w**2) * (2 / np.pi) ** 0.5").fit(X, y)
